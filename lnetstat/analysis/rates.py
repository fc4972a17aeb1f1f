"""Counters and given rates become rates over honest intervals. The nominal interval is never divided by.

A collector that is late makes a long interval, not a low rate: that alone removes one false source of periodic dips.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis.results import FloatArray

U32 = float(2**32)
GAP_INTERVALS = 5.0  # longer steps are gaps: nothing is known about what happened inside
SHORT_INTERVALS = 0.3  # samples nearer than this are merged: a rate over a millisecond is noise


class Rates(NamedTuple):
    """Rates of one source: `rate[i]` is the mean over `interval_s[i]` seconds around `time_s[i]` (epoch seconds, sorted).

    `dt_s`: the typical interval; `resets`: how often the counter started again; `gaps`: stretches without samples.
    """

    time_s: FloatArray
    rate: FloatArray
    interval_s: FloatArray
    dt_s: float
    resets: int
    gaps: tuple[tuple[float, float], ...]


def nothing() -> Rates:
    """Return rates without a sample."""
    empty = np.empty(0)
    return Rates(empty, empty, empty, 0.0, 0, ())


def typical_interval(time_s: FloatArray) -> float:
    """Return the median step of sorted stamps in seconds; 0.0 for fewer than two."""
    steps = np.diff(time_s)
    steps = steps[steps > 0]
    return float(np.median(steps)) if steps.size else 0.0


def from_counter(time_s: npt.ArrayLike, value: npt.ArrayLike, *, wraps: bool = False, interval_s: float | None = None) -> Rates:
    """Return the rates of a cumulative counter sampled at `time_s` (epoch seconds).

    Steps down are resets and left out, except that with `wraps` (LNet counts its messages in 32 bits) a step from the top of the
    range to its bottom is a wrap. Steps over more than 5 typical intervals are gaps. Where stamps go back while the counter goes on, in
    the order given, the clock was set: what it then counted a second time is left out, and so is the step across it.
    """
    stamps, values, clock = _clean(*_as_one_clock(time_s, value))
    if stamps.size < 2:
        return nothing()
    dt = interval_s or typical_interval(stamps)
    kept = _spaced(stamps, SHORT_INTERVALS * dt)
    stamps, values, clock = stamps[kept], values[kept], clock[kept]
    steps, deltas = np.diff(stamps), np.diff(values)
    if wraps:
        deltas = np.where(_wrapped(values), deltas + U32, deltas)
    same_clock = np.diff(clock) == 0
    reset = (deltas < 0) & same_clock
    gap = steps > GAP_INTERVALS * dt
    good = ~reset & ~gap & same_clock
    middle = (stamps[1:] + stamps[:-1]) / 2
    gaps = tuple(zip(stamps[:-1][gap].tolist(), stamps[1:][gap].tolist(), strict=True))
    return Rates(middle[good], deltas[good] / steps[good], steps[good], dt, int(reset.sum()), gaps)


def from_rate(time_s: npt.ArrayLike, value: npt.ArrayLike, *, interval_s: float | None = None) -> Rates:
    """Return given rates, each the mean over the interval that ends at its `time_s`, put at the middle of that interval.

    Where the row before is missing the interval is taken as the typical one.
    """
    stamps, values, _ = _clean(time_s, value)
    if stamps.size == 0:
        return nothing()
    dt = interval_s or typical_interval(stamps)
    steps = np.diff(stamps, prepend=stamps[0] - dt)
    length = np.where(steps > 1.5 * dt, dt, steps)
    gap = steps > GAP_INTERVALS * dt
    gaps = tuple(zip(stamps[:-1][gap[1:]].tolist(), stamps[1:][gap[1:]].tolist(), strict=True))
    return Rates(stamps - length / 2, values, length, dt, 0, gaps)


def on_times(source: Rates, time_s: FloatArray, interval_s: FloatArray) -> FloatArray:
    """Return the mean of `source` over each of the given intervals (middles and lengths); NaN where it has no samples there."""
    if source.time_s.size == 0:
        return np.full(time_s.size, np.nan)
    end = source.time_s + source.interval_s / 2
    total = np.concatenate(([0.0], np.cumsum(source.rate * source.interval_s)))
    edges = np.concatenate(([end[0] - source.interval_s[0]], end))
    amount = np.interp(time_s + interval_s / 2, edges, total) - np.interp(time_s - interval_s / 2, edges, total)
    position = np.clip(np.searchsorted(source.time_s, time_s), 1, max(1, source.time_s.size - 1))
    before = np.abs(source.time_s[position - 1] - time_s)
    after = np.abs(source.time_s[np.minimum(position, source.time_s.size - 1)] - time_s)
    near = np.minimum(before, after) <= 1.5 * max(source.dt_s, float(np.median(interval_s)))
    return np.where(near, amount / interval_s, np.nan)


def smoothed(source: Rates, *, longest_s: float = 2.0) -> Rates:
    """Return the rates over longer intervals where the load comes in lumps: a megabyte now and then is no dip in between.

    Samples are joined in pairs until fewer than a fifth of them lie below a tenth of the local mean, at most up to `longest_s`. Loads
    that are low for long do not change by that and stay as they are.
    """
    if source.rate.size < 60 or source.dt_s >= longest_s:
        return source
    coarsest = _joined(source, max(2, round(longest_s / source.dt_s)))
    lumpy = _empty_share(source)
    if lumpy < 0.2 or _empty_share(coarsest) > 0.5 * lumpy:
        return source
    factor, joined = 1, source
    while _empty_share(joined) >= 0.2 and joined.dt_s * 2 <= longest_s * 1.01:
        factor *= 2
        joined = _joined(source, factor)
    return joined


def _empty_share(source: Rates) -> float:
    """Return the share of samples below a tenth of the mean over 30 s, where anything runs."""
    size = max(3, round(30 / source.dt_s))
    if source.rate.size < size:
        size = max(1, source.rate.size)
    total = np.concatenate(([0.0], np.cumsum(source.rate)))
    first = np.clip(np.arange(source.rate.size) - size // 2, 0, source.rate.size - size)
    mean = (total[first + size] - total[first]) / size
    busy = mean > 0.12 * float(np.percentile(mean, 90))
    return float((source.rate[busy] < 0.1 * mean[busy]).mean()) if busy.any() else 0.0


def _joined(source: Rates, factor: int) -> Rates:
    """Return the means over cells of `factor` samples; a cell with a gap inside keeps the length that was sampled."""
    cell = np.floor((source.time_s - source.time_s[0]) / (factor * source.dt_s) + 0.5 / factor).astype(np.int64)
    number, index = np.unique(cell, return_inverse=True)
    parts = (source.interval_s, source.rate * source.interval_s, source.time_s * source.interval_s)
    length, amount, middle = (np.asarray(np.bincount(index, part, number.size), dtype=np.float64) for part in parts)
    middle = middle / length
    whole = length >= 0.5 * factor * source.dt_s
    return Rates(middle[whole], amount[whole] / length[whole], length[whole], factor * source.dt_s, source.resets, source.gaps)


def _as_one_clock(time_s: npt.ArrayLike, value: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return samples without those whose time the clock showed a second time, and how often it had been set back at each of them.

    Samples that merely come in another order, as from files given in any order, have lower counters at earlier times, or far higher ones
    where it began anew in between: they stay.
    """
    stamps, values = np.asarray(time_s, dtype=np.float64), np.asarray(value, dtype=np.float64)
    steps, deltas = np.diff(stamps), np.diff(values)
    usual = np.max(deltas[(steps > 0) & (deltas > 0)], initial=0.0)
    set_back = np.flatnonzero((steps < 0) & (deltas > 0) & (deltas <= 2 * usual)) + 1
    clock = np.zeros(stamps.size)
    kept = np.ones(stamps.size, dtype=bool)
    for first in set_back.tolist():
        clock[first:] += 1
        kept[:first] &= stamps[:first] < stamps[first]
    return stamps[kept], values[kept], clock[kept]


