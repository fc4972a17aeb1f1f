"""A frame's body: the snapshots of one tick of one host, packed against the tick before."""

import io
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from lnetstat.errors import RecordingError
from lnetstat.model import Snapshot, State
from lnetstat.recording import delta
from lnetstat.recording import format as layout

ZLIB_LEVEL = 6
BODY_BYTES_MAX = 1 << 30
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
_STATES = {state.value: state for state in State}
_NO_FLAGS: frozenset[str] = frozenset()
_raw_decode = json.JSONDecoder().raw_decode


class Change(NamedTuple):
    """One snapshot as lines. `snapshot.text` is empty; `lines` keep their ends and belong to the decoder, which changes them later.

    `changed`: positions of the lines that differ from the previous snapshot of this host and name; None where any line may.
    """

    snapshot: Snapshot
    lines: list[bytes]
    changed: list[int] | None

    def text(self) -> str:
        """Return the text, byte for byte what was recorded."""
        return b"".join(self.lines).decode("utf-8", "surrogateescape")


class HostEncoder:
    """Packs the ticks of one host. Holds one copy of each text, until the next key frame."""

    def __init__(self) -> None:
        self.text_bytes = 0
        self._frames_since_key = 0
        self._texts: dict[str, bytes] = {}
        self._dictionary = b""
        self._before_crc = 0

    def start_again(self) -> None:
        """Make the next frame a key frame."""
        self._frames_since_key = 0

    def encode(self, host: str, snapshots: list[Snapshot]) -> bytes:
        """Return the next frame of the host, header and body. Afterwards `text_bytes` is the size of its texts."""
        texts = [_bytes_of(snapshot) for snapshot in snapshots]
        is_key = self._frames_since_key == 0
        if is_key:
            self._texts.clear()
            self._dictionary = b""
            self._before_crc = 0
        self._frames_since_key = (self._frames_since_key + 1) % layout.KEY_EVERY
        self.text_bytes = sum(map(len, texts))
        body = self._encode_body(snapshots, texts)
        times = [snapshot.time_ns for snapshot in snapshots]
        kind = layout.KEY if is_key else layout.DELTA
        header = layout.FrameHeader(kind, self._before_crc, host, min(times), max(times), len(body), zlib.crc32(body))
        self._before_crc = header.body_crc
        return layout.pack_header(header) + body

    def _encode_body(self, snapshots: list[Snapshot], texts: list[bytes]) -> bytes:
        packer = zlib.compressobj(ZLIB_LEVEL, zdict=self._dictionary) if self._dictionary else zlib.compressobj(ZLIB_LEVEL)
        entries: list[list[Any]] = []
        packed: list[bytes] = []
        tail = b""
        for snapshot, text in zip(snapshots, texts, strict=True):
            coding, parts = self._encode_text(snapshot.name, text)
            entries.append([*_origin(snapshot), *coding])
            for part in parts:
                packed.append(packer.compress(part))
                tail = _tail(tail, part)
        index = json.dumps(entries, separators=(",", ":")).encode()
        closing = index + layout.pack_u32(len(index))
        packed += [packer.compress(closing), packer.flush()]
        self._dictionary = _tail(tail, closing)
        return b"".join(packed)

    def _encode_text(self, name: str, text: bytes) -> tuple[list[Any], list[bytes]]:
        """Return the entry's last fields and the bytes to pack."""
        previous = self._texts.get(name)
        self._texts[name] = text
        if previous is None:
            return [layout.WHOLE, len(text)], [text]
        if previous == text:
            return [layout.SAME], []
        hunks = delta.hunks_between(previous, text)
        if hunks is None:
            return [layout.WHOLE, len(text)], [text]
        lines = b"".join(hunks.lines)
        typecode = delta.typecode_for(hunks)
        numbers = [delta.pack_numbers(column, typecode) for column in hunks[:3]]
        return [layout.LINES, len(hunks.kept), typecode, len(lines)], [*numbers, lines]


