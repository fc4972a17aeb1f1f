"""One series from a CSV file: time,value and, where known, ping_rate, tx, tx_min, queue_bytes, source. Plain or .gz.

    time,value,ping_rate
    1700000000.100,812345678.0,3.0

`time` is seconds since the epoch. The first line names the columns; unknown columns are left alone. An empty cell is a missing sample,
not a zero. A row that is no row of numbers is skipped; how many were, and the first one's line, stand in `attrs["problems"]`.
"""

import csv
import gzip
import io
import math
import zlib
from typing import NamedTuple

import numpy as np
import pandas as pd

from lnetstat.errors import SourceError, shown

NUMBERS = ("time", "value", "ping_rate", "tx", "tx_min", "queue_bytes")
LARGEST_BYTES = 2_000_000_000
LATEST_S = 9e9  # year 2255, the end of 64-bit nanoseconds: larger numbers are milliseconds or nanoseconds
LONGEST_S = 3.2e8  # ten years: a stamp further from the middle one than this is a slip
MOST_CREDITS = 1e15  # larger ones fit no integer
LARGEST = 1e30  # no rate, counter or credit is larger, and sums of squares stay far from the end of float64
EMPTY = frozenset(("", "nan", "-nan", "na", "n/a", "null", "none", "<na>"))


class Skipped(NamedTuple):
    """Rows that are left out: how many, and the first one's line with what was wrong with it."""

    rows: int
    line: int
    why: str


def looks_like_series(path: str) -> bool:
    """Return True when the file's name says CSV, or its first line names the columns time and value."""
    name = path.lower()
    if name.endswith((".csv", ".csv.gz")):
        return True
    try:
        with open(path, "rb") as file:
            first = file.read(200).split(b"\n", 1)[0]
    except OSError:
        return False
    words = [word.strip() for word in first.decode("utf-8", "replace").split(",")]
    return "time" in words and "value" in words


def load(path: str) -> pd.DataFrame:
    """Return the series as float64 columns (and `source` as text), in the order of the file.

    Bad rows are skipped and told in `attrs["problems"]`, one line of text or none. Raises SourceError, naming file and line, where no
    row is good or the file is no such CSV.
    """
    text = _text_of(path)
    names = _names(path, text)
    wanted = [name for name in names if name in (*NUMBERS, "source")]
    table, torn = _read(path, text, names, wanted)
    table, odd = _sifted(table)
    found = [each for each in (torn, odd) if each is not None]
    if not found and table.empty:
        raise SourceError(f"{path}: no samples after the header: expected rows of {','.join(wanted)}")
    problems = []
    if found:
        first, skipped = min(found, key=lambda each: each.line), sum(each.rows for each in found)
        if table.empty:
            raise SourceError(f"{path}: line {first.line}: {first.why}")
        total = skipped + len(table)
        problems = [f"{path}: line {first.line}: {first.why}; {skipped:,} of {total:,} rows like this or otherwise bad were skipped"]
    table = table.reset_index(drop=True)
    table.attrs["problems"] = problems
    return table


def _names(path: str, text: str) -> list[str]:
    first = text.split("\n", 1)[0]
    try:
        names = [name.strip().lstrip("\ufeff") for name in next(csv.reader(io.StringIO(first)), [])]
    except csv.Error:
        names = []
    if not {"time", "value"} <= set(names):
        raise SourceError(f"{path}: line 1: {shown(first)}: expected column names with time and value, as in time,value")
    twice = [name for name in (*NUMBERS, "source") if names.count(name) > 1]
    if twice:
        raise SourceError(f"{path}: line 1: column {twice[0]} stands there twice: expected each column once")
    return names


def _read(path: str, text: str, names: list[str], wanted: list[str]) -> tuple[pd.DataFrame, Skipped | None]:
    """Return (rows whose fields are numbers, indexed by line; what was skipped): fast, or slowly where a row is not as it should be."""
    rows = text.rstrip("\n").count("\n")
    if text.count(",") == (rows + 1) * (len(names) - 1) and "\n\n" not in text.rstrip("\n"):
        kinds = {name: str if name == "source" else np.float64 for name in wanted}
        try:
            table = pd.read_csv(
                io.StringIO(text), header=0, names=names, usecols=wanted, dtype=kinds, on_bad_lines="error", skipinitialspace=True
            )
        except (ValueError, pd.errors.ParserError):
            pass  # some field is no number: the slow reader finds which
        else:
            table.index = pd.RangeIndex(2, len(table) + 2)
            return table, None
    try:
        return _read_slowly(text, names, wanted)
    except csv.Error as error:
        raise SourceError(f"{path}: cannot be read as CSV: {error}") from None


