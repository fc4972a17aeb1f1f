"""Walk through folders and tar files, also tar files inside them, without writing anything to disk.

A *container* is one folder or one tar file. survey() lists the files of all containers once; contents() then reads the wanted files of
one container. Tar files are read as streams, so a compressed one is never unpacked as a whole.
"""

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import math
import os
import stat
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import IO, NamedTuple, cast

from lnetstat.sources._names import archive_stem
from lnetstat.sources.reading import open_regular

MEMBER_BYTES_MAX = 64 << 20
HELD_BYTES_MAX = 64 << 20
NESTED_MAX = 3
COPY_ADVICE = "run as root, or copy it with the right to read"
_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ"
DAMAGE = (OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError, ValueError)


class Container(NamedTuple):
    """A folder (`tar` False) or a tar file on disk; `inside`: the positions of the tar files that lie one in another within it."""

    path: str
    tar: bool
    inside: tuple[int, ...] = ()


class Member(NamedTuple):
    """One file. `parts`: its path, with the containers' own; `read(n)`: its first n bytes, only until the next member is asked for.

    read() raises OSError where the file cannot be read; a tar file that is damaged there is also told by survey().
    """

    container: Container
    number: int
    file: str
    parts: tuple[str, ...]
    size: int
    mtime_ns: int
    read: Callable[[int], bytes]


class Wanted(NamedTuple):
    """A file to read again: its position in its container, its path on disk (folders), its size and whether it is compressed by itself."""

    number: int
    file: str
    size: int
    gzipped: bool


class Content(NamedTuple):
    """What was read of a wanted file; `errno`: why nothing was, EIO for one that is damaged or too large, 0 when all is well."""

    data: bytes
    errno: int = 0


FOLDER_LINK, LINK, HARD_LINK = "a link to a folder", "a link", "a hard link"
PassOver = Callable[[tuple[str, ...], str], None]
_DAMAGED = Content(b"", errno.EIO)


def path_parts(path: str) -> tuple[str, ...]:
    """Return the parts of a path that name something; `..` and the like name nothing."""
    return tuple(sys.intern(part) for part in path.split("/") if part not in ("", ".", ".."))


def survey(path: str, problems: list[str], pass_over: PassOver) -> Iterator[Member]:
    """Yield every regular file below a folder or in a tar file, those of tar files inside too. Damage is told in `problems`.

    `pass_over` is told the parts of each path that is neither a file nor a folder, and what it is.
    """
    if not os.path.isdir(path):
        yield from _survey_tar_file(Container(path, True), _container_parts(path_parts(os.path.abspath(path))), problems, pass_over)
        return
    number = 0
    for folder, folders, files in os.walk(path, onerror=lambda error: problems.append(_unread_folder(error))):
        folders.sort()
        for name in folders:
            if os.path.islink(os.path.join(folder, name)):
                pass_over(path_parts(os.path.abspath(os.path.join(folder, name))), FOLDER_LINK)
        for name in sorted(files):
            file = os.path.join(folder, name)
            try:
                status = os.lstat(file)
            except OSError as error:
                problems.append(f"{file}: {error.strerror}")
                continue
            parts = path_parts(os.path.abspath(file))
            if not stat.S_ISREG(status.st_mode):
                pass_over(parts, _kind_on_disk(status.st_mode))
                continue
            if archive_stem(name):
                yield from _survey_tar_file(Container(file, True), _container_parts(parts), problems, pass_over)
                continue
            number += 1
            yield Member(Container(path, False), number, file, parts, status.st_size, status.st_mtime_ns, _file_head(file))


def _unread_folder(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}: {COPY_ADVICE if isinstance(error, PermissionError) else 'what is in it is left out'}"


