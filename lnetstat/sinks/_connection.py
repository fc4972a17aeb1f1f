"""One TCP connection to Carbon, and how long to wait before the next try."""

import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from random import Random

from lnetstat.sinks.address import Address

SEND_BUFFER_BYTES = 65_536  # small: what the kernel holds is lost when the peer dies, and a hung peer shows sooner
KEEPALIVE_IDLE_S = 10
KEEPALIVE_INTERVAL_S = 5
KEEPALIVE_PROBES = 3
AVOID_S = 60.0


class Connection:
    """A kept plaintext connection to the first of `addresses` that takes one. Every method raises OSError when no peer is there.

    An address to which a connection was lost comes last for a minute: a peer that accepts and then hangs must not keep the others out.
    """

    def __init__(self, addresses: Sequence[Address], write_timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._addresses = addresses
        self._write_timeout_s = write_timeout_s
        self._clock = clock
        self._socket: socket.socket | None = None
        self._aborted = False
        self._lost_s: dict[Address, float] = {}
        self.address = addresses[0]

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    @property
    def is_stand_in(self) -> bool:
        """Tell whether it goes to another address than the first."""
        return self.address != self._addresses[0]

    def open(self, timeout_s: float) -> None:
        """Connect (IPv4 or IPv6, whichever the name has); each address is given `timeout_s`. Raises the error of the first one tried."""
        if self._aborted:
            raise ConnectionAbortedError("it is being closed")
        errors: list[OSError] = []
        for address in self._in_turn():
            try:
                self._socket = _connected(address, timeout_s, self._write_timeout_s)
                self.address = address
                return
            except OSError as error:
                errors.append(error)
        raise errors[0]

    def lost(self) -> None:
        """Close a connection that did not end well."""
        self._lost_s[self.address] = self._clock()
        self.close()

    def _in_turn(self) -> list[Address]:
        now_s = self._clock()

        def is_avoided(address: Address) -> bool:
            return address in self._lost_s and now_s - self._lost_s[address] < AVOID_S

        return sorted(self._addresses, key=is_avoided)

    def check_still_open(self) -> None:
        """Look for the peer's end of the connection: a write after it would succeed once and be lost."""
        connected = self._live()
        connected.setblocking(False)  # MSG_DONTWAIT would not do: Python waits for data by itself while a timeout is set
        try:
            answer = connected.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return
        if answer:
            raise ConnectionError("the peer answers with data: this is not Carbon's plaintext port")
        raise ConnectionError("the peer closed the connection")

    def write(self, payload: bytes) -> None:
        """Write all of it. A peer that takes nothing at all for write_timeout_s counts as gone; a slow one does not."""
        connected = self._live()
        connected.settimeout(self._write_timeout_s)
        rest = memoryview(payload)
        while rest:
            try:
                rest = rest[connected.send(rest) :]
            except TimeoutError:
                raise TimeoutError(f"the peer took nothing for {self._write_timeout_s:g} s") from None

    def finish(self, timeout_s: float) -> None:
        """Say that nothing more comes and wait until the peer has read everything and closed its end."""
        connected = self._live()
        connected.shutdown(socket.SHUT_WR)
        deadline_s = time.monotonic() + timeout_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            connected.settimeout(left_s)
            try:
                ended = not connected.recv(4096)
            except TimeoutError:
                break
            if ended and not self._aborted:
                return
            if ended:
                break
        raise TimeoutError("the peer did not confirm that it read everything")

    def abort(self) -> None:
        """Wake a thread that hangs in write or finish. May be called from any thread."""
        self._aborted = True
        hanging = self._socket
        if hanging is not None:
            try:
                hanging.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it is gone already: nobody hangs in it

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _live(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionError("not connected")
        return self._socket


def _connected(address: Address, timeout_s: float, write_timeout_s: float) -> socket.socket:
    connected = socket.create_connection(address, timeout=timeout_s)
    try:
        for level, option, value in (
            (socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES),
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE_S),
            (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S),
            (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, KEEPALIVE_PROBES),
            (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(write_timeout_s * 1000)),
        ):
            connected.setsockopt(level, option, value)
    except OSError:
        connected.close()
        raise
    return connected


class Pacer:
    """Decorrelated jitter between tries, so that thousands of nodes do not come back at once; and never too many tries a minute.

    The first try is at once. After an outage, which all nodes see at the same moment, the first wait is drawn between 0 and `delay_s_max`:
    Carbon's listen backlog of 50 is nothing to thousands. Each further wait is drawn between `delay_s_min` and three times the wait before,
    at most `delay_s_max` (M. Brooker, "Exponential Backoff and Jitter", 2015).
    """

    def __init__(self, random: Random, *, delay_s_min: float = 1.0, delay_s_max: float = 30.0, tries_a_minute_max: int = 6) -> None:
        self._random = random
        self._delay_s_min = delay_s_min
        self._delay_s_max = delay_s_max
        self._tries_s: deque[float] = deque(maxlen=tries_a_minute_max)
        self._delay_s = delay_s_min
        self._was_connected = False

    def delay_s(self, now_s: float) -> float:
        """Return how long to wait before the next try."""
        if not self._tries_s:
            return 0.0
        if self._was_connected:
            self._delay_s = self._random.uniform(0, self._delay_s_max)
        else:
            self._delay_s = min(self._delay_s_max, self._random.uniform(self._delay_s_min, 3 * max(self._delay_s, self._delay_s_min)))
        if len(self._tries_s) < (self._tries_s.maxlen or 0):
            return self._delay_s
        return max(self._delay_s, self._tries_s[0] + 60.0 - now_s)

    def tried(self, now_s: float) -> None:
        """A try has begun."""
        self._tries_s.append(now_s)
        self._was_connected = False

    def succeeded(self) -> None:
        """The try led to a connection: what follows is another outage."""
        self._was_connected = True
