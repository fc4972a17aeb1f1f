"""The live view, drawn with textual: keys, panes, the clock of a recording."""

import asyncio
import gc
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.timer import Timer

from lnetstat.errors import LnetstatError
from lnetstat.top import lines, sheet
from lnetstat.top.colours import THEMES
from lnetstat.top.driver import Driver
from lnetstat.top.feeds import Feed
from lnetstat.top.field import Asking
from lnetstat.top.grid import Grid, Lines
from lnetstat.top.help import BINDINGS, Help
from lnetstat.top.model import Model, Order, View, filtered, has_run_out, ordered
from lnetstat.top.panes import PANES
from lnetstat.top.terminal import BY_SIGNAL
from lnetstat.top.text import notes_in_lines
from lnetstat.top.ticks import Tick, seconds_to_next
from lnetstat.words import iso, printable

if TYPE_CHECKING:
    from textual.widgets import Input

    from lnetstat.top.recorded import RecordingFeed

NS = 1_000_000_000
NOTES_MAX = 4
SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
PLAY_S_MIN = 0.05
BEHIND_S = 0.05
MINUTE_NS = 60 * NS
SEARCH_S = 0.05  # of a search at once: keys are taken in between
CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?", re.ASCII)


class Top(Asking, inherit_css=False):
    """Shows a feed that is alive, sampled every `interval_s`, or a recording. `view`: what `model` made of what has been read already.

    `moment`: makes epoch ns of what one types to go to in a recording, or raises ValueError or LnetstatError. `theme`: a key of THEMES.
    """

    DEFAULT_CSS = sheet.GROUND
    CSS = sheet.PARTS
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # keys are the view's until somebody asks for the filter
    BINDINGS = BINDINGS

    def __init__(
        self,
        feed: "Feed | RecordingFeed",
        model: Model,
        view: View,
        *,
        interval_s: float = 1.0,
        moment: Callable[[str], int] = int,
        theme: str = "dark",
    ) -> None:
        super().__init__(driver_class=Driver, ansi_color=theme == "none" or None)
        self._colours = THEMES[theme]
        self.theme = self._colours.theme
        self._feed = feed
        self._moment = moment
        self._said = ""
        self._search: asyncio.Task[None] | None = None
        self._recording = feed if not isinstance(feed, Feed) else None
        self._interval_s = interval_s
        self._model, self._view = model, view
        self._pane = PANES[0]
        self._orders = dict.fromkeys((pane.name for pane in PANES), Order())
        self._words = ""
        self._paused = self._recording is not None
        self._speed = SPEEDS.index(1.0)
        self._timer: Timer | None = None
        self._later: Timer | None = None
        self._over = threading.Event()
        self._going = threading.Event()
        self._going.set()
        self._tabs: list[tuple[int, int]] = []

    def get_default_screen(self) -> sheet.Page:
        return sheet.Page()

    def compose(self) -> ComposeResult:
        yield Lines("head")
        yield Lines("tabs")
        yield Lines("notes")
        yield Grid(self._pane, self._model, self._colours)
        yield Lines("foot")

    def on_load(self) -> None:
        """Take the signals before the driver takes the terminal, so that it leaves it as it was."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.exit, None, BY_SIGNAL + number)

    def on_mount(self) -> None:
        self.set_focus(None)
        self._draw()
        if self._recording is None:
            threading.Thread(target=self._sample, name="lnetstat-top", daemon=True).start()
        self.call_after_refresh(gc.enable)  # see cli.top: none is collected until all is there

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
            self._model = Model(self._feed.hint)
        for tick in ticks:
            self._view = self._model.feed(tick)
        self._draw()
        return True

    # ---- drawing ----

    def _draw(self) -> None:
        view = self._view
        if self._over.is_set() or self._waits():
            return
        width, colours = self.size.width, self._colours
        tabs, self._tabs = lines.tabs(view, self._pane)
        self.query_one("#head", Lines).show(lines.head(view, width, self._state(), self._paused, colours))
        self.query_one("#tabs", Lines).show([tabs])
        problems = self._feed.problems
        notes = [] if problems and not view.hosts else view.notes[self._pane.name]
        told = notes_in_lines([*([self._said] if self._said else []), *problems, *notes], max(20, width))
        if len(told) > NOTES_MAX:
            told[NOTES_MAX - 1 :] = [f" ? and {len(told) - NOTES_MAX + 1} more lines: `lnetstat top --once` shows them all"]
        self.query_one("#notes", Lines).show([[(line, self._colours.note)] for line in told])
        rows = filtered(self._pane, view.rows[self._pane.name], self._words)
        order = self._orders[self._pane.name]
        self.query_one(Grid).show(self._pane, self._model, ordered(self._pane, rows, order), order, len(view.hosts), self._colours)
        words = f"  /{printable(self._words)}: {len(rows):,} rows" if self._words else ""
        self.query_one("#foot", Lines).show([lines.foot(view, width, words, self._recording, colours)])

    def _waits(self) -> bool:
        """Whether a slow terminal has still to take what was drawn. What is newest is drawn when it has, so that no queue grows."""
        behind = isinstance(self._driver, Driver) and self._driver.is_behind
        if behind and not self._later:
            self._later = self.set_timer(BEHIND_S, self._draw_later)
        return behind

    def _draw_later(self) -> None:
        self._later = None
        self._draw()

    def _state(self) -> str:
        if self._recording:
            return f"{'paused' if self._paused else 'playing'} x{SPEEDS[self._speed]:g}"
        return "paused" if self._paused else f"every {self._interval_s:g} s"

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

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Say which keys are whose: in a field keys are text, but for those that end it; in the help any key ends it."""
        if action in ("filter", "edge_or_moment", "help"):
            return not isinstance(self.screen, Help) and not self.is_in_field
        if action == "next_pane":
            return not isinstance(self.screen, Help)
        return self.field is not None if action == "submit" else True

    async def action_filter(self) -> None:
        await self.ask("filter", self._words, "part of a name, or a pattern: 10.2.*@tcp1")

    async def action_unfilter(self) -> None:
        if isinstance(self.screen, Help):
            self.screen.dismiss()
            return
        is_filter = not self.query("#moment") and self._search is None
        self._end_search()
        await self.close_field()
        if is_filter:
            self._words = ""
        self._draw()

    def on_input_changed(self, event: "Input.Changed") -> None:
        if event.input is self.field and event.input.id == "filter":
            self._words = event.value
            self._draw()

    async def action_submit(self) -> None:
        if field := self.field:
            await self.close_field()
            if field.id == "moment":
                self._go_to(field.value.strip())
            else:
                self._words = field.value
                self._draw()

    async def action_help(self) -> None:
        await self.push_screen(Help())

    def action_scroll(self, by: int) -> None:
        self.query_one(Grid).scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        grid = self.query_one(Grid)
        grid.scroll_relative(y=by * max(1, grid.size.height - 2), animate=False)

    def action_edge(self, end: int) -> None:
        grid = self.query_one(Grid)
        grid.scroll_to(y=grid.max_scroll_y if end else 0, animate=False)

    def action_theme(self) -> None:
        """Turn dark and light around; without colours there is neither."""
        if self._colours is not THEMES["none"]:
            self._colours = THEMES["light" if self._colours is THEMES["dark"] else "dark"]
            self.theme = self._colours.theme
            self._draw()

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

    def action_by(self, minutes: int) -> None:
        if recording := self._recording:
            self._move(lambda: recording.by(minutes * MINUTE_NS), anew=True)

    def action_page_or_time(self, by: int) -> None:
        self.action_by(10 * by) if self._recording else self.action_page(by)

    async def action_edge_or_moment(self) -> None:
        if self._recording:
            await self.ask("moment", "", "go to 12:05:30, 2026-08-14T12:05:30Z, or -10m before the end")
        else:
            self.action_edge(0)

    def _go_to(self, text: str) -> None:
        """Show the moment that was typed; a time of day is of the day that is shown."""
        if recording := self._recording:
            try:
                time_ns = self._moment(f"{iso(self._view.time_ns)[:10]}T{text}Z" if CLOCK.fullmatch(text) else text)
            except (ValueError, LnetstatError) as error:
                self._say(str(error))
            else:
                self._move(lambda: recording.seek(time_ns), anew=True)

    def action_find(self, by: int) -> None:
        """Look for the next moment, or the one before, at which a row that the filter shows has run out."""
        if self._recording:
            self._end_search()
            self._set_paused(True)
            self._search = asyncio.create_task(self._find(self._recording, by))

    async def _find(self, recording: "RecordingFeed", by: int) -> None:
        begun_s = time.monotonic()
        move = recording.next if by > 0 else recording.previous
        while ticks := move():
            time_ns = ticks[-1].time_ns
            if has_run_out(ticks[-1], self._words):
                self._search = None
                self._said = ""
                self._show(recording.seek(time_ns), anew=True)
                return
            if time.monotonic() > begun_s + SEARCH_S:
                self._say(f"looking for a row that has run out: {iso(time_ns)}; Escape ends it")
                await asyncio.sleep(0)
                begun_s = time.monotonic()
        self._end_search()
        self._say(f"no row{' that the filter shows' if self._words else ''} has run out {'after' if by > 0 else 'before'} this moment")

    def _end_search(self) -> None:
        """End a search, and go back to where it began. What was said is no longer to be seen."""
        self._said = ""
        if self._search and self._recording:
            self._search.cancel()
            self._search = None
            self._recording.seek(self._view.time_ns)

    def _say(self, words: str) -> None:
        self._said = words
        self._draw()

    def action_jump(self, end: int) -> None:
        if self._recording:
            self._move(self._recording.last if end else self._recording.first, anew=True)
        else:
            self.action_edge(end)

    def _move(self, move: Callable[[], list[Tick] | None], *, anew: bool) -> None:
        self._end_search()
        self._set_paused(True)
        self._show(move(), anew=anew)
