"""Clocks of hosts against each other, from what must coincide: floods of messages and pings, and the dips of throughput that they cause.

Each host's rates, relative to their running median, are correlated with the sum of all others' at every lag (DEADTIME.md 4.3 does it within
one host). Lags are told in seconds that a host's clock is ahead of the others'. Where floods are periodic, a lag and the lag less a period
explain them equally well: the one nearest to none is taken, and the period is told beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis.normalise import normalise, on_grid
from lnetstat.analysis.results import DeadTime, FloatArray, Interval
from lnetstat.analysis.signals import Track

MOST_SKEW_S = 300.0  # the longest period that is searched for; clocks that are off by more need no statistics to be seen
LEAST_Z = 10.0  # of 600 lags and 1,000 hosts chance reaches 5; floods that coincide stand at 20 and more
AS_HIGH = 0.7  # of the highest: peaks of a periodic flood differ by the cycles beyond the overlap, at most a quarter, and by noise
LEAST_SAMPLES = 60
MOST_EMPTY = 10  # times as long as the longest record: records that lie so far apart have nothing in common
BLOCKS = 8  # of the record, for the scatter of the lag: fewer give no scatter, more hold no flood
SIGMAS = 3.0


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
    grids = [{host: _grid(track, begin, dt, cells) for host, track in kind.items()} for kind in kinds]
    found: dict[str, Clock] = {}
    for host in hosts[1:] if len(hosts) == 2 else hosts:
        pairs = [(kind[host], _sum_of_others(kind, host)) for kind in grids if host in kind]
        clock = _clock([pair for pair in pairs if pair[1].any()], reach, dt)
        if clock is not None:
            found[host] = clock
    return Clocks(found)


def _sum_of_others(kind: Mapping[str, FloatArray], host: str) -> FloatArray:
    others = [each for other, each in kind.items() if other != host]
    return np.asarray(np.sum(others, axis=0)) if others else np.zeros_like(kind[host])


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


def _grid(track: Track, begin_s: float, dt_s: float, cells: int) -> FloatArray:
    """Return the rate relative to its running median, in robust sigmas, per cell of `dt_s`, shape (cells,)."""
    series = normalise(track.rates)
    value, weight = on_grid(series._replace(dt_s=dt_s), begin_s, cells)
    return np.where(weight > 0, value / np.maximum(weight, 1.0), 0.0)


def _clock(pairs: list[tuple[FloatArray, FloatArray]], reach: int, dt_s: float) -> Clock | None:
    """Return how far the first of each pair is behind the second; None where nothing shows it, or it is less than can be told."""
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
    if abs(offset) <= max(dt_s, SIGMAS * error):
        return None
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
