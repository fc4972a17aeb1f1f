"""How far long work is: one line on stderr, drawn over itself, and gone at the end."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

import click

from lnetstat.words import printable

CELLS = 24
PERIOD_S = 0.1  # more often no eye sees, and a slow terminal would hold up the work
COLUMNS_USUAL = 80
ERASE = "\r\033[K"  # to the beginning of the line, and all of it away, with what else the terminal wrote there: ^C


def is_wanted() -> bool:
    """Whether somebody looks: stderr is a terminal that can erase a line, and no JSON goes to a program meanwhile."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    context = click.get_current_context(silent=True)
    as_json = context is not None and (context.params.get("as_json") or context.params.get("form") == "json")
    return not as_json or sys.stdout.isatty()


class Bar:
    """A bar, the share and some words on stderr while the block lasts, where that is wanted; else nothing. It has no colours.

    The line is empty again when the block ends, also by an error or Ctrl-C.
    """

    def __init__(self) -> None:
        self._wanted = is_wanted()
        self._began_s = time.monotonic()
        self._drawn_s = float("-inf")
        self._stands = False
        self._line = threading.Lock()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *error: object) -> None:
        self._erase()

    @property
    def elapsed_s(self) -> float:
        """How long it has been there."""
        return time.monotonic() - self._began_s

    def show(self, share: float, words: str) -> None:
        """Show the share that is done of this step of the work, 0 to 1, and words beside it. Its beginning and end are always shown."""
        now_s = time.monotonic()
        if not self._wanted or (0 < share < 1 and now_s - self._drawn_s < PERIOD_S):
            return
        self._drawn_s = now_s
        share = min(1.0, max(0.0, share))
        full = int(share * CELLS)
        line = f"[{'#' * full}{'-' * (CELLS - full)}] {share:4.0%}  {printable(words)}"
        with self._line:
            self._stands = True  # before it does: Ctrl-C may come in between
            sys.stderr.write(ERASE + line[: _columns() - 1])  # a line that wraps could not be erased
            sys.stderr.flush()

    def say(self, words: str) -> None:
        """Write a line that stays. Any thread may."""
        self._erase()
        click.echo(words, err=True)

    def _erase(self) -> None:
        with self._line:
            if self._stands:
                sys.stderr.write(ERASE)
                sys.stderr.flush()
            self._stands = False


@contextlib.contextmanager
def working(words: str) -> Iterator[None]:
    """Say what is being done, of which nobody can tell how far it is, while the block lasts."""
    with Bar() as bar:
        bar.show(0, words)
        yield


def _columns() -> int:
    """Return how wide the terminal is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or COLUMNS_USUAL
    except OSError:
        return COLUMNS_USUAL
