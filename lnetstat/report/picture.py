"""What a section of a page with a picture is made of, and the panels that several pictures share."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from lnetstat.analysis.results import CreditSeries, FloatArray, Interval, Signal
from lnetstat.report.panels import Band, Level, Line, Panel
from lnetstat.report.words import plural, scaled


class Key(NamedTuple):
    """One entry of a picture's legend. `shape`: line, dash, dot or band."""

    colour: str
    shape: str
    words: str


class Picture(NamedTuple):
    """One section of the page. `figure` is None where there is nothing to draw; then `absent` says so in words.

    `linked`: its x axis is the common time axis.
    """

    slug: str
    title: str
    caption: str
    keys: tuple[Key, ...]
    notes: tuple[str, ...]
    absent: str
    figure: go.Figure | None
    linked: bool = True


DIP = Key("orange", "band", "incident: dip of throughput")
CREDIT_KEYS = (
    Key("blue", "line", "credits now"),
    Key("vermillion", "dash", "low-water mark (min)"),
    Key("gray", "dash", "limit; thin line: zero"),
)


def place(host: str, what: str) -> str:
    """Return what stands before a panel: host and what, or only what where no host is known."""
    return f"{host}: {what}" if host else what


def bands(*groups: tuple[str, tuple[Interval, ...]]) -> tuple[Band, ...]:
    """Return bands of (colour, intervals); none for what has no intervals."""
    return tuple(Band(colour, intervals) for colour, intervals in groups if intervals)


def signal_panel(signal: Signal, colour: str, shaded: tuple[Band, ...] = ()) -> Panel:
    """Return the curve of one signal, bytes in the unit that suits its peak."""
    divisor, unit = scaled(signal.unit, float(signal.rate.max()) if signal.rate.size else 0.0)
    name = f"{signal.instance} {signal.name}" if signal.instance else signal.name
    rate: FloatArray = np.asarray(signal.rate / divisor)
    return Panel(f"{place(signal.host, name)}, {unit}", (Line(unit, colour, signal.time_s, rate),), shaded)


CREDIT_COLUMNS = {
    "peer_credits": "peer credits (tx)",
    "peer_router_credits": "peer router credits (rtr)",
    "ni_credits": "NI credits (tx)",
    "router_buffers": "router buffers (credits)",
}


def credit_panel(series: CreditSeries) -> Panel:
    """Return credits, low-water mark and limit of one row: below zero, that many messages wait."""
    name = series.subject + (f" (row {series.row})" if series.row else "")
    lines = (
        Line("now", "blue", series.time_s, series.credits, step=True),
        Line("low-water", "vermillion", series.time_s, series.credits_min, "dash", step=True),
    )
    levels = (Level(f"limit {series.limit}", float(series.limit)), Level("", 0.0))
    return Panel(f"{place(series.host, name)}: {CREDIT_COLUMNS.get(series.resource, series.resource)}", lines, levels=levels)


def in_use(series: Sequence[CreditSeries], colours: Sequence[str], name_of: Sequence[str]) -> tuple[Line, ...]:
    """Return one curve for each row, as far as there are colours: its credits in use or waited for."""
    return tuple(
        Line(name, colour, each.time_s, each.limit - each.credits, step=True)
        for each, colour, name in zip(series, colours, name_of, strict=False)
    )


def too_many(found: Sequence[Band], noun: str, where: str) -> tuple[str, ...]:
    """Return a note where intervals are too many to be shaded; `where` they can be seen."""
    most = max((len(band.intervals) for band in found if not band.shaded), default=0)
    return (f"{plural(most, noun)} lie too close to be shaded at this scale{where}.",) if most else ()
