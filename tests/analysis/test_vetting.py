"""Fitting a box to the fold, with numba and without."""

import importlib.util
import math

import numpy as np
import pytest

from lnetstat import compiled
from lnetstat.analysis import rates, vetting
from lnetstat.analysis.folding import Candidate
from lnetstat.analysis.normalise import normalise

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed: nothing is compiled")


def series_with_dips(period_s: float, width_s: float, *, gaps: bool, dt: float = 0.5, seconds: int = 1500):
    random = np.random.default_rng(5)
    time = 1.7e9 + np.arange(1, round(seconds / dt)) * dt
    load = np.where((time - 1.7e9 - 4.0) % period_s < width_s, 0.4, 1.0) * (1 + 0.1 * random.standard_normal(time.size))
    kept = random.random(time.size) > 0.2 if gaps else np.ones(time.size, dtype=bool)
    return normalise(rates.from_rate(time[kept], load[kept], interval_s=dt))


@pytest.mark.parametrize("gaps", [False, True])
def test_the_fit_finds_period_onset_and_width_near_a_candidate(gaps):
    series = series_with_dips(31.7, 2.0, gaps=gaps)
    box = vetting.fit_box(series, Candidate(31.71, 1.5, 10.0))
    assert box.period_s == pytest.approx(31.7, abs=0.02)
    assert (box.onset_s - 1.7e9 - 4.0 + 15) % 31.7 - 15 == pytest.approx(0.0, abs=0.6)
    assert box.width_s == pytest.approx(2.0, abs=0.7)


@needs_numba
@pytest.mark.parametrize(("gaps", "period", "width"), [(False, 31.7, 2.0), (True, 31.7, 2.0), (True, 5.3, 0.4), (False, 240.0, 9.0)])
def test_without_numba_the_fit_is_the_same_to_the_bit(monkeypatch, gaps, period, width):
    series = series_with_dips(period, width, gaps=gaps)
    candidates = [Candidate(near * period, width, 1.0) for near in (0.98, 1.0, 1.003)]
    fast = [vetting.fit_box(series, each) for each in candidates]
    assert max(each.stat for each in fast) > 10
    monkeypatch.setattr(compiled, "available", lambda: False)
    assert [vetting.fit_box(series, each) for each in candidates] == fast


def test_a_period_at_which_no_width_is_a_dip_has_a_box_that_counts_for_nothing():
    assert vetting.fit_box(series_with_dips(31.7, 2.0, gaps=False), Candidate(5.0, 9.0, 3.0)).stat == -math.inf
