"""The way into the spool: a thread of its own, so that whoever offers points never waits for the disk."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lnetstat.sinks._segments import PAYLOAD_BYTES_MAX
from lnetstat.sinks.spool import Spool


class Offered(NamedTuple):
    """The lines of one call of offer, and the newest second among them."""

    lines: list[bytes]
    newest_s: int


class SpoolWriter:
    """Stores what is added, with one fsync for all that came while the one before was under way.

    `changed` is the sink's lock: its holder calls `add`, `points`, `is_idle` and `give_up`. `refused` gets, under the same lock, the lines
    that the disk did not take. At most `points_max` points wait; the oldest go.
    """

    def __init__(
        self,
        spool: Spool,
        name: str,
        points_max: int,
        changed: threading.Condition,
        refused: Callable[[list[bytes]], object],
        report: Callable[[str], None],
    ) -> None:
        self._spool, self._points_max, self._changed, self._refused, self._report = spool, points_max, changed, refused, report
        self._waiting: deque[Offered] = deque()
        self._waiting_points = 0
        self._storing_points = 0
        self._error = ""
        self._told: dict[str, int] = {}
        self._name = name
        self._ending = False
        self._thread = threading.Thread(target=self._run, name=f"{name} spool", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str:
        """Why nothing can be stored now; empty where it can."""
        return f"spool {self._spool.folder} cannot be written: {self._error}" if self._error else ""

    @property
    def points(self) -> int:
        """Points on their way."""
        return self._waiting_points + self._storing_points

    @property
    def is_idle(self) -> bool:
        return not self._waiting and not self._storing_points

    def add(self, lines: list[bytes], newest_s: int) -> int:
        """Take lines; return how many old ones were dropped for them."""
        if lines:
            self._waiting.append(Offered(lines, newest_s))
            self._waiting_points += len(lines)
        dropped = 0
        while self._waiting_points > self._points_max:
            gone = len(self._waiting.popleft().lines)
            self._waiting_points -= gone
            dropped += gone
        return dropped

    def give_up(self) -> int:
        """Drop what was not stored yet; return how many points."""
        left, self._waiting_points = self._waiting_points, 0
        self._waiting.clear()
        return left

    def end(self, timeout_s: float) -> None:
        """Store what there is and end, within `timeout_s`."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        self._thread.join(max(0.0, timeout_s))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ending)
                if not self._waiting:
                    return
                offered = list(self._waiting)
                self._waiting.clear()
                self._storing_points, self._waiting_points = self._waiting_points, 0
            refused = self._store(offered)
            with self._changed:
                self._storing_points = 0
                self._refused(refused)
                self._changed.notify_all()

    def _store(self, offered: list[Offered]) -> list[bytes]:
        """Append and sync; return the lines that the disk did not take."""
        refused: list[bytes] = []
        error = ""
        for lines, newest_s in offered:
            for piece in _pieces(lines):
                try:
                    self._spool.append(b"".join(piece), len(piece), newest_s)
                except OSError as reason:
                    error = reason.strerror or str(reason)
                    refused += piece
        try:
            self._spool.sync()
        except OSError as reason:
            error = error or reason.strerror or str(reason)
        self._tell_losses()
        if error != self._error:
            self._error = error
            what = f"cannot be written: {error}: up to {self._points_max} points are kept in memory" if error else "is written again"
            self._report(f"{self._name}: spool {self._spool.folder} {what}")
        return refused

    def _tell_losses(self) -> None:
        """Say what is dropped or skipped when it begins, and then each time it has doubled."""
        counts = self._spool.counts
        for what, number, words in (
            ("deleted", counts.deleted, "somebody deleted or emptied files of it while they were in use"),
            ("damaged", counts.damaged, "parts of it are damaged, or of another version: they are skipped"),
            ("outgrown", counts.outgrown, "it is full (its bounds, or its disk): the oldest points are dropped"),
        ):
            if number > 2 * self._told.get(what, 0):
                self._told[what] = number
                lost = counts.lost + counts.unconfirmed
                self._report(f"{self._name}: spool {self._spool.folder}: {words}; points lost since the start: {lost}")


def _pieces(lines: list[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines in pieces that fit into a record of the spool each."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        if piece and size + len(line) > PAYLOAD_BYTES_MAX:
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield piece
