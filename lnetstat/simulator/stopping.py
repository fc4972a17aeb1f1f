"""Ctrl-C that lets a run finish the sample it is at: what is written stays whole."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def ctrl_c() -> Iterator[threading.Event]:
    """Within the block the first Ctrl-C only sets the event given; a second one interrupts as ever.

    Outside the main thread, where signals cannot be handled, nothing sets the event.
    """
    asked = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def no_ctrl_c() -> Iterator[None]:
    """Hold Ctrl-C back until the block ends; processes started in it never see it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
