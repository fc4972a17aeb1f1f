"""What dips take, cycle by cycle, with errors; and how small a dip of known period would still have been seen.

Errors come from a block bootstrap over cycles (Künsch 1989): neighbouring cycles are drawn together, in blocks of the cube root of their
number (Hall, Horowitz and Jing 1995), because what an application does lasts longer than one cycle. The seed is fixed: the same data give
the same words.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis import vetting
from lnetstat.analysis.normalise import CLIP_SIGMA, Normalised
from lnetstat.analysis.results import FloatArray, Interval, Signal

DRAWS = 400  # the error of an error from so many draws is 1 / sqrt(800) = 4 %: less than its third digit
SEED = 2012
MOST_LEVELS = 1000
LEAST_CYCLES = 6  # as everywhere: fewer do not tell a period from chance
FALSE_ALARM = 0.01  # of the test at a known period, over all phases together
POWER = 0.95  # with which a dip of the size named would have been seen; tests/analysis/test_compare.py measures it
UNEXPLAINED = 2.0  # a dozen phases scatter by a quarter about their expected scatter: four times that is no chance
PHASES_PER_DIP = 4  # so a dip lies at most an eighth of itself beside a phase that was tried


class Estimate(NamedTuple):
    """A figure with its 1 sigma error (None: not known) from `blocks` independent blocks of the record."""

    value: float
    err: float | None
    blocks: int


class CycleShares(NamedTuple):
    """Dips measured over cycles. All relative to the load beside each dip.

    `lost_s`: seconds of full load that one dip takes, before catching up; `net_s`: after it; `depth`: in the middle half of the dip;
    `load`: the rate outside dips. Errors from the bootstrap.
    """

    load: Estimate
    lost_s: Estimate
    net_s: Estimate
    depth: Estimate
    duration_s: Estimate


class Seen(NamedTuple):
    """What the test at a known period and duration says of a series.

    `depth`: of the deepest phase, 0..1; `z`: how far it stands above the other phases; `seen`: whether that is more than chance;
    `least_depth`: the smallest dip that would have been seen with a probability of POWER; None: not even a total stop.
    """

    cycles: int
    z: float
    seen: bool
    depth: float
    least_depth: float | None


def interval(estimate: Estimate, level: float) -> Interval | None:
    """Return the two-sided confidence interval of an estimate; None where its error is not known."""
    if estimate.err is None:
        return None
    reach = student(level, max(1, estimate.blocks - 1)) * estimate.err
    return estimate.value - reach, estimate.value + reach


def student(level: float, free: int) -> float:
    """Return the two-sided quantile of Student's t (Cornish-Fisher expansion; Abramowitz and Stegun 26.7.5)."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / free + second / free**2 + third / free**3


def onsets_from(incidents: tuple[Interval, ...], period_s: float) -> FloatArray:
    """Return the onset of every cycle from the first incident to the last: cycles that were left out count too, as without a dip."""
    found: list[float] = []
    for start, _ in incidents:
        if found:
            missing = round((start - found[-1]) / period_s) - 1
            step = (start - found[-1]) / (missing + 1) if missing > 0 else 0.0
            found += [found[-1] + step * (number + 1) for number in range(max(0, missing))]
        found.append(start)
    return np.array(found)


def shares(sources: list[Signal], onset_s: FloatArray, period_s: float, duration_s: float) -> CycleShares | None:
    """Return what dips at these onsets take of the sources together; None where there are too few cycles with load."""
    parts = [_Cycles(source, onset_s, period_s, duration_s) for source in sources]
    load = np.sum([part.load for part in parts], axis=0)
    lost = np.sum([part.lost for part in parts], axis=0)
    net = np.sum([part.net for part in parts], axis=0)
    middle = np.sum([part.middle for part in parts], axis=0)
    used = load > 0
    if used.sum() < LEAST_CYCLES:
        return None
    counts = block_draws(int(used.sum()))
    sums = [counts @ values[used] for values in (load, lost, net, middle)]
    whole = [float(values[used].sum()) for values in (load, lost, net, middle)]
    blocks = int(used.sum()) // block_length(int(used.sum()))

    def ratio(above: int, below: int) -> Estimate:
        known = sums[below] != 0
        drawn = sums[above][known] / sums[below][known]
        value = whole[above] / whole[below] if whole[below] else 0.0
        return Estimate(value, float(drawn.std(ddof=1)) if drawn.size > 1 else None, blocks)

    mean_load = Estimate(whole[0] / int(used.sum()), float((sums[0] / counts.sum(axis=1)).std(ddof=1)), blocks)
    return CycleShares(mean_load, ratio(1, 0), ratio(2, 0), ratio(3, 0), ratio(1, 3))


