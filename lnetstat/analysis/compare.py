"""Two analyses side by side, as the paper's figure 8 does: did the tuning help? With errors, and no claim that they do not bear.

Order: is the load the same (throughput outside dips, pings)? Then dead time, then credits. Each figure goes from before to after with a
confidence interval; all intervals of the differences hold together with LEVEL (Bonferroni), so that of many figures none differs by chance.
Under another load only what the load cannot explain is claimed: more dead time under less load is worse, less of it proves nothing.
"""

import math
from collections.abc import Callable

import numpy as np

from lnetstat.analysis import cycles
from lnetstat.analysis.comparison import (
    BETTER,
    BLOCKS,
    CANNOT_TELL,
    LEVEL,
    SAME,
    SAME_LOAD,
    SYSTEMATIC,
    TITLES,
    WORSE,
    Comparison,
    Figure,
    exact,
    plain_figure,
    shown,
    tested,
    tested_share,
    under_load,
)
from lnetstat.analysis.credits import badness
from lnetstat.analysis.cycles import Estimate, Seen
from lnetstat.analysis.rates import typical_interval
from lnetstat.analysis.results import Analysis, CreditSeries, CreditUse, DeadTime, FloatArray
from lnetstat.analysis.sides import Side, estimate, name_of, sensitivity, sides_of
from lnetstat.analysis.wording import CREDITS, percent, seconds

Pair = tuple[CreditUse | None, CreditUse | None]


def compare(before: Analysis, after: Analysis) -> Comparison:
    """Return what changed between two analyses of the same kind of data."""
    sides = sides_of(before, after)
    count = _count(sides)
    level = 1 - (1 - LEVEL) / max(1, count)
    load, same_load, ratio = _load(sides, level)
    seen = sensitivity(sides)
    dead_time = _dead_time(sides, seen, level, ratio if same_load is False else None)
    rows = {resource: _rows(before, after, resource) for resource in CREDITS}
    credit = [figure for name, pair in rows.items() for figure in _credits(sides, name, pair, level, ratio if same_load is False else None)]
    exhausted = _exhausted(before), _exhausted(after)
    verdict, rests_on = _overall(dead_time, credit)
    words = _words(sides, verdict, rests_on, same_load, ratio, exhausted)
    return Comparison(
        verdict, words, name_of(sides), _named(rows), same_load, tuple(load), (*dead_time, *credit), exhausted, seen, count, level
    )


def _load(sides: tuple[Side, Side], level: float) -> tuple[list[Figure], bool | None, float]:
    """Return (figures of the load, whether it is the same, throughput outside dips after / before)."""
    outside = [_outside(side) for side in sides]
    ratio = outside[1].value / outside[0].value if outside[0] and outside[1] and outside[0].value > 0 else math.nan
    same = None if math.isnan(ratio) else bool(1 / (1 + SAME_LOAD) <= ratio <= 1 + SAME_LOAD)
    unit = sides[0].sources[0].unit if sides[0].sources else ""
    told: list[tuple[str, str, Callable[[Side], Estimate | None]]] = [
        ("throughput_outside_dips", unit, _outside),
        ("throughput_p10", unit, lambda side: _quantile(side, 0.1)),
        ("throughput_median", unit, lambda side: _quantile(side, 0.5)),
        ("throughput_p90", unit, lambda side: _quantile(side, 0.9)),
        ("pings", "pings/s", lambda side: _pings(side.analysis)),
        ("ping_interval", "s", lambda side: _ping_interval(side.analysis)),
        ("hosts", "hosts", lambda side: exact(len(side.analysis.quality))),
        ("peers", "peers", lambda side: exact(_peers(side.analysis))),
        ("duration", "s", lambda side: exact(_length(side.analysis))),
        ("sampling_interval", "s", lambda side: exact(_sampling(side))),
    ]
    figures = [plain_figure(name, unit, measure(sides[0]), measure(sides[1]), level) for name, unit, measure in told]
    return [each for each in figures if each.before is not None or each.after is not None], same, ratio


def _outside(side: Side) -> Estimate | None:
    if side.shares is not None:
        return side.shares.load
    busiest = max(side.sources, key=lambda each: float(each.rate.sum()), default=None)
    if busiest is None or busiest.time_s.size == 0:
        return None
    span = float(busiest.time_s[-1] - busiest.time_s[0]) or 1.0
    block = np.minimum(((busiest.time_s - busiest.time_s[0]) / span * BLOCKS).astype(np.int64), BLOCKS - 1)
    one = cycles.block_estimate(busiest.rate, busiest.interval_s, block)
    total = sum(float((each.rate * each.interval_s).sum() / each.interval_s.sum()) for each in side.sources if each.time_s.size)
    return one._replace(value=total)


