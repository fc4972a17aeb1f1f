"""What the spool asks of a file system, and the real one."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable
from typing import Protocol


class Files(Protocol):
    """What the spool asks of a file system; every method may raise OSError."""

    def make_folder(self, path: str) -> None: ...

    def lock(self, path: str) -> Callable[[], None]:
        """Hold a lock file; return what releases it. Raises BlockingIOError where another process holds it."""
        ...

    def names(self, folder: str) -> list[str]: ...

    def size(self, path: str) -> int: ...

    def free_bytes(self, folder: str) -> int: ...

    def create(self, path: str) -> int:
        """Create a file that must not exist yet; return a handle for appending."""
        ...

    def write(self, handle: int, data: bytes) -> int:
        """Append; return how much was taken, which may be less than all."""
        ...

    def truncate(self, handle: int, size: int) -> None: ...

    def sync(self, handle: int) -> None: ...

    def close(self, handle: int) -> None: ...

    def read(self, path: str, offset: int, size: int) -> bytes: ...

    def replace(self, path: str, data: bytes) -> None:
        """Give a file new contents, all or nothing."""
        ...

    def unlink(self, path: str) -> None: ...

    def sync_folder(self, folder: str) -> None: ...


class DiskFiles:
    """The real file system."""

    def make_folder(self, path: str) -> None:
        os.makedirs(path, mode=0o750, exist_ok=True)

    def lock(self, path: str) -> Callable[[], None]:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o640)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise
        return lambda: os.close(handle)

    def names(self, folder: str) -> list[str]:
        return os.listdir(folder)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def free_bytes(self, folder: str) -> int:
        space = os.statvfs(folder)
        return space.f_bavail * space.f_frsize

    def create(self, path: str) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o640)

    def write(self, handle: int, data: bytes) -> int:
        return os.write(handle, data)

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        os.fdatasync(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def read(self, path: str, offset: int, size: int) -> bytes:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(handle, size, offset)
        finally:
            os.close(handle)

    def replace(self, path: str, data: bytes) -> None:
        temporary = f"{path}.new"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o640)
        try:
            write_whole(self, handle, data)
            os.fdatasync(handle)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            os.close(handle)
        os.rename(temporary, path)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def sync_folder(self, folder: str) -> None:
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_whole(files: Files, handle: int, data: bytes) -> None:
    """Append all of the data: a full disk takes a part of it, and refuses only the next write."""
    rest = memoryview(data)
    while rest:
        taken = files.write(handle, bytes(rest))
        if not taken:
            raise OSError(errno.ENOSPC, "nothing was written")
        rest = rest[taken:]
