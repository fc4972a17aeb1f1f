"""Before and after as one page: did the tuning help? (Fig. 8 of "Minimizing Lustre Ping Effects at Scale on Cray Systems", CUG 2012.)"""

from collections.abc import Sequence

import plotly.graph_objects as go

from lnetstat.analysis.comparison import LEVEL, TITLES, Comparison, Figure, shown
from lnetstat.analysis.results import Analysis, CreditSeries, FloatArray, Interval, Signal
from lnetstat.analysis.wording import CREDITS
from lnetstat.report import html, rows
from lnetstat.report.choice import credits_of, dips_of, judged, ranked, time_extent
from lnetstat.report.figures import profile_of
from lnetstat.report.panels import Band, Level, Line, Panel, View, draw
from lnetstat.report.picture import Key, Picture
from lnetstat.report.rows import Grid
from lnetstat.report.words import NOT_KNOWN, scaled

SIDES = ("before", "after")
COLOURS = ("vermillion", "blue")  # apart for every eye, and on paper by their panels
SEVERITIES = {"better": "info", "worse": "critical"}
BUCKETS = 700
METHOD = "Intervals are of {level:.2%} each, so that those of all {compared} figures compared hold together at {together:.0%}."

Pair = tuple[Analysis, Analysis]


def page(found: Comparison, before: Analysis, after: Analysis, *, title: str = "LNet before and after") -> str:
    """Return the comparison as one offline HTML page; `before` and `after` are what it was made of."""
    drawn = pictures(before, after)
    return html.document(
        "compare.html",
        title,
        html.figure_data(drawn),
        severity=SEVERITIES.get(found.verdict, "none"),
        words=found.words,
        records=tuple(zip(SIDES, (rows.record_words(each) for each in (before, after)), strict=True)),
        verdicts=tuple(zip(SIDES, (each.verdict for each in (before, after)), strict=True)),
        pictures=drawn,
        tables=grids(found),
        method=METHOD.format(level=found.level, compared=found.compared, together=LEVEL),
    )


def grids(found: Comparison) -> tuple[tuple[str, Grid], ...]:
    """Return (title, table) of load, dead time and each kind of credits."""
    groups = [("Load", list(found.load)), ("Dead time", [each for each in found.figures if "." not in each.name])]
    for resource, guide in CREDITS.items():
        whose = ", ".join(f"{side} {row}" for side, row in zip(SIDES, found.rows.get(resource, ("", "")), strict=True) if row)
        own = [each for each in found.figures if each.name.startswith(f"{resource}.")]
        groups.append((f"{guide.noun[0].upper()}{guide.noun[1:]}, worst {guide.holder}: {whose}", own))
    return tuple((title, _grid(figures)) for title, figures in groups if figures)


def _grid(figures: Sequence[Figure]) -> Grid:
    heads, kinds = ("", *SIDES, "change", "verdict"), ("name", "number", "number", "number", "sentence")
    return Grid(heads, kinds, tuple(_cells(each) for each in figures))


def _cells(figure: Figure) -> tuple[str, ...]:
    title = TITLES.get(figure.name.rpartition(".")[2], figure.name).strip()
    values = (
        (figure.before, figure.before_interval),
        (figure.after, figure.after_interval),
        (figure.change, figure.change_interval),
    )
    verdict = f"{figure.verdict}: {figure.reason}" if figure.verdict and figure.reason else figure.verdict
    return (title, *(_value(figure, *each) for each in values), verdict)


def _value(figure: Figure, value: float | None, interval: Interval | None) -> str:
    if value is None:
        return NOT_KNOWN
    words = shown(figure, value)
    ends = [shown(figure, each) for each in interval] if interval else []
    return f"{words} ({ends[0]} to {ends[1]})" if ends and ends[0] != ends[1] else words


def pictures(before: Analysis, after: Analysis) -> tuple[Picture, ...]:
    """Return throughput, a cycle and the worst peer's credits, each before and after on the same scale."""
    return _throughput((before, after)), _cycle((before, after)), _credits((before, after))


def _throughput(pair: Pair) -> Picture:
    signals = _signals_of(pair)
    divisor, unit = scaled(_unit(signals), _largest(signals))
    panels = [
        Panel(
            f"{side}: {signal.host}: {signal.name}, {unit}",
            (Line(side, colour, _since_begin(signal.time_s, analysis), signal.rate / divisor),),
            _dips(analysis, signal),
            top=_largest(signals) / divisor,
        )
        for side, colour, analysis, signal in zip(SIDES, COLOURS, pair, signals, strict=True)
        if signal is not None
    ]
    return Picture(
        "throughput",
        "Throughput before and after, on the same scale",
        "Time 0 is the beginning of each record.",
        (*(Key(colour, "line", side) for side, colour in zip(SIDES, COLOURS, strict=True)), *_dip_key(panels)),
        (),
        "No throughput in either record.",
        _drawn(panels, pair),
        linked=False,
    )


