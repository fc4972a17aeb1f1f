"""Too few credits or a late peer: Little's law on loads whose holding time is known, and the reasons why nothing can be told."""

import numpy as np
import pytest

from lnetstat.analysis.sizing import Samples, Traffic, load_of, sizing

LIMIT = 8


def node(hold_free_s, hold_short_s, *, share=1.0, size_short=1000.0, free_s=300, short_s=60, seed=1):
    """Return (peers, traffic) of a node at 1 Hz: first with credits free, then saturated; credits are held for the times given."""
    rng = np.random.default_rng(seed)
    time_s = 1000.0 + np.arange(free_s + short_s)
    offered = 2.0 / hold_free_s
    in_use = np.minimum(rng.poisson(2.0, free_s), LIMIT - 1)
    waiting = np.concatenate((np.arange(short_s // 2), np.arange(short_s - short_s // 2)[::-1])) + 1
    free = np.concatenate((LIMIT - in_use, -waiting))
    rate = np.concatenate((np.full(free_s, offered), np.full(short_s, LIMIT / hold_short_s)))
    bytes_each = np.concatenate((np.full(free_s, 1000.0), np.full(short_s, size_short)))
    sent = np.cumsum(rate / share)
    peers = [Samples(time_s, free.astype(np.int64), np.full(time_s.size, LIMIT))]
    return load_of(peers), Traffic(time_s, sent, np.cumsum(rate / share * bytes_each), share)


def test_credits_that_turn_over_as_fast_as_ever_are_too_few():
    found = sizing(*node(0.01, 0.01))
    assert found.limited_by == "credits"
    assert found.hold_s == pytest.approx(0.01, rel=0.1)
    assert found.hold_saturated_s == pytest.approx(0.01, rel=0.1)
    assert found.offered_peak == pytest.approx(801, rel=0.02)


def test_a_peer_that_holds_credits_ten_times_as_long_is_late():
    found = sizing(*node(0.01, 0.1))
    assert found.limited_by == "peer"
    assert found.hold_saturated_s == pytest.approx(0.1, rel=0.1)


def test_half_of_what_a_router_passes_on_goes_each_way():
    assert sizing(*node(0.01, 0.01, share=0.5)).hold_s == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"hold_short_s": 0.02}, "2.1 times as long"),
        ({"hold_short_s": 0.01, "size_short": 100.0}, "other messages pass when credits are free: 1,000 B on average, 100 B"),
        ({"hold_short_s": 0.01, "free_s": 5}, "hardly a sample with credits free"),
        ({"hold_short_s": 0.01, "short_s": 5}, "4 steps from sample to sample below 0, 10 are needed"),
    ],
)
def test_what_cannot_be_told_has_its_reason(options, why):
    found = sizing(*node(0.01, **options))
    assert found.limited_by == "unknown"
    assert why in found.why


def test_without_counts_of_messages_nothing_is_told():
    load, _ = node(0.01, 0.01)
    assert sizing(load, None).limited_by == "unknown"
    assert "no counts of messages" in sizing(load, None).why


def test_peers_of_a_network_are_taken_together_also_where_one_comes_late():
    time_s = np.arange(10.0)
    early = Samples(time_s, np.full(10, 6), np.full(10, 8))
    late = Samples(time_s[5:], np.full(5, -3), np.full(5, 8))
    load = load_of([early, late])
    assert load.wanted.tolist() == [2.0] * 5 + [13.0] * 5
    assert load.held.tolist() == [2.0] * 5 + [10.0] * 5
    assert load.waiting.tolist() == [0.0] * 5 + [3.0] * 5
    assert load.fewest_free.tolist() == [6.0] * 5 + [-3.0] * 5
