"""Run lctl and lnetctl where the kernel's files cannot be read directly: an argument list, no shell, a time limit."""

import errno
import os
from collections.abc import Sequence

from lnetstat.model import Snapshot
from lnetstat.sources.reading import Clocks, state_of, unread


def find_command(name: str) -> str | None:
    """Return the path of a program on PATH, or None."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def run_command(argv: Sequence[str], name: str, host: str, *, timeout_s: float, clocks: Clocks) -> Snapshot:
    """Run a program and return what it printed as a snapshot; raises nothing.

    lctl and lnetctl end with the error number (lnetctl: negative) as their status; it becomes the snapshot's state, and the text is then
    what they said about it. A program that is not done after `timeout_s` seconds is killed: FAILED, ETIMEDOUT.
    """
    import subprocess  # only nodes that need a command pay for it

    time_ns, mono_ns = clocks.time_ns(), clocks.monotonic_ns()
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, env={**os.environ, "LC_ALL": "C"})
    except subprocess.TimeoutExpired:
        return unread(name, host, errno.ETIMEDOUT, clocks)
    except OSError as error:
        return unread(name, host, error.errno or errno.EIO, clocks)
    number = _error_number(done.returncode)
    output = done.stdout if number == 0 else done.stdout or done.stderr
    state = state_of(number)
    read_ns = clocks.monotonic_ns() - mono_ns
    return Snapshot(name, host, time_ns, mono_ns, read_ns, state, number, frozenset(), output.decode("utf-8", "surrogateescape"))


def _error_number(status: int) -> int:
    """Return the errno behind an exit status: itself (lctl), 256 - itself (lnetctl ends with -errno), EINTR after a signal."""
    if status < 0:
        return errno.EINTR
    return status if status < 128 else 256 - status
