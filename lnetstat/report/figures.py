"""The paper's pictures, drawn from an analysis: which signals go into which panel, and the words where there is nothing to draw.

Figure numbers are those of "Minimizing Lustre Ping Effects at Scale on Cray Systems" (CUG 2012). All pictures but the folded profile
share one time axis: that of the whole record.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from lnetstat.analysis.results import Analysis, CreditSeries, DeadTime, FloatArray, Interval, PingBursts, Signal
from lnetstat.report.panels import Band, Level, Line, Panel, draw
from lnetstat.report.profile import Profile, folded
from lnetstat.report.words import number, percent, plural, scaled, seconds

MOST_PANELS = 4
MOST_CURVES = 3
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


def pictures(analysis: Analysis) -> tuple[Picture, ...]:
    """Return all pictures of the report in their order."""
    extent = time_extent(analysis)
    makers: tuple[Callable[[Analysis, Interval], Picture], ...] = (_throughput, _io_and_pings, _messages, _peers, _buffers, _profile)
    return tuple(make(analysis, extent) for make in makers)


def time_extent(analysis: Analysis) -> Interval:
    """Return (begin, end) in epoch seconds of the record: what the common time axis shows at first."""
    hosts = [(each.begin_ns / 1e9, each.end_ns / 1e9) for each in analysis.quality]
    begin, end = min((each[0] for each in hosts), default=0.0), max((each[1] for each in hosts), default=0.0)
    return begin, max(end, begin + 1.0)


def _throughput(analysis: Analysis, extent: Interval) -> Picture:
    signals = _ranked(analysis, "throughput")
    panels = [_signal_panel(signal, "blue", _bands(("orange", _dips(analysis, signal)))) for signal in signals[:MOST_PANELS]]
    marked = any(panel.bands for panel in panels)
    return Picture(
        "throughput",
        "Throughput, with incidents marked",
        "Dead time shows as brief, regular dips to near zero (Fig. 2 of the paper)."
        + ("" if marked or not panels else " No dips were found to mark."),
        _used_keys(Key("blue", "line", "throughput"), Key("orange", "band", "incident: dip of throughput"), marked=marked),
        _not_drawn(len(signals), "throughput signal"),
        "No throughput in this recording: neither bytes routed or sent (lnet stats) nor bytes or requests served (obdfilter, ost_io).",
        _figure(panels, extent),
    )


def _io_and_pings(analysis: Analysis, extent: Interval) -> Picture:
    pings = _largest(signal for signal in analysis.signals if signal.purpose == "pings")
    panels: list[Panel] = []
    notes: tuple[str, ...] = ()
    served = _served_beside(analysis, pings) if pings else None
    if pings:
        bursts = _bands(("purple", pings.incidents))
        panels = [_signal_panel(pings, "vermillion", bursts)]
        if served:
            panels.insert(0, _signal_panel(served, "blue", _bands(("orange", _dips(analysis, served))) + bursts))
        else:
            notes = ("No ost_io requests, bytes or messages in this recording to compare the pings with.",)
    bands = {band.colour for panel in panels for band in panel.bands}
    return Picture(
        "pings",
        "Requests served, against pings",
        "When pings are the cause, requests served fall in the moment in which pings come (Fig. 3 of the paper).",
        (
            *((Key("blue", "line", "requests or bytes"),) if served else ()),
            Key("vermillion", "line", "pings (obd_ping)"),
            *((Key("orange", "band", "incident: dip of throughput"),) if "orange" in bands else ()),
            *((Key("purple", "band", "ping burst"),) if "purple" in bands else ()),
        ),
        notes,
        "No ping counters in this recording (obd_ping of ost, mdt and mgs on a server, of osc and mdc on a client).",
        _figure(panels, extent),
    )


def _messages(analysis: Analysis, extent: Interval) -> Picture:
    signals = _ranked(analysis, "messages")
    panels = [_signal_panel(signal, "green", _bands(("purple", signal.incidents))) for signal in signals[:MOST_PANELS]]
    marked = any(panel.bands for panel in panels)
    return Picture(
        "messages",
        "Messages per second, with bursts marked",
        "A router counts messages whatever they carry: ping floods stand out as short peaks of route_count.",
        _used_keys(Key("green", "line", "messages"), Key("purple", "band", "burst of messages"), marked=marked),
        (*(_burst_words(each) for each in analysis.ping_bursts[:8]), *_not_drawn(len(signals), "message signal")),
        "No message counters in this recording (file stats of LNet), or no message was counted.",
        _figure(panels, extent),
    )


def _burst_words(bursts: PingBursts) -> str:
    what = "pings" if bursts.signal in ("obd_ping", "ping_rate") else "messages"
    return (
        f"{_place(bursts.host, bursts.signal)}: {len(bursts.onsets_s)} bursts of about {number(round(bursts.size))} {what}, one every "
        f"{seconds(bursts.period_s)} on average (spacing varies by {percent(bursts.gap_cv)})."
    )


def _peers(analysis: Analysis, extent: Interval) -> Picture:
    series = [each for each in analysis.credit_series if each.resource in ("peer_credits", "peer_router_credits") and each.time_s.size]
    series = [each for each in series if each.resource == "peer_credits" or _lowest(each) < 0]
    series.sort(key=_lowest)
    dips = analysis.dead_time.incidents
    return Picture(
        "peers",
        "Peer credits of the worst peers",
        "Below zero, messages wait: -63 means that 63 do. The low-water mark keeps what samples miss (Fig. 4 of the paper).",
        _used_keys(
            Key("blue", "line", "credits now"),
            Key("vermillion", "dash", "low-water mark (min)"),
            Key("gray", "dash", "limit; thin line: zero"),
            Key("orange", "band", "incident: dip of throughput"),
            marked=bool(dips),
        ),
        _not_drawn(len(series), "peer"),
        "No peer credits in this recording (file peers of LNet), or no peer that has any.",
        _figure([_credit_panel(each, _bands(("orange", dips))) for each in series[:MOST_PANELS]], extent),
    )


def _credit_panel(series: CreditSeries, bands: tuple[Band, ...]) -> Panel:
    what = "rtr credits" if series.resource == "peer_router_credits" else "tx credits"
    lines = (
        Line("now", "blue", series.time_s, series.credits, step=True),
        Line("low-water", "vermillion", series.time_s, series.credits_min, "dash", step=True),
    )
    levels = (Level(f"limit {series.limit}", float(series.limit)), Level("", 0.0))
    return Panel(f"{_place(series.host, series.subject)}: {what}", lines, bands, levels)


def _buffers(analysis: Analysis, extent: Interval) -> Picture:
    pools = [each for each in analysis.credit_series if each.resource == "router_buffers" and each.time_s.size]
    used = [each for each in pools if float(each.credits.min()) < each.limit]
    hosts = list(dict.fromkeys(each.host for each in sorted(used, key=_most_in_use, reverse=True)))
    panels: list[Panel] = []
    keys: list[Key] = []
    for host in hosts[:2]:
        own = sorted((each for each in used if each.host == host), key=_most_in_use, reverse=True)[:MOST_CURVES]
        peers = [each for each in analysis.credit_series if each.resource == "peer_credits" and each.host == host and each.time_s.size]
        peers = sorted(peers, key=_lowest)[:MOST_CURVES]
        panels.append(Panel(f"{_place(host, 'router buffers in use')}", _in_use(own, BUFFER_COLOURS)))
        panels.append(Panel(f"{_place(host, 'peer credits in use or waited for')}", _in_use(peers, PEER_COLOURS)))
        keys += [
            Key(line.colour, "line", _place(host if len(hosts) > 1 else "", line.name)) for panel in panels[-2:] for line in panel.lines
        ]
    absent = "No router buffers in this recording (file buffers of a router)."
    if pools:
        absent = "No router buffer was in use in any sample of this recording: " + plural(len(pools), "pool") + " stayed full."
    return Picture(
        "buffers",
        "Router buffers in use, against peer credits",
        "Where both rise together, messages sit in buffers because the next hop has no credits: the peer credits are the cause (Fig. 5).",
        tuple(keys),
        (),
        absent,
        _figure(panels, extent),
    )


def _in_use(series: Sequence[CreditSeries], colours: Sequence[str]) -> tuple[Line, ...]:
    return tuple(
        Line(_row_name(each, series), colour, each.time_s, each.limit - each.credits, step=True)
        for each, colour in zip(series, colours, strict=False)
    )


def _row_name(series: CreditSeries, among: Sequence[CreditSeries]) -> str:
    several = sum(each.subject == series.subject for each in among) > 1 or series.row > 0
    return f"{series.subject} (row {series.row})" if several else series.subject


def _profile(analysis: Analysis, extent: Interval) -> Picture:
    found = [profile for profile in _profiles(analysis) if profile is not None][:MOST_PANELS]
    panels: list[Panel] = []
    for profile in found:
        lines = (
            Line("a quarter is lower", "sky", profile.lag_s, profile.low, "dot"),
            Line("a quarter is higher", "sky", profile.lag_s, profile.high, "dot"),
            Line("median", "blue", profile.lag_s, profile.middle),
        )
        panels.append(Panel(f"{profile.name}: share of its median, {profile.incidents} incidents", lines, levels=(Level("", 1.0),)))
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
            *((Key("vermillion", "line", "pings"),) if any(profile.pings is not None for profile in found) else ()),
        ),
        (),
        "Dead time was found, but too few of its samples lie in one signal to draw a cycle."
        if known
        else "No profile of a cycle: no dead time that comes again and again was found.",
        draw(panels, begin_s=-half, end_s=half, time_axis=False, x_title="seconds after the onset") if panels else None,
        linked=False,
    )


def _profiles(analysis: Analysis) -> Iterable[Profile | None]:
    pings = _largest(signal for signal in analysis.signals if signal.purpose == "pings")
    for verdict in analysis.series or (analysis.dead_time,):
        signal = next((each for each in analysis.signals if _is_about(verdict, each)), None)
        if (verdict.detected or verdict.recurrent) and signal is not None:
            name = _place(signal.host, signal.name)
            own = next((each for each in analysis.signals if each.purpose == "pings" and each.host == signal.host), pings)
            ping_name = f"{_place(own.host, own.name)}, {own.unit}" if own else ""
            yield folded(name, signal, verdict.incidents, verdict.period_s, ping_name, own)


def _is_about(verdict: DeadTime, signal: Signal) -> bool:
    return (verdict.host, verdict.table, verdict.instance, verdict.signal) == (signal.host, signal.table, signal.instance, signal.name)


def _dips(analysis: Analysis, signal: Signal) -> tuple[Interval, ...]:
    """Return the signal's own dips; where it was judged only in a stack of its kind, those of the stack."""
    if signal.incidents or any(_is_about(verdict, signal) for verdict in analysis.series):
        return signal.incidents
    kin = (each for each in analysis.series if (each.role, each.table, each.signal) == (signal.role, signal.table, signal.name))
    return next((each.incidents for each in kin), ())