def _cycle(pair: Pair) -> Picture:
    profiles = [(side, colour, profile_of(each)) for side, colour, each in zip(SIDES, COLOURS, pair, strict=True)]
    lines = [Line(side, colour, found.lag_s, found.middle) for side, colour, found in profiles if found is not None]
    half = max((found.period_s / 2 for _, _, found in profiles if found is not None), default=1.0)
    without = [side for side, _, found in profiles if found is None]
    panel = Panel("share of its own median", tuple(lines), levels=(Level("", 1.0),))
    return Picture(
        "cycle",
        "One cycle: all incidents laid over one another",
        "The median of all incidents, each at its own onset: how deep the dips are and how long they last.",
        tuple(Key(line.colour, "line", line.name) for line in lines),
        tuple(f"No curve for {side}: no dead time that comes again and again was found there." for side in without) if lines else (),
        "No dead time that comes again and again was found in either record.",
        draw([panel], View(-half, half, BUCKETS), time_axis=False, x_title="seconds after the onset") if lines else None,
        linked=False,
    )


def _credits(pair: Pair) -> Picture:
    worst = [next(iter(credits_of(each, "peer_credits")), None) for each in pair]
    panels = [
        _credit_panel(side, colour, analysis, series)
        for side, colour, analysis, series in zip(SIDES, COLOURS, pair, worst, strict=True)
        if series is not None
    ]
    return Picture(
        "credits",
        "Credits of the worst peer, before and after",
        "Below zero, that many messages waited. The limit is peer_credits; the scales differ.",
        (
            *(Key(colour, "line", side) for side, colour in zip(SIDES, COLOURS, strict=True)),
            Key("gray", "dash", "low-water mark (min)"),
            *_dip_key(panels),
        ),
        (),
        "No peer credits in either record.",
        _drawn(panels, pair),
        linked=False,
    )


def _credit_panel(side: str, colour: str, analysis: Analysis, series: CreditSeries) -> Panel:
    time_s = _since_begin(series.time_s, analysis)
    lines = (Line(side, colour, time_s, series.credits, step=True), Line("min", "gray", time_s, series.credits_min, "dash", step=True))
    levels = (Level("none left", 0.0, "below"), Level(f"limit {series.limit}", float(series.limit)))
    return Panel(f"{side}: {series.host}: {series.subject}", lines, _bands(analysis, analysis.dead_time.incidents), levels)


def _signal_of(analysis: Analysis) -> Signal | None:
    return next(iter(judged(analysis, analysis.dead_time) or ranked(analysis, "throughput")), None)


def _signals_of(pair: Pair) -> tuple[Signal | None, Signal | None]:
    """Return the same signal of both, that of the side with dead time; else each its own, unless they are of different units."""
    sides = pair if pair[0].dead_time.detected or not pair[1].dead_time.detected else pair[::-1]
    first = _signal_of(sides[0])
    same = [each for each in ranked(sides[1], "throughput") if first is not None and _what(each) == _what(first)]
    second = next((each for each in same if first and each.host == first.host), same[0] if same else _signal_of(sides[1]))
    if first is not None and second is not None and first.unit != second.unit:
        second = None
    return (first, second) if sides is pair else (second, first)


def _what(signal: Signal) -> tuple[str, str, str, str]:
    return signal.table, signal.instance, signal.name, signal.unit


def _unit(signals: Sequence[Signal | None]) -> str:
    return next((each.unit for each in signals if each is not None), "")


def _largest(signals: Sequence[Signal | None]) -> float:
    return max((float(each.rate.max()) for each in signals if each is not None and each.rate.size), default=0.0)


def _since_begin(time_s: FloatArray, analysis: Analysis) -> FloatArray:
    since_s: FloatArray = time_s - time_extent(analysis)[0]
    return since_s


def _dips(analysis: Analysis, signal: Signal) -> tuple[Band, ...]:
    return _bands(analysis, dips_of(analysis, signal))


def _bands(analysis: Analysis, intervals: Sequence[Interval]) -> tuple[Band, ...]:
    zero_s = time_extent(analysis)[0]
    moved = tuple((begin - zero_s, end - zero_s) for begin, end in intervals)
    return (Band("orange", moved),) if moved else ()


def _dip_key(panels: Sequence[Panel]) -> tuple[Key, ...]:
    return (Key("orange", "band", "incident: dip of throughput"),) if any(panel.bands for panel in panels) else ()


def _drawn(panels: list[Panel], pair: Pair) -> go.Figure | None:
    length_s = max(end - begin for begin, end in map(time_extent, pair))
    return draw(panels, View(0.0, length_s, BUCKETS), time_axis=False, x_title="seconds since the beginning") if panels else None
