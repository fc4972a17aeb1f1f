"""One page over HTTP: GET of one path, nothing else. One thread, few connections, every one with a deadline; whatever comes in is harmless.

Not http.server: it costs the agent some megabytes and waits for one client at a time.
"""

import contextlib
import errno
import selectors
import socket
import threading
import time
from collections.abc import Callable

REQUEST_BYTES_MAX = 8192
CONNECTIONS_MAX = 16
DEADLINE_S = 5.0  # from its acceptance to its end: a scrape on a local net takes milliseconds
PART_BYTES = 65_536
PAUSE_S = 0.1  # after the process ran out of descriptors


class _Connection:
    """One client: what it asked so far, then what it is still to get, then what it says after that, which is thrown away."""

    def __init__(self, client: socket.socket, deadline_s: float) -> None:
        self.client = client
        self.deadline_s = deadline_s
        self.request = b""
        self.answer: memoryview | None = None


class PageServer:
    """Serves what `page()` returns at `path` until `close`. Raises OSError where the address cannot be listened on.

    Of more than 16 connections at once the oldest is closed: an idle one never keeps others out.
    """

    def __init__(
        self,
        host: str,
        port: int,
        path: str,
        content_type: str,
        page: Callable[[], bytes],
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path.encode()
        self._content_type = content_type.encode()
        self._page = page
        self._clock_s = clock_s
        self._connections: dict[socket.socket, _Connection] = {}
        self._listener = _listen(host, port)
        self.port: int = self._listener.getsockname()[1]
        self._wake, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="page-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and drop who is connected."""
        with contextlib.suppress(OSError):  # closed already
            self._wake.send(b"x")
        self._thread.join()
        self._wake.close()

    def _serve(self) -> None:
        try:
            while not self._turn():
                pass
        finally:
            for connection in list(self._connections.values()):
                self._drop(connection)
            self._selector.close()
            self._listener.close()
            self._woken.close()

    def _turn(self) -> bool:
        """Handle what is ready now; return whether to end."""
        next_s = min((connection.deadline_s for connection in self._connections.values()), default=None)
        for key, _ in self._selector.select(None if next_s is None else max(0.0, next_s - self._clock_s())):
            if key.fileobj is self._woken:
                return True
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj in self._connections:  # not dropped in this very turn
                self._go_on(self._connections[key.fileobj])
        now_s = self._clock_s()
        for connection in [each for each in self._connections.values() if each.deadline_s <= now_s]:
            self._drop(connection)
        return False

    def _accept(self) -> None:
        if len(self._connections) >= CONNECTIONS_MAX:  # first, so that there is a descriptor for the new one
            self._drop(next(iter(self._connections.values())))
        try:
            client, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                time.sleep(PAUSE_S)  # it stays ready to be accepted: no busy loop
            return  # else the client has gone again
        client.setblocking(False)
        self._connections[client] = _Connection(client, self._clock_s() + DEADLINE_S)
        self._selector.register(client, selectors.EVENT_READ)

    def _go_on(self, connection: _Connection) -> None:
        try:
            if connection.answer is None:
                self._take(connection)
            elif connection.answer:
                self._give(connection)
            elif not connection.client.recv(PART_BYTES):
                self._drop(connection)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._drop(connection)

    def _take(self, connection: _Connection) -> None:
        data = connection.client.recv(REQUEST_BYTES_MAX + 1 - len(connection.request))
        connection.request += data
        whole = b"\r\n\r\n" in connection.request or b"\n\n" in connection.request
        if not data and not whole:
            self._drop(connection)
        elif whole or len(connection.request) > REQUEST_BYTES_MAX:
            connection.answer = memoryview(self._answer(connection.request, whole))
            self._selector.modify(connection.client, selectors.EVENT_WRITE)

    def _give(self, connection: _Connection) -> None:
        assert connection.answer is not None
        connection.answer = connection.answer[connection.client.send(connection.answer) :]
        if not connection.answer:
            # Closing at once would reset the connection where the client has said more, and it might lose the answer.
            connection.client.shutdown(socket.SHUT_WR)
            self._selector.modify(connection.client, selectors.EVENT_READ)

    def _answer(self, request: bytes, whole: bool) -> bytes:
        if not whole:
            return _response(b"431 Request Header Fields Too Large", b"text/plain", b"the request is too long\n")
        words = request.split(b"\n", 1)[0].rstrip(b"\r").split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _response(b"400 Bad Request", b"text/plain", b"HTTP/1.1 is spoken here\n")
        if words[1].split(b"?", 1)[0] != self._path:
            return _response(b"404 Not Found", b"text/plain", b"only " + self._path + b" is here\n")
        if words[0] != b"GET":
            return _response(b"405 Method Not Allowed", b"text/plain", b"only GET\n", b"Allow: GET\r\n")
        return _response(b"200 OK", self._content_type, self._page())

    def _drop(self, connection: _Connection) -> None:
        del self._connections[connection.client]
        self._selector.unregister(connection.client)
        connection.client.close()


def _response(status: bytes, content_type: bytes, body: bytes, more: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n%bConnection: close\r\n\r\n" % (status, content_type, len(body), more)
    return head + body


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(CONNECTIONS_MAX)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
