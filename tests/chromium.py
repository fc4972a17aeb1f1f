"""A real headless Chromium, driven through its developer protocol over a pipe: no port, no further package."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WITHOUT = "no Chromium here (Debian: apt-get install chromium)"
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    # Several pages are open at once, and none of them is in front.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)
PATIENCE_S = 30.0
POLL_S = 0.02
END = b"\0"


class Browser:
    """Sends commands, and keeps what the browser says of each page in between."""

    def __init__(self, write_fd: int, read_fd: int) -> None:
        self._write_fd, self._read_fd = write_fd, read_fd
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Send one command and return its result. Raises AssertionError where the browser does not do it."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(command).encode() + END
        while data:
            data = data[os.write(self._write_fd, data) :]
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            message = self._next(deadline_s)
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.events.append(message)

    def _next(self, deadline_s: float) -> dict[str, Any]:
        while END not in self._rest:
            ready, _, _ = select.select([self._read_fd], [], [], max(0.0, deadline_s - time.monotonic()))
            part = os.read(self._read_fd, 1 << 20) if ready else b""
            assert part, "the browser has gone" if ready else f"no answer of the browser for {PATIENCE_S:g} s"
            self._rest += part
        text, _, self._rest = self._rest.partition(END)
        return json.loads(text)

    def page(self, width: int = 1280, height: int = 1000, *, touch: bool = False) -> "Page":
        """Open an empty page of this size in a session of its own: nothing that another page kept."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        if touch:
            page.send("Emulation.setTouchEmulationEnabled", enabled=True)
        return page


class Page:
    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **params)

    def before(self, script: str) -> None:
        """Let a script run in every page that is opened from now on, before its own."""
        self.send("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, url: str) -> None:
        self.send("Page.navigate", url=url)

    def value(self, script: str) -> Any:
        """Return what an expression (or a promise) of JavaScript comes to."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, f"{script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, condition: str) -> Any:
        """Wait until an expression of JavaScript is true, also across the loading of another page; return it."""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            # Not a promise that the page keeps: it would go with the page when the next one comes.
            found = self.value(f"(() => {{ try {{ return {condition}; }} catch {{ return false; }} }})()")
            if found:
                return found
            time.sleep(POLL_S)
        raise AssertionError(f"not within {PATIENCE_S:g} s: {condition}; page: {self.value('document.body.innerText')[:2000]}")

    def key(self, key: str, code: str = "", *, modifiers: int = 0) -> None:
        """Press and release a key; `key` is its text ("r") or its name ("Escape", "Tab")."""
        names = {"Tab": 9, "Escape": 27, "Enter": 13, "ArrowDown": 40}
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        shared = {"key": key, "code": code or key, "modifiers": modifiers, "windowsVirtualKeyCode": names.get(key, ord(key.upper()[0]))}
        self.send("Input.dispatchKeyEvent", type="keyDown", **shared, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **shared)

    def mouse(self, kind: str, x: float, y: float, *, pressed: bool = False) -> None:
        """Send mouseMoved, mousePressed or mouseReleased at a point of the window."""
        button = {"button": "left", "clickCount": 1, "buttons": 1} if pressed or kind != "mouseMoved" else {}
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse("mouseMoved", *begin)
        self.mouse("mousePressed", *begin)
        for share in (0.3, 0.7, 1.0):
            at = (begin[0] + share * (end[0] - begin[0]), begin[1] + share * (end[1] - begin[1]))
            self.mouse("mouseMoved", *at, pressed=True)
        self.mouse("mouseReleased", *end)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def events(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of what the browser has said of this page by this name."""
        return [each["params"] for each in self._browser.events if each.get("sessionId") == self._session and each.get("method") == method]

    def console(self) -> list[str]:
        """Return every warning, error and uncaught exception of this page."""
        self.value("0")  # what was said before has arrived with the answer
        said = [each["entry"]["text"] for each in self.events("Log.entryAdded") if each["entry"]["level"] in ("warning", "error")]
        said += [str(each["args"]) for each in self.events("Runtime.consoleAPICalled") if each["type"] in ("warning", "error", "assert")]
        return said + [str(each["exceptionDetails"]) for each in self.events("Runtime.exceptionThrown")]


@contextmanager
def chromium(folder: Path, *options: str) -> Iterator[Browser]:
    """A browser with its profile in `folder`."""
    assert CHROMIUM is not None
    (their_read, our_write), (our_read, their_write) = os.pipe(), os.pipe()
    inside = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (their_read, their_write)]
    command = [CHROMIUM, *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", *options, "about:blank"]
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    actions = [*quiet, (os.POSIX_SPAWN_DUP2, inside[0], 3), (os.POSIX_SPAWN_DUP2, inside[1], 4)]
    pid = os.posix_spawn(CHROMIUM, command, os.environ, file_actions=actions, setsid=True)
    for fd in (their_read, their_write, *inside):
        os.close(fd)
    try:
        yield Browser(our_write, our_read)
    finally:
        os.close(our_write)  # its end of the pipe closed, the browser ends
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(our_read)


def look(folder: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Let the browser look at one address until nothing moves any more; console messages come on stderr.

    With virtual time a busy machine's browser now and then waits for itself for ever: it is started anew, twice.
    """
    for attempt in range(2):
        with suppress(subprocess.TimeoutExpired):
            return _look(folder / f"profile{attempt}", url, *arguments, timeout_s=60)
    return _look(folder / "profile", url, *arguments, timeout_s=120)


def _look(profile: Path, url: str, *arguments: str, timeout_s: float) -> subprocess.CompletedProcess[str]:
    command = [
        str(CHROMIUM),
        *OPTIONS,
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
        "--v=0",
        "--virtual-time-budget=20000",
        *arguments,
        url,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=True)
