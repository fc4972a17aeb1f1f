"""Score answers against the truth: the practice sets' figures, each with an interval of 95 %.

    python bench/accuracy/score.py --truth SET/truth.jsonl --answers answers.jsonl [--json]

An answer is a line of JSON with `case_id` and the keys of `analyze --json`'s `dead_time` (and `credits`, `cpu_s` where known); a case
without a line counts as not detected. "Right" means within 0.5 % of the true period. Shares have Wilson's interval; everything else a
bootstrap over the cases, positives and negatives drawn separately, so that the make-up of the set stays.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RIGHT = 0.005  # relative error of the period: less than the distance of neighbouring hypotheses
FALSE_ALARM_RATE = 0.05  # at which methods with different thresholds of their own are compared
Z95 = 1.959964  # normal quantile of a two-sided interval of 95 %
RESAMPLES = 300  # the ends of an interval of 95 % then rest on some eight resamples each
LOST_FLOOR = 1e-6  # a loss below is no loss to relate an error to


class Figure(NamedTuple):
    """A figure, its interval of 95 % and the number of cases it rests on; NaN where no case tells."""

    value: float
    low: float
    high: float
    cases: int


class Outcome(NamedTuple):
    """How one case was answered. Errors are NaN where the answer is not declared with the right period, or does not give them."""

    positive: bool
    level: int
    cls: str
    detected: bool
    score: float
    right: bool
    harmonic: bool
    period_ppm: float
    slip: float
    duration: float
    duration_resolved: float
    lost_net: float
    lost_gross: float
    incidents_f1: float
    period_sigmas: float
    aligned: float
    ping_named: float
    blamed: float
    fap_low: float
    cpu_s: float


def outcome(truth: dict[str, Any], answer: dict[str, Any]) -> Outcome:
    """Compare one answer ({} when there is none) with its truth."""
    detected = bool(answer.get("detected"))
    score = answer.get("score")
    nan = dict.fromkeys(Outcome._fields[7:], float("nan"))
    nan["cpu_s"] = float(answer.get("cpu_s", float("nan")))
    period = answer.get("period_s")
    right = bool(truth["detected"]) and period is not None and abs(period / truth["period_s"] - 1) < RIGHT
    if truth["detected"] and detected and right:
        nan |= _errors(truth, answer)
    if not truth["detected"] and answer.get("fap") is not None:
        nan["fap_low"] = float(answer["fap"] < 0.01)
    return Outcome(
        bool(truth["detected"]),
        truth["level"],
        truth["cls"],
        detected,
        float(detected if score is None else score),
        right,
        bool(truth["detected"]) and detected and not right and _harmonic(period, truth["period_s"]),
        **nan,
    )


def _errors(truth: dict[str, Any], answer: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    off = abs(answer["period_s"] - truth["period_s"])
    found["period_ppm"] = off / truth["period_s"] * 1e6
    found["slip"] = off / truth["period_s"] * truth["n"] * truth["dt"] / max(truth["duration_s"], truth["dt"])
    if answer.get("duration_s"):
        found["duration"] = abs(answer["duration_s"] / truth["duration_s"] - 1)
        if truth["duration_s"] >= 2 * truth["dt"]:
            found["duration_resolved"] = found["duration"]
    for key, name in (("lost_fraction", "lost_net"), ("lost_fraction_gross", "lost_gross")):
        if answer.get(key) is not None:
            found[name] = abs(answer[key] - truth[key]) / max(truth["lost_fraction_gross"], LOST_FLOOR)
    found["incidents_f1"] = _f1(truth, answer.get("incidents") or [])
    if answer.get("period_err_s"):
        found["period_sigmas"] = off / answer["period_err_s"]
    if answer.get("epoch_aligned") is not None:
        found["aligned"] = float(answer["epoch_aligned"] == truth["epoch_aligned"])
    if truth["cls"] == "p_other":
        found["blamed"] = float(answer.get("cause") == "ping")
    if truth["cause"] == "ping" and answer.get("cause"):
        found["ping_named"] = float(answer["cause"] == "ping")
    return found


def _f1(truth: dict[str, Any], answered: Sequence[Sequence[float]]) -> float:
    """Incidents answered for incidents that were: a start within max(1.5 samples, half a dip, 0.3 s), one to one."""
    true = [start for start, _ in truth["incidents"]]
    if not true:
        return float("nan")
    given = sorted(interval[0] for interval in answered)
    slack = max(1.5 * truth["dt"], 0.5 * truth["duration_s"], 0.3)
    hits, place = 0, 0
    for start in true:
        while place < len(given) and given[place] < start - slack:
            place += 1
        if place < len(given) and given[place] <= start + slack:
            hits, place = hits + 1, place + 1
    return 2 * hits / (len(true) + len(given))


def _harmonic(period: float | None, true: float) -> bool:
    if not period:
        return False
    ratio = max(period / true, true / period)
    return abs(ratio - round(ratio)) < 0.01 * ratio and round(ratio) <= 8


def wilson(hits: float, cases: int) -> Figure:
    """A share with Wilson's score interval (E. B. Wilson, J. Am. Stat. Assoc. 22, 1927): right for few cases and shares near 0 and 1."""
    if cases == 0:
        return Figure(float("nan"), float("nan"), float("nan"), 0)
    share, spread = hits / cases, Z95**2 / cases
    centre = (share + spread / 2) / (1 + spread)
    half = Z95 / (1 + spread) * np.sqrt(share * (1 - share) / cases + spread / (4 * cases))
    return Figure(share, float(max(0.0, centre - half)), float(min(1.0, centre + half)), cases)


