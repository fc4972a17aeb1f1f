"""From ticks to what is shown: rows with their history, counts, and what could not be read. Pure: time comes with the ticks."""

import errno
import fnmatch
import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lnetstat.model import Sample, State
from lnetstat.top.panes import PANES, Kind, Mark, Pane, Row, Value
from lnetstat.top.ticks import File, Tick
from lnetstat.top.trail import DEPTH, Key, Trail
from lnetstat.words import iso, printable

NS = 1_000_000_000
STALE_TICKS = 5  # after so many ticks without a word from a host its rows are no news
STALE_NS_MIN = 3 * NS

NO_LNET = "is LNet loaded, is debugfs mounted?"

FileKey = tuple[str, str, str]  # host, table, instance


class Summary(NamedTuple):
    """The head line's counts over all hosts. Peers that hold no credits (routed NIDs) count in `peers` only; None: not known.

    `oversubscribed`: peers that have run out of send or of router credits now, `_low`: at any time since their marks were reset.
    """

    peers: int | None
    peers_down: int
    oversubscribed: int
    oversubscribed_low: int
    queue_bytes: int
    tx_credits_low: int | None
    nis_down: int
    nis_short: int
    buffers_short: int
    buffers_low: int | None
    routes: int | None
    routes_down: int


class View(NamedTuple):
    """What is to be shown of one moment. `rows` and `notes` by pane; notes say what could not be read and what to do.

    `failed`: something is there and could not be read, or nothing of LNet is there. `nothing`: that it is so and what to do, else empty.
    """

    time_ns: int
    hosts: tuple[str, ...]
    summary: Summary
    rows: Mapping[str, Sequence[Row]]
    notes: Mapping[str, Sequence[str]]
    failed: bool
    nothing: str

    def marked(self, pane: str) -> int:
        """Return how many rows of a pane are short now, or down."""
        return sum(row.mark > Mark.WAS_SHORT for row in self.rows[pane])

    def with_mark(self, pane: str, mark: Mark) -> int:
        """Return how many rows of a pane have a mark."""
        return sum(row.mark is mark for row in self.rows[pane])


