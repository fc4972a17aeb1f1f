"""Figures of a node now, or of the end of a record: runs once through a source's snapshots, host by host."""

from collections.abc import Collection, Iterable

from lnetstat.check.tables import FILES, HostFigures
from lnetstat.errors import SourceError
from lnetstat.model import Sample, Snapshot, Source
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


def look_at_record(source: Source, hosts: Collection[str] | None, last_s: float) -> dict[str, HostFigures]:
    """Return by host what the last `last_s` seconds of a record say, of all hosts or those wanted.

    Raises SourceError where a wanted host is not in it, or where nothing is.
    """
    found = _of_recorded(source, hosts, last_s) if isinstance(source, Recorded) else _of_snapshots(source.snapshots(), hosts, last_s)
    missing = sorted(set(hosts or ()) - found.keys())
    if missing:
        known = ", ".join(getattr(source, "hosts", ())) or ", ".join(found) or "nothing"
        raise SourceError(f"no samples of {', '.join(missing)} in the last {last_s:g} s: the record holds {known}")
    if not any(figures.has_lnet for figures in found.values()):
        raise SourceError("no tables of LNet in it")
    return found


def _of_snapshots(snapshots: Iterable[Snapshot], hosts: Collection[str] | None, last_s: float) -> dict[str, HostFigures]:
    """Take an archive or a captured file: how long it is, only reading tells."""
    kept = [snapshot for snapshot in snapshots if snapshot.name in FILES and (hosts is None or snapshot.host in hosts)]
    end_ns = max((snapshot.time_ns for snapshot in kept), default=0)
    found: dict[str, HostFigures] = {}
    for snapshot in kept:
        if snapshot.time_ns >= end_ns - int(last_s * NS):
            found.setdefault(snapshot.host, HostFigures(snapshot.host)).add(snapshot)
    return found


def _of_recorded(source: Recorded, hosts: Collection[str] | None, last_s: float) -> dict[str, HostFigures]:
    readers: dict[str, _Reader] = {}
    if source.end_ns is not None:
        begin_ns = source.end_ns - int(last_s * NS)
        for change in source.changes(begin_ns=begin_ns, names=FILES, hosts=hosts):
            host = change.snapshot.host
            readers.setdefault(host, _Reader(host)).take(change)
    return {host: reader.figures for host, reader in readers.items()}


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