def figures(outcomes: Sequence[Outcome], seed: int = 0) -> dict[str, Figure]:
    """All figures of one method on one set, by name."""
    table = {name: np.array([getattr(each, name) for each in outcomes]) for name in Outcome._fields}
    positive = table["positive"].astype(bool)
    yes, no = table["detected"][positive].astype(bool), table["detected"][~positive].astype(bool)
    right = table["right"][positive].astype(bool)
    found = {
        "false_alarms": wilson(no.sum(), no.size),
        "detected": wilson(yes.sum(), yes.size),
        "right": wilson((yes & right).sum(), yes.size),
        "wrong_period": wilson((yes & ~right).sum(), yes.size),
        "harmonics": wilson(table["harmonic"][positive].sum(), yes.size),
    }
    for name in ("aligned", "ping_named", "blamed", "fap_low"):
        known = table[name][np.isfinite(table[name])]
        found[name] = wilson(known.sum(), known.size)
    sigmas = table["period_sigmas"][np.isfinite(table["period_sigmas"])]
    found["within_1_sigma"] = wilson((sigmas < 1).sum(), sigmas.size)
    found["within_2_sigma"] = wilson((sigmas < 2).sum(), sigmas.size)
    threshold = far_threshold(table["score"][~positive])
    at_rate = (table["score"][positive] > threshold) & right
    found["right_at_far"] = wilson(at_rate.sum(), at_rate.size)
    for level in sorted(set(table["level"][positive].tolist())):
        chosen = at_rate[table["level"][positive] == level]
        found[f"right_at_far_level_{level}"] = wilson(chosen.sum(), chosen.size)
    return found | _bootstrapped(table, positive, seed)


def _bootstrapped(table: dict[str, npt.NDArray[Any]], positive: npt.NDArray[np.bool_], seed: int) -> dict[str, Figure]:
    statistics: dict[str, tuple[Callable[[npt.NDArray[np.intp]], float], int]] = {
        "auc": (lambda chosen: _auc(table["score"][chosen], positive[chosen]), positive.size),
        "total": (lambda chosen: _total(table, positive, chosen), positive.size),
    }
    for name in ("period_ppm", "duration", "duration_resolved", "lost_net", "lost_gross", "incidents_f1", "cpu_s"):
        statistics[name] = (_median_of(table[name]), int(np.isfinite(table[name]).sum()))
    rng = np.random.default_rng(seed)
    groups = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    draws = [np.concatenate([rng.choice(group, group.size) for group in groups if group.size]) for _ in range(RESAMPLES)]
    everything = np.arange(positive.size)
    found = {}
    for name, (statistic, cases) in statistics.items():
        again = np.array([statistic(chosen) for chosen in draws])
        again = again[np.isfinite(again)]
        low, high = np.percentile(again, (2.5, 97.5)) if again.size else (float("nan"), float("nan"))
        found[name] = Figure(statistic(everything), float(low), float(high), cases)
    return found


def _median_of(values: Floats) -> Callable[[npt.NDArray[np.intp]], float]:
    def median(chosen: npt.NDArray[np.intp]) -> float:
        return _median(values[chosen], float("nan"))

    return median


def _median(values: Floats, none: float) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else none


def far_threshold(negative_scores: Floats) -> float:
    """The score above which at most 5 % of the negatives lie."""
    ranked = np.sort(negative_scores)[::-1]
    allowed = int(FALSE_ALARM_RATE * ranked.size)
    return float(ranked[allowed]) if allowed < ranked.size else -1.0


def _auc(score: Floats, positive: npt.NDArray[np.bool_]) -> float:
    """Chance that a positive scores above a negative; ties count half."""
    ours, theirs = score[positive], np.sort(score[~positive])
    if not ours.size or not theirs.size:
        return float("nan")
    below, upto = np.searchsorted(theirs, ours, side="left"), np.searchsorted(theirs, ours, side="right")
    return float(np.mean(below + upto) / 2 / theirs.size)


def _total(table: dict[str, npt.NDArray[Any]], positive: npt.NDArray[np.bool_], chosen: npt.NDArray[np.intp]) -> float:
    """The practice sets' total, at most 100: detection and false alarms 45, ranking 15, and what was measured 40."""
    here = positive[chosen]
    ours, theirs = chosen[here], chosen[~here]
    if not ours.size or not theirs.size:
        return float("nan")
    right = float(np.mean(table["detected"][ours] & table["right"][ours]))
    false = float(np.mean(table["detected"][theirs]))
    measured = sum(max(0.0, 1 - _median(table[name][ours], 9.0)) for name in ("slip", "duration", "lost_net"))
    measured += _median(table["incidents_f1"][ours], 0.0)
    ranking = max(0.0, 2 * _auc(table["score"][chosen], here) - 1)
    return 45 * max(0.0, right - 2 * false) + 15 * ranking + 10 * right * measured


def scored(truth: Sequence[dict[str, Any]], answers: Sequence[dict[str, Any]]) -> list[Outcome]:
    """The outcome of every case of `truth`, in its order."""
    by_id = {answer["case_id"]: answer for answer in answers}
    return [outcome(each, by_id.get(each["case_id"], {})) for each in truth]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one JSON object a line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    found = figures(scored(read_lines(given.truth), read_lines(given.answers)))
    if given.json:
        print(json.dumps({name: figure._asdict() for name, figure in found.items()}))
        return
    for name, figure in found.items():
        print(f"{name:22} {figure.value:9.4g}  ({figure.low:.4g} … {figure.high:.4g}, {figure.cases} cases)")


if __name__ == "__main__":
    main()
