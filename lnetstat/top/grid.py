"""The widgets that textual draws: lines of styled text, and a table of which only the visible rows are made.

Texts come from nodes and recordings, so they become segments and are never read as markup.
"""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from lnetstat.top.colours import HEAD, Colours
from lnetstat.top.model import Model, Order
from lnetstat.top.panes import Mark, Pane, Row
from lnetstat.top.text import Layout
from lnetstat.top.trail import BARS, spark

Spans = Sequence[tuple[str, Style]]


class Lines(Widget):
    """Some lines of styled text, as high as they are many."""

    ALLOW_SELECT = False

    class Clicked(Message):
        """Somebody clicked at a place of a line."""

        def __init__(self, lines: "Lines", x: int, y: int) -> None:
            super().__init__()
            self.lines, self.x, self.y = lines, x, y

    def __init__(self, id: str) -> None:  # noqa: A002 - textual's word
        super().__init__(id=id)
        self._shown: list[Spans] = []

    def show(self, lines: Sequence[Spans]) -> None:
        """Replace the lines; the same ones cost nothing."""
        if list(lines) == self._shown:
            return
        if len(lines) != len(self._shown):
            self.styles.height = len(lines)
        self._shown = list(lines)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        spans = self._shown[y] if y < len(self._shown) else ()
        strip = Strip([Segment(text, style) for text, style in spans])
        return strip.adjust_cell_length(self.size.width).apply_style(self.rich_style)

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(self, event.x, event.y))


class Grid(ScrollView, can_focus=False):
    """The rows of one pane below a line of titles. `show` is given sorted rows; each is made into text when it comes into sight."""

    ALLOW_SELECT = False

    class TitleClicked(Message):
        """Somebody clicked at a column's title."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    def __init__(self, pane: Pane, model: Model, colours: Colours) -> None:
        super().__init__(id="grid")
        self._colours = colours
        self._pane, self._model = pane, model
        self._rows: Sequence[Row] = ()
        self._order = Order()
        self._hosts = 1
        self._layout_of_rows: Layout | None = None

    def show(self, pane: Pane, model: Model, rows: Sequence[Row], order: Order, hosts: int, colours: Colours) -> None:
        """Show other rows; the place of the view stays where the pane does."""
        if pane is not self._pane:
            self.scroll_to(y=0, animate=False)
        self._pane, self._model, self._rows, self._order, self._hosts = pane, model, rows, order, hosts
        self._colours = colours
        self._layout_of_rows = None
        size = Size(0, len(rows) + 1)
        if self.virtual_size != size:
            self.virtual_size = size
        self.refresh()

    def on_resize(self) -> None:
        self._layout_of_rows = None

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        layout = self._layout_of_rows
        if layout is None:
            layout = self._layout_of_rows = Layout(self._pane, self._rows, width, hosts=self._hosts)
        if y == 0:
            strip = Strip([Segment(layout.head(self._order, arrows=("▲", "▼")), HEAD)]).adjust_cell_length(width, HEAD)
        else:
            at = y - 1 + int(self.scroll_offset.y)
            segments = self._segments(layout, self._rows[at]) if at < len(self._rows) else []
            strip = Strip(segments).adjust_cell_length(width)
        return strip.apply_style(self.rich_style)

    def _segments(self, layout: Layout, row: Row) -> list[Segment]:
        style = self._colours.marks[row.mark]
        levels = self._model.levels(self._pane.name, row.key, layout.spark_width)
        drawn = spark(levels, layout.spark_width, top=self._pane.top, bars=BARS)
        sign, *cells = layout.cells(row)
        sign_style = style + HEAD if row.mark is Mark.SHORT else style
        return [Segment(sign, sign_style), Segment(" ", style), Segment(" ".join([*cells, ""]), style), Segment(drawn, self._colours.line)]

    def on_click(self, event: events.Click) -> None:
        if event.y == 0 and self._layout_of_rows is not None:
            column = self._layout_of_rows.column_at(event.x)
            if column is not None:
                self.post_message(self.TitleClicked(column))
