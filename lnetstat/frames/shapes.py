"""What the lines of a regular text hold, word by word: so that many lines of many samples can be taken apart at once.

A text is regular where its table says which word of which line is which column, and parsing it says the same. Anything else (wrapped
rows, other layouts, wrappers around the text) has no shape and is parsed text by text.
"""

from collections.abc import Sequence
from typing import NamedTuple

from lnetstat.tables import buffers, counters, lnet_stats, nis, peers
from lnetstat.tables._rows import Layout

STATES = {"state": frozenset(word.encode() for word in peers.STATES), "status": frozenset((b"up", b"down"))}
MOST_DIGITS = 20
TIME_WORDS = 3  # NAME SECONDS.FRACTION UNIT
NO_ROW = -1

# Which column each word of a row is; those in STATES are words, the others numbers. `*`: it names the row and must stay as it is.
_ROWS: dict[str, tuple[tuple[Layout, tuple[str, ...]], ...]] = {
    "peers": (
        (peers.TEN, ("*", "refs", "state", "last_s", "tx_credits_max", *peers.PeersRow._fields[6:11])),
        (peers.NINE, ("*", "refs", "state", "tx_credits_max", *peers.PeersRow._fields[6:11])),
    ),
    "nis": (
        (nis.NINE, ("*", *nis.NisRow._fields[2:10])),
        (nis.SIX, ("*", "refs", "peer_credits", "tx_credits_max", "tx_credits", "tx_credits_min")),
    ),
    "buffers": ((buffers.LAYOUT, ("*", "count", "credits", "credits_min")),),
}


class Shape(NamedTuple):
    """The words of a line: how many, which must stay, and which column each of the others is.

    `numbers` and `labels`: (place, column). `unsigned`: places of numbers that the table wants without a sign, and `short` of at most
    MOST_DIGITS digits. `fact`: the name of the time that the line tells, which becomes no column.
    """

    width: int
    fixed: tuple[int, ...]
    numbers: tuple[tuple[int, str], ...]
    labels: tuple[tuple[int, str], ...] = ()
    unsigned: tuple[int, ...] = ()
    short: bool = False
    fact: str = ""


class ShapedLine(NamedTuple):
    """A line's shape, the number of the row that it is (NO_ROW: none), and its words."""

    shape: Shape
    row: int
    words: tuple[bytes, ...]


def shaped(table: str, lines: Sequence[bytes]) -> list[ShapedLine | None] | None:
    """Return the shape of each line, None for a header; None where the text has none."""
    if table in _ROWS:
        return _rows(table, lines)
    if table == "counters":
        return _counters(lines)
    if table == "lnet_stats" and len(lines) == 1:
        return _totals(lines[0])
    return None


def _rows(table: str, lines: Sequence[bytes]) -> list[ShapedLine | None] | None:
    header = tuple(word.decode("utf-8", "replace") for word in lines[0].split()) if lines else ()
    columns = next((columns for layout, columns in _ROWS[table] if header[: len(layout.words)] == layout.words), None)
    if columns is None:
        return None
    fixed = tuple(at for at, name in enumerate(columns) if name == "*")
    labels = tuple((at, name) for at, name in enumerate(columns) if name in STATES)
    numbers = tuple((at, name) for at, name in enumerate(columns) if name != "*" and name not in STATES)
    shape = Shape(len(header), fixed, numbers, labels)
    return [None, *(ShapedLine(shape, row, tuple(line.split())) for row, line in enumerate(lines[1:]))]


def _counters(lines: Sequence[bytes]) -> list[ShapedLine | None] | None:
    found: list[ShapedLine | None] = []
    shapes: dict[Shape, Shape] = {}  # one object for all lines of a shape
    rows = 0
    for line in lines:
        words = tuple(line.split())
        at = words.index(b"samples", 2) if b"samples" in words[2:] else 0
        if at >= 2 and len(words) <= at + 6:
            names = ("samples", *counters.CountersRow._fields[3:7])
            places = (at - 1, *range(at + 2, len(words)))
            fixed = (*range(at - 1), at, at + 1)
            shape = Shape(len(words), fixed, tuple(zip(places, names, strict=False)), unsigned=(at - 1,), short=True)
            row, rows = rows, rows + 1
        elif len(words) == TIME_WORDS:
            shape, row = Shape(TIME_WORDS, (0, 2), (), fact=words[0].decode("utf-8", "replace")), NO_ROW
        else:
            return None
        found.append(ShapedLine(shapes.setdefault(shape, shape), row, words))
    return found


def _totals(line: bytes) -> list[ShapedLine | None]:
    names = lnet_stats.LnetStatsRow._fields
    shape = Shape(len(names), (), tuple(enumerate(names)), unsigned=tuple(range(len(names))), short=True)
    return [ShapedLine(shape, 0, tuple(line.split()))]
