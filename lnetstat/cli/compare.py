"""Compare two recordings: did the tuning help? Dead time, lost bytes and credits before and after."""

import json
import textwrap
from typing import Any

import click

from lnetstat.analysis.compare import compare
from lnetstat.analysis.compare_schema import COMPARE_SCHEMA
from lnetstat.analysis.comparison import CANNOT_TELL, LEVEL, TITLES, TOO_SMALL, WORSE, Comparison, Figure, shown
from lnetstat.analysis.results import Interval
from lnetstat.analysis.wording import CREDITS
from lnetstat.cli._inputs import analyzed, input_options
from lnetstat.cli._options import schema_option
from lnetstat.words import printable

WIDTH = 79
COLUMNS = "  {:<33.33} {:>20} {:>20}"


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
@click.option("--html", metavar="FILE", help="Also write a page with pictures of both to FILE.")
@input_options
@click.option("--fail-on", type=click.Choice(["worse"]), help="Exit with 1 when AFTER is worse.")
@schema_option(COMPARE_SCHEMA)
def command(before: str, after: str, as_json: bool, html: str | None, fail_on: str | None, **options: Any) -> int:
    """Compare two records: did the tuning help? Each is anything that `analyze` reads; the options hold for both.

    The verdict is better, worse, no difference shown or cannot tell. A difference is claimed only where the confidence interval of the
    change leaves 0 out, for all figures together, and where another load cannot explain it.

    \b
    Examples:
      lnetstat compare before after
      lnetstat compare untuned.csv tuned.csv --interval 1s --json
      lnetstat compare before after --html tuning.html
    """
    if html is not None:
        from lnetstat.report.output import check_writable

        check_writable(html)  # said now, and not after minutes of analysis
    first, first_whole = analyzed((before,), **options)
    second, second_whole = analyzed((after,), **options)
    if first is None or second is None:
        return 3
    found = compare(first, second)
    if html is not None:
        from lnetstat.report import comparison
        from lnetstat.report.output import write_whole

        write_whole(html, comparison.page(found, first, second))
    click.echo(json.dumps(found.as_json(), allow_nan=False) if as_json else text_of(found))
    if fail_on and found.verdict == WORSE:
        return 1
    return 0 if first_whole and second_whole else 3


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
