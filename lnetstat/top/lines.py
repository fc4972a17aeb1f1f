"""The lines above and below the rows: what is looked at and when, the panes, and where in a recording one is. Pure."""

from typing import TYPE_CHECKING

from rich.style import Style

from lnetstat.top.colours import BOLD, CHOSEN, PLAIN, Colours
from lnetstat.top.model import View
from lnetstat.top.panes import PANES, Pane
from lnetstat.top.text import counts_in_lines, hosts_text
from lnetstat.words import iso

if TYPE_CHECKING:
    from lnetstat.top.grid import Spans
    from lnetstat.top.recorded import RecordingFeed

BAR_WIDTH_MIN = 8


def head(view: View, width: int, state: str, paused: bool, colours: Colours) -> list["Spans"]:
    """Return the hosts, the moment and what the view does, then the counts."""
    first = [
        (" lnetstat top  ", BOLD),
        (f"{hosts_text(view)}  ", PLAIN),
        (iso(view.time_ns, 3), BOLD),
        ("  ", PLAIN),
        (state, CHOSEN if paused else colours.dim),
    ]
    return [first, *[[(f" {line}", PLAIN)] for line in counts_in_lines(view, width - 2)]]


def tabs(view: View, chosen: Pane) -> tuple["Spans", list[tuple[int, int]]]:
    """Return the panes' names, and from where to where each stands."""
    spans: list[tuple[str, Style]] = []
    places = []
    x = 0
    for at, pane in enumerate(PANES):
        marked = view.marked(pane.name)
        text = f" {at + 1} {pane.title} {len(view.rows[pane.name]):,}{f' !!{marked}' if marked else ''} "
        spans += [(text, CHOSEN if pane is chosen else PLAIN), (" ", PLAIN)]
        places.append((x, x + len(text)))
        x += len(text) + 1
    return spans, places


def foot(view: View, width: int, words: str, recording: "RecordingFeed | None", colours: Colours) -> "Spans":
    """Return the keys that matter most, and where in the recording the view is. `words`: of the filter."""
    if recording is None:
        return [(f" ? help  / filter  < > sort  p pause  q quit{words}", colours.dim)]
    share = (view.time_ns - recording.begin_ns) / max(1, recording.end_ns - recording.begin_ns)
    keys = f" ? help  q quit  n next short  g go to{words}  "
    bar = max(BAR_WIDTH_MIN, width - len(keys) - 2)
    at = min(bar - 1, max(0, round(share * (bar - 1))))
    return [(keys, colours.dim), ("─" * at, colours.dim), ("●", BOLD), ("─" * (bar - 1 - at), colours.dim)]
