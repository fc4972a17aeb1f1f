"""Say what is wrong, since when and why: dead time, starved credits, what is down."""

import json
import textwrap
from typing import TYPE_CHECKING, Any

import click

from lnetstat.cli._input_options import input_options
from lnetstat.cli._options import Name, schema_option
from lnetstat.cli._text import aligned
from lnetstat.model import Finding, Severity
from lnetstat.words import iso, printable

if TYPE_CHECKING:
    from lnetstat.analysis.results import Analysis, CreditUse, DeadTime, HostQuality

WIDTH = 79
MOST_RANKED = 20  # lines of the ranking: more than a screen nobody reads
LONGEST_HOST, LONGEST_SIGNAL = 16, 16  # the columns of the ranking take 79 in all
COLOURS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def _schema() -> dict[str, Any]:
    from lnetstat.analysis.schema import SCHEMA

    return SCHEMA


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
@click.option("--incidents", is_flag=True, help="List every dip.")
@click.option("--all", "every", is_flag=True, help=f"Rank all signals of many hosts, not only the worst {MOST_RANKED}.")
@input_options
@click.option("--processes", type=click.IntRange(min=1), help="Processes to work on [default: as many as there are CPUs and work].")
@click.option("--scheduler", type=Name(), metavar="ADDRESS", help="Work on the Dask cluster of this scheduler, whose workers see PATH too.")
@click.option("--fail-on", type=click.Choice(["info", "warning", "critical"]), help="Exit with 1 when a finding is at least that severe.")
@schema_option(_schema)
def command(paths: tuple[str, ...], as_json: bool, incidents: bool, every: bool, fail_on: str | None, **options: Any) -> int:
    """Say what is wrong, since when and why: dead time, starved credits, what is down.

    PATH is a recording, an archive (folder or tar), or a series: graphite://HOST/TARGET?from=-2h, CSV or Parquet with the columns
    time,value[,ping_rate][,tx,tx_min,queue_bytes][,source], files of IOR, a log of `ltop -r`. Several PATHs are one system.

    \b
    Examples:
      lnetstat analyze rec
      lnetstat analyze rec --begin -2h --incidents
      lnetstat analyze rtr1 rtr2 oss1 --json
      lnetstat analyze rates.csv --interval 1s --fail-on warning
      lnetstat analyze 'graphite://graphite:8080/lnet.rtr1.lnet_stats.route_length?from=-2h'
    """
    if options["scheduler"] is not None and options["processes"] is not None:
        raise click.UsageError("--scheduler and --processes exclude one another: a cluster has the workers that it has")
    from lnetstat.cli._inputs import analyzed

    analysis, whole = analyzed(paths, **options)
    if analysis is None:
        return 3
    click.echo(json.dumps(analysis.as_json(), allow_nan=False) if as_json else text_of(analysis, incidents=incidents, every=every))
    if fail_on and any(finding.severity >= Severity[fail_on.upper()] for finding in analysis.findings):
        return 1
    return 0 if whole else 3


def text_of(analysis: "Analysis", *, incidents: bool = False, every: bool = False) -> str:
    """Return the analysis as text less than 80 columns wide: verdict, findings, the ranking of several hosts, data quality."""
    parts = [_wrapped(analysis.verdict, "")]
    told: set[str] = set()
    for finding in analysis.findings:
        parts.append(_finding(finding, finding.advice not in told))
        told.add(finding.advice)
    if not analysis.findings:
        parts.append("No findings.")
    if len(analysis.quality) > 1:
        parts.append(_ranking(analysis, None if every else MOST_RANKED))
    if incidents:
        parts.append(_incidents(analysis))
    parts.append(_quality(analysis))
    return "\n\n".join(part for part in parts if part)


def _finding(finding: Finding, with_advice: bool) -> str:
    severity = click.style(finding.severity.name, fg=COLOURS[finding.severity], bold=finding.severity is Severity.CRITICAL)
    lines = [f"{severity}  {finding.kind}", _wrapped(finding.message, "  ")]
    if finding.severity > Severity.INFO and with_advice:
        lines += [_wrapped(finding.advice, "    ", "  → "), _wrapped(finding.reference, "      ", "    see ")]
    return "\n".join(lines)


