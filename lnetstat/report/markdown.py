"""The report as text to mail: Markdown that reads well as it stands, without pictures."""

import re
import textwrap

from lnetstat import __version__
from lnetstat.analysis.results import Analysis
from lnetstat.report import rows
from lnetstat.report.method import METHOD
from lnetstat.words import printable

WIDTH = 78
# What would start markup inside a line; a "<" before a blank or a digit is only less-than.
_ACTIVE = re.compile(r"""[`*]|<(?=[A-Za-z/!?])|\](?=[(\[:])|\\(?=[!-/:-@\[-`{-~])|&(?=#?\w+;)""")
# What would start a list, a heading or a quotation at the beginning of a line.
_BEGINS = re.compile(r"^([0-9]{1,9}(?=[.)](?:\s|$))|)([.)]|#{1,6}(?=\s)|[-+](?=\s)|[>=~]|-{3,}$)")


def text(analysis: Analysis, *, title: str) -> str:
    """Return the report as Markdown, lines up to 78 wide where they are not of a table."""
    parts = [
        f"# {_inline(title)}",
        _wrapped(rows.record_words(analysis)),
        f"**{_wrapped(analysis.verdict)}**",
        _figures(analysis),
        "## Findings",
        *(_finding(place, row) for place, row in enumerate(rows.finding_rows(analysis), 1)),
        "" if analysis.findings else "No findings: nothing that this recording shows is out of order.",
        "## Credits required and configured",
        table(rows.credit_grid(analysis), "No credits in this recording (files peers, nis and buffers of LNet)."),
        "## Signals searched for dead time",
        table(rows.signal_grid(analysis), "No throughput signal in this recording, so none was searched."),
        "## Quality of the data",
        table(rows.quality_grid(analysis), "No samples in this recording."),
        "## Method, in short",
        *(_wrapped(paragraph) for paragraph in METHOD if not paragraph.startswith("Curves")),
        f"Made by lnetstat {__version__}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _figures(analysis: Analysis) -> str:
    return "\n".join(_wrapped(f"{what}: {value}", "- ", "  ") for what, value in rows.key_figures(analysis))


def _finding(place: int, row: rows.FindingRow) -> str:
    lines = [_wrapped(f"{row.severity.upper()}, {row.kind}: {row.message}", f"{place}. ")]
    span = f"{row.since} to {row.until}" if row.until else row.since
    for head, words in (("Since", span), ("How much", row.how_much), ("Look at", row.advice), ("Reference", row.reference)):
        if words:
            lines.append(_wrapped(f"{head}: {words}", "   - ", "     "))
    return "\n".join(lines)


def table(grid: rows.Grid, absent: str) -> str:
    """Return a table with its columns in line, so that it reads in a mail too; `absent` where it has no rows."""
    if not grid.cells:
        return absent
    body = [[_inline(cell).replace("|", "\\|") for cell in row] for row in (grid.heads, *grid.cells)]
    widths = [max(3, *map(len, column)) for column in zip(*body, strict=True)]
    right = [kind == "number" for kind in grid.kinds]
    lines = [_row([cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True)]) for row in body]
    lines.insert(1, _row(["-" * (w - 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True)]))
    return "\n".join(lines) + (f"\n\n{grid.note}" if grid.note else "")


def _row(row_cells: list[str]) -> str:
    return f"| {' | '.join(row_cells)} |"


def _inline(words: str) -> str:
    """Return text that is nothing but text in Markdown and in a terminal."""
    return _ACTIVE.sub(lambda found: f"\\{found[0]}", printable(words))


def _wrapped(words: str, first: str = "", rest: str | None = None) -> str:
    """Return text in lines; `first` and `rest` stand before the first and the other lines. No line begins a list or a heading by itself."""
    rest = " " * len(first) if rest is None else rest
    width = WIDTH - max(len(first), len(rest)) - 1
    lines = textwrap.wrap(_inline(words), width, break_on_hyphens=False, break_long_words=False) or [""]
    return "\n".join((first if place == 0 else rest) + _BEGINS.sub(r"\1\\\2", line) for place, line in enumerate(lines))
