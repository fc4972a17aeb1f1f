"""A moment as plain text and as JSON: for `watch`, for pipes, and for the first screen before textual is there."""

import textwrap
from collections.abc import Sequence
from typing import Any

from lnetstat.top.model import Model, Order, View, ordered
from lnetstat.top.panes import PANES, SIGNS, Kind, Mark, Pane, Row, Shown, Value
from lnetstat.top.trail import BARS, spark
from lnetstat.words import iso, printable

SCHEMA = 1
NAME_WIDTH_MAX = 45
NAME_WIDTH_MIN = 12
SIGN_WIDTH = 2
SPARK_WIDTH_MIN, SPARK_WIDTH_MAX = 4, 60  # the rest of a name tells more than a longer line
_SMALL = 1000.0


class Layout:
    """Which columns fit into `width` characters, and how wide each is: names take what they need and give first."""

    def __init__(self, pane: Pane, rows: Sequence[Row], width: int, *, hosts: int) -> None:
        shown = [at for at, column in enumerate(pane.columns) if width >= column.least and (hosts > 1 or column.name != "host")]
        widths = {at: pane.columns[at].width or _name_width(at, pane.columns[at], rows) for at in shown}
        names = [at for at in shown if not pane.columns[at].width]
        left = width - SIGN_WIDTH - SPARK_WIDTH_MIN - 1 - sum(widths.values()) - len(widths)
        while left < 0 and widths[widest := max(names, key=widths.__getitem__)] > NAME_WIDTH_MIN:
            widths[widest] -= 1
            left += 1
        while left < 0 and len(widths) > len(names):
            left += 1 + widths.pop(max((at for at in widths if at not in names), key=lambda at: (pane.columns[at].least, at)))
        self.pane = pane
        self.columns = [(at, pane.columns[at], widths[at]) for at in widths]
        self.spark_width = max(0, min(SPARK_WIDTH_MAX, SPARK_WIDTH_MIN + left))

    def head(self, order: Order, *, arrows: tuple[str, str] = ("^", "v")) -> str:
        """Return the line of titles; an arrow stands at the column that sorts: up where it rises from the top down."""
        cells = [" " * SIGN_WIDTH]
        for at, column, width in self.columns:
            arrow = arrows[_falls(column) != order.reverse] if order.column == at else ""
            cells.append(_fit(column.title[: width - len(arrow)] + arrow, width, column.kind))
        return " ".join(cells)

    def cells(self, row: Row) -> list[str]:
        """Return the sign and the values of a row, each as wide as its column."""
        cells = [SIGNS[row.mark].rjust(SIGN_WIDTH)]
        cells += [_fit(shown_value(row.values[at], column.kind), width, column.kind) for at, column, width in self.columns]
        return cells

    def column_at(self, x: int) -> int | None:
        """Return the index of the column that stands at a place of the line, None for none."""
        begin = SIGN_WIDTH + 1
        for at, _, width in self.columns:
            if begin <= x < begin + width:
                return at
            begin += width + 1
        return None


def _falls(column: Shown) -> bool:
    return column.kind in (Kind.HIGH, Kind.BYTES, Kind.RATE)


def _name_width(at: int, column: Shown, rows: Sequence[Row]) -> int:
    longest = max((len(str(row.values[at])) for row in rows), default=0)
    return max(len(column.title) + 1, min(longest, NAME_WIDTH_MAX))


def _fit(text: str, width: int, kind: Kind) -> str:
    if len(text) > width and kind is not Kind.TEXT and text.lstrip("-").isdecimal():
        text = rate_text(int(text))  # -20304 is -20.3k: its first digits alone would be another number
    if len(text) > width:
        text = text[: width - 1] + "…"
    return text.ljust(width) if kind is Kind.TEXT else text.rjust(width)


