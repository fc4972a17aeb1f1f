"""The newest points for Prometheus: served over HTTP at /metrics, or as a file for node_exporter's textfile collector.

Prometheus takes the newest value at its own interval: what happens between two scrapes is in Carbon and in the recording, not there.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable

from lnetstat.errors import SinkError
from lnetstat.model import Point
from lnetstat.reduce.metrics import PREFIX
from lnetstat.sinks._exposition import CONTENT_TYPE, Exposition
from lnetstat.sinks._page_server import PageServer

PATH = "/metrics"
ENDING = ".prom"  # node_exporter reads no other file


class PrometheusSink:
    """An HTTP server for GET /metrics at addr:port; port 0 takes a free one, `port` says which.

    There is no authentication: 127.0.0.1 unless the site's network is trusted. Raises SinkError where it cannot listen.
    """

    def __init__(
        self, addr: str = "127.0.0.1", port: int = 9169, *, prefix: str = PREFIX, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._exposition = Exposition(prefix)
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._made: tuple[list[Point], bytes] = [], b""
        if not 0 <= port <= 65_535:
            raise SinkError(f"prometheus: cannot listen on {addr}:{port}: a port is a number from 1 to 65535 (0: any free one)")
        try:
            self._server = PageServer(addr, port, PATH, CONTENT_TYPE, self._page)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise SinkError(f"prometheus: cannot listen on {addr}:{port}: {why}: another address or port, please") from error
        self.port = self._server.port

    def offer(self, points: Iterable[Point]) -> None:
        """Show these points from now on; never waits for a client."""
        taken = list(points)
        with self._lock:
            self._exposition.offer(taken, self._clock_s())

    def close(self) -> None:
        """Stop serving."""
        self._server.close()

    def _page(self) -> bytes:
        with self._lock:
            points = self._exposition.points(self._clock_s())
        # Many may ask in one second, and points that are the same objects are compared at once.
        if points != self._made[0]:
            self._made = points, self._exposition.text(points).encode()
        return self._made[1]


class TextfileSink:
    """Keeps a file with the newest points, replaced as a whole at each batch, and removes it at the end: old values would pass for new.

    The file is written on a thread of its own, so a disk that hangs delays nothing; `report` gets one line when it cannot be written
    and one when it can again. Raises SinkError where the file's folder is missing or its name does not end in .prom.
    """

    def __init__(
        self,
        path: str,
        *,
        prefix: str = PREFIX,
        report: Callable[[str], None] = lambda line: None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = os.path.abspath(path)
        folder = os.path.dirname(self._path)
        if not path.endswith(ENDING):
            raise SinkError(f"textfile {path}: the name must end in {ENDING}: node_exporter reads no other file")
        if not os.path.isdir(folder):
            raise SinkError(
                f"textfile {path}: {folder} is no folder: make it, and point node_exporter there (--collector.textfile.directory)"
            )
        self._temporary = os.path.join(folder, f".{os.path.basename(path)}.tmp")
        self._exposition = Exposition(prefix)
        self._report = report
        self._clock_s = clock_s
        self._changed = threading.Condition()
        self._waiting = False
        self._closing = False
        self._told = ""
        self.written = 0
        self._thread = threading.Thread(target=self._run, name="textfile", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str:
        """Why the file could not be written the last time; empty where it was."""
        return self._told

    def offer(self, points: Iterable[Point]) -> None:
        """Have these points written; of batches that come faster than the disk the newest."""
        taken = list(points)
        with self._changed:
            if self._exposition.offer(taken, self._clock_s()):
                self._waiting = True
                self._changed.notify()

    def close(self, timeout_s: float = 2.0) -> None:
        """Remove the file, without waiting longer than `timeout_s` for a disk that hangs."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                self._waiting = False
                closing = self._closing
                points = self._exposition.points(self._clock_s())
            if closing:
                for path in (self._path, self._temporary):
                    with contextlib.suppress(OSError):
                        os.unlink(path)
                return
            self._write(self._exposition.text(points).encode())

    def _write(self, page: bytes) -> None:
        why = ""
        try:
            self._replace(page)
            self.written += 1
        except OSError as error:
            why = f"textfile {self._path}: cannot be written: {error.strerror}: its values are old from now on"
        if why != self._told:
            self._report(why or f"textfile {self._path}: written again")
        self._told = why

    def _replace(self, page: bytes) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._temporary, flags, 0o644), "wb") as file:
            os.fchmod(file.fileno(), 0o644)  # whatever our umask: node_exporter runs as somebody else
            file.write(page)
        os.replace(self._temporary, self._path)