def block_length(count: int) -> int:
    """Return how many neighbours are drawn together."""
    return max(1, round(math.cbrt(count)))


def block_draws(count: int) -> FloatArray:
    """Return, (DRAWS, count), how often each of `count` items in a row comes in each draw of blocks; blocks wrap around."""
    length = block_length(count)
    random = np.random.default_rng(SEED)
    starts = random.integers(0, count, size=(DRAWS, math.ceil(count / length)))
    items = ((starts[:, :, None] + np.arange(length)) % count).reshape(DRAWS, -1)[:, :count]
    drawn = np.zeros((DRAWS, count))
    np.add.at(drawn, (np.arange(DRAWS)[:, None], items), 1.0)
    return drawn


class _Cycles:
    """One source's load, and what each of its dips takes; arrays (onsets,), all in units of the rate (times seconds)."""

    def __init__(self, source: Signal, onset_s: FloatArray, period_s: float, duration_s: float) -> None:
        dt = float(np.median(source.interval_s)) if source.interval_s.size else 0.0
        amounts = _Amounts(source)
        begin, end = onset_s - dt, onset_s + duration_s + dt
        settled = np.minimum(onset_s + 5 * duration_s + dt, onset_s + 0.6 * period_s)
        reach = max(0.2 * period_s, dt)
        left, right = amounts.between(begin - reach, begin), amounts.between(settled, settled + reach)
        covered = left[1] + right[1]
        level = np.where(covered > 0, (left[0] + right[0]) / np.where(covered > 0, covered, 1.0), 0.0)
        # A dip of which only a part was sampled tells too little of what it took.
        whole = amounts.between(begin, settled)[1] >= 0.8 * (settled - begin)
        self.load = np.where(whole, level, 0.0)
        self.lost = self._missing(amounts, begin, end)
        self.net = self._missing(amounts, begin, settled)
        quarter = duration_s / 4
        moved, time = amounts.between(onset_s + quarter, onset_s + 3 * quarter)
        self.middle = np.where(time > 0, self.load - moved / np.where(time > 0, time, 1.0), 0.0) * (self.load > 0)

    def _missing(self, amounts: "_Amounts", begin: FloatArray, end: FloatArray) -> FloatArray:
        moved, time = amounts.between(begin, end)
        return np.asarray(np.where(self.load > 0, self.load * time - moved, 0.0))


