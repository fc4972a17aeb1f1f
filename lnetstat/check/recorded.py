"""Figures of a node now, or of the end of a record: runs once through a source's snapshots, host by host."""

from collections.abc import Collection
from typing import NamedTuple

from lnetstat.check.tables import FILES, HostFigures
from lnetstat.errors import SourceError
from lnetstat.model import Sample, Source
from lnetstat.recording.body import Change
from lnetstat.sources.collectl import Recorded
from lnetstat.sources.live import LiveSource
from lnetstat.tables import samples
from lnetstat.tables.peers import PeersRow

NS = 1_000_000_000


def look_at_node(root: str, *, deadline_s: float) -> HostFigures:
    """Return what a node says now. Raises SourceError where `root` is no folder; what cannot be read is in the figures."""
    source = LiveSource(root, names=FILES, deadline_s=deadline_s)
    try:
        figures = HostFigures(source.host)
        for snapshot in source.snapshots():
            figures.add(snapshot)
        return figures
    finally:
        source.close()


class Looked(NamedTuple):
    """What a record says. `figures`: by host, of its last `last_s` seconds; `silent_ns`: when hosts that say nothing there were heard last,
    `other_ns`: the same of hosts that do, but of nothing of LNet."""

    figures: dict[str, HostFigures]
    silent_ns: dict[str, int]
    other_ns: dict[str, int]


def look_at_record(source: Source, hosts: Collection[str] | None, last_s: float, forget_s: float) -> Looked:
    """Return what the end of a record says of all hosts or those wanted; hosts that were not heard of for `forget_s` count as removed.

    Raises SourceError where a wanted host is not in it, or where nothing is.
    """
    window = hosts, last_s, max(last_s, forget_s)
    found = _of_recorded(source, *window) if isinstance(source, Recorded) else _of_snapshots(source, *window)
    missing = sorted(set(hosts or ()) - found.figures.keys() - found.silent_ns.keys() - found.other_ns.keys())
    if missing:
        known = ", ".join(getattr(source, "hosts", ())) or ", ".join(found.figures) or "nothing"
        raise SourceError(f"no samples of {', '.join(missing)} in the last {window[-1]:g} s: the record holds {known}")
    if not found.silent_ns and not any(figures.has_lnet for figures in found.figures.values()):
        raise SourceError("no tables of LNet in it")
    return found


def _of_snapshots(source: Source, hosts: Collection[str] | None, last_s: float, forget_s: float) -> Looked:
    """Take an archive or a captured file: how long it is, only reading tells."""
    read = [snapshot for snapshot in source.snapshots() if hosts is None or snapshot.host in hosts]
    end_ns = max((snapshot.time_ns for snapshot in read), default=0)
    begin_ns = end_ns - int(last_s * NS)
    figures: dict[str, HostFigures] = {}
    heard: dict[str, int] = {}
    for snapshot in read:
        heard[snapshot.host] = max(heard.get(snapshot.host, 0), snapshot.time_ns)
        if snapshot.name in FILES and snapshot.time_ns >= begin_ns:
            figures.setdefault(snapshot.host, HostFigures(snapshot.host)).add(snapshot)
    known = {host: last_ns for host, last_ns in heard.items() if last_ns >= end_ns - int(forget_s * NS)}
    return _sorted_out(figures, known, begin_ns)


def _of_recorded(source: Recorded, hosts: Collection[str] | None, last_s: float, forget_s: float) -> Looked:
    end_ns = source.end_ns
    if end_ns is None:
        return Looked({}, {}, {})
    readers: dict[str, _Reader] = {}
    begin_ns = end_ns - int(last_s * NS)
    for change in source.changes(begin_ns=begin_ns, names=FILES, hosts=hosts):
        host = change.snapshot.host
        readers.setdefault(host, _Reader(host)).take(change)
    others = [host for host in source.hosts if host not in readers and (hosts is None or host in hosts)]
    heard = {host: _last_ns(source, host, end_ns, last_s, forget_s) for host in others}
    known = {host: last_ns for host, last_ns in heard.items() if last_ns is not None}
    return _sorted_out({host: reader.figures for host, reader in readers.items()}, known, begin_ns)


def _last_ns(source: Recorded, host: str, end_ns: int, last_s: float, forget_s: float) -> int | None:
    """Return the last stamp of a host, None without one in `forget_s`. Looks twice as far back each time: most are silent for minutes."""
    back_s = last_s
    while True:
        stamps = (change.snapshot.time_ns for change in source.changes(begin_ns=end_ns - int(back_s * NS), hosts=(host,)))
        last_ns = max(stamps, default=None)
        if last_ns is not None or back_s >= forget_s:
            return last_ns
        back_s = min(2 * back_s, forget_s)


def _sorted_out(figures: dict[str, HostFigures], heard: dict[str, int], begin_ns: int) -> Looked:
    rest = {host: last_ns for host, last_ns in heard.items() if host not in figures}
    silent = {host: last_ns for host, last_ns in rest.items() if last_ns < begin_ns}
    return Looked(figures, silent, {host: last_ns for host, last_ns in rest.items() if host not in silent})


class _Reader:
    """One host of a recording: of `peers`, which is long, only the lines that changed are parsed."""

    def __init__(self, host: str) -> None:
        self.figures = HostFigures(host)
        self._keys: list[tuple[str, int]] = []  # by line, the header left out

    def take(self, change: Change) -> None:
        snapshot = change.snapshot
        if snapshot.name != "peers" or "worst" in snapshot.flags:
            self.figures.add(snapshot._replace(text=change.text()))
            return
        changed = self._changed_rows(change)
        if changed is not None:
            self.figures.change_peers(changed, snapshot)
            return
        whole = snapshot._replace(text=change.text())
        self.figures.add(whole)
        self._keys = []
        read = list(samples(whole))
        if len(read) == 1 and read[0].table == "peers" and len(read[0].rows) == len(change.lines) - 1:
            self._keys = [(row.nid, row.row) for row in read[0].rows]

    def _changed_rows(self, change: Change) -> list[tuple[tuple[str, int], PeersRow]] | None:
        """Return the rows that changed, None where the whole text must be read."""
        positions = change.changed
        if positions is None or len(change.lines) != len(self._keys) + 1 or 0 in positions:
            return None
        if not positions:
            return []
        text = b"".join([change.lines[0], *(change.lines[at] for at in positions)]).decode("utf-8", "surrogateescape")
        read: list[Sample] = list(samples(change.snapshot._replace(text=text)))
        if len(read) != 1 or len(read[0].rows) != len(positions):
            return None
        keys = [self._keys[at - 1] for at in positions]
        if any(row.nid != nid for row, (nid, _) in zip(read[0].rows, keys, strict=True)):
            return None
        return list(zip(keys, read[0].rows, strict=True))
