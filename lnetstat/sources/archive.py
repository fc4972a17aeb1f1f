"""Read captured text: a folder, a tar, a tar.gz, a sosreport, a scenario with several nodes. Nothing is unpacked to disk.

The archive is gone through twice: once for names, times and hosts, then for the text, in the order of time. When: INDEX.tsv where there is
one, else the nearest time stamp in the path, else the file's modification time. Who: the host that was asked for, else the sosreport's
name, else a file `uname` or `hostname`, else the folder above the stamp.
"""

import errno
import os
from collections.abc import Iterator
from typing import NamedTuple

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot, State
from lnetstat.sources._hosts import Hosts, host_file_base
from lnetstat.sources._index import IndexRow, parse_index
from lnetstat.sources._members import Container, Member, Wanted, contents, survey, unpacked_head
from lnetstat.sources._names import place, plain_name
from lnetstat.sources._stamps import DAY_NS, SECOND_NS, find_stamp
from lnetstat.sources.node import LNET_TABLES
from lnetstat.sources.reading import state_of
from lnetstat.tables import table_looking_like, table_named
from lnetstat.tables._split import split

INDEX = "INDEX.tsv"
INDEX_BYTES_MAX = 64 << 20
HEAD_BYTES = 4096
MICROSECOND_NS = 1000
FARTHEST_ZONE_NS = 14 * 3600 * SECOND_NS


class _Draft(NamedTuple):
    """A file that will be a snapshot: where it lies, and what its path tells."""

    container: Container | None  # None: known from INDEX.tsv only
    wanted: Wanted
    parts: tuple[str, ...]
    base: int
    name: str
    mtime_ns: int


class _Entry(NamedTuple):
    """A planned snapshot; entries sort by time."""

    time_ns: int
    order: int
    draft: _Draft
    host: str
    row: IndexRow | None


