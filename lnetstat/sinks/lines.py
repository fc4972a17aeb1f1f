"""Carbon's plaintext lines."""

import math
from collections.abc import Sequence

from lnetstat.model import Point

PATH_BYTES_MAX = 16_000  # carbon closes the connection on a line over 16384 bytes
EXACT = 10**16  # whole numbers below it are written without a point or an exponent


def plaintext_line(point: Point) -> str:
    """Return `path value time` without a line end, the value with all its digits."""
    return f"{point.path} {_number(point.value)} {point.time_s}"


def acceptable(point: Point) -> bool:
    """Tell whether Carbon would keep the point: a finite value and a path of printable ASCII without blanks."""
    path = point.path
    return math.isfinite(point.value) and path.isascii() and path.isprintable() and " " not in path and 0 < len(path) <= PATH_BYTES_MAX


def acceptable_ones(points: Sequence[Point]) -> Sequence[Point]:
    """Return the acceptable ones among the points, in their order: mostly all of them, which is seen in a few steps for all at once."""
    paths = [point[0] for point in points]
    letters = "".join(paths)
    every = (
        letters.isascii()
        and letters.isprintable()
        and " " not in letters
        and "" not in paths
        and max(map(len, paths), default=0) <= PATH_BYTES_MAX
        and all(map(math.isfinite, [point[1] for point in points]))
    )
    return points if every else [point for point in points if acceptable(point)]


def lines_of(points: Sequence[Point]) -> list[bytes]:
    """Return plaintext_line of each acceptable point, with its line end, as Carbon gets it. Of the two the fast one."""
    whole = int  # not a bool, which isinstance would take for one
    text = "".join(
        [
            f"{path} {value} {time_s}\n" if type(value) is whole and -EXACT < value < EXACT else f"{path} {_number(value)} {time_s}\n"
            for path, value, time_s in points
        ]
    )
    return text.encode("ascii").splitlines(keepends=True)


def _number(value: float) -> str:
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < EXACT else repr(value)
