"""Bursts against truth: real captures from each node's own counters, and synthetic counters of known onsets.

Recall and what is claimed falsely, as a table per capture and per kind of counter. A burst counts as found when its onset is told
within a second and a half; clocks of the captured nodes differ by up to half a second.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from lnetstat.analysis import pings, rates, signals
from lnetstat.frames import load
from lnetstat.sources import open_source

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"
needs_captures = pytest.mark.skipif(not CAPTURES.exists(), reason="needs ../shared/captures")
BEGIN = 1_700_000_000.0
NEAR_S = 1.5


@cache
def tracks(scenario, node):
    (folder,) = CAPTURES.glob(f"{scenario}_*")
    return signals.tracks_of(load(open_source(str(folder / node / "fast.tar.gz"), host=node)))


def told(values, *, exact=False):
    """Return (onsets told of all groups, groups) as the analysis tells them."""
    chains = [each for each in pings.chains_of(pings.bursts_of(values, exact=exact)[0]) if each.gap_cv <= pings.RECURRENT_CV]
    return np.sort(np.concatenate([each.onsets_s for each in chains])) if chains else np.empty(0), chains


def compared(found, truth):
    """Return (recall, number of false ones)."""
    distance = np.abs(np.subtract.outer(found, truth))
    if found.size == 0 or truth.size == 0:
        return float(truth.size == 0), found.size
    return float((distance.min(axis=0) <= NEAR_S).mean()), int((distance.min(axis=1) > NEAR_S).sum())


def of_event_file(node):
    """Return when the load generator began its bursts; the last never crossed the router, whose wire stood still by then."""
    (file,) = CAPTURES.glob("s2_*/c1/lst/bursts.txt")
    starts = [float(line.split()[0]) for line in file.read_text().splitlines() if line.endswith("burst_start")]
    return np.array(starts if node == "c1" else starts[:-1])


def of_ping_counters(scenario):
    """Return the onsets of floods as the server's obd_ping has them, counted without the code under test."""
    counted = next(each.rates for each in tracks(scenario, "srv") if each.name == "obd_ping")
    number = np.round(counted.rate * counted.interval_s)
    index = np.flatnonzero(number)
    groups = np.split(index, np.flatnonzero(np.diff(counted.time_s[index]) > 1.0) + 1)
    return np.array([counted.time_s[group[0]] for group in groups if number[group].sum() >= 100])


@needs_captures
@pytest.mark.parametrize("node", ["rtr", "c1", "srv"])
@pytest.mark.parametrize(("scenario", "count", "period_s"), [("s2", 14, 15.3), ("s6b", 10, 13.2), ("s7", 9, 13.0)])
def test_bursts_of_real_captures_are_found_from_each_nodes_own_messages(scenario, count, period_s, node):
    truth = of_event_file(node) if scenario == "s2" else of_ping_counters(scenario)
    messages = next(each.rates for each in tracks(scenario, node) if each.purpose == "messages")
    found, groups = told(messages)
    assert truth.size == count + (scenario == "s2" and node == "c1")
    assert compared(found, truth) == (1.0, 0)
    assert found.size == truth.size
    assert [each.period_s for each in groups] == [pytest.approx(period_s, abs=0.2)]
    assert groups[0].gap_cv <= pings.PERIODIC_CV


@needs_captures
@pytest.mark.parametrize(("scenario", "node"), [("s1", "rtr"), ("s5b", "rtr"), ("s9", "rtr")])
def test_captures_without_pings_have_no_bursts_that_come_again(scenario, node):
    for track in tracks(scenario, node):
        if track.purpose != "throughput":
            assert told(track.rates)[1] == []


@needs_captures
def test_the_servers_own_few_pings_are_a_second_period_in_its_exact_counter():
    counted = next(each.rates for each in tracks("s6b", "srv") if each.name == "obd_ping")
    flood, own = told(counted, exact=True)[1]
    assert np.median([burst.size for burst in flood.bursts]) == pytest.approx(396, abs=2)
    assert np.median([burst.size for burst in own.bursts]) == pytest.approx(6, abs=0.5)
    assert len(own.bursts) == 7
    assert 21 < own.period_s < 26


def walk(random, period_s, seconds, cv, first_s=None):
    gaps = period_s * np.maximum(0.2, 1 + cv * random.standard_normal(int(2 * seconds / period_s)))
    onsets = (random.uniform(1, period_s) if first_s is None else first_s) + np.concatenate(([0.0], np.cumsum(gaps)))
    return onsets[onsets < seconds - 2]


def counter(random, onsets, seconds, *, sizes=400.0, base=5.0, wraps=False, reset_s=None, gap_s=None, dt=0.1):
    """Return the rates of a counter of messages with bursts of 0.4 s; wrapping at 2**32, starting again or with a gap."""
    each = random.poisson(base * dt, int(seconds / dt)).astype(float)
    for onset, size in zip(onsets, np.broadcast_to(sizes, len(onsets)), strict=True):
        for part in range(4):
            each[min(each.size - 1, int((onset + part / 10) / dt))] += size / 4
    value, time = np.cumsum(each), (np.arange(each.size) + 1) * dt
    if wraps:
        value = (value + 2**32 - value[-1] / 2) % 2**32
    if reset_s:
        value = np.where(time > reset_s, value - value[int(reset_s / dt)], value)
    keep = np.ones(time.size, dtype=bool) if gap_s is None else (time < gap_s[0]) | (time > gap_s[1])
    return rates.from_counter(BEGIN + time[keep], value[keep], wraps=wraps)


