"""Dead time in synthetic series of known truth: found with the right numbers, not found where nothing is, and "cannot tell" said."""

import re
from pathlib import Path

import numpy as np
import pytest

from lnetstat.analysis import deadtime, rates, strict
from lnetstat.analysis.deadtime import Label, dead_time

LABEL = Label("oss1", "oss", "counters", "ost_io", "ost_write")
BEGIN = 1_700_000_000.0


def series(
    *,
    seconds=1800.0,
    dt=0.5,
    period=25.0,
    width=1.5,
    depth=0.6,
    noise=0.05,
    onset=3.0,
    seed=1,
    gaps=None,
    extra=0.0,
    counter=True,
    shape=None,
):
    """Return (time, bytes counted, onsets): a steady load with dips. `gaps`: spacing of the dips instead of `period`."""
    random = np.random.default_rng(seed)
    time = BEGIN + np.arange(0, seconds, dt) + random.normal(0, 0.03 * dt, round(seconds / dt))
    onsets = BEGIN + onset + (np.cumsum(gaps) if gaps is not None else np.arange(0, seconds, period) if period else np.empty(0))
    onsets = onsets[onsets < BEGIN + seconds - 2]
    fine = np.arange(BEGIN - 1, BEGIN + seconds + 1, 0.02)
    load = np.full(fine.size, 1e9) if shape is None else 1e9 * shape(fine - BEGIN)
    for start in onsets:
        load[(fine >= start) & (fine < start + width)] *= 1 - depth
        load[(fine >= start + width) & (fine < start + width + 2)] *= 1 + extra
    total = np.concatenate(([0.0], np.cumsum(load[:-1] * 0.02)))
    moved = np.diff(np.interp(np.append(time[0] - dt, time), fine, total))
    moved *= 1 + noise * random.standard_normal(moved.size)
    return time, np.cumsum(np.maximum(moved, 0)), onsets


def verdict(time, value, **options):
    return dead_time(LABEL, [rates.from_counter(time, value)], **options)


@pytest.mark.parametrize(
    ("period", "width", "depth", "dt", "noise"),
    [
        (25.0, 1.5, 0.6, 0.5, 0.05),
        (25.0, 1.5, 0.6, 0.1, 0.25),
        (75.0, 4.0, 0.9, 1.0, 0.1),
        (14.33, 0.8, 0.5, 0.2, 0.1),
        (60.0, 8.0, 0.3, 2.0, 0.05),
    ],
)
def test_dips_of_known_period_width_and_depth_are_measured(period, width, depth, dt, noise):
    seconds = 60 * period
    time, value, onsets = series(seconds=seconds, period=period, width=width, depth=depth, dt=dt, noise=noise)
    found = verdict(time, value)
    assert found.detected
    assert found.period_s == pytest.approx(period, rel=2e-4)
    assert abs(found.period_s - period) < 5 * found.period_err_s
    assert found.duration_s == pytest.approx(width, rel=0.12)
    assert found.depth == pytest.approx(depth, rel=0.12)
    assert found.lost_fraction_gross == pytest.approx(depth * width / period / 1, rel=0.15)
    starts = np.array([start for start, _ in found.incidents])
    near = np.abs(starts[:, None] - onsets[None, :]).min(axis=0)
    assert (near < max(1.5 * dt, 0.5 * width)).mean() > 0.95
    assert len(starts) <= len(onsets) + 2
    assert found.fap < 0.01


def test_pings_that_never_pause_have_no_period_to_search_at():
    time, value, _ = series()
    load = deadtime.normalise(rates.from_counter(time, value))
    always = rates.from_rate(time, np.full(time.size, 4_000.0))
    assert strict.guided(load, always, deadtime.pings.PingTest(9.0), None) is None


