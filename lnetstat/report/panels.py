"""Panels above one another that share one time axis, as a plotly figure. What is in them is decided in figures.py.

Text goes to plotly escaped, because plotly reads a little HTML of its own in every title. Colours of text, grid and background are
not set here: the page's style sheet gives them, for light, dark and paper.
"""

import html
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from lnetstat.analysis.results import FloatArray, Interval
from lnetstat.report.decimate import drawn
from lnetstat.report.words import cut

# Okabe and Ito's palette: told apart by everybody, and readable on white and on near black.
COLOURS = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "gray": "#808080",
}
PANEL_PX, BETWEEN_PX, TOP_PX, BOTTOM_PX = 150, 34, 24, 44
ROW_PX = 104  # of a panel among many, so that all of them together fit a window
MOST_SHADED = 400  # intervals: more would be less than 3 pixels apart, and all would look shaded


class View(NamedTuple):
    """What all pictures of a record show at first, epoch seconds, and in how many buckets of time their curves are drawn."""

    begin_s: float
    end_s: float
    buckets: int = 700


class Line(NamedTuple):
    """One curve. `step`: the value holds until the next sample; `name` is what the hover label says."""

    name: str
    colour: str
    time_s: FloatArray
    values: FloatArray
    dash: str = "solid"
    step: bool = False


class Band(NamedTuple):
    """Times that are shaded over the whole height of a panel, unless they are too many; their lowest values are kept in any case."""

    colour: str
    intervals: tuple[Interval, ...]

    @property
    def shaded(self) -> bool:
        """Whether it is drawn."""
        return len(self.intervals) <= MOST_SHADED


class Level(NamedTuple):
    """A horizontal line: a limit, or zero. `side` is where its words stand: above the line or below it."""

    name: str
    value: float
    side: str = "above"


class Panel(NamedTuple):
    """One plot: its title says host, what, unit. `top`: at least so far up it shows, so that two can be compared."""

    title: str
    lines: tuple[Line, ...]
    bands: tuple[Band, ...] = ()
    levels: tuple[Level, ...] = ()
    from_zero: bool = True
    top: float | None = None

    def between(self, begin_s: float, end_s: float) -> "Panel":
        """Return the panel with only what lies in this time, and one point more at either end."""
        lines = []
        for line in self.lines:
            first, stop = np.searchsorted(line.time_s, (begin_s, end_s))
            part = slice(max(0, int(first) - 1), int(stop) + 1)
            lines.append(line._replace(time_s=line.time_s[part], values=line.values[part]))
        bands = [
            band._replace(intervals=tuple(each for each in band.intervals if each[1] > begin_s and each[0] < end_s)) for band in self.bands
        ]
        return self._replace(lines=tuple(lines), bands=tuple(band for band in bands if band.intervals))


def draw(
    panels: list[Panel],
    view: View,
    *,
    time_axis: bool = True,
    x_title: str = "UTC",
    through: Band | None = None,
    panel_px: int = PANEL_PX,
) -> go.Figure:
    """Return the panels, first on top, on one x axis over the view (epoch seconds; plain seconds unless `time_axis`).

    `through`: times that are shaded from the top panel down to the lowest, also between them.
    """
    parts = _Parts([], [], [], {})
    height = TOP_PX + BOTTOM_PX + len(panels) * panel_px + (len(panels) - 1) * BETWEEN_PX
    inner = height - TOP_PX - BOTTOM_PX
    unit = 1000.0 if time_axis else 1.0
    keep = through.intervals if through else ()
    for number, panel in enumerate(panels):
        top = 1 - number * (panel_px + BETWEEN_PX) / inner
        _add_panel(parts, panel, number, (max(0.0, top - panel_px / inner), top), unit, view, keep)
    shapes = _through_shapes(through, unit) if through is not None and through.shaded else []
    layout = {
        **parts.axes,
        "annotations": parts.annotations,
        "shapes": parts.shapes + shapes,
        "template": None,
        "height": height,
        "margin": {"l": 52, "r": 12, "t": TOP_PX, "b": BOTTOM_PX},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12},
        "showlegend": False,
        "hovermode": "x",
        "hoversubplots": "axis",
        "dragmode": "zoom",
        "hoverlabel": {"font": {"color": "#ffffff"}, "bordercolor": "#ffffff"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#808080", "activecolor": "#0072B2"},
        "xaxis": _x_axis(view.begin_s * unit, view.end_s * unit, time_axis, x_title, _main_axis(len(panels) - 1)),
    }
    return go.Figure(parts.traces, layout)


class _Parts(NamedTuple):
    """What becomes a figure, at once: a figure that grows piece by piece looks at all of itself each time."""

    traces: list[go.Scatter]
    annotations: list[dict[str, Any]]
    shapes: list[dict[str, Any]]
    axes: dict[str, dict[str, Any]]


def title_text(text: str, length: int = 70) -> str:
    """Return text that plotly draws as it stands, however hostile."""
    return html.escape(cut(text, length), quote=False).replace("%{", "% {")


def _x_axis(begin: float, end: float, time_axis: bool, title: str, anchor: str) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "range": [begin, end],
        "anchor": anchor,
        "title": {"text": title, "standoff": 6},
        "gridcolor": "#d0d0d0",
        "zeroline": False,
        "tickangle": 0,
    }
    if time_axis:
        axis |= {"type": "date", "hoverformat": "%Y-%m-%dT%H:%M:%S.%LZ", "tickformatstops": _tick_formats()}
    return axis


