"""The terminal: left as it was, however the view ends, and asked whether its ground is light (COLORFGBG, or its answer to OSC 11)."""

import os
import re
import select
import signal
import sys
import termios
import time
import tty
from types import FrameType, TracebackType
from typing import Any

QUESTION = "\x1b]11;?\x1b\\\x1b[c"  # the ground's colour, then what kind of terminal it is: all answer the second one
ANSWERED = re.compile(rb"\x1b\[\?[0-9;]*c")
_GROUND = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)")
WAIT_S = 0.05  # beyond what was done since the question
BRIGHT = 0.5
_LIGHT_NUMBERS = ("7", "15")  # of the 16 colours
ENTER, LEAVE = "\x1b[?1049h\x1b[H\x1b[J", "\x1b[?1049l"
_CONSOLE = "linux"  # its fonts lack the bars, and some of its versions print the question
_ASCII = str.maketrans("▁▂▃▄▅▆▇█─│┌┐└┘●▲▼…", "_.-:=+*#-|++++o^v.")
BY_SIGNAL = 128
GONE = BY_SIGNAL + signal.SIGHUP  # as if the kernel had said so, which it says to the session's first process only


def encoded(text: str, encoding: str) -> bytes:
    """Return what a terminal of this encoding shows for a text: bars and lines in ASCII where it has no others, ? for what it lacks."""
    has_all = "utf" in encoding.lower() and os.environ.get("TERM") != _CONSOLE
    return (text if has_all else text.translate(_ASCII)).encode(encoding, "replace")


def by_environment(value: str | None, term: str | None = None) -> str | None:
    """Return "dark" or "light" from COLORFGBG (15;0: letters and ground) and TERM, None where they do not tell."""
    if not value and term == _CONSOLE:
        return "dark"
    ground = (value or "").rpartition(";")[2]
    return ("light" if ground in _LIGHT_NUMBERS else "dark") if ground.isdecimal() else None


def by_answer(data: bytes) -> str | None:
    """Return "dark" or "light" from what the terminal answered, None where it does not tell."""
    found = _GROUND.search(data)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > BRIGHT else "dark"


class Ended(BaseException):
    """A signal came."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = BY_SIGNAL + number


def _end(number: int, _: FrameType | None) -> None:
    raise Ended(number)


class Held:
    """Holds stdin and stdout, a terminal, and leaves it as it was. `status`: the exit status, also that of a signal, or GONE.

    SIGTERM and SIGHUP end what is done until somebody else takes them.
    """

    status = 0

    def __enter__(self) -> "Held":
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _end)
        self._before: list[Any] | None = None
        if not _is_gone():
            self._before = termios.tcgetattr(sys.stdin.fileno())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        gone = _is_gone()
        if gone or not _takes():
            _let_go()
        else:
            if self._before:
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._before)
            sys.stdout.write(LEAVE)
            sys.stdout.flush()
        if isinstance(error, Ended):
            self.status = error.status
        elif gone and isinstance(error, OSError | termios.error):
            self.status = GONE
        else:
            return False
        return True


def _is_gone() -> bool:
    poll = select.poll()
    for stream in (sys.stdin, sys.stdout):
        poll.register(stream, 0)  # that it hung up is told unasked
    return bool(poll.poll(0))


def _takes() -> bool:
    return bool(select.select([], [sys.stdout], [], 0)[1])


def _let_go() -> None:
    """Write no more to a terminal that takes nothing: what Python still holds for it, and words on stderr, would fail or wait for ever."""
    terminals = {os.fstat(stream.fileno()).st_rdev for stream in (sys.stdin, sys.stdout)}
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if os.fstat(stream.fileno()).st_rdev in terminals:
            os.dup2(nowhere, stream.fileno())


class Question:
    """Asked when it is made; `theme` takes the answer, which has come while other things were done.

    The terminal is not to be read by others in between.
    """

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._fd)
        tty.setcbreak(self._fd, termios.TCSADRAIN)  # nor is the answer echoed
        sys.stdout.write(QUESTION)
        sys.stdout.flush()

    def theme(self) -> str | None:
        """Return "dark" or "light", None where the terminal does not tell."""
        data, end_s = b"", time.monotonic() + WAIT_S
        try:
            while not ANSWERED.search(data) and select.select([self._fd], [], [], max(0.0, end_s - time.monotonic()))[0]:
                more = os.read(self._fd, 4096)
                if not more:
                    break
                data += more
        finally:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
        return by_answer(data)
