"""Clocks of hosts against each other, from what must coincide: floods of messages and pings, and the dips of throughput that they cause.

Each host's rates, relative to their running median, are correlated with those of others at every lag (DEADTIME.md 4.3 does it within one
host); the median of what the others say counts. Lags are told in seconds that a host's clock is ahead of the others'. Where floods are
periodic, a lag and the lag less a period explain them equally well: the one nearest to none is taken, and the period is told beside it.
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
BLOCKS = 8  # of the record, for the scatter of the lag: fewer give no scatter, more hold no flood
SIGMAS = 3.0
MOST_COMPARED = 16  # hosts with which each one is compared: the median of 16 is wrong only where 8 are


class Clock(NamedTuple):
    """How far a host's clock is ahead of the others' in seconds, one standard deviation of that, and the period that it may be off by."""

    offset_s: float
    error_s: float
    period_s: float | None


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
    begin = min(float(track.rates.time_s[0]) for track in used)
    cells = int((max(float(track.rates.time_s[-1]) for track in used) - begin) / dt) + 1
    reach = min(round(MOST_SKEW_S / dt), cells // 4)
    if reach < 5 or cells > MOST_EMPTY * max(track.rates.rate.size for track in used):
        return Clocks({})
    makes = (_dips, _bursts)
    grids = [{host: _grid(make(track), begin, dt, cells) for host, track in kind.items()} for make, kind in zip(makes, kinds, strict=True)]
    grids = [{host: each for host, each in kind.items() if each.any()} for kind in grids]
    compared = hosts[:: -(-len(hosts) // MOST_COMPARED)]
    found: dict[str, Clock] = {}
    for host in hosts[1:] if len(hosts) == 2 else hosts:
        lags = [_lag(_pairs(grids, host, other), reach, dt) for other in compared if other != host]
        clock = _agreed([lag for lag in lags if lag is not None], len(lags))
        if clock is not None and abs(clock.offset_s) > max(dt, SIGMAS * clock.error_s):
            found[host] = clock
    return Clocks(found)


def _pairs(grids: Sequence[Mapping[str, FloatArray]], host: str, other: str) -> list[tuple[FloatArray, FloatArray]]:
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
    """Return the track on the others' clock."""
    clock = clocks.by_host.get(track.host)
    if clock is None:
        return track
    return track._replace(rates=track.rates._replace(time_s=track.rates.time_s - clock.offset_s))


def on_own_clocks(
    incidents: Mapping[str, tuple[Interval, ...]], clocks: Clocks, verdicts: Sequence[DeadTime]
) -> dict[str, tuple[Interval, ...]]:
    """Return the incidents of hosts by their own clocks, as their credits are recorded; those of bursts are so already."""
    judged = {each.host for each in verdicts if each.incidents}
    found = dict(incidents)
    for host, clock in clocks.by_host.items():
        if host in judged:
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


def _grid(series: Normalised, begin_s: float, dt_s: float, cells: int) -> FloatArray:
    """Return the mean of `x` per cell of `dt_s` seconds, shape (cells,); 0 where there is none."""
    value, weight = on_grid(series._replace(dt_s=dt_s), begin_s, cells)
    return np.where(weight > 0, value / np.maximum(weight, 1.0), 0.0)


def _lag(pairs: list[tuple[FloatArray, FloatArray]], reach: int, dt_s: float) -> Clock | None:
    """Return how far the stamps of the first of each pair are ahead of the second's; None where nothing shows it."""
    if not pairs:
        return None
    height = _correlation(pairs, reach)
    middle = float(np.median(height))
    sigma = 1.4826 * float(np.median(np.abs(height - middle)))
    if sigma <= 0 or height.max() - middle < LEAST_Z * sigma:
        return None
    inner = np.flatnonzero((height[1:-1] >= height[:-2]) & (height[1:-1] > height[2:])) + 1
    high = inner[height[inner] - middle >= AS_HIGH * (height.max() - middle)]
    if high.size == 0:
        return None
    best = int(high[np.abs(high - reach).argmin()])
    others = np.abs(high - best) * dt_s
    apart = others[others > max(3 * dt_s, 1.0)]
    offset = (best - reach + _vertex(height[best - 1 : best + 2])) * dt_s
    error = _scatter(pairs, best, reach, dt_s)
    return Clock(offset, error, float(apart.min()) if apart.size else None)


def _correlation(pairs: list[tuple[FloatArray, FloatArray]], reach: int) -> FloatArray:
    """Return the sums over all pairs of mine[t + k] * others[t] for k of -reach .. reach, shape (2 * reach + 1,)."""
    total = np.zeros(2 * reach + 1)
    for mine, others in pairs:
        size = 1 << int(mine.size + reach).bit_length()
        product = np.fft.irfft(np.fft.rfft(mine, size) * np.conj(np.fft.rfft(others, size)), size)
        scale = float(np.sqrt((mine**2).sum() * (others**2).sum()))
        total += np.concatenate((product[size - reach :], product[: reach + 1])) / max(scale, 1e-12)
    return total


def _vertex(three: FloatArray) -> float:
    """Return where the parabola through three values at -1, 0 and 1 is highest."""
    bend = float(three[0] - 2 * three[1] + three[2])
    return float(np.clip(0.5 * (three[0] - three[2]) / bend, -0.5, 0.5)) if bend < 0 else 0.0


def _scatter(pairs: list[tuple[FloatArray, FloatArray]], best: int, reach: int, dt_s: float) -> float:
    """Return one standard deviation of the lag, from lags of blocks of the record near the whole one's; at least a tenth of a cell.

    Less than that a cell does not tell: stamps within one tick differ by that much.
    """
    near = min(5, best, 2 * reach - best)
    lags = []
    cells = pairs[0][0].size
    for block in np.array_split(np.arange(cells), BLOCKS):
        parts = [(np.where(_within(cells, block), mine, 0.0), others) for mine, others in pairs]
        height = _correlation(parts, reach)[best - near : best + near + 1]
        if height.any():
            top = int(height[1:-1].argmax()) + 1
            lags.append((top - near + _vertex(height[top - 1 : top + 2])) * dt_s)
    if len(lags) < 3:
        return float("inf")
    spread = np.abs(np.array(lags) - np.median(lags))
    return max(1.2533 * 1.4826 * float(np.median(spread)) / float(np.sqrt(len(lags))), 0.1 * dt_s)


def _within(cells: int, block: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    marked = np.zeros(cells, dtype=bool)
    marked[block] = True
    return marked