def _tick_formats() -> list[dict[str, Any]]:
    """ISO at every zoom: the date is repeated below the first tick only."""
    return [
        {"dtickrange": [None, 1000], "value": "%H:%M:%S.%L\n%Y-%m-%d"},
        {"dtickrange": [1000, 60_000], "value": "%H:%M:%S\n%Y-%m-%d"},
        {"dtickrange": [60_000, 86_400_000], "value": "%H:%M\n%Y-%m-%d"},
        {"dtickrange": [86_400_000, None], "value": "%Y-%m-%d"},
    ]


def _main_axis(number: int) -> str:
    return "y" if number == 0 else f"y{2 * number + 1}"


def _band_axis(number: int) -> str:
    return f"y{2 * number + 2}"


def _add_panel(
    parts: _Parts,
    panel: Panel,
    number: int,
    domain: tuple[float, float],
    unit: float,
    view: View,
    also_kept: tuple[Interval, ...],
) -> None:
    main, over = _main_axis(number), _band_axis(number)
    keep = [*also_kept, *(interval for band in panel.bands for interval in band.intervals)]
    for line in panel.lines:
        time_s, values = drawn(line.time_s, line.values, view.buckets, keep)
        parts.traces.append(_line_trace(line, time_s * unit, values, main))
    for band in panel.bands:
        if band.shaded:
            parts.traces.append(_band_trace(band, over, unit))
    for level in panel.levels:
        _add_level(parts, level, main)
    parts.axes[_layout_key(main)] = {
        "domain": list(domain),
        "fixedrange": True,
        "gridcolor": "#d0d0d0",
        "zeroline": False,
        "nticks": 5,
        "exponentformat": "SI",
        **_y_range(panel),
    }
    parts.axes[_layout_key(over)] = {"domain": list(domain), "overlaying": main, "range": [0, 1], "visible": False, "fixedrange": True}
    parts.annotations.append(
        {
            "text": title_text(panel.title),
            "x": 0,
            "xref": "paper",
            "y": domain[1],
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 12},
        }
    )


def _layout_key(axis: str) -> str:
    return f"yaxis{axis[1:]}"


def _y_range(panel: Panel) -> dict[str, Any]:
    values = np.concatenate([line.values[np.isfinite(line.values)] for line in panel.lines] or [np.zeros(0)])
    marks = [level.value for level in panel.levels] + ([0.0] if panel.from_zero else []) + ([panel.top] if panel.top is not None else [])
    low = min([float(values.min())] if values.size else [0.0], default=0.0)
    high = float(values.max()) if values.size else 1.0
    low, high = min([low, *marks]), max([high, *marks])
    room = 0.08 * (high - low) or 1.0
    return {"range": [low if low == 0 and panel.from_zero else low - room, high + room]}


def _line_trace(line: Line, x: FloatArray, y: FloatArray, axis: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=y.astype(np.float32),
        yaxis=axis,
        mode="lines",
        name=title_text(line.name, 40),
        line={"color": COLOURS[line.colour], "width": 1.4, "dash": line.dash, "shape": "hv" if line.step else "linear"},
        hovertemplate="%{y:.4~g}",
    )


def _band_trace(band: Band, axis: str, unit: float) -> go.Scatter:
    """One polygon per interval."""
    corners = [[begin, begin, end, end, np.nan] for begin, end in band.intervals]
    x = np.array(corners, dtype=np.float64).ravel() * unit
    y = np.tile(np.array([0, 1, 1, 0, 0], dtype=np.int8), len(corners))
    return go.Scatter(
        x=x,
        y=y,
        yaxis=axis,
        mode="lines",
        fill="toself",
        fillcolor=_faint(COLOURS[band.colour]),
        line={"color": _faint(COLOURS[band.colour], _outline(len(corners))), "width": 1},
        hoverinfo="skip",
    )


def _through_shapes(band: Band, unit: float) -> list[dict[str, Any]]:
    """One rectangle per interval, as high as the whole picture."""
    line = {"color": _faint(COLOURS[band.colour], _outline(len(band.intervals))), "width": 1}
    shared = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below", "line": line}
    return [{**shared, "x0": begin * unit, "x1": end * unit, "fillcolor": _faint(COLOURS[band.colour])} for begin, end in band.intervals]


def _outline(intervals: int) -> float:
    """Return the opacity of an outline: it keeps a single second visible in a week, but many of them must not hide the curve."""
    return round(min(0.5, 30 / max(1, intervals)), 3)


def _faint(colour: str, opacity: float = 0.25) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def _add_level(parts: _Parts, level: Level, axis: str) -> None:
    parts.shapes.append(
        {
            "type": "line",
            "x0": 0,
            "x1": 1,
            "xref": "paper",
            "y0": level.value,
            "y1": level.value,
            "yref": axis,
            "line": {"color": COLOURS["gray"], "width": 1.2, "dash": "dash" if level.value else "solid"},
        }
    )
    if level.name:
        parts.annotations.append(
            {
                "text": title_text(level.name, 20),
                "x": 1,
                "xref": "paper",
                "y": level.value,
                "yref": axis,
                "xanchor": "right",
                "yanchor": "bottom" if level.side == "above" else "top",
                "showarrow": False,
                "font": {"size": 10},
            }
        )
