"""What `analyze` and `report` read: recordings, archives, series from elsewhere, within a time."""

import contextlib
import math
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence

import click
import pandas as pd

from lnetstat import series
from lnetstat.analysis import Analysis, analyze, analyze_series, joined, within
from lnetstat.cli._nodes import chosen, name_for
from lnetstat.cli._progress import working
from lnetstat.cli._recordings import analysis_of, refuse_folder_of_recordings, tell
from lnetstat.cli._times import Moment, window_ns
from lnetstat.errors import LnetstatError, SourceError
from lnetstat.frames import Frames
from lnetstat.frames.importing import from_parquet, is_parquet_folder
from lnetstat.words import iso


def analyzed(
    paths: Sequence[str],
    *,
    begin: Moment | None,
    end: Moment | None,
    host: str | None,
    kind: str,
    interval_s: float | None,
    credits_max: int | None,
    zone: str,
    time_unit: str,
    processes: int | None = None,
    scheduler: str | None = None,
) -> tuple[Analysis | None, bool]:
    """Read all paths as one and analyze them. Return the analysis, None where nothing could be read, and whether all could be read."""
    failed: list[str] = []
    analysis = None
    with contextlib.ExitStack() as stack:
        files = [_as_file(stack, path) for path in paths]
        given = [path for path in files if series.is_series(path)]
        dumped = [path for path in files if is_parquet_folder(path)]
        if (given and len(given) < len(files)) or (dumped and len(dumped) < len(files)):
            raise click.UsageError("series (CSV, Parquet, Graphite, …) and recordings cannot be analyzed together: give them apart")
        if given:
            table = _series(given, series.Clock(zone, time_unit), begin, end, failed)
            if table is not None:
                with working("searching for dead time"):
                    analysis = analyze_series(
                        table,
                        kind=table.attrs.get("kind") or kind,
                        interval_s=interval_s,
                        credits_max=credits_max or None,
                        name=name_for(given[0], host) or table.attrs.get("name", ""),
                    )
        elif dumped:
            with working("reading"):
                frames = _dumped(dumped, begin, end, host, failed)
            if frames is not None:
                with working("analyzing"):
                    analysis = analyze(frames)
        else:
            refuse_folder_of_recordings(files)
            analysis = analysis_of(files, begin, end, host, failed, processes=processes, scheduler=scheduler)
    tell(failed)
    return analysis, not failed


def _as_file(stack: contextlib.ExitStack, path: str) -> str:
    """Keep standard input (-) or a pipe in a file for as long as `stack` lives: what it is (CSV, tar, text) is told by looking in twice."""
    if path != "-" and not _is_pipe(path):
        return path
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lnetstat-"))
    copy = os.path.join(folder, "stdin" if path == "-" else "pipe")
    with open(copy, "wb") as file, contextlib.nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as source:
        shutil.copyfileobj(source, file)
    return copy


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _series(
    locations: Sequence[str], clock: series.Clock, begin: Moment | None, end: Moment | None, failed: list[str]
) -> pd.DataFrame | None:
    """Read series; several are sources of one system. What cannot be read is told in `failed`."""
    with working("reading"):
        whole = series.load_all(locations, clock, failed)
    if whole is None or whole.empty:
        return whole
    tell(whole.attrs.get("notes", []))
    last_ns = math.floor(float(whole["time"].max()) * 1e9)
    begin_ns, end_ns = window_ns(begin, end, last_ns)
    if begin_ns is not None:
        whole = whole[whole["time"] * 1e9 >= begin_ns]
    if end_ns is not None:
        whole = whole[whole["time"] * 1e9 < end_ns]
    if whole.empty:
        raise SourceError(f"{locations[0]}: no samples between --begin and --end: the data end at {iso(last_ns)}")
    return whole


def _dumped(paths: Sequence[str], begin: Moment | None, end: Moment | None, host: str | None, failed: list[str]) -> Frames | None:
    """Read folders that `dump --format parquet` wrote, as one. What cannot be read is told in `failed`."""
    parts = []
    for path in paths:
        try:
            parts.append(from_parquet(path))
        except LnetstatError as error:
            failed.append(str(error))
    if not parts:
        return None
    frames = joined(parts)
    if host:
        hosts = chosen(host, sorted(map(str, frames.states["host"].unique())), paths[0])
        frames = Frames(
            {name: _of(table, hosts) for name, table in frames.tables.items()}, _of(frames.facts, hosts), _of(frames.states, hosts)
        )
    last_ns = int(frames.states["time_ns"].max()) if len(frames.states) else 0
    frames = within(frames, *window_ns(begin, end, last_ns))
    if frames.states.empty:
        raise SourceError(f"{paths[0]}: no samples{f' of {host}' if host else ''} in that time: the data end at {iso(last_ns)}")
    return frames


def _of(table: pd.DataFrame, hosts: Sequence[str]) -> pd.DataFrame:
    return table[table["host"].isin(hosts)]
