"""Periodic dead time: brief dips of throughput that come again and again, found, vetted, measured, and traced to pings or not.

The order: a blind search by fast folding; strong application phases that it meets are subtracted and the search repeated; the ping
series, where there is one, gives the period and the test of coincidence; dips that drift are followed one by one; the best survivor
is measured. Numbers were set on synthetic cases of known truth; the shapes of REALLNET-like captures decide where they differ.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis import folding, pings, refine, shape, vetting
from lnetstat.analysis.folding import Candidate
from lnetstat.analysis.normalise import Normalised, beside, normalise, stack, standardise
from lnetstat.analysis.rates import Rates, smoothed
from lnetstat.analysis.results import DeadTime, FloatArray, Interval
from lnetstat.analysis.shape import Shape
from lnetstat.analysis.vetting import Box, Prefix, Vetted

DECLARED_SCORE = 7.5
TRIGGERED_SCORE = 5.0  # where the onsets are those of the pings nothing was searched, so less is needed
LUMPY_SCORE = 7.5  # a load in lumps (smoothed) is no random noise: few cycles may coincide with the lumps
COINCIDENT_Z = 4.0
GUIDING_Z = 5.0
STRONG_STAT = 15.0  # a rejected phase this strong is subtracted before searching again
LEAST_DIP = 0.02  # of a load that is steadier than half of that: less is how whole RPCs fall into samples
TRUST_AFTER_SUBTRACTION = 0.8  # edges of a phase that is not quite regular remain and look like brief dips
DEFAULT_PING_INTERVAL_S = 25.0
TOO_SHALLOW = "what comes again and again takes next to nothing of the load"
WITH_MESSAGES = "coincides with bursts of messages"
# Scores of the negatives of a synthetic set follow a Gumbel law with these parameters.
GUMBEL_MODE, GUMBEL_SCALE = 4.4, 0.75


class Found(NamedTuple):
    """The best explanation: a box, its score, and the onsets (strict cycles, or followed one by one: then with the CV of the gaps)."""

    series: Normalised
    box: Box
    score: float
    passed: bool
    onsets_s: FloatArray
    depths: FloatArray
    gap_cv: float | None
    trigger: str = ""  # whose bursts gave the onsets: pings or messages


class Label(NamedTuple):
    """Which signal a verdict is about."""

    host: str
    role: str
    table: str
    instance: str
    signal: str


def dead_time(
    label: Label,
    sources: list[Rates],
    ping_rates: Rates | None = None,
    message_rates: Rates | None = None,
    *,
    exact_periods_s: tuple[float, ...] = (),
    ping_interval_s: float | None = None,
) -> DeadTime:
    """Return the verdict on one throughput signal, or on several sources of one system stacked.

    `ping_rates` counts pings and nothing else; `message_rates`, all messages of the host, serves where its bursts stand out.
    `exact_periods_s`: periods known from tunables, for the test of epoch alignment; `ping_interval_s`: the recorded setting, which
    decides whether a record is long enough to say "no".
    """
    raw_dt_s = max((rates.dt_s for rates in sources), default=0.0) * 1.01
    sources = [smoothed(rates) for rates in sources]
    reason = _cannot_tell(sources)
    if reason:
        return _no_answer(label, reason)
    each = [normalise(rates) for rates in sources]
    series = each[0] if len(each) == 1 else stack(each)
    if float(series.weight.sum()) < 60:
        return _no_answer(label, "nothing or next to nothing was transferred")
    found, test = _explain(series, raw_dt_s, ping_rates, message_rates)
    interval = ping_interval_s or DEFAULT_PING_INTERVAL_S
    length = float(series.time_s[-1] - series.time_s[0])
    measured = _measured(label, found, test, ping_rates, exact_periods_s) if found and found.passed and _declared(found, test) else None
    if measured is None or (len(sources) == 1 and _too_shallow(measured, series)):
        score = found.score if found else 0.0
        if length < 6 * interval or 4 * series.dt_s > interval:
            return _no_answer(label, _too_little(length, series.dt_s, interval), score)
        reason = TOO_SHALLOW if measured else ""
        return DeadTime(*label, "none", reason, False, False, score, false_alarm_probability(score))
    if ping_rates is None and message_rates is not None and _with_bursts(measured, message_rates):
        measured = measured._replace(reason=WITH_MESSAGES)
    return measured


def _too_shallow(measured: DeadTime, series: Normalised) -> bool:
    """Return True when a nearly constant load dips by next to nothing: regular, but nobody's dead time."""
    of_a_sample = (measured.depth or 0.0) * min(1.0, (measured.duration_s or 0.0) / series.dt_s)
    return series.sigma < LEAST_DIP / 2 and of_a_sample < LEAST_DIP


