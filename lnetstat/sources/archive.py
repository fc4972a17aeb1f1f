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
from lnetstat.sources._complaints import complaint_of
from lnetstat.sources._hosts import Hosts, host_file_base
from lnetstat.sources._index import IndexRow, parse_index
from lnetstat.sources._members import (
    COPY_ADVICE,
    FOLDER_LINK,
    HARD_LINK,
    LINK,
    Container,
    Content,
    Member,
    Wanted,
    contents,
    survey,
    unpacked_head,
)
from lnetstat.sources._names import archive_stem, place, plain_name
from lnetstat.sources._stamps import DAY_NS, SECOND_NS, YEARS, find_stamp, is_credible
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
        self._unusable: dict[str, list[str]] = {}
        self._yielded: tuple[Snapshot, str] | None = None
        drafts = [draft for member in survey(path, self.problems, self._pass_over) if (draft := self._draft(member))]
        self._entries = self._plan(drafts + self._without_file(drafts))
        self.problems += _lines(self._unusable)
        self.notes += _lines(self._uncertain)
        if not self._entries:
            raise SourceError(self._nothing())
        self.hosts = tuple(sorted({entry.host for entry in self._entries}))
        self.begin_ns, self.end_ns = self._entries[0].time_ns, self._entries[-1].time_ns
        self._indexes.clear()

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield all snapshots by time. Memory holds one file at a time, or 64 MiB where a tar file is not in the order of time."""
        wanted: dict[Container, list[Wanted]] = {}
        for entry in self._entries:
            if entry.draft.container:
                wanted.setdefault(entry.draft.container, []).append(entry.draft.wanted)
        readers = {container: contents(container, files) for container, files in wanted.items()}
        for entry in self._entries:
            content = next(readers[entry.draft.container]) if entry.draft.container else Content(b"")
            snapshot = self._snapshot(entry, content)
            self._yielded = snapshot, self._shown(entry.draft.parts)
            yield snapshot

    def where(self, snapshot: Snapshot) -> str:
        """Return the path inside the archive of the snapshot that was yielded last, "" for any other."""
        if self._yielded is None or self._yielded[0][:3] != snapshot[:3]:
            return ""
        return self._yielded[1]

    def _draft(self, member: Member) -> _Draft | None:
        """Take note of one file; None when it is no snapshot."""
        try:
            return self._draft_of_file(member)
        except OSError as error:
            words = f"cannot be read: {_reason(error.errno or errno.EIO)}"
            if member.parts[-1] == INDEX:
                self._reject(words, member.parts)
            else:
                self._note(words, member.parts)
            self.ignored += 1
            return None

    def _pass_over(self, parts: tuple[str, ...], kind: str) -> None:
        """Take note of what is neither a file nor a folder, where one of ours was to be expected."""
        if kind == FOLDER_LINK:
            self._note("is a link to a folder: not followed", parts)
            return
        found = place(parts)
        if not (parts[-1] == INDEX or archive_stem(parts[-1]) or (found and found.name)):
            return
        if kind == LINK:
            self._note("is a link: not followed", parts)
        else:
            advice = "copy it as a file of its own" if kind == HARD_LINK else "expected a file"
            self._reject(f"is {kind}: left out: {advice}", parts)

    def _draft_of_file(self, member: Member) -> _Draft | None:
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
        return sorted(entry for order, draft in enumerate(drafts) if (entry := self._entry(order, draft)))

    def _entry(self, order: int, draft: _Draft) -> _Entry | None:
        """Return the planned snapshot; None where no time can be found for it."""
        row = self._row_of(draft.parts)
        if row:
            time_ns, resolution_ns = row.time_ns, MICROSECOND_NS
        else:
            found = self._time_of_path(draft)
            if found is None:
                return None
            time_ns, resolution_ns = found
            if draft.wanted.size == 0 and draft.name in LNET_TABLES:
                self._note("is empty, which no kernel prints: rsync and tar store nothing of debugfs files, cat does", draft.parts)
        self.uncertainty_s = max(self.uncertainty_s, resolution_ns / SECOND_NS)
        return _Entry(time_ns, order, draft, self._hosts.host_of(draft.parts, draft.base), row)

    def _row_of(self, parts: tuple[str, ...]) -> IndexRow | None:
        rows = self._indexes.get(parts[:-2])
        return rows.get((parts[-2], parts[-1])) if rows else None

    def _time_of_path(self, draft: _Draft) -> tuple[int, int] | None:
        """Return the time of a file that no index names, and how exact it is, both in nanoseconds; None where none is credible."""
        stamp = next((stamp for part in reversed(draft.parts) if (stamp := find_stamp(part))), None)
        if stamp is None or not is_credible(stamp.time_ns):
            if not is_credible(draft.mtime_ns):
                self._reject(f"has no time stamp in its path and was modified outside {YEARS}: left out", draft.parts)
                return None
            if stamp is None:
                self._note("has no time stamp in its path: its modification time is used", draft.parts)
            else:
                self._reject(f"has a time stamp outside {YEARS} in its path: its modification time is used", draft.parts)
            return draft.mtime_ns, SECOND_NS
        if not stamp.zone_known and stamp.resolution_ns < DAY_NS:
            self._note("has a time stamp without time zone: taken as UTC", draft.parts)
        slack_ns = FARTHEST_ZONE_NS if not stamp.zone_known else 0
        inside = -slack_ns <= draft.mtime_ns - stamp.time_ns < stamp.resolution_ns + slack_ns
        if stamp.resolution_ns >= DAY_NS and inside:
            return draft.mtime_ns, SECOND_NS  # a sosreport names the day only, but its files keep their times
        return stamp.time_ns, stamp.resolution_ns

    def _snapshot(self, entry: _Entry, content: Content) -> Snapshot:
        number = entry.row.errno if entry.row else 0
        flags: frozenset[str] = frozenset()
        if content.errno:
            self.problems.append(f"{self._shown(entry.draft.parts)}: {_reason(content.errno)}: left out")
            number = content.errno
        elif entry.row and entry.draft.container and len(content.data) != entry.row.size:
            flags = frozenset({"torn"})
        state = State.PARTIAL if number == errno.ESTALE else state_of(number)
        read_ns = entry.row.read_ns if entry.row else 0
        text = content.data.decode("utf-8", "surrogateescape")
        if number == 0 and (said := complaint_of(text)):
            number, state, text = said, state_of(said), ""
        return Snapshot(entry.draft.name, entry.host, entry.time_ns, None, read_ns, state, number, flags, text)

    def _note(self, words: str, parts: tuple[str, ...]) -> None:
        self._uncertain.setdefault(words, []).append(self._shown(parts))

    def _reject(self, words: str, parts: tuple[str, ...]) -> None:
        self._unusable.setdefault(words, []).append(self._shown(parts))

    def _shown(self, parts: tuple[str, ...]) -> str:
        """Return a member's path below the archive, printable."""
        shown = "/".join(parts[len(os.path.abspath(self.path).strip("/").split("/")) - 1 :])
        return shown if shown.isprintable() else ascii(shown)

    def _nothing(self) -> str:
        first = f": {self.problems[0]}" if self.problems else ""
        return f"{self.path}: no LNet or Lustre text found in {self.ignored} files{first}: expected peers, nis, *.stats, lnetctl_*.yaml, …"


def _lines(files_by_words: dict[str, list[str]]) -> list[str]:
    """Return one line for each thing to say, with the first file that it is true of."""
    return [
        f"{files[0]} {words}" + (f" ({len(files) - 1} others likewise)" if len(files) > 1 else "")
        for words, files in files_by_words.items()
    ]


def _reason(number: int) -> str:
    """Return why a file could not be read, and what to do."""
    if number in (errno.EACCES, errno.EPERM):
        return f"{os.strerror(number)}: {COPY_ADVICE}"
    return "damaged or larger than 64 MiB" if number == errno.EIO else os.strerror(number)
