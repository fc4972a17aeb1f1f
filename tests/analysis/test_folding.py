"""The search by fast folding: the right period and width, the same with numba and without, and how much of a dip's S/N it keeps."""

import importlib.util

import numpy as np
import pytest

from lnetstat import compiled
from lnetstat.analysis import folding, rates
from lnetstat.analysis.normalise import normalise

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed: nothing is compiled")


def dips(cells, dt, period, width, onset=3.3, noise=0.0, seed=1):
    """Return (weighted, weight): minus the share of each cell that lies in a dip, with noise."""
    begin = np.arange(cells) * dt
    after = (begin - onset) % period
    share = np.clip(np.minimum(after + dt, width) - after, 0, None) + np.clip(after + dt - period, 0, width)
    return noise * np.random.default_rng(seed).standard_normal(cells) - share / dt, np.ones(cells)


def found_in(weighted, weight, dt, **options):
    length = weighted.size * dt
    limits = {"shortest_s": max(5.0, 4 * dt), "longest_s": min(300.0, length / 6)} | options
    return folding.search_grid(weighted, weight, dt, length, **limits)


def finely(values):
    """Return samples on a grid of the search's own cells, a sample in the first of each three."""
    cells = np.zeros(values.size * folding.CELLS_PER_SAMPLE)
    cells[:: folding.CELLS_PER_SAMPLE] = values
    return cells


def ideal_snr(weighted, dt, period, width, onset):
    """Return the S/N of the best box about the middle of the dips, with period and onset known."""
    away = np.abs(((np.arange(weighted.size) + 0.5) * dt - onset - width / 2 + period / 2) % period - period / 2)
    return (np.cumsum(-weighted[np.argsort(away)]) / np.sqrt(np.arange(1, weighted.size + 1))).max()


@pytest.mark.parametrize(("cells", "dt", "period", "width"), [(9000, 0.2, 25.0, 1.2), (7200, 0.5, 61.7, 3.0), (7200, 1.0, 7.3, 1.0)])
def test_the_best_candidate_has_the_period_and_about_the_width_of_the_dips(cells, dt, period, width):
    best = found_in(*dips(cells, dt, period, width, noise=0.3), dt)[0]
    assert best.period_s == pytest.approx(period, rel=2 * width / (cells * dt))
    assert best.width_s == pytest.approx(width, rel=0.6)


@pytest.mark.parametrize(("dt", "cells", "share", "kept"), [(1.0, 7200, 0.2, 0.8), (1.0, 7200, 1.0, 0.9), (0.2, 9000, 2.0, 0.9)])
def test_little_of_the_snr_is_lost_wherever_dips_fall_between_samples(dt, cells, share, kept):
    random = np.random.default_rng(7)
    ratios = []
    for period, onset in random.uniform((12, 0), (30, 12), (8, 2)):
        weighted, weight = dips(cells, dt, period, share * dt, onset)
        weighted -= weighted.mean()
        near = {"shortest_s": 0.98 * period, "longest_s": 1.02 * period, "cells_per_sample": folding.CELLS_PER_SAMPLE}
        length = cells * dt
        best = folding.search_grid(finely(weighted), finely(weight), dt, length, **near, keep=1)[0]
        assert best.period_s == pytest.approx(period, rel=0.005)
        ratios.append(best.snr / ideal_snr(weighted, dt, period, share * dt, onset))
    assert min(ratios) > kept


@needs_numba
@pytest.mark.parametrize(("cells", "dt"), [(400, 1.0), (3000, 0.5), (9001, 0.1)])
def test_without_numba_the_candidates_are_the_same_to_the_bit(monkeypatch, cells, dt):
    random = np.random.default_rng(cells)
    weighted, weight = dips(cells, dt, 9.1, 1.0, noise=1.0)
    weight *= random.random(cells) > 0.1
    weight[cells // 3 : cells // 2] = 0  # a gap
    fast = found_in(weighted * weight, weight, dt)
    assert fast
    monkeypatch.setattr(compiled, "available", lambda: False)
    assert found_in(weighted * weight, weight, dt) == fast


def test_candidates_are_no_shifted_copies_of_each_other():
    found = found_in(*dips(9000, 0.2, 25.0, 2.0, noise=0.2), 0.2, keep=10)
    assert len(found) == 10
    assert [each.snr for each in found] == sorted((each.snr for each in found), reverse=True)
    periods = np.array([each.period_s for each in found])
    apart = np.abs(periods[:, None] / periods[None, :] - 1) + np.eye(10)
    assert apart.min() > 2e-4


def test_high_throughput_is_no_candidate_better_than_noise():
    weighted, weight = dips(9000, 0.2, 25.0, 1.2)
    assert found_in(-weighted, weight, 0.2)[0].snr <= 0


def test_samples_lie_in_the_first_of_their_cells_also_at_stamps_of_today():
    time, rate = 1_700_000_000.0 + np.arange(4000) * 0.1, np.random.default_rng(1).random(4000)
    series = normalise(rates.from_rate(time, rate))
    weighted, weight = folding.grid_of(series)
    assert weight.size == pytest.approx(folding.CELLS_PER_SAMPLE * series.time_s.size, abs=folding.CELLS_PER_SAMPLE)
    assert (weight[:: folding.CELLS_PER_SAMPLE] == series.weight).all()
    assert weighted.sum() == pytest.approx((series.weight * series.x).sum())


def test_a_grid_too_short_for_any_period_has_no_candidates():
    assert folding.search_grid(np.zeros(20), np.ones(20), 1.0, 20.0, shortest_s=5.0, longest_s=20 / 6) == []
