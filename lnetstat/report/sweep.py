"""A sweep as a table, a page and a mail: what each point gave, and the two sides of what a phase spread costs beside each other."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lnetstat.report import html, markdown
from lnetstat.report.output import write_bytes
from lnetstat.report.panels import COLOURS, Level, Line, Panel, View, draw, title_text
from lnetstat.report.picture import Key, Picture
from lnetstat.report.rows import Grid
from lnetstat.report.words import NOT_KNOWN, number, plural
from lnetstat.simulator.sweep import Figures, Row, Sweep
from lnetstat.words import printable

MOST_CURVES = 6
MOST_TICKS = 16
CURVE_COLOURS = tuple(colour for colour in COLOURS if colour != "gray")[:MOST_CURVES]
METHOD = (
    "Dead time: what the servers' disks did not get in one ping interval, as so many seconds at their usual rate; the share of the "
    "interval beside it. A flood lasts from the first ping sent until the last one served. Write minimum: the lowest rate of a second, "
    "as a share of the usual one.",
    "peers min and small buffers min: the lowest tx credits towards one peer, and the lowest credits of the small buffers, as the "
    "files peers and buffers show them on a router; below zero, that many messages waited. Required: with so many peer credits none "
    "would have waited for one. Pings per server: those of one interval.",
    "Barrier step: how long a program on all clients takes from one barrier to the next when it computes for 1 ms between them and a "
    "client does not compute while it sends pings. Nodes that ping all at the same time stop the program once an interval; nodes that "
    "ping each at a time of its own stop it again and again (“Minimizing Lustre Ping Effects at Scale on Cray Systems”, CUG 2012, "
    "section VII). It is a model, not a measurement.",
)


class Column(NamedTuple):
    """One figure of a point: what stands over it, its unit, and how it is read from the figures, in that unit."""

    head: str
    unit: str
    value: Callable[[Figures], float | None]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _milliseconds(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / 1e6


DEAD = Column("dead time", "s", lambda each: each.dead_s)
LOST = Column("lost", "%", lambda each: _percent(each.lost_fraction))
FLOOD = Column("flood", "s", lambda each: each.flood_s)
WRITES = Column("write minimum", "%", lambda each: _percent(each.write_minimum_share))
PEERS = Column("peers min", "", lambda each: each.peers_min)
BUFFERS = Column("small buffers min", "", lambda each: each.small_buffers_min)
REQUIRED = Column("required", "", lambda each: each.credits_required)
PINGS = Column("pings/server", "", lambda each: each.pings_per_server)
BARRIER = Column("barrier step", "ms", lambda each: _milliseconds(each.barrier_step_ns))
HIT = Column("steps hit", "%", lambda each: _percent(each.barrier_hit_share))
COLUMNS = (DEAD, LOST, FLOOD, WRITES, PEERS, BUFFERS, REQUIRED, PINGS)


def columns(sweep: Sweep) -> tuple[Column, ...]:
    """Return the columns of the table: barriers where the sweep is about pings, or changes them."""
    about_pings = any(axis.key.startswith(("pings.", "clients.count")) for axis in sweep.axes)
    return (*COLUMNS, BARRIER, HIT) if about_pings or len({row.figures.barrier_step_ns for row in sweep.rows}) > 1 else COLUMNS


def grid(sweep: Sweep, *, thousands: bool = True) -> Grid:
    """Return one row for each point. `thousands`: numbers have their thousands marked."""
    shown = columns(sweep)
    heads = (*(axis.key for axis in sweep.axes), *(f"{each.head}, {each.unit}" if each.unit else each.head for each in shown))
    kinds = ("name",) * len(sweep.axes) + ("number",) * len(shown)
    cells = tuple((*row.values, *(_cell(each.value(row.figures), each, thousands) for each in shown)) for row in sweep.rows)
    return Grid(heads, kinds, cells)


def _cell(value: float | None, column: Column, thousands: bool) -> str:
    if value is None:
        return NOT_KNOWN
    if column is BARRIER:
        return f"{value:.3f}"
    if column.unit:
        return f"{round(value, 2) + 0.0:.2f}"
    return number(round(value)) if thousands else str(round(value))


def notes(sweep: Sweep) -> tuple[str, ...]:
    """Return what the drivers clamped, each with the points where they did."""
    where: dict[str, list[Row]] = {}
    for row in sweep.rows:
        for note in row.notes:
            where.setdefault(note, []).append(row)
    return tuple(_note(sweep, note, rows) for note, rows in where.items())


def _note(sweep: Sweep, note: str, rows: Sequence[Row]) -> str:
    if len(rows) == len(sweep.rows):
        return note
    point = ", ".join(f"{axis.key}={value}" for axis, value in zip(sweep.axes, rows[0].values, strict=True))
    return f"{point}: {note}" + (f" ({plural(len(rows) - 1, 'more point')})" if len(rows) > 1 else "")


def text(sweep: Sweep) -> str:
    """Return the sweep as Markdown."""
    what = f"# {printable(verdict(sweep))}\n\n{markdown.table(grid(sweep), '')}\n"
    return what + "".join(f"\n- {printable(note)}" for note in notes(sweep)) + ("\n" if notes(sweep) else "")


def records(sweep: Sweep) -> list[dict[str, Any]]:
    """Return one mapping for each point: the axes' values as texts, then all figures under their own names, None where not known."""
    keys = [axis.key for axis in sweep.axes]
    return [{**dict(zip(keys, row.values, strict=True)), **row.figures._asdict()} for row in sweep.rows]


