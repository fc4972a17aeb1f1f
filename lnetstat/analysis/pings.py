"""Bursts of messages followed one by one, and whether dips of throughput coincide with them.

Real pings drift: a setting of 15 s gave cycles of 12 to 15 s, often several groups of clients each with a phase of their own. A fixed
period over the record would smear them, so onsets are chained: each one is looked for about one period after the last.
"""

import bisect
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.analysis.normalise import Normalised, on_grid, standardise
from lnetstat.analysis.rates import Rates, on_times
from lnetstat.analysis.results import FloatArray

PERIODIC_CV = 0.15
RECURRENT_CV = 0.30
CHAIN_TOLERANCE = 0.25  # of the period: how early or late the next onset may be
MOST_PHASES = 6
LEAST_BURSTS = 5
MOST_BURSTS = 4000
SIZE_BREAK = 1.5  # sizes further apart than this belong to different groups
MOST_MISSED = 3  # in a row
LEAST_COVERAGE = 0.7  # share of all bursts of that size that the chains must explain


class Burst(NamedTuple):
    """One burst: [begin, end] in epoch seconds, `size` above the base (rate x seconds) and its highest rate."""

    begin_s: float
    end_s: float
    size: float
    peak_rate: float


class Chain(NamedTuple):
    """Bursts that follow each other after about one period. `gap_cv`: coefficient of variation of the gaps (missed ones left out)."""

    bursts: tuple[Burst, ...]
    period_s: float
    gap_cv: float

    @property
    def onsets_s(self) -> FloatArray:
        """The onsets in epoch seconds, shape (bursts,)."""
        return np.array([burst.begin_s for burst in self.bursts])


class PingTest(NamedTuple):
    """How far dips coincide with pings: `z` above all circular shifts, in robust sigmas."""

    z: float


def bursts_of(rates: Rates) -> tuple[list[Burst], float]:
    """Return the bursts of a rate of messages in time order, and its base rate (the median of the running median)."""
    if rates.rate.size < 9:
        return [], 0.0
    window = max(9, round(max(30.0, 20 * rates.dt_s) / rates.dt_s)) | 1
    base = pd.Series(rates.rate).rolling(window, center=True, min_periods=1).median().to_numpy()
    above = rates.rate - base
    # A second of messages smooths what a counter of whole messages does at 10 Hz.
    smooth_n = max(1, round(0.5 / rates.dt_s))
    smooth = pd.Series(above).rolling(smooth_n, center=True, min_periods=1).mean().to_numpy()
    scatter = 1.4826 * float(np.median(np.abs(smooth - np.median(smooth))))
    level = max(6 * scatter, float(np.median(base)), 1e-9)
    level = max(level, 0.08 * float(np.percentile(smooth, 99.8)))
    return _runs(rates, above, smooth > level, max(1.5, 2.5 * rates.dt_s)), float(np.median(base))


def _runs(rates: Rates, above: FloatArray, hot: npt.NDArray[np.bool_], join_s: float) -> list[Burst]:
    """Join marked samples that are less than `join_s` apart into bursts."""
    index = np.flatnonzero(hot)
    if index.size == 0:
        return []
    breaks = np.flatnonzero(np.diff(rates.time_s[index]) > join_s)
    found = []
    for group in np.split(index, breaks + 1):
        first, last = int(group[0]), int(group[-1]) + 1
        strong = group[above[group] >= 0.25 * above[group].max()] if above[group].max() > 0 else group
        begin = float(rates.time_s[strong[0]] - rates.interval_s[strong[0]] / 2)
        end = float(rates.time_s[strong[-1]] + rates.interval_s[strong[-1]] / 2)
        size = float((above[first:last] * rates.interval_s[first:last]).sum())
        found.append(Burst(begin, end, size, float(rates.rate[first:last].max())))
    return found


def chains_of(bursts: list[Burst], *, most_phases: int = MOST_PHASES) -> list[Chain]:
    """Return the phase groups among bursts of like size, the largest first: each is a chain of at least 5 bursts.

    Bursts belong together as long as no size is missing between them; where that finds nothing, all that are at least 0.3 times
    as large as the large ones (90th percentile) are tried together.
    """
    if len(bursts) > MOST_BURSTS:
        return []  # that many are told better by folding
    real = sorted((burst for burst in bursts if burst.size > 0), key=lambda burst: -burst.size)
    if len(real) < LEAST_BURSTS:
        return []
    sizes = np.array([burst.size for burst in real])
    breaks = np.flatnonzero(sizes[:-1] > SIZE_BREAK * sizes[1:]) + 1
    found: list[Chain] = []
    for first, last in zip([0, *breaks.tolist()], [*breaks.tolist(), len(real)], strict=True):
        if len(found) < MOST_PHASES:
            found += _phase_groups(sorted(real[first:last]), most_phases)
    if not found and breaks.size:
        large = 0.3 * float(np.percentile(sizes, 90))
        found = _phase_groups(sorted(burst for burst in real if burst.size >= large), most_phases)
    return found


