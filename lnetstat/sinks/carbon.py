"""Ship points to Carbon: plaintext lines over one kept TCP connection, on a thread of its own.

What TCP and Carbon lose without a word shapes this module:

- A write to a peer that has gone succeeds once: so the connection is checked for its end before every write.
- A hung peer takes much before a write blocks: so there are a write timeout, keepalive and TCP_USER_TIMEOUT, and what was written
  during the last `resend_s` seconds is written again on the next connection. One metric, one second, one value: writing it twice
  changes nothing.
- With a `spool` only the way into it is in memory: a thread of its own stores what is offered, with one fsync for all that came
  meanwhile, and the sender reads it from there. When it counts as delivered: _delivery.py.
  What the disk does not take goes through the queue in memory.
- A byte that is not UTF-8 or a line over 16 KiB makes carbon close the connection, blanks shift its fields: such paths are refused.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

from lnetstat.errors import SinkError
from lnetstat.model import Point
from lnetstat.sinks import address
from lnetstat.sinks._connection import Connection, Pacer
from lnetstat.sinks._delivery import Delivery
from lnetstat.sinks._queue import PointQueue
from lnetstat.sinks._storing import SpoolWriter
from lnetstat.sinks.lines import acceptable_ones, lines_of
from lnetstat.sinks.spool import Spool

CLOSING_TRIES_MAX = 2  # that bring nothing forward
CLOSING_S = 5.0
CLOSING_WITH_SPOOL_S = 1.0  # what is left is safe
FINISHING_S = 0.2
READ_AGAIN_S = 1.0
LASTING_S, SHORT_LIVED_MAX = 5.0, 2
STAND_IN_S = 300.0  # after so long the first address is tried again


class Counts(NamedTuple):
    """Points, all at one moment: offered = sent + queued + dropped + refused. `resent` were sent before.

    With a spool, what it held when it was opened counts as offered; `queued` counts what was not sent yet, and while a tick is being stored
    it counts twice. `unconfirmed` were sent, and dropped for the spool's bounds before it was known that they had arrived.
    """

    sent: int
    resent: int
    queued: int
    dropped: int
    refused: int
    unconfirmed: int = 0


class CarbonSink:
    """A bounded queue, or a spool, and the thread that empties it into Carbon.

    Attributes, readable at any time: `sent` points written, `resent` written again after a lost connection, `queued` waiting,
    `dropped` because the queue was full or the sink closed, `refused` because not finite or with a path Carbon would not keep,
    `connected`, `last_error` (empty when all is well); `counts`: the numbers among them at one moment.

    `stand_ins` are used, in order, while the address itself is away. `report` gets one line at each change of state (connected, lost,
    dropping).
    `clock` gives monotonic seconds; `random` spreads the reconnects of many nodes; `pacer` replaces the pace of reconnects as a whole.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        stand_ins: Sequence[address.Address] = (),
        queue_points_max: int = 50_000,
        connect_timeout_s: float = 5.0,
        write_timeout_s: float = 10.0,
        resend_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        random: Random | None = None,
        pacer: Pacer | None = None,
        spool: Spool | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        addresses = ((host, port), *stand_ins)
        self.name = "carbon " + ",".join(address.name(each) for each in addresses)
        if queue_points_max < 1:
            raise SinkError(f"{self.name}: the queue must hold at least one point, not {queue_points_max}")
        self.refused = 0
        self.last_error = ""
        self._connect_timeout_s = connect_timeout_s
        self._clock = clock
        random = random or Random()  # noqa: S311  jitter, not a secret
        self._pacer = pacer or Pacer(random)
        self._report = report
        self._told = ""
        self._told_dropping = False
        self._connection = Connection(addresses, write_timeout_s, clock)
        self._connected_s = 0.0
        self._short_lived = 0
        self._queue = PointQueue(queue_points_max, resend_s)
        self._spool = spool
        self._resend_s = resend_s
        self._delivery = Delivery(spool, resend_s, random) if spool is not None else None
        self._sending = False  # a batch of the spool is being written
        self._changed = threading.Condition()  # guards the queue, the writer, refused and the two below
        self._close_by_s: float | None = None
        self._closed = False
        self._writer: SpoolWriter | None = None
        if spool is not None:
            self._writer = SpoolWriter(spool, self.name, queue_points_max, self._changed, self._queue.add, report)
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    @property
    def connected(self) -> bool:
        return self._connection.is_open

    @property
    def sent(self) -> int:
        return self.counts.sent

    @property
    def resent(self) -> int:
        return self.counts.resent

    @property
    def dropped(self) -> int:
        return self.counts.dropped

    @property
    def queued(self) -> int:
        return self.counts.queued

    @property
    def trouble(self) -> str:
        """Why the spool cannot be written now; empty where it can, or where there is none."""
        return self._writer.trouble if self._writer is not None else ""

    @property
    def counts(self) -> Counts:
        with self._changed:
            queue = self._queue
            counts = Counts(queue.sent, queue.resent, queue.queued, queue.dropped, self.refused)
            waiting = self._writer.points if self._writer is not None else 0
        if self._spool is None:
            return counts
        sent, resent, queued, dropped, refused, _ = counts
        on_disk = self._spool.counts
        queued += waiting + on_disk.unsent
        return Counts(sent + on_disk.sent, resent + on_disk.resent, queued, dropped + on_disk.lost, refused, on_disk.unconfirmed)

    def offer(self, points: Iterable[Point]) -> None:
        """Queue the points; never blocks. Where the queue is full the oldest points go and are counted."""
        offered = list(points)
        accepted = acceptable_ones(offered)
        lines = lines_of(accepted)
        with self._changed:
            self.refused += len(offered) - len(accepted)
            if self._writer is None or self._closed:
                dropping = self._queue.add(lines) > 0
            else:
                dropped = self._writer.add(lines, max((point.time_s for point in accepted), default=0))
                self._queue.dropped += dropped
                dropping = dropped > 0
            if self._closed:
                self._queue.give_up()
            self._changed.notify_all()
        if dropping and not self._told_dropping:
            self._told_dropping = True
            self._report(f"{self.name}: the queue of {self._queue.points_max} points is full: the oldest are dropped from now on")

    def flush(self, timeout_s: float) -> bool:
        """Wait until everything offered was written, at most `timeout_s`; tell whether it was. For senders that can wait, as replay."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_idle or self._closed, timeout_s)
            return self._is_idle and not self._closed

    def commit(self, timeout_s: float) -> bool:
        """Wait until everything offered so far is in the spool, at most `timeout_s`; tell whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._writer is None or self._writer.is_idle, timeout_s)

    def close(self, timeout_s: float | None = None) -> None:
        """Deliver what can be delivered within `timeout_s`, count the rest as dropped and say how many. A second call does nothing.

        With a spool the rest stays there, and nothing is dropped.
        """
        if timeout_s is None:
            timeout_s = CLOSING_S if self._spool is None else CLOSING_WITH_SPOOL_S
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
            if self._writer is not None:
                not_stored = self._writer.give_up()
                self._queue.dropped += not_stored
                left += not_stored
            self._changed.notify_all()
        if self._spool is not None:
            self._spool.close()
            if self._spool.counts.unsent:
                self._report(f"{self.name}: closed; points that wait in {self._spool.folder}: {self._spool.counts.unsent}")
        if left:
            self._report(f"{self.name}: closed; points not delivered: {left} ({self.last_error or 'there was no time left'})")

    # ---- the thread that sends ----

    @property
    def _is_idle(self) -> bool:
        """Nothing waits, nothing is being written."""
        if self._spool is not None and (self._spool.unread_bytes or self._sending or not (self._writer and self._writer.is_idle)):
            return False
        return self._queue.is_idle

    def _run(self) -> None:
        try:
            while self._close_by_s is None:
                if self._connect_when_due() and self._wait_for_work():
                    self._write_batch()
            if self._writer is not None:
                self._writer.end(self._time_left_s)
            tries_left, sent = CLOSING_TRIES_MAX, self.sent
            while tries_left and not self._deliver_rest():
                tries_left, sent = CLOSING_TRIES_MAX if self.sent > sent else tries_left - 1, self.sent
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
        self._connected_s = self._clock()
        self.last_error = ""
        self._told_dropping = False
        self._tell_connected()
        return True

    def _tell_connected(self) -> None:
        """Say that it is connected; where connections end soon after each other only when this one has lasted."""
        if self._short_lived >= SHORT_LIVED_MAX and self._clock() - self._connected_s < LASTING_S:
            return
        counts = self.counts
        where = f" to {address.name(self._connection.address)}, which stands in" if self._connection.is_stand_in else ""
        self._tell(f"connected{where}", f"connected{where}; points waiting: {counts.queued}, dropped so far: {counts.dropped}")

    def _wait_for_work(self) -> bool:
        """Wait for something to send; meanwhile see what has been delivered. Return False where there is nothing to send it on."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._has_work or self._close_by_s is not None, self._due_s)
                if self._has_work or self._close_by_s is not None:
                    return self._has_work
            try:
                self._connection.check_still_open()
                self._tell_connected()
                if self._delivery is not None:
                    self._delivery.confirm(self._clock())
                if self._renewal_is_due:
                    self._renew()
            except OSError as error:
                self._lost(error)
                return False

    @property
    def _due_s(self) -> float | None:
        """In how many seconds something is to be done without a new point."""
        now_s = self._clock()
        due_s = [self._delivery.due_s(now_s) if self._delivery is not None else None]
        due_s += (
            [self._connected_s + LASTING_S - now_s]
            if self._short_lived >= SHORT_LIVED_MAX and not self._told.startswith("connected")
            else []
        )
        due_s += [self._connected_s + STAND_IN_S - now_s] if self._connection.is_stand_in else []
        return min((due for due in due_s if due is not None), default=None)

    @property
    def _renewal_is_due(self) -> bool:
        now_s = self._clock()
        if self._connection.is_stand_in and self._connected_s + STAND_IN_S <= now_s:
            return True
        return self._delivery is not None and self._delivery.wants_proof(now_s)

    def _renew(self) -> None:
        """Have Carbon read everything and close its end, then connect again. Raises OSError where it does not, or is gone."""
        before = self._connection.address
        self._connection.finish(max(self._resend_s, FINISHING_S))
        self._connection.close()
        if self._delivery is not None:
            self._delivery.proved(self._clock())
        self._connection.open(self._connect_timeout_s)
        self._pacer.tried(self._clock())
        self._pacer.succeeded()
        self._connected_s = self._clock()
        if self._connection.address != before:
            self._send_again()  # whether the other one dies will not be seen any more
            self._tell("connected", f"connected again to {address.name(self._connection.address)}")

    @property
    def _has_work(self) -> bool:
        return not self._queue.is_idle or (self._spool is not None and self._spool.unread_bytes > 0)

    def _write_batch(self) -> bool:
        with self._changed:
            batch = self._queue.next_batch()
        if batch is None:
            return self._spool is None or self._delivery is None or self._write_spooled(self._spool, self._delivery)
        try:
            self._connection.check_still_open()
            self._connection.write(batch.payload)
        except OSError as error:
            self._lost(error)
            return False
        with self._changed:
            self._queue.written(self._clock())
            if self._is_idle:
                self._changed.notify_all()
        return True

    def _write_spooled(self, spool: Spool, delivery: Delivery) -> bool:
        self._sending = True
        try:
            batch = spool.next_batch()
        except OSError as error:
            self._sending = False
            self._tell("unreadable", f"spool {spool.folder} cannot be read: {_reason(error)}; it is tried again")
            with self._changed:
                self._changed.wait_for(lambda: self._close_by_s is not None, READ_AGAIN_S)
            return self._close_by_s is None
        try:
            self._connection.check_still_open()
            if batch is not None:
                self._connection.write(batch.payload)
        except OSError as error:
            self._lost(error)
            return False
        if batch is not None:
            delivery.written(batch.id, len(batch.payload), self._clock())
        delivery.confirm(self._clock())
        with self._changed:
            self._sending = False
            if self._is_idle:
                self._changed.notify_all()
        return True

    def _deliver_rest(self) -> bool:
        """Before closing: write what is left and wait until the peer has read it. Return False when another try may help."""
        if self._is_idle and not self._connection.is_open:
            return True
        if not self._connection.is_open and not self._connect(min(max(0.05, self._time_left_s), self._connect_timeout_s)):
            return True
        while self._has_work and not (self._spool is not None and self._time_left_s < FINISHING_S):
            if self._closed or not self._write_batch():
                return False
        try:
            self._connection.finish(max(0.05, self._time_left_s))
            if self._delivery is not None:
                self._delivery.proved(self._clock())
        except TimeoutError as error:
            if self._spool is None:  # else it is sent again from there
                self._report(f"{self.name}: closed, but {error}")
            return True
        except OSError as error:
            self._lost(error)
            return False
        return True

    @property
    def _time_left_s(self) -> float:
        return (self._close_by_s or 0.0) - self._clock()

    def _lost(self, error: OSError) -> None:
        self._short_lived = self._short_lived + 1 if self._clock() - self._connected_s < LASTING_S else 0
        self._connection.lost()
        self._send_again()
        self._failed(f"connection lost: {_reason(error)}")

    def _send_again(self) -> None:
        """Write everything of the resend window on the next connection."""
        if self._delivery is not None:
            self._delivery.lost()
            self._sending = False
        with self._changed:
            self._queue.lost(self._clock())

    def _failed(self, error: str) -> None:
        self.last_error = error
        kept = f"up to {self._queue.points_max} points are kept" if self._spool is None else f"points are kept in {self._spool.folder}"
        self._tell("lost", f"{error}; {kept} and it is tried again")

    def _tell(self, state: str, words: str) -> None:
        if state != self._told:
            self._told = state
            self._report(f"{self.name}: {words}")


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
