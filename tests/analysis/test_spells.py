"""Stretches of samples: how long they stand, what sampling leaves open, and how they overlap."""

import numpy as np
import pytest

from lnetstat.analysis import spells


def test_a_sample_stands_for_half_the_steps_around_it_and_gaps_for_no_more_than_five_intervals():
    time_s = np.array([0.0, 1.0, 2.0, 3.0, 103.0, 104.0, 105.0])
    assert spells.durations(time_s).tolist() == [1.0, 1.0, 1.0, 3.0, 3.0, 1.0, 1.0]
    assert spells.durations(np.array([7.0])).tolist() == [0.0]


def test_the_error_bar_covers_what_sampling_at_any_phase_gives():
    """Spells of 0.35 s every 7 s, sampled each 0.2 s at all phases: the share found strays no further than the bar says."""
    truth = 0.35 / 7
    for phase in np.linspace(0, 0.2, 9, endpoint=False):
        time_s = np.arange(phase, 700, 0.2)
        below = (time_s % 7) < 0.35
        span = spells.durations(time_s)
        error = spells.share_error(below, span, 0.2)
        assert abs(span[below].sum() / span.sum() - truth) < 2 * error
        assert error < 0.5 * truth


def test_no_spell_has_no_error_bar():
    assert spells.share_error(np.zeros(10, dtype=bool), np.ones(10), 1.0) is None


def test_longest_spell_ends_at_a_gap_and_one_sample_is_none():
    time_s = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert spells.longest(np.array([0, 1, 1, 1, 0], dtype=bool), time_s) == 2.0
    assert spells.longest(np.array([0, 1, 0, 0, 0], dtype=bool), time_s) == 0.0
    assert spells.longest(np.array([1, 1, 0, 0, 0], dtype=bool), np.array([0.0, 90.0, 91.0, 92.0, 93.0])) == 0.0


def test_intervals_are_joined_where_near_and_where_there_are_too_many():
    assert spells.joined([(5, 6), (0, 1), (1.5, 2)], 1.0) == ((0, 2), (5, 6))
    many = spells.joined([(float(k * k), k * k + 0.5) for k in range(1, 1000)], 0.0)
    assert len(many) == spells.MOST_KEPT
    assert many[0][0] == 1.0
    assert many[-1] == (998001.0, 998001.5)
    assert spells.joined([], 1.0) == ()


@pytest.mark.parametrize(
    ("mine", "theirs", "slack_s", "share"),
    [
        ([(10, 20)], [(12, 14)], 0.0, 0.2),
        ([(10, 20)], [(12, 14)], 1.0, 0.4),
        ([(10, 20)], [(30, 40)], 1.0, 0.0),
        ([(10, 10)], [(9.5, 9.8)], 0.5, 1.0),
        ([(10, 20)], [], 1.0, 0.0),
        ([(0, 1), (10, 13)], [(0, 1)], 0.0, 0.25),
    ],
)
def test_overlap_is_the_share_of_my_time(mine, theirs, slack_s, share):
    assert spells.overlap(mine, theirs, slack_s) == pytest.approx(share)


def test_times_inside_intervals():
    assert spells.inside(np.array([0.0, 1.4, 2.5, 9.0]), [(1, 2), (8, 8.5)], 0.5).tolist() == [False, True, True, True]
    assert not spells.inside(np.array([1.0]), [], 1.0).any()