def _quantile(side: Side, share: float) -> Estimate | None:
    """Return a quantile of the rate outside dips, of all sources together where they are one."""
    if len(side.sources) != 1 or side.sources[0].rate.size == 0:
        return None
    source = side.sources[0]
    outside = np.ones(source.time_s.size, dtype=bool)
    for start, stop in side.verdict.incidents if side.verdict else ():
        outside &= (source.time_s < start - source.interval_s) | (source.time_s > stop + source.interval_s)
    return exact(float(np.quantile(source.rate[outside], share))) if outside.any() else None


def _pings(analysis: Analysis) -> Estimate | None:
    """Return the pings per second of the host that saw most of them."""
    counted = [each for each in analysis.signals if each.purpose == "pings" and each.time_s.size]
    busiest = max(counted, key=lambda each: float((each.rate * each.interval_s).sum()), default=None)
    return None if busiest is None else exact(float((busiest.rate * busiest.interval_s).sum() / busiest.interval_s.sum()))


def _ping_interval(analysis: Analysis) -> Estimate | None:
    groups = [each for each in analysis.ping_bursts if "ping" in each.signal]
    largest = max(groups, key=lambda each: each.size, default=None)
    if largest is None:
        return None
    return Estimate(largest.period_s, largest.gap_cv * largest.period_s / math.sqrt(len(largest.onsets_s)), len(largest.onsets_s))


def _peers(analysis: Analysis) -> float | None:
    """Return the peers of the host that knew most of them: on a router its clients and servers."""
    return max((each.peers for each in analysis.quality if each.peers is not None), default=None)


def _length(analysis: Analysis) -> float | None:
    return max(((each.end_ns - each.begin_ns) / 1e9 for each in analysis.quality if each.samples > 1), default=None)


def _sampling(side: Side) -> float | None:
    if side.sources:
        return typical_interval(side.sources[0].time_s)
    return min((each.interval_s for each in side.analysis.quality if each.samples > 1), default=None)


def _too_short(sides: tuple[Side, Side]) -> str:
    """Return a sentence on records of one sample, which hold no rates and no shares of time; "" where there are none."""
    short = [
        when
        for when, side in zip(("before", "after"), sides, strict=True)
        if side.analysis.quality and all(each.samples < 2 for each in side.analysis.quality)
    ]
    if not short:
        return ""
    what = f"{short[0]} holds one sample" if len(short) == 1 else "before and after hold one sample each"
    return f"Too short to compare: {what}; record at least {cycles.LEAST_CYCLES} ping intervals of both."


def _count(sides: tuple[Side, Side]) -> int:
    """Return how many figures are tested."""
    dead_time = 4 if all(side.dips for side in sides) else 1 if any(side.dips for side in sides) else 0
    resources = {use.resource for side in sides for use in side.analysis.credit_use}
    return dead_time + 2 * len(resources)


def _dead_time(sides: tuple[Side, Side], seen: Seen | None, level: float, ratio: float | None) -> list[Figure]:
    """Return the figures of dead time. `ratio`: after / before of a load that is not the same, else None."""
    before, after = sides
    if before.verdict is None or after.verdict is None or not (before.sources or after.sources):
        return []
    if before.dips and after.dips:
        figures = [_period(before.verdict, after.verdict, level)]
        for name, unit in (("lost_fraction", ""), ("lost_fraction_gross", ""), ("duration_s", "s"), ("depth", "")):
            if name in ("duration_s", "depth") and not (before.verdict.depth_resolved and after.verdict.depth_resolved):
                continue
            figures.append(tested(name, unit, estimate(before, name), estimate(after, name), level, ratio))
        return figures
    if before.dips or after.dips:
        return [_one_sided(sides, seen, level, ratio)]
    reason = next((side.verdict.reason for side in sides if side.verdict and side.verdict.verdict == "cannot_tell"), "")
    words = reason or "no dead time found before or after"
    return [_lost_figure(None if reason else 0.0, None if reason else 0.0, CANNOT_TELL if reason else SAME, words)]


def _lost_figure(before: float | None, after: float | None, verdict: str, reason: str) -> Figure:
    change = after - before if before is not None and after is not None else None
    return Figure("lost_fraction", "", before, None, after, None, change, None, verdict, reason)


def _period(before: DeadTime, after: DeadTime, level: float) -> Figure:
    made = [None if each.period_s is None else Estimate(each.period_s, each.period_err_s, 10**6) for each in (before, after)]
    return plain_figure("period_s", "s", made[0], made[1], level)


