"""A TCP relay with a bound on its bytes per second: what stands behind it looks as slow as one likes."""

import contextlib
import socket
import threading
import time

from lnetstat.stack.config import LOOPBACK

STEP_S = 0.05
BUFFER_BYTES = 65_536
FULL_BYTES_PER_S = 1 << 30


class Relay:
    """Takes one connection after the other on `port` and passes its bytes, and its end, on. `bytes_per_s` may be changed at any time."""

    def __init__(self, host: str, port: int) -> None:
        self.address = LOOPBACK
        self.bytes_per_s = FULL_BYTES_PER_S
        self._to = (host, port)
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self._listener.bind((LOOPBACK, 0))
        self._listener.listen()
        self.port: int = self._listener.getsockname()[1]
        self._connection: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
        self._thread.start()

    def close(self) -> None:
        for open_one in (self._listener, self._connection):
            if open_one is not None:
                with contextlib.suppress(OSError):
                    open_one.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                self._connection = self._listener.accept()[0]
            except OSError:
                return
            with self._connection as near, contextlib.suppress(OSError), socket.create_connection(self._to) as far:
                self._pass_on(near, far)
                far.shutdown(socket.SHUT_WR)
                far.recv(1)  # its end: only then the near one is told that all was read

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        while data := near.recv(max(1, min(BUFFER_BYTES, int(self.bytes_per_s * STEP_S)))):
            far.sendall(data)
            time.sleep(len(data) / self.bytes_per_s)
