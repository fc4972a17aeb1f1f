"""The agent's clock: whole multiples of the interval, misses counted and not made up for, steps of the wall clock noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.agent.ticks import NS, Ticks, WallClock


@given(st.integers(0, 10**18), st.integers(0, 2 * 10**18), st.sampled_from([0.05, 0.1, 1.0, 2.5, 60.0]))
def test_ticks_fall_on_whole_multiples_of_the_interval_of_the_wall_clock(mono_ns, wall_ns, interval_s):
    ticks = Ticks(interval_s, mono_ns, wall_ns)
    for _ in range(3):
        assert (wall_ns + ticks.due_ns - mono_ns) % ticks.interval_ns == 0
        assert ticks.due_ns > mono_ns
        ticks.advance(ticks.due_ns)
    assert ticks.missed == 0


@pytest.mark.parametrize(("took_s", "missed", "due_s"), [(0.999, 0, 2), (1.0, 1, 3), (1.5, 1, 3), (10.0, 10, 12)])
def test_a_tick_that_takes_too_long_misses_others_which_are_counted(took_s, missed, due_s):
    ticks = Ticks(1.0, 0, 0)
    ticks.begun(NS + 5_000_000)
    ticks.advance(NS + int(took_s * NS))
    assert (ticks.missed, ticks.due_ns, ticks.late_ns_worst) == (missed, due_s * NS, 5_000_000)


@pytest.mark.parametrize("step_s", [3600, -3600, 0.3, -1])
def test_a_clock_that_was_set_is_noticed_once(step_s):
    clock = WallClock(0, 1_000 * NS)
    assert clock.step_ns(NS, 1_001 * NS) == 0
    assert clock.step_ns(2 * NS, 1_002 * NS + int(step_s * NS)) == int(step_s * NS)
    assert clock.step_ns(3 * NS, 1_003 * NS + int(step_s * NS)) == 0


def test_a_clock_that_is_steered_is_left_alone():
    clock = WallClock(0, 0)
    assert not any(clock.step_ns(second * NS, int(second * NS * 1.0005)) for second in range(1, 1000))


def test_ticks_that_passed_before_the_clock_was_set_are_missed_too():
    ticks = Ticks(1.0, 0, 0)
    ticks.align(11 * NS, 500 * NS)  # due at 1 s: stopped for ten seconds, and the clock was set in that time
    assert ticks.missed == 10
    ticks.align(ticks.due_ns - NS // 2, 700 * NS)
    assert ticks.missed == 10
