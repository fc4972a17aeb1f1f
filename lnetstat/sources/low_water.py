"""Make the low-water marks of `peers` and `nis` the minimum of one interval, by writing to the file after each read.

Without this `min` only ever falls, and a short oversubscription is seen once. A write of anything sets every `min` of the file to the
current value, for everybody who reads it: so it is done on request only, and one process per node owns it by a lock.
"""

import fcntl
import os

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot, State

LOCK_PATH = "/run/lnetstat-low-water.lock"
RESET_TABLES = frozenset({"peers", "nis"})
FLAG = "low_water_reset"


class LowWaterReset:
    """The right to reset this node's low-water marks: held from construction to close().

    `problems` tells each table whose marks could not be reset. Raises SourceError where another process has the right.
    """

    def __init__(self, lock_path: str = LOCK_PATH) -> None:
        self.problems: list[str] = []
        self._reset_before: set[str] = set()
        self._lock = _take_lock(lock_path)

    def after_read(self, snapshot: Snapshot, path: str) -> Snapshot | None:
        """Reset the marks of a table that was just read; return what to deliver of the read.

        None for the first sample, whose marks are older than the interval; later ones carry the flag `low_water_reset`. A sample that is
        not whole resets nothing, or the marks of the rows it missed would be lost.
        """
        known = snapshot.name in self._reset_before
        if snapshot.state is State.ABSENT:
            self._reset_before.discard(snapshot.name)  # when LNet is loaded again its marks begin anew
            return snapshot
        if snapshot.state is State.OK:
            if not self._reset(snapshot.name, path):
                self._reset_before.discard(snapshot.name)
            elif not known:
                self._reset_before.add(snapshot.name)
                return None
        return snapshot._replace(flags=snapshot.flags | {FLAG}) if known else snapshot

    def _reset(self, name: str, path: str) -> bool:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
            try:
                os.write(descriptor, b"0\n")
            finally:
                os.close(descriptor)
        except OSError as error:
            problem = f"{name}: low-water marks not reset: {path}: {error.strerror}"
            if problem not in self.problems:
                self.problems.append(problem)
            return False
        return True

    def close(self) -> None:
        """Give the right back; the marks keep what was last written."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _take_lock(path: str) -> int:
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be locked: {error.strerror}: resetting low-water marks needs root, or leave the reset out"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.pread(lock, 32, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(lock)
        raise SourceError(f"{path}: process {owner} already resets this node's low-water marks: stop it, or leave the reset out") from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock
