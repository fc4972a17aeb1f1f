"""The lines of a file that may be compressed, also of one that is still being written, was cut off, or is damaged in the middle."""

import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO

GZIP = b"\x1f\x8b\x08"
PLAIN_BYTES = 1 << 18
PACKED_BYTES = 8192  # given to zlib at a time: what a damaged place costs
UNPACKED_BYTES = 1 << 20
LINE_BYTES_MAX = 64 << 20
HEADER_BYTES = 10
_HEADER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x03\xff]", re.DOTALL)
_ANY_MEMBER = 31  # zlib's word for: gzip, the largest window
UNFINISHED = "ends in the middle of its gzip stream"
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
    begin: int | None = 0
    while begin is not None:
        file.seek(begin)
        unpacker = zlib.decompressobj(_ANY_MEMBER)
        damage = ""
        while not unpacker.eof and (data := unpacker.unconsumed_tail or file.read(PACKED_BYTES)):
            try:
                block = unpacker.decompress(data, UNPACKED_BYTES)
            except zlib.error:
                damage = f"{path}: damaged near byte {file.tell() - len(data)}: what stands before it and behind it is used"
                break
            if block:
                yield block
        if unpacker.eof:
            begin = _behind(file, file.tell() - len(unpacker.unused_data))
            continue
        begin = _next_member(file, begin + 1)
        if not problems:
            problems.append(damage or f"{path}: {UNFINISHED}: it {_ENDED_EARLY}")
        yield b""


def _behind(file: BinaryIO, at: int) -> int | None:
    """Return where what follows a member begins, None where nothing but zero bytes does."""
    file.seek(at)
    while data := file.read(PLAIN_BYTES):
        if rest := data.lstrip(b"\0"):
            return file.tell() - len(rest)
    return None


def _next_member(file: BinaryIO, at: int) -> int | None:
    """Return where the next member begins, at `at` or later: what looks like its header is none by chance; None where there is none."""
    file.seek(at)
    before = b""
    while data := file.read(PLAIN_BYTES):
        if found := _HEADER.search(before + data):
            return file.tell() - len(data) - len(before) + found.start()
        before = (before + data)[1 - HEADER_BYTES :]
    return None