class HostDecoder:
    """Unpacks the frames of one host, in their order."""

    def __init__(self) -> None:
        self._lines: dict[str, list[bytes]] = {}
        self._dictionary = b""

    def decode(self, header: layout.FrameHeader, packed: bytes) -> Iterator[Change]:
        """Yield the frame's snapshots, in the order in which they were written.

        Raises ValueError where the body is not what the format says: its check sum was right, so it was written so.
        """
        try:
            yield from self._decode(header, packed)
        except (LookupError, TypeError, OverflowError, RecursionError, struct.error, zlib.error) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error

    def _decode(self, header: layout.FrameHeader, packed: bytes) -> Iterator[Change]:
        before_key: dict[str, list[bytes]] = {}
        if header.kind == layout.KEY:
            before_key, self._lines = self._lines, {}
            self._dictionary = b""
        body = _unpack(packed, self._dictionary)
        self._dictionary = body[-layout.DICTIONARY_BYTES :]
        entries_end = len(body) - 4
        entries = _entries(body[entries_end - layout.unpack_u32(body) : entries_end])
        texts = io.BytesIO(body)
        host, new, lines, no_flags = header.host, tuple.__new__, self._lines, _NO_FLAGS  # new: in half the time that their own takes
        for name, time_ns, mono_ns, read_ns, state, errno, flags, *coding in entries:
            if not INT64_MIN <= time_ns <= INT64_MAX:
                raise ValueError("a stamp that does not fit 64 bits")
            if coding[0] == layout.LINES:
                changed = self._change_lines(name, coding, texts)
            else:
                changed = self._decode_text(name, before_key, coding, texts)
            known = frozenset(flags) if flags else no_flags
            fields = name, host, time_ns, mono_ns, read_ns, _STATES[state], errno, known, ""
            yield new(Change, (new(Snapshot, fields), lines[name], changed))

    def _decode_text(self, name: str, before_key: dict[str, list[bytes]], coding: list[Any], texts: BinaryIO) -> list[int] | None:
        """Bring the lines of `name` up to date; return the positions of those that changed, None where all may have."""
        if coding[0] == layout.WHOLE:
            before = self._lines.get(name, before_key.get(name))
            lines = self._lines[name] = io.BytesIO(texts.read(coding[1])).readlines()
            if before is None or len(before) != len(lines):
                return None
            return [at for at, (old, new) in enumerate(zip(before, lines, strict=True)) if old != new]
        if coding[0] == layout.SAME:
            return [] if name in self._lines else None
        raise ValueError(f"a coding {coding[0]} that nobody writes")

    def _change_lines(self, name: str, coding: list[Any], texts: BinaryIO) -> list[int] | None:
        """Do what `_decode_text` does for a text of which only the lines that changed were recorded."""
        _, count, typecode, line_bytes = coding
        size = count * delta.ITEM_BYTES[typecode]
        packed = texts.read(3 * size)
        if len(packed) != 3 * size:
            raise ValueError("the body ends in the midst of the changes")
        lines = io.BytesIO(texts.read(line_bytes)).readlines()
        if packed[size:] == delta.ONE[typecode] * (2 * count):  # as nearly always: line for line
            return delta.replace_each(self._lines[name], delta.unpack_numbers(packed[:size], typecode), lines)
        numbers = delta.unpack_numbers(packed, typecode)
        kept, removed, added = numbers[:count], numbers[count : 2 * count], numbers[2 * count :]
        return delta.apply(self._lines[name], delta.Hunks(kept, removed, added, lines))


def _entries(text: bytes) -> Any:
    """Return what the JSON says."""
    words = text.decode().strip()
    entries, end = _raw_decode(words)
    if end != len(words):
        raise ValueError("more than one list of snapshots")
    return entries


def _unpack(packed: bytes, dictionary: bytes) -> bytes:
    unpacker = zlib.decompressobj(zdict=dictionary)
    body = unpacker.decompress(packed, BODY_BYTES_MAX)
    if not unpacker.eof or len(body) < 4:
        raise ValueError("the body ends early or is larger than any tick")
    return body


def _origin(snapshot: Snapshot) -> list[Any]:
    s = snapshot
    return [s.name, s.time_ns, s.mono_ns, s.read_ns, s.state.value, s.errno, sorted(s.flags)]


def _bytes_of(snapshot: Snapshot) -> bytes:
    try:
        return snapshot.text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise RecordingError(f"{snapshot.host}: {snapshot.name}: a text that no bytes decode to cannot be recorded: {error}") from error


def _tail(tail: bytes, part: bytes) -> bytes:
    """Return the last DICTIONARY_BYTES of both together."""
    return (part if len(part) >= layout.DICTIONARY_BYTES else tail + part)[-layout.DICTIONARY_BYTES :]
