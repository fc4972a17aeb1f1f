"""Sleep until a moment or until a signal, whichever comes first.

A signal's handler must not touch a lock that the thread it interrupts may hold, as that of threading.Event: it writes a byte to a pipe.
"""

import contextlib
import os
import select


class Waiter:
    """A sleep that `wake` ends, from a signal handler or from another thread."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def wake(self) -> None:
        with contextlib.suppress(OSError):  # so many bytes wait there that it will wake anyway, or it is closed
            os.write(self._in, b"!")

    def wait(self, timeout_s: float) -> None:
        """Return after `timeout_s`, or as soon as somebody calls `wake`, or has since the last wait."""
        if select.select([self._out], [], [], max(0.0, timeout_s))[0]:
            with contextlib.suppress(BlockingIOError):
                os.read(self._out, 4096)

    def close(self) -> None:
        os.close(self._out)
        os.close(self._in)
