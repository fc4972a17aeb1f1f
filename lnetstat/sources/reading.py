"""Read one kernel file as it wants to be read: one record per read(2), into a large buffer, until it returns nothing.

`peers`, `nis`, `routes` and `routers` return one record per read(2), whatever the buffer; a record that does not fit gives EINVAL, and a
table that changed in mid-scan gives ESTALE, after which reading on never works (lnet/lnet/router_proc.c). `stats` and `buffers` are made
anew at each read(2): they must come in one. `open().read()` fails on such files, because the last part of its growing buffer is short.
"""

import contextlib
import errno
import io
import os
import stat
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import NamedTuple

from lnetstat.model import Snapshot, State

BUFFER_BYTES = 65536
RECORD_BYTES = 16384  # longer than any record: `nis` gives the rows of all CPTs of an interface in one
RECORDS_AT_ONCE = 1024
STALE_RETRIES = 3
LARGE_BYTES = 65536

_STATES = {
    errno.ENOENT: State.ABSENT,
    errno.ENOTDIR: State.ABSENT,
    errno.EINVAL: State.ABSENT,  # what debugfs answers when the module behind an open file has gone
    errno.EACCES: State.FORBIDDEN,
    errno.EPERM: State.FORBIDDEN,
}


def state_of(number: int) -> State:
    """Return what an error number makes of a read that brought nothing; 0 is no error."""
    return State.OK if number == 0 else _STATES.get(number, State.FAILED)


class Clocks(NamedTuple):
    """The wall clock and the monotonic clock, both in nanoseconds; tests give their own."""

    time_ns: Callable[[], int] = time.time_ns
    monotonic_ns: Callable[[], int] = time.monotonic_ns


class _Scan(NamedTuple):
    """One pass over a file: what it gave until its end or its error, and when it began."""

    data: bytes | memoryview
    errno: int
    time_ns: int
    mono_ns: int
    read_ns: int


def open_regular(path: str) -> int:
    """Open a file for reading and return its descriptor. Never waits for the other end of a FIFO, never opens a device (ENXIO)."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EISDIR if os.path.isdir(path) else errno.ENXIO, "not a regular file", path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)


def read_file(
    path: str,
    name: str,
    host: str,
    *,
    in_one_read: bool = False,
    size_hint: int = 0,
    clocks: Clocks = Clocks(),  # noqa: B008 - immutable
    open_file: Callable[[str], int] = open_regular,
    read: Callable[[int, int], bytes] = os.read,
) -> Snapshot:
    """Read the whole file and say what became of it; raises nothing.

    After ESTALE the scan begins again, up to three times (flag `retried`); then the longest scan is delivered as PARTIAL. A missing file
    is ABSENT, a forbidden one FORBIDDEN, any other error FAILED with its number and without text. The stamps are those of the scan that is
    delivered. `in_one_read`: for files that are made anew at each read(2). `size_hint`: how many bytes it had the last time; a large
    table is then read faster.
    """
    scans: list[_Scan] = []
    while len(scans) <= STALE_RETRIES:
        scans.append(_scan(path, in_one_read, size_hint if not scans else 0, clocks, open_file, read))
        if scans[-1].errno != errno.ESTALE:
            break
    last = scans[-1]
    flags = frozenset({"retried"}) if len(scans) > 1 else frozenset()
    if last.errno == 0:
        return _snapshot(name, host, last, State.OK, flags)
    if last.errno == errno.ESTALE or (last.errno == errno.EINVAL and last.data):
        longest = max(scans, key=lambda scan: len(scan.data))
        return _snapshot(name, host, longest, State.PARTIAL, flags)
    return _snapshot(name, host, last._replace(data=b""), state_of(last.errno), flags)


def _scan(
    path: str,
    in_one_read: bool,
    size_hint: int,
    clocks: Clocks,
    open_file: Callable[[str], int],
    read: Callable[[int, int], bytes],
) -> _Scan:
    """Read the file once from its start to its end or its first error."""
    time_ns, mono_ns = clocks.time_ns(), clocks.monotonic_ns()
    chunks: list[bytes] = []
    number = 0
    try:
        descriptor = open_file(path)
        try:
            if size_hint >= LARGE_BYTES and (whole := _read_into(descriptor, size_hint)) is not None:
                return _Scan(whole, 0, time_ns, mono_ns, clocks.monotonic_ns() - mono_ns)
            if in_one_read:
                chunks.append(read(descriptor, BUFFER_BYTES))
            if not in_one_read or len(chunks[0]) == BUFFER_BYTES or not chunks[0].endswith(b"\n"):
                _read_records(partial(read, descriptor, RECORD_BYTES), chunks)
        finally:
            os.close(descriptor)
    except OSError as error:
        number = error.errno or errno.EIO
    return _Scan(b"".join(chunks), number, time_ns, mono_ns, clocks.monotonic_ns() - mono_ns)


def _read_into(descriptor: int, size_hint: int) -> memoryview | None:
    """Read a table of about `size_hint` bytes in C's own loop; None, the file set back to its start, where that did not do.

    BufferedReader.readinto asks for all of the room that is left as long as that is more than its buffer, so each record has room enough.
    An error loses what was read; a table that has grown into the last of the room may have met a short read: both are for the other loop.
    """
    room = bytearray(size_hint + size_hint // 4 + 2 * RECORD_BYTES)
    with contextlib.suppress(OSError), io.FileIO(descriptor, closefd=False) as raw:
        length = io.BufferedReader(raw, RECORD_BYTES).readinto(room)
        if length < len(room) - RECORD_BYTES:
            return memoryview(room)[:length]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return None


def _read_records(next_record: Callable[[], bytes], chunks: list[bytes]) -> None:
    """Append what each read returns until one returns nothing; what came before an error stays in `chunks`.

    The loop runs in C as far as it can: extend() over iter(), which leaves in its list what was read before an error. BufferedReader.read
    would loop faster, but fills up the end of each part with ever shorter reads: EINVAL, and the whole scan again.
    """
    records = iter(next_record, b"")
    more = True
    while more:
        batch: list[bytes] = []
        try:
            batch.extend(islice(records, RECORDS_AT_ONCE))
        finally:
            chunks.append(b"".join(batch))  # 100,000 small objects would take more memory than the table
        more = len(batch) == RECORDS_AT_ONCE


def _snapshot(name: str, host: str, scan: _Scan, state: State, flags: frozenset[str]) -> Snapshot:
    text = str(scan.data, "utf-8", "surrogateescape")
    return Snapshot(name, host, scan.time_ns, scan.mono_ns, scan.read_ns, state, scan.errno, flags, text)


def unread(name: str, host: str, number: int, clocks: Clocks) -> Snapshot:
    """Return the snapshot of a file that was not read: `number` is the reason, such as ETIMEDOUT for a reader that is stuck."""
    return Snapshot(name, host, clocks.time_ns(), clocks.monotonic_ns(), 0, state_of(number), number, frozenset(), "")
