"""The keys, on a screen of their own."""

from textual.app import ComposeResult
from textual.screen import ModalScreen

from lnetstat.top.colours import PLAIN
from lnetstat.top.grid import Lines
from lnetstat.top.panes import SIGNS_HELP

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
        self.dismiss()

    def on_click(self) -> None:
        self.dismiss()