def shown_value(value: Value, kind: Kind) -> str:
    """Return a value as people read it; "-" where there is none, which is not 0."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return printable(value)
    if kind is Kind.BYTES:
        return bytes_text(value)
    return rate_text(value) if kind is Kind.RATE else str(value)


def bytes_text(value: float) -> str:
    """Return bytes with a binary unit: 72 B, 4.5 MiB."""
    size, units = float(value), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while abs(size) >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.0f} {units[0]}" if units[0] == "B" or abs(size) >= 100 else f"{size:.1f} {units[0]}"


def rate_text(value: float) -> str:
    """Return a number with three or four digits: 0.4, 236, 12.3k."""
    size, units = float(value), ["", "k", "M", "G", "T", "P"]
    while abs(size) >= _SMALL and len(units) > 1:
        size /= _SMALL
        units.pop(0)
    return f"{size:.0f}{units[0]}" if abs(size) >= 100 or size == int(size) else f"{size:.1f}{units[0]}"


def _counts(view: View) -> list[str]:
    """Return the counts in words; what is not known is not said to be 0."""
    words = []
    summary = view.summary
    if summary.peers is not None:
        words.append(f"peers {summary.peers:,}")
        words.append(f"down {summary.peers_down}")
        words.append(f"oversubscribed {summary.oversubscribed} now, {summary.oversubscribed_low} since reset")
        words.append(f"queue {bytes_text(summary.queue_bytes)}")
    if summary.nis_down:
        words.append(f"NIs down {summary.nis_down}")
    if summary.nis_short:
        words.append(f"NIs short {summary.nis_short}")
    if summary.buffers_short:
        words.append(f"buffers short {summary.buffers_short}")
    if summary.routes_down:
        words.append(f"routes down {summary.routes_down} of {summary.routes}")
    if summary.tx_credits_low is not None:
        words.append(f"lowest tx {summary.tx_credits_low}")
    if summary.buffers_low is not None:
        words.append(f"fewest buffers {summary.buffers_low} ({_pool_of_the_fewest(view)})")
    return words


def _pool_of_the_fewest(view: View) -> str:
    """Return the name of the pool whose low-water mark is the lowest, with its host where there are several."""
    host, pool = next(row.values[:2] for row in view.rows["buffers"] if row.values[5] == view.summary.buffers_low)
    return printable(f"{pool} of {host}" if len(view.hosts) > 1 else str(pool))


def _states(view: View, pane: Pane) -> str:
    """Return how many rows have each sign; nothing for a pane without any."""
    counts = [(Mark.SHORT, "short now"), (Mark.WAS_SHORT, "before"), (Mark.DOWN, "down")]
    return ", ".join(f"{view.with_mark(pane.name, mark)} {words}" for mark, words in counts) if pane.top else ""


def screen(
    view: View,
    model: Model,
    problems: Sequence[str] = (),
    *,
    rows: int,
    width: int,
    bars: str = BARS,
    panes: Sequence[Pane] = PANES,
) -> str:
    """Return a moment as lines: the worst `rows` of each pane, and what could not be read. `problems`: those of the feed."""
    lines = [f"{hosts_text(view)}  {iso(view.time_ns, 3)}", *counts_in_lines(view, width), *notes_in_lines(problems, width)]
    if view.nothing:
        lines += notes_in_lines([] if problems and not view.hosts else [view.nothing], width)
        panes = ()
    for pane in panes:
        found = ordered(pane, view.rows[pane.name], Order())
        layout = Layout(pane, found[:rows], width, hosts=len(view.hosts))
        states = _states(view, pane) if found else ""
        lines += ["", f"{pane.title}: {min(rows, len(found))} of {len(found):,}{': ' if states else ''}{states}"]
        lines += notes_in_lines(view.notes[pane.name], width)
        if found:
            lines.append(layout.head(Order()))
        lines += [line_of(layout, row, model, bars) for row in found[:rows]]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def line_of(layout: Layout, row: Row, model: Model, bars: str = BARS) -> str:
    """Return a row as one line, its history behind it."""
    drawn = spark(model.levels(layout.pane.name, row.key, layout.spark_width), layout.spark_width, top=layout.pane.top, bars=bars)
    return " ".join([*layout.cells(row), drawn])


def hosts_text(view: View) -> str:
    """Return the names of the hosts, those of many shortened."""
    names = [printable(host) for host in view.hosts]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "") if names else "no node"


def counts_in_lines(view: View, width: int) -> list[str]:
    """Return the head line's counts, in as many lines as they need."""
    lines: list[str] = []
    for word in _counts(view):
        if lines and len(lines[-1]) + 2 + len(word) <= width:
            lines[-1] += f"  {word}"
        else:
            lines.append(word)
    return lines


def notes_in_lines(notes: Sequence[str], width: int) -> list[str]:
    """Return what could not be read, in as many lines as it needs, a sign before each note."""
    return [
        line
        for note in notes
        for line in textwrap.wrap(printable(note), width, initial_indent=" ? ", subsequent_indent="   ", break_on_hyphens=False)
    ]


def document(view: View, problems: Sequence[str] = (), *, rows: int | None = None) -> dict[str, Any]:
    """Return a moment for JSON: the worst `rows` of each pane (None: all) with raw numbers, the counts, and what could not be read.

    `problems`: what the feed could not read, as nodes that do not answer.
    """
    panes = {}
    for pane in PANES:
        found = ordered(pane, view.rows[pane.name], Order())
        names = [column.name for column in pane.columns]
        panes[pane.name] = [
            dict(zip(names, row.values, strict=True)) | {"mark": row.mark.name.lower()}
            for row in found[: len(found) if rows is None else rows]
        ]
    return {
        "schema": SCHEMA,
        "time": iso(view.time_ns, 9),
        "hosts": list(view.hosts),
        "summary": view.summary._asdict(),
        **panes,
        "problems": {about: list(lines) for about, lines in {"nodes": problems, **view.notes}.items() if lines},
    }
