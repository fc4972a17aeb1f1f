"""The report's pictures, drawn from an analysis: which signals go into which panel, and the words where there is nothing to draw.

Figure numbers are those of "Minimizing Lustre Ping Effects at Scale on Cray Systems" (CUG 2012). All pictures but the close-up and the
folded profile share one time axis: that of the whole record.
"""

from collections.abc import Iterable

import numpy as np

from lnetstat.analysis.results import Analysis, CreditSeries
from lnetstat.report.choice import blamed_first, credits_of, dips_of, judged, pings_beside, ranked, time_extent
from lnetstat.report.one_axis import BURST, close_up, one_axis, top_signals
from lnetstat.report.panels import Level, Line, Panel, View, draw
from lnetstat.report.picture import CREDIT_KEYS, DIP, Key, Picture, bands, credit_panel, place, signal_panel, too_many
from lnetstat.report.profile import Profile, folded
from lnetstat.report.words import plural

MOST_PANELS = 4
MOST_ROWS = 24  # of credits, each with a picture of its own
ROW_FINER = 3  # how much more coarsely those are drawn than the others: there are many of them
RESOURCES = ("peer_credits", "peer_router_credits", "ni_credits", "router_buffers")


def pictures(analysis: Analysis, *, buckets: int = 700) -> tuple[Picture, ...]:
    """Return all pictures of the report in their order. `buckets`: how finely long curves are drawn; 2 points each."""
    view = View(*time_extent(analysis), buckets)
    made = (one_axis(analysis, view), close_up(analysis, view), _more_signals(analysis, view), _profile(analysis, view))
    return tuple(each for each in made if each is not None)


def rows_drawn(analysis: Analysis) -> list[CreditSeries]:
    """Return the rows of credits that have a picture of their own, those that findings name first."""
    return blamed_first(analysis, credits_of(analysis, *RESOURCES))[:MOST_ROWS]


def row_pictures(analysis: Analysis, *, buckets: int = 700) -> tuple[Picture, ...]:
    """Return a picture for each of `rows_drawn`, of which the page shows one at a time: row-0, row-1, …"""
    view = View(*time_extent(analysis), buckets // ROW_FINER)
    return tuple(
        Picture(
            f"row-{place_in_list}",
            "Credits of one row",
            "Choose another row in the table below: each name that is underlined is drawn here.",
            (*CREDIT_KEYS, *((DIP,) if analysis.dead_time.incidents else ())),
            (),
            "",
            draw([credit_panel(series)], view),
        )
        for place_in_list, series in enumerate(rows_drawn(analysis))
    )


def _more_signals(analysis: Analysis, view: View) -> Picture | None:
    """Return throughput and messages that are not in the first picture; None where there are none."""
    served, pings = top_signals(analysis)
    shown = [*served, *([pings] if pings else [])]
    rest = [each for each in ranked(analysis, "throughput") + ranked(analysis, "messages") if all(each is not other for other in shown)]
    if not rest:
        return None
    panels = [
        signal_panel(each, "blue", bands(("orange", dips_of(analysis, each))))
        if each.purpose == "throughput"
        else signal_panel(each, "green", bands(("purple", each.incidents)))
        for each in rest[:MOST_PANELS]
    ]
    shaded = {band.colour for panel in panels for band in panel.bands if band.shaded}
    lines = {panel.lines[0].colour for panel in panels}
    keys = (Key("blue", "line", "throughput"), Key("green", "line", "messages"), DIP, BURST)
    more = len(rest) - MOST_PANELS
    return Picture(
        "signals",
        "Throughput and messages elsewhere, with incidents marked",
        "Do other hosts and counters dip at the same times?",
        tuple(key for key in keys if key.colour in (shaded if key.shape == "band" else lines)),
        (
            *too_many([band for panel in panels for band in panel.bands], "incident", ": see the close-up"),
            *((f"{plural(more, 'more signal')} of this recording not drawn: these are the worst or busiest.",) if more > 0 else ()),
        ),
        "",
        draw(panels, view),
    )


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
            ping_name = f"{place(pings.host, pings.name)}, {pings.unit}" if pings else ""
            name = place(verdict.host, f"{verdict.instance} {verdict.signal}".strip())
            found = folded(name, signals, verdict.incidents, verdict.period_s, ping_name, pings)
            yield found and found._replace(duration_s=verdict.duration_s, depth=verdict.depth if verdict.depth_resolved else None)
