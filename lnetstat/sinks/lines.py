"""Carbon's plaintext lines."""

import math

from lnetstat.model import Point

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
