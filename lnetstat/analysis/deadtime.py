"""Periodic dead time: brief dips of throughput that come again and again, found, vetted, measured, and traced to pings or not.

The order: a blind search by fast folding; strong application phases that it meets are subtracted and the search repeated; the ping
series, where there is one, gives the period and the test of coincidence; dips that drift are followed one by one; the best survivor
is measured. Numbers were set on synthetic cases of known truth; the shapes of REALLNET-like captures decide where they differ.
"""

from typing import NamedTuple

import numpy as np

from lnetstat.analysis import drifting, measure, pings, strict
from lnetstat.analysis.cause import cause_of
from lnetstat.analysis.normalise import Normalised, brief_window, normalise, stack
from lnetstat.analysis.null import false_alarm_probability
from lnetstat.analysis.rates import Rates, smoothed
from lnetstat.analysis.results import DeadTime
from lnetstat.analysis.strict import DECLARED_SCORE, SURE_SCORE, Found

COINCIDENT_Z = 4.0  # robust sigmas: reached by 0 of 78 dips of other causes (DEADTIME.md 4.10)
LEAST_DIP = 0.02  # of a load that is steadier than half of that: less is how whole RPCs fall into samples
DEFAULT_PING_INTERVAL_S = 25.0
LEAST_CYCLES = 6  # fewer do not tell a cycle from chance
FEWEST_DIPS = 3  # two distances are the least that can be equal
VISIBLE_DEPTH = 0.5  # of the load: seen without any statistics
SMALL_LOSS = 0.01  # of the bytes, gross
TOO_SHALLOW = "what comes again and again takes next to nothing of the load"
LONG_DIPS = "lasts so long that duration and loss may be understated"
LONG_DIP_S = 7.5  # a quarter of the running median's window: of longer dips the median follows a part
WITH_MESSAGES = "coincides with bursts of messages"


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
    series = _normalised(sources)
    if float(series.weight.sum()) < 60:
        return _no_answer(label, "too little was transferred: fewer than 60 samples carry a load")
    phases_s: list[float] = []
    found, test = _explain(series, raw_dt_s, ping_rates, message_rates, phases_s)
    if found is None or not found.passed or found.score < SURE_SCORE:
        brief, brief_test = _strict(_normalised(sources, brief=True), ping_rates, phases_s)
        if brief is not None and brief.passed and (found is None or not found.passed or brief.score > found.score):
            found, test = brief, brief_test
    interval = ping_interval_s or DEFAULT_PING_INTERVAL_S
    length = float(series.time_s[-1] - series.time_s[0])
    measured = _verdict(label, found, test, ping_rates, exact_periods_s) if found and found.passed and _declared(found) else None
    brief_record = length < LEAST_CYCLES * interval
    too_shallow = measured is not None and len(sources) == 1 and _too_shallow(measured, series)
    if measured is not None and len(measured.incidents) < LEAST_CYCLES:
        measured = None  # at the other cycles nothing runs or nothing dips: no period
    if measured is None or too_shallow or (brief_record and _is_ripple(measured)):
        score = found.score if found else 0.0
        if brief_record or 4 * series.dt_s > interval:
            return _no_answer(label, _too_little(length, series.dt_s, interval), score)
        few = _few_dips(series)
        if few and measured is None:
            return _no_answer(label, few, score)
        reason = TOO_SHALLOW if measured else ""
        return DeadTime(*label, "none", reason, False, False, score, false_alarm_probability(score))
    if ping_rates is None and message_rates is not None and _with_bursts(measured, message_rates):
        measured = measured._replace(reason=WITH_MESSAGES)
    return measured


def _normalised(sources: list[Rates], *, brief: bool = False) -> Normalised:
    each = [normalise(rates, brief_window(rates.dt_s) if brief else None) for rates in sources]
    return each[0] if len(each) == 1 else stack(each)


def _is_ripple(measured: DeadTime) -> bool:
    """Return True for what a record too short for the ping interval shows by itself: beats of a regular load, worth no alarm."""
    return measured.cause != "ping" and (measured.lost_fraction_gross or 0.0) < SMALL_LOSS


def _few_dips(series: Normalised) -> str:
    """Return what is to be said of deep dips at equal distances that are too few to be called periodic; empty where there are none."""
    low = Rates(series.time_s, np.where(series.weight > 0, -series.residual, 0.0), series.interval_s, series.dt_s, 0, ())
    dips = [each for each in pings.bursts_of(low)[0] if each.peak_rate > VISIBLE_DEPTH and each.end_s - each.begin_s > 1.5 * series.dt_s]
    if not FEWEST_DIPS <= len(dips) < LEAST_CYCLES:
        return ""
    gaps = np.diff([each.begin_s for each in dips])
    if gaps.std() > pings.PERIODIC_CV * gaps.mean():
        return ""
    lasting = float(np.median([each.end_s - each.begin_s for each in dips]))
    return f"{len(dips)} deep dips of {lasting:.3g} s, one every {gaps.mean():.3g} s: fewer than {LEAST_CYCLES} tell no period from chance"


