"""What stands in the report's tables, as text: the page and the mail print the same cells."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lnetstat.analysis.results import FEW, Analysis, CreditSeries, CreditUse, DeadTime, HostQuality
from lnetstat.analysis.wording import place_of
from lnetstat.model import Finding
from lnetstat.report.choice import first_exhausted, judged, row_of
from lnetstat.report.times import of_row, of_time
from lnetstat.report.words import NOT_KNOWN, iso, measure, number, percent, plural, quantity, seconds, yes_no
from lnetstat.words import printable

MOST_CREDIT_ROWS = 50  # worst first: with some hundred peers nobody reads on, and the method below would be out of sight
MOST_SIGNALS = 64
RESOURCES = {
    "peer_credits": "peer credits",
    "peer_router_credits": "peer router credits",
    "ni_credits": "NI credits",
    "router_buffers": "router buffers",
}


def _counting(noun: str) -> Callable[[Any], str]:
    """Return what says a number, or the length of a list, with its noun."""
    return lambda value: plural(len(value) if isinstance(value, (list, tuple)) else round(value), noun)


# Which evidence says how much, in whose words, by kind; everything else is in the JSON.
_Measure = tuple[str, str, Callable[[Any], str]]
_PERIOD: _Measure = ("period_s", "every {}", seconds)
_COUNT: _Measure = ("count", "{} in all", number)
_SHARE: _Measure = ("share", "{} of the time", percent)
_HOW_MUCH: dict[str, tuple[_Measure, ...]] = {
    "dead_time": (
        _PERIOD,
        ("duration_s", "for {}", seconds),
        ("depth", "{} deep", percent),
        ("lost_fraction", "{} of the bytes lost", percent),
        ("incidents", "{}", _counting("incident")),
    ),
    "ping_burst": (("bursts", "{}", _counting("burst")), ("size", "of {}", number), _PERIOD, ("peak_rate", "up to {}/s", number)),
    "oversubscribed": (
        ("waiting", "{} waited", number),
        ("limit", "{} configured", number),
        ("wanted_peak", "{} wanted", number),
        ("low_water", "low-water mark {}", number),
        ("required_p99", "{} for 99 % of the time", number),
        ("rows", "rows that ran out: {}", number),
    ),
    "first_exhausted": (("resource", "{}", lambda value: RESOURCES.get(value, str(value))),),
    "drops": (("drop_count", "{} dropped", number), ("errors", "{}", _counting("error"))),
    "data_gap": (("gaps", "{}", _counting("gap")), ("missing_s", "{} missing", seconds), ("rises", "marks that rose: {}", number)),
    "traffic_stopped": (("stop_s", "nothing for {}", seconds),),
    "cannot_tell": (("signals", "{}", _counting("signal")),),
    "route_down": (_COUNT, _SHARE),
    "ni_unhealthy": (_COUNT, _SHARE),
    "peer_down": (_COUNT, _SHARE),
}
_MOST_MEASURES = 6
SAME_ADVICE = "As for the finding above."


_OF_TIME = ("required_p99", "share")


def _few(evidence: Mapping[str, Any]) -> bool:
    """Whether the evidence rests on too few samples to speak of shares of the time."""
    samples = evidence.get("samples")
    return isinstance(samples, int) and samples < FEW


class FindingRow(NamedTuple):
    """One finding, all in words. `rows`: for how many findings, from this one on, the advice is meant; 0: it was given just before."""

    severity: str
    kind: str
    message: str
    subject: str
    since: str
    until: str
    how_much: str
    advice: str
    reference: str
    rows: int = 1


class Grid(NamedTuple):
    """A table: column heads, what each column holds (name, number or sentence), cells, and a note on what is not in it."""

    heads: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    note: str = ""


def finding_rows(analysis: Analysis) -> list[FindingRow]:
    """Return all findings in their order; advice that was just given is not repeated."""
    found = [_finding_row(each) for each in analysis.findings]
    for place in range(len(found) - 1, 0, -1):
        if found[place].advice and found[place].advice == found[place - 1].advice:
            found[place - 1] = found[place - 1]._replace(rows=found[place].rows + 1)
            found[place] = found[place]._replace(advice=SAME_ADVICE, rows=0)
    return found


def references_of(found: Sequence[FindingRow], place: int) -> list[str]:
    """Return the references, each once, of the findings that share the advice of the one at `place`."""
    return list(dict.fromkeys(each.reference for each in found[place : place + found[place].rows] if each.reference))


def main_finding(analysis: Analysis) -> FindingRow | None:
    """Return the finding that the verdict is about, else the worst; None where there is none."""
    dead = analysis.dead_time
    subject = f"{dead.signal} of {dead.host}" if dead.host else dead.signal
    wanted = dead.detected or dead.recurrent
    own = (each for each in analysis.findings if wanted and each.kind == "dead_time" and each.subject == subject)
    found = next(own, next(iter(analysis.findings), None))
    return None if found is None else _finding_row(found)


def _finding_row(finding: Finding) -> FindingRow:
    return FindingRow(
        finding.severity.name.lower(),
        finding.kind.replace("_", " "),
        printable(finding.message),
        printable(finding.subject),
        iso(finding.begin_ns, 3),
        iso(finding.end_ns, 3) if finding.end_ns > finding.begin_ns else "",
        of_time(_how_much(finding), finding.begin_ns, finding.end_ns),
        printable(finding.advice),
        printable(finding.reference),
    )


def _how_much(finding: Finding) -> str:
    """Return the measures of a kind that is known; else the first pieces of evidence, named by their keys."""
    kind = "oversubscribed" if finding.kind.startswith("oversubscribed_") else finding.kind
    known = [
        printable(words.format(say(finding.evidence[key])))
        for key, words, say in _HOW_MUCH.get(kind, ())
        if finding.evidence.get(key) is not None and not (key in _OF_TIME and _few(finding.evidence))
    ]
    return ", ".join(known or [words for words in (measure(*item) for item in finding.evidence.items()) if words][:_MOST_MEASURES])


def key_figures(analysis: Analysis) -> list[tuple[str, str]]:
    """Return (what, value) of the verdict: what a reader asks first. A value that holds for a time is `Linked` to it."""
    return _of_dead_time(analysis) + _of_credits(analysis)


def _of_dead_time(analysis: Analysis) -> list[tuple[str, str]]:
    dead = analysis.dead_time
    if not (dead.detected or dead.recurrent):
        return []
    error = f" ± {seconds(dead.period_err_s)}" if dead.period_err_s else ""
    figures = [
        ("Signal", printable(" ".join(each for each in (dead.host, dead.instance, dead.signal) if each))),
        ("Period", seconds(dead.period_s) + error),
        ("Duration of a dip", seconds(dead.duration_s)),
        ("Depth", percent(dead.depth) + ("" if dead.depth_resolved else " (samples are longer than the dip)")),
        ("Bytes lost", f"{percent(dead.lost_fraction)}, {percent(dead.lost_fraction_gross)} before catching up"),
        *_bandwidth(analysis),
        ("Incidents", number(len(dead.incidents))),
        ("Cause", dead.cause + (f" ({number(dead.ping_z)} sigma above chance)" if dead.ping_z and dead.cause == "ping" else "")),
        ("In step with the clock", yes_no(dead.epoch_aligned)),
        ("False-alarm probability", _probability(dead.fap)),
    ]
    if not dead.incidents:
        return figures
    begin_ns, end_ns = round(dead.incidents[0][0] * 1e9), round(dead.incidents[-1][1] * 1e9)
    since = ("Since when", f"{iso(begin_ns)} to {iso(end_ns)}")
    return [since, *((what, of_time(value, begin_ns, end_ns)) for what, value in figures)]


def _of_credits(analysis: Analysis) -> list[tuple[str, str]]:
    """Return what ran out first, as the verdict tells it; and the peer that is the worst, where that is another."""
    figures: list[tuple[str, str]] = []
    first = first_exhausted(analysis)
    if first is not None:
        finding, use = first
        what = "Ran out first" if finding.evidence.get("ordered") else "Scarcest"
        figures = _of_row(what, f"{RESOURCES.get(use.resource, use.resource)} of {place_of(use)}", use)
    worst = analysis.credits
    if worst is None or (first is not None and worst.subject == place_of(first[1])):
        return figures
    own = (use for use in analysis.credit_use if use.resource == "peer_credits" and place_of(use) == worst.subject)
    name = worst.subject + ("; it was not the first to run out" if first is not None else "")
    row = next(own, None)
    if row is not None:
        return figures + _of_row("Worst peer", name, row)
    required = f"{number(worst.required_peak)} at the peak"
    if not _few(worst._asdict()):
        required += f", {number(worst.required_p99)} for 99 % of the time"
    return [*figures, ("Worst peer", printable(name)), ("Its credits required", required)]


def _of_row(what: str, name: str, use: CreditUse) -> list[tuple[str, str]]:
    required = f"{number(use.wanted_peak)} at the peak, of {number(use.limit)} configured"
    figures = [(what, printable(name)), ("Its credits required", required)]
    if not use.few:
        figures[1] = ("Its credits required", f"{required}; {number(use.required_p99)} for 99 % of the time")
        figures.append(("Its time below 0", percent(use.fraction_time_oversubscribed)))
    if use.first_low_ns is None or use.last_low_ns is None:
        return figures
    return [(head, of_time(value, use.first_low_ns, use.last_low_ns)) for head, value in figures]


def _bandwidth(analysis: Analysis) -> list[tuple[str, str]]:
    """Return what the dips cost on average in bytes a second: the share lost, of what was moved and would have been."""
    dead = analysis.dead_time
    signals = [each for each in judged(analysis, dead) if each.unit == "bytes/s" and each.interval_s.size]
    if not signals or dead.lost_fraction is None or not 0 < dead.lost_fraction < 1:
        return []
    moved = sum(float((each.rate * each.interval_s).sum() / each.interval_s.sum()) for each in signals)
    return [("Bandwidth lost, on average", quantity(moved * dead.lost_fraction / (1 - dead.lost_fraction), "bytes/s"))]


def _probability(value: float) -> str:
    return f"{value:.2g}" if value >= 1e-3 else f"{value:.0e}"


def credit_grid(analysis: Analysis, drawn: Sequence[CreditSeries] = ()) -> Grid:
    """Return credits required against credits configured, worst first; the name of a row that is `drawn` leads to its picture, row-N."""
    heads = ("Whose", "Resource", "Grade", "Configured", "Required", "99 % of the time", "Lowest", "When", "Time below 0")
    kinds = ("sentence", "name", "name", "number", "number", "number", "number", "when", "sentence")
    shown = analysis.credit_use[:MOST_CREDIT_ROWS]
    rest = len(analysis.credit_use) - len(shown)
    note = f"{plural(rest, 'more row')} not shown: lnetstat report --format json has all." if rest else ""
    slugs = {row_of(each): f"row-{place}" for place, each in enumerate(drawn)}
    return Grid(heads, kinds, tuple(_credit_cells(each, slugs.get(row_of(each), "")) for each in shown), note)


def _credit_cells(use: CreditUse, slug: str) -> tuple[str, ...]:
    counted = f"{use.samples_below} of {plural(use.samples or 0, 'sample')}"
    below = counted if use.few or use.is_chance else percent(use.fraction_time_oversubscribed)
    if use.fraction_windows is not None:
        below += f", in {percent(use.fraction_windows)} of the intervals"
    if use.low_at_start:
        below += ", already before the record"
    if use.first_low_ns is not None:
        below += f", {'again' if use.low_at_start else 'first'} {iso(use.first_low_ns, 3)}"
    lowest = number(use.low_water)
    if use.low_water_before_record and use.waiting < use.waiting_max:
        lowest += f", older than the record; in it {number(use.worst_in_record)}"
    name = printable(place_of(use)) + (f" (row {use.row})" if use.row else "")
    return (
        of_row(name, slug) if slug else name,
        RESOURCES.get(use.resource, printable(use.resource)),
        use.grade,
        number(use.limit),
        number(use.required_peak),
        NOT_KNOWN if use.few else number(use.required_p99),
        lowest,
        _when_lowest(use),
        below,
    )


def _when_lowest(use: CreditUse) -> str:
    """Return the time of the sample, or the samples between which the mark fell."""
    if not use.waiting:
        return NOT_KNOWN
    if use.low_water_fell_ns is None:
        return iso(use.worst_sampled_ns, 3)
    after, by = use.low_water_fell_ns
    return iso(by, 3) if after == by else f"{iso(after, 3)} to {iso(by, 3)}"


def signal_grid(analysis: Analysis) -> Grid:
    """Return the verdict on every signal that was searched for dips."""
    heads = ("Host", "Signal", "Verdict", "Period", "Score", "False alarm", "Why")
    kinds = ("name", "name", "name", "number", "number", "number", "sentence")
    shown = analysis.series[:MOST_SIGNALS]
    rest = len(analysis.series) - len(shown)
    return Grid(heads, kinds, tuple(_signal_cells(each) for each in shown), f"{plural(rest, 'more signal')} not shown." if rest else "")


def _signal_cells(each: DeadTime) -> tuple[str, ...]:
    name = printable(f"{each.instance} {each.signal}".strip())
    why = each.reason or (f"cause: {each.cause}" if each.detected or each.recurrent else "")
    verdict = each.verdict.replace("_", " ")
    period = seconds(each.period_s)
    if each.incidents:
        period = of_time(period, round(each.incidents[0][0] * 1e9), round(each.incidents[-1][1] * 1e9))
    return printable(each.host), name, verdict, period, number(each.score), _probability(each.fap), printable(why)


def quality_grid(analysis: Analysis) -> Grid:
    """Return what each host's data looks like."""
    heads = ("Host", "From", "To", "Samples", "Every", "99 % within", "Gaps", "Counter resets", "Reads")
    kinds = ("name", "name", "name", "number", "number", "number", "name", "number", "sentence")
    return Grid(heads, kinds, tuple(_quality_cells(each) for each in analysis.quality))


