"""Reading a recording as it grows: by position, not by stamp, so that a clock that steps back hides nothing."""

import os
from collections.abc import Iterator
from typing import BinaryIO

from lnetstat.errors import RecordingError
from lnetstat.recording import format as layout
from lnetstat.recording import scan
from lnetstat.recording.body import Change, HostDecoder
from lnetstat.recording.reader import is_recording

MOST_LINES = 500_000  # of one piece: a hundred bytes each, as rows of a table


class Follower:
    """Yields each snapshot of a recording once, those that are there and then those that are added.

    `begin_ns`: segments that end before it are passed over. What could not be read is told in `problems`, each loss once. Raises
    RecordingError where the folder holds no recording, or one of a newer version.
    """

    def __init__(self, folder: str | os.PathLike[str], *, begin_ns: int | None = None) -> None:
        self.folder = os.fspath(folder)
        self.problems: list[str] = []
        self._begin_ns = begin_ns
        self._path = ""
        self._at = 0
        self._lines = 0
        self._hosts: dict[str, _Host] = {}
        if not is_recording(self.folder):
            raise RecordingError(f"{self.folder}: no recording: expected a folder with files called 00000001{layout.SUFFIX}")

    def changes(self) -> Iterator[Change]:
        """Yield what is new, at most a piece of it; nothing where nothing is. Lines belong to the decoder: use them before going on."""
        self._lines = 0
        for path in self._to_read():
            if path != self._path:
                self._path, self._at, self._hosts = path, 0, {}
            try:
                file = scan.open_segment(path)
            except FileNotFoundError:
                continue  # dropped by the writer's bounds after the folder was listed
            except OSError as error:
                self._report(f"{os.path.basename(path)}: cannot be read: {error.strerror}")
                continue
            with file:
                yield from self._segment_changes(file, path)
            if self._lines >= MOST_LINES:
                return

    def _to_read(self) -> list[str]:
        """Return the segments from the current one on; from the first wanted one where the current one and all later ones are gone."""
        paths = layout.segments(self.folder)
        number = layout.segment_number(self._path) if self._path else -1
        later = [path for path in paths if layout.segment_number(path) >= number]
        if later and self._path:
            return later
        if self._begin_ns is None or self._path:
            return paths
        return [path for at, path in enumerate(paths) if at == len(paths) - 1 or self._ends_after(path, self._begin_ns)]

    def _ends_after(self, path: str, begin_ns: int) -> bool:
        try:
            found = scan.ranges(path)
        except OSError:
            return False
        return not found or max(end_ns for _, end_ns in found.values()) >= begin_ns

    def _segment_changes(self, file: BinaryIO, path: str) -> Iterator[Change]:
        name = os.path.basename(path)
        newest = max(map(layout.segment_number, layout.segments(self.folder)), default=0)
        if os.fstat(file.fileno()).st_size < self._at:  # a recording that was begun anew under the same number
            self._at, self._hosts = 0, {}
        torn = layout.segment_number(path) >= newest
        for frame in scan.frames(file, name, self._report, may_be_torn=torn, begin_at=self._at):
            self._at = frame.body_at + frame.header.body_bytes
            host = self._hosts.setdefault(frame.header.host, _Host())
            if not host.follows(frame.header):
                continue
            packed = scan.body(file, frame)
            try:
                if packed is None:
                    raise ValueError("its check sum is wrong")
                for change in host.decoder.decode(frame.header, packed):
                    self._lines += len(change.lines)
                    yield change
            except ValueError as error:
                self._hosts[frame.header.host] = _Host()
                self._report(
                    f"{name}: the frame at byte {frame.body_at} ({frame.header.host}, {frame.header.begin_ns} ns) is of no use ({error}): "
                    "this tick is lost, and the host's next ones up to a key frame"
                )
            if self._lines >= MOST_LINES:
                return

    def _report(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


class _Host:
    """One host's place in a segment: what the next delta must build on."""

    def __init__(self) -> None:
        self.decoder = HostDecoder()
        self._last_crc: int | None = None

    def follows(self, header: layout.FrameHeader) -> bool:
        """Note a frame; False for a delta without its predecessor."""
        if header.kind != layout.KEY and header.before_crc != self._last_crc:
            self._last_crc = None
            return False
        self._last_crc = header.body_crc
        return True