class ArchiveSource:
    """The snapshots of an archive, in the order of time.

    `hosts`, `begin_ns`, `end_ns`: what it holds; `uncertainty_s`: the coarsest resolution of its time stamps, in seconds; `problems`: what
    could not be read, `notes`: what is not certain, one line each; `ignored`: how many files were something else. Raises SourceError when
    there is nothing to read.
    """

    def __init__(self, path: str, host: str | None = None) -> None:
        """`host` replaces what the archive says; for archives of one node."""
        self.path = path
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.ignored = 0
        self.uncertainty_s = 0.0
        self._host = host
        self._hosts = Hosts()
        self._indexes: dict[tuple[str, ...], dict[tuple[str, str], IndexRow]] = {}
        self._uncertain: dict[str, list[str]] = {}
        drafts = [draft for member in survey(path, self.problems) if (draft := self._draft(member))]
        self._entries = self._plan(drafts + self._without_file(drafts))
        if not self._entries:
            raise SourceError(self._nothing())
        self.hosts = tuple(sorted({entry.host for entry in self._entries}))
        self.begin_ns, self.end_ns = self._entries[0].time_ns, self._entries[-1].time_ns
        self._tell_notes()
        self._indexes.clear()

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield all snapshots by time. Memory holds one file at a time, or 64 MiB where a tar file is not in the order of time."""
        wanted: dict[Container, list[Wanted]] = {}
        for entry in self._entries:
            if entry.draft.container:
                wanted.setdefault(entry.draft.container, []).append(entry.draft.wanted)
        readers = {container: contents(container, files) for container, files in wanted.items()}
        for entry in self._entries:
            data = next(readers[entry.draft.container], None) if entry.draft.container else b""
            yield self._snapshot(entry, data)

    def _draft(self, member: Member) -> _Draft | None:
        """Take note of one file; None when it is no snapshot."""
        last = member.parts[-1]
        if last == INDEX:
            text = member.read(INDEX_BYTES_MAX).decode("utf-8", "replace")
            self._indexes[member.parts[:-1]] = parse_index(text, self._shown(member.parts), self.problems)
            return None
        host_base = host_file_base(member.parts)
        if host_base is not None:
            self._hosts.learn(member.parts, host_base, member.read(HEAD_BYTES).decode("utf-8", "replace"))
            return None
        found = place(member.parts)
        name = found and (found.name or self._name_by_text(member))
        if not found or not name:
            self.ignored += 1
            return None
        wanted = Wanted(member.number, member.file, member.size, last.endswith(".gz"))
        return _Draft(member.container, wanted, member.parts, found.base, name, member.mtime_ns)

    def _name_by_text(self, member: Member) -> str | None:
        """Return the file's own name when its text begins like a table, None otherwise."""
        name = plain_name(member.parts[-1])
        head = unpacked_head(member.read(HEAD_BYTES), member.parts[-1].endswith(".gz"))
        if not head or b"\0" in head:
            return None
        for inner_name, text in split(name, head.decode("utf-8", "surrogateescape")):
            if table_named(inner_name) or table_looking_like(text):
                return name
        return None

    def _without_file(self, drafts: list[_Draft]) -> list[_Draft]:
        """Return drafts for reads that failed and left no file: only INDEX.tsv knows of them."""
        present = {draft.parts for draft in drafts}
        missing: list[_Draft] = []
        for folder, rows in self._indexes.items():
            for (utc_dir, file), row in rows.items():
                parts = (*folder, utc_dir, file)
                found = place(parts) if row.errno and parts not in present else None
                if found and found.name:
                    missing.append(_Draft(None, Wanted(0, "", 0, False), parts, found.base, found.name, 0))
        return missing

    def _plan(self, drafts: list[_Draft]) -> list[_Entry]:
        self._hosts.settle(self._host)
        return sorted(self._entry(order, draft) for order, draft in enumerate(drafts))

    def _entry(self, order: int, draft: _Draft) -> _Entry:
        row = self._row_of(draft.parts)
        if row:
            time_ns, resolution_ns = row.time_ns, MICROSECOND_NS
        else:
            time_ns, resolution_ns = self._time_of_path(draft)
            if draft.wanted.size == 0 and draft.name in LNET_TABLES:
                self._note("is empty, which no kernel prints: rsync and tar store nothing of debugfs files, cat does", draft)
        self.uncertainty_s = max(self.uncertainty_s, resolution_ns / SECOND_NS)
        return _Entry(time_ns, order, draft, self._hosts.host_of(draft.parts, draft.base), row)

    def _row_of(self, parts: tuple[str, ...]) -> IndexRow | None:
        rows = self._indexes.get(parts[:-2])
        return rows.get((parts[-2], parts[-1])) if rows else None

    def _time_of_path(self, draft: _Draft) -> tuple[int, int]:
        """Return the time of a file that no index names, and how exact it is, both in nanoseconds."""
        stamp = next((stamp for part in reversed(draft.parts) if (stamp := find_stamp(part))), None)
        if stamp is None:
            self._note("has no time stamp in its path: its modification time is used", draft)
            return draft.mtime_ns, SECOND_NS
        if not stamp.zone_known and stamp.resolution_ns < DAY_NS:
            self._note("has a time stamp without time zone: taken as UTC", draft)
        slack_ns = FARTHEST_ZONE_NS if not stamp.zone_known else 0
        inside = -slack_ns <= draft.mtime_ns - stamp.time_ns < stamp.resolution_ns + slack_ns
        if stamp.resolution_ns >= DAY_NS and inside:
            return draft.mtime_ns, SECOND_NS  # a sosreport names the day only, but its files keep their times
        return stamp.time_ns, stamp.resolution_ns

    def _snapshot(self, entry: _Entry, data: bytes | None) -> Snapshot:
        number = entry.row.errno if entry.row else 0
        flags: frozenset[str] = frozenset()
        if data is None:
            self.problems.append(f"{self._shown(entry.draft.parts)}: damaged or larger than 64 MiB: left out")
            number, data = errno.EIO, b""
        elif entry.row and entry.draft.container and len(data) != entry.row.size:
            flags = frozenset({"torn"})
        state = State.PARTIAL if number == errno.ESTALE else state_of(number)
        read_ns = entry.row.read_ns if entry.row else 0
        text = data.decode("utf-8", "surrogateescape")
        return Snapshot(entry.draft.name, entry.host, entry.time_ns, None, read_ns, state, number, flags, text)

    def _note(self, words: str, draft: _Draft) -> None:
        self._uncertain.setdefault(words, []).append(self._shown(draft.parts))

    def _tell_notes(self) -> None:
        for words, files in self._uncertain.items():
            others = f" ({len(files) - 1} others likewise)" if len(files) > 1 else ""
            self.notes.append(f"{files[0]} {words}{others}")

    def _shown(self, parts: tuple[str, ...]) -> str:
        """Return a member's path below the archive, printable."""
        shown = "/".join(parts[len(os.path.abspath(self.path).strip("/").split("/")) - 1 :])
        return shown if shown.isprintable() else ascii(shown)

    def _nothing(self) -> str:
        first = f": {self.problems[0]}" if self.problems else ""
        return f"{self.path}: no LNet or Lustre text found in {self.ignored} files{first}: expected peers, nis, *.stats, lnetctl_*.yaml, …"
