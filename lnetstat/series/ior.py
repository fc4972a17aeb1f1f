"""What IOR writes: one row per operation and rank (`savePerOpDataCSV`), and summaries, which hold no series.

Per operation (src/utilities.c: OpTimerFlush) `time,runtime,tp`: the start in seconds since the rank entered the phase, how long it took in
seconds, and its rate in bytes/s, so that tp x runtime is the transfer size. A rank writes one file per repetition, named
PREFIX-REPETITION-RANK.csv; reading overwrites what writing wrote. Summaries (src/ior-output.c) are text, JSON or CSV with one bandwidth in
MiB/s per access and repetition.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.errors import SourceError, shown
from lnetstat.series.rows import LARGEST, LONGEST_S
from lnetstat.series.texts import numbers_of, text_of

OPERATIONS_HEADER = "time,runtime,tp"
CSV_HEADER = "access,bw(MiB/s),"
TEXT_HEADER = "IOR-"
MIB = 2**20
MB = 10**6
SHORTEST_S = 1e-4  # shorter operations lie in one cell anyway; taken as so long, sums of rates keep their digits
FINEST_S = 0.1  # cells of a tenth of the shortest dead time that was ever reported (about 1 s: CUG 2012, Fig. 4); finer ones only cost
MOST_CELLS = 5_000_000  # ten days in tenths of a second: more is a slip in a time
PHASE_NOTE = "times count from the start of the IOR phase: whether dips keep step with the clock cannot be told"
_NAME = re.compile(r"-([0-9]+)-([0-9]{5,})\.csv(?:\.gz)?", re.ASCII)
_ROW = re.compile(r"\s*(write|read)\s+([0-9.]+)\s", re.ASCII)
Floats = npt.NDArray[np.float64]


def is_summary(head: str) -> bool:
    """Return True when a file that begins so is a summary of IOR: CSV, text or JSON."""
    start = head.lstrip()
    return start.startswith((CSV_HEADER, TEXT_HEADER)) or (start.startswith("{") and '"Version"' in head and '"Command line"' in head)


def load_operations(paths: Sequence[str]) -> pd.DataFrame:
    """Return time, value of all ranks of one repetition together: bytes/s over even intervals that end at `time`.

    An operation's bytes are spread evenly over its duration. Raises SourceError, naming file and line, where a file is no such list.
    """
    _refuse_repetitions(paths)
    parts = [_operations(path) for path in paths]
    start_s, runtime_s = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    size = np.concatenate([part[2] for part in parts])
    cell_s = FINEST_S * max(1, math.ceil(float(np.median(runtime_s)) / FINEST_S - 1e-9))
    cells = math.floor(float((start_s + runtime_s).max()) / cell_s + 1e-9)
    if cells > MOST_CELLS:
        raise SourceError(
            f"{paths[0]}: operations until {(start_s + runtime_s).max():.6g} s: expected one phase of a run, of some days at most"
        )
    edges = np.arange(cells + 1, dtype=np.float64) * cell_s
    moved = np.diff(_bytes_until(edges, start_s, runtime_s, size))
    table = pd.DataFrame({"time": edges[1:], "value": moved / cell_s})
    if table.empty:
        raise SourceError(f"{paths[0]}: all operations lie within {cell_s:g} s: expected a phase of minutes")
    table.attrs.update(kind="rate", clock="phase", problems=[each for part in parts for each in part[3]], notes=[PHASE_NOTE])
    return table


def load_summary(path: str, text: str) -> pd.DataFrame:
    """Return a table without rows, and in `attrs["cannot_tell"]` what the summary says and why that is no series."""
    found = {access: values for access in ("write", "read") if (values := [mib for name, mib in _bandwidths(path, text) if name == access])}
    if not found:
        raise SourceError(f"{path}: no bandwidth of a write or read phase: expected a whole summary of IOR")
    told = "; ".join(f"{access}: {_spread(values)}" for access, values in found.items())
    table = pd.DataFrame({"time": np.empty(0), "value": np.empty(0)})
    table.attrs.update(
        problems=[],
        cannot_tell=f"a summary of IOR holds one figure per phase and no series over time ({told}): run IOR with "
        "-O savePerOpDataCSV=PREFIX and analyze the PREFIX-*.csv files",
    )
    return table


def _operations(path: str) -> tuple[Floats, Floats, Floats, list[str]]:
    """Return (start_s, runtime_s, bytes) of one rank's operations, and what was skipped."""
    text = text_of(path)
    start, runtime, rate = numbers_of(text, 3).T
    good = (start >= 0) & (start < LONGEST_S) & (runtime >= 0) & (runtime < LONGEST_S) & (rate > 0)
    skipped = int((~good).sum())
    sized = good & (rate < LARGEST) & (runtime > 0)  # an operation of no time has the rate inf
    size = rate[sized] * runtime[sized]
    if not size.any():
        raise SourceError(f"{path}: no operation with a start, a runtime and a rate above 0: expected rows of {OPERATIONS_HEADER}")
    if skipped:
        at = int(np.argmin(good))
        problem = f"{path}: line {at + 2}: expected {OPERATIONS_HEADER} as numbers, 0 or more; {skipped:,} rows like this were skipped"
    # All operations of a file move the same number of bytes; printed rates have seven digits, so one size for all is nearer.
    transfer = np.full(int(good.sum()), round(float(np.median(size))), dtype=np.float64)
    return start[good], runtime[good], transfer, [problem] if skipped else []