def as_json(sweep: Sweep) -> dict[str, Any]:
    """Return the sweep as JSON holds it."""
    axes = [{"key": axis.key, "values": list(axis.values)} for axis in sweep.axes]
    return {
        "schema": 1,
        "scenario": sweep.scenario,
        "settings": sweep.settings,
        "axes": axes,
        "points": records(sweep),
        "notes": list(notes(sweep)),
    }


def csv_text(sweep: Sweep) -> str:
    """Return the sweep as CSV; what is not known is empty."""
    file = io.StringIO()
    writer = csv.DictWriter(file, [axis.key for axis in sweep.axes] + list(Figures._fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records(sweep))
    return file.getvalue()


def write_parquet(sweep: Sweep, path: str) -> None:
    """Write the sweep as Parquet, which takes the file's place when it is whole. Raises SinkError."""
    table = pd.DataFrame(records(sweep))
    whole = [name for name in Figures._fields if name.endswith(("_min", "_required", "_imports"))]
    file = io.BytesIO()
    table.astype(dict.fromkeys(whole, "Int64")).to_parquet(file, index=False)
    write_bytes(path, file.getvalue())


def verdict(sweep: Sweep) -> str:
    """Return the sweep in one line: most and least dead time of an interval, and where."""
    known = [row for row in sweep.rows if row.figures.dead_s is not None]
    if not known:
        return f"{sweep.scenario}: no dead time can be told at any of {plural(len(sweep.rows), 'point')}"
    least, most = (choose(known, key=lambda row: row.figures.dead_s or 0.0) for choose in (min, max))
    ends = [f"{max(0.0, row.figures.dead_s or 0.0):.2f} s with {', '.join(row.values)}" for row in (most, least)]
    return f"{sweep.scenario} over {', '.join(axis.key for axis in sweep.axes)}: dead time {ends[0]}, {ends[1]}"


def page(sweep: Sweep) -> str:
    """Return the sweep as one offline HTML page."""
    drawn = pictures(sweep)
    return html.document(
        "sweep.html",
        f"Sweep of {sweep.scenario}",
        html.figure_data(drawn),
        about=sweep.about,
        verdict=verdict(sweep),
        figures=_key_figures(sweep),
        pictures=drawn,
        points=grid(sweep),
        notes=notes(sweep),
        method=METHOD,
    )


def _key_figures(sweep: Sweep) -> tuple[tuple[str, str], ...]:
    return (
        ("Points", number(len(sweep.rows))),
        *((f"Values of {axis.key}", number(len(axis.values))) for axis in sweep.axes),
        *((key, value) for key, value in sweep.settings.items()),
        ("Imports of a client, for barriers", number(max(row.figures.barrier_imports for row in sweep.rows))),
    )


def pictures(sweep: Sweep) -> tuple[Picture, ...]:
    """Return the pictures of the page: dead time with the barrier step below it, credits, and what happens in a flood."""
    dead = [(DEAD, "dead time of one ping interval, s")]
    if BARRIER in columns(sweep):
        dead.append((BARRIER, "mean barrier step, ms (1 ms of it is computing)"))
    against = f"against {sweep.axes[0].key}"
    return (
        _picture(
            sweep,
            "dead",
            f"Dead time {against}",
            "What pings cost the servers; below it, where the sweep is about pings, what they cost the clients.",
            dead,
        ),
        _picture(
            sweep,
            "credits",
            f"Lowest credits {against}",
            "Below zero, that many messages waited: for peer credits, or for small router buffers.",
            [(PEERS, "lowest peer credits of a router (peers, min)"), (BUFFERS, "lowest small router buffers (buffers, min)")],
        ),
        _picture(
            sweep,
            "floods",
            f"Floods and writes {against}",
            "How long pings flood the servers, and how much is still written meanwhile.",
            [(FLOOD, "length of a flood, s"), (WRITES, "lowest write rate, % of the usual")],
        ),
    )


def _picture(sweep: Sweep, slug: str, title: str, caption: str, wanted: Iterable[tuple[Column, str]]) -> Picture:
    curves = _curves(sweep)
    shown = curves[:MOST_CURVES]
    panels = [
        Panel(
            words,
            tuple(_line(name, colour, rows, column) for (name, rows), colour in zip(shown, CURVE_COLOURS, strict=False)),
            levels=_ZERO,
        )
        for column, words in wanted
        if any(column.value(row.figures) is not None for row in sweep.rows)
    ]
    keys = tuple(Key(colour, "line", name) for (name, _), colour in zip(shown, CURVE_COLOURS, strict=False) if name)
    more = len(curves) - len(shown)
    told = (f"{plural(more, 'more curve')} not drawn: the table has every point.",) if more > 0 else ()
    figure = _figure(panels, sweep) if panels else None
    return Picture(slug, title, caption, keys, told, "Nothing to draw: no point of this sweep has such a figure.", figure, linked=False)


_ZERO = (Level("", 0.0),)


def _curves(sweep: Sweep) -> list[tuple[str, list[Row]]]:
    """Return the points of each curve: those that differ in the first axis only, with the values of the others as the curve's name."""
    curves: dict[tuple[str, ...], list[Row]] = {}
    for row in sweep.rows:
        curves.setdefault(row.values[1:], []).append(row)
    names = [", ".join(f"{axis.key}={value}" for axis, value in zip(sweep.axes[1:], values, strict=True)) for values in curves]
    return list(zip(names, curves.values(), strict=True))


def _line(name: str, colour: str, rows: Sequence[Row], column: Column) -> Line:
    values = [column.value(row.figures) for row in rows]
    y = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return Line(name, colour, np.arange(len(rows), dtype=np.float64), y)


def _figure(panels: list[Panel], sweep: Sweep) -> go.Figure:
    """Draw over the values of the first axis, evenly spaced in the order in which they were given: they may have any unit, or none."""
    labels = [title_text(value, 24) for value in sweep.axes[0].values]
    figure = draw(panels, View(-0.3, len(labels) - 0.7), time_axis=False, x_title=title_text(sweep.axes[0].key))
    every = -(-len(labels) // MOST_TICKS)
    figure.update_layout(hovermode="closest")
    figure.update_xaxes(tickvals=list(range(0, len(labels), every)), ticktext=labels[::every], tickmode="array")
    for trace in figure.data:
        trace.update(
            mode="lines+markers",
            text=[labels[round(place)] for place in trace.x],
            hovertemplate=f"{trace.name + ', ' if trace.name else ''}%{{text}}: %{{y:.4~g}}<extra></extra>",
        )
    return figure
