"""Ship points to Carbon: plaintext lines over one kept TCP connection, on a thread of its own.

What TCP and Carbon lose without a word shapes this module:

- A write to a peer that has gone succeeds once: so the connection is checked for its end before every write.
- A hung peer takes much before a write blocks: so there are a write timeout, keepalive and TCP_USER_TIMEOUT, and what was written
  during the last `resend_s` seconds is written again on the next connection. One metric, one second, one value: writing it twice
  changes nothing.
- A byte that is not UTF-8 or a line over 16 KiB makes carbon close the connection, blanks shift its fields: such paths are refused.
"""

import math
import socket
import threading
import time
from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from lnetstat.errors import SinkError
from lnetstat.model import Point
from lnetstat.sinks._connection import Connection, Pacer
from lnetstat.sinks._queue import PointQueue

PATH_BYTES_MAX = 16_000  # carbon closes the connection on a line over 16384 bytes
CLOSING_TRIES_MAX = 2


def parse_address(text: str) -> tuple[str, int]:
    """Return (host, port) of `HOST:PORT` or `[IPV6]:PORT`. Raises SinkError that says what is wrong with it."""
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit()) or not 1 <= int(port) <= 65_535:
        raise SinkError(f"address '{text}': expected HOST:PORT with a port from 1 to 65535, for example localhost:2003 or [fd00::1]:2003")
    if not host.isascii() or not host.isprintable() or " " in host or "/" in host:
        raise SinkError(f"address '{text}': '{host}' is not a host name (no http:// here: Carbon speaks plain TCP)")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if not _is_ipv6(host):
            raise SinkError(f"address '{text}': '{host}' is not an IPv6 address")
    elif ":" in host:
        raise SinkError(f"address '{text}': an IPv6 address needs brackets before the port: [fd00::1]:2003")
    return host, int(port)


def _is_ipv6(text: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET6, text.partition("%")[0])
    except OSError:
        return False
    return True


def plaintext_line(point: Point) -> str:
    """Return `path value time` without a line end, the value with all its digits."""
    value = float(point.value)
    number = str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)
    return f"{point.path} {number} {point.time_s}"


def acceptable(point: Point) -> bool:
    """Tell whether Carbon would keep the point: a finite value and a path of printable ASCII without blanks."""
    path = point.path
    return math.isfinite(point.value) and path.isascii() and path.isprintable() and " " not in path and 0 < len(path) <= PATH_BYTES_MAX


class Counts(NamedTuple):
    """Points, all at one moment: offered = sent + queued + dropped + refused. `resent` were sent before."""

    sent: int
    resent: int
    queued: int
    dropped: int
    refused: int


