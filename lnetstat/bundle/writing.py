"""Write a bundle: a folder of samples with INDEX.tsv, as captures have it, and a manifest, in one tar file that only its owner reads."""

import contextlib
import gzip
import io
import os
import sys
import tarfile
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

from lnetstat import __version__
from lnetstat.bundle.names import Names
from lnetstat.bundle.reading import Material
from lnetstat.errors import SinkError
from lnetstat.model import Snapshot, State
from lnetstat.sources._index import COLUMNS
from lnetstat.sources._names import place
from lnetstat.tables import samples
from lnetstat.words import iso, printable

TOP = "lnetstat-bundle"
NS = 1_000_000_000
_CAPTURED = {"proc/stat": "proc_stat", "lnetctl net show": "lnetctl_net_show.yaml", "lnetctl stats show": "lnetctl_stats_show.yaml"}
_VERSIONS = frozenset({"version", "system.txt"})  # 4.18.0-553.5.1.2 is no address
_LONGEST_NAME = 200


class Member(NamedTuple):
    """One file of the archive, its path below the top folder."""

    path: str
    data: bytes
    time_ns: int


def members(material: Material, names: Names | None, made_ns: int, doctor: str) -> list[Member]:
    """Return the files of a bundle, the manifest first. `names` None: real names are kept."""
    left_out = list(material.left_out)
    about = material.about | {"doctor.txt": doctor}
    if names is not None:
        _learn(names, material, [*about.values(), *left_out])
    else:
        names = _KeptNames()
    files = list(_files(material, names, left_out))
    for name, text in about.items():
        files.append(Member(f"about/{name}", _encoded(names.replaced(text, hosts_only=name in _VERSIONS)), made_ns))
    host = names.replaced(material.hosts[0]) or "node"
    files.append(Member("hostname", _encoded(f"{host}\n"), made_ns))
    told = [names.replaced(line) for line in left_out]
    return [Member("MANIFEST.txt", _encoded(_manifest(material, files, told, made_ns, isinstance(names, _KeptNames))), made_ns), *files]


def _learn(names: Names, material: Material, texts: Sequence[str]) -> None:
    for host in material.hosts:
        names.add_host(host)
    for snapshots in material.samples:
        for snapshot in snapshots:
            names.learn(snapshot.name)
            if snapshot.name not in _VERSIONS:
                names.learn(snapshot.text)
    for text in texts:
        names.learn(text)
    names.settle()


class _KeptNames(Names):
    def replaced(self, text: str, *, hosts_only: bool = False) -> str:
        return text


def _files(material: Material, names: Names, left_out: list[str]) -> Iterator[Member]:
    """Yield the samples and their index."""
    rows = ["\t".join(COLUMNS)]
    for snapshots in material.samples:
        if not snapshots:
            continue
        folder = _folder(min(snapshot.time_ns for snapshot in snapshots))
        for snapshot in snapshots:
            name = names.replaced(snapshot.name)
            file = _CAPTURED.get(name, name)
            found = place((TOP, folder, file))
            if not file.isprintable() or "/" in file or len(file) > _LONGEST_NAME or found is None or found.name != name:
                left_out.append(f"{snapshot.name}: no file of an archive can have this name")
                continue
            is_read = snapshot.state in (State.OK, State.PARTIAL)
            text = names.replaced(snapshot.text, hosts_only=snapshot.name in _VERSIONS) if is_read else ""
            if is_read and not (_same_rows(snapshot, name, text) and not names.left_in(text)):
                left_out.append(f"{snapshot.name}: its names could not be replaced without changing its numbers")
                continue
            data = _encoded(text)
            stamp = f"{snapshot.time_ns // NS}.{snapshot.time_ns // 1000 % 10**6:06d}"
            rows.append("\t".join([folder, file, stamp, str(snapshot.errno), str(snapshot.read_ns // 1000), str(len(data))]))
            if is_read:
                yield Member(f"{folder}/{file}", data, snapshot.time_ns)
    yield Member("INDEX.tsv", _encoded("\n".join([*rows, ""])), 0)


def _folder(time_ns: int) -> str:
    return iso(time_ns, 3).replace("-", "").replace(":", "")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _same_rows(snapshot: Snapshot, name: str, text: str) -> bool:
    """Whether a text parses to the same rows but for words: names are words, and every number stays."""
    before, after = samples(snapshot), samples(snapshot._replace(name=name, text=text))
    return [_numbers(sample.rows) for sample in before] == [_numbers(sample.rows) for sample in after]


def _numbers(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [[value for value in row if isinstance(value, int | float | None)] for row in rows]


def _manifest(material: Material, files: Sequence[Member], left_out: Sequence[str], made_ns: int, are_kept: bool) -> str:
    unread = sorted({f"{each.name} ({os.strerror(each.errno)})" for group in material.samples for each in group if each.errno})
    sizes = sum(len(file.data) for file in files)
    words = (
        "Names are as they are."
        if are_kept
        else "NIDs, addresses, host names, UUIDs, file systems and job ids are stand-ins, the same everywhere."
    )
    lines = [
        f"A bundle of lnetstat {__version__}, made {iso(made_ns)}: what it read on one node, for a bug report.",
        words,
        "",
        f"{sum(map(bool, material.samples))} samples, {len(files)} files, {sizes} bytes:",
        "  YYYYMMDDTHHMMSS.mmmZ/   one sample: each file as it was read",
        "  INDEX.tsv               when each was read, the error where it could not be (errno), how long it took",
        "  about/system.txt        versions; doctor.txt: what `lnetstat doctor` says; agent-*.json: the agent's settings and status",
        "  hostname                the node's name",
        "",
        "`lnetstat dump`, `analyze` and `report` read this file as it is.",
    ]
    if unread:
        lines += ["", "Could not be read:", *(f"  {each}" for each in unread)]
    if left_out:
        lines += ["", "Not taken:", *(f"  {printable(each)}" for each in left_out)]
    return "\n".join([*lines, ""])


def write_archive(path: str, files: Sequence[Member], made_ns: int) -> int:
    """Write a new file that only its owner may read; `-` is standard output. Return its bytes. Raises SinkError."""
    data = io.BytesIO()
    # neither the name of the file nor that of the user gets into it
    with gzip.GzipFile(filename="", mode="wb", fileobj=data, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        for file in files:
            info = tarfile.TarInfo(f"{TOP}/{file.path}")
            info.size, info.mode, info.mtime = len(file.data), 0o600, (file.time_ns or made_ns) // NS
            tar.addfile(info, io.BytesIO(file.data))
    if path == "-":
        sys.stdout.buffer.write(data.getvalue())
        return len(data.getvalue())
    write_new(path, data.getvalue())
    return len(data.getvalue())


def write_new(path: str, data: bytes) -> None:
    """Write a file that was not there before and that only its owner may read. Raises SinkError."""
    try:
        file: IO[bytes] = os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600), "wb")
    except OSError as error:
        raise SinkError(f"{path}: cannot be made: {error.strerror}: name a new file") from None
    try:
        with file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise SinkError(f"{path}: cannot be written: {error.strerror}") from None