def _one_sided(sides: tuple[Side, Side], seen: Seen | None, level: float, ratio: float | None) -> Figure:
    """Return the lost share where only one side has dips: gone or new, if the other side would have shown them."""
    before, after = sides
    dips, without = (before, after) if before.dips else (after, before)
    assert dips.verdict is not None
    assert without.verdict is not None
    known, other = dips.verdict, without.verdict
    lost, when = estimate(dips, "lost_fraction"), "after" if before.dips else "before"
    verdict, reason = BETTER if before.dips else WORSE, ""
    depth = known.depth or 0.0
    rest: float | None = 0.0
    if seen is None or seen.least_depth is None or seen.least_depth >= depth:
        verdict, rest = CANNOT_TELL, None
        reason = f"{when}: {_blind(seen, known, other)}"
    elif seen.seen:
        rest = seen.depth * (known.duration_s or 0.0) / (known.period_s or 1.0)
        reason = f"{when}: no dead time is declared, but at that period something still dips by about {percent(seen.depth)}"
        if seen.depth + seen.least_depth >= depth:
            verdict = CANNOT_TELL
    else:
        gone = "gone" if before.dips else "new"
        reason = (
            f"{gone}: {when}, a dip of more than {percent(seen.least_depth)} of the load lasting {seconds(known.duration_s or 0.0)} "
            f"every {known.period_s or 0.0:.4g} s would have been seen"
        )
    if verdict != CANNOT_TELL:
        verdict, reason = under_load(verdict, ratio, reason)
    interval = cycles.interval(lost, level) if lost else None
    if before.dips:
        return _lost_figure(lost.value if lost else None, rest, verdict, reason)._replace(before_interval=interval)
    return _lost_figure(rest, lost.value if lost else None, verdict, reason)._replace(after_interval=interval)


def _blind(seen: Seen | None, known: DeadTime, other: DeadTime) -> str:
    if seen is None or seen.cycles < cycles.LEAST_CYCLES:
        return other.reason or f"fewer than {cycles.LEAST_CYCLES} cycles of {known.period_s or 0.0:.4g} s with load"
    if seen.least_depth is None:
        return f"it is so uneven that not even a stop of {seconds(known.duration_s or 0.0)} would have been seen"
    least, depth = percent(seen.least_depth), percent(known.depth or 0.0)
    return f"only dips of more than {least} of the load would have been seen, and these were {depth}"


def _credits(sides: tuple[Side, Side], resource: str, worst: Pair, level: float, ratio: float | None) -> list[Figure]:
    """Return limit, peak, 99th percentile and share of time oversubscribed of the worst row of a resource."""
    if worst[0] is None and worst[1] is None:
        return []
    limit, peak = ([exact(getattr(use, name)) if use else None for use in worst] for name in ("limit", "wanted_peak"))
    figures = [
        plain_figure(f"{resource}.limit", "credits", limit[0], limit[1], level),
        # A maximum has no interval from within one record.
        plain_figure(f"{resource}.required_peak", "credits", peak[0], peak[1], level),
    ]
    found = [_credit_estimates(side, use) for side, use in zip(sides, worst, strict=True)]
    p99, share = [each[0] for each in found], [each[1] for each in found]
    figures.append(tested(f"{resource}.required_p99", "credits", p99[0], p99[1], level, ratio))
    figures.append(tested_share(f"{resource}.oversubscribed", share[0], share[1], (found[0][2], found[1][2]), level, ratio))
    return figures


def _rows(before: Analysis, after: Analysis, resource: str) -> Pair:
    """Return the worst row of each side. Where nothing ran out it is the row that was the worst on the other side, or the next to it."""
    sides = [[use for use in analysis.credit_use if use.resource == resource] for analysis in (before, after)]
    worst = max((*sides[0], *sides[1]), key=badness, default=None)
    if worst is None:
        return None, None
    ran_out = [[use for use in own if use.grade != "never"] for own in sides]
    found = [
        max(low, key=badness) if low else max(own, key=lambda use: (_nearness(use, worst), badness(use)), default=None)
        for low, own in zip(ran_out, sides, strict=True)
    ]
    return found[0], found[1]


def _nearness(use: CreditUse, worst: CreditUse) -> int:
    return (use.host == worst.host) + ((use.host, use.subject, use.row) == (worst.host, worst.subject, worst.row))


def _named(rows: dict[str, Pair]) -> dict[str, tuple[str, str]]:
    return {resource: (_place(pair[0]), _place(pair[1])) for resource, pair in rows.items() if pair != (None, None)}


def _place(use: CreditUse | None) -> str:
    return "" if use is None else f"{use.subject} on {use.host}" if use.host else use.subject


