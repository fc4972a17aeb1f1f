"""What `analyze` and `report` read: recordings, archives or CSV files, within a time."""

import contextlib
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
from lnetstat.analysis import Analysis, analyze, analyze_series
from lnetstat.cli._options import Interval
from lnetstat.cli._recordings import frames_of, refuse_folder_of_recordings, tell
from lnetstat.cli._times import Moment, MomentType, window_ns
from lnetstat.errors import LnetstatError, SourceError
from lnetstat.words import iso


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
            refuse_folder_of_recordings(files)
            frames = frames_of(files, begin, end, host, failed)
            if frames is not None:
                analysis = analyze(frames)
    tell(failed)
    return analysis, not failed


def _stdin_as_file(stack: contextlib.ExitStack) -> str:
    """Keep standard input in a file for as long as `stack` lives: what it is (CSV, tar, text) is told by looking into it twice."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lnetstat-"))
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


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
