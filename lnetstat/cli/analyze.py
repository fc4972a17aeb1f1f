"""Say what is wrong, since when and why: dead time, starved credits, what is down."""

import json
import textwrap
from typing import Any

import click

from lnetstat.analysis import Analysis
from lnetstat.cli._inputs import analyzed, input_options
from lnetstat.model import Finding, Severity
from lnetstat.words import iso, printable

WIDTH = 79
COLOURS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
@click.option("--incidents", is_flag=True, help="List every dip.")
@input_options
@click.option("--fail-on", type=click.Choice(["info", "warning", "critical"]), help="Exit with 1 when a finding is at least that severe.")
def command(paths: tuple[str, ...], as_json: bool, incidents: bool, fail_on: str | None, **options: Any) -> int:
    """PATH is a recording, an archive (folder or tar), or a series: CSV or Parquet with time,value[,ping_rate][,tx,tx_min,queue_bytes]
    [,source], graphite://HOST/TARGET?from=-2h, files of IOR, a log of `ltop -r`."""
    analysis, whole = analyzed(paths, **options)
    if analysis is None:
        return 3
    click.echo(json.dumps(analysis.as_json(), allow_nan=False) if as_json else text_of(analysis, incidents=incidents))
    if fail_on and any(finding.severity >= Severity[fail_on.upper()] for finding in analysis.findings):
        return 1
    return 0 if whole else 3


def text_of(analysis: Analysis, *, incidents: bool = False) -> str:
    """Return the analysis as text less than 80 columns wide: verdict, findings, data quality."""
    parts = [_wrapped(analysis.verdict, "")]
    told: set[str] = set()
    for finding in analysis.findings:
        parts.append(_finding(finding, finding.advice not in told))
        told.add(finding.advice)
    if not analysis.findings:
        parts.append("No findings.")
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


def _incidents(analysis: Analysis) -> str:
    lines = ["Incidents (start UTC, epoch s, duration s)"]
    for start, stop in analysis.dead_time.incidents:
        lines.append(f"  {iso(round(start * 1e9))}  {start:.3f}  {stop - start:.3f}")
    return "\n".join(lines) if len(lines) > 1 else "Incidents: none"


def _quality(analysis: Analysis) -> str:
    lines = ["Data"]
    for host in analysis.quality:
        words: list[Any] = [f"{host.samples} samples, one every {host.interval_s:.3g} s, {iso(host.begin_ns)} to {iso(host.end_ns)}"]
        if host.samples == 1:
            words = [f"1 sample, {iso(host.begin_ns)}"]
        if host.gaps:
            words.append(f"{len(host.gaps)} gaps ({sum(stop - start for start, stop in host.gaps):.0f} s)")
        if host.resets:
            words.append(f"{host.resets} counter resets")
        words += [f"{count} reads {state}" for state, count in sorted(host.states.items()) if state != "ok"]
        lines.append(_wrapped(f"{host.host + ': ' if host.host else ''}{', '.join(words)}", "    ", "  "))
    return "\n".join(lines)
