"""The bounded queue of a sink and its bookkeeping: offered = sent + queued + dropped + refused, at any time."""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

BATCH_BYTES_MAX = 65_536


class Batch(NamedTuple):
    """Lines that are written with one call. `written_s`: when they were last written (monotonic seconds), None for the first time."""

    payload: bytes
    points: int
    written_s: float | None


class PointQueue:
    """Lines in the order offered; the oldest are dropped when there are too many. Not thread-safe: the sink holds the lock.

    What was written within `resend_s` is remembered (at most `points_max` points) to be written again on the next connection.
    """

    def __init__(self, points_max: int, resend_s: float) -> None:
        self.points_max = points_max
        self.sent = 0
        self.resent = 0
        self.dropped = 0
        self._resend_s = resend_s
        self._waiting: deque[bytes] = deque()
        self._again: deque[Batch] = deque()
        self._recent: deque[Batch] = deque()
        self._recent_points = 0
        self._in_flight: Batch | None = None

    @property
    def queued(self) -> int:
        """Points not yet written for the first time, the batch that is being written included."""
        in_flight = self._in_flight
        return len(self._waiting) + (in_flight.points if in_flight is not None and in_flight.written_s is None else 0)

    @property
    def is_idle(self) -> bool:
        """Nothing waits, nothing is being written."""
        return not self._waiting and not self._again and self._in_flight is None

    def add(self, lines: Iterable[bytes]) -> int:
        """Append lines; return how many old ones were dropped for them."""
        self._waiting.extend(lines)
        return self._drop_oldest()

    def next_batch(self) -> Batch | None:
        """Take the next batch; it is in flight until `written` or `lost`."""
        if self._again:
            self._in_flight = self._again.popleft()
        elif self._waiting:
            self._in_flight = self._first_lines()
        return self._in_flight

    def _first_lines(self) -> Batch:
        lines = [self._waiting.popleft()]
        size = len(lines[0])
        while self._waiting and (size := size + len(self._waiting[0])) <= BATCH_BYTES_MAX:
            lines.append(self._waiting.popleft())
        return Batch(b"".join(lines), len(lines), None)

    def written(self, now_s: float) -> None:
        """The batch in flight was written."""
        batch, self._in_flight = self._in_flight, None
        if batch is None:
            return  # the sink was closed meanwhile: it is counted as dropped
        if batch.written_s is None:
            self.sent += batch.points
        else:
            self.resent += batch.points
        self._recent.append(batch._replace(written_s=now_s))
        self._recent_points += batch.points
        self._forget(now_s)

    def lost(self, now_s: float) -> int:
        """The connection broke: what was written lately and the batch in flight are to be written again. Return how many were dropped."""
        self._forget(now_s)
        batch, self._in_flight = self._in_flight, None
        if batch is not None and batch.written_s is None:
            self._waiting.extendleft(reversed(batch.payload.splitlines(keepends=True)))
        elif batch is not None:
            self._again.appendleft(batch)
        self._again.extendleft(reversed(self._recent))
        self._recent.clear()
        self._recent_points = 0
        return self._drop_oldest()

    def give_up(self) -> int:
        """Drop everything that was never written, in flight or not; return how many points."""
        left = self.queued
        self.dropped += left
        self._waiting.clear()
        self._again.clear()
        self._in_flight = None
        return left

    def _forget(self, now_s: float) -> None:
        while self._recent:
            written_s = self._recent[0].written_s
            if self._recent_points <= self.points_max and written_s is not None and written_s >= now_s - self._resend_s:
                return
            self._recent_points -= self._recent.popleft().points

    def _drop_oldest(self) -> int:
        # A batch in flight is out of reach and does not count: it is sent, or it comes back and is the oldest then.
        excess = max(0, len(self._waiting) - self.points_max)
        for _ in range(excess):
            self._waiting.popleft()
        self.dropped += excess
        return excess