def _too_shallow(measured: DeadTime, series: Normalised) -> bool:
    """Return True when a nearly constant load dips by next to nothing: regular, but nobody's dead time."""
    of_a_sample = (measured.depth or 0.0) * min(1.0, (measured.duration_s or 0.0) / series.dt_s)
    return series.sigma < LEAST_DIP / 2 and of_a_sample < LEAST_DIP


def _cannot_tell(sources: list[Rates]) -> str:
    sizes = [rates.time_s.size for rates in sources]
    if not sizes or min(sizes) < 60:
        return f"only {min(sizes, default=0)} samples; at least 60 are needed"
    length = max(float(rates.time_s[-1] - rates.time_s[0]) for rates in sources)
    dt = max(rates.dt_s for rates in sources)
    if length / LEAST_CYCLES <= max(5.0, 4 * dt):
        return f"{length:.0f} s sampled every {dt:g} s hold fewer than 6 cycles of any period that could be seen"
    if all(rates.rate.min() == rates.rate.max() > 0 for rates in sources):
        return "the value never changes: no load, or a collector that repeats itself"
    return ""


def _too_little(length_s: float, dt_s: float, interval_s: float) -> str:
    if 4 * dt_s > interval_s:
        return f"samples every {dt_s:g} s are too coarse for a ping interval of {interval_s:g} s"
    return f"{length_s:.0f} s hold fewer than 6 cycles of a ping interval of {interval_s:g} s"


def _no_answer(label: Label, reason: str, score: float = 0.0) -> DeadTime:
    return DeadTime(*label, "cannot_tell", reason, False, False, score, false_alarm_probability(score))


def _declared(found: Found) -> bool:
    if found.gap_cv is not None and found.gap_cv > pings.RECURRENT_CV:
        return False
    return found.score > DECLARED_SCORE


def _explain(
    series: Normalised, raw_dt_s: float, ping_rates: Rates | None, message_rates: Rates | None, phases_s: list[float]
) -> tuple[Found | None, pings.PingTest | None]:
    """Return the best explanation of the dips and the test against the pings (None without pings)."""
    found, test = _strict(series, ping_rates, phases_s)
    drifts = drifting.followed(series, raw_dt_s, ping_rates, message_rates)
    if drifts is not None:
        sure = found is not None and found.passed and found.score > DECLARED_SCORE
        better = found is None or drifts.score > found.score
        if better and (not sure or drifting.wanders(drifts)):
            found = drifts
    return found, test


def _strict(series: Normalised, ping_rates: Rates | None, phases_s: list[float]) -> tuple[Found | None, pings.PingTest | None]:
    """Return the best explanation by a strict period, the pings' own or any, and the test against the pings."""
    series, found = strict.blind(series, phases_s)
    test = pings.ping_test(series, ping_rates) if ping_rates is not None and ping_rates.rate.size else None
    if ping_rates is not None and test is not None and test.z > COINCIDENT_Z:
        at_pings = strict.guided(series, ping_rates, test, found)
        found = at_pings if at_pings is not None else found
    return found, test


def _verdict(
    label: Label, found: Found, test: pings.PingTest | None, ping_rates: Rates | None, exact_periods_s: tuple[float, ...]
) -> DeadTime:
    """Return the verdict with all numbers for dips that are there."""
    numbers = measure.measured(found, exact_periods_s)
    period_s, dip, alignment = numbers.period_s, numbers.dip, numbers.alignment
    cause = cause_of(found.series, ping_rates, numbers.incidents, period_s, dip.width_s, found.gap_cv, test)
    recurrent = found.gap_cv is not None and found.gap_cv > pings.PERIODIC_CV
    free = found.gap_cv is None and alignment.hypothesis_s is None and abs(period_s - round(period_s)) < 0.05
    return DeadTime(
        *label,
        verdict="recurrent" if recurrent else "detected",
        reason=WITH_MESSAGES if found.trigger == "messages" else LONG_DIPS if dip.width_s > LONG_DIP_S else "",
        detected=not recurrent,
        recurrent=recurrent,
        score=found.score,
        fap=false_alarm_probability(found.score),
        period_s=period_s,
        period_err_s=numbers.period_err_s,
        duration_s=dip.width_s,
        depth=dip.depth,
        depth_resolved=dip.resolved,
        lost_fraction=numbers.lost_fraction,
        lost_fraction_gross=numbers.lost_fraction_gross,
        epoch_aligned=alignment.aligned,
        epoch_hypothesis_s=alignment.hypothesis_s,
        epoch_phase_s=alignment.phase_s,
        cause=cause.cause,
        ping_z=cause.z,
        chance=cause.chance if cause.chance is not None else alignment.chance,
        gap_cv=found.gap_cv,
        drift_ms_per_cycle=1000 * (period_s - round(period_s)) if free else None,
        present_s=numbers.present_s,
        phase_jumps=numbers.phase_jumps,
        ping_lag_s=cause.lag_s,
        ping_dose=cause.dose,
        pings_inside=cause.inside,
        cause_words=cause.words,
        incidents=numbers.incidents,
    )


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
