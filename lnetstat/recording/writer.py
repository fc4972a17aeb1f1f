"""Writing a recording: one write() per tick and host, bounded, and never in the way of the reading that feeds it."""

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import BinaryIO

from lnetstat.errors import RecordingError
from lnetstat.model import Snapshot
from lnetstat.recording import format as layout
from lnetstat.recording import scan
from lnetstat.recording.body import HostEncoder
from lnetstat.recording.locking import lock

SEGMENT_BYTES_MAX = 64 << 20
SEGMENT_BYTES_MIN = 64 << 10
SEGMENTS_PER_BOUND = 8  # dropping the oldest segment gives up at most this part of what the bounds allow
SEGMENT_AGE_NS = 3600 * 10**9
FSYNC_EVERY_S = 1.0
OpenSegment = Callable[[str], BinaryIO]


def open_segment(path: str) -> BinaryIO:
    """Create a segment that must not exist yet, without a buffer: what write() returned for is in the kernel's hands."""
    return open(path, "xb", buffering=0)


class RecordingWriter:
    """The one writer of a recording folder. `write` never raises for the disk's sake: what could not be written is counted.

    `max_bytes`: bound of all segments together; `max_age_s`: how long before the newest stamp a segment may end; `free_bytes_min`: free
    space that the file system keeps. Each bound drops the oldest segment; 0 means no bound. `clock` is monotonic, for fsync (at most one
    a second).

    Counters: `frames_written`, `frames_lost`, `bytes_written`, `text_bytes` (what the texts alone would take), `segments_dropped`,
    `bytes_dropped`; `last_error` is the reason while frames are being lost, else empty. Raises RecordingError when the folder cannot be
    written or another process writes it.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = 0,
        max_age_s: float = 0,
        free_bytes_min: int = 64 << 20,
        clock: Callable[[], float] = time.monotonic,
        open_segment: OpenSegment = open_segment,
    ) -> None:
        self.folder = os.fspath(folder)
        self.max_bytes, self.max_age_ns, self.free_bytes_min = max_bytes, int(max_age_s * 1e9), free_bytes_min
        self.frames_written = self.frames_lost = self.bytes_written = self.text_bytes = 0
        self.segments_dropped = self.bytes_dropped = 0
        self.last_error = ""
        self._clock, self._open_segment = clock, open_segment
        self._lock = _lock(self.folder)
        self._closed_segments = [_Closed(path) for path in layout.segments(self.folder)]
        self._number = max((layout.segment_number(closed.path) for closed in self._closed_segments), default=0)
        self._active: _Active | None = None
        self._hosts: dict[str, HostEncoder] = {}
        self._sync_thread: threading.Thread | None = None
        self._fsync_at_s = clock() + FSYNC_EVERY_S

    def write(self, snapshots: Sequence[Snapshot]) -> None:
        """Write one tick: one frame for each host among the snapshots, in their order."""
        by_host: dict[str, list[Snapshot]] = {}
        for snapshot in snapshots:
            by_host.setdefault(snapshot.host, []).append(snapshot)
        for host, of_host in by_host.items():
            self._write_host(host, of_host)
        if self._active and self._clock() >= self._fsync_at_s:
            self._start_sync(self._active)

    def close(self) -> None:
        """Finish the segment, bring it to the disk and let another writer in."""
        if not self._lock.closed:
            self._close_segment()
            self._lock.close()

    def __enter__(self) -> "RecordingWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_host(self, host: str, snapshots: list[Snapshot]) -> None:
        begin_ns, end_ns = min(s.time_ns for s in snapshots), max(s.time_ns for s in snapshots)
        active = self._active
        if active and (active.size >= self._segment_bytes() or end_ns - active.begin_ns >= self._segment_age_ns()):
            self._close_segment()
        encoder = self._hosts.setdefault(host, HostEncoder())
        try:
            frame = encoder.encode(host, snapshots)
            self._append(frame, host, begin_ns, end_ns)
        except OSError as error:
            encoder.start_again()
            self.frames_lost += 1
            self.last_error = f"{self.folder}: {error.strerror or error}: ticks are being lost until it can be written again"
            return
        except RecordingError:
            encoder.start_again()
            raise
        self.last_error = ""
        self.frames_written += 1
        self.text_bytes += encoder.text_bytes

    def _append(self, frame: bytes, host: str, begin_ns: int, end_ns: int) -> None:
        """Append one frame whole or not at all; raises OSError."""
        self._make_room(len(frame), end_ns)
        active = self._active or self._start_segment(begin_ns)
        try:
            _write_whole(active.file, frame)
        except OSError:
            self._cut_back(active)
            raise
        active.add(host, begin_ns, end_ns, len(frame))
        self.bytes_written += len(frame)

    def _start_segment(self, begin_ns: int) -> "_Active":
        self._number += 1
        path = layout.segment_path(self.folder, self._number)
        file = self._open_segment(path)
        try:
            _write_whole(file, layout.segment_header())
        except OSError:
            file.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            self._number -= 1
            raise
        self._active = _Active(path, file, begin_ns)
        return self._active

    def _cut_back(self, active: "_Active") -> None:
        """Take back a frame of which only a part could be written; where that fails, go on in a new segment."""
        try:
            active.file.truncate(active.size)
            active.file.seek(active.size)
        except OSError:
            self._forget_active(active)

    def _close_segment(self) -> None:
        active = self._active
        if active is None:
            return
        with contextlib.suppress(OSError):  # the end frame only saves readers a scan: a segment without one is whole
            _write_whole(active.file, layout.pack_end_frame(active.ranges))
            os.fdatasync(active.file.fileno())
        self._forget_active(active)

    def _forget_active(self, active: "_Active") -> None:
        with contextlib.suppress(OSError):
            active.file.close()
        self._active = None
        self._closed_segments.append(_Closed(active.path))
        for encoder in self._hosts.values():
            encoder.start_again()

    def _start_sync(self, active: "_Active") -> None:
        """Have the kernel write to the disk, on a thread: a slow disk must not make the next tick late."""
        self._fsync_at_s = self._clock() + FSYNC_EVERY_S
        if self._sync_thread is None or not self._sync_thread.is_alive():
            descriptor = os.dup(active.file.fileno())  # the segment may be closed meanwhile
            self._sync_thread = threading.Thread(target=_sync, args=(descriptor,), name="lnetstat-sync", daemon=True)
            self._sync_thread.start()

    def _segment_bytes(self) -> int:
        if not self.max_bytes:
            return SEGMENT_BYTES_MAX
        return min(max(self.max_bytes // SEGMENTS_PER_BOUND, SEGMENT_BYTES_MIN), SEGMENT_BYTES_MAX)

    def _segment_age_ns(self) -> int:
        return min(self.max_age_ns // SEGMENTS_PER_BOUND or SEGMENT_AGE_NS, SEGMENT_AGE_NS)

    def _make_room(self, frame_bytes: int, now_ns: int) -> None:
        """Drop the oldest segments until a frame fits into every bound; raises OSError where that is not enough."""
        while self.max_age_ns and self._closed_segments and self._closed_segments[0].end_ns < now_ns - self.max_age_ns:
            self._drop_oldest()
        while self.max_bytes and self._bytes_in_folder() + frame_bytes > self.max_bytes:
            if not self._drop_oldest():
                raise OSError(errno.EFBIG, f"a tick takes more bytes than --max-bytes {self.max_bytes} leaves")
        while self.free_bytes_min and _free_bytes(self.folder) < self.free_bytes_min + frame_bytes:
            if not self._drop_oldest():
                raise OSError(errno.ENOSPC, f"less than {self.free_bytes_min} bytes are free on its file system")

    def _bytes_in_folder(self) -> int:
        begun = self._active.size if self._active else layout.SEGMENT_HEADER_BYTES_MAX
        return begun + sum(closed.size for closed in self._closed_segments)

    def _drop_oldest(self) -> bool:
        """Remove the oldest segment; False where nothing is left that could be removed."""
        if not self._closed_segments:
            return False
        oldest = self._closed_segments.pop(0)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(oldest.path)
        self.segments_dropped += 1
        self.bytes_dropped += oldest.size
        return True


class _Closed:
    """A finished segment: where, how long, and the greatest stamp in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = self.end_ns = 0
        with contextlib.suppress(OSError, RecordingError):  # gone, not readable, or of a newer version: counted as far as is known
            status = os.stat(path)
            self.size, self.end_ns = status.st_size, status.st_mtime_ns
            self.end_ns = max((end_ns for _, end_ns in scan.ranges(path).values()), default=self.end_ns)


