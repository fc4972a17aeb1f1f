"""Events posted to Graphite (POST /events/), on a thread of its own: a web server that hangs or is gone never holds up the watching."""

import contextlib
import http.client
import json
import queue
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from lnetstat.errors import SinkError

TIMEOUT_S = 5.0
TRIES = 3
PAUSES_S = (1.0, 4.0)
MOST_WAITING = 1000  # a month of changes of state; beyond it the oldest goes
SCHEMES = {"graphite": http.client.HTTPConnection, "http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}


class EventPoster:
    """Posts events in their order, each tried TRIES times. `tell` gets one line for each change between working and not.

    `url`: graphite://HOST[:PORT][/PREFIX] for a graphite-web, or http(s)://…, posted to as it stands. Raises SinkError for another.
    """

    def __init__(self, url: str, tell: Callable[[str], None]) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in SCHEMES or not parts.hostname or port == -1:
            raise SinkError(f"{url}: expected graphite://HOST:PORT of a graphite-web, or http://HOST/PATH to post events to")
        self._connect, self._host, self._port = SCHEMES[parts.scheme], parts.hostname, port
        self._path = f"{parts.path.rstrip('/')}/events/" if parts.scheme == "graphite" else parts.path or "/"
        self._path += f"?{parts.query}" if parts.query else ""
        self._name, self._tell = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", tell
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MOST_WAITING)
        self._closing = threading.Event()
        self._failing = False
        self.sent = self.lost = 0
        self._thread = threading.Thread(target=self._work, name="lnetstat-events", daemon=True)
        self._thread.start()

    def post(self, what: str, when_s: int, tags: list[str], data: Any) -> None:
        """Hand over one event; never waits."""
        body = json.dumps({"what": what, "when": when_s, "tags": tags, "data": json.dumps(data, allow_nan=False)}).encode()
        while True:
            try:
                self._waiting.put_nowait(body)
                return
            except queue.Full:
                with contextlib.suppress(queue.Empty):
                    self._waiting.get_nowait()
                    self.lost += 1

    def close(self, patience_s: float = TIMEOUT_S) -> None:
        """Give what waits so much time, then end; what was not delivered is told."""
        self._closing.set()
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(patience_s)
        left = self._waiting.qsize() - (0 if self._thread.is_alive() else self._waiting.qsize())
        if self.lost or left or self._thread.is_alive():
            self._tell(f"{self._name}: {self.lost + left + self._thread.is_alive()} events could not be delivered")

    def _work(self) -> None:
        while (body := self._waiting.get()) is not None:
            reason = self._deliver(body)
            self.sent, self.lost = self.sent + (not reason), self.lost + bool(reason)
            if bool(reason) != self._failing:
                self._failing = bool(reason)
                self._tell(f"{self._name}: {'events cannot be delivered: ' + reason if reason else 'events are delivered again'}")

    def _deliver(self, body: bytes) -> str:
        """Return "" or why it could not be delivered."""
        reason = ""
        for number in range(TRIES):
            if number:
                self._closing.wait(PAUSES_S[number - 1])  # at the end there is no time to pause
            try:
                connection = self._connect(self._host, self._port, timeout=TIMEOUT_S)
                with contextlib.closing(connection):
                    connection.request("POST", self._path, body, {"Content-Type": "application/json"})
                    answer = connection.getresponse()
                    answer.read(1024)
            except (OSError, http.client.HTTPException) as error:
                reason = str(error) or type(error).__name__
                continue
            if answer.status < 300:
                return ""
            reason = f"answer {answer.status} {answer.reason}"
            if answer.status < 500:
                break  # it will not be accepted later either
        return reason
