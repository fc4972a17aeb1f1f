"""The cause of dips: "ping" only where dips answer pings, "other" where they do not, "unknown" where nobody counted pings."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lnetstat.analysis import cause, pings, rates
from lnetstat.analysis.normalise import normalise

CHALLENGE = Path(__file__).parents[3] / "shared" / "challenge"
BEGIN = 1_700_000_000.0
DT, DIP_S, FLOOD_S = 0.5, 1.5, 0.3


def cycles(random, period_s, seconds, cv=0.0, phase_s=None):
    gaps = period_s * (1 + cv * random.standard_normal(int(seconds / period_s) + 2))
    first = random.uniform(0, period_s) if phase_s is None else phase_s
    onsets = first + np.concatenate(([0.0], np.cumsum(gaps)))
    return onsets[onsets < seconds - period_s / 2]


def sampled(time_s, fine, dt=DT):
    """Return rates over intervals of `dt` of what is known ten times as often."""
    samples = fine[: fine.size // 10 * 10].reshape(-1, 10).mean(axis=1)
    return rates.from_rate(BEGIN + (np.arange(samples.size) + 1) * dt, samples)


def throughput(random, onsets, seconds, depth=0.5, noise=0.15):
    time = np.arange(0, seconds, DT / 10)
    load = np.ones(time.size)
    for onset, each in zip(onsets, np.broadcast_to(depth, len(onsets)), strict=True):
        load[(time >= onset) & (time < onset + DIP_S)] -= each
    even = sampled(time, load)
    return normalise(even._replace(rate=1e9 * np.maximum(0, even.rate + noise * random.standard_normal(even.rate.size))))


def counted(onsets, seconds, size=300.0):
    time = np.arange(0, seconds, DT / 10)
    rate = np.full(time.size, 2.0)
    for onset, each in zip(onsets, np.broadcast_to(size, len(onsets)), strict=True):
        rate[(time >= onset) & (time < onset + FLOOD_S)] += each / FLOOD_S
    return sampled(time, rate)


def judged(series, floods, dips, period_s, cv=None):
    return cause.cause_of(series, floods, [(BEGIN + at, BEGIN + at + DIP_S) for at in dips], period_s, DIP_S, cv, None)


def half(random, onsets):
    return onsets[random.random(onsets.size) < 0.5]


def of_pings(name, random, seconds):
    """Return (floods, dips, dips told, period, cv) where each flood makes a dip 0.2 s later."""
    drifts = "drifting" in name
    floods = cycles(random, 25.0, seconds, cv=0.08 if drifts else 0.0)
    everything = floods + 0.2
    floods = half(random, floods) if "half" in name else floods
    told = everything if "all cycles" in name else floods + 0.2
    period = 50.0 if "every second" in name else 25.0
    return floods, floods + 0.2, told[::2] if period == 50.0 else told, period, 0.08 if drifts else None


PING_CASES = [
    "strict",
    "half of the floods missing",
    "half missing, all cycles told",
    "drifting",
    "drifting, half missing",
    "every second told",
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PING_CASES)
def test_dips_that_answer_floods_are_blamed_on_pings(name, seed):
    random = np.random.default_rng(seed)
    floods, dips, told, period, cv = of_pings(name, random, 2000)
    found = judged(throughput(random, dips, 2000), counted(floods, 2000), told, period, cv)
    assert found.cause == "ping", found.words
    assert found.lag_s == pytest.approx(0.2, abs=DT)
    assert found.inside > 5
    assert "by chance" in found.words


def of_others(name, random, seconds):
    """Return (floods, dips, period of the dips, cv) of dips that have nothing to do with the floods."""
    floods = cycles(random, 25.0, seconds)
    if name == "another period":
        return floods, cycles(random, 31.3, seconds), 31.3, None
    if name == "nearly the same period":
        return floods, cycles(random, 25.05, seconds, phase_s=floods[0]), 25.05, None
    if name == "three times the period, in phase":
        return floods, floods[::3], 75.0, None
    if name == "a third of the floods' period, in phase":
        return floods[::3], floods, 25.0, None
    if name == "the same period, another phase":
        return floods, floods + 9.0, 25.0, None
    if name == "in phase, floods missing":
        return half(random, floods), floods, 25.0, None
    if name == "in phase, floods and dips missing":
        return half(random, floods), half(random, floods), 25.0, None
    if name == "both drifting":
        return cycles(random, 25.0, seconds, cv=0.08), cycles(random, 25.0, seconds, cv=0.08), 25.0, 0.08
    return np.sort(random.uniform(0, seconds, 80)), cycles(random, 25.0, seconds), 25.0, None


OTHER_CASES = [
    "another period",
    "nearly the same period",
    "three times the period, in phase",
    "a third of the floods' period, in phase",
    "the same period, another phase",
    "in phase, floods missing",
    "in phase, floods and dips missing",
    "both drifting",
    "floods at random",
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", OTHER_CASES)
def test_dips_of_another_cause_are_never_blamed_on_pings(name, seed):
    random = np.random.default_rng(seed)
    floods, dips, period, cv = of_others(name, random, 2000)
    found = judged(throughput(random, dips, 2000), counted(floods, 2000), dips, period, cv)
    assert found.cause == "other", found.words
    assert found.lag_s is None


def test_without_counted_pings_the_cause_stays_unknown():
    random = np.random.default_rng(0)
    dips = cycles(random, 25.0, 2000)
    series = throughput(random, dips, 2000)
    assert judged(series, None, dips, 25.0) == cause.Cause(
        "unknown", None, None, None, None, None, "no pings were counted beside it; the period would fit a ping interval of 25 s"
    )
    early = counted(dips, 2000)
    short = early._replace(time_s=early.time_s[:100], rate=early.rate[:100], interval_s=early.interval_s[:100])
    assert judged(series, short, dips, 25.0).cause == "unknown"
    assert judged(series, short, [], 25.0).cause == "unknown"


@pytest.mark.parametrize("level", [0.0, 40.0])
def test_pings_that_never_flood_are_no_cause(level):
    random = np.random.default_rng(0)
    dips = cycles(random, 25.0, 2000)
    steady = counted([], 2000)
    found = judged(throughput(random, dips, 2000), steady._replace(rate=np.full(steady.rate.size, level)), dips, 25.0)
    assert found.cause == "other"


def test_larger_floods_that_take_more_are_told_and_equal_ones_are_not():
    random = np.random.default_rng(3)
    onsets = cycles(random, 25.0, 2500)
    size = random.uniform(0.2, 1.0, onsets.size)
    graded = judged(throughput(random, onsets, 2500, depth=0.8 * size, noise=0.05), counted(onsets, 2500, size=500 * size), onsets, 25.0)
    assert graded.dose > 0.9
    shuffled = counted(onsets, 2500, size=500 * random.permutation(size))
    assert abs(judged(throughput(random, onsets, 2500, depth=0.8 * size, noise=0.05), shuffled, onsets, 25.0).dose) < 0.35
    assert judged(throughput(random, onsets, 2500), counted(onsets, 2500), onsets, 25.0).dose is None


def test_the_chance_of_a_strict_phase_is_stated_and_drift_makes_it_vanish():
    random = np.random.default_rng(1)
    floods = cycles(random, 25.0, 2000)
    strict = judged(throughput(random, floods, 2000), counted(floods, 2000), floods, 25.0)
    assert strict.chance == pytest.approx((DIP_S + DT) / 25)
    drifting = cycles(random, 25.0, 2000, cv=0.08)
    found = judged(throughput(random, drifting, 2000), counted(drifting, 2000), drifting, 25.0, 0.08)
    assert found.chance < 1e-6
    assert cause.independent_cycles(100, 0.0, 2.0) == 1.0
    assert cause.independent_cycles(100, 2.0, 2.0) == 100.0


def test_the_lag_is_only_told_where_samples_are_shorter_than_half_a_dip():
    random = np.random.default_rng(1)
    floods = cycles(random, 25.0, 2000)
    fine = counted(floods, 2000)
    time = np.arange(0, 2000, 0.1)
    rate = np.full(time.size, 2.0)
    for onset in floods:
        rate[(time >= onset) & (time < onset + FLOOD_S)] += 1000
    coarse = sampled(time, rate, dt=1.0)
    series = throughput(random, floods, 2000)
    assert judged(series, fine, floods, 25.0).lag_s is not None
    told = judged(series, coarse, floods, 25.0)
    assert told.lag_s is None
    assert "coincident" in told.words


@pytest.mark.skipif(not CHALLENGE.exists(), reason="needs ../shared/challenge")
def test_causes_of_the_labelled_dips_come_out_right():
    wrong = []
    truth = {each["case_id"]: each for each in map(json.loads, (CHALLENGE / "dev/truth.jsonl").read_text().splitlines())}
    for case in map(json.loads, (CHALLENGE / "dev/cases.jsonl").read_text().splitlines()):
        told = truth[case["case_id"]]
        if "ping_rate" not in case["columns"] or not told["detected"]:
            continue
        table = pd.read_csv(CHALLENGE / "dev/cases" / f"{case['case_id']}.csv.gz")
        make = rates.from_counter if case["kind"] == "counter" else rates.from_rate
        series = normalise(make(table["time"], table["value"], interval_s=case["dt_nominal"]))
        floods = rates.from_rate(table["time"], table["ping_rate"], interval_s=case["dt_nominal"])
        incidents = [tuple(each) for each in told["incidents"]]
        test = pings.ping_test(series, floods)
        found = cause.cause_of(series, floods, incidents, told["period_s"], told["duration_s"], None, test)
        if found.cause != told["cause"]:
            wrong.append((case["case_id"], found))
    assert wrong == []
