import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.report.decimate import MOST_GAPS, decimate, drawn


def day_with_dips(period_s: float = 25.0) -> tuple[np.ndarray, np.ndarray, list[tuple[float, float]]]:
    time_s = np.arange(0, 86_400.0)
    values = 1000 + np.sin(time_s)
    onsets = np.arange(7.0, 86_000.0, period_s)
    for place, onset in enumerate(onsets):
        values[int(onset)] = place % 17
    return time_s, values, [(float(onset), float(onset)) for onset in onsets]


def test_every_incident_keeps_its_minimum_though_several_share_a_bucket():
    time_s, values, incidents = day_with_dips(period_s=150.0)
    chosen = decimate(time_s, values, 300, incidents)
    kept = set(chosen.tolist())
    assert all(int(begin) in kept for begin, _ in incidents)
    assert chosen.size <= 2 * 300 + len(incidents) + 2


def test_without_being_told_of_incidents_no_bucket_loses_its_lowest_or_highest_value():
    time_s, values, _ = day_with_dips()
    chosen = decimate(time_s, values, 700)
    assert chosen.size <= 2 * 700 + 2
    edges = np.linspace(time_s[0], time_s[-1], 701)
    for begin, end in itertools.pairwise(edges):
        inside, kept = (time_s >= begin) & (time_s < end), (time_s[chosen] >= begin) & (time_s[chosen] < end)
        assert values[inside].min() == values[chosen][kept].min()
        assert values[inside].max() == values[chosen][kept].max()


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=400), st.integers(1, 50), st.integers(0, 399), st.integers(0, 50))
def test_any_series_keeps_its_ends_its_extremes_and_those_of_an_interval(numbers, buckets, first, length):
    values = np.array(numbers)
    time_s = np.arange(values.size, dtype=np.float64)
    chosen = decimate(time_s, values, buckets, [(float(first), float(first + length))])
    assert (np.diff(chosen) > 0).all()
    assert {0, values.size - 1} <= set(chosen.tolist())
    assert values[chosen].min() == values.min()
    assert values[chosen].max() == values.max()
    inside = (time_s >= first) & (time_s <= first + length)
    if inside.any():
        assert values[inside].min() in values[chosen][inside[chosen]]


def test_short_series_stay_whole():
    assert decimate(np.arange(10.0), np.arange(10.0), 5).tolist() == list(range(10))
    assert decimate(np.zeros(0), np.zeros(0), 5).size == 0


def test_a_line_is_broken_where_samples_are_missing_and_nowhere_else():
    time_s = np.concatenate((np.arange(0, 100.0, 0.1), np.arange(160, 300.0, 0.1)))
    for buckets in (20, 100_000):
        shown, values = drawn(time_s, np.ones(time_s.size), buckets)
        broken = np.flatnonzero(np.isnan(values))
        assert broken.size == 1
        assert shown[broken[0] - 1] == time_s[999]
        assert shown[broken[0] + 1] == time_s[1000]
        assert (np.diff(shown) >= 0).all()


def test_a_read_that_stalls_for_a_second_is_no_gap():
    time_s = np.concatenate((np.arange(0, 10.0, 0.1), np.arange(11, 20.0, 0.1)))
    assert not np.isnan(drawn(time_s, np.ones(time_s.size), 1000)[1]).any()


def test_of_very_many_gaps_only_the_longest_break_the_line():
    time_s = np.cumsum(np.tile([1.0, 1.0, 1.0, 9.0], 2000))
    assert np.isnan(drawn(time_s, np.ones(time_s.size), 100)[1]).sum() == MOST_GAPS


def test_what_is_not_finite_is_not_drawn():
    shown, values = drawn(np.arange(4.0), np.array([1.0, np.nan, np.inf, 2.0]), 100)
    assert shown.tolist() == [0.0, 3.0]
    assert values.tolist() == [1.0, 2.0]