def test_a_recorded_ping_interval_within_the_error_is_the_period():
    time, value, _ = series(seconds=900, dt=1.0, period=75.0, width=7.0, depth=0.99, onset=10.3, noise=0.001)
    found, free = verdict(time, value, exact_periods_s=(75.0,)), verdict(time, value)
    assert (found.period_s, free.period_s) == (75.0, pytest.approx(75.0, abs=0.1))
    assert found.lost_fraction == pytest.approx(0.99 * 7 / 75, abs=0.0015)
    assert verdict(time, value, exact_periods_s=(74.0,)).period_s == free.period_s


def test_ripples_of_a_constant_load_are_no_dead_time():
    time, value, _ = series(depth=0.01, noise=0.0005)
    found = verdict(time, value)
    assert (found.verdict, found.period_s) == ("none", None)
    assert "next to nothing" in found.reason
    time, value, _ = series(depth=0.05, noise=0.0005)
    assert verdict(time, value).detected


def test_dips_far_below_the_noise_of_one_sample_are_found_by_folding():
    time, value, _ = series(seconds=7200, dt=0.5, width=1.0, depth=0.3, noise=0.4)
    found = verdict(time, value)
    assert found.detected
    assert found.period_s == pytest.approx(25, rel=1e-3)


def test_catching_up_afterwards_lowers_the_net_loss():
    time, value, _ = series(extra=0.2, width=1.5, depth=0.6, seconds=3600, noise=0.02)
    found = verdict(time, value)
    assert found.lost_fraction_gross == pytest.approx(0.036, rel=0.15)
    assert found.lost_fraction == pytest.approx(0.6 * 1.5 / 25 - 0.2 * 2 / 25, rel=0.25)


def test_dips_in_a_part_of_the_record_have_incidents_only_there():
    time, value, onsets = series(seconds=3600, gaps=np.full(70, 25.0))
    found = verdict(time, value)
    assert found.detected
    assert found.incidents[-1][0] < onsets[-1] + 60
    assert len(found.incidents) == pytest.approx(70, abs=4)


@pytest.mark.parametrize("onset", [0.1, 9.0])
def test_alignment_to_the_epoch_is_tested_with_the_exact_period(onset):
    # 1_700_000_000 is a multiple of 25
    time, value, _ = series(seconds=3600, onset=onset, dt=0.2, width=1.0)
    found = verdict(time, value)
    assert found.epoch_aligned == (onset < 1)
    assert found.epoch_hypothesis_s == 25


def test_a_period_that_is_no_whole_second_is_not_aligned():
    time, value, _ = series(seconds=3600, period=25.37, dt=0.2, width=1.0)
    assert verdict(time, value).epoch_aligned is False


def test_drifting_dips_are_followed_one_by_one():
    gaps = 13.3 * (1 + 0.07 * np.random.default_rng(5).standard_normal(60))
    time, value, onsets = series(seconds=750, dt=0.2, gaps=gaps, width=0.8, depth=0.8, noise=0.05)
    found = verdict(time, value)
    assert found.detected
    assert found.gap_cv == pytest.approx(0.07, abs=0.03)
    assert found.period_s == pytest.approx(np.diff(onsets).mean(), rel=0.05)
    assert len(found.incidents) == pytest.approx(len(onsets), abs=3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "what",
    [
        {"period": None, "noise": 0.1},
        {"period": None, "noise": 0.4},
        {"gaps": "random"},
        {"gaps": "uneven"},
        {"period": None, "shape": "checkpoint"},
        {"period": None, "shape": "sine"},
    ],
    ids=["quiet", "noisy", "random dips", "uneven dips", "checkpoints", "sine"],
)
def test_nothing_periodic_is_not_declared(what, seed):
    random = np.random.default_rng(100 + seed)
    what = dict(what)
    kind = what.get("gaps")
    if kind == "random":
        what["gaps"] = random.exponential(25, 200)
    if kind == "uneven":
        what["gaps"] = np.maximum(2, 25 * (1 + 0.5 * random.standard_normal(200)))
    if what.get("shape") == "checkpoint":
        span = random.uniform(20, 90)
        what["shape"] = lambda t: np.where((t / span) % 1 < 0.5, 1.0, 0.3)
    if what.get("shape") == "sine":
        span = random.uniform(20, 120)
        what["shape"] = lambda t: 1 + 0.4 * np.sin(2 * np.pi * t / span)
    time, value, _ = series(seconds=2400, seed=seed, **what)
    found = verdict(time, value)
    assert not found.detected
    assert found.cause == "none"


