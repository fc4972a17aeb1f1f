"""Raw files of collectl (HOST-DATE-TIME.raw.gz) that were written with lnet.ph or lustre_oss.ph, as snapshots.

Each record of ours is one line and holds one file of the node as it was read (collectors/collectl/lnet.ph):

    >>> 1795171958.001 <<<
    lnt-buffers ok 0 1795171958.001234 118 - |pages   count credits     min\\n    0     512     512     480\\n

NAME STATE ERRNO TIME READ_US FLAGS |TEXT, in TEXT `\\\\`, `\\n` and `\\r` for what they say. `peers` may hold the worst rows only (flag
`worst`); lines `lnt:NET COUNT DOWN …` just before it then tell of all peers of each network, and become the snapshot `peers_by_net`.
Lines `cpu …`, which collectl itself writes with -sc, become `proc/stat` at the time of the marker above them. The rest is passed over.
"""

import contextlib
import heapq
import os
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from lnetstat.errors import SourceError, shown
from lnetstat.model import Snapshot, State
from lnetstat.recording import Change, Recording
from lnetstat.sources._hosts import short
from lnetstat.sources._stamps import is_credible
from lnetstat.sources._unpacking import UNFINISHED, line_batches
from lnetstat.tables.peers_by_net import HEADER

BY_NET = "peers_by_net"
NO_RECORDS = "holds no records of lnet.ph or lustre_oss.ph: was collectl started with --import?"
CUT = "not a whole gzip file: cut short: its writer was killed, or has only just begun"
HEADER_BATCHES = 4  # of some hundred KB: the header, and the first samples where the header does not name our modules
READABLE = (State.OK, State.PARTIAL)
_RECORD = re.compile(rb"(?:lnt|lsv)-(\S+) (ok|absent|forbidden|failed|partial) (\d{1,4}) (\d{1,11})\.(\d{6}) (\d{1,12}) (\S+) \|")
_TIME = re.compile(rb"(?:lnt|lsv)-\S+ \S+ \d+ (\d{1,11})\.(\d{6}) ")
_MARKER = re.compile(rb">>> (\d{1,11})\.(\d{3}) <<<")
_HOST = re.compile(rb"# Host:\s+(\S+)")
_BEGUN = re.compile(rb"# Date:.*\bSecs: (\d{1,11})")
_CPU = re.compile(rb"cpu\d* ")
_ESCAPED = re.compile(rb"\\(.)")
_MEANING = {b"\\": b"\\", b"n": b"\n", b"r": b"\r"}
_STATES = {state.value.encode(): state for state in State}


class _File(NamedTuple):
    """One raw file: whose it is and when it was begun, by its header."""

    begun_s: int
    path: str
    host: str


