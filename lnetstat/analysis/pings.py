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
CHAIN_TOLERANCE = 0.25  # of the period: how early or late the next onset may be; more would reach the neighbouring group
LONE_TOLERANCE = 0.4  # the same of a single group, where only half a period would be ambiguous
JOIN_S = 1.5  # counts nearer to each other are one burst: a flood stalls for up to a second where credits run out
EXACT_JOIN_S = 0.75  # the same of pings as a server counts them: it has no other messages in between
MOST_PHASES = 6
LEAST_BURSTS = 5
MOST_BURSTS = 50_000  # the largest; a day holds 17,280 of every 5 s, and what is smaller than 50,000 others is not told
SIZE_BREAK = 1.5  # sizes further apart than this belong to different groups
MOST_MISSED = 3  # in a row
LEAST_COVERAGE = 0.6  # share of all bursts of a size that chains must explain: what is left may then belong to them too
STARTS = 8  # from which chains are tried, spread over the record: a chain may begin late
TRIED_LINKS = 200  # of each trial: more do not change which is best
RESOLVED = 0.02  # of the mean gap: nearer to its due time a burst is as near as it can be seen (a sample of 0.5 s in 25 s)
LEAST_SURPRISE = 2.0  # -log10 of the chance that any of the chains tried in a record of random bursts is so even: 1 %
SHUFFLES = 3  # of the gaps: the largest of so many is exceeded by chance once in four
UNEVEN_SURPRISE = 5.0  # of cycles too uneven to be periodic: bursts that cannot be nearer to each other than they last look so
LIKE_SIZE = 0.5  # share of the typical size: a flood of half the clients, as while they reconnect
LEAST_WHEN_DUE = 0.05  # of the typical size, of one that comes in time: a flood that was cut short
LEAST_SLACK = 0.1  # of the period: how far a flood that was cut short may be off, its first half being lost


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


def bursts_of(rates: Rates, *, exact: bool = False) -> tuple[list[Burst], float]:
    """Return the bursts of a rate of messages in time order, and its base rate (the median of the running median).

    `exact`: nothing but pings is counted; where there are mostly none, every ping counts, were it the five that a server sends itself.
    """
    if rates.rate.size < 9:
        return [], 0.0
    if exact and float(np.median(rates.rate)) <= 0:
        return _runs(rates, rates.rate, rates.rate * rates.interval_s >= 0.5, max(EXACT_JOIN_S, 2.5 * rates.dt_s)), 0.0
    window = max(9, round(max(30.0, 20 * rates.dt_s) / rates.dt_s)) | 1
    base = pd.Series(rates.rate).rolling(window, center=True, min_periods=1).median().to_numpy()
    above = rates.rate - base
    # A second of messages smooths what a counter of whole messages does at 10 Hz.
    smooth_n = max(1, round(0.5 / rates.dt_s))
    smooth = pd.Series(above).rolling(smooth_n, center=True, min_periods=1).mean().to_numpy()
    scatter = 1.4826 * float(np.median(np.abs(smooth - np.median(smooth))))
    level = max(6 * scatter, float(np.median(base)), 1e-9)
    level = max(level, 0.08 * float(np.percentile(smooth, 99.8)))
    return _runs(rates, above, smooth > level, max(JOIN_S, 2.5 * rates.dt_s)), float(np.median(base))


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
    """Return the phase groups among bursts of like size, the largest bursts first: each is a chain of at least 5 bursts.

    Bursts belong together as long as no size is missing between them; where that finds nothing, all that are at least 0.3 times
    as large as the large ones (90th percentile) are tried together. Bursts that no chain explains but that are as large as those of a
    chain (floods after an interval was changed, or after a reconnect), and smaller ones that come when one is due, are counted with it.
    """
    real = sorted((burst for burst in bursts if burst.size > 0), key=lambda burst: -burst.size)[:MOST_BURSTS]
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
    return _with_others(found, bursts)