def test_a_collector_that_is_late_every_minute_makes_no_dip():
    time = BEGIN + np.arange(0, 3600.0)
    time[::60] += 0.6
    load = 1e9 * (time - BEGIN) * 1.0
    assert not verdict(time, load + np.random.default_rng(1).normal(0, 2e7, time.size).cumsum().clip(-1e8, 1e8)).detected


@pytest.mark.parametrize(
    ("seconds", "dt", "reason"),
    [(20, 0.5, "samples"), (60, 0.5, "fewer than 6 cycles"), (36000, 60, "fewer than 6 cycles|too coarse"), (7200, 10, "too coarse")],
)
def test_too_little_data_is_told(seconds, dt, reason):
    time, value, _ = series(seconds=seconds, dt=dt, period=None)
    found = verdict(time, value)
    assert found.verdict == "cannot_tell"
    assert not found.detected
    assert any(part in found.reason for part in reason.split("|"))


def test_no_load_is_told():
    time = BEGIN + np.arange(0, 1000.0)
    assert "too little was transferred" in verdict(time, np.zeros(1000)).reason


def test_pings_at_the_dips_are_their_cause_and_other_pings_are_not():
    time, value, onsets = series(seconds=3600, dt=0.5)
    edges = np.append(time[0] - 0.5, time)

    def ping_rates(at):
        return rates.from_rate(time, np.histogram(np.repeat(at, 50) + 0.1, edges)[0] / np.diff(edges))

    found = verdict(time, value, ping_rates=ping_rates(onsets))
    assert (found.detected, found.cause) == (True, "ping")
    assert found.ping_z > 10
    other = verdict(time, value, ping_rates=ping_rates(BEGIN + 5 + np.arange(0, 3600, 75.0)))
    assert (other.detected, other.cause) == (True, "other")
    assert verdict(time, value).cause == "unknown"


def test_ping_floods_without_dips_are_no_dead_time():
    time, value, _ = series(seconds=3600, period=None)
    edges = np.append(time[0] - 0.5, time)
    floods = np.histogram(np.repeat(BEGIN + np.arange(3, 3600, 25.0), 50), edges)[0] / np.diff(edges)
    assert not verdict(time, value, ping_rates=rates.from_rate(time, floods)).detected


def test_dips_too_weak_in_each_source_are_found_in_the_stack():
    sources = []
    for seed in range(8):
        time, value, _ = series(seconds=1500, dt=0.5, width=1.0, depth=0.25, noise=0.5, seed=seed)
        sources.append(rates.from_counter(time, value))
    together = dead_time(LABEL, sources)
    assert together.detected
    assert together.period_s == pytest.approx(25, rel=2e-3)


def test_the_false_alarm_probability_falls_with_the_score():
    values = [deadtime.false_alarm_probability(score) for score in (0, 4, 6, 8, 12, 40)]
    assert values == sorted(values, reverse=True)
    assert 0 <= values[-1] < 1e-6
    assert values[0] > 0.9


CHALLENGE = Path(__file__).parents[3] / "shared" / "challenge" / "dev"


