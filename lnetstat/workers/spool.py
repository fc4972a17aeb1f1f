"""Room on disk for what need not be in memory all the time."""

import contextlib
import tempfile
from collections.abc import Iterator
from typing import IO, NamedTuple


class Kept(NamedTuple):
    """Where something lies in a spool."""

    at: int
    size: int


class Spool:
    """An unnamed file; what is put there is gone with the program."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def put(self, data: bytes) -> Kept:
        """Keep the bytes."""
        at = self._file.seek(0, 2)
        self._file.write(data)
        return Kept(at, len(data))

    def get(self, kept: Kept) -> bytes:
        """Return the bytes."""
        self._file.seek(kept.at)
        return self._file.read(kept.size)


@contextlib.contextmanager
def open_spool() -> Iterator[Spool]:
    """A spool for the block."""
    with tempfile.TemporaryFile(prefix="lnetstat-") as file:
        yield Spool(file)