class Model:
    """Takes ticks in the order of their stamps and says what to show after each. `levels` gives a row's history.

    `hint`: what to look at where there is nothing of LNet to read.
    """

    def __init__(self, hint: str = NO_LNET, depth: int = DEPTH) -> None:
        self._hint = hint
        self._latest: dict[FileKey, File] = {}
        self._before: dict[FileKey, Sample] = {}
        self._trails = {pane.name: Trail(depth) for pane in PANES}
        self._time_ns: int | None = None
        self._step_ns = NS
        self._silent: set[str] = set()

    def feed(self, tick: Tick) -> View:
        """Take the next tick."""
        if self._time_ns is not None and tick.time_ns > self._time_ns:
            self._step_ns = tick.time_ns - self._time_ns
        self._time_ns = tick.time_ns
        for file in tick.files:
            self._take(file)
        silent = self._drop_silent()
        rows = {pane.name: self._rows(pane) for pane in PANES}
        for name, of_pane in rows.items():
            self._trails[name].push((row.key, row.level) for row in of_pane)
        hosts = tuple(sorted({host for host, _, _ in self._latest}))
        nothing = self._nothing()
        notes = {pane.name: [*silent, *([nothing] if nothing else self._notes(pane, several=len(hosts) > 1))] for pane in PANES}
        routes = [row for (_, table, _), file in self._latest.items() if table == "routes" for row in file.sample.rows]
        known = any(table == "routes" for _, table, _ in self._latest)
        return View(tick.time_ns, hosts, summary(rows, routes if known else None), rows, notes, self._failed(), nothing)

    def levels(self, pane: str, key: Key, last: int) -> list[float | None]:
        """Return a row's levels in the last ticks, the newest last."""
        return self._trails[pane].of(key, last)

    def _nothing(self) -> str:
        """Say so where no file of LNet or Lustre is there at all."""
        if any(file.sample.state is not State.ABSENT for file in self._latest.values()):
            return ""
        return f"nothing of LNet or Lustre to read: {self._hint}"

    def _failed(self) -> bool:
        states = [file.sample.state for file in self._latest.values()]
        return any(state in (State.FORBIDDEN, State.FAILED) for state in states) or not any(
            state in (State.OK, State.PARTIAL) for state in states
        )

    def _take(self, file: File) -> None:
        key = file.host, file.sample.table, file.sample.instance
        old = self._latest.get(key)
        if old and old.sample.rows and old.sample.time_ns < file.sample.time_ns:
            self._before[key] = old.sample
        self._latest[key] = file

    def _drop_silent(self) -> list[str]:
        """Forget files that are no longer read, and say so where that is a whole host."""
        assert self._time_ns is not None
        oldest_ns = self._time_ns - max(STALE_NS_MIN, STALE_TICKS * self._step_ns)
        heard: dict[str, int] = {}
        for (host, _, _), file in self._latest.items():
            heard[host] = max(heard.get(host, file.sample.time_ns), file.sample.time_ns)
        for key in [key for key, file in self._latest.items() if file.sample.time_ns < oldest_ns and heard[key[0]] >= oldest_ns]:
            del self._latest[key]  # a service that went
            self._before.pop(key, None)
        lines = []
        for host, time_ns in heard.items():
            if time_ns < oldest_ns:
                lines.append(f"{printable(host)}: no sample since {iso(time_ns)}: its rows are left out")
        self._silent = {host for host, time_ns in heard.items() if time_ns < oldest_ns}
        return lines

    def _rows(self, pane: Pane) -> list[Row]:
        rows: list[Row] = []
        for (host, table, _), file in self._latest.items():
            if table in pane.tables and host not in self._silent:
                rows.extend(pane.rows(file.sample, self._before))
        return rows

    def _notes(self, pane: Pane, *, several: bool) -> list[str]:
        wanted = [file for (host, table, _), file in self._latest.items() if table in pane.tables and host not in self._silent]
        lines = [f"{printable(file.host)}: {line}" if several else line for file in wanted if (line := note(file, self._hint))]
        if not wanted and not self._silent:
            lines.append(f"no {' or '.join(NAMES[table] for table in pane.tables)} here: {self._hint}")
        return lines


NAMES = {"peers": "peers", "nis": "nis", "buffers": "buffers", "lnet_stats": "stats of LNet", "counters": "service statistics"}


def note(file: File, hint: str) -> str:
    """Say what is wrong with a file and what to do about it; empty where nothing is."""
    name, sample = printable(file.name), file.sample
    reason = os.strerror(file.errno) if file.errno else ""
    if sample.state is State.ABSENT:
        return f"{name}: no such file: {hint}" if sample.table != "counters" else ""
    if sample.state is State.FORBIDDEN:
        return f"{name}: {reason or 'permission denied'}: run as root, or have debugfs readable"
    if sample.state is State.FAILED and file.errno == errno.ETIMEDOUT:
        return f"{name}: no answer in time: the read hangs; `lnetstat doctor` looks closer"
    if sample.state is State.FAILED and file.errno:
        return f"{name}: {reason}: `lnetstat doctor` looks closer"
    if sample.state is State.PARTIAL:
        return f"{name}: changed while it was read: rows may be missing"
    if sample.problems:
        first = sample.problems[0]
        more = f" (and {len(sample.problems) - 1} more)" if len(sample.problems) > 1 else ""
        return f"{name}: line {first.line} skipped: {printable(first.text)}: expected {printable(first.expected)}{more}"
    return ""


