"""The bench of accuracy: labelled cases are what they say, and the scorer counts as the practice sets' own does."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SCORER = ROOT.parent / "shared" / "challenge" / "score.py"


@pytest.fixture(scope="module")
def accuracy():
    """The bench's modules by name."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        names = ("generator", "score", "recipe", "dips", "page", "rivals")
        return {name: importlib.import_module(f"accuracy.{name}") for name in names}
    finally:
        sys.path.remove(str(ROOT / "bench"))


@pytest.fixture(scope="module")
def cases(accuracy):
    return list(accuracy["generator"].cases(3, 55))


def test_the_same_seed_gives_the_same_cases(accuracy, cases):
    for (case, truth, table), (case2, truth2, table2) in zip(cases[:4], accuracy["generator"].cases(3, 55), strict=False):
        assert (case, truth) == (case2, truth2)
        assert table.equals(table2)


def test_a_set_has_the_make_up_that_was_asked_for(accuracy, cases):
    counted = {cls: sum(truth["cls"] == cls for _, truth, _ in cases) for cls in accuracy["recipe"].PROPORTIONS}
    assert counted == accuracy["recipe"].PROPORTIONS
    for case, truth, table in cases:
        low, high = accuracy["recipe"].LEVEL_SNR[truth["level"]]
        assert low <= truth["snr_ideal"] <= high
        assert list(table.columns) == case["columns"]
        assert ("credits_max" in case) == ("tx" in table)


def test_only_asked_classes_and_levels_come(accuracy):
    made = [truth for _, truth, _ in accuracy["generator"].cases(1, 5, list(accuracy["recipe"].OWN_CLASSES), [1])]
    assert {truth["cls"] for truth in made} == set(accuracy["recipe"].OWN_CLASSES)
    assert {truth["level"] for truth in made} == {1}


def test_a_dip_takes_its_area_and_gives_back_what_is_caught_up(accuracy):
    dips = accuracy["dips"].Dips(np.array([100.0, 150.0]), np.array([2.0, 4.0]), np.array([0.5, 0.25]))
    lost = accuracy["dips"].lost_bytes(dips, np.array([10.0, 10.0]), np.array([0.0, 101.0, 120.0, 500.0]), 0.0)
    assert lost == pytest.approx([0.0, 5.0, 10.0, 20.0])
    assert accuracy["dips"].lost_bytes(dips, np.array([10.0, 10.0]), np.array([500.0]), 0.4)[0] == pytest.approx(12.0)


def test_truth_lies_where_the_throughput_is_low(accuracy):
    for case, truth, table in accuracy["generator"].cases(8, 3, ["p_aligned"], [1]):
        rate = table["value"] if case["kind"] == "rate" else table["value"].diff() / table["time"].diff()
        middle = table["time"].to_numpy() - case["dt_nominal"] / 2
        starts, stops = np.array(truth["incidents"]).T
        at = np.searchsorted(starts, middle, side="right") - 1
        inside = (at >= 0) & (middle < stops[np.maximum(at, 0)])
        assert rate[inside].mean() < (1 - 0.3 * truth["depth"]) * rate[~inside].mean()


def test_shares_have_intervals_that_know_their_number(accuracy):
    wilson = accuracy["score"].wilson
    assert wilson(0, 10).low == pytest.approx(0, abs=1e-9)
    assert wilson(0, 10).high == pytest.approx(0.2775, abs=1e-3)  # the textbook value for none of ten
    assert wilson(50, 100).high - wilson(50, 100).low < wilson(5, 10).high - wilson(5, 10).low
    assert np.isnan(wilson(0, 0).value)


def answers_of(cases):
    """Answers that are right, wrong, missing and false in turn."""
    random = np.random.default_rng(1)
    for number, (_, truth, _) in enumerate(cases):
        if number % 5 == 4:
            continue
        yes = truth["detected"] == (number % 5 != 3)
        answer = {"case_id": truth["case_id"], "detected": yes, "score": float(random.normal(8 if yes else 3)), "fap": 0.005 * (number % 4)}
        if truth["detected"]:
            keys = ("duration_s", "lost_fraction", "lost_fraction_gross", "epoch_aligned")
            answer |= {key: truth[key] * 1.1 if key != "epoch_aligned" else truth[key] for key in keys}
            answer |= {"period_s": truth["period_s"] * (1 + 1e-5 * random.normal()), "period_err_s": 1e-5 * truth["period_s"], "depth": 0.5}
            answer |= {"incidents": truth["incidents"][::2], "cause": "ping"}
        yield answer


@pytest.mark.skipif(not SCORER.exists(), reason="needs ../shared/challenge")
def test_the_scorer_counts_as_the_practice_sets_own(accuracy, cases, tmp_path):
    truths, answers = [truth for _, truth, _ in cases], list(answers_of(cases))
    for name, lines in (("truth", truths), ("answers", answers)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)) + "\n")
    command = [sys.executable, str(SCORER), "--truth", str(tmp_path / "truth"), "--answers", str(tmp_path / "answers"), "--json"]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    ours = accuracy["score"].figures(accuracy["score"].scored(truths, answers))
    assert round(ours["total"].value, 1) == theirs["total"]
    assert ours["false_alarms"].value == pytest.approx(theirs["false_alarms_declared"])
    assert ours["right"].value == pytest.approx(theirs["detected_right_period_declared"])
    assert ours["auc"].value == pytest.approx(theirs["auc"])
    assert ours["right_at_far"].value == pytest.approx(theirs["detected_right_period_at_far_0.05"])
    assert ours["lost_net"].value == pytest.approx(theirs["lost_net_rel_err_median_p90_n"][0])
    assert ours["incidents_f1"].value == pytest.approx(theirs["incident_f1_median_p10"][0])
    assert [ours[f"within_{n}_sigma"].value for n in (1, 2)] == pytest.approx(theirs["period_err_coverage_1sigma_2sigma_n"][:2])
    assert ours["fap_low"].value == pytest.approx(theirs["negatives_with_fap_below_0.01"][0])


def test_every_rival_answers_an_easy_case_and_the_page_is_written(accuracy, tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy["rivals"], "BLS_POINT_OPERATIONS", 1e6)
    case, truth, table = next(accuracy["generator"].cases(3, 1, ["p_aligned"], [1]))
    scored = {}
    for name, method in accuracy["rivals"].METHODS.items():
        answer = method(case, table) | {"case_id": case["case_id"], "cpu_s": 1.0}
        scored[name] = accuracy["score"].scored([truth], [answer])
        assert np.isfinite(json.loads(json.dumps(answer))["score"])
    page = tmp_path / "analysis.md"
    page.write_text("# Analysis\n\nabove\n")
    for _ in range(2):  # written anew, not added
        accuracy["page"].write(page, accuracy["page"].section("A set", scored))
    text = page.read_text()
    assert text.count("### A set") == 1
    assert text.startswith("# Analysis\n\nabove\n")
    assert "| lnetstat | – |" in text
