"""Reading a recording: by time and host, while it is being written, and past whatever was damaged."""

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import BinaryIO

from lnetstat.errors import RecordingError
from lnetstat.model import Snapshot
from lnetstat.recording import format as layout
from lnetstat.recording import scan
from lnetstat.recording.body import Change, HostDecoder


def is_recording(folder: str | os.PathLike[str]) -> bool:
    """True where the folder holds a recording, if only an empty one."""
    folder = os.fspath(folder)
    return bool(layout.segments(folder)) or os.path.isfile(os.path.join(folder, layout.LOCK_NAME))


def is_segment(path: str | os.PathLike[str]) -> bool:
    """True where the path is one segment of a recording, by its name or its first line. Opens no file of a running kernel, nor a FIFO."""
    path = os.fspath(path)
    if os.path.isdir(path) or not os.path.exists(path):
        return False
    if layout.is_segment_name(os.path.basename(path)):
        return True
    try:
        if os.stat(path).st_size == 0:
            return False
        with scan.open_segment(path) as file:
            return layout.segment_version(file.read(layout.SEGMENT_HEADER_BYTES_MAX)) is not None
    except OSError:
        return False


class Recording:
    """A recording's folder, for reading. It is a Source; what could not be read is told in `problems`, each loss once.

    Raises RecordingError where the folder holds no recording or one of a newer version.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.problems: list[str] = []
        self._known_ranges: dict[str, tuple[int, scan.Ranges]] = {}
        if not is_recording(self.folder):
            raise RecordingError(f"{self.folder}: no recording: expected a folder with files called 00000001{layout.SUFFIX}")

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that were recorded, sorted."""
        return tuple(sorted({host for _, ranges in self._segments() for host in ranges}))

    @property
    def begin_ns(self) -> int | None:
        """The least stamp (epoch ns), None while nothing is recorded."""
        return min((begin for _, ranges in self._segments() for begin, _ in ranges.values()), default=None)

    @property
    def end_ns(self) -> int | None:
        """The greatest stamp (epoch ns), None while nothing is recorded."""
        return max((end for _, ranges in self._segments() for _, end in ranges.values()), default=None)

    def snapshots(
        self,
        *,
        begin_ns: int | None = None,
        end_ns: int | None = None,
        names: Collection[str] | None = None,
        hosts: Collection[str] | None = None,
    ) -> Iterator[Snapshot]:
        """Yield the snapshots with begin_ns <= time_ns < end_ns, in the order in which they were written."""
        for change in self.changes(begin_ns=begin_ns, end_ns=end_ns, names=names, hosts=hosts):
            yield change.snapshot._replace(text=change.text())

    def changes(
        self,
        *,
        begin_ns: int | None = None,
        end_ns: int | None = None,
        names: Collection[str] | None = None,
        hosts: Collection[str] | None = None,
    ) -> Iterator[Change]:
        """Yield the same snapshots as lines, with the positions of those that changed: for readers that need not look at the others.

        `changed` refers to the snapshot of that host and name that was yielded before.
        """
        window = _Window(begin_ns, end_ns, hosts)
        passed_over: set[tuple[str, str]] = set()  # what the reader does not see is no base for changes: the clock may have stepped
        newest = max(map(layout.segment_number, layout.segments(self.folder)), default=0)
        holds_any = False
        for path, ranges in self._segments():
            holds_any = holds_any or bool(ranges)
            if not window.touches(ranges):
                continue
            # a segment may be dropped by the writer's bounds after the folder was listed
            with contextlib.suppress(FileNotFoundError), scan.open_segment(path) as file:
                for change in self._segment_changes(file, path, window, is_newest=layout.segment_number(path) >= newest):
                    snapshot = change.snapshot
                    if not (window.is_open or window.holds(snapshot.time_ns)):
                        passed_over.add((snapshot.host, snapshot.name))
                    elif names is None or snapshot.name in names:
                        if not passed_over:
                            yield change
                            continue
                        key = snapshot.host, snapshot.name
                        yield change._replace(changed=None) if key in passed_over else change
                        passed_over.discard(key)
        if not holds_any and not self.problems:
            self._report(f"{self.folder}: holds no snapshot: nothing was recorded here yet, or its segments lost what they held")

    def _segments(self) -> Iterator[tuple[str, scan.Ranges]]:
        for path in layout.segments(self.folder):
            try:
                size = os.stat(path).st_size
                known = self._known_ranges.get(path)
                if known is None or known[0] != size:
                    known = self._known_ranges[path] = size, scan.ranges(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._report(f"{os.path.basename(path)}: cannot be read: {error.strerror}")
                continue
            yield path, known[1]

    def _segment_changes(self, file: BinaryIO, path: str, window: "_Window", *, is_newest: bool) -> Iterator[Change]:
        """Yield what the frames of one segment hold that the window touches; frames before it are read only where later ones need them."""
        name = os.path.basename(path)
        hosts: dict[str, _HostReader] = {}
        for frame in self._frames(file, path, window.hosts, may_be_torn=is_newest):
            header = frame.header
            reader = hosts.setdefault(header.host, _HostReader())
            reader.wait(frame)
            if not window.overlaps(header.begin_ns, header.end_ns):
                continue
            for needed in reader.take():
                yield from self._frame_changes(file, name, needed, reader)
                if reader.is_lost:
                    break

    def _frames(self, file: BinaryIO, path: str, hosts: Collection[str] | None, *, may_be_torn: bool) -> Iterator[scan.Frame]:
        if hosts is None:
            return scan.frames(file, os.path.basename(path), self._report, may_be_torn=may_be_torn)
        from lnetstat.recording.index import index_of  # a node that only records needs none

        return index_of(file, path, may_be_torn=may_be_torn).of_hosts(file, hosts, self._report)

    def _frame_changes(self, file: BinaryIO, name: str, frame: scan.Frame, reader: "_HostReader") -> Iterator[Change]:
        packed = scan.body(file, frame)
        reason = "is damaged"
        if packed is not None:
            try:
                yield from reader.decoder.decode(frame.header, packed)
            except ValueError as error:
                reason = f"cannot be understood ({error})"
            else:
                return
        reader.lose()
        self._report(
            f"{name}: the frame at byte {frame.body_at} ({frame.header.host}, {frame.header.begin_ns} ns) {reason}: "
            "this tick is lost, and the host's next ones up to a key frame"
        )

    def _report(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


class _Window:
    """The stamps and hosts that are asked for."""

    def __init__(self, begin_ns: int | None, end_ns: int | None, hosts: Collection[str] | None) -> None:
        self._begin_ns, self._end_ns, self.hosts = begin_ns, end_ns, hosts
        self.is_open = begin_ns is None and end_ns is None

    def holds(self, time_ns: int) -> bool:
        return self.overlaps(time_ns, time_ns)

    def overlaps(self, first_ns: int, last_ns: int) -> bool:
        return (self._begin_ns is None or last_ns >= self._begin_ns) and (self._end_ns is None or first_ns < self._end_ns)

    def wants_host(self, host: str) -> bool:
        return self.hosts is None or host in self.hosts

    def touches(self, ranges: scan.Ranges) -> bool:
        """True where a segment with these stamps may hold what is asked for; without any it is damaged or empty, and reading it tells."""
        return not ranges or any(self.wants_host(host) and self.overlaps(*stamps) for host, stamps in ranges.items())


class _HostReader:
    """One host's frames in one segment: which of them must be unpacked before the one that is wanted."""

    def __init__(self) -> None:
        self.decoder = HostDecoder()
        self._waiting: list[scan.Frame] = []
        self._last_crc: int | None = None  # what the next delta must build on; None: only a key frame will do

    @property
    def is_lost(self) -> bool:
        return self._last_crc is None

    def wait(self, frame: scan.Frame) -> None:
        """Note a frame; a key frame makes those before it unnecessary, a delta without its predecessor is of no use."""
        header = frame.header
        if header.kind == layout.KEY:
            self._waiting = [frame]
        elif header.before_crc == self._last_crc:
            self._waiting.append(frame)
        else:
            self.lose()
            return
        self._last_crc = header.body_crc

    def take(self) -> list[scan.Frame]:
        """Return the frames to unpack now, in their order."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def lose(self) -> None:
        """Forget everything up to the next key frame."""
        self.decoder = HostDecoder()
        self._waiting = []
        self._last_crc = None