def summary(rows: Mapping[str, Sequence[Row]], routes: Sequence[object] | None) -> Summary:
    """Count what the head line says."""
    peers = [row for row in rows["peers"] if row.level is not None]
    lows, rtr_lows = _whole(peers, 5), _whole(peers, 7)
    free = _whole([row for row in rows["buffers"] if row.level is not None], 5)
    return Summary(
        peers=len(rows["peers"]) if rows["peers"] else None,
        peers_down=sum(row.values[2] == "down" for row in peers),
        oversubscribed=sum(tx < 0 or rtr < 0 for tx, rtr in zip(_whole(peers, 4), _whole(peers, 6), strict=True)),
        oversubscribed_low=sum(tx < 0 or rtr < 0 for tx, rtr in zip(lows, rtr_lows, strict=True)),
        queue_bytes=sum(_whole(peers, 8)),
        tx_credits_low=min(lows, default=None),
        nis_down=sum(row.values[3] == "down" for row in rows["nis"]),
        nis_short=sum(row.mark is Mark.SHORT for row in rows["nis"]),
        buffers_short=sum(row.mark is Mark.SHORT for row in rows["buffers"]),
        buffers_low=min(free, default=None),
        routes=None if routes is None else len(routes),
        routes_down=sum(getattr(row, "state", "") == "down" for row in routes or ()),
    )


def _whole(rows: Sequence[Row], at: int) -> list[int]:
    return [value for row in rows if isinstance(value := row.values[at], int)]


class Order(NamedTuple):
    """How rows are sorted. `column`: an index into the pane's columns, None for the worst first; `reverse` turns it around."""

    column: int | None = None
    reverse: bool = False


def ordered(pane: Pane, rows: Sequence[Row], order: Order) -> list[Row]:
    """Return the rows in an order; those without a value stand last, whichever way it is."""
    if order.column is None:
        return sorted(rows, key=pane.worst, reverse=order.reverse)
    at = order.column
    descends = pane.columns[at].kind in (Kind.HIGH, Kind.BYTES, Kind.RATE)
    known = [row for row in rows if row.values[at] is not None]
    known.sort(key=lambda row: row.values[at], reverse=descends != order.reverse)  # type: ignore[arg-type, return-value]
    return known + [row for row in rows if row.values[at] is None]


def filtered(pane: Pane, rows: Sequence[Row], words: str) -> Sequence[Row]:
    """Return the rows in which each word stands somewhere.

    A word is a part of a name, or stands for whole ones: a pattern such as 10.2.*@tcp1, a set such as 10.2.[0-3,7].1@tcp1.
    """
    wanted = words.lower().split()
    if not wanted:
        return rows
    names = [at for at, column in enumerate(pane.columns) if column.kind is Kind.TEXT]
    return [row for row in rows if all(any(_fits(row.values[at], word) for at in names) for word in wanted)]


def has_run_out(tick: Tick, words: str = "") -> bool:
    """Return whether credits or buffers of a row that the words fit have run out at this tick."""
    files = [(pane, file.sample) for file in tick.files for pane in PANES if file.sample.table in pane.tables and pane.top]
    return any(row.mark is Mark.SHORT for pane, sample in files for row in filtered(pane, list(pane.rows(sample, {})), words))


_RANGES = re.compile(r"\[([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)\]", re.ASCII)


def _fits(value: Value, word: str) -> bool:
    text = str(value or "").lower()
    if _RANGES.search(word):
        return _fits_ranges(text, word)
    return fnmatch.fnmatchcase(text, word) if "*" in word or "?" in word else word in text


def _fits_ranges(text: str, word: str) -> bool:
    """Return whether each number of the text that stands at a range's place lies in it, and all else fits as a pattern."""
    parts = _RANGES.split(word)  # literal, ranges, literal, ...
    literals = [fnmatch.translate(part)[len("(?s:") : -len(r")\Z")] for part in parts[::2]]
    found = re.fullmatch("([0-9]+)".join(literals), text, re.ASCII | re.DOTALL)
    return found is not None and all(_lies_in(int(number), ranges) for number, ranges in zip(found.groups(), parts[1::2], strict=True))


def _lies_in(number: int, ranges: str) -> bool:
    bounds = (part.partition("-") for part in ranges.split(","))
    return any(int(first) <= number <= int(last or first) for first, _, last in bounds)
