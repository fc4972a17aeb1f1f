"""The live view, drawn with textual: keys, panes, the clock of a recording."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input

from lnetstat.top.feeds import Feed
from lnetstat.top.grid import BOLD, CHOSEN, DIM, NOTE, PLAIN, Grid, Lines, Spans
from lnetstat.top.model import Model, Order, View, filtered, ordered
from lnetstat.top.panes import PANES, SIGNS_HELP
from lnetstat.top.text import counts_in_lines, hosts_text, notes_in_lines
from lnetstat.top.ticks import Tick, seconds_to_next
from lnetstat.words import iso, printable

if TYPE_CHECKING:
    from lnetstat.top.recorded import RecordingFeed

NS = 1_000_000_000
NOTES_MAX = 4
SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
PLAY_S_MIN = 0.05


HELP = f"""\
 1 2 3 4  Tab      peers, NIs, buffers, services
 < >               sort by the next column; r turns it around, w: worst first
                   (a click on a title sorts by it, another turns it around)
 /                 show only rows with these words; Escape shows all again
                   a part of a name, or a pattern: 10.2.*@tcp1
 p  space          pause, go on; in a recording: play, pause
 Up Down PgUp PgDn scroll;  g G  top, bottom
 q  Ctrl-C         quit

 In a recording:
 Left Right        one sample back, on;  Home End  the first, the last
 + -               play faster, slower

 {SIGNS_HELP}
 The line behind a row is its past, the newest at the right: the free share
 of its credits or buffers, or its rate. ! in it: none was left.
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


