"""Too few credits, or a peer that answers late? Little's law, from samples taken while nothing had to wait.

A credit is held for R = mean number in use / messages per second. While no message waits that is R alone; once messages wait the number in
use is the limit and R follows from the messages that still pass. Is R as before, then credits turn over as fast as ever and their number is
what limits: required credits = offered messages per second x R. Is it much longer, the other end is late, and more credits only move the
queue (John D. C. Little, Operations Research 9, 1961).

LNet counts messages per node, not per peer. So peers of one network are taken together, as all that a node sends goes there (on a router:
half of what it passes on, since requests are answered). That half cancels in the comparison.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis import rates
from lnetstat.analysis.results import FEW, FloatArray, Sizing
from lnetstat.analysis.wording import counted

SAME_HOLD = 2.0  # with credits held twice as long half of what further credits could bring is lost in waiting: no longer "as before"
SAME_SIZE = 2.0  # of messages on average; larger ones hold a credit longer for their own sake
SURE_SIGMAS = 2.0


class Traffic(NamedTuple):
    """What a node's `stats` count: arrays of shape (n,). `share`: of these messages that go to one network (a half on a router)."""

    time_s: FloatArray
    messages: FloatArray
    bytes: FloatArray
    share: float


class Load(NamedTuple):
    """Credits of all peers of one network at each sample, (n,): in use or waiting, held, waiting, and the fewest free of any peer."""

    time_s: FloatArray
    wanted: FloatArray
    held: FloatArray
    waiting: FloatArray
    fewest_free: FloatArray


class Samples(NamedTuple):
    """Free credits and limit of one peer at `time_s`; arrays of shape (n,)."""

    time_s: FloatArray
    credits: npt.NDArray[np.int64]
    limit: npt.NDArray[np.int64]


def unknown(why: str) -> Sizing:
    """Return that nothing can be told, and why."""
    return Sizing("unknown", why)


def load_of(peers: Sequence[Samples]) -> Load:
    """Return the load of peers together; a peer that was not there at a sample wants nothing then."""
    time_s = np.unique(np.concatenate([each.time_s for each in peers]))
    wanted, held, waiting = (np.zeros(time_s.size) for _ in range(3))
    fewest = np.full(time_s.size, np.inf)
    for each in peers:
        at = np.searchsorted(time_s, each.time_s)
        wanted[at] += each.limit - each.credits
        held[at] += np.minimum(each.limit - each.credits, each.limit)
        waiting[at] += np.maximum(0, -each.credits)
        fewest[at] = np.minimum(fewest[at], each.credits)
    return Load(time_s, wanted, held, waiting, fewest)


def sizing(load: Load, traffic: Traffic | None) -> Sizing:
    """Return whether credits or the other end limited what passed, with the numbers that say so."""
    if traffic is None:
        return unknown("no counts of messages (file stats) were recorded")
    counts = rates.from_counter(traffic.time_s, traffic.messages, wraps=True)
    sizes = rates.from_counter(traffic.time_s, traffic.bytes)
    if counts.rate.size < FEW or sizes.rate.size != counts.rate.size:
        return unknown("messages were counted in too few samples")
    begin, end = counts.time_s - counts.interval_s / 2, counts.time_s + counts.interval_s / 2
    first, last = _nearest(load.time_s, begin), _nearest(load.time_s, end)
    passed = counts.rate * traffic.share
    short = (load.fewest_free[first] < 0) & (load.fewest_free[last] < 0)
    free = (load.fewest_free[first] > 0) & (load.fewest_free[last] > 0)
    total = float((passed * counts.interval_s).sum())
    offered = float(np.maximum(passed + (load.waiting[last] - load.waiting[first]) / counts.interval_s, 0).max())
    known = Sizing("unknown", "", messages=total, offered_peak=offered)
    if short.sum() < FEW:
        return known._replace(why=f"{counted(short.sum(), 'step')} from sample to sample below 0, {FEW} are needed")
    size = _mean_size(counts, sizes, short)
    alike = (
        free & (passed > 0) & (np.abs(np.log(np.maximum(sizes.rate, 1e-9) / np.maximum(counts.rate, 1e-9) / size)) < math.log(SAME_SIZE))
    )
    if alike.sum() < FEW:
        if (free & (passed > 0)).sum() < FEW:
            return known._replace(why="hardly a sample with credits free and messages passing, to compare with")
        usual = _mean_size(counts, sizes, free & (passed > 0))
        return known._replace(why=f"other messages pass when credits are free: {usual:,.0f} B on average, {size:,.0f} B when they run out")
    at_ease = _hold(load.wanted, first, last, passed, counts.interval_s, alike)
    pressed = _hold(load.held, first, last, passed, counts.interval_s, short)
    return _compared(known, at_ease, pressed)


def _compared(known: Sizing, at_ease: tuple[float, float], pressed: tuple[float, float]) -> Sizing:
    """Return the verdict from (mean, relative error) of both holding times."""
    hold, hold_pressed = at_ease[0], pressed[0]
    known = known._replace(hold_s=hold, hold_saturated_s=hold_pressed)
    if hold <= 0 or not math.isfinite(hold):
        return known._replace(why="no sample caught a credit in use while some were free", hold_s=None)
    if not math.isfinite(hold_pressed):
        return known._replace(limited_by="peer", why="nothing passed while credits had run out", hold_saturated_s=None)
    ratio, error = hold_pressed / hold, math.hypot(at_ease[1], pressed[1])
    if math.log(ratio / SAME_HOLD) > SURE_SIGMAS * error:
        return known._replace(limited_by="peer")
    if math.log(ratio / SAME_HOLD) < -SURE_SIGMAS * error:
        return known._replace(limited_by="credits")
    return known._replace(why=f"credits are held {ratio:.1f} times as long as when some are free, within a factor of {math.exp(error):.1f}")


def _hold(
    number: FloatArray,
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
    passed: FloatArray,
    interval_s: FloatArray,
    chosen: npt.NDArray[np.bool_],
) -> tuple[float, float]:
    """Return (mean hold in seconds, its relative error): number in use x time over messages, for the intervals chosen."""
    use = ((number[first] + number[last]) / 2 * interval_s)[chosen]
    messages = float((passed * interval_s)[chosen].sum())
    if messages <= 0:
        return math.inf, 0.0
    total = float(use.sum())
    error = float(use.std() * math.sqrt(use.size) / total) if total > 0 else math.inf
    return total / messages, error


def _mean_size(counts: rates.Rates, sizes: rates.Rates, chosen: npt.NDArray[np.bool_]) -> float:
    messages = float((counts.rate * counts.interval_s)[chosen].sum())
    return max(1.0, float((sizes.rate * sizes.interval_s)[chosen].sum()) / max(messages, 1.0))


def _nearest(time_s: FloatArray, wanted_s: FloatArray) -> npt.NDArray[np.int64]:
    after = np.clip(np.searchsorted(time_s, wanted_s), 0, time_s.size - 1)
    before = np.maximum(after - 1, 0)
    return np.where(wanted_s - time_s[before] <= time_s[after] - wanted_s, before, after).astype(np.int64)