def _ranked(analysis: Analysis, purpose: str) -> list[Signal]:
    """Return the signals of one purpose: in the order of their verdicts, then those with incidents, then the busiest."""
    places = {(each.host, each.table, each.instance, each.signal): place for place, each in reversed(list(enumerate(analysis.series)))}

    def rank(signal: Signal) -> tuple[int, int, float]:
        place = places.get((signal.host, signal.table, signal.instance, signal.name), len(places))
        return place, -len(signal.incidents), -float(signal.rate.sum())

    return sorted((each for each in analysis.signals if each.purpose == purpose and each.time_s.size), key=rank)


def _largest(signals: Iterable[Signal]) -> Signal | None:
    return max((each for each in signals if each.time_s.size), key=lambda each: float((each.rate * each.interval_s).sum()), default=None)


def _served_beside(analysis: Analysis, pings: Signal) -> Signal | None:
    """Return what the host of the pings served (ost_io before all else), or what it sent and received."""
    own = [each for each in _ranked(analysis, "throughput") if each.host == pings.host]
    return next((each for each in own if each.instance == "ost_io"), own[0] if own else None)


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


def _figure(panels: Sequence[Panel], extent: Interval) -> go.Figure | None:
    return draw(list(panels), begin_s=extent[0], end_s=extent[1]) if panels else None


def _lowest(series: CreditSeries) -> float:
    return float(min(series.credits.min(), series.credits_min.min()))


def _most_in_use(series: CreditSeries) -> float:
    return float(series.limit - series.credits.min())
