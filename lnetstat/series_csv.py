"""One series from a CSV file: time,value and, where known, ping_rate, tx, tx_min, queue_bytes, source. Plain or .gz.

    time,value,ping_rate
    1700000000.100,812345678.0,3.0

`time` is seconds since the epoch. The first line names the columns; unknown columns are left alone. An empty cell is a missing sample,
not a zero. Errors name file and line.
"""

import csv
import gzip
import io
import math
import zlib

import numpy as np
import pandas as pd

from lnetstat.errors import SourceError, shown

NUMBERS = ("time", "value", "ping_rate", "tx", "tx_min", "queue_bytes")
LARGEST_BYTES = 2_000_000_000
LATEST_S = 1e11  # year 5138: larger numbers are milliseconds or nanoseconds


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
    """Return the series as float64 columns (and `source` as text), in the order of the file. Raises SourceError, naming file and line."""
    text = _text_of(path)
    header = next(csv.reader(io.StringIO(text.split("\n", 1)[0])), [])
    names = [name.strip().lstrip("\ufeff") for name in header]
    missing = [name for name in ("time", "value") if name not in names]
    if missing:
        raise SourceError(
            f"{path}: line 1: {shown(text.split(chr(10), 1)[0])}: expected column names with time and value, as in time,value"
        )
    twice = [name for name in NUMBERS if names.count(name) > 1]
    if twice:
        raise SourceError(f"{path}: line 1: column {twice[0]} stands there twice: expected each column once")
    wanted = [name for name in names if name in (*NUMBERS, "source")]
    kinds = {name: str if name == "source" else np.float64 for name in wanted}
    try:
        table = pd.read_csv(
            io.StringIO(text), header=0, names=names, usecols=wanted, dtype=kinds, on_bad_lines="error", skipinitialspace=True
        )
    except (ValueError, pd.errors.ParserError) as error:
        raise SourceError(_first_bad_line(path, text, names) or f"{path}: cannot be read as CSV: {str(error).splitlines()[0]}") from None
    crowded = text.count(",") > (text.rstrip("\n").count("\n") + 1) * (len(names) - 1)
    if crowded and (message := _first_bad_line(path, text, names)):
        raise SourceError(message)
    if table.empty:
        raise SourceError(f"{path}: no samples after the header: expected rows of {','.join(wanted)}")
    _check_times(path, table)
    return table


def _check_times(path: str, table: pd.DataFrame) -> None:
    bad = table.index[table["time"].isna() | ~np.isfinite(table["time"])]
    if len(bad):
        raise SourceError(f"{path}: line {int(bad[0]) + 2}: no time: expected seconds since the epoch")
    late = table.index[table["time"].abs() > LATEST_S]
    if len(late):
        value = table["time"].iloc[int(late[0])]
        raise SourceError(f"{path}: line {int(late[0]) + 2}: time {value:.0f}: expected seconds since the epoch, not milli- or nanoseconds")


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


def _first_bad_line(path: str, text: str, names: list[str]) -> str | None:
    """Return the message for the first row that is no row of numbers, found by reading slowly; None where every row looks right."""
    for number, row in enumerate(csv.reader(io.StringIO(text)), 1):
        if number == 1 or not row:
            continue
        if len(row) > len(names):
            return f"{path}: line {number}: {shown(','.join(row))}: expected {len(names)} columns, found {len(row)}"
        for name, word in zip(names, row, strict=False):
            if name in NUMBERS and not _is_number(word):
                return f"{path}: line {number}: {name} is {shown(word)}: expected a number"
    return None


def _is_number(word: str) -> bool:
    if not word.strip():
        return True
    try:
        return not math.isnan(float(word)) or word.strip().lower() == "nan"
    except ValueError:
        return False
