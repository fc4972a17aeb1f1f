"""A record that is empty nearly all the time: a clock jumped, or there are a few runs of days apart. Its fullest stretch is judged.

A search over all the time in between would cost as if it were full, and no timer keeps its phase so long.
"""

import numpy as np

from lnetstat.analysis.rates import Rates, nothing
from lnetstat.analysis.results import Interval

MOST_EMPTY = 10.0  # of what was sampled: then the search costs ten times as much as the samples alone would
LONGEST_GAP_S = 300.0  # as long as the longest period that is searched for: beyond it nobody counts cycles


def fullest(sources: list[Rates]) -> Interval | None:
    """Return (first, last) sample, epoch seconds, of the stretch that was sampled most; None where the record is not that empty."""
    if not any(rates.time_s.size for rates in sources):
        return None
    time_s, length_s = (np.concatenate([getattr(rates, part) for rates in sources]) for part in ("time_s", "interval_s"))
    order = np.argsort(time_s, kind="stable")
    time_s, length_s = time_s[order], length_s[order]
    if time_s[-1] - time_s[0] <= MOST_EMPTY * length_s.sum():
        return None
    first = np.concatenate(([0], np.flatnonzero(np.diff(time_s) > LONGEST_GAP_S) + 1))
    last = np.concatenate((first[1:], [time_s.size])) - 1
    best = int(np.add.reduceat(length_s, first).argmax())
    return float(time_s[first[best]]), float(time_s[last[best]])


def within(rates: Rates, stretch: Interval) -> Rates:
    """Return the rates with their middle in a stretch."""
    begin_s, end_s = stretch
    inside = (rates.time_s >= begin_s) & (rates.time_s <= end_s)
    if not inside.any():
        return nothing()
    gaps = tuple(gap for gap in rates.gaps if gap[0] >= begin_s and gap[1] <= end_s)
    return Rates(rates.time_s[inside], rates.rate[inside], rates.interval_s[inside], rates.dt_s, rates.resets, gaps)