class CollectlSource:
    """Raw files of one or many hosts, read as a Recording is; a file's texts are gone through once for each reading.

    `problems`: what could not be read, `notes`: what else is to be known, each once. Raises SourceError where there is nothing to read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """`path`: a raw file, or a folder with raw files in it; what else lies there is left alone."""
        self.folder = os.fspath(path)
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._ranges: dict[str, tuple[int, int] | None] = {}
        self._files: list[_File] = []
        without = []
        for candidate in _candidates(self.folder):
            lines = _beginning(candidate)
            if not _is_raw(lines):
                if _is_cut(candidate, lines):
                    self.problems.append(f"{candidate}: {CUT}")
                continue
            if any(line.startswith((b"# lnetstat:", b"lnt-", b"lsv-")) for line in lines):
                self._files.append(_described(candidate, lines))
            else:
                without.append(candidate)
        if not self._files and self.problems and not without:
            raise SourceError(self.problems[0] + (f" ({len(self.problems) - 1} others likewise)" if len(self.problems) > 1 else ""))
        if not self._files:
            others = f" ({len(without) - 1} others likewise)" if len(without) > 1 else ""
            raise SourceError(f"{without[0] if without else self.folder}: {NO_RECORDS}{others}")
        if without:
            self.notes.append(
                f"{self.folder}: {len(without)} files of collectl hold no records of lnet.ph or lustre_oss.ph: {without[0]} …"
            )
        self._files.sort()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the files' headers name, sorted."""
        return tuple(sorted({file.host for file in self._files}))

    @property
    def begin_ns(self) -> int | None:
        """The least stamp (epoch ns), None where there is none."""
        return min((known[0] for file in self._files if (known := self._range(file))), default=None)

    @property
    def end_ns(self) -> int | None:
        """The greatest stamp (epoch ns), None where there is none."""
        return max((known[1] for file in self._files if (known := self._range(file))), default=None)

    def snapshots(
        self,
        *,
        begin_ns: int | None = None,
        end_ns: int | None = None,
        names: Collection[str] | None = None,
        hosts: Collection[str] | None = None,
    ) -> Iterator[Snapshot]:
        """Yield the snapshots with begin_ns <= time_ns < end_ns, of each host in the order in which they were written."""
        for change in self.changes(begin_ns=begin_ns, end_ns=end_ns, names=names, hosts=hosts):
            yield change.snapshot._replace(text=change.text())

    def changes(
        self,
        *,
        begin_ns: int | None = None,
        end_ns: int | None = None,
        names: Collection[str] | None = None,
        hosts: Collection[str] | None = None,
    ) -> Iterator[Change]:
        """Yield the same snapshots as lines, with the positions of those that changed since the one of that host and name before it."""
        wanted = _Wanted(begin_ns, end_ns, names)
        chosen = [host for host in self.hosts if hosts is None or host in hosts]
        streams = [self._of_host([file for file in self._files if file.host == host], wanted) for host in chosen]
        yield from streams[0] if len(streams) == 1 else heapq.merge(*streams, key=lambda change: change.snapshot.time_ns)

    def _of_host(self, files: Sequence[_File], wanted: "_Wanted") -> Iterator[Change]:
        reader = _Reader(files[0].host, wanted)
        found = 0
        for file in files:
            if not wanted.everything:
                known = self._range(file)
                if known is not None and not wanted.overlaps(*known):
                    continue
            problems: list[str] = []
            try:
                for lines in line_batches(file.path, problems):
                    for change in reader.changes(lines):
                        found += 1
                        yield change
            except OSError as error:
                problems.append(f"{file.path}: cannot be read: {error.strerror}")
            problems += [f"{file.path}: {line}" for line in reader.end_file()]
            self._tell(self.problems, problems)
        if not found and wanted.everything and not self.problems:
            self._tell(self.problems, [f"{files[0].path}: holds no sample yet"])
        if reader.worst_only:
            self._tell(self.notes, [reader.worst_words()])

    def _range(self, file: _File) -> tuple[int, int] | None:
        """Return the first and the last stamp of a file in ns, None where it has none."""
        if file.path not in self._ranges:
            first, last = 1 << 63, -1
            try:
                for lines in line_batches(file.path, []):
                    for line in lines:
                        if line[:4] in (b"lnt-", b"lsv-") and (found := _TIME.match(line)):
                            stamp = int(found[1]) * 1_000_000 + int(found[2])
                            first, last = min(first, stamp), max(last, stamp)
            except OSError:
                pass  # reading its records tells
            self._ranges[file.path] = (first * 1000, last * 1000) if last >= 0 else None
        return self._ranges[file.path]

    def _tell(self, where: list[str], lines: list[str]) -> None:
        where += [line for line in lines if line not in where]


Recorded = Recording | CollectlSource


def is_collectl(path: str | os.PathLike[str]) -> bool:
    """True where the path is a raw file of collectl, told by its content, or a folder in which one lies, first told by its name."""
    candidates = _candidates(os.fspath(path))
    return any(_is_raw(lines := _beginning(candidate)) or _is_cut(candidate, lines) for candidate in candidates)


def _candidates(path: str) -> list[str]:
    """Return the files that may be raw files: the file itself, or those of a folder that are called so."""
    if not os.path.isdir(path):
        return [path] if os.path.isfile(path) and os.path.getsize(path) else []
    names = sorted(name for name in os.listdir(path) if name.endswith((".raw", ".raw.gz")))
    return [file for name in names if os.path.isfile(file := os.path.join(path, name))]


