"""One series from a CSV file: time,value and, where known, ping_rate, tx, tx_min, queue_bytes, source. Plain or .gz.

    time,value,ping_rate
    1700000000.100,812345678.0,3.0

`time` is seconds since the epoch, or ISO 8601. The first line names the columns; unknown columns are left alone. An empty cell is a missing
sample, not a zero. A row that is no row of numbers is skipped; how many were, and the first one's line, stand in `attrs["problems"]`.
"""

import csv
import io
import math

import numpy as np
import pandas as pd

from lnetstat.errors import SourceError, shown
from lnetstat.series import times
from lnetstat.series.rows import COLUMNS, Skipped, finished, sifted, without
from lnetstat.series.times import AS_IT_STANDS, Clock

EMPTY = frozenset(("", "nan", "-nan", "na", "n/a", "null", "none", "<na>"))


def is_header(first_line: str) -> bool:
    """Return True when the line names the columns time and value."""
    words = [word.strip() for word in first_line.split(",")]
    return "time" in words and "value" in words


def load(path: str, text: str, clock: Clock = AS_IT_STANDS) -> pd.DataFrame:
    """Return the series in a text as float64 columns (and `source` as text), in the order of the file; `path` is for messages.

    Bad rows are skipped and told in `attrs["problems"]`, one line of text or none. Raises SourceError, naming file and line, where no
    row is good or the file is no such CSV.
    """
    names = _names(path, text)
    texts = {name for name in names if name == "source" or (name == "time" and _has_calendar(text, names))}
    table, torn = _read(path, text, names, texts)
    table, untimed = _timed(table, clock, calendar="time" in texts)
    table, odd = sifted(table)
    return finished(path, table, [torn, untimed, odd])


def _names(path: str, text: str) -> list[str]:
    first = text.split("\n", 1)[0]
    try:
        names = [name.strip().lstrip("\ufeff") for name in next(csv.reader(io.StringIO(first)), [])]
    except csv.Error:
        names = []
    if not {"time", "value"} <= set(names):
        raise SourceError(f"{path}: line 1: {shown(first)}: expected column names with time and value, as in time,value")
    twice = [name for name in COLUMNS if names.count(name) > 1]
    if twice:
        raise SourceError(f"{path}: line 1: column {twice[0]} stands there twice: expected each column once")
    return names


def _has_calendar(text: str, names: list[str]) -> bool:
    """Return True when the first row's time is a date."""
    second = text.split("\n", 2)[1:2]
    fields = second[0].split(",") if second else []
    place = names.index("time")
    return len(fields) > place and times.is_calendar(fields[place].strip(' "'))


def _timed(table: pd.DataFrame, clock: Clock, *, calendar: bool) -> tuple[pd.DataFrame, Skipped | None]:
    """Return (the rows with `time` in seconds since the epoch, what was left out as its time is none)."""
    if not calendar:
        return (table.assign(time=times.from_numbers(table["time"], clock)) if clock.unit else table), None
    found = times.from_calendar(table["time"].tolist(), clock)
    return without(table.assign(time=found.time_s), found.faults)


def _read(path: str, text: str, names: list[str], texts: set[str]) -> tuple[pd.DataFrame, Skipped | None]:
    """Return (rows whose fields are numbers, indexed by line; what was skipped): fast, or slowly where a row is not as it should be.

    `texts`: the columns that are no numbers.
    """
    rows = text.rstrip("\n").count("\n")
    wanted = [name for name in names if name in COLUMNS]
    if text.count(",") == (rows + 1) * (len(names) - 1) and "\n\n" not in text.rstrip("\n"):
        kinds = {name: str if name in texts else np.float64 for name in wanted}
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
        return _read_slowly(text, names, wanted, texts)
    except csv.Error as error:
        raise SourceError(f"{path}: cannot be read as CSV: {error}") from None


def _read_slowly(text: str, names: list[str], wanted: list[str], texts: set[str]) -> tuple[pd.DataFrame, Skipped | None]:
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
        why = _fault(row, names, {name: place for name, place in places.items() if name not in texts}, needed)
        if why:
            skipped = Skipped(skipped.rows + 1, skipped.line, skipped.why) if skipped else Skipped(1, reader.line_num, why)
            continue
        lines.append(reader.line_num)
        for name, place in places.items():
            columns[name].append(row[place] if name in texts else _number(row[place]))
    return pd.DataFrame(columns, index=pd.Index(lines, dtype=np.int64)), skipped


def _fault(row: list[str], names: list[str], numbers: dict[str, int], needed: int) -> str:
    """Return what is wrong with a row, empty where its fields are numbers."""
    if not needed <= len(row) <= len(names):
        return f"{shown(','.join(row))}: expected {len(names)} columns, found {len(row)}"
    for name, place in numbers.items():
        if not _is_number(row[place]):
            return f"{name} is {shown(row[place])}: expected a number"
    return ""


def _is_number(word: str) -> bool:
    return word.strip().lower() in EMPTY or not math.isnan(_number(word))


def _number(word: str) -> float:
    """Return the number; NaN where there is none."""
    try:
        return math.nan if "_" in word else float(word)
    except ValueError:
        return math.nan
