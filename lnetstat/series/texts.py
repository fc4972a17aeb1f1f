"""Files as text: plain or .gz, whole, with one clear line where that cannot be."""

import csv
import gzip
import io
import zlib

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.errors import SourceError

LARGEST_BYTES = 2_000_000_000
HEAD_BYTES = 4096
GZIP = b"\x1f\x8b"


def text_of(path: str) -> str:
    """Return the file's text with line ends as newlines; raises SourceError where there is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        if data[:2] == GZIP:
            with gzip.open(path) as packed:
                data = packed.read(LARGEST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SourceError(f"{path}: damaged gzip file: {error}") from None
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}: expected a CSV file") from None
    if len(data) > LARGEST_BYTES:
        raise SourceError(f"{path}: more than {LARGEST_BYTES} bytes: expected one series; cut it")
    if not data.strip():
        raise SourceError(f"{path}: the file is empty: expected a line time,value and rows of numbers")
    if b"\0" in data[:HEAD_BYTES]:
        raise SourceError(f"{path}: line 1: binary data: expected a CSV file with time,value")
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def head_of(path: str) -> bytes:
    """Return how the file begins, unpacked where it is .gz; empty where it cannot be read or is no file."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return b""
    if head[:2] != GZIP:
        return head
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


def numbers_of(text: str, columns: int) -> npt.NDArray[np.float64]:
    """Return the rows below the header as numbers, shape (rows, columns); NaN where a field is no number or the row has other fields."""
    none = "," * (columns - 1)
    lines = [line if line.count(",") == columns - 1 else none for line in text.rstrip("\n").split("\n")[1:]]
    if not lines:
        return np.empty((0, columns))
    fields = pd.read_csv(
        io.StringIO("\n".join(lines)),
        header=None,
        names=list(range(columns)),
        dtype=str,
        quoting=csv.QUOTE_NONE,
        skip_blank_lines=False,
        lineterminator="\n",
    )
    return np.asarray(fields.apply(pd.to_numeric, errors="coerce").to_numpy(np.float64))
