"""What every finding says of itself: kinds, evidence keys, the schema and the page that documents both."""

import copy
import importlib
import sys
from pathlib import Path

import jsonschema
import pytest

from lnetstat.analysis import analyze, findings_page
from lnetstat.analysis.finding_kinds import KINDS
from lnetstat.analysis.run import analyze_series
from lnetstat.analysis.schema import SCHEMA, document
from lnetstat.frames import load
from lnetstat.sources import open_source

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT.parent / "shared" / "captures"
RECORDINGS = [ROOT / "sample-data" / "recordings" / name for name in ("simulated-paper-untuned",)]
CAPTURED = [
    ("s7_lustre_pings_seed_credits", "rtr"),
    ("s9_disruptions", "rtr"),
    ("s5b_health_faults", "rtr"),
    ("s1_ramp_seed_credits", "srv"),
]


def told_by(analysis):
    """The findings of a document that satisfies the schema, every evidence key of which is documented."""
    whole = document(analysis)
    jsonschema.validate(whole, SCHEMA)
    for finding in whole["findings"]:
        keys = set(finding["evidence"])
        forms = KINDS[finding["kind"]].forms
        assert any(keys <= set(form) for form in forms), f"{finding['kind']}: undocumented evidence {keys - set().union(*forms)}"
    return whole["findings"]


def test_the_page_of_findings_is_current():
    assert findings_page.page() == (ROOT / "docs" / "findings.md").read_text(), "run `make docs`"


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_findings_of_sample_recordings_are_documented(path):
    assert told_by(analyze(load(open_source(str(path)))))


@pytest.mark.skipif(not CAPTURES.exists(), reason="needs ../shared/captures")
@pytest.mark.parametrize(("scenario", "node"), CAPTURED)
def test_findings_of_real_captures_are_documented(scenario, node):
    assert told_by(analyze(load(open_source(str(CAPTURES / scenario / node / "fast.tar.gz"), host=node))))


@pytest.fixture(scope="module")
def labelled():
    """The shortest record of each of three classes."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        cases = list(importlib.import_module("accuracy.generator").cases(5, 18, ["p_aligned", "p_other", "n_pings_only"], [1]))
        return sorted(
            {each[1]["cls"]: each for each in sorted(cases, key=lambda each: -len(each[2]))}.values(), key=lambda each: len(each[2])
        )
    finally:
        sys.path.remove(str(ROOT / "bench"))


def test_findings_of_synthetic_series_are_documented(labelled):
    kinds = set()
    for case, _, table in labelled:
        found = told_by(analyze_series(table, kind=case["kind"], interval_s=case["dt_nominal"], credits_max=case.get("credits_max")))
        kinds |= {finding["kind"] for finding in found}
    assert "dead_time" in kinds


def test_the_schema_wants_every_evidence_key_of_a_kind(labelled):
    case, _, table = next(each for each in labelled if each[1]["cls"] == "p_aligned")
    whole = document(analyze_series(table, kind=case["kind"], interval_s=case["dt_nominal"]))
    for key in KINDS["dead_time"].forms[0]:
        less = copy.deepcopy(whole)
        finding = next(each for each in less["findings"] if each["kind"] == "dead_time")
        del finding["evidence"][key]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(less, SCHEMA)


def test_a_kind_that_nobody_documented_is_refused():
    finding = dict.fromkeys(("subject", "advice", "reference"), "x") | {"message": "ten letters", "severity": "info", "begin_ns": 0}
    finding |= {"kind": "guess", "end_ns": 1, "evidence": {}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(finding, SCHEMA["properties"]["findings"]["items"])