def _bytes_until(edges: Floats, start_s: Floats, runtime_s: Floats, size: Floats) -> Floats:
    """Return the bytes moved until each edge: every operation adds its rate from its start on and takes it away at its end."""
    last = np.maximum(runtime_s, SHORTEST_S)
    rate = size / last
    begun, ended = np.sort(start_s), np.sort(start_s + last)
    by_begin, by_end = np.argsort(start_s, kind="stable"), np.argsort(start_s + last, kind="stable")
    return _ramp(edges, begun, rate[by_begin]) - _ramp(edges, ended, rate[by_end])


def _ramp(edges: Floats, at_s: Floats, rate: Floats) -> Floats:
    """Return sum(rate x (edge - at)) over what lies before each edge."""
    total = np.concatenate(([0.0], np.cumsum(rate)))
    moment = np.concatenate(([0.0], np.cumsum(rate * at_s)))
    before = np.searchsorted(at_s, edges)
    return np.asarray(edges * total[before] - moment[before])


def _refuse_repetitions(paths: Sequence[str]) -> None:
    """Say that files of several repetitions were given: each counts from its own start."""
    found = {match[1] for path in paths if (match := _NAME.search(os.path.basename(path)))}
    if len(found) > 1:
        raise SourceError(
            f"{paths[0]}: repetitions {', '.join(sorted(found))} were given together, and each counts from 0: give one at a time"
        )


def _spread(mib: list[float]) -> str:
    mean = sum(mib) / len(mib)
    both = f"mean {mean:.6g} MiB/s ({mean * MIB / MB:.6g} MB/s)"
    return f"{len(mib)} iterations, {min(mib):.6g} to {max(mib):.6g}, {both}" if len(mib) > 1 else f"1 iteration, {both[5:]}"


def _bandwidths(path: str, text: str) -> Iterator[tuple[str, float]]:
    """Yield (write or read, MiB/s) of each iteration."""
    if text.lstrip().startswith("{"):
        try:
            figures = list(_in_json(json.loads(text)))
        except (ValueError, OverflowError, RecursionError) as error:
            raise SourceError(f"{path}: damaged JSON: {error}") from None
        yield from ((access, _figure(path, str(mib))) for access, mib in figures)
        return
    commas = text.lstrip().startswith(CSV_HEADER)
    for line in text.splitlines():
        found = re.match(r"(write|read),([^,]*)", line) if commas else _ROW.match(line)
        if found:
            yield found[1], _figure(path, found[2])


def _in_json(node: Any) -> Iterator[tuple[str, float]]:
    """Yield the results of all tests; older releases put each iteration into a list of its own."""
    if isinstance(node, dict):
        if node.get("access") in ("write", "read") and isinstance(node.get("bwMiB"), (int, float)):
            yield str(node["access"]), float(node["bwMiB"])
            return
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from _in_json(each)


def _figure(path: str, word: str) -> float:
    try:
        figure = float(word)
    except ValueError:
        figure = math.nan
    if not 0 <= figure < LARGEST:
        raise SourceError(f"{path}: bandwidth {shown(word)}: expected a number in MiB/s")
    return figure