class _Active:
    """The segment that is being written, and what its end frame will say."""

    def __init__(self, path: str, file: BinaryIO, begin_ns: int) -> None:
        self.path, self.file, self.begin_ns = path, file, begin_ns
        self.size = len(layout.segment_header())
        self.ranges: scan.Ranges = {}

    def add(self, host: str, begin_ns: int, end_ns: int, frame_bytes: int) -> None:
        known_begin_ns, known_end_ns = self.ranges.get(host, (begin_ns, end_ns))
        self.ranges[host] = min(known_begin_ns, begin_ns), max(known_end_ns, end_ns)
        self.begin_ns = min(self.begin_ns, begin_ns)
        self.size += frame_bytes


def _lock(folder: str) -> BinaryIO:
    """Return the locked lock file of the folder, which is made when it is missing; raises RecordingError."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"{folder}: cannot record here: {error.strerror}: choose a folder that can be written") from error
    return lock(os.path.join(folder, layout.LOCK_NAME), folder, "is recording")


def _write_whole(file: BinaryIO, data: bytes) -> None:
    """Write all of the data; an unbuffered file may take a part only, for one when the disk fills up."""
    rest = memoryview(data)
    while rest:
        written = file.write(rest)
        if not written:
            raise OSError(errno.EIO, "nothing was written")
        rest = rest[written:]


def _sync(descriptor: int) -> None:
    """Sync and close the descriptor. Where the disk fails here, the next write fails too and says so."""
    with contextlib.suppress(OSError):
        os.fdatasync(descriptor)
    os.close(descriptor)


def _free_bytes(folder: str) -> int:
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize
