"""Clocks of hosts against each other, from what must coincide: floods of messages and pings, and the dips of throughput that they cause.

Each host's rates, relative to their running median, are correlated with those of others at every lag (DEADTIME.md 4.3 does it within one
host); the median of what the others say counts. Lags are told in seconds that a host's clock is ahead of the others'. Where floods are
periodic, a lag and the lag less a period explain them equally well, and so do floods that have a phase of their own, as each client's pings
do: the lag nearest to none is told with the period beside it, as ambiguous, and nothing is put on another clock for it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis.normalise import Normalised, normalise, on_grid
from lnetstat.analysis.results import DeadTime, FloatArray, Interval
from lnetstat.analysis.signals import Track

MOST_SKEW_S = 300.0  # the longest period that is searched for; clocks that are off by more need no statistics to be seen
LEAST_Z = 10.0  # of 600 lags and 1,000 hosts chance reaches 5; floods that coincide stand at 20 and more
AS_HIGH = 0.7  # of the highest: peaks of a periodic flood differ by the cycles beyond the overlap, at most a quarter, and by noise
LEAST_SAMPLES = 60
MOST_EMPTY = 10  # times as long as the longest record: records that lie so far apart have nothing in common
BLOCKS = 16  # of the record, left out one after the other for the error of the lag, which is then known to 1 / sqrt(2 * 15) = 18 %
SUMMIT_S = 0.5  # either side of the peak that its place is fitted from: floods are longer, and single cells of 0.1 s are noise
LEAST_ERROR = 0.1  # of a cell: what a parabola through cells of boxes is off by
MOST_SHARE_WIDE = (
    0.75  # of the record: lags at which a second peak may show that floods are periodic; beyond, too little lies over each other
)
SIGMAS = 3.0
MOST_COMPARED = 16  # hosts with which each one is compared: the median of 16 is wrong only where 8 are


class Clock(NamedTuple):
    """How far a host's clock is ahead of the others' in seconds, one standard deviation of that, and the period of the floods.

    With a period the lag is ambiguous: a period more or less, or no matter of clocks but of phases, explains it as well.
    """

    offset_s: float
    error_s: float
    period_s: float | None


class Cells(NamedTuple):
    """A signal on the common grid: the mean per cell, and how far its stamps lie behind the middles of their cells on average in s."""

    value: FloatArray
    behind_s: float


Pairs = list[tuple[Cells, Cells]]


class Clocks(NamedTuple):
    """The hosts whose clocks differ from the others' by more than their samples' interval, beyond doubt."""

    by_host: dict[str, Clock]

    def told(self, host: str) -> dict[str, Any]:
        """Return the fields of results.HostQuality."""
        clock = self.by_host.get(host)
        return {} if clock is None else {"clock_offset_s": clock.offset_s, "clock_error_s": clock.error_s, "clock_period_s": clock.period_s}


def clocks_of(tracks: Sequence[Track]) -> Clocks:
    """Return the clocks that differ, from all hosts' tracks. Of two hosts the second one's is told, against the first."""
    kinds = [_by_host(tracks, ("throughput",)), _by_host(tracks, ("pings", "messages"))]
    hosts = sorted({host for kind in kinds for host in kind})
    used = [track for kind in kinds for track in kind.values()]
    if len(hosts) < 2:
        return Clocks({})
    dt = float(max(track.rates.dt_s for track in used))
    begin = min(float(track.rates.time_s[0]) for track in used) - dt / 2  # stamps of the first lie in the middle of cells
    cells = int((max(float(track.rates.time_s[-1]) for track in used) - begin) / dt) + 1
    reach = min(round(MOST_SKEW_S / dt), cells // 4)
    if reach < 5 or cells > MOST_EMPTY * max(track.rates.rate.size for track in used):
        return Clocks({})
    makes = (_dips, _bursts)
    grids = [{host: _grid(make(track), begin, dt, cells) for host, track in kind.items()} for make, kind in zip(makes, kinds, strict=True)]
    grids = [{host: each for host, each in kind.items() if each.value.any()} for kind in grids]
    compared = hosts[:: -(-len(hosts) // MOST_COMPARED)]
    found: dict[str, Clock] = {}
    for host in hosts[1:] if len(hosts) == 2 else hosts:
        lags = [_lag(_pairs(grids, host, other), reach, dt) for other in compared if other != host]
        clock = _agreed([lag for lag in lags if lag is not None], len(lags))
        if clock is not None and abs(clock.offset_s) > max(dt, SIGMAS * clock.error_s):
            found[host] = clock
    return Clocks(found)


def _pairs(grids: Sequence[Mapping[str, Cells]], host: str, other: str) -> Pairs:
    return [(kind[host], kind[other]) for kind in grids if host in kind and other in kind]


def _agreed(lags: list[Clock], compared: int) -> Clock | None:
    """Return what most hosts say of one's clock; None where fewer than half of them, or only one of several, can tell.

    The host itself counts as one that says 0: of three hosts whose middle one is right, only the one apart is told.
    """
    if 2 * len(lags) < compared or len(lags) < min(2, compared):
        return None
    offsets = np.array([lag.offset_s for lag in lags] + ([0.0] if len(lags) > 1 else []))
    offset = float(np.median(offsets))
    alike = [lag for lag in lags if abs(lag.offset_s - offset) <= SIGMAS * lag.error_s] or lags
    spread = 1.4826 * float(np.median(np.abs(np.array([lag.offset_s for lag in alike]) - offset)))
    error = max(float(np.median([lag.error_s for lag in alike])), spread)
    periods = [lag.period_s for lag in lags if lag.period_s is not None]
    return Clock(offset, error, float(np.median(periods)) if 2 * len(periods) > len(lags) else None)


def aligned(track: Track, clocks: Clocks) -> Track:
    """Return the track on the others' clock, where that is beyond doubt."""
    clock = clocks.by_host.get(track.host)
    if clock is None or clock.period_s is not None:
        return track
    return track._replace(rates=track.rates._replace(time_s=track.rates.time_s - clock.offset_s))


def on_own_clocks(
    incidents: Mapping[str, tuple[Interval, ...]], clocks: Clocks, verdicts: Sequence[DeadTime]
) -> dict[str, tuple[Interval, ...]]:
    """Return the incidents of hosts by their own clocks, as their credits are recorded; those of bursts are so already."""
    judged = {each.host for each in verdicts if each.incidents}
    found = dict(incidents)
    for host, clock in clocks.by_host.items():
        if host in judged and clock.period_s is None:
            found[host] = tuple((begin + clock.offset_s, end + clock.offset_s) for begin, end in found[host])
    return found


def _by_host(tracks: Sequence[Track], purposes: tuple[str, ...]) -> dict[str, Track]:
    """Return each host's first track of these purposes, pings before messages, where it is long enough."""
    ordered = sorted(tracks, key=lambda track: purposes.index(track.purpose) if track.purpose in purposes else len(purposes))
    found: dict[str, Track] = {}
    for track in ordered:
        if track.purpose in purposes and track.rates.rate.size >= LEAST_SAMPLES:
            found.setdefault(track.host, track)
    return found


def _dips(track: Track) -> Normalised:
    """Return the throughput relative to its running median, in robust sigmas."""
    return normalise(track.rates)


def _bursts(track: Track) -> Normalised:
    """Return messages above their usual rate, 0 to 1, so that one huge burst does not outweigh the others (DEADTIME.md 4.3)."""
    rate = track.rates.rate
    base, top = (float(each) for each in np.percentile(rate, (50, 99.5)))
    above = np.clip((rate - base) / max(top - base, 1e-9), 0.0, 1.0)
    ones = np.ones(rate.size)
    return Normalised(track.rates.time_s, track.rates.interval_s, track.rates.dt_s, rate, ones, above, above - above.mean(), ones, 1.0)


def _grid(series: Normalised, begin_s: float, dt_s: float, cells: int) -> Cells:
    """Return the mean of `x` per cell of `dt_s` seconds, shape (cells,); 0 where there is none."""
    value, weight = on_grid(series._replace(dt_s=dt_s), begin_s, cells)
    place = (series.time_s - begin_s) / dt_s
    behind_s = float((place - np.floor(place)).mean() - 0.5) * dt_s
    return Cells(np.where(weight > 0, value / np.maximum(weight, 1.0), 0.0), behind_s)


