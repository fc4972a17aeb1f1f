"""Clocks that differ are found and nothing else is; the host unlike its peers is named and no other."""

import numpy as np
import pandas as pd
import pytest

from lnetstat.analysis import odd_one_out, odd_paths, skew
from lnetstat.analysis.odd_one_out import FIGURES, Counts, odd_among
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.signals import Track
from lnetstat.frames import Frames

BEGIN = 1_700_000_000.0


def track(host, load, *, ahead_s=0.0, purpose="throughput", seed=0, dt=1.0):
    random = np.random.default_rng([seed, sum(map(ord, host))])
    rate = load * (1 + 0.05 * random.standard_normal(load.size))
    time = BEGIN + dt * np.arange(load.size) + ahead_s
    return Track(host, "router", "lnet_stats", "", "route_length", purpose, "bytes/s", Rates(time, rate, np.full(load.size, dt), dt, 0, ()))


def floods(seconds, *, period=None, seed=4):
    """1e9 with dips of 3 s: every `period` seconds, else at random."""
    load = np.full(seconds, 1e9)
    onsets = np.arange(7, seconds, period) if period else np.random.default_rng(seed).integers(0, seconds, seconds // 40)
    for onset in onsets:
        load[onset : onset + 3] *= 0.4
    return load


def test_a_clock_that_is_ahead_is_told_with_its_error():
    tracks = [track(f"h{each}", floods(1800), ahead_s=7.3 if each == 2 else 0.0) for each in range(6)]
    clocks = skew.clocks_of(tracks).by_host
    assert set(clocks) == {"h2"}
    assert clocks["h2"].offset_s == pytest.approx(7.3, abs=0.35)
    assert clocks["h2"].period_s is None
    assert clocks["h2"].error_s < 0.5


def test_a_track_is_put_on_the_others_clock():
    tracks = [track(f"h{each}", floods(1800), ahead_s=-12.0 if each == 1 else 0.0) for each in range(5)]
    clocks = skew.clocks_of(tracks)
    assert skew.aligned(tracks[1], clocks).rates.time_s[0] == pytest.approx(BEGIN, abs=0.5)
    assert skew.aligned(tracks[0], clocks) is tracks[0]


def test_periodic_floods_leave_the_period_open_and_nothing_is_aligned_for_them():
    tracks = [track(f"h{each}", floods(1800, period=25), ahead_s=4.0 if each == 3 else 0.0) for each in range(6)]
    clocks = skew.clocks_of(tracks).by_host
    assert set(clocks) == {"h3"}
    assert clocks["h3"].offset_s == pytest.approx(4.0, abs=0.4)
    assert clocks["h3"].period_s == pytest.approx(25, abs=1)
    assert skew.aligned(tracks[3], skew.Clocks(clocks)) is tracks[3]


@pytest.mark.parametrize(("seconds", "period"), [(1800, 25), (240, 75), (600, 180)])
def test_groups_that_ping_at_phases_of_their_own_are_never_told_as_clocks(seconds, period):
    loads = [np.roll(floods(seconds, period=period), 11 * (each % 2)) for each in range(6)]
    tracks = [track(f"h{each}", load) for each, load in enumerate(loads)]
    assert all(clock.period_s is not None for clock in skew.clocks_of(tracks).by_host.values())
    assert all(clock.period_s is not None for clock in skew.clocks_of(tracks[:2]).by_host.values())


def sampled(onsets, seconds, dt, *, ahead_s, noise, random):
    """Loads with dips of 3 s, as a host samples them whose ticks are anywhere and whose clock is ahead."""
    fine = np.ones(seconds * 100)
    for onset in onsets:
        fine[int(100 * onset) : int(100 * (onset + 3))] = 0.4
    each, skipped = round(100 * dt), random.integers(round(100 * dt))
    rate = fine[skipped : skipped + (fine.size - skipped) // each * each].reshape(-1, each).mean(axis=1)
    rate *= 1 + noise * random.standard_normal(rate.size)
    time = BEGIN + skipped / 100 + dt * (np.arange(rate.size) + 0.5) + ahead_s
    return Rates(time, rate, np.full(rate.size, dt), dt, 0, ())


@pytest.mark.parametrize("dt", [0.1, 0.25, 1.0])
@pytest.mark.parametrize("noise", [0.03, 0.15])
def test_the_error_told_covers_the_offset(dt, noise):
    random = np.random.default_rng(6)
    covered = []
    for _ in range(20):
        onsets, ahead_s = random.uniform(10, 880, 25), random.uniform(3, 20)
        pair = [sampled(onsets, 900, dt, ahead_s=ahead, noise=noise, random=random) for ahead in (0.0, ahead_s)]
        tracks = [Track(host, "router", "", "", "", "throughput", "", rates) for host, rates in zip("ab", pair, strict=True)]
        clock = skew.clocks_of(tracks).by_host.get("b")
        if clock is None:
            continue  # noise may hide it
        covered.append(abs(clock.offset_s - ahead_s) <= 2 * clock.error_s)
        assert clock.error_s < 0.3 * dt + 0.05
    assert len(covered) >= 15
    assert np.mean(covered) >= 0.9


@pytest.mark.parametrize("seed", range(10))
def test_hosts_with_nothing_in_common_have_no_clock_offset(seed):
    tracks = [track(f"h{each}", floods(1800, seed=100 * seed + each), seed=seed) for each in range(4)]
    assert skew.clocks_of(tracks).by_host == {}


@pytest.mark.parametrize("ahead_s", [0.0, 0.3])
def test_less_than_a_sample_is_not_told(ahead_s):
    tracks = [track(f"h{each}", floods(1800, period=25), ahead_s=ahead_s * (each == 1)) for each in range(4)]
    assert skew.clocks_of(tracks).by_host == {}


def test_of_two_hosts_the_second_is_told_and_one_alone_never():
    pair = [track("a", floods(1800)), track("b", floods(1800), ahead_s=5.0)]
    assert set(skew.clocks_of(pair).by_host) == {"b"}
    assert skew.clocks_of(pair[:1]).by_host == {}
    assert skew.clocks_of([]).by_host == {}


def odd(loads):
    tracks = [track(host, np.full(600, load)) for host, load in loads.items()]
    counts = [Counts(host, "router", ("o2ib",), 0.0) for host in loads]
    return {each.subject: each for each in odd_one_out.findings_of(tracks, [], counts, 0, 1)}


def test_the_router_with_half_the_load_is_named_and_no_other():
    found = odd({f"rtr{each}": 5e8 if each == 3 else 1e9 for each in range(8)})
    assert set(found) == {"rtr3"}
    assert found["rtr3"].evidence["figures"]["throughput"]["value"] == pytest.approx(5e8, rel=0.02)
    assert found["rtr3"].kind == "odd_one_out"


@pytest.mark.parametrize(
    "loads",
    [
        dict.fromkeys("abcdef", 1e9),
        {"a": 1e9, "b": 2e9, "c": 1e9},  # too few to say who is odd
        {"a": 1e9, "b": 1e9, "c": 1e9, "d": 1e9, "e": 2e9, "f": 2e9, "g": 2e9, "h": 2e9},  # two kinds
        {name: 1e9 * (1 + 0.1 * at) for at, name in enumerate("abcdefgh")},  # no usual host
    ],
)
def test_equal_hosts_few_hosts_and_hosts_that_scatter_have_no_odd_one(loads):
    assert odd(loads) == {}


def test_by_chance_hardly_any_group_has_an_odd_host():
    random = np.random.default_rng(2)
    throughput = FIGURES[0]
    named = 0
    for _ in range(1000):
        values = dict(zip("abcdefgh", 1 + 0.3 * random.standard_normal(8), strict=True))
        named += bool(odd_among(values, throughput, 40))
    assert named <= 8  # 0.2 % expected, and by chance not more than 0.8 %


def test_drops_of_one_server_are_named():
    values = {f"oss{each}": 5.0 for each in range(6)} | {"oss6": 4000.0}
    (found,) = odd_among(values, FIGURES[-1], 35)
    assert found.host == "oss6"


def test_hosts_that_only_count_pings_are_compared_too():
    pings = np.where(floods(1800) < 1e9, 300.0, 0.0)
    tracks = [track(f"h{each}", pings, ahead_s=5.0 if each == 0 else 0.0, purpose="pings") for each in range(3)]
    clocks = skew.clocks_of(tracks).by_host
    assert set(clocks) == {"h0"}
    assert clocks["h0"].offset_s == pytest.approx(5.0, abs=0.3)


def paths(in_use, *, gateways=True, seed=1):
    """What a host knows of its peers, each with so many credits in use on average."""
    random = np.random.default_rng(seed)
    rows = []
    for number, mean in enumerate(in_use):
        used = random.poisson(mean, 200)
        rows += [(BEGIN * 10**9 + at * 10**9, f"10.1.0.{number}@o2ib", 0, 8, 8 - each, 2.0**20 * each) for at, each in enumerate(used)]
    columns = ["time_ns", "nid", "row", "tx_credits_max", "tx_credits", "queue_bytes"]
    peers = pd.DataFrame(rows, columns=columns).assign(host="oss1")
    routes = pd.DataFrame({"host": "oss1", "router": peers["nid"].unique() if gateways else []})
    empty = pd.DataFrame({"host": []})
    return odd_paths.findings_of("oss1", Frames({"peers": peers, "routes": routes}, empty, empty))


def test_a_gateway_unlike_its_siblings_is_named_and_no_other():
    (found,) = paths([6, 6, 40, 6, 6, 6])
    assert found.evidence["path"] == "10.1.0.2@o2ib"
    assert set(found.evidence["figures"]) == {"credits_in_use", "queue_bytes"}
    (unused,) = paths([6, 6, 6, 6, 6, 0])
    assert unused.evidence["path"] == "10.1.0.5@o2ib"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("in_use", [[6] * 5, [6, 6.2, 5.9, 6.1], [0.05, 0, 0.05, 0.4], [6, 6, 40]])
def test_gateways_with_nearly_equal_loads_or_hardly_any_have_no_odd_one(in_use, seed):
    assert paths(in_use, seed=seed) == []


def test_servers_that_a_host_talks_to_directly_are_not_compared():
    assert paths([6, 6, 40, 6, 6], gateways=False) == []