def _phase_groups(bursts: list[Burst], most_phases: int) -> list[Chain]:
    """Take the most surprising chain out of the bursts, then the next, as long as chance would not make one so even."""
    onsets = np.array([burst.begin_s for burst in bursts])
    free = np.arange(onsets.size)
    chains: list[Chain] = []
    while len(chains) < most_phases and free.size >= LEAST_BURSTS:
        links = _best_links(onsets[free], most_phases)
        if links is None:
            break
        chain = _chain([bursts[index] for index in free[links.at]], links.period_s)
        if chain.gap_cv > PERIODIC_CV and links.surprise(onsets[free]) < UNEVEN_SURPRISE:
            break
        chains.append(chain)
        free = np.delete(free, links.at)
    if len(chains) == 1 and chains[0].gap_cv > PERIODIC_CV:  # what strayed farther than the tolerance is part of the scatter
        chains = [_chain(bursts, chains[0].period_s)]
    return chains if onsets.size - free.size >= LEAST_COVERAGE * onsets.size else []


class _Links(NamedTuple):
    """A chain being followed: indices of its bursts, and how far from each due time the nearest burst was (missed ones too)."""

    at: list[int]
    off_s: list[float]
    period_s: float

    def surprise(self, onsets_s: FloatArray) -> float:
        """Return -log10 of the chance that bursts at random times, as many as here, lie so near to the due times.

        With a rate r of bursts at random times the nearest one is farther than d with a chance of exp(-2 r d).
        """
        if len(self.at) < LEAST_BURSTS:
            return 0.0
        length = float(onsets_s[self.at[-1]] - onsets_s[self.at[0]])
        rate = (self.at[-1] - self.at[0]) / length
        return surprise_of_even(-np.expm1(-2 * np.maximum(RESOLVED, rate * np.array(self.off_s))))


def surprise_of_even(shares: FloatArray) -> float:
    """Return -log10 of the chance that numbers, each uniform in 0..1 by chance, have so small a sum (Irwin and Hall's law)."""
    count, total = shares.size, float(shares.sum())
    if total >= count / 2:
        return 0.0
    if count <= 20:  # more terms cancel to nothing in float64
        terms = ((-1) ** k * math.comb(count, k) * (total - k) ** count for k in range(math.floor(total) + 1))
        return -math.log10(max(math.fsum(terms) / math.factorial(count), 1e-300))
    # Beyond that two bounds: the normal law, whose tails are the heavier ones, and the volume of the simplex, good for tiny sums.
    z = (count / 2 - total) / math.sqrt(count / 12)
    normal = z * z / 2 + math.log(z * math.sqrt(2 * math.pi) + 1)
    simplex = math.lgamma(count + 1) - count * math.log(max(total, 1e-300))
    return max(normal, simplex) / math.log(10)


