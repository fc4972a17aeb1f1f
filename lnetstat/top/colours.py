"""Styles of the view on a dark and on a light ground, and on the terminal's own without any colour.

Each mark has a sign of its own too, so colour is never all that tells.
"""

from collections.abc import Mapping
from typing import NamedTuple

from rich.style import Style

from lnetstat.top.panes import Mark

PLAIN = Style()
BOLD = Style(bold=True)
HEAD = Style(reverse=True)
CHOSEN = Style(reverse=True, bold=True)


class Colours(NamedTuple):
    """`theme`: textual's, which paints the ground; `line`: of the history behind a row; `dim`: what matters least."""

    theme: str
    marks: Mapping[Mark, Style]
    note: Style
    line: Style
    dim: Style


def _painted(theme: str, was_short: str, down: str, short: str, line: str, dim: str) -> Colours:
    marks = {
        Mark.NONE: PLAIN,
        Mark.WAS_SHORT: Style(color=was_short),
        Mark.DOWN: Style(color=down, bold=True),
        Mark.SHORT: Style(color=short, bold=True),
    }
    return Colours(theme, marks, Style(color=was_short, bold=True), Style(color=line), Style(color=dim))


# Every colour has a contrast of 4.5 or more to its ground (#121212, #e0e0e0).
DARK = _painted("textual-dark", "#ffd75f", "#ff87ff", "#ff6b6b", "#5fafd7", "#a0a0a0")
LIGHT = _painted("textual-light", "#6f4a00", "#8b008b", "#b00020", "#005f73", "#505050")
NONE = Colours(
    "ansi-dark",  # paints nothing: ground and letters are the terminal's
    {Mark.NONE: PLAIN, Mark.WAS_SHORT: PLAIN, Mark.DOWN: Style(underline=True), Mark.SHORT: BOLD},
    BOLD,
    PLAIN,
    PLAIN,
)
THEMES = {"dark": DARK, "light": LIGHT, "none": NONE}