def _wrapped(text: str, indent: str, first: str | None = None) -> str:
    whole = printable(text).replace(" %", "\0%")  # a number and its % stay on one line
    return textwrap.fill(
        whole, WIDTH, initial_indent=indent if first is None else first, subsequent_indent=indent, break_on_hyphens=False
    ).replace("\0", " ")


def _ranking(analysis: "Analysis", most: int | None) -> str:
    """Return a table of all signals that were searched, worst first, each with its host's worst credits."""
    from lnetstat.analysis.credits import badness

    if not analysis.series:
        return ""
    worst: dict[str, CreditUse] = {}
    for use in sorted(analysis.credit_use, key=badness):
        worst[use.host] = use
    lines = [["HOST", "ROLE", "SIGNAL", "VERDICT", "PERIOD", "LOST", "CREDITS"]]
    lines += [_ranked(each, worst.get(each.host)) for each in analysis.series[:most]]
    rest = len(analysis.series) - (len(lines) - 1)
    more = f"\n  … and {rest} more: --all" if rest else ""
    return "Ranking, worst first\n" + textwrap.indent(aligned(lines), "  ") + more


def _ranked(each: "DeadTime", credits_used: "CreditUse | None") -> list[str]:
    from lnetstat.analysis.wording import percent

    period = "-" if each.period_s is None else f"{each.period_s:.4g} s"
    lost = "-" if each.lost_fraction is None else percent(each.lost_fraction)
    waiting = "-" if credits_used is None else f"{-credits_used.waiting}" if credits_used.waiting else f"{credits_used.low_water}"
    signal = each.signal if len(each.signal) <= LONGEST_SIGNAL else f"{each.signal[: LONGEST_SIGNAL - 1]}…"
    host = each.host if len(each.host) <= LONGEST_HOST else f"{each.host[: LONGEST_HOST - 1]}…"
    return [printable(host), each.role, printable(signal), each.verdict, period, lost, waiting]


def _incidents(analysis: "Analysis") -> str:
    lines = ["Incidents (start UTC, epoch s, duration s)"]
    for start, stop in analysis.dead_time.incidents:
        lines.append(f"  {iso(round(start * 1e9))}  {start:.3f}  {stop - start:.3f}")
    return "\n".join(lines) if len(lines) > 1 else "Incidents: none"


def _clock(host: "HostQuality") -> str:
    offset = host.clock_offset_s or 0.0
    figure = f"{abs(offset):.3g} ± {host.clock_error_s or 0:.2g} s"
    if host.clock_period_s is not None:  # clients ping at phases of their own
        when = "after" if offset > 0 else "before"
        return f"its floods come {figure} {when} the others', one each {host.clock_period_s:.3g} s: ambiguous, its clock or its phase"
    return f"its clock is {figure} {'ahead of' if offset > 0 else 'behind'} the others'"


def _quality(analysis: "Analysis") -> str:
    lines = ["Data"]
    for host in analysis.quality:
        words: list[Any] = [f"{host.samples} samples, one every {host.interval_s:.3g} s, {iso(host.begin_ns)} to {iso(host.end_ns)}"]
        if host.samples == 1:
            words = [f"1 sample, {iso(host.begin_ns)}"]
        if host.intervals:
            words.append("mixed intervals")
        if host.gaps:
            words.append(f"{len(host.gaps)} gaps ({sum(stop - start for start, stop in host.gaps):.0f} s)")
        if host.clock_offset_s is not None:
            words.append(_clock(host))
        if host.resets:
            words.append(f"{host.resets} counter resets")
        words += [f"{count} reads {state}" for state, count in sorted(host.states.items()) if state != "ok"]
        lines.append(_wrapped(f"{host.host + ': ' if host.host else ''}{', '.join(words)}", "    ", "  "))
    return "\n".join(lines)
