"""Do something in a process of its own, so that a file which never returns holds up nobody.

A thread that is stuck in the kernel keeps its process from ending, also after all else has ended and even against SIGKILL. What looks at
files that may hang is therefore done by a child, and the child is left behind when it does not come back.
"""

import contextlib
import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")
READ_BYTES = 1 << 20


class Hangs(Exception):  # noqa: N818 - says what happened
    """The child gave no answer in time."""


def apart(work: Callable[[], Result], deadline_s: float) -> Result:
    """Return what `work()` returns in a forked process, or raise what it raises there. Raises Hangs when there is no answer in time.

    The result is pickled. The child is killed when its answer is there or its time is over, and never waited for.
    """
    out, into = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        _answer(work, into)
    os.close(into)
    try:
        answer = _read_all(out, time.monotonic() + deadline_s)
    finally:
        os.close(out)
        os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, os.WNOHANG)
    try:
        is_done, result = pickle.loads(answer)  # noqa: S301 - our own child's words
    except (EOFError, pickle.UnpicklingError):
        raise Hangs from None
    if is_done:
        return result  # type: ignore[no-any-return]
    raise result


def _answer(work: Callable[[], object], into: int) -> None:
    """In the child: send what the work gives, and end without any of the parent's clean-up."""
    try:
        _let_go_of_all_but(into)
        try:
            said = pickle.dumps((True, work()))
        except Exception as error:
            said = pickle.dumps((False, error))
        with open(into, "wb") as file:
            file.write(said)
    finally:
        os._exit(0)


def _let_go_of_all_but(descriptor: int) -> None:
    """Close what was open in the parent: who reads its output must not wait for the end of a child that is stuck."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))


def _read_all(out: int, end_s: float) -> bytes:
    """Return what the pipe gives until its end; empty when that does not come in time."""
    chunks: list[bytes] = []
    while (left_s := end_s - time.monotonic()) > 0:
        if select.select([out], [], [], left_s)[0]:
            chunk = os.read(out, READ_BYTES)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
    return b""