def made(name, random):
    """Return (rates, onsets in seconds) of one kind of drifting pings, 10 minutes at 10 Hz."""
    seconds, options = 600, {}
    if name == "four phases":
        parts = [(walk(random, 25.0, seconds, 0.005, first), size) for first, size in ((2, 280), (9, 390), (14, 120), (20, 50))]
        onsets = np.concatenate([part for part, _ in parts])
        sizes = np.concatenate([np.full(part.size, size) for part, size in parts])
        order = np.argsort(onsets)
        return counter(random, onsets[order], seconds, sizes=sizes[order], base=1.0), onsets[order]
    if name == "interval changed":
        onsets = np.concatenate((walk(random, 5.0, 300, 0.05), 300 + walk(random, 13.0, 300, 0.06)))
    else:
        onsets = walk(random, random.uniform(12, 15), seconds, 0.0 if name == "strict" else 0.12 if name == "wide drift" else 0.07)
    if name == "a tenth missed":
        onsets = onsets[random.random(onsets.size) > 0.1]
    if name == "sizes vary":
        options["sizes"] = 400 * random.lognormal(0, 0.4, onsets.size)
    if name == "reset and gap":
        options |= {"reset_s": 200.0, "gap_s": (350.0, 380.0)}
        onsets = onsets[(onsets < 349) | (onsets > 381)]
    options["wraps"] = name == "wrap"
    return counter(random, onsets, seconds, **options), onsets


DRIFTING = ["strict", "drift", "wide drift", "a tenth missed", "sizes vary", "wrap", "reset and gap", "interval changed", "four phases"]


@pytest.mark.parametrize("name", DRIFTING)
def test_drifting_bursts_are_found_one_by_one(name):
    recalls, false = [], 0
    for seed in range(5):
        values, onsets = made(name, np.random.default_rng(seed))
        found, groups = told(values)
        recall, wrong = compared(found - BEGIN, onsets)
        recalls.append(recall)
        false += wrong
        assert len(groups) == {"four phases": 4, "interval changed": 2}.get(name, 1)
        assert all(each.gap_cv <= pings.PERIODIC_CV for each in groups)
    assert false == 0
    assert np.mean(recalls) >= 0.98


def bursts_at_random(name, random):
    if name == "random times":
        return np.sort(random.uniform(1, 598, 40))
    if name == "many at random times":
        return np.sort(random.uniform(1, 598, 110))
    return walk(random, 15.0, 600, {"jitter 0.4": 0.4, "jitter 0.6": 0.6}[name]) if name != "none" else np.empty(0)


@pytest.mark.parametrize("name", ["random times", "many at random times", "jitter 0.4", "jitter 0.6", "none"])
def test_bursts_without_a_period_are_not_claimed(name):
    for seed in range(8):
        random = np.random.default_rng(seed)
        groups = told(counter(random, bursts_at_random(name, random), 600, wraps=seed % 2 == 1))[1]
        assert not any(each.gap_cv <= pings.PERIODIC_CV for each in groups)
        assert name.startswith("jitter") or groups == []


def test_a_heavy_tailed_rate_of_messages_is_no_burst_that_comes_again():
    for seed in range(8):
        random = np.random.default_rng(seed)
        each = random.poisson(random.gamma(1 / 19, 19, 12_000) * 3.0)
        assert told(rates.from_counter(BEGIN + np.arange(12_000) / 10, np.cumsum(each)))[1] == []


def test_uneven_cycles_are_recurrent_and_not_periodic():
    random = np.random.default_rng(4)
    onsets = walk(random, 15.0, 1500, 0.22)
    found, (group,) = told(counter(random, onsets, 1500))
    assert pings.PERIODIC_CV < group.gap_cv <= pings.RECURRENT_CV
    assert compared(found - BEGIN, onsets) == (1.0, 0)


def test_a_day_at_ten_hertz_is_followed_to_its_end():
    random = np.random.default_rng(5)
    onsets = walk(random, 7.5, 86_400, 0.05)
    bursts = [pings.Burst(BEGIN + float(onset), BEGIN + float(onset) + 0.4, 400.0, 1000.0) for onset in onsets]
    (group,) = pings.chains_of(bursts)
    assert len(group.bursts) == onsets.size > 11_000
    assert group.period_s == pytest.approx(7.5, rel=0.01)


def test_surprise_is_the_law_of_a_sum_of_uniform_numbers():
    assert pings.surprise_of_even(np.array([0.1, 0.1, 0.1])) == pytest.approx(-np.log10(0.3**3 / 6))
    assert pings.surprise_of_even(np.full(10, 0.5)) == 0.0
    random = np.random.default_rng(6)
    drawn = random.random((20_000, 30)).sum(axis=1)
    told_chance = 10 ** -pings.surprise_of_even(np.full(30, 0.4))
    assert told_chance == pytest.approx((drawn <= 12).mean(), rel=0.6)
