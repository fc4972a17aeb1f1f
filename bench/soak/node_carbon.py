"""A Carbon that does what it is told: takes lines, hangs, dies, comes back on the same port; it notes the seconds of one metric."""

import contextlib
import re
import socket
import struct
import threading
from types import TracebackType

RECEIVE_BYTES = 1 << 18
BACKLOG = 50  # as Twisted's


class Seconds:
    """A set of seconds around `begin_s` that takes the same memory however many there are."""

    BEFORE, AFTER = 20_000, 2_000_000

    def __init__(self, begin_s: int) -> None:
        self._first_s = begin_s - self.BEFORE
        self._has = bytearray(b"-" * (self.BEFORE + self.AFTER))

    def add(self, second: int) -> None:
        self._has[second - self._first_s] = ord("x")

    def __len__(self) -> int:
        return self._has.count(b"x")

    def both(self, other: "Seconds") -> int:
        """Return how many seconds are in this set and in the other."""
        at = self._first_s - other._first_s
        return sum(one == ord("x") and 0 <= at + i < len(other._has) and other._has[at + i] == ord("x") for i, one in enumerate(self._has))


class ScriptedCarbon:
    """Listens on 127.0.0.1. `seconds`: those of all points whose path ends with `mark` that were read."""

    def __init__(self, mark: str, begin_s: int) -> None:
        self.seconds = Seconds(begin_s)
        self._line = re.compile(rb"\S*" + re.escape(mark).encode() + rb" \S+ (\d+)\n")
        self._guard = threading.Lock()
        self._reads = threading.Event()
        self._reads.set()
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener: socket.socket | None = None
        self._port = 0
        self.come_back()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def hang(self) -> None:
        """Take connections, and read nothing any more."""
        self._reads.clear()

    def die(self) -> None:
        """Refuse connections, and reset those there are."""
        with self._guard:
            if self._listener is not None:
                with contextlib.suppress(OSError):
                    self._listener.shutdown(socket.SHUT_RDWR)
                self._listener.close()
                self._listener = None
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.shutdown(socket.SHUT_RDWR)

    def come_back(self) -> None:
        self._reads.set()
        with self._guard:
            if self._listener is None:
                self._listener = socket.create_server(("127.0.0.1", self._port), backlog=BACKLOG)
                self._port = self._listener.getsockname()[1]
                self._start(self._accept, self._listener)

    def finish(self) -> None:
        """Let every connection come to its end, and take no more."""
        with self._guard:
            listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for thread in list(self._threads):
            thread.join(60)

    def __enter__(self) -> "ScriptedCarbon":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._reads.set()
        self.die()
        self.finish()

    def _start(self, target: object, argument: socket.socket) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=target, args=(argument,), name="scripted carbon", daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed
                return
            with self._guard:
                self._connections.add(connection)
                self._start(self._take, connection)

    def _take(self, connection: socket.socket) -> None:
        rest = b""
        with connection, contextlib.suppress(OSError):
            while True:
                self._reads.wait()
                data = connection.recv(RECEIVE_BYTES)
                if not data:
                    break
                data = rest + data
                end = data.rfind(b"\n") + 1
                rest = data[end:]
                for second in self._line.findall(data, 0, end):
                    self.seconds.add(int(second))
        with self._guard:
            self._connections.discard(connection)
