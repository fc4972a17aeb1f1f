r"""The bytes of a recording: what is written where. All numbers are little-endian.

A recording is a folder of segments `00000001.lnetrec`, `00000002.lnetrec`, …, and `recording.lock`. A segment is

    lnetstat-recording 1 CRC32\n                                   version 1; CRC32 (8 hex digits) of the words before it
    frame frame frame …                                            one frame = one tick of one host
    end frame, its length (u32), "LNRECEND"                        only when the segment was closed in order

A frame is a header, the host's name and a body:

    marker      8 bytes   AB 'L' 'N' 'F' 0D 0A 1A 0A               where a reader finds the next frame behind a damaged one
    kind        u8        1 key, 2 delta, 3 end
    host_bytes  u16       length of the host's name (UTF-8)
    before_crc  u32       of a delta: the body_crc of the host's frame before it, the only one it applies to; else 0
    body_bytes  u32
    begin_ns    i64       least and greatest time_ns of the snapshots inside
    end_ns      i64
    body_crc    u32       CRC32 of the body
    head_crc    u32       CRC32 of all of the above and the host's name

The body is one zlib stream (of a delta: with the last 32 KiB of the previous frame's unpacked body as dictionary) and holds the
texts' bytes one after another, then a JSON array with one entry per snapshot, then the array's length (u32). An entry is

    [name, time_ns, mono_ns, read_ns, state, errno, flags, coding, …]
    coding 0, bytes                                                the whole text
    coding 1                                                       the text of the previous snapshot of that name
    coding 2, hunks, typecode, bytes                               changed lines: three arrays of `hunks` numbers each (typecode B, H or I):
                                                                   lines kept before the hunk, old lines removed, new lines added;
                                                                   then `bytes` bytes of new lines

The first frame of each host in a segment is a key frame, so that dropping a segment harms no other. A key frame holds whole texts only.
"""

import json
import os
import re
import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.errors import RecordingError, shown

VERSION = 1
KEY, DELTA, END = 1, 2, 3
WHOLE, SAME, LINES = 0, 1, 2
KEY_EVERY = 16
DICTIONARY_BYTES = 32768

MARKER = b"\xabLNF\r\n\x1a\n"
TRAILER = b"LNRECEND"
SUFFIX = ".lnetrec"
LOCK_NAME = "recording.lock"
_FIELDS = struct.Struct("<8sBHIIqqI")
_U32 = struct.Struct("<I")
HEADER_BYTES = _FIELDS.size + _U32.size
_SEGMENT_HEADER = re.compile(rb"(lnetstat-recording (\d{1,9})) ([0-9a-f]{8})\n")
SEGMENT_HEADER_BYTES_MAX = 64


class FrameHeader(NamedTuple):
    """One frame's header. Times are epoch nanoseconds; `body_crc` is the CRC32 of the body, `before_crc` that of the frame it builds on."""

    kind: int
    before_crc: int
    host: str
    begin_ns: int
    end_ns: int
    body_bytes: int
    body_crc: int


def segment_header() -> bytes:
    """Return the first line of a segment of this version."""
    words = b"lnetstat-recording %d" % VERSION
    return b"%s %08x\n" % (words, zlib.crc32(words))


def segment_version(start: bytes) -> tuple[int, int] | None:
    """Return (version, length of the header line) of a segment that starts with these bytes; None where they are damaged or cut."""
    match = _SEGMENT_HEADER.match(start)
    if match is None or zlib.crc32(match[1]) != int(match[3], 16):
        return None
    return int(match[2]), match.end()


def pack_header(header: FrameHeader) -> bytes:
    """Return the header's bytes, the host's name included. Raises RecordingError where a value does not fit."""
    kind, before_crc, name, begin_ns, end_ns, body_bytes, body_crc = header
    try:
        host = name.encode("utf-8", "surrogateescape")
        fields = _FIELDS.pack(MARKER, kind, len(host), before_crc, body_bytes, begin_ns, end_ns, body_crc)
    except (struct.error, UnicodeEncodeError) as error:
        raise RecordingError(f"{shown(name)}: a tick at {begin_ns} to {end_ns} ns cannot be recorded: {error}") from error
    return fields + _U32.pack(zlib.crc32(host, zlib.crc32(fields))) + host


def host_bytes_of(fixed: bytes) -> int | None:
    """Return how many bytes of host name follow these HEADER_BYTES bytes, or None where they do not begin with the marker."""
    return int.from_bytes(fixed[9:11], "little") if fixed.startswith(MARKER) else None


def unpack_header(data: bytes) -> FrameHeader | None:
    """Return the header that these bytes (header and host's name, nothing more) hold, or None where the check sum says they are damaged."""
    _, kind, _, before_crc, body_bytes, begin_ns, end_ns, body_crc = _FIELDS.unpack_from(data)
    host = data[HEADER_BYTES:]
    (head_crc,) = _U32.unpack_from(data, _FIELDS.size)
    if head_crc != zlib.crc32(host, zlib.crc32(data[: _FIELDS.size])) or kind not in (KEY, DELTA, END):
        return None
    return FrameHeader(kind, before_crc, host.decode("utf-8", "surrogateescape"), begin_ns, end_ns, body_bytes, body_crc)


def pack_u32(number: int) -> bytes:
    """Return the number as 4 bytes."""
    return _U32.pack(number)


def unpack_u32(data: bytes) -> int:
    """Return the number that the last 4 of these bytes hold."""
    number: int = _U32.unpack_from(data, len(data) - _U32.size)[0]
    return number


def segments(folder: str) -> list[str]:
    """Return the paths of the folder's segments, oldest first; none where there is no such folder."""
    try:
        names = [name for name in os.listdir(folder) if is_segment_name(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [os.path.join(folder, name) for name in sorted(names, key=lambda name: int(name.removesuffix(SUFFIX)))]


def is_segment_name(name: str) -> bool:
    """True for the name of a segment's file."""
    return name.endswith(SUFFIX) and name.removesuffix(SUFFIX).isdecimal()


def segment_number(path: str) -> int:
    """Return the number in a segment's name."""
    return int(os.path.basename(path).removesuffix(SUFFIX))


def segment_path(folder: str, number: int) -> str:
    """Return where segment `number` (from 1) lies."""
    return os.path.join(folder, f"{number:08d}{SUFFIX}")


def pack_end_frame(ranges: Mapping[str, tuple[int, int]]) -> bytes:
    """Return what closes a segment: each host's first and last stamp, found from the end of the file without reading the frames."""
    body = zlib.compress(json.dumps(ranges).encode())
    begin_ns = min((begin_ns for begin_ns, _ in ranges.values()), default=0)
    end_ns = max((end_ns for _, end_ns in ranges.values()), default=0)
    frame = pack_header(FrameHeader(END, 0, "", begin_ns, end_ns, len(body), zlib.crc32(body))) + body
    return frame + pack_u32(len(frame)) + TRAILER


def unpack_end_frame(frame: bytes) -> dict[str, tuple[int, int]] | None:
    """Return each host's first and last stamp (epoch ns), or None where the bytes are no whole end frame."""
    header = unpack_header(frame[:HEADER_BYTES]) if len(frame) >= HEADER_BYTES and frame.startswith(MARKER) else None
    body = frame[HEADER_BYTES:]
    if header is None or header.kind != END or zlib.crc32(body) != header.body_crc:
        return None
    return {host: (begin_ns, end_ns) for host, (begin_ns, end_ns) in json.loads(zlib.decompress(body)).items()}
