"""Say what is wrong, since when and why: dead time, starved credits, what is down."""

import json
import math
import textwrap
from typing import Any

import click
import pandas as pd

from lnetstat import series_csv
from lnetstat.analysis import Analysis, analyze, analyze_series, joined, within
from lnetstat.cli._text import printable
from lnetstat.cli._times import Moment, MomentType, iso, window_ns
from lnetstat.errors import LnetstatError, SourceError
from lnetstat.frames import Frames, load
from lnetstat.model import Finding, Severity
from lnetstat.recording import Recording
from lnetstat.sources import open_source

WIDTH = 79
TABLES = ("peers", "nis", "buffers", "lnet_stats", "routes", "counters", "tunables", "lnetctl_net")
COLOURS = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
@click.option("--incidents", is_flag=True, help="List every dip.")
@click.option("--begin", type=MomentType(), help="Leave out what is earlier.")
@click.option("--end", type=MomentType(), help="Leave out this time and what is later.")
@click.option("--host", help="Name of the host where the input does not tell; of several hosts, only this one.")
@click.option("--kind", type=click.Choice(["rate", "counter"]), default="rate", show_default=True, help="CSV: what `value` is.")
@click.option("--interval", "interval_s", type=click.FloatRange(min=0, min_open=True), help="CSV: nominal seconds between samples.")
@click.option("--credits-max", type=click.IntRange(min=0), help="CSV: the limit that `tx` counts down from (0: not known).")
@click.option("--fail-on", type=click.Choice(["info", "warning", "critical"]), help="Exit with 1 when a finding is at least that severe.")
def command(
    paths: tuple[str, ...],
    as_json: bool,
    incidents: bool,
    begin: Moment | None,
    end: Moment | None,
    host: str | None,
    kind: str,
    interval_s: float | None,
    credits_max: int | None,
    fail_on: str | None,
) -> int:
    """PATH is a recording, an archive (folder or tar), or a CSV file with time,value[,ping_rate][,tx,tx_min,queue_bytes][,source]."""
    failed: list[str] = []
    series = [path for path in paths if series_csv.looks_like_series(path)]
    if series and len(series) < len(paths):
        raise click.UsageError("CSV files and recordings cannot be analyzed together: give them apart")
    if series:
        table = _series(series, begin, end, failed)
        analysis = None if table is None else analyze_series(table, kind=kind, interval_s=interval_s, credits_max=credits_max or None)
    else:
        frames = _frames(list(paths), begin, end, host, failed)
        analysis = None if frames is None else analyze(frames)
    _tell(failed)
    if analysis is None:
        return 3
    click.echo(json.dumps(analysis.as_json(), allow_nan=False) if as_json else text_of(analysis, incidents=incidents))
    if fail_on and any(finding.severity >= Severity[fail_on.upper()] for finding in analysis.findings):
        return 1
    return 3 if failed else 0


def _tell(lines: list[str]) -> None:
    for line in lines:
        click.echo(f"lnetstat: {printable(line)}", err=True)


def _series(paths: list[str], begin: Moment | None, end: Moment | None, failed: list[str]) -> pd.DataFrame | None:
    """Read CSV files; several are sources of one system. What cannot be read is told in `failed`."""
    tables = []
    for path in paths:
        try:
            table = series_csv.load(path)
        except LnetstatError as error:
            failed.append(str(error))
            continue
        if len(paths) > 1:
            table["source"] = [f"{path} {source}" for source in table["source"]] if "source" in table else path
        tables.append(table)
    if not tables:
        return None
    whole = pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0]
    last = float(whole["time"].max())
    begin_ns, end_ns = window_ns(begin, end, math.floor(last * 1e9))
    if begin_ns is not None:
        whole = whole[whole["time"] * 1e9 >= begin_ns]
    if end_ns is not None:
        whole = whole[whole["time"] * 1e9 < end_ns]
    if whole.empty:
        raise SourceError(f"{paths[0]}: no samples between --begin and --end: the data end at {iso(math.floor(last * 1e9))}")
    return whole


def _frames(paths: list[str], begin: Moment | None, end: Moment | None, host: str | None, failed: list[str]) -> Frames | None:
    """Load recordings and archives as one. What cannot be read is told in `failed`."""
    parts: list[Frames] = []
    for path in paths:
        try:
            source = open_source(path, host=host)
            if host and isinstance(source, Recording) and host not in source.hosts:
                raise SourceError(f"{path}: no host {host}: it holds {', '.join(source.hosts) or 'nothing yet'}")
            part = load(source, tables=TABLES, hosts=[host] if host else None)
            if len(part.states) and (part.states["state"] == "failed").all():
                raise SourceError(f"{path}: nothing in it could be read as a file of LNet or Lustre")
            parts.append(part)
            failed += [str(problem) for problem in getattr(source, "problems", ())]
            _tell([str(note) for note in getattr(source, "notes", ())])
        except LnetstatError as error:
            failed.append(str(error))
    parts = [part for part in parts if not part.states.empty]
    if not parts:
        if not failed:
            failed.append(f"{paths[0]}: no snapshots of LNet or Lustre files: expected a recording, an archive, or a CSV file")
        return None
    frames = joined(parts)
    last_ns = int(frames.states["time_ns"].max())
    begin_ns, end_ns = window_ns(begin, end, last_ns)
    frames = within(frames, begin_ns, end_ns)
    if frames.states.empty:
        raise SourceError(f"{paths[0]}: no samples between --begin and --end: the data end at {iso(last_ns)}")
    return frames


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
        if host.gaps:
            words.append(f"{len(host.gaps)} gaps ({sum(stop - start for start, stop in host.gaps):.0f} s)")
        if host.resets:
            words.append(f"{host.resets} counter resets")
        words += [f"{count} reads {state}" for state, count in sorted(host.states.items()) if state != "ok"]
        lines.append(_wrapped(f"{host.host + ': ' if host.host else ''}{', '.join(words)}", "    ", "  "))
    return "\n".join(lines)