def _kind_on_disk(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return LINK
    return "a FIFO" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def _kind_in_tar(info: tarfile.TarInfo) -> str:
    if info.issym():
        return LINK
    return HARD_LINK if info.islnk() else "a FIFO" if info.isfifo() else "a device"


def _open_tar(stream: IO[bytes]) -> tarfile.TarFile:
    """Open a tar file as a stream, compressed or not.

    tarfile could unpack by itself, but unpacks a whole block at a time, however much comes of it, and copies the rest at each read. What is
    opened here holds nothing but `stream`.
    """
    head = cast(io.BufferedReader, stream).peek(len(_XZ))
    unpacked_stream: IO[bytes] = stream
    if head.startswith(_GZIP):
        unpacked_stream = cast(IO[bytes], gzip.open(stream))  # noqa: SIM115
    elif head.startswith(_BZIP2):
        unpacked_stream = bz2.open(stream)  # noqa: SIM115
    elif head.startswith(_XZ):
        unpacked_stream = lzma.open(stream)  # noqa: SIM115
    return tarfile.open(fileobj=unpacked_stream, mode="r|")


def is_tar(path: str) -> bool:
    """Tell whether a file is a tar file, by its suffix or its content. A file of a running kernel has no size and is not touched."""
    if archive_stem(os.path.basename(path)):
        return True
    if os.stat(path).st_size == 0:
        return False
    try:
        with open(path, "rb") as stream, _open_tar(stream):
            return True
    except DAMAGE:
        return False


def _file_head(file: str) -> Callable[[int], bytes]:
    def read(count: int) -> bytes:
        with open(open_regular(file), "rb") as stream:
            return stream.read(count)

    return read


def _container_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of a tar file as a folder's: without suffix, and without `fast`, which captures call the node's quick samples."""
    stem = archive_stem(parts[-1])
    return parts[:-1] if stem == "fast" else (*parts[:-1], stem or parts[-1])


def _survey_tar_file(container: Container, parts: tuple[str, ...], problems: list[str], pass_over: PassOver) -> Iterator[Member]:
    try:
        with open(container.path, "rb") as stream:
            yield from _survey_stream(container, stream, parts, problems, pass_over)
    except OSError as error:
        advice = f": {COPY_ADVICE}" if isinstance(error, PermissionError) else ""
        problems.append(f"{container.path}: {error.strerror}{advice}")


def _survey_stream(
    container: Container, stream: IO[bytes], parts: tuple[str, ...], problems: list[str], pass_over: PassOver
) -> Iterator[Member]:
    seen = 0
    try:
        with _open_tar(stream) as tar:
            for number, info in _members(tar):
                name = path_parts(info.name)
                if not info.isreg():
                    if name and not info.isdir():
                        pass_over((*parts, *name), _kind_in_tar(info))
                    continue
                seen += 1
                content = tar.extractfile(info)
                if not name or content is None:
                    continue
                if archive_stem(name[-1]):
                    yield from _survey_nested(container, number, content, parts, name, problems, pass_over)
                    continue
                head = _TarHead(content)
                yield Member(container, number, "", (*parts, *name), info.size, _mtime_ns(info), head.read)
                if head.damage:
                    raise head.damage
    except DAMAGE as error:
        problems.append(f"{'/'.join(parts)}: damaged after {seen} files: {error or type(error).__name__}: what came before is used")


class _TarHead:
    """Reads the beginning of a file in a tar file. Damage is EIO to the caller, and remembered for survey(), which ends there."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self.damage: Exception | None = None

    def read(self, count: int) -> bytes:
        try:
            return self._content.read(count)
        except DAMAGE as error:
            self.damage = error
            raise OSError(errno.EIO, os.strerror(errno.EIO)) from error


def _mtime_ns(info: tarfile.TarInfo) -> int:
    """Return when a member was modified; 0, which is no time that anybody recorded, where its header holds no number (inf, nan)."""
    mtime_ns = info.mtime * 1_000_000_000
    return int(mtime_ns) if math.isfinite(mtime_ns) else 0


def _survey_nested(
    container: Container,
    number: int,
    content: IO[bytes],
    parts: tuple[str, ...],
    name: tuple[str, ...],
    problems: list[str],
    pass_over: PassOver,
) -> Iterator[Member]:
    if len(container.inside) >= NESTED_MAX:
        problems.append(f"{'/'.join(name)}: not looked into: more than {NESTED_MAX} tar files one in another")
        return
    nested = container._replace(inside=(*container.inside, number))
    yield from _survey_stream(nested, content, (*parts, *_container_parts(name)), problems, pass_over)


def _members(tar: tarfile.TarFile) -> Iterator[tuple[int, tarfile.TarInfo]]:
    """Yield the members of a stream with their position; the list that tarfile keeps of them is emptied, or it would grow."""
    number = 0
    while info := tar.next():
        tar.members = []  # type: ignore[attr-defined]
        number += 1
        yield number, info


def contents(container: Container, wanted: Sequence[Wanted]) -> Iterator[Content]:
    """Yield what each wanted file holds, in the order given.

    A tar file is passed through once when that is its own order; else once per 64 MiB of wanted files, which are then held in memory.
    """
    if not container.tar:
        for file in wanted:
            yield _whole(_file_head(file.file), file)
        return
    numbers = [file.number for file in wanted]
    if numbers == sorted(numbers):
        found = _pass(container, wanted)
        reached = next(found, None)
        for file in wanted:
            while reached is not None and reached[0] < file.number:
                reached = next(found, None)
            yield reached[1] if reached is not None and reached[0] == file.number else _DAMAGED
        return
    for chunk in _chunks(wanted):
        held = dict(_pass(container, sorted(chunk)))
        for file in chunk:
            yield held.get(file.number, _DAMAGED)


def _chunks(wanted: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    chunk: list[Wanted] = []
    size = 0
    for file in wanted:
        if chunk and size + file.size > HELD_BYTES_MAX:
            yield chunk
            chunk, size = [], 0
        chunk.append(file)
        size += file.size
    yield chunk


def _pass(container: Container, wanted: Sequence[Wanted]) -> Iterator[tuple[int, Content]]:
    """Go once through a tar file and yield position and content of the wanted files; positions rise. Damage ends it: survey() told."""
    left = {file.number: file for file in wanted}
    with contextlib.ExitStack() as stack, contextlib.suppress(*DAMAGE):
        stream: IO[bytes] = stack.enter_context(open(container.path, "rb"))
        for position in container.inside:
            stream = _nested(stack.enter_context(_open_tar(stream)), position)
        for number, info in _members(tar := stack.enter_context(_open_tar(stream))):
            file = left.pop(number, None)
            content = tar.extractfile(info) if file else None
            if file and content:
                yield number, _whole(content.read, file)
            if not left:
                return


def _nested(tar: tarfile.TarFile, position: int) -> IO[bytes]:
    for number, info in _members(tar):
        if number == position and (content := tar.extractfile(info)):
            return content
    raise EOFError("the tar file became shorter")


def _whole(read: Callable[[int], bytes], file: Wanted) -> Content:
    """Return all bytes of a file, unpacked where it is compressed by itself, or why they cannot be had: EIO also beyond 64 MiB."""
    try:
        data = read(min(file.size, MEMBER_BYTES_MAX) + 1)
        if file.gzipped:
            data = unpacked(data)
    except DAMAGE as error:
        return Content(b"", (error.errno if isinstance(error, OSError) else None) or errno.EIO)
    return Content(data) if len(data) <= MEMBER_BYTES_MAX else _DAMAGED


def unpacked(data: bytes) -> bytes:
    """Return the content of a gzip file, at most one byte more than a member may have. Raises OSError or zlib.error."""
    unpacker = zlib.decompressobj(wbits=31)
    text = unpacker.decompress(data, MEMBER_BYTES_MAX + 1)
    if not unpacker.eof and len(text) <= MEMBER_BYTES_MAX:
        raise gzip.BadGzipFile("cut short")
    return text


def unpacked_head(head: bytes, gzipped: bool) -> bytes:
    """Return the beginning of a file's text, given its first bytes; nothing when it is not what it says."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, len(head)) if gzipped else head
    except zlib.error:
        return b""