class Top(App[None]):
    """Shows a feed that is alive, sampled every `interval_s`, or a recording. `view`: what `model` made of what has been read already."""

    CSS = """
    Screen { layout: vertical; }
    Lines { height: 1; }
    Grid { height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    #filter { height: 1; border: none; padding: 0; }
    Help { align: center middle; }
    #help { box-sizing: content-box; width: 78; border: solid $primary; background: $surface; }
    """
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # keys are the view's until somebody asks for the filter
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", priority=False),
        *[Binding(str(at), f"pane({at - 1})") for at in range(1, len(PANES) + 1)],
        Binding("tab", "next_pane(1)", priority=True),
        Binding("shift+tab", "next_pane(-1)", priority=True),
        Binding("less_than_sign", "sort(-1)"),
        Binding("greater_than_sign", "sort(1)"),
        Binding("r", "reverse"),
        Binding("w", "worst"),
        Binding("slash", "filter"),
        Binding("escape", "unfilter", priority=True),
        Binding("p,space", "pause"),
        Binding("question_mark,h", "help"),
        Binding("up,k", "scroll(-1)"),
        Binding("down,j", "scroll(1)"),
        Binding("pageup", "page(-1)"),
        Binding("pagedown", "page(1)"),
        Binding("g", "edge(0)"),
        Binding("G", "edge(1)"),
        Binding("left", "step(-1)"),
        Binding("right", "step(1)"),
        Binding("home", "jump(0)"),
        Binding("end", "jump(1)"),
        Binding("plus", "faster(1)"),
        Binding("minus", "faster(-1)"),
    ]

    def __init__(self, feed: "Feed | RecordingFeed", model: Model, view: View, *, interval_s: float = 1.0) -> None:
        super().__init__()
        self._feed = feed
        self._recording = feed if not isinstance(feed, Feed) else None
        self._interval_s = interval_s
        self._model, self._view = model, view
        self._pane = PANES[0]
        self._orders = dict.fromkeys((pane.name for pane in PANES), Order())
        self._words = ""
        self._paused = self._recording is not None
        self._speed = SPEEDS.index(1.0)
        self._timer: Timer | None = None
        self._over = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._tabs: list[tuple[int, int]] = []

    def compose(self) -> ComposeResult:
        yield Lines("head")
        yield Lines("tabs")
        yield Lines("notes")
        yield Grid(self._pane, self._model)
        yield Lines("foot")

    def on_mount(self) -> None:
        self.set_focus(None)
        self._draw()
        if self._recording is None:
            threading.Thread(target=self._sample, name="lnetstat-top", daemon=True).start()

    def on_unmount(self) -> None:
        self._over.set()
        self._going.set()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    # ---- samples ----

    def _sample(self) -> None:
        """Read at whole multiples of the interval until the view ends: a read that takes long keeps nobody from pressing keys."""
        assert isinstance(self._feed, Feed)
        while not self._over.wait(seconds_to_next(self._interval_s, time.time())):
            self._going.wait()
            if self._over.is_set():
                return
            tick = self._feed.read()
            if not self._over.is_set():
                self.call_later(self._take, tick)

    def _take(self, tick: Tick) -> None:
        self._view = self._model.feed(tick)
        self._draw()

    def _show(self, ticks: Sequence[Tick] | None, *, anew: bool) -> bool:
        """Show ticks of the recording; False where there is nothing further."""
        if ticks is None:
            self._draw()
            return False
        if anew:
            self._model = Model()
        for tick in ticks:
            self._view = self._model.feed(tick)
        self._draw()
        return True

    # ---- drawing ----

    def _draw(self) -> None:
        view = self._view
        if self._over.is_set():
            return
        width = self.size.width
        self.query_one("#head", Lines).show(self._head(view, width))
        self.query_one("#tabs", Lines).show([self._tab_line(view)])
        lines = notes_in_lines([*self._feed.problems, *view.notes[self._pane.name]], max(20, width))
        if len(lines) > NOTES_MAX:
            lines[NOTES_MAX - 1 :] = [f" ? and {len(lines) - NOTES_MAX + 1} more lines: `lnetstat top --once` shows them all"]
        self.query_one("#notes", Lines).show([[(line, NOTE)] for line in lines])
        rows = filtered(self._pane, view.rows[self._pane.name], self._words)
        order = self._orders[self._pane.name]
        self.query_one(Grid).show(self._pane, self._model, ordered(self._pane, rows, order), order, len(view.hosts))
        self.query_one("#foot", Lines).show([self._foot(view, len(rows), width)])

    def _head(self, view: View, width: int) -> list[Spans]:
        stamp = iso(view.time_ns, 3)
        where = hosts_text(view)
        if self._recording:
            state = f"{'paused' if self._paused else 'playing'} x{SPEEDS[self._speed]:g}"
        else:
            state = "paused" if self._paused else f"every {self._interval_s:g} s"
        first: Spans = [
            (" lnetstat top  ", BOLD),
            (f"{where}  ", PLAIN),
            (stamp, BOLD),
            ("  ", PLAIN),
            (state, CHOSEN if self._paused else DIM),
        ]
        return [first, *[[(f" {line}", PLAIN)] for line in counts_in_lines(view.summary, width - 2)]]

    def _tab_line(self, view: View) -> Spans:
        spans: list[tuple[str, Style]] = []
        self._tabs = []
        x = 0
        for at, pane in enumerate(PANES):
            marked = view.marked(pane.name)
            text = f" {at + 1} {pane.title} {len(view.rows[pane.name]):,}{f' !!{marked}' if marked else ''} "
            spans += [(text, CHOSEN if pane is self._pane else PLAIN), (" ", PLAIN)]
            self._tabs.append((x, x + len(text)))
            x += len(text) + 1
        return spans

    def _foot(self, view: View, rows: int, width: int) -> Spans:
        words = f"  /{printable(self._words)}: {rows:,} rows" if self._words else ""
        if not self._recording:
            return [(f" ? help  / filter  < > sort  p pause  q quit{words}", DIM)]
        begin_ns, end_ns = self._recording.begin_ns, self._recording.end_ns
        share = (view.time_ns - begin_ns) / max(1, end_ns - begin_ns)
        keys = f" ? help  q quit  space {'play' if self._paused else 'pause'}{words}  "
        bar = max(8, width - len(keys) - 2)
        at = min(bar - 1, max(0, round(share * (bar - 1))))
        return [(keys, DIM), ("─" * at, DIM), ("●", BOLD), ("─" * (bar - 1 - at), DIM)]

    # ---- keys ----

    def action_pane(self, at: int) -> None:
        self._pane = PANES[at]
        self._draw()

    def action_next_pane(self, by: int) -> None:
        self.action_pane((PANES.index(self._pane) + by) % len(PANES))

    def action_sort(self, by: int) -> None:
        """Sort by the next column that is shown; before the first one stands the worst first."""
        several = len(self._view.hosts) > 1
        columns = [None, *(at for at, c in enumerate(self._pane.columns) if self.size.width >= c.least and (several or c.name != "host"))]
        order = self._orders[self._pane.name]
        at = columns.index(order.column) if order.column in columns else 0
        self._sort(Order(columns[(at + by) % len(columns)]))

    def action_reverse(self) -> None:
        order = self._orders[self._pane.name]
        self._sort(order._replace(reverse=not order.reverse))

    def action_worst(self) -> None:
        self._sort(Order())

    def _sort(self, order: Order) -> None:
        self._orders[self._pane.name] = order
        self._draw()

    def on_grid_title_clicked(self, message: Grid.TitleClicked) -> None:
        order = self._orders[self._pane.name]
        self._sort(Order(message.column, reverse=order.column == message.column and not order.reverse))

    def on_lines_clicked(self, message: Lines.Clicked) -> None:
        if message.lines.id == "tabs":
            for at, (begin, end) in enumerate(self._tabs):
                if begin <= message.x < end:
                    self.action_pane(at)

    async def action_filter(self) -> None:
        """Ask for the words. The field is there only while it is asked for: most who look never want it."""
        if not self.query(Input):
            placeholder = "part of a name, or a pattern: 10.2.*@tcp1"
            field = Input(self._words, id="filter", placeholder=placeholder, compact=True, select_on_focus=False)
            await self.mount(field, before="#foot")
            field.focus()

    async def action_unfilter(self) -> None:
        if isinstance(self.screen, Help):
            self.screen.dismiss()
            return
        await self._close_filter()
        self._words = ""
        self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._words = event.value
        self._draw()

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        self._words = event.value
        await self._close_filter()
        self._draw()

    async def _close_filter(self) -> None:
        self.set_focus(None)
        await self.query(Input).remove()

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_scroll(self, by: int) -> None:
        self.query_one(Grid).scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        grid = self.query_one(Grid)
        grid.scroll_relative(y=by * max(1, grid.size.height - 2), animate=False)

    def action_edge(self, end: int) -> None:
        grid = self.query_one(Grid)
        grid.scroll_to(y=grid.max_scroll_y if end else 0, animate=False)

    def action_pause(self) -> None:
        self._set_paused(not self._paused)

    def _set_paused(self, paused: bool) -> None:
        self._paused = paused
        if self._timer:
            self._timer.stop()
        self._timer = None
        if self._recording:
            if not paused:
                self._play()
        elif paused:
            self._going.clear()
        else:
            self._going.set()
        self._draw()

    def _play(self) -> None:
        """Show the next sample when its time has come; at the end wait for more, as the recording may still be written."""
        if self._recording and not self._paused:
            begun_s = time.monotonic()
            self._show(self._recording.next(), anew=False)
            wait_s = self._recording.step_ns / NS / SPEEDS[self._speed] - (time.monotonic() - begun_s)
            self._timer = self.set_timer(max(PLAY_S_MIN, wait_s), self._play)

    def action_faster(self, by: int) -> None:
        self._speed = min(max(0, self._speed + by), len(SPEEDS) - 1)
        self._draw()

    def action_step(self, by: int) -> None:
        if self._recording:
            self._move(self._recording.next if by > 0 else self._recording.previous, anew=by < 0)

    def action_jump(self, end: int) -> None:
        if self._recording:
            self._move(self._recording.last if end else self._recording.first, anew=True)
        else:
            self.action_edge(end)

    def _move(self, move: Callable[[], list[Tick] | None], *, anew: bool) -> None:
        self._set_paused(True)
        self._show(move(), anew=anew)
