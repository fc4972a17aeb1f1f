"""Counters become rates over honest intervals: resets, wraps, gaps, late and double samples."""

import numpy as np
import pytest

from lnetstat.analysis import rates


def test_a_rate_uses_the_true_interval_and_stands_in_its_middle():
    time = np.array([0.0, 1.0, 2.5, 3.0, 4.0, 5.0])
    counted = rates.from_counter(time, 100 * time)
    assert counted.rate == pytest.approx([100] * 5)
    assert counted.time_s == pytest.approx([0.5, 1.75, 2.75, 3.5, 4.5])
    assert counted.interval_s.sum() == pytest.approx(5.0)


def test_a_reset_is_left_out_and_counted():
    time = np.arange(10.0)
    value = np.array([50, 60, 70, 80, 3, 13, 23, 33, 43, 53.0])
    counted = rates.from_counter(time, value)
    assert counted.resets == 1
    assert counted.rate == pytest.approx([10] * 8)


def test_a_32_bit_wrap_is_no_reset_but_a_real_reset_near_the_top_is():
    time = np.arange(8.0)
    value = (2.0**32 - 25 + 10 * time) % 2**32
    wrapped = rates.from_counter(time, value, wraps=True)
    assert wrapped.resets == 0
    assert wrapped.rate == pytest.approx([10] * 7)
    assert rates.from_counter(time, value).resets == 1
    middle = np.array([2**31, 2**31 + 10, 2**31 + 20, 0, 10, 20.0])
    assert rates.from_counter(np.arange(6.0), middle, wraps=True).resets == 1


def test_a_gap_is_a_hole_not_a_low_rate():
    time = np.concatenate((np.arange(10.0), np.arange(60.0, 70.0)))
    counted = rates.from_counter(time, 7 * time)
    assert counted.gaps == ((9.0, 60.0),)
    assert counted.rate.size == 18
    assert counted.rate == pytest.approx([7] * 18)


def test_two_samples_a_millisecond_apart_are_one():
    time = np.array([0, 0.25, 0.5, 0.501, 0.75, 1.0, 1.25])
    value = np.array([0, 25, 50, 51, 75, 100, 125.0])
    counted = rates.from_counter(time, value)
    assert counted.rate.max() == pytest.approx(100, rel=0.05)


def test_a_given_rate_stands_in_the_middle_of_the_interval_that_ends_at_its_time():
    given = rates.from_rate([10.0, 11.0, 12.0, 15.0], [1, 2, 3, 4], interval_s=1.0)
    assert given.time_s == pytest.approx([9.5, 10.5, 11.5, 14.5])
    assert given.interval_s == pytest.approx([1, 1, 1, 1])


@pytest.mark.parametrize("size", [0, 1])
def test_too_few_samples_give_no_rate(size):
    assert rates.from_counter(np.arange(float(size)), np.arange(float(size))).rate.size == 0


def test_unsorted_double_and_missing_samples_are_put_right():
    counted = rates.from_counter([2, 0, 1, 1, 3, 4], [20, 0, 10, 99, 30, np.nan])
    assert counted.rate == pytest.approx([10, 10, 10])


def test_resampling_keeps_the_amount():
    source = rates.from_counter(np.arange(0, 100, 0.1), np.cumsum(np.tile([0, 0, 0, 0, 30.0], 200)))
    cells = np.arange(1.0, 98.0)
    mean = rates.on_times(source, cells + 0.5, np.ones(cells.size))
    assert mean.sum() == pytest.approx(60 * cells.size, rel=0.02)


def test_a_load_in_lumps_is_smoothed_and_a_steady_one_is_not():
    time = np.arange(0, 200, 0.1)
    lumps = rates.from_counter(time, np.cumsum(np.where(np.arange(time.size) % 7 == 0, 1e6, 0.0)))
    assert rates.smoothed(lumps).dt_s > 0.6
    steady = rates.from_counter(time, 1e7 * time)
    assert rates.smoothed(steady).dt_s == pytest.approx(0.1)


@pytest.mark.parametrize("reset", [False, True])
def test_samples_in_any_order_are_the_same_rates(reset):
    time_s = np.arange(100.0)
    value = 1e6 + 100 * time_s
    if reset:
        value[50:] -= 1e6
    order = np.r_[50:100, 0:50]
    sorted_, shuffled = rates.from_counter(time_s, value), rates.from_counter(time_s[order], value[order])
    np.testing.assert_array_equal(shuffled.rate, sorted_.rate)
    assert sorted_.rate.size == 99 - reset


def test_a_clock_that_is_set_back_gives_no_rate_across_the_step():
    time_s = np.arange(200.0) - 60 * (np.arange(200) >= 100)
    found = rates.from_counter(time_s, 100 * np.arange(200.0))
    np.testing.assert_allclose(found.rate, 100)
    assert found.resets == 0
    assert found.rate.size == 138
