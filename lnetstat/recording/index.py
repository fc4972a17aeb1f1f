"""Where each host's frames begin in a segment, noted while it is walked over: who reads host after host walks over it once."""

import itertools
import os
from array import array
from collections.abc import Collection, Iterator
from typing import BinaryIO

from lnetstat.recording import format as layout
from lnetstat.recording import scan

FRAMES_AT_ONCE = 4096
MOST_FRAMES = 2_000_000  # noted at a time, of all segments: 8 bytes each


class FrameIndex:
    """The frames of one state of one segment, as far as it was walked over; what was damaged on the way is in `problems`."""

    def __init__(self, name: str, *, may_be_torn: bool) -> None:
        self.problems: list[str] = []
        self.frames = 0
        self._name, self._may_be_torn = name, may_be_torn
        self._bodies: dict[str, array[int]] = {}
        self._walked_to = 0
        self._is_whole = False

    def of_hosts(self, file: BinaryIO, hosts: Collection[str], report: scan.Report) -> Iterator[scan.Frame]:
        """Yield the frames of these hosts as `scan.frames` does, and walk on only as far as they are asked for."""
        size = os.fstat(file.fileno()).st_size
        passed, told = dict.fromkeys(hosts, 0), 0
        header_bytes = {host: layout.HEADER_BYTES + len(host.encode("utf-8", "surrogateescape")) for host in hosts}
        while True:
            is_last = self._is_whole
            for problem in self.problems[told:]:
                report(problem)
            told = len(self.problems)
            batch: list[int] = []
            for host, count in passed.items():
                bodies = self._bodies.get(host, ())
                batch += [body_at - header_bytes[host] for body_at in bodies[count:]]
                passed[host] = len(bodies)
            for at in sorted(batch):
                frame = scan.frame_at(file, at, size)
                if frame is None:
                    report(
                        f"{self._name}: the frame at byte {at} was changed while it was read: this tick is lost, and the host's next ones"
                    )
                else:
                    yield frame
            if is_last:
                return
            if not self._is_whole:  # another reader may have walked on
                self._walk_on(file)

    def _walk_on(self, file: BinaryIO) -> None:
        """Note some more frames."""
        walk = scan.frames(file, self._name, self.problems.append, may_be_torn=self._may_be_torn, begin_at=self._walked_to)
        more = list(itertools.islice(walk, FRAMES_AT_ONCE))
        for header, body_at in more:
            if header.host not in self._bodies:
                self._bodies[header.host] = array("Q")
            self._bodies[header.host].append(body_at)
            self._walked_to = body_at + header.body_bytes
        self.frames += len(more)
        self._is_whole = len(more) < FRAMES_AT_ONCE


_State = tuple[str, int, int, int, bool]
_known: dict[_State, FrameIndex] = {}


def index_of(file: BinaryIO, path: str, *, may_be_torn: bool) -> FrameIndex:
    """Return the index of an open segment; what was noted of the file in this very state is used again."""
    found = os.fstat(file.fileno())
    state = os.path.abspath(path), found.st_ino, found.st_size, found.st_mtime_ns, may_be_torn
    if state not in _known:
        while _known and sum(index.frames for index in _known.values()) > MOST_FRAMES:
            del _known[next(iter(_known))]
        _known[state] = FrameIndex(os.path.basename(path), may_be_torn=may_be_torn)
    return _known[state]
