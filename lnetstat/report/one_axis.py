"""Throughput, pings, credits and buffers above one another on one time axis: the insight of the paper, in its order of cause and effect.

"Minimizing Lustre Ping Effects at Scale on Cray Systems" (CUG 2012) found in Figs. 3 to 6 what belongs together by looking at it so.
"""

from collections.abc import Callable, Sequence

from lnetstat.analysis.results import Analysis, CreditSeries, Interval, Signal
from lnetstat.report.choice import (
    PING_SIGNALS,
    blamed_first,
    credits_of,
    incidents_of,
    judged,
    largest_of,
    lowest_of,
    pings_beside,
    ranked,
    served_beside,
)
from lnetstat.report.panels import ROW_PX, Band, Panel, View, draw
from lnetstat.report.picture import CREDIT_KEYS, DIP, Key, Picture, credit_panel, in_use, place, signal_panel, too_many
from lnetstat.report.words import number, percent, plural, seconds

MOST_PEERS = 3
MOST_CURVES = 3  # in one panel
MOST_ROUTERS = 2
MOST_BURST_WORDS = 4
CLOSE_UP_CYCLES = 12
CLOSE_UP_LEAST = 30  # incidents: fewer are told apart in the picture of the whole record
NI_COLOURS, BUFFER_COLOURS = ("blue", "vermillion", "purple"), ("green", "purple", "sky")
BURST = Key("purple", "band", "burst of pings or messages")

Drawn = tuple[list[Panel], list[Key], list[str]]  # panels, keys of their curves, and why there is none


def one_axis(analysis: Analysis, view: View) -> Picture:
    """Return the picture of the whole record; what this record does not hold is said below it."""
    panels, keys, absent = _rows(analysis)
    shaded = _shaded(analysis)
    key = _key_of(shaded) if shaded and shaded.shaded else ()
    close_up = ": see the close-up" if len(shaded.intervals if shaded else ()) >= CLOSE_UP_LEAST else ""
    notes = (*too_many([shaded] if shaded else [], "incident", close_up), *_burst_words(analysis), *absent)
    return Picture(
        "axis",
        "Throughput, pings, credits and buffers on one time axis",
        "Read it from the top: do dips of throughput, pings and missing credits come at the same moment? Credits below zero are messages "
        "that wait. Where buffers fill while peer credits are gone, the peer credits are the cause (Figs. 2 to 6 of the paper).",
        (*keys, *key),
        notes if panels else (),
        " ".join(absent),
        draw(panels, view, through=shaded, panel_px=ROW_PX) if panels else None,
    )


def close_up(analysis: Analysis, view: View) -> Picture | None:
    """Return the same for some cycles, drawn finely; None where the picture of the whole record shows each incident."""
    incidents = incidents_of(analysis)
    if len(incidents) < CLOSE_UP_LEAST:
        return None
    first = (len(incidents) - CLOSE_UP_CYCLES) // 2
    half_s = (incidents[first + CLOSE_UP_CYCLES][0] - incidents[first][0]) / CLOSE_UP_CYCLES / 2
    begin_s, end_s = incidents[first][0] - half_s, incidents[first + CLOSE_UP_CYCLES][0] - half_s
    panels, keys, _ = _rows(analysis)
    within = tuple(each for each in incidents if each[1] > begin_s and each[0] < end_s)
    shaded = _shaded(analysis, within)
    near = [panel.between(begin_s, end_s) for panel in panels]
    return Picture(
        "close-up",
        f"{CLOSE_UP_CYCLES} cycles close up",
        "The same from the middle of the record, drawn finely: what begins first?",
        (*keys, *(_key_of(shaded) if shaded else ())),
        (),
        "",
        draw(near, View(begin_s, end_s, view.buckets), through=shaded, panel_px=ROW_PX) if near else None,
        linked=False,
    )


def top_signals(analysis: Analysis) -> tuple[list[Signal], Signal | None]:
    """Return (throughput, pings) of the top panels: what the verdict is about, what the host of the pings served, and the pings.

    Where no pings were counted, messages stand for them: a flood of pings is one of messages too.
    """
    pings = pings_beside(analysis, analysis.dead_time.host)
    if pings is None:
        messages = [each for each in analysis.signals if each.purpose == "messages"]
        pings = largest_of(each for each in messages if each.host == analysis.dead_time.host) or largest_of(messages)
    served = [each for each in judged(analysis, analysis.dead_time) if each.time_s.size > 1][:1]
    beside = served_beside(analysis, pings) if pings else None
    if beside is not None and all(beside is not each for each in served):
        served.append(beside)
    return served or ranked(analysis, "throughput")[:1], pings


