"""A figure of a claim: what to print, and whether it lies inside its band."""

from typing import NamedTuple


class Figure(NamedTuple):
    """`shown`: the figure in words; `inside`: whether the band holds it."""

    shown: str
    inside: bool


def band(value: float | None, low: float, high: float, shown: str = "{:,.6g}") -> Figure:
    """Return the figure of a value that must lie within [low, high]; None: it was not found."""
    if value is None:
        return Figure("not found", False)
    return Figure(shown.format(value), bool(low <= value <= high))
