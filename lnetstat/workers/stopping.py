"""Ctrl-C that lets a run finish the sample it is at: what is written stays whole. SIGTERM, with which batch systems end jobs, as Ctrl-C."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

Handler = Callable[[int, FrameType | None], None]
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """SIGTERM came: what holds for Ctrl-C holds for it."""


class Asked(threading.Event):
    """Set by the first signal that asks a run to end; `number` is that signal's, before it 0."""

    number = 0


@contextlib.contextmanager
def ctrl_c() -> Iterator[Asked]:
    """Within the block the first Ctrl-C or SIGTERM only sets the event given; a second one interrupts.

    Outside the main thread, where signals cannot be handled, nothing sets the event.
    """
    asked = Asked()

    def note(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            interrupt(number, frame)
        asked.number = number
        asked.set()

    with _handling(note, SIGNALS):
        yield asked


@contextlib.contextmanager
def sigterm() -> Iterator[None]:
    """Within the block SIGTERM interrupts as Ctrl-C does."""
    with _handling(interrupt, (signal.SIGTERM,)):
        yield


@contextlib.contextmanager
def no_ctrl_c() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back until the block ends; processes started in it never see Ctrl-C."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    # The mask is for the processes started here; this one's other threads take signals too, which Python then handles in the main one.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _handling(note, SIGNALS):
            try:
                yield
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        for number in came[:1]:
            signal.raise_signal(number)


def interrupt(number: int, frame: FrameType | None) -> None:
    """End what is being done: KeyboardInterrupt, for SIGTERM Terminated."""
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


@contextlib.contextmanager
def _handling(handler: Handler, numbers: tuple[signal.Signals, ...]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