def false_alarm_probability(score: float) -> float:
    """Return the chance that a record without periodic dips scores this high: a Gumbel law fitted to synthetic negatives."""
    return float(-math.expm1(-math.exp(-(score - GUMBEL_MODE) / GUMBEL_SCALE)))


def _cannot_tell(sources: list[Rates]) -> str:
    sizes = [rates.time_s.size for rates in sources]
    if not sizes or min(sizes) < 60:
        return f"only {min(sizes, default=0)} samples; at least 60 are needed"
    length = max(float(rates.time_s[-1] - rates.time_s[0]) for rates in sources)
    dt = max(rates.dt_s for rates in sources)
    if length / 6 <= max(5.0, 4 * dt):
        return f"{length:.0f} s sampled every {dt:g} s hold fewer than 6 cycles of any period that could be seen"
    return ""


def _too_little(length_s: float, dt_s: float, interval_s: float) -> str:
    if 4 * dt_s > interval_s:
        return f"samples every {dt_s:g} s are too coarse for a ping interval of {interval_s:g} s"
    return f"{length_s:.0f} s hold fewer than 6 cycles of a ping interval of {interval_s:g} s"


def _no_answer(label: Label, reason: str, score: float = 0.0) -> DeadTime:
    return DeadTime(*label, "cannot_tell", reason, False, False, score, false_alarm_probability(score))


def _declared(found: Found, test: pings.PingTest | None) -> bool:
    if found.gap_cv is not None and found.gap_cv > pings.RECURRENT_CV:
        return False
    return found.score > DECLARED_SCORE


def _explain(
    series: Normalised, raw_dt_s: float, ping_rates: Rates | None, message_rates: Rates | None
) -> tuple[Found | None, pings.PingTest | None]:
    """Return the best explanation of the dips and the test against the pings (None without pings)."""
    series, found = _blind(series)
    test = pings.ping_test(series, ping_rates) if ping_rates is not None and ping_rates.rate.size else None
    if ping_rates is not None and test is not None and test.z > COINCIDENT_Z:
        guided = _guided(series, ping_rates, test, found)
        found = guided if guided is not None else found
    followed = _followed(series, raw_dt_s, ping_rates, message_rates)
    if followed is not None:
        strict = found is not None and found.passed and found.score > DECLARED_SCORE
        better = found is None or followed.score > found.score
        if (better and not strict) or (followed.score > DECLARED_SCORE and _wanders(followed)):
            found = followed
    return found, test


def _blind(series: Normalised) -> tuple[Normalised, Found | None]:
    """Search without a hint; subtract up to two strong application phases on the way. Return (series less these, best find)."""
    best: Vetted | None = None
    trust = 1.0
    for _ in range(3):
        sums = vetting.prefix_sums(series)
        vetted = _vetted(series, sums, folding.search(series))
        best = vetted[0] if vetted else None
        rejected = [each for each in vetted if not each.passed and each.box.stat > STRONG_STAT and not _near_a_find(each, vetted)]
        strongest = max(rejected, key=lambda each: each.box.stat, default=None)
        if strongest is None or (best is not None and best.passed and best.box.stat >= 0.8 * strongest.box.stat):
            break
        series = without_phase(series, strongest.box.period_s)
        trust = TRUST_AFTER_SUBTRACTION
    return series, _strict(series, best._replace(score=trust * best.score)) if best is not None else None


def _vetted(series: Normalised, sums: Prefix, candidates: list[Candidate]) -> list[Vetted]:
    """Return the candidates fitted and vetted, best first; of nearly equal scores the better box counts."""
    length = float(series.time_s[-1] - series.time_s[0])
    boxes: list[Box] = []
    for candidate in candidates:
        if all(abs(candidate.period_s / box.period_s - 1) > max(box.width_s, series.dt_s) / length for box in boxes):
            boxes.append(vetting.fit_box(series, candidate))
    vetted = [vetting.vet(series, sums, box) for box in boxes]
    vetted = [vetting.shorter_period(series, sums, each) if each.passed else each for each in vetted]
    top = max((each.score for each in vetted), default=0.0)
    vetted.sort(key=lambda each: (each.score > 0.97 * top, each.box.stat if each.score > 0.97 * top else each.score), reverse=True)
    return vetted


