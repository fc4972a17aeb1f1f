"""What makes the dips: pings, something else, or nobody can know; each answer with its statistics and in plain words.

Four questions. Do pings and dips come together more often than chance would have it (circular shifts of DEADTIME.md 4.3, and dip by
dip)? Do dips without a flood of pings take as much as those with one? Do floods without a dip exist? Do larger floods take more? Two
strictly periodic series of the same period may coincide for ever by their phase alone: that chance is stated, nothing removes it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.analysis import vetting
from lnetstat.analysis.normalise import Normalised
from lnetstat.analysis.pings import PingTest, bursts_of, ping_test, share_inside
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.results import FloatArray, Interval

COINCIDENT_Z = 4.0  # robust sigmas: reached by 0 of 78 dips of other causes (DEADTIME.md 4.10)
LEAST_INSIDE = 1.5  # share of the pings in dips over share of time: the same table
LATEST_FLOOD = 1.5  # samples: a flood and a dip of one moment may fall into neighbouring ones
NEAR_SAMPLES, NEAR_DURATIONS = 3, 2  # a flood so shortly before may fill queues that stop the traffic a little later
WHOLE_S = 0.05  # ping intervals are whole seconds; free-running timers come some ms later each cycle
IN_STEP = 0.8  # share of the dips with a flood at the same distance: some floods and dips are always missed
LEAST_DIPS = 6  # as everywhere in the search: fewer do not tell a cycle from chance
LEAST_ANSWERED = 0.5  # floods outside the dips told take 0 where others make the dips, and as much where one in two dips was told
ALIKE = 0.6  # dips without a flood are 0 deep where pings make them, else as deep as the others; noise lies on both sides
CONSTANT_SIZE = 0.15  # robust scatter over the median: how floods fall into samples alone makes sizes differ by so much
MISSING_SHARE = 0.1  # of the cycles without a flood: fewer are too few to compare their dips with the others
TYPICAL_FLOOD = 0.5  # of the median flood in dips: smaller floods are another group's and need not make a dip
MOST_LAGS = 101  # at which coincidence is counted for comparison; their mean is known to a tenth of itself


class Cause(NamedTuple):
    """The cause of dips: ping, other or unknown, and why.

    `z`: how far dips and pings coincide above chance, in robust sigmas (strict periods: over all circular shifts; drifting dips: over
    other lags, counting only cycles that are independent of each other). `chance`: probability that two unrelated series of these
    periods coincide so by phase alone. `lag_s`: how long after the pings the dips begin, None where samples are longer than half a dip.
    `dose`: rank correlation of what dips take with the pings in them, -1..1, missing floods included; None where floods are all alike.
    `inside`: share of the pings in dips over share of the time in them. All None without pings. `words`: one sentence.
    """

    cause: str
    z: float | None
    chance: float | None
    lag_s: float | None
    dose: float | None
    inside: float | None
    words: str


class _Dips(NamedTuple):
    """The dips to explain: onsets in epoch seconds, (dips,). `dt_s`: the longer interval of throughput and pings."""

    series: Normalised
    onset_s: FloatArray
    period_s: float
    duration_s: float
    gap_cv: float | None
    dt_s: float

    def depths_at(self, onset_s: FloatArray, wider_s: float = 0.0) -> FloatArray:
        """Return the depth (sigmas) after each onset, NaN where it is not known; the window is `wider_s` longer, half on each side."""
        sums = vetting.prefix_sums(self.series)
        return vetting.incident_depths(sums, onset_s - wider_s / 2, self.duration_s + wider_s, self.period_s, self.series.dt_s)

    @property
    def phase_chance(self) -> float:
        """The chance that a strict phase puts a flood into the dips."""
        return min(1.0, (self.duration_s + self.dt_s) / self.period_s)


class _Floods(NamedTuple):
    """The floods of pings: begin and end in epoch seconds and number of pings above the base, each (floods,)."""

    begin_s: FloatArray
    end_s: FloatArray
    size: FloatArray

    def inside(self, onset_s: FloatArray, dips: _Dips) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return for dips that began at `onset_s` (the index of the first flood not over before, whether it falls into the dip)."""
        slack = dips.dt_s / 2
        first = np.searchsorted(self.end_s, onset_s - slack, side="right")
        return first, np.searchsorted(self.begin_s, onset_s + dips.duration_s + slack) > first


class _Evidence(NamedTuple):
    """What dips and floods say of each other; see `_evidence`."""

    dips: int
    with_flood: float  # share of the dips
    expected: float  # share by chance: the mean over all lags
    flooded_alike: float | None  # depth at typical floods outside the dips over that at those inside; None: (nearly) none outside
    unflooded_alike: float | None  # depth of dips without a flood over that of dips with one; None: (nearly) none without
    lag_s: float | None


def cause_of(
    series: Normalised,
    pings: Rates | None,
    incidents: Sequence[Interval],
    period_s: float,
    duration_s: float,
    gap_cv: float | None,
    test: PingTest | None,
) -> Cause:
    """Return the cause of dips found in `series` at `incidents` (epoch seconds, sorted).

    `pings`: the rate of pings, or None where nobody counted them; `gap_cv`: coefficient of variation of the gaps between drifting
    dips, None where they keep a strict period; `test`: the circular shift test, made here where it is None.
    """
    nothing = Cause("unknown", None, None, None, None, None, "")
    if pings is None or pings.rate.size == 0:
        whole = abs(period_s - round(period_s)) < WHOLE_S
        fits = f"; the period would fit a ping interval of {round(period_s)} s" if whole else ""
        return nothing._replace(words=f"no pings were counted beside it{fits}")
    known = [(start, stop) for start, stop in incidents if _counted_at(pings, (start + stop) / 2, stop - start)]
    if len(known) < LEAST_DIPS:
        return nothing._replace(words=f"pings were counted during {len(known)} of {len(incidents)} dips only")
    if not (pings.rate > 0).any():
        return Cause("other", 0.0, None, None, None, 0.0, "not one ping was counted while the dips came")
    onsets = np.array([start for start, _ in known])
    dips = _Dips(series, onsets, period_s, duration_s, gap_cv, max(series.dt_s, pings.dt_s))
    inside = share_inside(pings, known, series.dt_s / 2)
    z = (test or ping_test(series, pings)).z
    floods = _floods(pings, period_s)
    return _by_shifts(dips, z, inside) if floods is None else _by_floods(dips, floods, z, inside)


def _counted_at(pings: Rates, middle_s: float, duration_s: float) -> bool:
    """Return whether pings were sampled during a dip."""
    after = int(np.searchsorted(pings.time_s, middle_s))
    nearest = min(abs(float(pings.time_s[at]) - middle_s) for at in (max(0, after - 1), min(after, pings.time_s.size - 1)))
    return nearest <= max(1.5 * pings.dt_s, duration_s / 2 + pings.dt_s)


def _floods(pings: Rates, period_s: float) -> _Floods | None:
    """Return the floods; None where samples are too long to tell one from the next, or pings come without pause."""
    found, _ = bursts_of(pings)
    found = [each for each in found if each.size > 0]
    if not found or 4 * pings.dt_s > period_s:
        return None
    size = np.array([each.size for each in found])
    large = size >= 0.3 * float(np.percentile(size, 90))
    begin, end = np.array([each.begin_s for each in found])[large], np.array([each.end_s for each in found])[large]
    paused = float((end - begin).sum()) < 0.5 * float(pings.interval_s.sum())
    return _Floods(begin, end, size[large]) if paused else None


def _by_shifts(dips: _Dips, z: float, inside: float) -> Cause:
    """Judge by the circular shifts alone, where single floods cannot be told apart."""
    if dips.gap_cv is not None:
        return Cause("unknown", z, None, None, None, inside, "floods of pings cannot be told apart, and the dips keep no strict period")
    together = z > COINCIDENT_Z and inside > LEAST_INSIDE
    words = "throughput is low when pings come" if together else "throughput is not lower when pings come"
    cause = "ping" if together else "other"
    return Cause(cause, z, dips.phase_chance, None, None, inside, f"{words} ({z:.1f} sigma over all shifts)")


