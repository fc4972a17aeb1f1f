"""What stands between the view and the terminal: one that goes away ends the view, one that is slow holds nothing up.

Textual's own driver looks for ever at a terminal that went away, and once nobody takes what it writes, its loop stands still: then
neither q nor SIGTERM ends the program.
"""

import codecs
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from lnetstat.top.terminal import GONE, encoded

if TYPE_CHECKING:
    from textual.app import App

CHUNK_BYTES = 256  # written at once: the most that a terminal still takes when the view ends in the midst of a screen
END_S = 0.5  # for a terminal to take what leaves it as it was
KEYS_BYTES = 4096
TICK_MS = 100  # how long the parser waits for the rest of an escape sequence, and how soon the thread sees the end


class Output:
    """Writes to a terminal in a thread of its own. `gone` is called there, once, when the terminal takes nothing ever again."""

    def __init__(self, fd: int, encoding: str, gone: Callable[[], Any]) -> None:
        self._fd, self._encoding, self._gone = fd, encoding, gone
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        threading.Thread(target=self._run, name="lnetstat-screen", daemon=True).start()

    @property
    def is_behind(self) -> bool:
        """Whether the terminal has not yet taken all."""
        return bool(self._waiting)

    def write(self, text: str) -> None:
        """Take text, at once."""
        data = encoded(text, self._encoding)
        with self._changed:
            self._waiting.extend(data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES))
            self._changed.notify_all()

    def drop(self) -> None:
        """Forget what waits, but for the piece that is being written."""
        with self._changed:
            while len(self._waiting) > 1:
                self._waiting.pop()

    def finish(self, within_s: float) -> None:
        """Wait until all is written, but not longer than that."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, within_s)

    def _run(self) -> None:
        is_gone = False
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                data = self._waiting[0]
            if not is_gone and not self._is_written(data):
                is_gone = True
                self._gone()
            with self._changed:
                self._waiting.popleft()
                self._changed.notify_all()

    def _is_written(self, data: bytes) -> bool:
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:  # whoever had the terminal before left it so
                select.select([], [self._fd], [])
            except OSError:
                return False
        return True


class Driver(LinuxDriver):
    """Textual's, but for what it reads and writes."""

    def __init__(self, app: "App[Any]", *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        terminal = sys.__stdout__  # also where stderr is a file
        assert terminal is not None
        self._output = Output(terminal.fileno(), terminal.encoding, self._end)

    @property
    def is_behind(self) -> bool:
        """Whether the terminal has not yet taken all that was drawn."""
        return self._output.is_behind

    def write(self, data: str) -> None:
        self._output.write(data)

    def stop_application_mode(self) -> None:
        self._output.drop()
        super().stop_application_mode()

    def close(self) -> None:
        super().close()
        self._output.finish(END_S)

    def run_input_thread(self) -> None:
        """Make events of what is typed, until the view or the terminal ends. Bytes that are no UTF-8 (Latin-1, Meta) are no keys."""
        parser = XTermParser(self._debug)
        decode = codecs.getincrementaldecoder("utf-8")("ignore").decode
        keys = select.poll()
        keys.register(self.fileno, select.POLLIN)
        while not self.exit_event.is_set():
            if keys.poll(TICK_MS):
                data = self._typed()
                if not data:
                    self._end()
                    return
                for event in parser.feed(decode(data).replace("\x08", "\x7f")):  # what some terminals send for Backspace
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)

    def _typed(self) -> bytes:
        """Return what was typed, nothing where the terminal is gone."""
        try:
            return os.read(self.fileno, KEYS_BYTES)
        except OSError:
            return b""

    def _end(self) -> None:
        self._app.call_later(self._app.exit, None, GONE)
