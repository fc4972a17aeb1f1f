"""What of a spool counts as delivered: written long enough ago, and certainly read by Carbon.

That a write succeeded says that a kernel took the bytes. A Carbon that hangs takes as many as its receive buffer holds, for minutes on a
slow stream, and they are gone when it is killed. Two things prove that Carbon has read them: more bytes than a kernel holds were written
after them, or Carbon closed its end of the connection in order after we had closed ours. The second is asked for where the first takes
too long.
"""

from collections import deque
from random import Random
from typing import NamedTuple

from lnetstat.sinks.spool import Spool

HELD_BYTES_MAX = 33_554_432 + 131_072  # the most of tcp_rmem (6 MiB; 32 since Linux 6.17), and our own buffer twice
PROOF_WINDOWS = 5  # after so many resend windows proof is asked for
FILLING_SHARE = 0.25  # of a spool's bound that may wait for proof; then it is asked for after one window
PROOF_JITTER = 0.5  # up to that much later, so that many nodes do not reconnect together


class Delivery:
    """The batches of `spool` that were written on the present connection, until they are delivered. Seconds are monotonic.

    Carbon keeps what it has read in memory at first: so a batch must also be `resend_s` old, on a connection that lived on.
    """

    def __init__(self, spool: Spool, resend_s: float, random: Random) -> None:
        self._spool, self._resend_s, self._random = spool, resend_s, random
        self._batches: deque[_Written] = deque()
        self._bytes = 0
        self._read_bytes = 0  # what Carbon has read for certain
        self._proof_s = self._next_proof_s()

    def written(self, batch_id: int, size_bytes: int, now_s: float) -> None:
        """A batch was written."""
        self._spool.written(batch_id)
        self._bytes += size_bytes
        self._read_bytes = max(self._read_bytes, self._bytes - HELD_BYTES_MAX)
        self._batches.append(_Written(batch_id, self._bytes, now_s))

    def confirm(self, now_s: float) -> None:
        """Tell the spool what is delivered by now."""
        while self._batches and self._batches[0].end_bytes <= self._read_bytes and self._batches[0].at_s + self._resend_s <= now_s:
            self._spool.acknowledged(self._batches.popleft().id)

    def wants_proof(self, now_s: float) -> bool:
        """Tell whether it is time to have Carbon close its end."""
        return bool(self._batches) and self._batches[0].end_bytes > self._read_bytes and self._due_s <= now_s

    def due_s(self, now_s: float) -> float | None:
        """Return in how many seconds something is to be confirmed or proved; None where nothing is."""
        if not self._batches:
            return None
        return self._due_s - now_s

    @property
    def _due_s(self) -> float:
        first = self._batches[0]
        is_filling = self._bytes - self._read_bytes > self._spool.max_bytes * FILLING_SHARE
        return first.at_s + (self._resend_s if first.end_bytes <= self._read_bytes or is_filling else self._proof_s)

    def proved(self, now_s: float) -> None:
        """Carbon has read everything that was written."""
        self._read_bytes = self._bytes
        self._proof_s = self._next_proof_s()
        self.confirm(now_s)

    def lost(self) -> None:
        """The connection broke: everything that is not delivered is to be written again."""
        self._batches.clear()
        self._spool.rewind()

    def _next_proof_s(self) -> float:
        return self._resend_s * PROOF_WINDOWS * (1 + PROOF_JITTER * self._random.random())


class _Written(NamedTuple):
    id: int
    end_bytes: int  # of all that was written, up to the end of this batch
    at_s: float