@pytest.mark.skipif(not CHALLENGE.exists(), reason="needs ../shared/challenge")
@pytest.mark.parametrize("case", ["0002", "0007", "0018", "0022", "0004", "0030"])
def test_cases_of_the_challenge(case):
    import json

    import pandas as pd

    with (CHALLENGE / "truth.jsonl").open() as file:
        truth = next(line for line in map(json.loads, file) if line["case_id"] == case)
    with (CHALLENGE / "cases.jsonl").open() as file:
        told = next(line for line in map(json.loads, file) if line["case_id"] == case)
    table = pd.read_csv(CHALLENGE / "cases" / f"{case}.csv.gz")
    from lnetstat.analysis import analyze_series

    found = analyze_series(table, kind=told["kind"], interval_s=told["dt_nominal"], credits_max=told.get("credits_max")).dead_time
    assert found.detected == truth["detected"]
    if truth["detected"]:
        assert found.period_s == pytest.approx(truth["period_s"], rel=5e-3)
        assert found.cause in (truth["cause"], "unknown")


def test_bursts_of_messages_at_the_dips_are_told_but_not_called_pings():
    time, value, onsets = series(seconds=1800, dt=0.5)
    edges = np.append(time[0] - 0.5, time)
    bursts = rates.from_rate(time, 100 + np.histogram(np.repeat(onsets, 900) + 0.1, edges)[0] / np.diff(edges))
    found = verdict(time, value, message_rates=bursts)
    assert (found.detected, found.cause) == (True, "unknown")
    assert "bursts of messages" in found.reason
    assert verdict(time, value, message_rates=rates.from_rate(time, np.full(time.size, 100.0))).reason == ""


def floods_at(time, onsets):
    """Return a rate of pings with a flood in the sample that ends after each onset."""
    rate = np.zeros(time.size)
    rate[np.searchsorted(time, onsets)] = 400.0
    return rates.from_rate(time, rate)


@pytest.mark.parametrize(
    ("lead", "cause", "words"),
    [
        (0.0, "ping", "coincident"),
        (-4.0, "other", "what comes later is no cause|too long for queues"),
        (3.0, "unknown", "3.. s before the dips: neither"),
        (20.0, "other", "too long for queues"),
    ],
    ids=["together", "floods after the dips", "shortly before", "long before"],
)
def test_the_distance_between_floods_and_dips_decides_the_cause(lead, cause, words):
    time, value, onsets = series(seconds=3600, period=75.0, width=3.0, dt=1.0, noise=0.05, onset=30.0)
    found = verdict(time, value, ping_rates=floods_at(time, onsets - lead))
    assert found.cause == cause, found.cause_words
    assert re.search(words, found.cause_words), found.cause_words


def test_a_phase_that_jumps_is_told_with_all_incidents_on_both_sides():
    onsets = np.concatenate((np.full(48, 75.0), [112.0], np.full(47, 75.0)))
    time, value, truth = series(seconds=7260, dt=1.0, width=3.0, gaps=onsets, period=None)
    found = verdict(time, value)
    assert found.period_s == pytest.approx(75.0, abs=0.03)
    ((when, jump),) = found.phase_jumps
    assert abs(abs(jump) - 37.0) < 1.5  # half a period: either way
    assert when == pytest.approx(truth[48], abs=80)
    assert len(found.incidents) == pytest.approx(truth.size, abs=2)


def test_sources_of_one_system_keep_the_depth_of_their_dips():
    sources = [rates.from_counter(*series(seconds=3600, seed=seed, noise=0.03)[:2]) for seed in range(4)]
    found = dead_time(LABEL, sources)
    assert found.depth == pytest.approx(0.6, rel=0.1)
    assert found.lost_fraction_gross == pytest.approx(0.6 * 1.5 / 25, rel=0.12)


def test_a_few_deep_dips_at_equal_distances_cannot_tell():
    time, value, _ = series(seconds=310, dt=1.0, period=75.0, width=7.0, depth=1.0, onset=20.0, noise=0.02)
    found = verdict(time, value)
    assert found.verdict == "cannot_tell"
    assert re.search("4 deep dips of 7.* s, one every 75 s", found.reason)


def test_a_value_that_never_changes_cannot_tell():
    found = dead_time(LABEL, [rates.from_rate(BEGIN + np.arange(600.0), np.full(600, 7e8))])
    assert found.verdict == "cannot_tell"
    assert "never changes" in found.reason
