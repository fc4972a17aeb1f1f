"""The JSON Schema (draft 2020-12) of `compare --json`."""

from typing import Any

from lnetstat.analysis.comparison import BETTER, CANNOT_TELL, SAME, SCHEMA_VERSION, WORSE

_MAYBE = {"type": ["number", "null"]}
_TEXT = {"type": "string"}
_INTERVAL = {"type": ["array", "null"], "items": _MAYBE, "minItems": 2, "maxItems": 2}
_VERDICTS = [BETTER, WORSE, SAME, CANNOT_TELL]
_FIGURE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "unit": _TEXT,
        "before": _MAYBE,
        "before_interval": _INTERVAL,
        "after": _MAYBE,
        "after_interval": _INTERVAL,
        "change": _MAYBE,
        "change_interval": _INTERVAL,
        "verdict": {"enum": [*_VERDICTS, ""]},
        "reason": _TEXT,
    },
    "required": ["name", "unit", "before", "before_interval", "after", "after_interval", "change", "change_interval", "verdict", "reason"],
    "additionalProperties": False,
}

COMPARE_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "lnetstat compare --json",
    "type": "object",
    "properties": {
        "schema": {"const": SCHEMA_VERSION},
        "verdict": {"enum": _VERDICTS},
        "words": {"type": "string", "minLength": 10},
        "signal": _TEXT,
        "rows": {"type": "object", "additionalProperties": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}},
        "same_load": {"type": ["boolean", "null"]},
        "load": {"type": "array", "items": _FIGURE},
        "figures": {"type": "array", "items": _FIGURE},
        "first_exhausted": {
            "type": "object",
            "properties": {"before": _TEXT, "after": _TEXT},
            "required": ["before", "after"],
        },
        "sensitivity": {
            "type": ["object", "null"],
            "properties": {
                "cycles": {"type": "integer", "minimum": 0},
                "z": {"type": "number"},
                "seen": {"type": "boolean"},
                "depth": {"type": "number", "minimum": 0, "maximum": 1},
                "least_depth": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            },
            "required": ["cycles", "z", "seen", "depth", "least_depth"],
        },
        "method": {
            "type": "object",
            "properties": {
                "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "interval_level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                "compared": {"type": "integer", "minimum": 0},
                "draws": {"type": "integer", "minimum": 1},
                "seed": {"type": "integer"},
                "resampled": _TEXT,
            },
            "required": ["level", "interval_level", "compared", "draws", "seed", "resampled"],
        },
    },
    "required": [
        "schema",
        "verdict",
        "words",
        "signal",
        "rows",
        "same_load",
        "load",
        "figures",
        "first_exhausted",
        "sensitivity",
        "method",
    ],
    "additionalProperties": False,
}
