"""What `analyze` and `report` read: recordings, archives or CSV files, within a time."""

import contextlib
import glob
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import click
import pandas as pd

from lnetstat import series_csv
from lnetstat.analysis import Analysis, analyze, analyze_series, joined, within
from lnetstat.cli._options import Interval
from lnetstat.cli._times import Moment, MomentType, window_ns
from lnetstat.errors import LnetstatError, SourceError
from lnetstat.frames import Frames, load
from lnetstat.recording import Recording, is_recording
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
            click.option("--interval", "interval_s", type=Interval(), help="CSV: seconds between samples."),
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
    analysis = None
    with contextlib.ExitStack() as stack:
        files = [_stdin_as_file(stack) if path == "-" else path for path in paths]
        series = [path for path in files if series_csv.looks_like_series(path)]
        if series and len(series) < len(files):
            raise click.UsageError("CSV files and recordings cannot be analyzed together: give them apart")
        if series:
            table = _series(series, begin, end, failed)
            if table is not None:
                analysis = analyze_series(table, kind=kind, interval_s=interval_s, credits_max=credits_max or None)
        else:
            _refuse_folder_of_recordings(files)
            frames = _frames(files, begin, end, host, failed)
            if frames is not None:
                analysis = analyze(frames)
    _tell(failed)
    return analysis, not failed


def _stdin_as_file(stack: contextlib.ExitStack) -> str:
    """Keep standard input in a file for as long as `stack` lives: what it is (CSV, tar, text) is told by looking into it twice."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lnetstat-"))
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _unread(path: str, part: Frames) -> list[str]:
    """Tell each file of which no snapshot was whole. One that is torn now and then is a matter of data quality, and told there."""
    states = part.states
    whole = (states["problems"] == 0) & ~states["state"].isin(["failed", "forbidden"])
    worst = states.assign(whole=whole).groupby(["host", "name"], observed=True)["whole"].any()
    return [f"{path}: {name} of {host}: could not be read whole: `lnetstat dump {path}` says why" for host, name in worst.index[~worst]]


def _tell(lines: list[str]) -> None:
    for line in lines:
        click.echo(f"lnetstat: {printable(line)}", err=True)


def _refuse_folder_of_recordings(paths: Sequence[str]) -> None:
    """Say what would be read wrongly: a folder of recordings as an archive."""
    for path in paths:
        if os.path.isdir(path) and not is_recording(path):
            inside = [folder for pattern in ("*", "*/*") for folder in glob.glob(os.path.join(glob.escape(path), pattern))]
            found = sorted(filter(is_recording, inside))
            if found:
                raise SourceError(f"{path}: holds {len(found)} recordings: name those to read, as in {found[0]}")


def _series(paths: Sequence[str], begin: Moment | None, end: Moment | None, failed: list[str]) -> pd.DataFrame | None:
    """Read CSV files; several are sources of one system. What cannot be read is told in `failed`."""
    tables = []
    for path in paths:
        try:
            table = series_csv.load(path)
        except LnetstatError as error:
            failed.append(str(error))
            continue
        failed += table.attrs.get("problems", [])
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
            failed += _unread(path, part)
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