class CarbonSink:
    """A bounded queue and the thread that empties it into Carbon.

    Attributes, readable at any time: `sent` points written, `resent` written again after a lost connection, `queued` waiting,
    `dropped` because the queue was full or the sink closed, `refused` because not finite or with a path Carbon would not keep,
    `connected`, `last_error` (empty when all is well); `counts`: the numbers among them at one moment.

    `report` gets one line at each change of state (connected, lost, dropping). `clock` gives monotonic seconds; `random` spreads
    the reconnects of many nodes; `pacer` replaces the pace of reconnects as a whole.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        queue_points_max: int = 50_000,
        connect_timeout_s: float = 5.0,
        write_timeout_s: float = 10.0,
        resend_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        random: Random | None = None,
        pacer: Pacer | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.name = f"carbon [{host}]:{port}" if ":" in host else f"carbon {host}:{port}"
        if queue_points_max < 1:
            raise SinkError(f"{self.name}: the queue must hold at least one point, not {queue_points_max}")
        self.refused = 0
        self.last_error = ""
        self._connect_timeout_s = connect_timeout_s
        self._clock = clock
        self._pacer = pacer or Pacer(random or Random())  # noqa: S311  jitter, not a secret
        self._report = report
        self._told = ""
        self._told_dropping = False
        self._connection = Connection(host, port, write_timeout_s)
        self._queue = PointQueue(queue_points_max, resend_s)
        self._changed = threading.Condition()  # guards the queue, refused and the two below
        self._close_by_s: float | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    @property
    def connected(self) -> bool:
        return self._connection.is_open

    @property
    def sent(self) -> int:
        return self._queue.sent

    @property
    def resent(self) -> int:
        return self._queue.resent

    @property
    def dropped(self) -> int:
        return self._queue.dropped

    @property
    def queued(self) -> int:
        with self._changed:
            return self._queue.queued

    @property
    def counts(self) -> Counts:
        with self._changed:
            queue = self._queue
            return Counts(queue.sent, queue.resent, queue.queued, queue.dropped, self.refused)

    def offer(self, points: Iterable[Point]) -> None:
        """Queue the points; never blocks. Where the queue is full the oldest points go and are counted."""
        lines: list[bytes] = []
        refused = 0
        for point in points:
            if acceptable(point):
                lines.append(plaintext_line(point).encode("ascii") + b"\n")
            else:
                refused += 1
        with self._changed:
            self.refused += refused
            dropping = self._queue.add(lines) > 0
            if self._closed:
                self._queue.give_up()
            self._changed.notify_all()
        if dropping and not self._told_dropping:
            self._told_dropping = True
            self._report(f"{self.name}: the queue of {self._queue.points_max} points is full: the oldest are dropped from now on")

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything offered was written, at most `timeout_s`; tell whether it was. For senders that can wait, as replay."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue.is_idle or self._closed, timeout_s)
            return self._queue.is_idle and not self._closed

    def close(self, timeout_s: float = 5.0) -> None:
        """Deliver what can be delivered within `timeout_s`, count the rest as dropped and say how many. A second call does nothing."""
        with self._changed:
            if self._close_by_s is not None:
                return
            self._close_by_s = self._clock() + timeout_s
            self._changed.notify_all()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            self._connection.abort()
            self._thread.join(1.0)
        with self._changed:
            self._closed = True
            left = self._queue.give_up()
            self._changed.notify_all()
        if left:
            self._report(f"{self.name}: closed; points not delivered: {left} ({self.last_error or 'there was no time left'})")

    # ---- the sink's thread ----

    def _run(self) -> None:
        try:
            while self._close_by_s is None:
                if self._connect_when_due() and self._wait_for_work():
                    self._write_batch()
            for _ in range(CLOSING_TRIES_MAX):
                if self._deliver_rest():
                    return
        finally:
            self._connection.close()

    def _connect_when_due(self) -> bool:
        """Be connected; where a try is needed wait for its turn (closing ends the wait)."""
        if self._connection.is_open:
            return True
        with self._changed:
            closing = self._changed.wait_for(lambda: self._close_by_s is not None, self._pacer.delay_s(self._clock()))
        return not closing and self._connect(self._connect_timeout_s)

    def _connect(self, timeout_s: float) -> bool:
        self._pacer.tried(self._clock())
        try:
            self._connection.open(timeout_s)
        except OSError as error:
            self._failed(f"cannot connect: {_reason(error)}")
            return False
        self._pacer.succeeded()
        self.last_error = ""
        with self._changed:
            counts = f"points waiting: {self._queue.queued}, dropped so far: {self._queue.dropped}"
        self._tell("connected", f"connected; {counts}")
        self._told_dropping = False
        return True

    def _wait_for_work(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: not self._queue.is_idle or self._close_by_s is not None)
            return not self._queue.is_idle

    def _write_batch(self) -> bool:
        with self._changed:
            batch = self._queue.next_batch()
        if batch is None:
            return True
        try:
            self._connection.check_still_open()
            self._connection.write(batch.payload)
        except OSError as error:
            self._lost(error)
            return False
        with self._changed:
            self._queue.written(self._clock())
            if self._queue.is_idle:
                self._changed.notify_all()
        return True

    def _deliver_rest(self) -> bool:
        """Before closing: write what is left and wait until the peer has read it. Return False when another try may help."""
        if self._queue.is_idle and not self._connection.is_open:
            return True
        left_s = max(0.05, (self._close_by_s or 0.0) - self._clock())
        if not self._connection.is_open and not self._connect(min(left_s, self._connect_timeout_s)):
            return True
        while not self._queue.is_idle:
            if self._closed or not self._write_batch():
                return False
        try:
            self._connection.finish(max(0.05, (self._close_by_s or 0.0) - self._clock()))
        except TimeoutError as error:
            self._report(f"{self.name}: closed, but {error}")
            return True
        except OSError as error:
            self._lost(error)
            return False
        return True

    def _lost(self, error: OSError) -> None:
        self._connection.close()
        with self._changed:
            self._queue.lost(self._clock())
        self._failed(f"connection lost: {_reason(error)}")

    def _failed(self, error: str) -> None:
        self.last_error = error
        self._tell("lost", f"{error}; up to {self._queue.points_max} points are kept and it is tried again")

    def _tell(self, state: str, words: str) -> None:
        if state != self._told:
            self._told = state
            self._report(f"{self.name}: {words}")


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
