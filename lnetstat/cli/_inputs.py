"""What `analyze` and `report` read: recordings, archives or CSV files, within a time."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import click
import pandas as pd

from lnetstat import series_csv
from lnetstat.analysis import Analysis, analyze, analyze_series, joined, within
from lnetstat.cli._times import Moment, MomentType, window_ns
from lnetstat.errors import LnetstatError, SourceError
from lnetstat.frames import Frames, load
from lnetstat.recording import Recording
from lnetstat.sources import open_source
from lnetstat.words import iso, printable

TABLES = ("peers", "nis", "buffers", "lnet_stats", "routes", "counters", "tunables", "lnetctl_net")


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what to read; `analyzed` takes them."""
    for option in reversed(
        (
            click.option("--begin", type=MomentType(), help="Leave out what is earlier."),
            click.option("--end", type=MomentType(), help="Leave out this time and what is later."),
            click.option("--host", help="Name of the host where the input does not tell; of several hosts, only this one."),
            click.option("--kind", type=click.Choice(["rate", "counter"]), default="rate", show_default=True, help="CSV: what `value` is."),
            click.option("--interval", "interval_s", type=click.FloatRange(min=0, min_open=True), help="CSV: seconds between samples."),
            click.option("--credits-max", type=click.IntRange(min=0), help="CSV: the limit that `tx` counts down from (0: not known)."),
        )
    ):
        function = option(function)
    return function


def analyzed(
    paths: Sequence[str],
    *,
    begin: Moment | None,
    end: Moment | None,
    host: str | None,
    kind: str,
    interval_s: float | None,
    credits_max: int | None,
) -> tuple[Analysis | None, bool]:
    """Read all paths as one and analyze them. Return the analysis, None where nothing could be read, and whether all could be read."""
    failed: list[str] = []
    series = [path for path in paths if series_csv.looks_like_series(path)]
    if series and len(series) < len(paths):
        raise click.UsageError("CSV files and recordings cannot be analyzed together: give them apart")
    analysis = None
    if series:
        table = _series(series, begin, end, failed)
        if table is not None:
            analysis = analyze_series(table, kind=kind, interval_s=interval_s, credits_max=credits_max or None)
    else:
        frames = _frames(paths, begin, end, host, failed)
        if frames is not None:
            analysis = analyze(frames)
    _tell(failed)
    return analysis, not failed


def _tell(lines: list[str]) -> None:
    for line in lines:
        click.echo(f"lnetstat: {printable(line)}", err=True)


def _series(paths: Sequence[str], begin: Moment | None, end: Moment | None, failed: list[str]) -> pd.DataFrame | None:
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


def _frames(paths: Sequence[str], begin: Moment | None, end: Moment | None, host: str | None, failed: list[str]) -> Frames | None:
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
