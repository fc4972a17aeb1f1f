"""Stretches of samples that have something in common, how long they last in all, and how well sampling tells that."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lnetstat.analysis.rates import GAP_INTERVALS, typical_interval
from lnetstat.analysis.results import FloatArray, Interval

BoolArray = npt.NDArray[np.bool_]
MOST_KEPT = 256  # spells of a row: some hours of floods one by one; more are joined where they lie nearest to each other


def durations(time_s: FloatArray) -> FloatArray:
    """Return how long each sample stands, (n,) seconds: half of the steps before and after it, of gaps only what 5 typical intervals hold.

    Half of both sides and not the whole step after it: a reader that comes late because of what it reads would else count it for the
    sample before.
    """
    if time_s.size < 2:
        return np.zeros(time_s.size)
    typical = typical_interval(time_s)
    half = np.minimum(np.diff(time_s), GAP_INTERVALS * typical) / 2
    return np.asarray(np.append(half, typical / 2) + np.append(typical / 2, half))


def runs(marked: BoolArray) -> npt.NDArray[np.int64]:
    """Return [first, last) of each run of marked samples, shape (runs, 2)."""
    if not marked.size:
        return np.empty((0, 2), np.int64)
    edges = np.flatnonzero(marked[1:] != marked[:-1]) + 1
    ends = [0] * bool(marked[0]), [marked.size] * bool(marked[-1])
    return np.concatenate((ends[0], edges, ends[1])).astype(np.int64).reshape(-1, 2)


def longest(below: BoolArray, time_s: FloatArray, typical_s: float | None = None) -> float:
    """Return the longest time on end that samples were marked, in seconds; a single sample proves nothing of its interval: 0.

    `typical_s`: the usual interval, where it is not that of `time_s`.
    """
    typical = max(typical_interval(time_s) if typical_s is None else typical_s, 1e-9)
    most = 0.0
    bounds = runs(below)
    for first, last in bounds[bounds[:, 1] - bounds[:, 0] > 1].tolist():
        if np.diff(time_s[first:last]).max() < GAP_INTERVALS * typical:
            most = max(most, float(time_s[last - 1] - time_s[first]))
    return most


def share_error(marked: BoolArray, span: FloatArray, dt_s: float, more_s: float = 0.0) -> float | None:
    """Return one standard deviation of the share of the time that samples were marked; None where none was or no time is known.

    `more_s`: time beside the samples' in which nothing was marked.

    By spell, not by sample, since samples within a spell are no news. Of k spells seen, of lengths L: sqrt(k (var L + dt^2 / 6)) / T is
    what the chance of catching each leaves open (the two ends of a spell lie anywhere within their intervals: dt^2 / 12 each). Floods and
    samples that keep step miss or catch all ends alike, which does not average out: k dt / sqrt(6) / T is added in squares. On the
    challenge's cases this covers 85 % at one and 100 % at two sigmas for dt <= 0.2 s, 67 % and 91 % for longer dt.
    """
    bounds = runs(marked)
    whole = float(span.sum()) + more_s
    if not len(bounds) or whole <= 0:
        return None
    total = np.concatenate(([0.0], np.cumsum(span)))
    lengths = total[bounds[:, 1]] - total[bounds[:, 0]]
    count = len(lengths)
    scatter = float(lengths.var(ddof=1)) if count > 1 else float(lengths[0] ** 2)
    return math.sqrt(count * (scatter + dt_s**2 / 6) + (count * dt_s) ** 2 / 6) / whole


def joined(intervals: Sequence[Interval], apart_s: float) -> tuple[Interval, ...]:
    """Return sorted intervals, those nearer than `apart_s` as one, at most MOST_KEPT: then the nearest of them are joined too."""
    if not intervals:
        return ()
    edges = np.array(sorted(intervals))
    ends = np.maximum.accumulate(edges[:, 1])
    between = edges[1:, 0] - ends[:-1]
    least = apart_s if between.size < MOST_KEPT else max(apart_s, float(np.sort(between)[-MOST_KEPT]))
    cut = np.flatnonzero(between > least)
    begins = edges[np.concatenate(([0], cut + 1)), 0]
    stops = ends[np.concatenate((cut, [len(ends) - 1]))]
    return tuple(zip(begins.tolist(), stops.tolist(), strict=True))


def inside(time_s: FloatArray, intervals: Sequence[Interval], slack_s: float) -> BoolArray:
    """Mark the times that lie in one of the intervals, each longer by `slack_s` at both ends."""
    if not intervals:
        return np.zeros(time_s.size, dtype=bool)
    edges = np.array(joined(intervals, 2 * slack_s))
    position = np.searchsorted(edges[:, 0] - slack_s, time_s, side="right") - 1
    within: BoolArray = (position >= 0) & (time_s <= edges[np.maximum(position, 0), 1] + slack_s)
    return within


def covered(time_s: FloatArray, intervals: Sequence[Interval]) -> FloatArray:
    """Return for each time how many seconds of the intervals lie before it."""
    if not intervals:
        return np.zeros(time_s.size)
    edges = np.array(joined(intervals, 0.0))
    total = np.concatenate(([0.0], np.cumsum(edges[:, 1] - edges[:, 0])))
    return np.asarray(np.interp(time_s, edges.ravel(), np.column_stack((total[:-1], total[1:])).ravel()))


def overlap(mine: Sequence[Interval], theirs: Sequence[Interval], slack_s: float) -> float:
    """Return the share of the time of my spells, 0..1, in which one of theirs stood too, or had begun or ended less than `slack_s` away."""
    if not mine or not theirs:
        return 0.0
    own, wider = np.array(joined(mine, 0.0)), [(begin - slack_s, end + slack_s) for begin, end in theirs]
    length = own[:, 1] - own[:, 0]
    at_once = inside(own[:, 0], theirs, slack_s)
    share = np.where(length > 0, (covered(own[:, 1], wider) - covered(own[:, 0], wider)) / np.maximum(length, 1e-9), at_once)
    return float((share * length).sum() / length.sum()) if length.sum() > 0 else float(share.mean())