def _rows(analysis: Analysis) -> Drawn:
    makers: tuple[Callable[[Analysis], Drawn], ...] = (_signals, _peers, _interfaces, _buffers)
    made = [make(analysis) for make in makers]
    keys = dict.fromkeys(key for _, found, _ in made for key in found)
    return [panel for panels, _, _ in made for panel in panels], list(keys), [words for _, _, absent in made for words in absent]


def _signals(analysis: Analysis) -> Drawn:
    served, pings = top_signals(analysis)
    panels, keys, absent = [signal_panel(each, "blue") for each in served], [Key("blue", "line", "throughput")] if served else [], []
    if not served:
        absent.append("No throughput in this recording: neither bytes routed or sent (lnet stats) nor requests served (obdfilter, ost_io).")
    if pings is not None:
        panels.append(signal_panel(pings, "vermillion"))
        keys.append(Key("vermillion", "line", "pings (obd_ping)" if pings.purpose == "pings" else "messages"))
    if pings is None or pings.purpose != "pings":
        absent.append("No ping counters in this recording (obd_ping of ost, mdt and mgs on a server, of osc and mdc on a client).")
    return panels, keys, absent


def _peers(analysis: Analysis) -> Drawn:
    series = credits_of(analysis, "peer_credits", "peer_router_credits")
    series = [each for each in series if each.resource == "peer_credits" or lowest_of(each) < 0]
    if not series:
        once = any(each.resource == "peer_credits" for each in analysis.credit_series)
        words = "Each peer was read only once, which makes no curve: the table below has the credits."
        return [], [], [words if once else "No peer credits in this recording (file peers of LNet), or no peer that has any."]
    shown = blamed_first(analysis, series)[:MOST_PEERS]
    return [credit_panel(each) for each in shown], list(CREDIT_KEYS), []


def _interfaces(analysis: Analysis) -> Drawn:
    series = credits_of(analysis, "ni_credits")
    used = [each for each in series if lowest_of(each) < each.limit]
    shown = sorted(used, key=_share_left)[:MOST_CURVES]
    if not shown:
        return [], [], [] if series else ["No NI credits in this recording (file nis of LNet), or they were read only once."]
    names = [f"{place(each.host, each.subject)}, of {each.limit}" for each in shown]
    keys = [Key(colour, "line", f"NI credits: {name}") for colour, name in zip(NI_COLOURS, names, strict=False)]
    return [Panel("NI credits in use or waited for", in_use(shown, NI_COLOURS, names))], keys, []


def _buffers(analysis: Analysis) -> Drawn:
    pools = credits_of(analysis, "router_buffers")
    used = sorted((each for each in pools if float(each.credits.min()) < each.limit), key=_share_left)
    panels: list[Panel] = []
    keys: list[Key] = []
    for host in list(dict.fromkeys(each.host for each in used))[:MOST_ROUTERS]:
        own = [each for each in used if each.host == host][:MOST_CURVES]
        names = [f"{each.subject}{f' (row {each.row})' if each.row else ''}, of {each.limit}" for each in own]
        panels.append(Panel(place(host, "router buffers in use or waited for"), in_use(own, BUFFER_COLOURS, names)))
        keys += [Key(colour, "line", f"router buffers: {name}") for colour, name in zip(BUFFER_COLOURS, names, strict=False)]
    if panels:
        return panels, keys, []
    if pools:
        return [], [], ["No router buffer was in use in any sample of this recording: " + plural(len(pools), "pool") + " stayed full."]
    return [], [], ["No router buffers in this recording (file buffers of a router), or they were read only once."]


def _share_left(series: CreditSeries) -> float:
    return lowest_of(series) / max(1, series.limit)


def _shaded(analysis: Analysis, intervals: tuple[Interval, ...] | None = None) -> Band | None:
    intervals = incidents_of(analysis) if intervals is None else intervals
    return Band("orange" if analysis.dead_time.incidents else "purple", intervals) if intervals else None


def _key_of(band: Band) -> tuple[Key, ...]:
    return (DIP,) if band.colour == DIP.colour else (BURST,)


def _burst_words(analysis: Analysis) -> Sequence[str]:
    exact = [each for each in analysis.ping_bursts if each.signal in PING_SIGNALS]
    return [
        f"{place(each.host, each.signal)}: {len(each.onsets_s)} bursts of about {number(round(each.size))} "
        f"{'pings' if exact else 'messages'}, one every {seconds(each.period_s)} on average (spacing varies by {percent(each.gap_cv)})."
        for each in (exact or analysis.ping_bursts)[:MOST_BURST_WORDS]
    ]
