"""Files as IOR, ltop and the simulator write them, and a web server that misbehaves as asked."""

import http.server
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

Respond = Callable[[http.server.BaseHTTPRequestHandler], None]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Write a file and return its path."""

    def write(data: str | bytes, name: str = "a.csv") -> str:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return write


@pytest.fixture
def operations() -> Callable[..., str]:
    """The text of one rank's operations: 1 MiB each, all stopped for two seconds every 25 s."""

    def text(seconds: float = 400.0, seed: int = 1) -> str:
        random = np.random.default_rng(seed)
        rows, now = [], float(random.random() * 0.01)
        while now < seconds:
            usual = 0.02 * float(random.uniform(0.8, 1.2))
            stop = 2.0 - now % 25 if now % 25 < 2.0 else 0.0
            runtime = usual + stop
            rows.append(f"{now:.8e},{runtime:.8e},{2**20 / runtime:e}\n")
            now += runtime
        return "time,runtime,tp\n" + "".join(rows)

    return text


class Server:
    """A web server on loopback: `respond` says what it does with a request, `seen` holds what was asked."""

    def __init__(self) -> None:
        self.respond: Respond = lambda handler: None
        self.seen: list[tuple[str, str]] = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.seen.append((self.path, self.headers.get("Authorization", "")))
                server.respond(self)

            def log_message(self, *_: object) -> None:
                return

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.port = self._http.server_address[1]

    def answer(self, status: int, body: str | bytes = b"", kind: str = "application/json", **headers: str) -> None:
        """Answer every request so."""
        data = body.encode() if isinstance(body, str) else body

        def respond(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("Content-Type", kind)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)

        self.respond = respond

    def trickle(self) -> None:
        """Answer a byte now and then, for longer than anybody waits."""

        def respond(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.end_headers()
            for _ in range(200):
                try:
                    handler.wfile.write(b" ")
                    handler.wfile.flush()
                except OSError:
                    return
                time.sleep(0.05)  # the server is slow: that is the thing under test, not a way to wait for something

        self.respond = respond

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    try:
        yield made
    finally:
        made.close()