def _clean(time_s: npt.ArrayLike, value: npt.ArrayLike, clock: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sorted, finite samples with strictly increasing stamps, and the clock of each."""
    stamps, values = np.asarray(time_s, dtype=np.float64), np.asarray(value, dtype=np.float64)
    clock = np.zeros(stamps.size) if clock is None else clock
    good = np.isfinite(stamps) & np.isfinite(values)
    order = np.argsort(stamps[good], kind="stable")
    stamps, values, clock = (each[good][order] for each in (stamps, values, clock))
    fresh = np.concatenate(([True], np.diff(stamps) > 0)) if stamps.size else np.zeros(0, dtype=bool)
    return stamps[fresh], values[fresh], clock[fresh]


def _spaced(stamps: FloatArray, least_s: float) -> npt.NDArray[np.bool_]:
    """Mark the samples to keep so that no two kept ones are nearer than `least_s`: short intervals join their neighbour."""
    kept = np.ones(stamps.size, dtype=bool)
    last = stamps[0]
    short = np.flatnonzero(np.diff(stamps) < least_s) + 1
    for index in short.tolist():
        last = stamps[index - 1] if kept[index - 1] else last
        kept[index] = stamps[index] - last >= least_s
    return kept


def _wrapped(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Mark the steps that are a 32-bit wrap rather than a reset: from the top sixteenth down, landing as near as steps usually go."""
    deltas = np.diff(values)
    usual = np.max(deltas[deltas >= 0], initial=0.0)
    forward = deltas + U32
    wrapped: npt.NDArray[np.bool_] = (deltas < 0) & (values[:-1] > U32 * 15 / 16) & (forward <= np.maximum(4 * usual, 1e6))
    return wrapped