def _credit_estimates(side: Side, use: CreditUse | None) -> tuple[Estimate | None, Estimate | None, int]:
    """Return (99th percentile of credits wanted, share of time oversubscribed, cycles) of a row, with errors from blocks of time."""
    if use is None:
        return None, None, 0
    series = next((each for each in side.analysis.credit_series if _same_row(each, use)), None)
    share = Estimate(use.fraction_time_oversubscribed, None, 0)
    p99 = Estimate(use.required_p99, None, 0)
    if series is None or series.time_s.size < 2 * BLOCKS:
        return p99, share, 0
    period_s = side.verdict.period_s if side.verdict and side.verdict.period_s else 0.0
    length_s = float(series.time_s[-1] - series.time_s[0])
    block_s = period_s if length_s >= cycles.LEAST_CYCLES * period_s > 0 else length_s / BLOCKS
    block = ((series.time_s - series.time_s[0]) / max(block_s, 1e-9)).astype(np.int64)
    weight = np.minimum(np.diff(series.time_s, append=series.time_s[-1]), 5 * typical_interval(series.time_s))
    below = cycles.block_estimate((series.credits < 0).astype(np.float64), weight, block)
    wanted = series.limit - series.credits
    p99_err = cycles.percentile_err(wanted, weight, block, 99.0)
    if p99_err is not None:
        p99_err = math.hypot(p99_err, SYSTEMATIC["required_p99"] * use.required_p99)
    locked = _locked_sampling_err(series, weight)
    share = share._replace(err=None if below.err is None else math.hypot(below.err, locked), blocks=below.blocks)
    return p99._replace(err=p99_err, blocks=below.blocks), share, int(np.unique(block).size)


def _locked_sampling_err(series: CreditSeries, weight: FloatArray) -> float:
    """Return the 1 sigma error of a share of time where samples keep their phase to the spells, as whole seconds do to a period of 75 s.

    A spell of w seconds holds w / dt samples rounded up or down, by the phase: variance f (1 - f) of the fraction f, 1/6 on average. No
    resampling of cycles shows it, since all of them share the phase.
    """
    below = series.credits < 0
    spells = int((below & ~np.concatenate(([False], below[:-1]))).sum())
    return spells * typical_interval(series.time_s) / math.sqrt(6) / max(float(weight.sum()), 1e-9)


def _same_row(each: CreditSeries, use: CreditUse) -> bool:
    return (each.host, each.resource, each.subject, each.row) == (use.host, use.resource, use.subject, use.row)


def _exhausted(analysis: Analysis) -> str:
    """Return the resource that analyze says ran out first; "none" where none did."""
    return next((str(each.evidence.get("resource", "none")) for each in analysis.findings if each.kind == "first_exhausted"), "none")


def _overall(dead_time: list[Figure], credit: list[Figure]) -> tuple[str, Figure | None]:
    """Return the verdict and the figure it rests on: lost bytes first, then the other figures of the dips, then credits."""
    judged = [each for each in dead_time if each.verdict]
    for group in (judged[:1], judged[1:], [each for each in credit if each.verdict]):
        claimed = [each for each in group if each.verdict in (BETTER, WORSE)]
        if claimed and len({each.verdict for each in claimed}) == 1:
            return claimed[0].verdict, claimed[0]
        unsure = next((each for each in group if each.verdict == CANNOT_TELL), None)
        if unsure is not None and group is not judged[1:]:
            return CANNOT_TELL, unsure
    every = judged + [each for each in credit if each.verdict]
    return (SAME, every[0]) if every else (CANNOT_TELL, None)


def _words(
    sides: tuple[Side, Side], verdict: str, rests_on: Figure | None, same_load: bool | None, ratio: float, exhausted: tuple[str, str]
) -> str:
    parts = [short] if (short := _too_short(sides)) else []
    if same_load is False:
        parts.append(f"The load is not the same: outside dips {ratio:.2g} times the throughput of before.")
    elif same_load is None and rests_on is not None:
        parts.append("Whether the load is the same is not known: there is no throughput to compare.")
    if rests_on is None:
        return " ".join([*parts, "Cannot tell: there is no throughput signal and no credits that both sides hold."])
    parts.append(f"{verdict[0].upper()}{verdict[1:]}: {_sentence(rests_on)}.")
    if exhausted[0] != exhausted[1]:
        names = [CREDITS[each].noun if each in CREDITS else "nothing" if each == "none" else each for each in exhausted]
        parts.append(f"Ran out first: {names[0]} before, {names[1]} after.")
    return " ".join(parts)


def _sentence(figure: Figure) -> str:
    noun = TITLES.get(figure.name.rpartition(".")[2], figure.name)
    resource = figure.name.partition(".")[0]
    if resource in CREDITS:
        noun = f"{noun}, {CREDITS[resource].noun}"
    if figure.before is None or figure.after is None:
        return f"{noun}: {figure.reason}"
    return f"{noun} {shown(figure, figure.before)} before, {shown(figure, figure.after)} after; {figure.reason}"
