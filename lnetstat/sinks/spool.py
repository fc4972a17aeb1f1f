"""The spool of one destination: what has to reach Carbon, on disk until it is known to have arrived. Bounded in bytes and in age.

- `append` stores a payload, `sync` brings what was appended to the disk: one write and one fsync per tick.
- `next_batch` hands out what was not sent yet; `written` says that a batch was sent; `acknowledged` that it is delivered, and only then
  is it forgotten. `rewind` after a broken connection: all that is not acknowledged is handed out again.
- New points do not wait behind an hour's backlog: where more than `live_bytes_max` wait, what is appended from now on goes first, and
  the backlog, oldest first, whenever nothing new waits. A dashboard shows the present again at once, and Whisper takes points in any order.
- Over a bound, or where the disk is full, the oldest segment goes, and its points are counted. A segment that is delivered is unlinked,
  which needs no free space. A damaged record is skipped; nobody ever has to delete files by hand.
- Where delivery has got to is a small file replaced by rename. If it is lost or damaged, more is sent again: same name, second and value.
"""

import contextlib
import errno
import os
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from lnetstat.errors import SinkError
from lnetstat.sinks import _segments as layout
from lnetstat.sinks._files import DiskFiles, Files, write_whole
from lnetstat.sinks._segments import Progress, Record, Segment, Spans, SpoolBatch, SpoolCounts

BYTES_MIN = 256 << 10
SEGMENT_BYTES_MIN = 32 << 10
SEGMENT_BYTES_MAX = 4 << 20
SEGMENTS_PER_BOUND = 8  # dropping the oldest segment gives up at most this part of what the bounds allow
LIVE_BYTES_MAX = 4 << 20
PROGRESS_EVERY_S = 5.0
PROGRESS_NAME = "progress"
LOCK_NAME = "lock"
DROPS_PER_APPEND_MAX = 2  # where room made twice does not help, the oldest segments are not what is in the way


