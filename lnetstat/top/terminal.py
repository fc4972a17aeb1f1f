"""Whether the terminal's ground is light: from its environment, or from its answer to the question (OSC 11)."""

import os
import re
import select
import sys
import termios
import time
import tty

QUESTION = "\x1b]11;?\x1b\\\x1b[c"  # the ground's colour, then what kind of terminal it is: all answer the second one
ANSWERED = re.compile(rb"\x1b\[\?[0-9;]*c")
_GROUND = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)")
WAIT_S = 0.05  # beyond what was done since the question
BRIGHT = 0.5
_LIGHT_NUMBERS = ("7", "15")  # of the 16 colours


def by_environment(value: str | None) -> str | None:
    """Return "dark" or "light" from COLORFGBG (15;0: letters and ground), None where it does not tell."""
    ground = (value or "").rpartition(";")[2]
    return ("light" if ground in _LIGHT_NUMBERS else "dark") if ground.isdecimal() else None


def by_answer(data: bytes) -> str | None:
    """Return "dark" or "light" from what the terminal answered, None where it does not tell."""
    found = _GROUND.search(data)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return "light" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > BRIGHT else "dark"


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
