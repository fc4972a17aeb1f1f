"""The lines of a file that may be compressed, also of one that is still being written, was cut off, or is damaged in the middle."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

GZIP = b"\x1f\x8b\x08"
PLAIN_BYTES = 1 << 18
PACKED_BYTES = 8192  # given to zlib at a time: what a damaged place costs
UNPACKED_BYTES = 1 << 20
LINE_BYTES_MAX = 64 << 20
_ANY_MEMBER = 31  # zlib's word for: gzip, the largest window
_ENDED_EARLY = "is still being written, or its writer was killed: what is there is used"


def line_batches(path: str, problems: list[str]) -> Iterator[list[bytes]]:
    """Yield the whole lines of a file, without their ends, some at a time; what is wrong with the file is told in `problems`.

    gzip is told by content. Of a damaged file everything up to the damage comes, and what a writer appended after it. Raises OSError.
    """
    rest = b""
    with open(path, "rb") as file:
        for block in _blocks(file, path, problems):
            if not block:  # lines on both sides of a damage do not belong together
                rest = b""
                continue
            lines = (rest + block).split(b"\n") if rest else block.split(b"\n")
            rest = lines.pop()
            if len(rest) > LINE_BYTES_MAX:
                problems.append(f"{path}: a line of more than {LINE_BYTES_MAX >> 20} MiB: it and what follows is left out")
                return
            yield lines
    if rest and not problems:
        problems.append(f"{path}: its last line is not whole: it {_ENDED_EARLY}")


def _blocks(file: BinaryIO, path: str, problems: list[str]) -> Iterator[bytes]:
    """Yield the content block by block; an empty block stands for what was lost."""
    head = file.read(len(GZIP))
    file.seek(0)
    if head != GZIP:
        while block := file.read(PLAIN_BYTES):
            yield block
        return
    yield from _members(file, path, problems)


def _members(file: BinaryIO, path: str, problems: list[str]) -> Iterator[bytes]:
    """Yield what the members of a gzip file hold, one behind the other."""
    unpacker = zlib.decompressobj(_ANY_MEMBER)
    data = file.read(PACKED_BYTES)
    begin = end = 0  # of the member, and of what was given to zlib
    while data:
        try:
            block = unpacker.decompress(data, UNPACKED_BYTES)
        except zlib.error:
            at = file.tell() - len(data)
            problems.append(f"{path}: damaged near byte {at}: what comes before and after is used")
            yield b""
            begin = _next_member(file, max(at, begin + 1))
            unpacker, data = zlib.decompressobj(_ANY_MEMBER), file.read(PACKED_BYTES)
            continue
        if block:
            yield block
        if unpacker.eof:
            data = unpacker.unused_data.lstrip(b"\0") or file.read(PACKED_BYTES)
            begin = end = file.tell() - len(data)
            unpacker = zlib.decompressobj(_ANY_MEMBER)
        else:
            data = unpacker.unconsumed_tail or file.read(PACKED_BYTES)
            end = file.tell()
    if end > begin:
        problems.append(f"{path}: ends in the middle of its gzip stream: it {_ENDED_EARLY}")


def _next_member(file: BinaryIO, at: int) -> int:
    """Set the file to where the next gzip member may begin, at `at` or later, or to its end; return that place."""
    file.seek(at)
    before = b""
    while data := file.read(PLAIN_BYTES):
        found = (before + data).find(GZIP)
        if found >= 0:
            return file.seek(at - len(before) + found)
        at += len(data)
        before = data[1 - len(GZIP) :]
    return file.tell()