def _read_slowly(text: str, names: list[str], wanted: list[str]) -> tuple[pd.DataFrame, Skipped | None]:
    places = {name: names.index(name) for name in wanted}
    needed = max(places.values()) + 1
    columns: dict[str, list[float | str]] = {name: [] for name in wanted}
    lines: list[int] = []
    skipped: Skipped | None = None
    reader = csv.reader(io.StringIO(text), skipinitialspace=True)
    next(reader)
    for row in reader:
        if not row:
            continue
        why = _fault(row, names, places, needed)
        if why:
            skipped = Skipped(skipped.rows + 1, skipped.line, skipped.why) if skipped else Skipped(1, reader.line_num, why)
            continue
        lines.append(reader.line_num)
        for name, place in places.items():
            columns[name].append(row[place] if name == "source" else _number(row[place]))
    return pd.DataFrame(columns, index=pd.Index(lines, dtype=np.int64)), skipped


def _fault(row: list[str], names: list[str], places: dict[str, int], needed: int) -> str:
    """Return what is wrong with a row, empty where its fields are numbers."""
    if not needed <= len(row) <= len(names):
        return f"{shown(','.join(row))}: expected {len(names)} columns, found {len(row)}"
    for name, place in places.items():
        if name != "source" and not _is_number(row[place]):
            return f"{name} is {shown(row[place])}: expected a number"
    return ""


def _sifted(table: pd.DataFrame) -> tuple[pd.DataFrame, Skipped | None]:
    """Return (rows with a usable time and numbers of a usable size, what was left out)."""
    if table.empty:
        return table, None
    time = table["time"]
    middle = float(time[time.abs() <= LATEST_S].median())
    tests = [
        (~np.isfinite(time), "no time: expected seconds since the epoch"),
        (time.abs() > LATEST_S, "time {time:.0f}: expected seconds since the epoch, not milli- or nanoseconds"),
        ((time - middle).abs() > LONGEST_S, "time {time:.14g}: ten years and more from the other rows"),
        *(
            (
                table[name].abs() > (MOST_CREDITS if name in ("tx", "tx_min") else LARGEST),
                name + " is {" + name + ":g}: no such number is real",
            )
            for name in NUMBERS[1:]
            if name in table
        ),
        (_again(table), "time {time:.14g} stands there already"),
    ]
    bad = np.logical_or.reduce([mask.to_numpy(bool) for mask, _ in tests])
    if not bad.any():
        return table, None
    first = int(bad.argmax())
    why = next(words for mask, words in tests if mask.iloc[first])
    return table[~bad], Skipped(
        int(bad.sum()), int(table.index[first]), why.format(**{str(name): field for name, field in table.iloc[first].items()})
    )


def _again(table: pd.DataFrame) -> "pd.Series[bool]":
    """Mark rows whose source has a row of the same time before."""
    return table.duplicated(["time", "source"] if "source" in table else ["time"])


def _text_of(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}: expected a CSV file") from None
    except (EOFError, zlib.error) as error:
        raise SourceError(f"{path}: damaged gzip file: {error}") from None
    if len(data) > LARGEST_BYTES:
        raise SourceError(f"{path}: more than {LARGEST_BYTES} bytes: expected one series; cut it")
    if not data.strip():
        raise SourceError(f"{path}: the file is empty: expected a line time,value and rows of numbers")
    if b"\0" in data[:4096]:
        raise SourceError(f"{path}: line 1: binary data: expected a CSV file with time,value")
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _is_number(word: str) -> bool:
    return word.strip().lower() in EMPTY or not math.isnan(_number(word))


def _number(word: str) -> float:
    """Return the number; NaN where there is none."""
    try:
        return math.nan if "_" in word else float(word)
    except ValueError:
        return math.nan
