"""Write a report so that nobody ever sees half of it."""

import contextlib
import os

from lnetstat.errors import SinkError


def check_writable(path: str) -> None:
    """Raise SinkError in one line where `write_whole` is bound to fail: before the work, and not after it."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        raise SinkError(f"{path} is a folder: name a file in it, for example {os.path.join(path, 'report.html')}")
    try:
        os.stat(os.path.join(folder, ""))
    except OSError as error:
        reason = "does not exist: make it" if isinstance(error, FileNotFoundError) else f"cannot be reached: {error.strerror}: mend that"
        raise SinkError(f"{path}: cannot be written: the folder {folder} {reason}, or name another file") from error
    if not _is_special(target) and not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        raise SinkError(f"{path}: cannot be written: no permission to write in {folder}: name another file")


def write_whole(path: str, text: str) -> None:
    """Write the text as UTF-8 to `path`, as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str, data: bytes) -> None:
    """Write to `path`, by way of a file beside it that takes its place when it is complete.

    A link is followed; what is no plain file (a pipe, a device) is written into as it is. Raises SinkError in one line.
    """
    check_writable(path)
    target = os.path.realpath(path)
    try:
        if _is_special(target):
            with open(target, "wb") as file:
                file.write(data)
        else:
            _replace(target, data)
    except OSError as error:
        raise SinkError(f"{path}: cannot be written: {error.strerror or error}: free some space, or name another file") from error


def _is_special(target: str) -> bool:
    return os.path.exists(target) and not os.path.isfile(target)


def _replace(target: str, data: bytes) -> None:
    beside = f"{target}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