def _near_a_find(rejected: Vetted, vetted: list[Vetted]) -> bool:
    """Return True when a box of nearly the same period passed: then the rejected one is its blurred copy, no application phase."""
    return any(each.passed and each.score > DECLARED_SCORE and abs(each.box.period_s / rejected.box.period_s - 1) < 0.01 for each in vetted)


def _strict(series: Normalised, vetted: Vetted) -> Found:
    onsets = vetting.onsets_of(vetted.box, series)
    return Found(series, vetted.box, vetted.score, vetted.passed, onsets, vetted.depths, None)


def without_phase(series: Normalised, period_s: float) -> Normalised:
    """Return the series less its mean profile at a period: what an application does in step with itself hides brief dips."""
    bins = int(np.clip(4 * period_s / series.dt_s, 8, max(8, series.time_s.size / 30)))
    phase = (series.time_s / period_s) % 1.0
    index = np.minimum((phase * bins).astype(np.int64), bins - 1)
    weight = np.bincount(index, series.weight, bins)
    profile = np.bincount(index, series.weight * series.residual, bins) / np.maximum(weight, 1e-9)
    centres = (np.arange(-1, bins + 1) + 0.5) / bins
    mean = np.interp(phase, centres, np.concatenate((profile[-1:], profile, profile[:1])))
    # Divided, not subtracted: a dip takes its share of the load that the application makes in that phase.
    residual = np.where(series.weight > 0, (series.residual - mean) / np.maximum(1 + mean, 0.3), 0.0)
    rate = series.load * (1 + residual)
    return standardise(series.time_s, series.interval_s, series.dt_s, rate, series.load, residual, series.weight)


def _guided(series: Normalised, ping_rates: Rates, test: pings.PingTest, blind: Found | None) -> Found | None:
    """Return the find at the period of the pings themselves, its score lifted by the coincidence; None where it is no dip."""
    upside_down = pings.as_dips(ping_rates)
    candidates = folding.search(upside_down, keep=8)
    if not candidates or candidates[0].snr <= 0:
        return None  # pings that never pause
    likely = [each for each in candidates if each.snr > 0.8 * candidates[0].snr]
    shortest = min(likely, key=lambda each: each.period_s)
    ping_box = vetting.fit_box(upside_down, shortest)
    flood_cycles = vetting.vet(upside_down, vetting.prefix_sums(upside_down), ping_box)
    if flood_cycles.score <= 4:
        return None  # floods missing in every second cycle: a harmonic of a period that the record is too short for
    sums = vetting.prefix_sums(series)
    length = float(series.time_s[-1] - series.time_s[0])
    widths = np.geomspace(max(0.7 * series.dt_s, 0.2), min(0.2 * ping_box.period_s, folding.LONGEST_DIP_S), 6)
    boxes = [vetting.fit_box(series, Candidate(ping_box.period_s, float(width), 0.0), wide=False) for width in widths]
    vetted = vetting.vet(series, sums, max(boxes, key=lambda box: box.stat))
    strict = _strict(series, vetted)
    agrees = blind is not None and abs(blind.box.period_s / ping_box.period_s - 1) < max(0.003, series.dt_s / length)
    if agrees and blind is not None and blind.score > vetted.score:
        strict = blind
    if not strict.passed or (test.z <= GUIDING_Z and strict.score <= 4):
        return None
    return strict._replace(score=max(strict.score, 1.4 * test.z))


def _followed(series: Normalised, raw_dt_s: float, ping_rates: Rates | None, message_rates: Rates | None) -> Found | None:
    """Return dips that drift: at the onsets of bursts of pings or messages followed one by one, else dips visible one by one."""
    sums = vetting.prefix_sums(series)
    found: list[Found] = []
    needed = TRIGGERED_SCORE if series.dt_s <= raw_dt_s else LUMPY_SCORE
    for name, bursts in (("pings", ping_rates), ("messages", message_rates)):
        if bursts is not None and bursts.rate.size:
            chains = pings.chains_of(pings.bursts_of(bursts)[0])[:2]
            found += [_triggered(series, sums, chain, needed)._replace(trigger=name) for chain in chains]
    shown = Rates(series.time_s, np.where(series.weight > 0, -series.residual, 0.0), series.interval_s, series.dt_s, 0, ())
    dips = pings.bursts_of(shown)[0]
    for chain in pings.chains_of(dips, most_phases=1)[:1]:
        if len(chain.bursts) >= max(8, 0.8 * len(dips)):
            found.append(_at_onsets(series, sums, chain, np.arange(-1, 3)))
    return max((each for each in found if each.passed), key=lambda each: each.score, default=None)


