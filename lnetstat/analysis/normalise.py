"""Take jobs, trends and heavy tails out of a rate, so that a dip is measured relative to its local load."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.analysis.rates import Rates
from lnetstat.analysis.results import FloatArray

IDLE_SHARE = 0.12  # below this share of the high load (90th percentile of the running median) nothing is running
CLIP_SIGMA = 4.0
LEAST_WINDOW = 9  # samples: of fewer a dip of one sample moves the median itself
BRIEF_WINDOW_S = 10.0


class Normalised(NamedTuple):
    """A rate relative to its running median. All arrays are (n,), sorted by `time_s`.

    `load`: the running median; `residual` = rate/load - 1; `x`: the residual clipped to 4 robust sigmas, in sigmas, with mean 0;
    `weight`: 0 where idle, else 1 (or the number of sources of a stack); `sigma`: the robust scatter of the residual; `window_s`: of the
    running median.
    """

    time_s: FloatArray
    interval_s: FloatArray
    dt_s: float
    rate: FloatArray
    load: FloatArray
    residual: FloatArray
    x: FloatArray
    weight: FloatArray
    sigma: float
    window_s: float = 30.0


def usual_window(dt_s: float) -> float:
    """Return the window in seconds that suits most loads: 30 s or 20 samples, from 2 s sampling on 60 s or 11 samples."""
    return max(30.0, 20 * dt_s) if dt_s < 2 else max(60.0, 11 * dt_s)


def brief_window(dt_s: float) -> float:
    """Return the window in seconds for brief dips in a load that comes in bursts of seconds: three of the longest such dips."""
    return max(BRIEF_WINDOW_S, LEAST_WINDOW * dt_s)


def normalise(rates: Rates, window_s: float | None = None) -> Normalised:
    """Return the rates relative to a centred running median over `window_s` seconds, the usual window without."""
    dt = rates.dt_s
    window_s = window_s or usual_window(dt)
    load = _running_median(rates.rate, dt, window_s)
    known = np.isfinite(load)
    high = float(np.percentile(load[known], 90)) if known.any() else 0.0
    on = known & (load > IDLE_SHARE * high) & (load > 0)
    residual = np.where(on, rates.rate / np.where(on, load, 1.0) - 1.0, 0.0)
    load = np.where(known, load, 0.0)
    return standardise(rates.time_s, rates.interval_s, dt, rates.rate, load, residual, on.astype(np.float64))._replace(window_s=window_s)


def _running_median(rate: FloatArray, dt_s: float, window_s: float) -> FloatArray:
    samples = max(LEAST_WINDOW, round(window_s / dt_s)) | 1
    median = pd.Series(rate).rolling(samples, center=True, min_periods=max(1, samples // 3)).median()
    return np.asarray(median.to_numpy(), dtype=np.float64)


def beside(series: Normalised, dips: npt.NDArray[np.bool_]) -> Normalised:
    """Return the series with its load taken beside the marked samples only: dips in the window of a median make it too low.

    Where they leave too little of a window the load stays as it was.
    """
    load = _running_median(np.where(dips | (series.weight <= 0), np.nan, series.rate), series.dt_s, series.window_s)
    load = np.where(np.isfinite(load) & (load > 0), load, series.load)
    residual = np.where(series.weight > 0, series.rate / np.where(load > 0, load, 1.0) - 1.0, 0.0)
    found = standardise(series.time_s, series.interval_s, series.dt_s, series.rate, load, residual, series.weight)
    return found._replace(window_s=series.window_s)


def part_of(series: Normalised, mask: npt.NDArray[np.bool_]) -> Normalised:
    """Return the marked samples of a series."""
    return series._replace(
        time_s=series.time_s[mask],
        interval_s=series.interval_s[mask],
        rate=series.rate[mask],
        load=series.load[mask],
        residual=series.residual[mask],
        x=series.x[mask],
        weight=series.weight[mask],
    )


def standardise(
    time_s: FloatArray, interval_s: FloatArray, dt_s: float, rate: FloatArray, load: FloatArray, residual: FloatArray, weight: FloatArray
) -> Normalised:
    """Clip a residual to 4 robust sigmas and give it mean 0 under the weights."""
    used = weight > 0
    sigma = max(1e-4, 1.4826 * float(np.median(np.abs(residual[used])))) if used.any() else 1e-4
    x = np.clip(residual / sigma, -CLIP_SIGMA, CLIP_SIGMA)
    total = weight.sum()
    x = np.where(used, x - (float((x * weight).sum() / total) if total else 0.0), 0.0)
    return Normalised(time_s, interval_s, dt_s, rate, load, residual, x, weight, sigma)


def summed(index: npt.NDArray[np.int64], values: FloatArray, cells: int) -> FloatArray:
    """Return the sums of `values` per cell, shape (cells,), as floats even where nothing falls in."""
    return np.asarray(np.bincount(index, values, cells), dtype=np.float64)


def on_grid(series: Normalised, begin_s: float, cells: int) -> tuple[FloatArray, FloatArray]:
    """Return (sum of weight * x, sum of weight) per cell of `dt_s` seconds from `begin_s` on, each of shape (cells,)."""
    index = np.floor((series.time_s - begin_s) / series.dt_s).astype(np.int64)
    inside = (index >= 0) & (index < cells)
    index = index[inside]
    weighted_x = series.weight * series.x
    return summed(index, weighted_x[inside], cells), summed(index, series.weight[inside], cells)


def stack(series: list[Normalised]) -> Normalised:
    """Put the residuals of several sources of one system on one grid: dips that coincide add up, noise does not.

    Each source counts in units of its own scatter; the result reads like one source of load 1 whose residual is the weighted mean.
    """
    dt = float(np.median([each.dt_s for each in series]))
    begin = min(float(each.time_s[0]) for each in series)
    cells = int((max(float(each.time_s[-1]) for each in series) - begin) / dt) + 1
    residual, weight = np.zeros(cells), np.zeros(cells)
    for each in series:
        index = np.clip(((each.time_s - begin) / dt).astype(np.int64), 0, cells - 1)
        trust = each.weight / each.sigma**2
        clipped = np.clip(each.residual, -1.05, CLIP_SIGMA * each.sigma)  # downwards nothing is lower than no load
        residual += summed(index, trust * clipped, cells)
        weight += summed(index, trust, cells)
    used = weight > 0
    mean = np.where(used, residual / np.where(used, weight, 1.0), 0.0)
    typical = float(np.median(weight[used])) if used.any() else 1.0
    time_s = (begin + (np.arange(cells, dtype=np.float64) + 0.5) * dt)[used]
    one = np.ones(time_s.size)
    return standardise(time_s, one * dt, dt, 1 + mean[used], one, mean[used], np.minimum(weight[used] / typical, 1.5))._replace(
        window_s=series[0].window_s
    )