def _lag(pairs: Pairs, reach: int, dt_s: float) -> Clock | None:
    """Return how far the stamps of the first of each pair are ahead of the second's; None where nothing shows it."""
    if not pairs:
        return None
    cells = pairs[0][0].value.size
    wide = max(reach, int(MOST_SHARE_WIDE * cells))
    lags = np.arange(-wide, wide + 1)
    height = _correlation(pairs, wide) / (1 - np.abs(lags) / cells)  # per cell that both have
    narrow = height[wide - reach : wide + reach + 1]
    middle = float(np.median(narrow))
    sigma = 1.4826 * float(np.median(np.abs(narrow - middle)))
    if sigma <= 0 or narrow.max() - middle < LEAST_Z * sigma:
        return None
    peaks = lags[_summits(height, middle + AS_HIGH * (narrow.max() - middle), max(3, round(1.0 / dt_s)))]
    within = peaks[np.abs(peaks) < reach]
    if within.size == 0:
        return None
    best = int(within[np.abs(within).argmin()])
    apart = np.abs(peaks[peaks != best] - best) * dt_s
    offset, error = _place(pairs, best, max(1, round(SUMMIT_S / dt_s)))
    behind_s = float(np.mean([mine.behind_s - others.behind_s for mine, others in pairs]))
    return Clock(offset * dt_s + behind_s, error * dt_s, float(apart.min()) if apart.size else None)


def _summits(height: FloatArray, least: float, apart: int) -> npt.NDArray[np.int64]:
    """Return where each lobe above `least` is highest; lobes nearer than `apart` cells are one that noise has split."""
    above = np.flatnonzero(height >= least)
    lobes = np.split(above, np.flatnonzero(np.diff(above) > apart) + 1)
    return np.array([lobe[height[lobe].argmax()] for lobe in lobes if lobe.size], dtype=np.int64)


def _correlation(pairs: Pairs, reach: int) -> FloatArray:
    """Return the sums over all pairs of mine[t + k] * others[t] for k of -reach .. reach, shape (2 * reach + 1,)."""
    total = np.zeros(2 * reach + 1)
    for mine, others in pairs:
        size = 1 << int(mine.value.size + reach).bit_length()
        product = np.fft.irfft(np.fft.rfft(mine.value, size) * np.conj(np.fft.rfft(others.value, size)), size)
        total += np.concatenate((product[size - reach :], product[: reach + 1])) / _scale(mine, others)
    return total


def _scale(mine: Cells, others: Cells) -> float:
    return max(float(np.sqrt((mine.value**2).sum() * (others.value**2).sum())), 1e-12)


def _place(pairs: Pairs, best: int, half: int) -> tuple[float, float]:
    """Return the lag near `best` and its standard deviation, in cells: by jackknife, a block of the record at a time."""
    near = 2 * half
    products = sum(_products(mine, others, best, near) / _scale(mine, others) for mine, others in pairs)
    whole = np.sum(products, axis=1)
    without = np.array([_vertex(whole - each, half) for each in np.transpose(products)])
    variance = float(((without - without.mean()) ** 2).sum()) * (BLOCKS - 1) / BLOCKS
    return best + _vertex(whole, half), float(np.hypot(np.sqrt(variance), LEAST_ERROR))


def _products(mine: Cells, others: Cells, best: int, near: int) -> FloatArray:
    """Return the sums of mine[t + k] * others[t] for k of best - near .. best + near, by block of t, shape (2 * near + 1, BLOCKS)."""
    cells = mine.value.size
    found = np.zeros((2 * near + 1, BLOCKS))
    starts = np.arange(BLOCKS) * cells // BLOCKS
    product = np.zeros(cells)
    for at, lag in enumerate(range(best - near, best + near + 1)):
        first, last = max(0, -lag), cells - max(0, lag)
        product[:] = 0.0
        product[first:last] = mine.value[first + lag : last + lag] * others.value[first:last]
        found[at] = np.add.reduceat(product, starts)
    return found


def _vertex(height: FloatArray, half: int) -> float:
    """Return where the parabola fitted to the highest value and `half` either side of it is highest, from the middle, in cells."""
    middle = height.size // 2
    top = int(height[half : height.size - half].argmax()) + half
    x = np.arange(-half, half + 1.0)
    square = x**2 - (x**2).mean()
    around = height[top - half : top + half + 1]
    bend = float((square * around).sum() / (square**2).sum()) if half else 0.0
    slope = float((x * around).sum() / (x**2).sum())
    return top - middle + (float(np.clip(-slope / (2 * bend), -half, half)) if bend < 0 else 0.0)
