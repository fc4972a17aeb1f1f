"""One writer at a time: a lock file that is held as long as it stays open."""

import errno
import fcntl
import os
from typing import BinaryIO

from lnetstat.errors import RecordingError


def lock(path: str, of: str, doing: str) -> BinaryIO:
    """Return the locked file at `path`, which is made when it is missing; raises RecordingError, which names `of`.

    `doing`: what another process does there that holds it, for example "is recording".
    """
    try:
        file = open(path, "ab", buffering=0, opener=_open_at_once)  # noqa: SIM115  held as long as its holder likes
    except OSError as error:
        raise RecordingError(f"{of}: cannot record here: {error.strerror}: choose a folder that can be written") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            message = f"{of}: another process {doing} here: stop it, or choose another folder"
        else:
            message = f"{of}: cannot be locked: {error.strerror}: choose a folder on a local file system"
        raise RecordingError(message) from error
    return file


def _open_at_once(path: str, flags: int) -> int:
    """Open as open() does, but fail where a FIFO would be waited for."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)
