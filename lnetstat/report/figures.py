"""The paper's pictures, drawn from an analysis: which signals go into which panel, and the words where there is nothing to draw.

Figure numbers are those of "Minimizing Lustre Ping Effects at Scale on Cray Systems" (CUG 2012). All pictures but the folded profile
share one time axis: that of the whole record.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from lnetstat.analysis.results import Analysis, CreditSeries, FloatArray, Interval, Signal
from lnetstat.report.choice import (
    PING_SIGNALS,
    credits_of,
    dips_of,
    incidents_of,
    judged,
    largest_of,
    lowest_of,
    pings_beside,
    ranked,
    served_beside,
    time_extent,
)
from lnetstat.report.panels import Band, Level, Line, Panel, View, draw
from lnetstat.report.profile import Profile, folded
from lnetstat.report.words import number, percent, plural, scaled, seconds

MOST_PANELS = 4
MOST_CURVES = 3
MOST_BURST_WORDS = 8
CLOSE_UP_CYCLES = 12
CLOSE_UP_LEAST = 30  # incidents: fewer are told apart in the pictures of the whole record
BUFFER_COLOURS, PEER_COLOURS = ("green", "orange", "purple"), ("blue", "vermillion", "sky")


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


def pictures(analysis: Analysis, *, buckets: int = 700) -> tuple[Picture, ...]:
    """Return all pictures of the report in their order. `buckets`: how finely long curves are drawn; 2 points each."""
    view = View(*time_extent(analysis), buckets)
    makers: tuple[Callable[[Analysis, View], Picture], ...] = (
        _throughput,
        _io_and_pings,
        _messages,
        _peers,
        _buffers,
        _close_up,
        _profile,
    )
    return tuple(make(analysis, view) for make in makers)


def _throughput(analysis: Analysis, view: View) -> Picture:
    signals = ranked(analysis, "throughput")
    panels = [_signal_panel(signal, "blue", _bands(("orange", dips_of(analysis, signal)))) for signal in signals[:MOST_PANELS]]
    marked = _shaded(panels)
    return Picture(
        "throughput",
        "Throughput, with incidents marked",
        "Dead time shows as brief dips that come again and again (Fig. 2 of the paper)."
        + ("" if any(panel.bands for panel in panels) else " No dips were found to mark."),
        _used_keys(Key("blue", "line", "throughput"), Key("orange", "band", "incident: dip of throughput"), marked=marked),
        (*_not_shaded(panels, "incident"), *_not_drawn(len(signals), "throughput signal")),
        "No throughput in this recording: neither bytes routed or sent (lnet stats) nor bytes or requests served (obdfilter, ost_io).",
        _figure(panels, view),
    )


def _io_and_pings(analysis: Analysis, view: View) -> Picture:
    pings = largest_of(signal for signal in analysis.signals if signal.purpose == "pings")
    panels: list[Panel] = []
    notes: tuple[str, ...] = ()
    served = served_beside(analysis, pings) if pings else None
    if pings:
        bursts = _bands(("purple", pings.incidents))
        panels = [_signal_panel(pings, "vermillion", bursts)]
        if served:
            panels.insert(0, _signal_panel(served, "blue", bursts))
        else:
            notes = ("No ost_io requests, bytes or messages in this recording to compare the pings with.",)
    marked = _shaded(panels)
    keys = (
        *((Key("blue", "line", "requests or bytes"),) if served else ()),
        Key("vermillion", "line", "pings (obd_ping)"),
        Key("purple", "band", "ping burst"),
    )
    return Picture(
        "pings",
        "Requests served, against pings",
        "When pings are the cause, requests served fall in the moment in which pings come (Fig. 3 of the paper).",
        _used_keys(*keys, marked=marked),
        (*notes, *_burst_words(analysis, pings=True), *_not_shaded(panels, "burst")),
        "No ping counters in this recording (obd_ping of ost, mdt and mgs on a server, of osc and mdc on a client).",
        _figure(panels, view),
    )


def _messages(analysis: Analysis, view: View) -> Picture:
    signals = ranked(analysis, "messages")
    panels = [_signal_panel(signal, "green", _bands(("purple", signal.incidents))) for signal in signals[:MOST_PANELS]]
    marked = _shaded(panels)
    return Picture(
        "messages",
        "Messages per second, with bursts marked",
        "A router counts messages whatever they carry: ping floods stand out as short peaks of route_count.",
        _used_keys(Key("green", "line", "messages"), Key("purple", "band", "burst of messages"), marked=marked),
        (*_burst_words(analysis, pings=False), *_not_shaded(panels, "burst"), *_not_drawn(len(signals), "message signal")),
        "No message counters in this recording (file stats of LNet), or no message was counted.",
        _figure(panels, view),
    )


def _burst_words(analysis: Analysis, *, pings: bool) -> tuple[str, ...]:
    found = [each for each in analysis.ping_bursts if (each.signal in PING_SIGNALS) == pings][:MOST_BURST_WORDS]
    return tuple(
        f"{_place(each.host, each.signal)}: {len(each.onsets_s)} bursts of about {number(round(each.size))} "
        f"{'pings' if pings else 'messages'}, one every {seconds(each.period_s)} on average (spacing varies by {percent(each.gap_cv)})."
        for each in found
    )


def _peers(analysis: Analysis, view: View) -> Picture:
    series = credits_of(analysis, "peer_credits", "peer_router_credits")
    series = [each for each in series if each.resource == "peer_credits" or lowest_of(each) < 0]
    once = any(each.resource == "peer_credits" for each in analysis.credit_series)
    panels = [_credit_panel(each, _bands(("orange", analysis.dead_time.incidents))) for each in series[:MOST_PANELS]]
    return Picture(
        "peers",
        "Peer credits of the worst peers",
        "Below zero, messages wait: -63 means that 63 do. The low-water mark keeps what samples miss (Fig. 4 of the paper).",
        _used_keys(
            Key("blue", "line", "credits now"),
            Key("vermillion", "dash", "low-water mark (min)"),
            Key("gray", "dash", "limit; thin line: zero"),
            Key("orange", "band", "incident: dip of throughput"),
            marked=_shaded(panels),
        ),
        (*_not_shaded(panels, "incident"), *_not_drawn(len(series), "peer")),
        "Each peer was read only once, which makes no curve: the table below has the credits."
        if once
        else "No peer credits in this recording (file peers of LNet), or no peer that has any.",
        _figure(panels, view),
    )


def _credit_panel(series: CreditSeries, bands: tuple[Band, ...]) -> Panel:
    what = "rtr credits" if series.resource == "peer_router_credits" else "tx credits"
    lines = (
        Line("now", "blue", series.time_s, series.credits, step=True),
        Line("low-water", "vermillion", series.time_s, series.credits_min, "dash", step=True),
    )
    levels = (Level(f"limit {series.limit}", float(series.limit)), Level("", 0.0))
    return Panel(f"{_place(series.host, series.subject)}: {what}", lines, bands, levels)


def _buffers(analysis: Analysis, view: View) -> Picture:
    pools = credits_of(analysis, "router_buffers")
    used = [each for each in pools if float(each.credits.min()) < each.limit]
    hosts = list(dict.fromkeys(each.host for each in sorted(used, key=_most_in_use, reverse=True)))
    panels: list[Panel] = []
    keys: list[Key] = []
    for host in hosts[:2]:
        own = sorted((each for each in used if each.host == host), key=_most_in_use, reverse=True)[:MOST_CURVES]
        peers = credits_of(analysis, "peer_credits", host=host)[:MOST_CURVES]
        beside = [Panel(_place(host, "router buffers in use"), _in_use(own, BUFFER_COLOURS))]
        if peers:
            beside.append(Panel(_place(host, "peer credits in use or waited for"), _in_use(peers, PEER_COLOURS)))
        keys += [Key(line.colour, "line", _place(host if len(hosts) > 1 else "", line.name)) for panel in beside for line in panel.lines]
        panels += beside
    absent = "No router buffers in this recording (file buffers of a router), or they were read only once."
    if pools:
        absent = "No router buffer was in use in any sample of this recording: " + plural(len(pools), "pool") + " stayed full."
    return Picture(
        "buffers",
        "Router buffers in use, against peer credits",
        "Where both rise together, messages sit in buffers because the next hop has no credits: the peer credits are the cause (Fig. 5).",
        tuple(keys),
        (),
        absent,
        _figure(panels, view),
    )


def _in_use(series: Sequence[CreditSeries], colours: Sequence[str]) -> tuple[Line, ...]:
    return tuple(
        Line(_row_name(each, series), colour, each.time_s, each.limit - each.credits, step=True)
        for each, colour in zip(series, colours, strict=False)
    )


def _row_name(series: CreditSeries, among: Sequence[CreditSeries]) -> str:
    several = sum(each.subject == series.subject for each in among) > 1 or series.row > 0
    return f"{series.subject} (row {series.row})" if several else series.subject


def _profile(analysis: Analysis, view: View) -> Picture:
    found = [profile for profile in _profiles(analysis) if profile is not None][:MOST_PANELS]
    panels: list[Panel] = []
    for profile in found:
        lines = (
            Line("a quarter is lower", "sky", profile.lag_s, profile.low, "dot"),
            Line("a quarter is higher", "sky", profile.lag_s, profile.high, "dot"),
            Line("median", "blue", profile.lag_s, profile.middle),
            *_box(profile),
        )
        panels.append(
            Panel(f"{profile.name}: share of its median, {profile.incidents} incidents", lines, levels=(Level("", 1.0),), from_zero=False)
        )
        if profile.pings is not None:
            panels.append(Panel(f"{profile.pings_name}: mean", (Line("pings", "vermillion", profile.lag_s, profile.pings),)))
    half = max((profile.period_s / 2 for profile in found), default=1.0)
    known = bool(analysis.dead_time.detected or analysis.dead_time.recurrent)
    return Picture(
        "profile",
        "One cycle: all incidents laid over one another",
        "Time 0 is the onset of each incident, followed one by one: a fixed period would smear cycles that drift.",
        (
            Key("blue", "line", "median of all cycles"),
            Key("sky", "dot", "half of the cycles lie between"),
            *((Key("orange", "dash", "fitted box: duration and depth as found"),) if any(_box(profile) for profile in found) else ()),
            *((Key("vermillion", "line", "pings"),) if any(profile.pings is not None for profile in found) else ()),
        ),
        (),
        "Dead time was found, but too few of its samples lie in one signal to draw a cycle."
        if known
        else "No profile of a cycle: no dead time that comes again and again was found.",
        draw(panels, View(-half, half, view.buckets), time_axis=False, x_title="seconds after the onset") if panels else None,
        linked=False,
    )


def _box(profile: Profile) -> tuple[Line, ...]:
    """Return the box that was fitted; nothing where samples are too long to tell how deep it is."""
    if not profile.duration_s or profile.depth is None:
        return ()
    lag_s = np.array([-profile.period_s / 2, 0.0, profile.duration_s, profile.period_s / 2])
    return (Line("fitted box", "orange", lag_s, np.array([1.0, 1 - profile.depth, 1.0, 1.0]), "dash", step=True),)


def profile_of(analysis: Analysis) -> Profile | None:
    """Return the mean cycle of the verdict on dead time; None where there is none to draw."""
    return next((profile for profile in _profiles(analysis) if profile is not None), None)


def _profiles(analysis: Analysis) -> Iterable[Profile | None]:
    for verdict in analysis.series or (analysis.dead_time,):
        signals = judged(analysis, verdict)
        if (verdict.detected or verdict.recurrent) and signals:
            pings = pings_beside(analysis, verdict.host)
            ping_name = f"{_place(pings.host, pings.name)}, {pings.unit}" if pings else ""
            name = _place(verdict.host, f"{verdict.instance} {verdict.signal}".strip())
            found = folded(name, signals, verdict.incidents, verdict.period_s, ping_name, pings)
            yield found and found._replace(duration_s=verdict.duration_s, depth=verdict.depth if verdict.depth_resolved else None)


def _close_up(analysis: Analysis, view: View) -> Picture:
    """Some cycles at full resolution: the deepest insight into a long record is a short piece of it."""
    incidents = incidents_of(analysis)
    panels: list[Panel] = []
    if len(incidents) >= CLOSE_UP_LEAST:
        first = (len(incidents) - CLOSE_UP_CYCLES) // 2
        cycle_s = (incidents[first + CLOSE_UP_CYCLES][0] - incidents[first][0]) / CLOSE_UP_CYCLES
        begin_s, end_s = incidents[first][0] - cycle_s / 2, incidents[first + CLOSE_UP_CYCLES][0] - cycle_s / 2
        view = View(begin_s, end_s, view.buckets)
        panels = _close_panels(analysis, begin_s, end_s)
    colours = {line.colour for panel in panels for line in panel.lines}
    bands = {band.colour for panel in panels for band in panel.bands}
    keys = (
        Key("blue", "line", "throughput, credits now"),
        Key("vermillion", "line", "pings; low-water mark (min), dashed"),
        Key("orange", "band", "incident: dip of throughput"),
        Key("purple", "band", "ping burst"),
    )
    return Picture(
        "close-up",
        f"{CLOSE_UP_CYCLES} cycles close up",
        "From the middle of the record, drawn finely: do pings, dips of throughput and missing credits come together?",
        tuple(key for key in keys if key.colour in (bands if key.shape == "band" else colours)),
        (),
        "No close-up: the pictures of the whole record show every incident." if incidents else "No close-up: there are no incidents.",
        draw(panels, view) if panels else None,
        linked=False,
    )


def _close_panels(analysis: Analysis, begin_s: float, end_s: float) -> list[Panel]:
    signals = judged(analysis, analysis.dead_time) or ranked(analysis, "throughput")
    panels = [_signal_panel(each, "blue", _bands(("orange", dips_of(analysis, each)))) for each in signals[:1]]
    pings = pings_beside(analysis, analysis.dead_time.host)
    if pings:
        panels.append(_signal_panel(pings, "vermillion", _bands(("purple", pings.incidents))))
    peers = credits_of(analysis, "peer_credits")
    panels += [_credit_panel(each, _bands(("orange", analysis.dead_time.incidents))) for each in peers[:1]]
    return [panel.between(begin_s, end_s) for panel in panels]


def _shaded(panels: Sequence[Panel]) -> bool:
    return any(band.shaded for panel in panels for band in panel.bands)


def _not_shaded(panels: Sequence[Panel], noun: str) -> tuple[str, ...]:
    """Return a note where intervals are too many to be shaded."""
    most = max((len(band.intervals) for panel in panels for band in panel.bands if not band.shaded), default=0)
    if not most:
        return ()
    return (f"{plural(most, noun)} lie too close to be shaded at this scale: see the close-up of {CLOSE_UP_CYCLES} cycles.",)


def _not_drawn(count: int, noun: str) -> tuple[str, ...]:
    """Return a note on what there was no room for: MOST_PANELS of `count` are drawn."""
    rest = count - MOST_PANELS
    return (f"{plural(rest, f'more {noun}')} of this recording not drawn: these are the worst or busiest.",) if rest > 0 else ()


def _signal_panel(signal: Signal, colour: str, bands: tuple[Band, ...]) -> Panel:
    divisor, unit = scaled(signal.unit, float(signal.rate.max()) if signal.rate.size else 0.0)
    name = f"{signal.instance} {signal.name}" if signal.instance else signal.name
    rate: FloatArray = np.asarray(signal.rate / divisor)
    return Panel(f"{_place(signal.host, name)}, {unit}", (Line(unit, colour, signal.time_s, rate),), bands)


def _place(host: str, what: str) -> str:
    return f"{host}: {what}" if host else what


def _bands(*groups: tuple[str, tuple[Interval, ...]]) -> tuple[Band, ...]:
    return tuple(Band(colour, intervals) for colour, intervals in groups if intervals)


def _used_keys(*keys: Key, marked: bool) -> tuple[Key, ...]:
    return tuple(key for key in keys if marked or key.shape != "band")


def _figure(panels: Sequence[Panel], view: View) -> go.Figure | None:
    return draw(list(panels), view) if panels else None


def _most_in_use(series: CreditSeries) -> float:
    return float(series.limit - series.credits.min())