def _beginning(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            if file.read(2) not in (b"\x1f\x8b", b"##"):
                return []
        return [line for lines in islice(line_batches(path, []), HEADER_BATCHES) for line in lines]
    except OSError:
        return []


def _is_raw(lines: list[bytes]) -> bool:
    """True for lines that begin as a raw file does; files for plotting have the same header, but then `#Date Time …`."""
    if len(lines) < 2 or not lines[0].startswith(b"####") or not lines[1].startswith(b"# Collectl:"):
        return False
    ends = [at for at, line in enumerate(lines[1:], 1) if line.startswith(b"####")]
    after = lines[ends[0] + 1 : ends[0] + 2] if ends else []
    return not after or not after[0].startswith(b"#")


def _is_cut(path: str, lines: list[bytes]) -> bool:
    """True for a packed raw file, by its name, that ends before its first line does: collectl was killed before it wrote more."""
    if lines or not path.endswith(".raw.gz"):
        return False
    problems: list[str] = []
    with contextlib.suppress(OSError):
        list(line_batches(path, problems))
    return any(UNFINISHED in problem for problem in problems)


def _described(path: str, lines: list[bytes]) -> _File:
    head = lines[: next((at for at, line in enumerate(lines) if line.startswith(b">>>")), len(lines))]
    host = next((found[1] for line in head if (found := _HOST.match(line))), b"unknown")
    begun = next((int(found[1]) for line in head if (found := _BEGUN.match(line))), 0)
    return _File(begun, path, short(host.decode("utf-8", "replace")))


class _Wanted:
    """The stamps and names that are asked for."""

    def __init__(self, begin_ns: int | None, end_ns: int | None, names: Collection[str] | None) -> None:
        self._begin_ns, self._end_ns, self._names = begin_ns, end_ns, names
        self.everything = begin_ns is None and end_ns is None

    def overlaps(self, first_ns: int, last_ns: int) -> bool:
        return (self._begin_ns is None or last_ns >= self._begin_ns) and (self._end_ns is None or first_ns < self._end_ns)

    def holds(self, name: str, time_ns: int) -> bool:
        return self.overlaps(time_ns, time_ns) and (self._names is None or name in self._names)


class _Reader:
    """Makes changes of one host's lines, file by file."""

    def __init__(self, host: str, wanted: _Wanted) -> None:
        self._host, self._wanted = host, wanted
        self._texts: dict[str, tuple[bytes, list[bytes]]] = {}  # as recorded, and as lines
        self._words: dict[bytes, str] = {}
        self._flags: dict[bytes, frozenset[str]] = {b"-": frozenset()}
        self._marker_ns: int | None = None
        self._cpu: list[bytes] = []
        self._nets: list[bytes] = []
        self._bad: list[str] = []
        self._bad_count = 0
        self.worst_only = self.scans = self._most_worst = 0

    def changes(self, lines: list[bytes]) -> Iterator[Change]:
        for line in lines:
            kind = line[:4]
            if self._cpu and kind[:3] != b"cpu":
                yield from self._cpu_change()
            if kind in (b"lnt-", b"lsv-"):
                yield from self._record(line)
            elif kind == b"lnt:":
                self._nets.append(line[4:])
            elif kind == b">>> ":
                self._marker(line)
            elif kind[:3] == b"cpu" and _CPU.match(line) and self._marker_ns is not None:
                self._cpu.append(line)

    def end_file(self) -> list[str]:
        """Forget what belongs to one file only; return what was wrong in it."""
        bad, self._bad, self._bad_count = self._bad, [], 0
        self._marker_ns, self._cpu, self._nets = None, [], []  # the cpu lines of a sample that was cut are not whole
        return bad

    def worst_words(self) -> str:
        """Say once that not all peers are there."""
        return (
            f"{self._host}: only the {self._most_worst} worst peers were recorded in {self.worst_only:,} of {self.scans:,} samples "
            "(lnet.ph: rows=N): of others it is known only that they were not among them"
        )

    def _marker(self, line: bytes) -> None:
        found = _MARKER.match(line)
        self._marker_ns = int(found[1] + found[2]) * 1_000_000 if found else None
        self._nets = []
        if not found:
            self._reject(line, "a marker such as >>> 1795171958.001 <<<")

    def _record(self, line: bytes) -> Iterator[Change]:
        found = _RECORD.match(line)
        if found is None:
            self._reject(line, "NAME STATE ERRNO TIME READ_US FLAGS |TEXT")
            return
        name, state, errno, seconds, micros, read_us, flags = found.groups()
        time_ns = int(seconds + micros) * 1000
        if not is_credible(time_ns):
            self._reject(line, "a time in the years 1990 to 2200")
            return
        words = self._words.get(name) or self._word(name)
        snapshot = Snapshot(
            words,
            self._host,
            time_ns,
            None,
            int(read_us) * 1000,
            _STATES[state],
            int(errno),
            self._flags[flags] if flags in self._flags else self._flag(flags),
            "",
        )
        if words == "peers":
            snapshot, by_net = self._peers(snapshot, line)
            yield from by_net
        if self._wanted.holds(words, time_ns):
            yield self._change(snapshot, line[found.end() :])
        else:
            self._texts.pop(words, None)

    def _peers(self, peers: Snapshot, line: bytes) -> tuple[Snapshot, list[Change]]:
        """Return what a record of `peers` is, and the sums of all peers where it holds only the worst; all of few peers are no choice."""
        nets, self._nets = self._nets, []
        self.scans += 1
        if "worst" not in peers.flags:
            return peers, []
        rows = line.count(b"\\n") - 1
        if nets and rows == sum(int(words[1]) for net in nets if len(words := net.split()) > 1 and words[1].isdigit()):
            return peers._replace(flags=peers.flags - {"worst"}), []
        self.worst_only += 1
        self._most_worst = max(self._most_worst, rows)
        if not nets or not self._wanted.holds(BY_NET, peers.time_ns):
            return peers, []
        lines = [HEADER.encode(), *(net + b"\n" for net in nets)]
        return peers, [Change(peers._replace(name=BY_NET, flags=peers.flags - {"worst"}), lines, None)]

    def _cpu_change(self) -> Iterator[Change]:
        lines, self._cpu = self._cpu, []
        if self._marker_ns is not None and is_credible(self._marker_ns) and self._wanted.holds("proc/stat", self._marker_ns):
            snapshot = Snapshot("proc/stat", self._host, self._marker_ns, None, 0, State.OK, 0, frozenset(), "")
            yield Change(snapshot, [line + b"\n" for line in lines], None)

    def _change(self, snapshot: Snapshot, text: bytes) -> Change:
        if snapshot.state not in READABLE:
            self._texts.pop(snapshot.name, None)
            return Change(snapshot, _lines(text), None)
        known = self._texts.get(snapshot.name)
        if known is not None and known[0] == text:
            return Change(snapshot, known[1], [])
        lines = _lines(text)
        self._texts[snapshot.name] = text, lines
        if known is None or len(known[1]) != len(lines):
            return Change(snapshot, lines, None)
        return Change(snapshot, lines, [at for at, (old, new) in enumerate(zip(known[1], lines, strict=True)) if old != new])

    def _word(self, name: bytes) -> str:
        word = self._words[name] = name.replace(b"\\s", b" ").decode("utf-8", "surrogateescape")
        return word

    def _flag(self, flags: bytes) -> frozenset[str]:
        found = self._flags[flags] = frozenset(flags.decode("utf-8", "replace").split(",")) - {"-"}
        return found

    def _reject(self, line: bytes, expected: str) -> None:
        """Note a line that is left out; the first of a file is shown."""
        self._bad_count += 1
        if self._bad_count == 1:
            self._first_bad = f"{shown(line.decode('utf-8', 'replace'))}: expected {expected}"
        others = f" ({self._bad_count - 1} other lines likewise)" if self._bad_count > 1 else ""
        self._bad = [f"{self._first_bad}: left out{others}"]


def _lines(text: bytes) -> list[bytes]:
    """Return the lines of a recorded text, with their ends."""
    if text.count(b"\\") == text.count(b"\\n"):
        return text.replace(b"\\n", b"\n").splitlines(keepends=True)
    whole = _ESCAPED.sub(lambda found: _MEANING.get(found[1], found[0]), text)
    return [line + b"\n" for line in whole.split(b"\n")[:-1]] + ([last] if (last := whole.rpartition(b"\n")[2]) else [])