def _by_floods(dips: _Dips, floods: _Floods, shift_z: float, inside: float) -> Cause:
    """Judge dip by dip and flood by flood."""
    seen = _evidence(dips, floods)
    by_dip = _sigmas(seen.with_flood, seen.expected, seen.dips)
    if dips.gap_cv is None:
        z, chance = shift_z, dips.phase_chance
    else:
        free = independent_cycles(seen.dips, dips.gap_cv * dips.period_s, dips.duration_s + dips.dt_s)
        z, chance = _sigmas(seen.with_flood, seen.expected, free), _at_most(seen.with_flood, dips.phase_chance, free)
    together = inside > LEAST_INSIDE and max(z, by_dip) > COINCIDENT_Z
    doubt = _doubt(seen) if together else ""
    cause = "ping" if together and not doubt else "other"
    lag = seen.lag_s if cause == "ping" and dips.dt_s <= dips.duration_s / 2 else None
    apart = lag is not None and abs(lag) > LATEST_FLOOD * dips.dt_s
    words = _words(seen, together, doubt, lag if apart else None, chance)
    in_step_s = None if together and not _too_late(seen, dips) else _in_step(dips, floods)
    if in_step_s is not None:
        near = in_step_s <= max(NEAR_SAMPLES * dips.dt_s, NEAR_DURATIONS * dips.duration_s)
        cause, lag = ("unknown", in_step_s) if near else ("other", None)
        words = f"pings keep the same cycle and begin {in_step_s:.1f} s before the dips"
        words += ": neither shown to make them nor ruled out" if near else ", too long for queues to hold them back"
    if cause == "ping" and _too_late(seen, dips):
        cause, words = "other", f"pings begin {-(seen.lag_s or 0.0):.1f} s after the dips do: what comes later is no cause"
    return Cause(cause, z, chance, lag, _dose(dips, floods), inside, words)


def _too_late(seen: _Evidence, dips: _Dips) -> bool:
    """Return whether floods begin after the dips do, by more than samples leave open."""
    return seen.lag_s is not None and seen.lag_s < -LATEST_FLOOD * dips.dt_s


def _in_step(dips: _Dips, floods: _Floods) -> float | None:
    """Return how long before the dips the floods begin where each dip has one at the same distance; None where they keep no step.

    Two series of one period keep in step for ever, whatever the distance: neither coincidence nor its absence tells then.
    """
    before = np.searchsorted(floods.begin_s, dips.onset_s, side="right") - 1
    lead = dips.onset_s[before >= 0] - floods.begin_s[before[before >= 0]]
    number = (floods.begin_s >= dips.onset_s[0] - dips.period_s) & (floods.begin_s <= dips.onset_s[-1])
    middle = float(np.median(lead)) if lead.size else math.inf
    near = np.abs(lead - middle) <= max(dips.dt_s, dips.duration_s / 4)
    if near.sum() < IN_STEP * dips.onset_s.size or number.sum() > dips.onset_s.size / IN_STEP**2:
        return None
    return middle


def _evidence(dips: _Dips, floods: _Floods) -> _Evidence:
    """Compare dips with floods and without, and floods with dips and without, within the stretch that has dips."""
    onsets = dips.onset_s
    first, hit = floods.inside(onsets, dips)
    lags = np.linspace(-dips.period_s / 2, dips.period_s / 2, MOST_LAGS)
    expected = float(np.mean([floods.inside(onsets + lag, dips)[1].mean() for lag in lags.tolist()]))
    if not hit.any():
        return _Evidence(onsets.size, 0.0, expected, None, None, None)
    matched = first[hit]
    lag = float(np.median(onsets[hit] - floods.begin_s[matched]))
    alone = floods.size >= TYPICAL_FLOOD * float(np.median(floods.size[matched]))
    alone &= (floods.begin_s >= onsets[0] - dips.period_s / 2) & (floods.begin_s <= onsets[-1] + dips.period_s / 2)
    alone[matched] = False
    # A flood's begin is known to a sample only: where it is the clock, the window is wider by one, for both kinds alike.
    flooded = _alike(dips.depths_at(floods.begin_s[alone] + lag, dips.dt_s), dips.depths_at(floods.begin_s[matched] + lag, dips.dt_s))
    unflooded = _alike(dips.depths_at(onsets[~hit]), dips.depths_at(onsets[hit]))
    return _Evidence(onsets.size, float(hit.mean()), expected, flooded, unflooded, lag)


def _alike(some: FloatArray, others: FloatArray) -> float | None:
    """Return the mean depth of some over that of the others; None where they are too few beside the others to tell."""
    some, others = some[np.isfinite(some)], others[np.isfinite(others)]
    if some.size < max(LEAST_DIPS, MISSING_SHARE * others.size) or others.size < LEAST_DIPS or others.mean() <= 0:
        return None
    return float(some.mean() / others.mean())


def _doubt(seen: _Evidence) -> str:
    """Return why dips that coincide with pings are not made by them; empty where nothing speaks against it."""
    if seen.flooded_alike is not None and seen.flooded_alike < LEAST_ANSWERED:
        return "equal floods come without a dip"
    if seen.unflooded_alike is not None and seen.unflooded_alike > ALIKE:
        return "dips without a flood are as deep as those with one"
    return ""


def independent_cycles(dips: int, stray_s: float, window_s: float) -> float:
    """Return how many of `dips` cycles are independent when each gap strays by `stray_s` (1 sigma): a random walk.

    Two unrelated series keep their relative phase until it has wandered by a window: sqrt(2 k) stray_s after k cycles. Of a strict
    period one cycle only is independent, and coincidence says no more than its phase does.
    """
    if stray_s <= 0:
        return 1.0
    return 1.0 + (dips - 1) / max(1.0, window_s**2 / (2 * stray_s**2))


def _sigmas(share: float, expected: float, trials: float) -> float:
    """Return how far a share of trials stands above the expected one, in sigmas of the binomial law."""
    if expected <= 0.0 or expected >= 1.0:
        return 0.0
    return (share - expected) / math.sqrt(expected * (1 - expected) / trials)


def _at_most(share: float, expected: float, trials: float) -> float:
    """Return a bound on the chance of such a share or more (Chernoff's: exp(-n KL(share || expected)))."""
    if share <= expected or expected <= 0.0:
        return 1.0
    gain = share * math.log(share / expected)
    gain += (1 - share) * math.log((1 - share) / (1 - expected)) if share < 1 else 0.0
    return math.exp(-trials * gain)


def _with_missing(onsets_s: FloatArray, period_s: float) -> FloatArray:
    """Return the onsets with those of cycles that were left out between them, at equal distances."""
    steps = np.maximum(1, np.round(np.diff(onsets_s) / period_s)).astype(np.int64)
    cycle = np.concatenate(([0], np.cumsum(steps)))
    return np.interp(np.arange(cycle[-1] + 1), cycle, onsets_s)


def _dose(dips: _Dips, floods: _Floods) -> float | None:
    """Return Spearman's rank correlation of depth and pings over cycles; None where floods are all alike and none is missing."""
    onsets = _with_missing(dips.onset_s, dips.period_s)
    first, hit = floods.inside(onsets, dips)
    size = np.where(hit, np.append(floods.size, 0.0)[first], 0.0)
    depths = vetting.incident_depths(_unclipped(dips.series), onsets, dips.duration_s, dips.period_s, dips.series.dt_s)
    known = np.isfinite(depths)
    size, depths = size[known], depths[known]
    there = size[size > 0]
    if there.size < LEAST_DIPS:
        return None
    middle = float(np.median(there))
    scatter = 1.4826 * float(np.median(np.abs(there - middle)))
    if scatter < CONSTANT_SIZE * middle and 1 - there.size / size.size < MISSING_SHARE:
        return None
    ranks = [pd.Series(values).rank().to_numpy() for values in (size, depths)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1]) if min(float(rank.std()) for rank in ranks) > 0 else None


def _unclipped(series: Normalised) -> vetting.Prefix:
    """Return the running sums of the residual itself: clipped at 4 sigmas all deep dips would be equally deep."""
    return vetting.prefix_sums(series._replace(x=series.residual))


def _words(seen: _Evidence, together: bool, doubt: str, lag_s: float | None, chance: float) -> str:
    """Return the sentence that a finding says of the cause."""
    share = f"{100 * seen.with_flood:.0f} % of the dips have a flood of pings ({100 * seen.expected:.0f} % by chance)"
    if not together:
        return share
    if doubt:
        return f"{share}, but {doubt}"
    when = (
        "coincident"
        if lag_s is None
        else f"dips begin {lag_s:.1f} s after it"
        if lag_s >= 0
        else f"dips begin {-lag_s:.1f} s before its first"
    )
    return f"{share}, {when}; chance of coincidence by phase alone: {100 * chance:.2g} %"
