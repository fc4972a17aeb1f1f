"""One cycle of dead time: all incidents of a signal laid over one another, each at its own onset."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lnetstat.analysis.results import FloatArray, Interval, Signal

BINS_MOST = 120
BINS_LEAST = 12
INCIDENTS_LEAST = 3


class Profile(NamedTuple):
    """A mean cycle on lags `lag_s` (n,) from -period/2 to period/2 around the onsets. `duration_s`, `depth`: of the box that was fitted.

    `low`, `middle`, `high`: quartiles over the incidents, as shares of the signal's median; `pings`: mean rate, None without pings.
    """

    name: str
    period_s: float
    incidents: int
    lag_s: FloatArray
    low: FloatArray
    middle: FloatArray
    high: FloatArray
    pings_name: str
    pings: FloatArray | None
    duration_s: float | None = None
    depth: float | None = None


def folded(
    name: str,
    signals: Sequence[Signal],
    incidents: Sequence[Interval],
    period_s: float | None,
    pings_name: str = "",
    pings: Signal | None = None,
) -> Profile | None:
    """Return the mean cycle; None where there are too few incidents or samples to draw one.

    Several signals are those of a stack: each counts as a share of its own median. Each incident counts once per signal in a bin,
    however many samples it has there; bins are never narrower than the samples.
    """
    usual = [float(np.median(each.rate)) if each.rate.size else 0.0 for each in signals]
    signals = [each for each, median in zip(signals, usual, strict=True) if median > 0]
    if not period_s or len(incidents) < INCIDENTS_LEAST or not signals:
        return None
    bins = int(min(BINS_MOST, period_s / max(float(np.median(each.interval_s)) for each in signals)))
    if bins < BINS_LEAST:
        return None
    edges = np.linspace(-period_s / 2, period_s / 2, bins + 1)
    onsets = np.array([begin for begin, _ in incidents])
    cycles = np.vstack([_cycles(each, onsets, edges) / float(np.median(each.rate)) for each in signals])
    seen = np.isfinite(cycles).any(axis=0)
    low, middle, high = np.nanpercentile(cycles[:, seen], (25, 50, 75), axis=0)
    lag = ((edges[1:] + edges[:-1]) / 2)[seen]
    mean = None
    if pings is not None and pings.time_s.size > 1:
        beside = _cycles(pings, onsets, edges)[:, seen]
        counted = np.isfinite(beside).sum(axis=0)
        mean = np.where(counted > 0, np.nansum(beside, axis=0) / np.maximum(counted, 1), np.nan)
    return Profile(name, period_s, len(onsets), lag, low, middle, high, pings_name, mean)


def _cycles(signal: Signal, onsets: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the mean rate of each incident in each bin, shape (incidents, bins); NaN where there is no sample."""
    bins = edges.size - 1
    first, stop = np.searchsorted(signal.time_s, onsets + edges[0]), np.searchsorted(signal.time_s, onsets + edges[-1])
    counts = stop - first
    incident = np.repeat(np.arange(onsets.size), counts)
    samples = np.arange(incident.size) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    place = np.clip(np.digitize(signal.time_s[samples] - onsets[incident], edges) - 1, 0, bins - 1) + incident * bins
    total = np.bincount(place, weights=signal.rate[samples], minlength=onsets.size * bins)
    count = np.bincount(place, minlength=onsets.size * bins)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(onsets.size, bins)
