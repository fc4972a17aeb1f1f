"""What `compare` says, as text for a terminal; apart from its options, so that `--help` and TAB need no pandas."""

import textwrap
from typing import Any

from lnetstat.analysis.comparison import CANNOT_TELL, LEVEL, TITLES, TOO_SMALL, Comparison, Figure, shown
from lnetstat.analysis.results import Interval
from lnetstat.analysis.wording import CREDITS
from lnetstat.words import printable

WIDTH = 79
COLUMNS = "  {:<33.33} {:>20} {:>20}"


def text_of(found: Comparison) -> str:
    """Return the comparison as text less than 80 columns wide: the verdict, then load, dead time and credits, before and after."""
    parts = [_wrapped(found.words)]
    parts.append("\n".join(["Load" if not found.signal else f"Load ({printable(found.signal)})", *_table(found.load)]))
    parts.append("\n".join(["Dead time", *_table(each for each in found.figures if "." not in each.name)]))
    for resource, guide in CREDITS.items():
        own = [each for each in found.figures if each.name.startswith(f"{resource}.")]
        if own:
            title = f"{guide.noun[0].upper()}{guide.noun[1:]}, worst {guide.holder} ({_whose(*found.rows[resource])})"
            parts.append("\n".join([_wrapped(title), *_table(own)]))
    method = found.as_json()["method"]
    parts.append(
        _wrapped(
            f"Intervals: {100 * found.level:.4g} % each, so that those of all {found.compared} figures compared hold together at "
            f"{LEVEL:.0%}; they decide what is claimed. From {method['draws']} draws of blocks of cycles (seed {method['seed']})."
        )
    )
    return "\n\n".join(part for part in parts if "\n" in part or part.strip())


def _whose(before: str, after: str) -> str:
    """Say whose credits are shown on each side."""
    if before == after or not (before and after):
        return before or after
    return f"before {before}, after {after}"


def _wrapped(text: str, indent: str = "") -> str:
    whole = printable(text).replace(" %", "\0%")  # a number and its % stay on one line
    return textwrap.fill(whole, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False).replace("\0", " ")


def _table(figures: Any) -> list[str]:
    lines = [COLUMNS.format("", "before", "after")]
    for figure in figures:
        title = TITLES.get(figure.name.rpartition(".")[2], figure.name)
        lines.append(COLUMNS.format(title, _cell(figure, figure.before), _cell(figure, figure.after)).rstrip())
        ranges = _range(figure, figure.before_interval), _range(figure, figure.after_interval)
        if any(ranges):
            lines.append(COLUMNS.format("", *ranges).rstrip())
        if figure.verdict:
            told = f"{figure.verdict}: {figure.reason}" if figure.verdict == CANNOT_TELL or figure.reason == TOO_SMALL else figure.verdict
            lines.append(_wrapped(f"→ {told}", "      "))
    return lines if len(lines) > 1 else ["  nothing that could be compared"]


def _cell(figure: Figure, value: float | None) -> str:
    return "-" if value is None else shown(figure, value)


def _range(figure: Figure, interval: Interval | None) -> str:
    """Return both ends of an interval, the unit (told above) left out; nothing where both read the same."""
    low, high = ("", "") if interval is None else (shown(figure, each).removesuffix(f" {figure.unit}") for each in interval)
    unit = low.rpartition(" ")[2]
    if low == high:
        return ""
    return f"{low.removesuffix(f' {unit}')} to {high}" if " " in low and high.endswith(f" {unit}") else f"{low} to {high}"