class _Amounts:
    """What a source moved, and for how long it was sampled, between any two times."""

    def __init__(self, source: Signal) -> None:
        begin, end = source.time_s - source.interval_s / 2, source.time_s + source.interval_s / 2
        # Between samples that do not touch nothing is known: there time and amount stand still.
        self._edges = np.column_stack((begin, np.maximum(end, begin))).ravel()
        np.maximum.accumulate(self._edges, out=self._edges)
        zero = np.zeros(source.time_s.size)
        self._moved = np.cumsum(np.column_stack((zero, source.rate * source.interval_s)).ravel())
        self._time = np.cumsum(np.column_stack((zero, source.interval_s)).ravel())

    def between(self, begin: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (amount, sampled seconds) between the times, each (n,)."""
        if self._edges.size == 0:
            return np.zeros(begin.size), np.zeros(begin.size)
        moved = np.interp(end, self._edges, self._moved) - np.interp(begin, self._edges, self._moved)
        time = np.interp(end, self._edges, self._time) - np.interp(begin, self._edges, self._time)
        return moved, time


def block_estimate(values: FloatArray, weight: FloatArray, block: npt.NDArray[np.int64]) -> Estimate:
    """Return the weighted mean of samples with its error; `block[i]` numbers the stretch of time that sample i lies in."""
    number, index = np.unique(block, return_inverse=True)
    total = np.bincount(index, weight, number.size)
    amount = np.bincount(index, weight * values, number.size)
    value = float(amount.sum() / total.sum()) if total.sum() > 0 else 0.0
    if number.size < LEAST_CYCLES:
        return Estimate(value, None, int(number.size))
    counts = block_draws(int(number.size))
    drawn = (counts @ amount) / np.maximum(counts @ total, 1e-300)
    return Estimate(value, float(drawn.std(ddof=1)), int(number.size) // block_length(int(number.size)))


def percentile_err(values: FloatArray, weight: FloatArray, block: npt.NDArray[np.int64], percent: float) -> float | None:
    """Return the 1 sigma error of a weighted percentile of samples in blocks of time; None for too few blocks."""
    number, index = np.unique(block, return_inverse=True)
    if number.size < LEAST_CYCLES:
        return None
    levels, level = np.unique(values, return_inverse=True)
    if levels.size > MOST_LEVELS:  # neighbours join: far finer still than the error
        level = level * MOST_LEVELS // levels.size
        levels = np.bincount(level, values) / np.bincount(level)
    table = np.bincount(index * levels.size + level, weight, number.size * levels.size).reshape(number.size, levels.size)
    share = np.cumsum(block_draws(int(number.size)) @ table, axis=1)
    at = (share < percent / 100 * share[:, -1:]).sum(axis=1)
    return float(levels[np.minimum(at, levels.size - 1)].std(ddof=1))


def known_period_test(series: Normalised, period_s: float, duration_s: float, depth: float = 1.0) -> Seen:
    """Test a series for dips of a known period and duration at all phases; the other phases are the null.

    Nothing was searched but the phase, so this sees smaller dips than a blind search does. What is deeper than `depth` counts as that deep
    (but 4 sigma of noise count in full): dips of that depth are looked for, and one stop of the application shall not pass for many.
    """
    nothing = Seen(0, 0.0, False, 0.0, None)
    if series.time_s.size < 2:
        return nothing
    deepest_counted = min(1.0, max(depth, CLIP_SIGMA * series.sigma))
    shares = np.where(series.weight > 0, np.clip(series.residual, -deepest_counted, deepest_counted), 0.0)
    sums = vetting.prefix_sums(series._replace(x=shares))
    inside_s = max(duration_s, 1.02 * series.dt_s)
    first, last = float(series.time_s[0]), float(series.time_s[-1])
    onsets = np.arange(first, last, period_s)
    phases: list[float] = []
    means: list[float] = []
    single: list[FloatArray] = []
    cycles = 0
    for phase in np.arange(0.0, period_s, inside_s / PHASES_PER_DIP).tolist():
        depths = vetting.incident_depths(sums, onsets + phase, duration_s, period_s, series.dt_s)
        known = depths[np.isfinite(depths)]
        if known.size >= LEAST_CYCLES:
            phases.append(phase)
            means.append(float(known.mean()))
            single.append(known)
            cycles = max(cycles, int(known.size))
    if len(means) < 2 * PHASES_PER_DIP:
        return nothing._replace(cycles=cycles)
    found = np.array(means)
    noise = float(np.concatenate(single).std()) / math.sqrt(cycles)
    among = _scatter_beside(np.array(phases), found, period_s, 5 * inside_s)
    # Few phases tell their scatter badly; they count where they scatter more than single dips explain: a load with a period of its own.
    scatter = max(noise if among < UNEXPLAINED * noise else among, 1e-9)
    needed = NormalDist().inv_cdf(1 - FALSE_ALARM / len(means)) * scatter
    deepest = float(found.max())
    # At worst the dip begins and ends in mid-sample: half a sample of it lies outside the best window, of a brief one half.
    overlap = max(0.5, 1 - 0.5 * series.dt_s / duration_s) * (1 - 0.5 / PHASES_PER_DIP)
    least = (needed + NormalDist().inv_cdf(POWER) * scatter) / overlap
    diluted = inside_s / duration_s  # a dip briefer than a sample fills a part of it only
    least_depth = least * diluted if least < deepest_counted and least * diluted <= 1.0 else None
    return Seen(cycles, deepest / scatter, deepest > needed, min(1.0, max(0.0, deepest * diluted)), least_depth)


def _scatter_beside(phase_s: FloatArray, mean: FloatArray, period_s: float, reach_s: float) -> float:
    """Return the robust scatter of the phases further than `reach_s` from the deepest one, whose dip its neighbours are measured against;
    0.0 where they are too few."""
    away = np.abs((phase_s - phase_s[mean.argmax()] + period_s / 2) % period_s - period_s / 2) > reach_s
    rest = mean[away]
    return 1.4826 * float(np.median(np.abs(rest - np.median(rest)))) if rest.size >= 2 * PHASES_PER_DIP else 0.0