def _best_links(onsets_s: FloatArray, most_phases: int) -> _Links | None:
    """Return the chain that chance explains least; None where chance explains all. With L groups every L-th burst is a period later.

    Gaps that are somewhat even by themselves make every L-th burst more even still. So several groups must be more surprising than
    the same gaps in random order, which have no groups.
    """
    best: tuple[float, _Trial] | None = None
    random = np.random.default_rng(onsets_s.size)
    most = min(most_phases, onsets_s.size // LEAST_BURSTS)
    least = LEAST_SURPRISE + math.log10(most * (STARTS + 1))
    for phases in range(1, most + 1):
        surprise, trial = _tried(onsets_s, phases)
        if phases > 1 and surprise > least and (best is None or surprise > best[0]):
            shuffled = (np.concatenate(([0.0], np.cumsum(random.permutation(np.diff(onsets_s))))) for _ in range(SHUFFLES))
            surprise -= max(_tried(each, phases)[0] for each in shuffled)
        if best is None or surprise > best[0]:
            best = surprise, trial
    if best is None or best[0] < least:
        return None
    return _both_ways(onsets_s.tolist(), best[1])


class _Trial(NamedTuple):
    """Where and how to follow a chain."""

    start: int
    period_s: float
    tolerance_s: float


def _tried(onsets_s: FloatArray, phases: int) -> tuple[float, _Trial]:
    """Return the most surprising of some chains that begin all over the record, and how to follow it."""
    lagged = onsets_s[phases:] - onsets_s[:-phases]
    period = _densest(lagged)
    tolerance = (LONE_TOLERANCE if phases == 1 else CHAIN_TOLERANCE) * period
    likely = np.flatnonzero(np.abs(lagged - period) <= 0.5 * tolerance)
    times = onsets_s.tolist()
    trials = [_Trial(start, period, tolerance) for start in likely[:: max(1, likely.size // STARTS)][: STARTS + 1].tolist()]
    rated = [(_followed(times, trial, TRIED_LINKS).surprise(onsets_s), trial) for trial in trials]
    return max(rated, key=lambda each: each[0], default=(0.0, _Trial(0, period, tolerance)))


def _both_ways(times: list[float], trial: _Trial) -> _Links:
    """Follow a chain from its start to the end and back to the beginning."""
    forward = _followed(times, trial, len(times))
    last = len(times) - 1
    back = _followed([-time for time in reversed(times)], trial._replace(start=last - trial.start), len(times))
    before = [last - index for index in reversed(back.at[1:])]
    return _Links(before + forward.at, back.off_s + forward.off_s, trial.period_s)


def _densest(gaps_s: FloatArray) -> float:
    """Return the middle of the range of ratio 1.2 that holds most gaps: what is usual, whatever the others are."""
    ordered = np.sort(gaps_s)
    last = np.searchsorted(ordered, 1.2 * ordered, side="right")
    first = int((last - np.arange(ordered.size)).argmax())
    return float(np.median(ordered[first : last[first]]))


def _followed(times: list[float], trial: _Trial, most: int) -> _Links:
    """Follow bursts one by one from a start, each about a period after the last; up to 3 missed ones in a row are forgiven."""
    at, off = [trial.start], list[float]()
    missed: list[float] = []
    position = trial.start + 1
    while position < len(times) and len(at) < most:
        due = times[at[-1]] + trial.period_s * (1 + len(missed))
        nearest = bisect.bisect_left(times, due, position)
        if nearest == len(times) or (nearest > position and due - times[nearest - 1] < times[nearest] - due):
            nearest -= 1
        distance = abs(times[nearest] - due)
        if distance <= trial.tolerance_s:
            at.append(nearest)
            off += [*missed, distance]
            position, missed = nearest + 1, []
        elif len(missed) < MOST_MISSED:
            missed.append(distance)
        else:
            break
    return _Links(at, off, trial.period_s)


def _chain(bursts: list[Burst], period_s: float) -> Chain:
    gaps = np.diff([burst.begin_s for burst in bursts])
    single = gaps[gaps < 1.5 * period_s]
    mean = float(single.mean()) if single.size else period_s
    return Chain(tuple(bursts), mean, float(single.std(ddof=1) / mean) if single.size > 1 else 0.0)


def _with_others(chains: list[Chain], bursts: list[Burst]) -> list[Chain]:
    """Return the chains with the bursts that belong to them besides: as large at another time, or smaller when one is due."""
    followed = {burst for chain in chains for burst in chain.bursts}
    more: list[list[Burst]] = [[] for _ in chains]
    strays: list[list[Burst]] = [[] for _ in chains]
    typical = [float(np.median([burst.size for burst in chain.bursts])) for chain in chains]
    onsets = [chain.onsets_s for chain in chains]
    for burst in bursts:
        if burst in followed:
            continue
        shares = [burst.size / size for size in typical]
        due = (
            share >= LEAST_WHEN_DUE and _is_due(burst.begin_s, when, chain)
            for share, when, chain in zip(shares, onsets, chains, strict=True)
        )
        alike = (LIKE_SIZE <= share <= 1 / LIKE_SIZE for share in shares)
        for kind, fits in ((more, due), (strays, alike)):
            number = next((number for number, fit in enumerate(fits) if fit), None)
            if number is not None:
                kind[number].append(burst)
                break
    few = sum(map(len, strays)) <= (1 / LEAST_COVERAGE - 1) * len(followed)  # else they are something else of like size
    return [
        chain._replace(bursts=tuple(sorted((*chain.bursts, *timely, *(others if few else ())))))
        for chain, timely, others in zip(chains, more, strays, strict=True)
    ]


def _is_due(time_s: float, onsets_s: FloatArray, chain: Chain) -> bool:
    """Return True when a burst of the chain is missing at this time: one period from its neighbours, as exactly as it keeps its period."""
    slack = max(LEAST_SLACK, 2 * chain.gap_cv) * chain.period_s
    position = int(np.searchsorted(onsets_s, time_s))
    sides = [abs(time_s - float(onsets_s[at])) for at in (position - 1, position) if 0 <= at < onsets_s.size]
    return all(abs(side - chain.period_s) <= min(slack, CHAIN_TOLERANCE * chain.period_s) for side in sides)


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
