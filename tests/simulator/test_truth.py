"""What the truth says of runs whose answer is known beforehand."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnetstat.simulator import floods
from lnetstat.simulator.follow import GroupTruth, Steps, side_by_side
from lnetstat.simulator.plan import ONE, Health, Net, Ni, Pings, Plan, Service
from lnetstat.simulator.truth import keys_markdown, summary

NS = 10**9
BIN_NS = NS // 10
BASE = 1000  # bytes of one server in a bin


def plan(*, interval_s: int, aligned: bool) -> Plan:
    net, ni = Net("tcp", 1, False, 0, 0, 0, 2), Ni(256, 8, 8, 1, 1, 0, -1)
    service = Service(4, 64, 64, 64)
    pings = Pings(interval_s * NS, aligned, 0, 0, 0, 1, ())
    costs = (1, 1, 1, 1, (ONE,), (ONE,), 0, 0, 200, 400, 300, 1 << 20)
    health = Health(100, 2, NS, NS, NS, NS)
    nodes = (10, 2, 2, 1, 1, net, net, ni, ni, ni, ni, (1, 1, 1), True, 2, service, service)
    return Plan(*nodes, *costs, pings, (), health, (), BIN_NS, 0, 1)


def truth(amounts: Any, pings: Any, *, interval_s: int = 10, aligned: bool = True, first_s: float = 2.0, group: int = 0) -> GroupTruth:
    """Two servers that share the bytes and pings of each bin."""
    both, counted = np.array([amounts, amounts], np.int64), np.array([pings, pings], np.int64)
    until_ns = both.shape[1] * BIN_NS
    times = np.arange(0, until_ns + 1, NS)
    busy = np.zeros((times.size, 2, 2), np.int64)
    busy[:, :, 0] = times[:, None] // 4
    waits = np.zeros((times.size, 2, 2, 2), np.int64)
    waits[:, :, 1, 0], waits[:, :, 1, 1] = np.arange(times.size)[:, None], 500 * np.arange(times.size)[:, None]
    steps = Steps(times, busy, busy * 2, waits, np.zeros((times.size, 2, 2), np.int64))
    entries = [
        {"group": group, "node": node, "remote_node": 12, "wanted_peak": 8 + node, "short_ns": 0, "waits": 0, "wait_ns": 0}
        for node in (10, 12)
    ]
    pools = [
        {"group": group, "node": 10, "cpt": 0, "pool": pool, "wanted_peak": pool, "short_ns": 0, "waits": 0, "wait_ns": 0}
        for pool in range(3)
    ]
    sent = int(counted.sum())
    routed = np.array([sent // 2, sent - sent // 2])
    first_ns = round(first_s * NS)
    return GroupTruth(
        (group,), plan(interval_s=interval_s, aligned=aligned), until_ns, both, counted, np.zeros(0, np.int64), counted.sum(axis=1), routed,
        40, first_ns, first_ns, steps, entries, pools, [],
    )  # fmt: skip


def dips(length_s: int, *, every_s: int, first_s: int, dip_s: float, rate: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Bytes and pings of a steady load that falls to `rate` of itself for `dip_s`, while 20 pings come in each second."""
    bins = length_s * 10
    amounts, pings = np.full(bins, BASE), np.zeros(bins, np.int64)
    for begin_s in range(first_s, length_s, every_s):
        flood = slice(begin_s * 10, round((begin_s + dip_s) * 10))
        amounts[flood], pings[flood] = round(BASE * rate), 2
    return amounts, pings


def test_dips_of_a_tenth_of_the_period_lose_a_tenth() -> None:
    found = summary(truth(*dips(45, every_s=10, first_s=2, dip_s=1.0)))
    assert (found["ping_pattern"], found["period_s"], found["periods"]) == ("floods", 10.0, 4)
    assert found["floods"] == [[2.0, 3.0], [12.0, 13.0], [22.0, 23.0], [32.0, 33.0], [42.0, 43.0]]
    assert found["lost_fraction"] == found["lost_fraction_gross"] == pytest.approx(0.1)
    assert found["dead_s"] == [1.0, 1.0, 1.0, 1.0]
    assert (found["base_rate"], found["mean_rate"]) == (20_000.0, 18_000.0)
    assert (found["write_minimum_share"], found["write_flood_share"]) == (0.0, 0.0)
    assert found["correlation"] == pytest.approx(-1)
    assert found["pings_per_server"] == {"min": 20, "mean": 20.0, "max": 20}


def test_what_is_caught_up_is_not_lost_net() -> None:
    amounts, pings = dips(45, every_s=10, first_s=2, dip_s=1.0)
    for begin in range(30, 450, 100):
        amounts[begin : begin + 10] = round(1.5 * BASE)
    found = summary(truth(amounts, pings))
    assert found["lost_fraction"] == pytest.approx(0.05)
    assert found["lost_fraction_gross"] == pytest.approx(0.1)


def test_a_rate_that_comes_back_slowly_after_the_pings_is_lost_too() -> None:
    amounts, pings = dips(45, every_s=10, first_s=2, dip_s=1.0)
    for begin in range(30, 450, 100):
        amounts[begin : begin + 20] = round(0.5 * BASE)
    found = summary(truth(amounts, pings))
    assert found["lost_fraction"] == found["lost_fraction_gross"] == pytest.approx(0.2)
    assert found["floods"][0] == [2.0, 3.0]