def _quality_cells(host: HostQuality) -> tuple[str, ...]:
    missing = sum(stop - start for start, stop in host.gaps)
    gaps = "none"
    if host.gaps:
        gaps = of_time(f"{plural(len(host.gaps), 'gap')}, {seconds(missing)}", round(host.gaps[0][0] * 1e9), round(host.gaps[-1][1] * 1e9))
    return (
        printable(host.host),
        iso(host.begin_ns),
        iso(host.end_ns),
        number(host.samples),
        seconds(host.interval_s) if host.samples > 1 else NOT_KNOWN,
        seconds(host.interval_p99_s) if host.samples > 1 else NOT_KNOWN,
        gaps,
        number(host.resets),
        ", ".join(f"{number(count)} {printable(state)}" for state, count in sorted(host.states.items())),
    )


def record_words(analysis: Analysis) -> str:
    """Return one line on what was looked at: hosts, from when to when, how long."""
    if not analysis.quality:
        return "No samples."
    begin, end = min(each.begin_ns for each in analysis.quality), max(each.end_ns for each in analysis.quality)
    names = [printable(each.host) for each in analysis.quality if each.host]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    hosts = f"{plural(len(names), 'host')} ({', '.join(names[:6])}{more}), " if names else ""
    return f"{hosts}{iso(begin)} to {iso(end)} ({seconds((end - begin) / 1e9)})"
