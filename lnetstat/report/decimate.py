"""Fewer points for the same picture: lowest and highest value per pixel bucket, so that no dip or peak disappears."""

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lnetstat.analysis.results import FloatArray, Interval

IntArray = npt.NDArray[np.int64]

# A step longer than so many typical ones, and than so long, is a gap (as in the data quality): no line is drawn across it.
GAP_INTERVALS, GAP_LEAST_S = 5, 2.0
MOST_GAPS = 200


def decimate(time_s: FloatArray, values: FloatArray, buckets: int, keep: Sequence[Interval] = ()) -> IntArray:
    """Return the indices, ascending, of the points to draw: at most 2 per bucket, plus both ends and what `keep` asks for.

    `time_s` (n,) ascending, `values` (n,) finite. Time is cut into `buckets` equal parts; of each the lowest and the highest value
    stay. Of each interval in `keep` the lowest value stays too, even where several fall into one bucket; of more than 2 intervals per
    bucket, which no screen could tell apart, only those that the buckets keep.
    """
    size = time_s.size
    if size <= 2 * buckets:
        return np.arange(size)
    edges = np.linspace(time_s[0], time_s[-1], buckets + 1)[1:-1]
    spans = np.concatenate(([0], np.searchsorted(time_s, edges), [size]))
    wanted = np.array(keep if len(keep) <= 2 * buckets else [], dtype=np.float64).reshape(-1, 2)
    inside = zip(np.searchsorted(time_s, wanted[:, 0]), np.searchsorted(time_s, wanted[:, 1], side="right"), strict=True)
    chosen = [0, size - 1]
    for first, stop in itertools.pairwise(spans):
        if stop > first:
            part = values[first:stop]
            chosen += [int(first + part.argmin()), int(first + part.argmax())]
    chosen += [int(first + values[first:stop].argmin()) for first, stop in inside if stop > first]
    return np.unique(np.array(chosen, dtype=np.int64))


def drawn(time_s: FloatArray, values: FloatArray, buckets: int, keep: Sequence[Interval] = ()) -> tuple[FloatArray, FloatArray]:
    """Return (time_s, values) to draw as a line: decimated, broken by a NaN where samples are missing. Values that are not finite go."""
    finite = np.isfinite(values) & np.isfinite(time_s)
    time_s, values = time_s[finite], values[finite]
    if time_s.size < 2:
        return time_s, values
    gaps = _gaps(time_s)
    beside = np.concatenate((gaps, gaps + 1))
    chosen = np.union1d(decimate(time_s, values, buckets, keep), beside).astype(np.int64)
    # After which chosen point a gap begins: that point is the last one before the gap, because both sides of it were kept.
    after = np.searchsorted(chosen, gaps) + 1
    middle = (time_s[gaps] + time_s[gaps + 1]) / 2
    return np.insert(time_s[chosen], after, middle), np.insert(values[chosen], after, np.nan)


def _gaps(time_s: FloatArray) -> IntArray:
    """Return the indices, ascending, of the points after which samples are missing; only the longest gaps where there are many."""
    steps = np.diff(time_s)
    found = np.flatnonzero(steps > max(GAP_LEAST_S, GAP_INTERVALS * float(np.median(steps))))
    if found.size > MOST_GAPS:
        found = found[np.argsort(steps[found])[-MOST_GAPS:]]
    return np.sort(found)