def test_what_a_slow_return_loses_is_told_though_it_is_caught_up_later() -> None:
    amounts, pings = dips(45, every_s=10, first_s=2, dip_s=1.0)
    for begin in range(30, 450, 100):
        amounts[begin : begin + 20] = round(0.5 * BASE)
        amounts[begin + 20 : begin + 30] = 2 * BASE
    found = summary(truth(amounts, pings))
    assert found["lost_fraction"] == pytest.approx(0.1)
    assert found["lost_fraction_gross"] == pytest.approx(0.2)


def test_a_flood_that_begins_within_a_bin_is_known_to_the_nanosecond() -> None:
    amounts, pings = dips(45, every_s=10, first_s=2, dip_s=1.0)
    found = floods.rounds(truth(amounts, pings, first_s=2.034))
    assert found.floods[0] == (2_034_000_000, 3 * NS)
    assert found.edges == tuple(round((2.034 + 10 * period) * NS) for period in range(5))


def test_the_last_interval_counts_only_when_it_is_whole() -> None:
    assert summary(truth(*dips(42, every_s=10, first_s=2, dip_s=1.0)))["periods"] == 4
    assert summary(truth(*dips(41, every_s=10, first_s=2, dip_s=1.0)))["periods"] == 3


def test_floods_of_a_drifting_pinger_are_found_by_their_pauses() -> None:
    amounts, pings = dips(60, every_s=9, first_s=2, dip_s=1.0)
    found = summary(truth(amounts, pings, aligned=False))
    assert (found["ping_pattern"], found["period_s"]) == ("floods", 9.0)
    assert found["lost_fraction"] == pytest.approx(1 / 9, abs=1e-3)


def test_pings_all_the_time_are_no_floods_and_lose_nothing() -> None:
    for aligned in (True, False):
        found = summary(truth(np.full(450, BASE), np.ones(450, np.int64), aligned=aligned, first_s=0.0))
        assert (found["ping_pattern"], found["floods"], found["dead_s"], found["lost_fraction"]) == ("steady", [], [], 0.0)


def test_without_pings_there_is_a_rate_and_nothing_lost() -> None:
    found = summary(truth(np.full(450, BASE), np.zeros(450, np.int64), first_s=-1e-9))
    assert (found["ping_pattern"], found["period_s"], found["base_rate"], found["lost_fraction"]) == ("none", None, 20_000.0, 0.0)
    assert found["pings_per_server"] == {"min": None, "mean": None, "max": None}


def test_what_cannot_be_told_is_null_and_not_zero() -> None:
    amounts, pings = dips(8, every_s=10, first_s=2, dip_s=1.0)
    short = summary(truth(amounts, pings))
    assert (short["periods"], short["lost_fraction"], short["base_rate"], short["dead_s"]) == (0, None, None, [])
    idle = summary(truth(np.zeros(450, np.int64), dips(45, every_s=10, first_s=2, dip_s=1.0)[1]))
    assert (idle["periods"], idle["lost_fraction"], idle["base_rate"]) == (4, None, None)
    assert len(idle["floods"]) == 5


def test_use_of_servers_and_waits_are_told_in_floods_and_outside() -> None:
    found = summary(truth(*dips(45, every_s=10, first_s=2, dip_s=1.0)))
    assert found["utilisation"]["router_send"] == {"mean": 0.125, "floods": 0.125}  # a quarter of one NI's time, of two
    assert found["utilisation"]["server_send"] == {"mean": 0.5, "floods": 0.5}
    assert found["utilisation"]["ost_threads"]["mean"] == 0
    assert found["req_waittime_s"]["ost_io"] == {"quiet": 0.0005, "floods": 0.0005}
    assert found["req_waittime_s"]["ost"] == {"quiet": None, "floods": None}
    assert found["credits_wanted_peak"] == {"routers": 18, "servers": 20}
    assert found["buffers_wanted_peak"] == {"tiny": 0, "small": 1, "large": 2}


def test_groups_side_by_side_are_one_system() -> None:
    dipping, steady = dips(45, every_s=10, first_s=2, dip_s=1.0), dips(45, every_s=10, first_s=2, dip_s=1.0, rate=1.0)
    both = summary(side_by_side([truth(*dipping), truth(*steady, group=1)]))
    assert both["groups"] == [0, 1]
    assert both["lost_fraction"] == pytest.approx(0.05)
    assert [server["lost_fraction"] for server in both["servers"]] == [0.1, 0.1, 0.0, 0.0]
    assert both["pings_per_router"]["mean"] == pytest.approx(summary(truth(*dipping))["pings_per_router"]["mean"])
    assert [entry["group"] for entry in both["entries"]] == [0, 0, 1, 1]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 500, BASE]), st.sampled_from([0, 0, 3])), min_size=1, max_size=300),
    st.integers(1, 12),
    st.booleans(),
    st.floats(0, 5),
)
def test_whatever_happened_the_truth_is_plain_json_and_gross_is_not_less_than_net(
    bins: list[tuple[int, int]], interval_s: int, aligned: bool, first_s: float
) -> None:
    amounts, pings = zip(*bins, strict=True)
    found = summary(truth(amounts, pings, interval_s=interval_s, aligned=aligned, first_s=first_s))
    json.dumps(found, allow_nan=False)
    if found["lost_fraction"] is not None:
        assert found["lost_fraction_gross"] >= found["lost_fraction"]
    assert all(begin < end for begin, end in found["floods"])


def test_the_table_of_keys_has_a_row_for_each() -> None:
    assert keys_markdown().count("\n") == 2 + len({line.split("|")[1] for line in keys_markdown().splitlines()[2:]})