def _phase_groups(bursts: list[Burst], most_phases: int) -> list[Chain]:
    """Split bursts into chains of one period: with L groups every L-th burst is one period later."""
    onsets = np.array([burst.begin_s for burst in bursts])
    for phases in range(1, most_phases + 1):
        if onsets.size < LEAST_BURSTS * phases:
            break
        lagged = onsets[phases:] - onsets[:-phases]
        period = float(np.median(lagged))
        scatter = 1.4826 * float(np.median(np.abs(lagged - period)))
        if scatter > CHAIN_TOLERANCE * period:
            continue
        chains, free = [], list(range(onsets.size))
        for _ in range(phases):
            longest = _longest_chain(onsets, free, period)
            if len(longest) < LEAST_BURSTS:
                break
            chains.append(longest)
            taken = set(longest)
            free = [index for index in free if index not in taken]
        if chains and sum(map(len, chains)) >= LEAST_COVERAGE * onsets.size:
            return [_chain([bursts[index] for index in chain], period) for chain in chains]
    return []


def _longest_chain(onsets: FloatArray, free: list[int], period_s: float) -> list[int]:
    """Follow onsets one by one from every early start and return the longest chain; up to 3 missed onsets in a row are forgiven."""
    best: list[int] = []
    times = [float(onsets[index]) for index in free]
    for start in range(min(len(free), 2 * MOST_PHASES)):
        chain, last = [free[start]], times[start]
        position, missed = start + 1, 0
        while position < len(free):
            due = last + period_s * (1 + missed)
            nearest = bisect.bisect_left(times, due, position)
            if nearest == len(times) or (nearest > position and due - times[nearest - 1] < times[nearest] - due):
                nearest -= 1
            if nearest >= position and abs(times[nearest] - due) <= CHAIN_TOLERANCE * period_s:
                chain.append(free[nearest])
                last, position, missed = times[nearest], nearest + 1, 0
            elif missed < MOST_MISSED:
                missed += 1
            else:
                break
        if (len(chain), -_uneven(onsets[chain])) > (len(best), -_uneven(onsets[best])):
            best = chain
    return best


def _uneven(onsets: FloatArray) -> float:
    """Return the scatter of the gaps: of two equally long chains the more even one is meant."""
    return float(np.diff(onsets).std()) if onsets.size > 1 else 0.0


def _chain(bursts: list[Burst], period_s: float) -> Chain:
    gaps = np.diff([burst.begin_s for burst in bursts])
    single = gaps[gaps < 1.5 * period_s]
    mean = float(single.mean()) if single.size else period_s
    return Chain(tuple(bursts), mean, float(single.std(ddof=1) / mean) if single.size > 1 else 0.0)


def ping_test(series: Normalised, pings: Rates) -> PingTest:
    """Test whether throughput is low when pings come, against all circular shifts of the ping series at once (by FFT).

    Median and MAD of the shifts, not mean and deviation: against a strictly periodic series every shift by P is as good as none.
    """
    rate = on_times(pings, series.time_s, series.interval_s)
    known = np.isfinite(rate) & (series.weight > 0)
    if known.sum() < 30 or not (rate[known] > 0).any():
        return PingTest(0.0)
    top = float(np.percentile(rate[known], 99.9)) or float(rate[known].max())
    q = np.where(known, np.clip(1.5 * np.nan_to_num(rate) / top, 0.0, 1.0), 0.0)
    q = np.where(known, q - q[known].mean(), 0.0)
    begin = float(series.time_s[0]) - series.dt_s / 2
    cells = int((float(series.time_s[-1]) - begin) / series.dt_s) + 1
    weight = known.astype(np.float64)
    x_cells, _ = on_grid(series._replace(weight=series.weight * weight), begin, cells)
    q_cells, _ = on_grid(series._replace(x=q, weight=weight), begin, cells)
    size = _fast_length(cells)
    spectrum = np.fft.rfft(x_cells - x_cells.mean(), size) * np.conj(np.fft.rfft(q_cells - q_cells.mean(), size))
    shifted = -np.fft.irfft(spectrum, size)
    middle = float(np.median(shifted))
    scatter = 1.4826 * float(np.median(np.abs(shifted - middle)))
    return PingTest((float(shifted[0]) - middle) / scatter if scatter > 0 else 0.0)


def _fast_length(cells: int) -> int:
    """Return the next length of the form 2^a 3^b 5^c: a long prime length would make the FFT slow."""
    best = 1 << (cells - 1).bit_length()
    for five in (1, 5, 25):
        for three in (1, 3, 9, 27):
            factor = five * three
            best = min(best, factor << max(0, math.ceil(math.log2(cells / factor))))
    return best


def as_dips(pings: Rates) -> Normalised:
    """Return a ping series turned upside down, so that the search for dips finds its bursts."""
    top = float(np.percentile(pings.rate, 99.9)) or float(pings.rate.max(initial=0.0)) or 1.0
    q = np.clip(1.5 * pings.rate / top, 0.0, 1.0)
    ones = np.ones(q.size)
    return standardise(pings.time_s, pings.interval_s, pings.dt_s, 1 - q, ones, (float(q.mean()) - q) / 0.25, ones)


def share_inside(pings: Rates, incidents: list[tuple[float, float]], slack_s: float) -> float:
    """Return the share of all pings inside the dips (widened by `slack_s`) over the share of time in them; 0.0 where there are none."""
    if not incidents or pings.rate.size == 0:
        return 0.0
    begin = np.array([start for start, _ in incidents]) - slack_s
    end = np.array([stop for _, stop in incidents]) + slack_s
    position = np.searchsorted(begin, pings.time_s, side="right") - 1
    inside = (position >= 0) & (pings.time_s < end[np.maximum(position, 0)])
    amount = pings.rate * pings.interval_s
    total, time_share = float(amount.sum()), float(pings.interval_s[inside].sum() / pings.interval_s.sum())
    return float(amount[inside].sum()) / total / time_share if total > 0 and time_share > 0 else 0.0
