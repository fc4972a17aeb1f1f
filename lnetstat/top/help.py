"""The keys: what each does, and the screen that tells it."""

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from lnetstat.top.colours import PLAIN
from lnetstat.top.grid import Lines
from lnetstat.top.panes import PANES, SIGNS_HELP

# With priority: those that bring a field or the help, and end it. The app does them in the order of the keys, so that what is typed at once
# after them goes there. Top.check_action says when they are just keys.
BINDINGS: list[BindingType] = [
    Binding("q", "quit"),
    Binding("ctrl+c", "quit", priority=True),
    *[Binding(str(at), f"pane({at - 1})") for at in range(1, len(PANES) + 1)],
    Binding("tab", "next_pane(1)", priority=True),
    Binding("shift+tab", "next_pane(-1)", priority=True),
    Binding("less_than_sign", "sort(-1)"),
    Binding("greater_than_sign", "sort(1)"),
    Binding("r", "reverse"),
    Binding("w", "worst"),
    Binding("slash", "filter", priority=True),
    Binding("enter", "submit", priority=True),
    Binding("escape", "unfilter", priority=True),
    Binding("p,space", "pause"),
    Binding("question_mark,h", "help", priority=True),
    Binding("up,k", "scroll(-1)"),
    Binding("down,j", "scroll(1)"),
    Binding("b", "page(-1)"),
    Binding("f", "page(1)"),
    Binding("pageup", "page_or_time(-1)"),
    Binding("pagedown", "page_or_time(1)"),
    Binding("ctrl+home", "edge(0)"),
    Binding("ctrl+end,G", "edge(1)"),
    Binding("g", "edge_or_moment", priority=True),
    Binding("t", "theme"),
    Binding("left", "step(-1)"),
    Binding("right", "step(1)"),
    Binding("shift+left,ctrl+left,comma", "by(-1)"),
    Binding("shift+right,ctrl+right,full_stop", "by(1)"),
    Binding("n", "find(1)"),
    Binding("N", "find(-1)"),
    Binding("home", "jump(0)"),
    Binding("end", "jump(1)"),
    Binding("plus", "faster(1)"),
    Binding("minus", "faster(-1)"),
]
HELP = f"""\
 1 2 3 4 Tab   peers, NIs, buffers, services
 < >           sort by the next column (or click on its title)
 r  w          turn the order around; worst first again
 /             show only rows with these words, a pattern (10.2.*@tcp1) or
               a range (10.2.[0-3].1@tcp1); Escape shows all again
 p space       pause, go on; in a recording: play, pause
 Up Down       scroll a row;  b f  a page;  Ctrl-Home Ctrl-End  top, bottom
 t             light or dark
 q Ctrl-C      quit

 In a recording:
 Left Right    one sample;  , .  a minute (or Shift, Ctrl with Left, Right)
 PgUp PgDn     ten minutes;  Home End  the first sample, the last
 n N           next, previous moment at which a row has run out
 g             go to a time: 12:05:30, 2026-08-14T12:05:30Z, -10m
 + -           play faster, slower

 {SIGNS_HELP}
 The line behind a row is its past, the newest at the right: the free
 share of its credits or buffers, or its rate. ! in it: none was left.
"""


class Help(ModalScreen[None]):
    """The keys; any of them ends it."""

    def compose(self) -> ComposeResult:
        yield Lines("help")

    def on_mount(self) -> None:
        self.query_one("#help", Lines).show([[(line, PLAIN)] for line in HELP.splitlines()])

    def on_key(self) -> None:
        self._end()

    def on_click(self) -> None:
        self._end()

    def _end(self) -> None:
        if self.is_current:  # several keys come at once
            self.dismiss()
