"""Carbon's plaintext lines."""

import math
import re

from lnetstat.model import Point

_WELL_FORMED = re.compile(r"[!-~]{1,16000}").fullmatch
PATH_BYTES_MAX = 16_000  # carbon closes the connection on a line over 16384 bytes


def plaintext_line(point: Point) -> str:
    """Return `path value time` without a line end, the value with all its digits."""
    value = float(point.value)
    number = str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    return f"{point.path} {number} {point.time_s}"


def acceptable(point: Point) -> bool:
    """Tell whether Carbon would keep the point: a finite value and a path of printable ASCII without blanks."""
    path = point.path
    return math.isfinite(point.value) and path.isascii() and path.isprintable() and " " not in path and 0 < len(path) <= PATH_BYTES_MAX


def line_of(point: Point) -> bytes | None:
    """Return plaintext_line with its line end, as Carbon gets it; None for a point that is not acceptable. Of the three the fast one."""
    path, value, time_s = point
    if not math.isfinite(value) or not _WELL_FORMED(path):
        return None
    whole = int(value)
    if whole == value and -1e16 < whole < 1e16:
        return f"{path} {whole} {time_s}\n".encode("ascii")
    return f"{path} {float(value)!r} {time_s}\n".encode("ascii")
