"""Walking over the frames of one segment by their headers, past damage and up to a torn tail."""

import errno
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from lnetstat.errors import RecordingError
from lnetstat.recording import format as layout

SEARCH_BYTES = 1 << 20
HOST_BYTES_USUAL = 64  # are read with the header at once
Report = Callable[[str], None]
Ranges = dict[str, tuple[int, int]]


class Frame(NamedTuple):
    """A frame's header and where its body begins in the segment."""

    header: layout.FrameHeader
    body_at: int


def open_segment(path: str) -> BinaryIO:
    """Open a segment for reading. Raises OSError, also for what is no file: a FIFO would be waited for without end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EISDIR if os.path.isdir(path) else errno.EINVAL, "not a regular file", path)
    return open(path, "rb")


def frames(file: BinaryIO, name: str, report: Report, *, may_be_torn: bool, begin_at: int = 0) -> Iterator[Frame]:
    """Yield the frames of an open segment, bodies unread, until its end or a frame that is not whole yet.

    `begin_at`: the byte to begin at, the end of a frame that was read before; 0 is the start of the segment.

    `may_be_torn`: a last frame that is not whole is no damage: it is being written, or a killed writer left it. In a segment that others
    follow it is told: nothing else would say that ticks are lost. Damaged bytes are told to `report`, once each, and passed over up to the
    next frame's marker. Raises RecordingError where a newer version wrote the segment.
    """
    size = os.fstat(file.fileno()).st_size
    at = begin_at or _start(file, name, size, report, may_be_torn=may_be_torn)
    while at < size:
        frame = frame_at(file, at, size)
        if frame is None:
            found = _next_marker(file, at + 1, size)
            if found is None and _is_torn_tail(file, at, size):
                if not may_be_torn:
                    report(_cut_short(name, at))
                return
            found = size if found is None else found
            report(
                f"{name}: bytes {at} to {found - 1} are damaged: the ticks in them are lost, and their hosts' next ones up to a key frame"
            )
            at = found
            continue
        end = frame.body_at + frame.header.body_bytes
        if frame.header.kind == layout.END:
            return
        if end > size:
            if not may_be_torn:
                report(_cut_short(name, at))
            return
        yield frame
        at = end


def _cut_short(name: str, at: int) -> str:
    return f"{name}: cut short in the frame at byte {at}: its tick is lost, and what came after it up to the next segment"


def body(file: BinaryIO, frame: Frame) -> bytes | None:
    """Return the frame's packed body, or None where its check sum says it is damaged."""
    packed = os.pread(file.fileno(), frame.header.body_bytes, frame.body_at)
    return packed if zlib.crc32(packed) == frame.header.body_crc else None


def ranges(path: str) -> Ranges:
    """Return each host's first and last stamp (epoch ns) in a segment: from its end frame, else by walking over the headers."""
    with open_segment(path) as file:
        found = _ranges_at_end(file)
        if found is not None:
            return found
        found = {}
        for header, _ in frames(file, os.path.basename(path), lambda _: None, may_be_torn=True):
            begin_ns, end_ns = found.get(header.host, (header.begin_ns, header.end_ns))
            found[header.host] = min(begin_ns, header.begin_ns), max(end_ns, header.end_ns)
        return found


def _ranges_at_end(file: BinaryIO) -> Ranges | None:
    size = os.fstat(file.fileno()).st_size
    tail_bytes = len(layout.TRAILER) + 4
    file.seek(max(size - tail_bytes, 0))
    tail = file.read(tail_bytes)
    if len(tail) < tail_bytes or not tail.endswith(layout.TRAILER):
        return None
    frame_bytes = layout.unpack_u32(tail[:4])
    if frame_bytes > size - tail_bytes:
        return None
    file.seek(size - tail_bytes - frame_bytes)
    return layout.unpack_end_frame(file.read(frame_bytes))


def _start(file: BinaryIO, name: str, size: int, report: Report, *, may_be_torn: bool) -> int:
    """Return where the first frame begins."""
    file.seek(0)
    start = file.read(layout.SEGMENT_HEADER_BYTES_MAX)
    found = layout.segment_version(start)
    if found is None:
        if size > len(layout.segment_header()) or start != layout.segment_header()[:size]:
            report(f"{name}: its first line is damaged: read as version {layout.VERSION}")
        elif not may_be_torn:
            report(f"{name}: cut short in its first line: its ticks are lost")
        return min(size, len(layout.segment_header()))
    version, header_bytes = found
    if version > layout.VERSION:
        raise RecordingError(
            f"{name}: written in version {version} of the format; this lnetstat reads up to version {layout.VERSION}: use a newer lnetstat"
        )
    return header_bytes


def frame_at(file: BinaryIO, at: int, size: int) -> Frame | None:
    """Return the frame whose header stands there, or None where there is none or a damaged one."""
    data = os.pread(file.fileno(), layout.HEADER_BYTES + HOST_BYTES_USUAL, at)
    host_bytes = layout.host_bytes_of(data) if len(data) >= layout.HEADER_BYTES else None
    if host_bytes is None or at + layout.HEADER_BYTES + host_bytes > size:
        return None
    header_bytes = layout.HEADER_BYTES + host_bytes
    if len(data) < header_bytes:
        data = os.pread(file.fileno(), header_bytes, at)
    header = layout.unpack_header(data[:header_bytes])
    return header and Frame(header, at + header_bytes)


def _next_marker(file: BinaryIO, at: int, size: int) -> int | None:
    """Return where the next frame with an undamaged header begins, or None."""
    overlap = len(layout.MARKER) - 1
    while at < size:
        file.seek(at)
        block = file.read(SEARCH_BYTES)
        found = block.find(layout.MARKER)
        if found < 0:
            if len(block) < SEARCH_BYTES:
                return None
            at += len(block) - overlap
        elif frame_at(file, at + found, size):
            return at + found
        else:
            at += found + 1
    return None


def _is_torn_tail(file: BinaryIO, at: int, size: int) -> bool:
    """True where the rest is the beginning of a frame header, or zeros that a power cut left: what a stopped writer leaves behind."""
    file.seek(at)
    rest = file.read(layout.HEADER_BYTES + 0xFFFF)
    if not rest.strip(b"\0"):
        return True
    if size - at < layout.HEADER_BYTES:
        return rest.startswith(layout.MARKER[: len(rest)])
    host_bytes = layout.host_bytes_of(rest)
    return host_bytes is not None and size - at < layout.HEADER_BYTES + host_bytes
