"""Read one text: a captured file, a file of a running kernel, or standard input."""

import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot, State
from lnetstat.sources._complaints import complaint_of
from lnetstat.sources._hosts import Hosts, short
from lnetstat.sources._members import DAMAGE, MEMBER_BYTES_MAX, path_parts, unpacked
from lnetstat.sources._names import place, plain_name
from lnetstat.sources._stamps import YEARS, find_stamp, is_credible
from lnetstat.sources.reading import read_file, state_of

UNKNOWN_HOST = "unknown"


class FileSource:
    """One snapshot. `notes` tells where its time comes from when the text and its path do not say, `problems` what is wrong with it."""

    def __init__(self, snapshot: Snapshot, notes: list[str] | None = None, problems: list[str] | None = None) -> None:
        self.snapshot = snapshot
        self.notes = notes or []
        self.problems = problems or []

    def snapshots(self) -> Iterator[Snapshot]:
        yield self.snapshot


def open_stdin(host: str | None, stream: BinaryIO | None = None) -> FileSource:
    """Read standard input to its end; the snapshot's name is "stdin", its time is now."""
    return FileSource(_from_stream(stream or sys.stdin.buffer, "stdin", host))


def open_file(path: str, host: str | None) -> FileSource:
    """Read one file. Its name tells the table; its time is that of a stamp in its name or folder, else its modification time.

    A file of a running kernel (/proc, /sys) is read record by record, and is now. Raises SourceError when there is nothing to read.
    """
    status = os.stat(path)
    if stat.S_ISFIFO(status.st_mode):
        with open(path, "rb") as stream:
            return FileSource(_from_stream(stream, "stdin", host))
    parts = path_parts(os.path.abspath(path))
    found = place(parts)
    if path.endswith(".gz") and status.st_size > MEMBER_BYTES_MAX:
        raise SourceError(_too_large(path))
    snapshot = read_file(path, (found and found.name) or plain_name(parts[-1]).split("--", 1)[0], host or UNKNOWN_HOST)
    if snapshot.state not in (State.OK, State.PARTIAL):
        advice = "run as root, or read a captured copy" if snapshot.state is State.FORBIDDEN else "expected a captured file"
        raise SourceError(f"{path}: {os.strerror(snapshot.errno)}: {advice}")
    if status.st_size == 0 and snapshot.text:
        return FileSource(snapshot._replace(host=host or short(os.uname().nodename)))
    if path.endswith(".gz"):
        snapshot = snapshot._replace(text=_unpacked_text(path, snapshot.text))
    return _dated(snapshot, path, parts, status.st_mtime_ns, host)


def _dated(snapshot: Snapshot, path: str, parts: tuple[str, ...], mtime_ns: int, host: str | None) -> FileSource:
    """Give a captured text the time when it was taken instead of the time when we read it."""
    stamp = next((stamp for part in parts[:-3:-1] if (stamp := find_stamp(part))), None)
    said = complaint_of(snapshot.text)
    if said:
        snapshot = snapshot._replace(state=state_of(said), errno=said, text="")
    snapshot = snapshot._replace(mono_ns=None, read_ns=0)
    if stamp is not None and is_credible(stamp.time_ns):
        return FileSource(snapshot._replace(time_ns=stamp.time_ns, host=host or Hosts().host_of(parts, len(parts) - 1)))
    if not is_credible(mtime_ns):
        raise SourceError(f"{path}: modified outside {YEARS}, and no time stamp in its path: give it its time with touch, or pipe it in")
    snapshot = snapshot._replace(time_ns=mtime_ns)
    if stamp is None:
        note = f"{path} has no time stamp in its path: its modification time is used"
        return FileSource(snapshot, [note])
    return FileSource(snapshot, problems=[f"{path} has a time stamp outside {YEARS} in its path: its modification time is used"])


def _from_stream(stream: BinaryIO, name: str, host: str | None) -> Snapshot:
    data = stream.read(MEMBER_BYTES_MAX + 1)
    if len(data) > MEMBER_BYTES_MAX:
        raise SourceError(f"{name}: more than {MEMBER_BYTES_MAX >> 20} MiB: give a file or an archive instead")
    text = data.decode("utf-8", "surrogateescape")
    return Snapshot(name, host or UNKNOWN_HOST, time.time_ns(), None, 0, State.OK, 0, frozenset(), text)


def _unpacked_text(path: str, text: str) -> str:
    try:
        data = unpacked(text.encode("utf-8", "surrogateescape"))
    except DAMAGE as error:
        raise SourceError(f"{path}: not a whole gzip file: {error}: unpack it or copy it again") from None
    if len(data) > MEMBER_BYTES_MAX:
        raise SourceError(_too_large(path))
    return data.decode("utf-8", "surrogateescape")


def _too_large(path: str) -> str:
    return f"{path}: more than {MEMBER_BYTES_MAX >> 20} MiB: give what is in it in smaller files"
