"""The JSON of `analyze --json`: how it is made, and its JSON Schema (draft 2020-12)."""

import math
from typing import Any

from lnetstat.analysis.finding_kinds import KINDS
from lnetstat.analysis.results import SCHEMA_VERSION, Analysis, DeadTime
from lnetstat.model import Finding

_ANSWER = (
    "detected",
    "score",
    "fap",
    "period_s",
    "period_err_s",
    "duration_s",
    "depth",
    "lost_fraction",
    "lost_fraction_gross",
    "epoch_aligned",
    "cause",
    "incidents",
)
_MORE = (
    "verdict",
    "reason",
    "recurrent",
    "depth_resolved",
    "epoch_hypothesis_s",
    "epoch_phase_s",
    "ping_z",
    "chance",
    "gap_cv",
    "drift_ms_per_cycle",
    "present_s",
    "phase_jumps",
    "ping_lag_s",
    "ping_dose",
    "pings_inside",
    "cause_words",
)

_NUMBER = {"type": "number"}
_MAYBE = {"type": ["number", "null"]}
_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_INTERVALS = {"type": "array", "items": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}}
_DEAD_TIME: dict[str, Any] = {
    "type": "object",
    "properties": {
        "detected": _FLAG,
        "score": _NUMBER,
        "fap": {"type": "number", "minimum": 0, "maximum": 1},
        "period_s": _MAYBE,
        "period_err_s": _MAYBE,
        "duration_s": _MAYBE,
        "depth": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "lost_fraction": _MAYBE,
        "lost_fraction_gross": _MAYBE,
        "epoch_aligned": {"type": ["boolean", "null"]},
        "cause": {"enum": ["ping", "other", "unknown", "none"]},
        "incidents": _INTERVALS,
        "verdict": {"enum": ["detected", "recurrent", "none", "cannot_tell"]},
        "reason": _TEXT,
        "recurrent": _FLAG,
        "depth_resolved": _FLAG,
        "epoch_hypothesis_s": _MAYBE,
        "epoch_phase_s": _MAYBE,
        "ping_z": _MAYBE,
        "chance": _MAYBE,
        "gap_cv": _MAYBE,
        "drift_ms_per_cycle": _MAYBE,
        "present_s": {"type": ["array", "null"], "items": _NUMBER, "minItems": 2, "maxItems": 2},
        "phase_jumps": _INTERVALS,
        "ping_lag_s": _MAYBE,
        "ping_dose": _MAYBE,
        "pings_inside": _MAYBE,
    },
    "required": [*_ANSWER, *_MORE],
}

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "lnetstat analyze --json",
    "type": "object",
    "properties": {
        "schema": {"const": SCHEMA_VERSION},
        "verdict": _TEXT,
        "dead_time": _DEAD_TIME,
        "credits": {
            "type": ["object", "null"],
            "properties": {
                "subject": _TEXT,
                "fraction_time_oversubscribed": {"type": "number", "minimum": 0, "maximum": 1},
                "required_peak": _NUMBER,
                "required_p99": _NUMBER,
            },
            "required": ["fraction_time_oversubscribed", "required_peak", "required_p99"],
        },
        "series": {
            "type": "array",
            "items": {
                **_DEAD_TIME,
                "properties": {**_DEAD_TIME["properties"], **dict.fromkeys(("host", "role", "table", "instance", "signal"), _TEXT)},
                "required": [*_ANSWER, "host", "role", "table", "instance", "signal"],
            },
        },
        "ping_bursts": {"type": "array", "items": {"type": "object", "required": ["host", "signal", "period_s", "gap_cv", "onsets_s"]}},
        "credit_use": {"type": "array", "items": {"type": "object", "required": ["host", "resource", "subject", "row", "grade", "limit"]}},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"enum": list(KINDS)},
                    "severity": {"enum": ["info", "warning", "critical"]},
                    "subject": _TEXT,
                    "begin_ns": {"type": "integer"},
                    "end_ns": {"type": "integer"},
                    "evidence": {"type": "object"},
                    "message": {"type": "string", "minLength": 10},
                    "advice": _TEXT,
                    "reference": _TEXT,
                },
                "required": ["kind", "severity", "subject", "begin_ns", "end_ns", "evidence", "message", "advice", "reference"],
                "additionalProperties": False,
                "allOf": [
                    {
                        "if": {"properties": {"kind": {"const": name}}},
                        "then": {"properties": {"evidence": kind.evidence_schema()}},
                    }
                    for name, kind in KINDS.items()
                ],
            },
        },
        "data_quality": {
            "type": "object",
            "properties": {
                "hosts": {"type": "array", "items": {"type": "object", "required": ["host", "begin_ns", "end_ns", "samples", "gaps"]}}
            },
            "required": ["hosts"],
        },
    },
    "required": ["schema", "verdict", "dead_time", "credits", "series", "findings", "data_quality"],
}


def document(analysis: Analysis) -> dict[str, Any]:
    """Return the document of `analyze --json` for an analysis; it satisfies SCHEMA and holds no NaN."""
    result: dict[str, Any] = plain(
        {
            "schema": SCHEMA_VERSION,
            "verdict": analysis.verdict,
            "dead_time": _answer(analysis.dead_time),
            "credits": analysis.credits._asdict() if analysis.credits else None,
            "series": [
                {name: getattr(each, name) for name in ("host", "role", "table", "instance", "signal")} | _answer(each)
                for each in analysis.series
            ],
            "ping_bursts": [each._asdict() for each in analysis.ping_bursts],
            "credit_use": [each._asdict() for each in analysis.credit_use],
            "findings": [finding_dict(each) for each in analysis.findings],
            "data_quality": {"hosts": [each._asdict() for each in analysis.quality]},
        }
    )
    return result


def finding_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding as its JSON object; severity is a word."""
    return {**finding._asdict(), "severity": finding.severity.name.lower(), "evidence": dict(finding.evidence)}


def _answer(each: DeadTime) -> dict[str, Any]:
    return {name: getattr(each, name) for name in _ANSWER + _MORE}


def plain(value: Any) -> Any:
    """Return the value made of dicts, lists, str, int, float, bool and None only; what is not finite becomes None."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    number = float(value)
    return number if math.isfinite(number) else None
