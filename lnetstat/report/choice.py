"""Which signals and peers of an analysis are worth a picture, and which belong together."""

from collections.abc import Iterable, Sequence

from lnetstat.analysis.results import Analysis, CreditSeries, CreditUse, DeadTime, Interval, Signal
from lnetstat.model import Finding

PING_SIGNALS = ("obd_ping", "ping_rate")
CURVE_LEAST = 2  # samples: fewer make no curve


def time_extent(analysis: Analysis) -> Interval:
    """Return (begin, end) in epoch seconds of the record without stray snapshots: what the common time axis shows at first."""
    hosts = [each.dense_s if each.dense_s[1] > 0 else (each.begin_ns / 1e9, each.end_ns / 1e9) for each in analysis.quality]
    begin, end = min((each[0] for each in hosts), default=0.0), max((each[1] for each in hosts), default=0.0)
    return begin, max(end, begin + 1.0)


def ranked(analysis: Analysis, purpose: str) -> list[Signal]:
    """Return the signals of one purpose: in the order of their verdicts, then those with incidents, then the busiest."""
    places = {(each.host, each.table, each.instance, each.signal): place for place, each in reversed(list(enumerate(analysis.series)))}

    def rank(signal: Signal) -> tuple[int, int, float]:
        place = places.get((signal.host, signal.table, signal.instance, signal.name), len(places))
        return place, -len(signal.incidents), -float(signal.rate.sum())

    return sorted((each for each in analysis.signals if each.purpose == purpose and each.time_s.size >= CURVE_LEAST), key=rank)


def dips_of(analysis: Analysis, signal: Signal) -> tuple[Interval, ...]:
    """Return the signal's own dips; where it was judged only in a stack of its kind, those of the stack."""
    if signal.incidents or any(_is_about(verdict, signal) for verdict in analysis.series):
        return signal.incidents
    return next((each.incidents for each in analysis.series if any(own is signal for own in judged(analysis, each))), ())


def incidents_of(analysis: Analysis) -> tuple[Interval, ...]:
    """Return the dips; where there are none, the bursts of the largest group of pings or messages."""
    largest = max(analysis.ping_bursts, key=lambda each: (each.signal in PING_SIGNALS, each.size), default=None)
    return analysis.dead_time.incidents or (largest.incidents if largest else ())


def judged(analysis: Analysis, verdict: DeadTime) -> list[Signal]:
    """Return the signal that a verdict is about, or those of a stack."""
    own = [each for each in analysis.signals if _is_about(verdict, each)]
    kin = (verdict.role, verdict.table, verdict.signal)
    return own or [each for each in analysis.signals if (each.role, each.table, each.name) == kin]


def _is_about(verdict: DeadTime, signal: Signal) -> bool:
    return (verdict.host, verdict.table, verdict.instance, verdict.signal) == (signal.host, signal.table, signal.instance, signal.name)


def pings_beside(analysis: Analysis, host: str) -> Signal | None:
    """Return the ping counters of the host, else those with most pings."""
    pings = [each for each in analysis.signals if each.purpose == "pings"]
    return largest_of(each for each in pings if each.host == host) or largest_of(pings)


def served_beside(analysis: Analysis, pings: Signal) -> Signal | None:
    """Return what the host of the pings served (ost_io before all else), or what it sent and received."""
    own = [each for each in ranked(analysis, "throughput") if each.host == pings.host]
    return next((each for each in own if each.instance == "ost_io"), own[0] if own else None)


def largest_of(signals: Iterable[Signal]) -> Signal | None:
    """Return the signal that counted most; None where none has a curve."""
    curves = (each for each in signals if each.time_s.size >= CURVE_LEAST)
    return max(curves, key=lambda each: float((each.rate * each.interval_s).sum()), default=None)


def credits_of(analysis: Analysis, *resources: str, host: str | None = None) -> list[CreditSeries]:
    """Return the rows of these resources that have a curve, lowest credits first; `host`: only that one's."""
    found = [each for each in analysis.credit_series if each.resource in resources and each.time_s.size >= CURVE_LEAST]
    return sorted((each for each in found if host is None or each.host == host), key=lowest_of)


def lowest_of(series: CreditSeries) -> float:
    """Return the lowest credits that a row ever had: sampled, or told by its low-water mark."""
    return float(min(series.credits.min(), series.credits_min.min()))


Row = tuple[str, str, str, int]


def row_of(each: CreditSeries | CreditUse) -> Row:
    """Return which row of which host it is: (host, resource, subject, row)."""
    return each.host, each.resource, each.subject, each.row


def first_exhausted(analysis: Analysis) -> tuple[Finding, CreditUse] | None:
    """Return the finding on what ran out first, which the verdict tells, and the row it names; None where nothing did."""
    for finding in analysis.findings:
        if finding.kind == "first_exhausted":
            named = _named(finding)
            return next(((finding, use) for use in analysis.credit_use if row_of(use) == named), None)
    return None


def blamed_first(analysis: Analysis, series: Sequence[CreditSeries]) -> list[CreditSeries]:
    """Return rows as a reader looks for them: what ran out first, what other findings name, the worst of each host, then all others."""
    told = sorted(analysis.findings, key=lambda each: each.kind != "first_exhausted")
    places = {row: place for place, row in reversed(list(enumerate(_named(each) for each in told)))}
    seen: dict[str, int] = {}

    def rank(each: CreditSeries) -> tuple[int, int]:
        named = places.get(row_of(each))
        seen[each.host] = seen.get(each.host, -1) + 1
        return (0, named) if named is not None else (1, seen[each.host])

    ranks = [(rank(each), place) for place, each in enumerate(series)]
    return [series[place] for _, place in sorted(ranks)]


def _named(finding: Finding) -> Row:
    evidence = finding.evidence
    return (
        str(evidence.get("host", "")),
        str(evidence.get("resource", "")),
        str(evidence.get("subject", "")),
        int(evidence.get("row") or 0),
    )
