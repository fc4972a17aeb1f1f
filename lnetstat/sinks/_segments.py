"""The spool's files: append-only segments of records with a CRC each, and what a reader makes of damaged ones.

    segment:  HEADER, records, and once it is complete a footer
    record:   RECORD_MAGIC, payload bytes, points, second, CRC-32 of these three numbers and of the payload; then the payload
    footer:   FOOTER_MAGIC, bytes of all records, points of all records, last second, CRC-32 of these: so that opening reads no record

Nothing is written twice. The magic words begin with a byte that no plaintext line has, so a reader finds the next whole record behind
any damage. Positions in this module count the bytes of records: 0 is the first record of a segment.
"""

import json
import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lnetstat.sinks._files import Files

HEADER_WORDS = b"lnetstat spool "
HEADER = HEADER_WORDS + b"1\n"
RECORD_MAGIC = b"\xa5rec"
FOOTER_MAGIC = b"\xa5end"
_HEAD = struct.Struct("<4sIIqI")
_NUMBERS = struct.Struct("<IIq")
HEAD_BYTES = _HEAD.size
PAYLOAD_BYTES_MAX = 65_536
READ_BYTES = 2 * (PAYLOAD_BYTES_MAX + HEAD_BYTES)  # one read holds at least one whole record
SUFFIX = ".spool"


class Record(NamedTuple):
    """One payload and where its record begins and ends."""

    begin: int
    end: int
    payload: bytes
    points: int
    time_s: int


class Footer(NamedTuple):
    """What a complete segment says of itself."""

    records_bytes: int
    points: int
    time_s: int


def pack_record(payload: bytes, points: int, time_s: int) -> bytes:
    """Return the record of a payload."""
    numbers = _NUMBERS.pack(len(payload), points, time_s)
    return RECORD_MAGIC + numbers + zlib.crc32(payload, zlib.crc32(numbers)).to_bytes(4, "little") + payload


def pack_footer(footer: Footer) -> bytes:
    """Return the last bytes of a complete segment."""
    numbers = _NUMBERS.pack(*footer)
    return FOOTER_MAGIC + numbers + zlib.crc32(numbers).to_bytes(4, "little")


def read_footer(data: bytes) -> Footer | None:
    """Return the footer, or None where these bytes are none."""
    if len(data) != HEAD_BYTES or not data.startswith(FOOTER_MAGIC):
        return None
    numbers = data[4:-4]
    return Footer(*_NUMBERS.unpack(numbers)) if zlib.crc32(numbers) == int.from_bytes(data[-4:], "little") else None


def _record_at(data: bytes, at: int, offset: int) -> Record | None:
    """Return the whole record at `at`, None where there is none. `offset`: the position of data[0]."""
    if len(data) - at < HEAD_BYTES:
        return None
    magic, size, points, time_s, crc = _HEAD.unpack_from(data, at)
    begin = at + HEAD_BYTES
    if magic != RECORD_MAGIC or size > len(data) - begin:
        return None
    payload = data[begin : begin + size]
    if zlib.crc32(payload, zlib.crc32(data[at + 4 : begin - 4])) != crc:
        return None
    return Record(offset + at, offset + begin + size, payload, points, time_s)


def whole_records(read: Callable[[int, int], bytes], begin: int, end: int) -> Iterator[Record]:
    """Yield the whole records between two positions; whatever lies between them is damaged. `read` takes a position and a size."""
    at = begin
    while at < end:
        data = read(at, min(READ_BYTES, end - at))
        if not data:
            return
        used = 0
        while (record := _record_at(data, used, at)) is not None:
            used = record.end - at
            yield record
        if used:
            at += used
            continue
        next_magic = data.find(RECORD_MAGIC, 1)
        at += next_magic if next_magic > 0 else max(1, len(data) - len(RECORD_MAGIC) + 1)


class Spans:
    """A set of positions as ordered, disjoint stretches [begin, end)."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self._begins, self._ends, strict=True))

    def copy(self) -> "Spans":
        """Return a set of its own with the same stretches."""
        same = Spans()
        same._begins, same._ends = self._begins.copy(), self._ends.copy()
        return same

    def add(self, begin: int, end: int) -> None:
        """Add a stretch; what touches it becomes one with it."""
        if begin >= end:
            return
        first = bisect_right(self._begins, begin)
        if first and self._ends[first - 1] >= begin:
            first -= 1
            begin = self._begins[first]
        last = bisect_right(self._begins, end)
        if last > first:
            end = max(end, self._ends[last - 1])
        self._begins[first:last] = [begin]
        self._ends[first:last] = [end]

    def next_free(self, at: int) -> int:
        """Return the first position from `at` on that is not in the set."""
        index = bisect_right(self._begins, at) - 1
        return max(at, self._ends[index]) if index >= 0 else at

    def next_begin(self, at: int) -> int | None:
        """Return where the next stretch behind `at` begins."""
        index = bisect_right(self._begins, at)
        return self._begins[index] if index < len(self._begins) else None

    def covers(self, begin: int, end: int) -> bool:
        """Tell whether all positions of [begin, end) are in the set."""
        return begin >= end or self.next_free(begin) >= end

    def within(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Return the stretches of the set between two positions."""
        return [(max(b, begin), min(e, end)) for b, e in self if b < end and e > begin]

    def size_within(self, begin: int, end: int) -> int:
        """Return how many positions of [begin, end) are in the set."""
        return sum(e - b for b, e in self.within(begin, end))

    def forget_below(self, begin: int) -> None:
        """Take out all positions below `begin`."""
        gone = bisect_right(self._ends, begin)
        del self._begins[:gone], self._ends[:gone]
        if self._begins:
            self._begins[0] = max(self._begins[0], begin)


def segment_numbers(names: list[str]) -> list[int]:
    """Return the numbers of the segments among the names of a folder, in order."""
    stems = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
    return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdecimal())


class Segment:
    """One file: where its records stand in the whole spool, and what became of their points in this process."""

    def __init__(self, folder: str, number: int, begin: int, size_max: int = 0) -> None:
        self.path = os.path.join(folder, f"{number:010d}{SUFFIX}")
        self.number, self.begin, self.size_max = number, begin, size_max
        self.size = 0  # bytes of its records
        self.file_bytes_more = 0  # header, footer, torn tail
        self.points = self.sent = self.delivered = 0
        self.points_before = 0  # delivered by processes before this one
        self.begin_s = self.time_s = 0
        self.is_gone = False

    @property
    def end(self) -> int:
        return self.begin + self.size

    @property
    def file_bytes(self) -> int:
        return self.size + self.file_bytes_more

    @property
    def footer(self) -> bytes:
        return pack_footer(Footer(self.size, self.points + self.points_before, self.time_s))

    def is_full(self, record_bytes: int, begin_s_min: float) -> bool:
        """Tell whether a record of so many bytes belongs into the next segment."""
        return self.size + record_bytes > self.size_max or self.begin_s < begin_s_min

    def reader(self, files: Files) -> Callable[[int, int], bytes]:
        """Return what reads its records, by position in the segment and size. Where somebody deleted the file it is empty."""

        def read(at: int, size: int) -> bytes:
            try:
                return files.read(self.path, len(HEADER) + at, size)
            except FileNotFoundError:
                return b""

        return read

    def is_of_another_version(self, files: Files) -> bool:
        """Tell whether a lnetstat that writes another format has left it."""
        header = files.read(self.path, 0, len(HEADER))
        return header.startswith(HEADER_WORDS) and header != HEADER[: len(header)]

    def look(self, files: Files) -> bool:
        """Find out what another process wrote: from the footer, else from the records. False where its end is torn or damaged."""
        file_bytes = files.size(self.path)
        records_bytes = file_bytes - len(HEADER) - HEAD_BYTES
        footer = read_footer(files.read(self.path, file_bytes - HEAD_BYTES, HEAD_BYTES)) if records_bytes >= 0 else None
        if footer is not None and footer.records_bytes == records_bytes:
            self.size, self.points, self.time_s = footer
            self.file_bytes_more = file_bytes - self.size
            return True
        for record in whole_records(self.reader(files), 0, file_bytes - len(HEADER)):
            self.size = record.end
            self.points += record.points
            self.time_s = max(self.time_s, record.time_s)
        self.file_bytes_more = file_bytes - self.size
        return self.file_bytes_more == len(HEADER)


class SpoolBatch(NamedTuple):
    """Payloads to be sent with one write. `again`: how many of its points were sent before by this process."""

    id: int
    payload: bytes
    points: int
    again: int


class SpoolCounts(NamedTuple):
    """Since the spool was opened: found + appended = delivered + points + lost + unconfirmed.

    `points` kept and `bytes` on disk now; `unsent` of the points were not sent yet; `sent` for the first time, `resent` again; `lost` were
    dropped or damaged before they were sent, `unconfirmed` after that; `damaged` places in the files were skipped,
    `deleted` files were gone, `outgrown` ones were dropped for the bounds or a full disk.
    """

    found: int = 0
    appended: int = 0
    delivered: int = 0
    points: int = 0
    bytes: int = 0
    unsent: int = 0
    sent: int = 0
    resent: int = 0
    lost: int = 0
    unconfirmed: int = 0
    deleted: int = 0
    outgrown: int = 0
    damaged: int = 0


class Progress(NamedTuple):
    """What of one segment was delivered: stretches of positions in it, and their points."""

    spans: list[tuple[int, int]]
    points: int


def pack_progress(delivered: dict[int, Progress]) -> bytes:
    """Return the contents of the progress file, by segment number."""
    text = json.dumps(delivered).encode()
    return b"%08x " % zlib.crc32(text) + text


def read_progress(data: bytes) -> dict[int, Progress]:
    """Return what the progress file says; nothing where it is damaged: then more is sent again."""
    crc, _, text = data.partition(b" ")
    try:
        if int(crc, 16) != zlib.crc32(text):
            return {}
        found = json.loads(text)
        return {int(number): Progress([(begin, end) for begin, end in spans], points) for number, (spans, points) in found.items()}
    except ValueError:
        return {}