class Spool:
    """The one user of a spool folder, for several threads. `unread_bytes` and `counts` can be read without waiting for the disk.

    `max_age_s`: how old the newest point of a segment may become (0: no bound); as Carbon files a point by its age, it should not be more
    than the retention behind it. `clock` gives epoch seconds, `monotonic` those of a clock that nobody sets. `sync_wanted` False leaves it
    to the kernel when data reach the disk: safe against the death of this process, not of the machine. Raises SinkError where the folder
    cannot be used.
    """

    def __init__(
        self,
        folder: str,
        *,
        max_bytes: int,
        max_age_s: float,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] | None = None,
        files: Files | None = None,
        live_bytes_max: int = LIVE_BYTES_MAX,
        sync_wanted: bool = True,
    ) -> None:
        if max_bytes < BYTES_MIN:
            raise SinkError(f"spool {folder}: {max_bytes} bytes are too few: at least {BYTES_MIN} are needed")
        self.folder = folder
        self.counts = SpoolCounts()
        self.unread_bytes = 0
        self.max_bytes, self._max_age_s, self._live_bytes_max = max_bytes, max_age_s, live_bytes_max
        self._clock, self._files, self._sync_wanted = clock, files or DiskFiles(), sync_wanted
        self._monotonic = monotonic or (time.monotonic if clock is time.time else clock)
        self._epoch_s = clock() - self._monotonic()
        self._segment_age_s = max_age_s / SEGMENTS_PER_BOUND or float("inf")
        self._guard = threading.RLock()
        self._segments: list[Segment] = []
        self._end_of_gone = 0  # where the last of the segments that are gone ended: positions only grow
        self._active: int | None = None  # the handle of the last segment while it can be appended to
        self._done, self._taken, self._sent = Spans(), Spans(), Spans()  # delivered; delivered or handed out; ever sent
        self._out: dict[int, _Out] = {}
        self._ids = self._backlog = self._live = self._newest_s = 0
        self._saved_s = clock()
        self._folder_changed = False
        self._unlock: Callable[[], None] | None = None
        try:
            self._make_folder()
        except BlockingIOError as error:
            raise SinkError(f"spool {folder}: another process uses it: stop it, or choose another folder") from error
        except OSError as error:
            raise SinkError(f"spool {folder}: {error.strerror or error}: choose a folder that can be written") from error
        self._number = 0
        try:
            self._find()
        except BaseException:
            self._unlock_folder()
            raise

    # ---- what goes in ----

    def append(self, payload: bytes, points: int, time_s: int) -> None:
        """Store a payload of so many points, the newest of this second. Raises OSError where it could not be stored."""
        if len(payload) > layout.PAYLOAD_BYTES_MAX:
            raise ValueError(f"a payload of {len(payload)} bytes: at most {layout.PAYLOAD_BYTES_MAX} fit into a record")
        record = layout.pack_record(payload, points, time_s)
        with self._guard:
            if self._unlock is None:
                raise OSError(errno.EBADF, "it is closed")
            self._newest_s = max(self._newest_s, time_s)
            self._drop_deleted()
            self._drop_outdated()
            while self._segments and self.counts.bytes + len(record) + len(layout.HEADER) + layout.HEAD_BYTES > self.max_bytes:
                self._drop_oldest()
            for drops_left in reversed(range(DROPS_PER_APPEND_MAX + 1)):
                try:
                    self._append(record, points, time_s)
                    return
                except OSError as error:
                    if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not drops_left or not self._segments:
                        raise
                    self._drop_oldest()

    def sync(self) -> None:
        """Bring what was appended to the disk; raises OSError. Only the thread that appends may call it."""
        if self._sync_wanted and self._active is not None:
            self._files.sync(self._active)
        if self._sync_wanted and self._folder_changed:
            self._files.sync_folder(self.folder)
            self._folder_changed = False

    def _append(self, record: bytes, points: int, time_s: int) -> None:
        if self._active is not None and self._segments[-1].is_full(len(record), time_s - self._segment_age_s):
            self._close_active()
        segment = self._segments[-1] if self._active is not None else self._start_segment(time_s)
        assert self._active is not None
        try:
            write_whole(self._files, self._active, record)
        except OSError:
            self._cut_back(segment)
            raise
        segment.size += len(record)
        segment.points += points
        segment.time_s = max(segment.time_s, time_s)
        self.unread_bytes += len(record)
        self._count(appended=points, points=points, unsent=points, bytes=len(record))

    def _make_folder(self) -> None:
        """Make the folder where it is not there, and be the only one who uses it. Raises OSError."""
        self._files.make_folder(self.folder)
        self._unlock_folder()
        self._unlock = self._files.lock(os.path.join(self.folder, LOCK_NAME))

    def _unlock_folder(self) -> None:
        if self._unlock is not None:
            self._unlock()
            self._unlock = None

    def _start_segment(self, time_s: int) -> Segment:
        try:
            free = self._files.free_bytes(self.folder) + self.counts.bytes
        except FileNotFoundError:
            self._make_folder()  # somebody deleted it
            free = self._files.free_bytes(self.folder) + self.counts.bytes
        size_max = min(self.max_bytes // SEGMENTS_PER_BOUND, free // SEGMENTS_PER_BOUND, SEGMENT_BYTES_MAX)
        segment = Segment(self.folder, self._number + 1, self._end, max(size_max, SEGMENT_BYTES_MIN))
        handle = self._files.create(segment.path)
        self._number += 1
        try:
            write_whole(self._files, handle, layout.HEADER)
        except OSError:
            self._files.close(handle)
            with contextlib.suppress(OSError):
                self._files.unlink(segment.path)
            raise
        segment.begin_s = segment.time_s = time_s
        segment.file_bytes_more = len(layout.HEADER)
        self._segments.append(segment)
        self._active = handle
        self._folder_changed = True
        self._count(bytes=len(layout.HEADER))
        return segment

    def _cut_back(self, segment: Segment) -> None:
        """Take back a record of which only a part was written; where that fails, go on in a new segment."""
        assert self._active is not None
        try:
            self._files.truncate(self._active, len(layout.HEADER) + segment.size)
        except OSError:
            self._close_active(whole=False)

    def _close_active(self, *, whole: bool = True) -> None:
        """Finish the last segment. Without its footer it is as good, and only costs a scan when it is opened."""
        if self._active is None:
            return
        segment, handle, self._active = self._segments[-1], self._active, None
        with contextlib.suppress(OSError):
            if whole:
                try:
                    write_whole(self._files, handle, segment.footer)
                    segment.file_bytes_more += layout.HEAD_BYTES
                    self._count(bytes=layout.HEAD_BYTES)
                except OSError:
                    self._files.truncate(handle, len(layout.HEADER) + segment.size)
            if self._sync_wanted:
                self._files.sync(handle)
        with contextlib.suppress(OSError):
            self._files.close(handle)
        self._retire(segment)

    # ---- what goes out ----

    def next_batch(self) -> SpoolBatch | None:
        """Hand out what comes next, None where all has been handed out. Raises OSError where it cannot be read now."""
        with self._guard:
            if self._end - self._live > self._live_bytes_max:
                self._live = self._end
            batch, self._live = self._take(self._live)
            if batch is None:
                batch, self._backlog = self._take(self._backlog)
            return batch

    def written(self, batch_id: int) -> None:
        """The batch was sent."""
        with self._guard:
            out = self._out.get(batch_id)
            if out is None:
                return  # its segment was dropped meanwhile, and counted
            self._sent.add(out.begin, out.end)
            first_time = out.points - out.again
            out.segment.sent += first_time
            self._count(sent=first_time, resent=out.again, unsent=-first_time)

    def acknowledged(self, batch_id: int) -> None:
        """The batch is delivered: forget it."""
        with self._guard:
            out = self._out.pop(batch_id, None)
            if out is not None:
                self._done.add(out.begin, out.end)
                out.segment.delivered += out.points
                self._count(delivered=out.points, points=-out.points)
                self._retire(out.segment)
            if self._unlock is not None and abs(self._clock() - self._saved_s) >= PROGRESS_EVERY_S:
                self._save_progress()

    def rewind(self) -> None:
        """The connection broke: hand out again what is not acknowledged."""
        with self._guard:
            self._out.clear()
            self._taken = self._done.copy()
            self._backlog = self._live = self._taken.next_free(self._begin)
            self.unread_bytes = self._end - self._begin - self._taken.size_within(self._begin, self._end)

    def close(self) -> None:
        """Leave all that is not delivered to the next one who opens the folder."""
        with self._guard:
            if self._unlock is None:
                return
            self._close_active()
            self._save_progress()
            self._unlock_folder()

    def _take(self, at: int) -> tuple[SpoolBatch | None, int]:
        """Return a batch of what comes first from `at` on, and where to go on."""
        while True:
            at = self._taken.next_free(max(at, self._begin))
            segment = self._segment_at(at)
            if segment is None:
                return None, at
            stop = min(segment.end, self._taken.next_begin(at) or self._end)
            records: list[Record] = []
            size, whole_to = 0, at
            for record in self._records(segment, at, stop):
                if records and size + len(record.payload) > layout.PAYLOAD_BYTES_MAX:
                    stop = record.begin
                    break
                self._skip(segment, whole_to, record.begin)
                records.append(record)
                size += len(record.payload)
                whole_to = record.end
            else:
                self._skip(segment, whole_to, stop)
            if records:
                return self._hand_out(segment, at, whole_to, records), whole_to
            at = stop

    def _records(self, segment: Segment, begin: int, end: int) -> list[Record]:
        """Return the next whole records, as many as one batch takes and one more, at positions of the whole spool."""
        found: list[Record] = []
        size = 0
        for record in layout.whole_records(segment.reader(self._files), begin - segment.begin, end - segment.begin):
            found.append(record._replace(begin=record.begin + segment.begin, end=record.end + segment.begin))
            size += len(record.payload)
            if size > layout.PAYLOAD_BYTES_MAX:
                break
        return found

    def _hand_out(self, segment: Segment, begin: int, end: int, records: list[Record]) -> SpoolBatch:
        self._ids += 1
        points = sum(record.points for record in records)
        again = sum(record.points for record in records if self._sent.covers(record.begin, record.end))
        self._out[self._ids] = _Out(segment, begin, end, points, again)
        self.unread_bytes -= end - begin - self._taken.size_within(begin, end)
        self._taken.add(begin, end)
        return SpoolBatch(self._ids, b"".join(record.payload for record in records), points, again)

    def _skip(self, segment: Segment, begin: int, end: int) -> None:
        """What lies here is damaged: never look at it again. Its points are counted when the segment goes."""
        if begin >= end:
            return
        self._count(damaged=1)
        self.unread_bytes -= end - begin
        self._taken.add(begin, end)
        self._done.add(begin, end)
        self._retire(segment)

    # ---- segments ----

    @property
    def _begin(self) -> int:
        return self._segments[0].begin if self._segments else self._end

    @property
    def _end(self) -> int:
        return self._segments[-1].end if self._segments else self._end_of_gone

    def _segment_at(self, at: int) -> Segment | None:
        if at >= self._end:
            return None
        return self._segments[bisect_right(self._segments, at, key=lambda segment: segment.begin) - 1]

    def _drop_outdated(self) -> None:
        if not self._max_age_s:
            return
        # Neither a wrong second nor a clock that is set ahead makes anything old.
        oldest_s = min(self._clock(), self._newest_s, self._epoch_s + self._monotonic()) - self._max_age_s
        while self._segments and self._segments[0].time_s < oldest_s:
            self._drop_oldest()

    def _drop_deleted(self) -> None:
        """Where somebody deleted or emptied our files, what they held is lost and counted; the next goes into new ones."""
        if self._active is None or self._is_there(self._segments[-1]):
            return
        self._close_active(whole=False)
        for segment in [segment for segment in self._segments if not self._is_there(segment)]:
            self._forget(segment)
            self._count(deleted=1)

    def _is_there(self, segment: Segment) -> bool:
        try:
            return self._files.size(segment.path) >= len(layout.HEADER) + segment.size
        except FileNotFoundError:
            return False
        except OSError:
            return True  # it may be

    def _drop_oldest(self) -> None:
        if len(self._segments) == 1:
            self._close_active(whole=False)
        if self._segments:
            self._forget(self._segments[0])
            self._count(outgrown=1)

    def _retire(self, segment: Segment) -> None:
        """Unlink a segment that is complete and delivered."""
        is_active = self._active is not None and segment is self._segments[-1]
        if not is_active and not segment.is_gone and self._done.covers(segment.begin, segment.end):
            self._forget(segment)

    def _forget(self, segment: Segment) -> None:
        with contextlib.suppress(OSError):
            self._files.unlink(segment.path)
        segment.is_gone = True
        self.unread_bytes -= segment.size - self._taken.size_within(segment.begin, segment.end)
        kept, unsent = segment.points - segment.delivered, segment.points - segment.sent
        self._count(points=-kept, unsent=-unsent, lost=unsent, unconfirmed=kept - unsent, bytes=-segment.file_bytes)
        self._out = {number: out for number, out in self._out.items() if out.segment is not segment}
        self._end_of_gone = max(self._end_of_gone, segment.end)
        self._segments.remove(segment)
        for spans in (self._taken, self._done, self._sent):
            spans.add(segment.begin, segment.end)  # a segment in the middle leaves no hole to look into
            spans.forget_below(self._begin)

    def _count(self, **changes: int) -> None:
        counts = self.counts
        self.counts = counts._replace(**{name: getattr(counts, name) + change for name, change in changes.items()})

    # ---- from one process to the next ----

    def _find(self) -> None:
        """Take over what another process left: of complete segments only the footer is read."""
        delivered = self._read_progress()
        try:
            numbers = layout.segment_numbers(self._files.names(self.folder))
        except OSError as error:
            raise SinkError(f"spool {self.folder}: {error.strerror or error}: choose a folder that can be read") from error
        self._number = max([*numbers, *delivered], default=0)  # a number is not used twice: the progress file may still speak of it
        for number in numbers:
            segment = Segment(self.folder, number, self._end)
            try:
                self._count(damaged=not segment.look(self._files))
                if not segment.points and segment.is_of_another_version(self._files):
                    continue  # whoever wrote it may come back
            except OSError:
                continue  # cannot be read: it is left where it is, and does no harm
            before = delivered.get(number, Progress([], 0))
            segment.points_before = min(segment.points, before.points)
            segment.points -= segment.points_before
            self._segments.append(segment)
            for begin, end in before.spans:
                self._done.add(segment.begin + begin, segment.begin + min(end, segment.size))
            self._newest_s = max(self._newest_s, segment.time_s)
            self._count(found=segment.points, points=segment.points, unsent=segment.points, bytes=segment.file_bytes)
        self.rewind()
        for segment in self._segments.copy():
            self._retire(segment)
        self._drop_outdated()
        while self._segments and self.counts.bytes > self.max_bytes:
            self._drop_oldest()

    def _read_progress(self) -> dict[int, Progress]:
        path = os.path.join(self.folder, PROGRESS_NAME)
        try:
            return layout.read_progress(self._files.read(path, 0, self._files.size(path)))
        except OSError:
            return {}

    def _save_progress(self) -> None:
        self._saved_s = self._clock()
        delivered: dict[int, Progress] = {self._number: Progress([], 0)}
        for segment in self._segments:
            spans = self._done.within(segment.begin, segment.end)
            if spans:
                in_segment = [(begin - segment.begin, end - segment.begin) for begin, end in spans]
                delivered[segment.number] = Progress(in_segment, segment.points_before + segment.delivered)
        with contextlib.suppress(OSError):  # a full disk: the file as it was means that more is sent again
            self._files.replace(os.path.join(self.folder, PROGRESS_NAME), layout.pack_progress(delivered))


class _Out(NamedTuple):
    """A batch that was handed out and not acknowledged yet."""

    segment: Segment
    begin: int
    end: int
    points: int
    again: int