def _wanders(found: Found) -> bool:
    """Return True when onsets stray from every fixed period by more than a dip: then a fold only finds a smeared share of them."""
    cycles = np.concatenate(([0.0], np.cumsum(np.maximum(1.0, np.round(np.diff(found.onsets_s) / found.box.period_s)))))
    slope, offset = np.polyfit(cycles, found.onsets_s - found.onsets_s[0], 1)
    stray = found.onsets_s - found.onsets_s[0] - offset - slope * cycles
    return float(stray.std()) > max(found.box.width_s, found.series.dt_s)


def _triggered(series: Normalised, sums: Prefix, chain: pings.Chain, needed: float) -> Found:
    """Return the dip at the onsets of bursts; it passes when it stands out from the same test at all other lags within the cycle.

    That comparison is the null: it needs no law for the noise of few cycles.
    """
    found = _at_onsets(series, sums, chain, np.arange(-1, 3))
    width, period = found.box.width_s, chain.period_s
    step = max(0.5 * width, series.dt_s)
    away = np.arange(max(2 * width, 2.0), period / 2, step)
    elsewhere = [
        vetting.significance(vetting.incident_depths(sums, chain.onsets_s + lag, width, period, series.dt_s))
        for lag in (*away.tolist(), *(-away).tolist())
    ]
    stands_out = found.score > needed and len(elsewhere) >= 6 and found.score > 1.3 * max(elsewhere)
    return found._replace(score=found.score * DECLARED_SCORE / needed, passed=found.passed and stands_out)


def _at_onsets(series: Normalised, sums: Prefix, chain: pings.Chain, lags: npt.NDArray[np.int64]) -> Found:
    """Return the dip of the width and lag (in half widths) that stand out most at given onsets."""
    period, dt = chain.period_s, series.dt_s
    best: tuple[float, float, float, FloatArray] = (0.0, dt, 0.0, np.empty(0))
    for width in np.geomspace(max(0.7 * dt, 0.2), max(0.8 * dt, min(0.2 * period, folding.LONGEST_DIP_S)), 7).tolist():
        for lag in (lags * max(0.5 * width, dt)).tolist():
            depths = vetting.incident_depths(sums, chain.onsets_s + lag, width, period, dt)
            score = vetting.significance(depths)
            if score > best[0]:
                best = (score, width, lag, depths)
    score, width, lag, depths = best
    onsets = chain.onsets_s + lag
    box = Box(period, float(onsets[0]), width, score)
    phase = shape.phases_of(series, onsets, period) - width / 2
    passed = score > 0 and vetting.is_plateau_with_lows(series, phase, box)
    return Found(series, box, score, passed, onsets, depths, chain.gap_cv)


class Dips(NamedTuple):
    """Measured dips: the box and the series they were measured with, the cycles, [first, last) of those with a dip, the mean dip."""

    box: Box
    series: Normalised
    onsets_s: FloatArray
    depths: FloatArray
    present: tuple[int, int]
    dip: Shape


def _measured(
    label: Label, found: Found, test: pings.PingTest | None, ping_rates: Rates | None, exact_periods_s: tuple[float, ...]
) -> DeadTime:
    """Return the verdict with all numbers for dips that are there."""
    series = found.series
    strict = found.gap_cv is None
    alignment = refine.Alignment(None, None, None, None)
    if strict:
        box, error = refine.refine_period(series, found.box, found.score)
        dips = _at_cycles(series, box)
        exact = refine.exact_near(box, error, series.dt_s, float(series.time_s[-1] - series.time_s[0]), exact_periods_s)
        if exact is None:
            alignment = refine.Alignment(False, None, None, None)
        else:
            at_exact = _at_cycles(series, refine.with_period(series, box, exact))
            alignment = _aligned(at_exact, found.score)
            if alignment.aligned or (exact in exact_periods_s and abs(exact - box.period_s) <= error):
                dips = at_exact
    else:
        dips = _dips(series, found.box, found.onsets_s, found.depths)
        error = found.box.period_s * (found.gap_cv or 0.0) / math.sqrt(max(1, found.onsets_s.size - 1))
    box, dip = dips.box, dips.dip
    incidents = shape.incidents_of(dips.series, dips.onsets_s, dip, dips.depths, dips.present)
    net, gross = shape.lost_fractions(dips.series, incidents, dip)
    period = box.period_s
    cause, ratio_known = _cause(test, ping_rates, incidents, series.dt_s, found)
    recurrent = found.gap_cv is not None and found.gap_cv > pings.PERIODIC_CV
    return DeadTime(
        *label,
        verdict="recurrent" if recurrent else "detected",
        reason=WITH_MESSAGES if found.trigger == "messages" else "",
        detected=not recurrent,
        recurrent=recurrent,
        score=found.score,
        fap=false_alarm_probability(found.score),
        period_s=period,
        period_err_s=error,
        duration_s=dip.width_s,
        depth=dip.depth,
        depth_resolved=dip.resolved,
        lost_fraction=net,
        lost_fraction_gross=gross,
        epoch_aligned=alignment.aligned,
        epoch_hypothesis_s=alignment.hypothesis_s,
        epoch_phase_s=alignment.phase_s,
        cause=cause,
        ping_z=test.z if test else None,
        chance=min(1.0, (dip.width_s + series.dt_s) / period) if ratio_known else alignment.chance,
        gap_cv=found.gap_cv,
        drift_ms_per_cycle=1000 * (period - round(period))
        if strict and alignment.hypothesis_s is None and abs(period - round(period)) < 0.05
        else None,
        incidents=incidents,
    )


def _at_cycles(series: Normalised, box: Box) -> Dips:
    """Measure the dips of a strict period."""
    onsets, depths = refine.cycle_depths(series, vetting.prefix_sums(series), box)
    return _dips(series, box, onsets, depths)


def _dips(series: Normalised, box: Box, onsets_s: FloatArray, depths: FloatArray) -> Dips:
    """Measure the mean dip twice: the second time against the load taken beside the dips that the first one found."""
    first, last = refine.stretch(depths)
    onsets = onsets_s[first:last]
    rough = shape.fit_shape(series, onsets, box.period_s, box.width_s)
    tau_s = shape.phases_of(series, onsets, box.period_s) - rough.shift_s
    series = beside(series, (tau_s > -series.dt_s / 2) & (tau_s < rough.width_s + series.dt_s / 2))
    return Dips(box, series, onsets_s, depths, (first, last), shape.fit_shape(series, onsets, box.period_s, rough.width_s))


def _aligned(dips: Dips, score: float) -> refine.Alignment:
    """Test epoch alignment: the middle of a dip is known to its width over the significance, its ends as far as its duration is."""
    dip = dips.dip
    slack = 2 * max(dip.width_s, dips.series.dt_s) / max(score, 1.0)
    onset_err_s = slack + (dip.longest_s - dip.width_s) / 2, slack + (dip.width_s - dip.shortest_s) / 2
    return refine.align(dips.series, dips.box._replace(onset_s=dips.box.onset_s + dip.shift_s), onset_err_s)


def _with_bursts(measured: DeadTime, message_rates: Rates) -> bool:
    """Return True when most dips have a burst of messages at their onset; it is not said that the messages were pings."""
    onsets = np.array([burst.begin_s for burst in pings.bursts_of(message_rates)[0]])
    starts = np.array([start for start, _ in measured.incidents])
    if onsets.size == 0 or starts.size == 0 or measured.period_s is None:
        return False
    slack = min(max(1.0, 1.5 * message_rates.dt_s, measured.duration_s or 0.0), 0.2 * measured.period_s)
    nearest = np.abs(onsets[np.clip(np.searchsorted(onsets, starts), 0, onsets.size - 1)] - starts)
    before = np.abs(onsets[np.clip(np.searchsorted(onsets, starts) - 1, 0, onsets.size - 1)] - starts)
    return bool((np.minimum(nearest, before) <= slack).mean() > 0.7)


def _cause(
    test: pings.PingTest | None, ping_rates: Rates | None, incidents: tuple[Interval, ...], dt_s: float, found: Found
) -> tuple[str, bool]:
    """Return (cause, whether pings were there to compare with): without a ping series nobody may say "ping"."""
    if test is None or ping_rates is None:
        return "unknown", False
    ratio = pings.share_inside(ping_rates, list(incidents), dt_s / 2)
    together = test.z > COINCIDENT_Z or (found.gap_cv is not None and ratio > 3)
    return ("ping" if together and ratio > 1.5 else "other"), True
