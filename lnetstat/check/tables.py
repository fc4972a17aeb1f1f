"""Figures of one host out of its tables, one look or many: the worst of a record, what is down at its end."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lnetstat.check.kinds import BELOW_0, CREDITS, Figure
from lnetstat.check.shares import BelowZero
from lnetstat.model import Sample, Snapshot, State
from lnetstat.tables import samples, table_named
from lnetstat.words import iso

FILES = ("peers", "peers_by_net", "nis", "buffers", "routes", "lnetctl net show")
MOST_NAMED = 5
Key = tuple[str, int]
_READ_BY = {
    "peers": ("peer_credits", "peer_credits_low", "rtr_credits", "rtr_credits_low", "peers_down", "peers_oversubscribed", "queue_bytes"),
    "nis": ("ni_credits", "ni_credits_low", "nis_down"),
    "buffers": ("router_buffers", "router_buffers_low"),
    "routes": ("routes_down",),
    "lnetctl net show": ("ni_health",),
}
_ALWAYS_THERE = ("peers", "nis")  # wherever LNet is loaded
_NONE_HERE = {
    "peers": "no peer that holds credits",
    "nis": "no interface but the loopback",
    "buffers": "no router buffers: this node does not route",
    "routes": "",
    "lnetctl net show": "lnetctl tells no health",
}


class _Worst(NamedTuple):
    value: float
    subject: str
    time_ns: int
    limit: float | None


class _Mark:
    """One kind of credits of many rows: the worst that samples saw, or that marks prove which changed within the record.

    A mark that stays as it was tells of an unknown time before; so it counts as the mark itself (`low`), and not as something that happened
    in the record.
    """

    def __init__(self) -> None:
        self.worst: _Worst | None = None
        self._marks: dict[Key, _Worst] = {}

    def add(self, key: Key, time_ns: int, subject: str, value: float, mark: float, limit: float | None, *, is_windowed: bool) -> None:
        before = self._marks.get(key)
        if self.worst is None or value < self.worst.value:
            self.worst = _Worst(value, subject, time_ns, limit)
        is_fresh = is_windowed or (before is not None and before.value != mark)
        if is_fresh and mark < 0 and mark < self.worst.value:
            self.worst = _Worst(mark, subject, time_ns, limit)
        if before is None or before.value != mark:
            self._marks[key] = _Worst(mark, subject, time_ns, limit)

    def keep(self, keys: Iterable[Key]) -> None:
        """Forget the marks of rows that are gone."""
        gone = self._marks.keys() - set(keys)
        for key in gone:
            del self._marks[key]

    @property
    def low(self) -> _Worst | None:
        return min(self._marks.values(), key=lambda mark: mark.value, default=None)


class HostFigures:
    """Everything a host's snapshots say. Give it each snapshot in the order of time, then ask for the figures."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.last_ns: int | None = None
        self._states: dict[str, Snapshot] = {}
        self._troubles: dict[str, str] = {}
        self._seen: set[str] = set()
        self._marks = {name: _Mark() for name in CREDITS}
        self._below = {name: BelowZero() for name in CREDITS}
        self._peers: dict[Key, Any] = {}
        self._short = self._queue = self._down = 0
        self._most_short: _Worst | None = None
        self._most_queued: _Worst | None = None
        self._of_sums: dict[str, int] | None = None
        self._nis_down: list[str] = []
        self._routes_down: list[str] = []
        self._health: _Worst | None = None
        self._take: dict[str, Callable[[Sample], None]] = {
            "peers": self._take_peers,
            "peers_by_net": self._take_sums,
            "nis": self._take_nis,
            "buffers": self._take_buffers,
            "routes": self._take_routes,
            "lnetctl_net": self._take_health,
        }

    def add(self, snapshot: Snapshot) -> None:
        """Take one snapshot with its text. One that is absent, forbidden or failed gives no figure."""
        self.note(snapshot)
        if snapshot.state not in (State.OK, State.PARTIAL):
            return
        for sample in samples(snapshot):
            take = self._take.get(sample.table)
            if take is None:
                continue
            if sample.state is not State.FAILED:
                self._seen.add(snapshot.name)
                take(sample)
            elif sample.problems:
                line, text, expected = sample.problems[0]
                self._troubles[snapshot.name] = f"line {line}: {text}: expected {expected}"

    def note(self, snapshot: Snapshot) -> None:
        """Take what became of reading a file; nothing of its text."""
        self.last_ns = max(self.last_ns or 0, snapshot.time_ns)
        self._states[snapshot.name] = snapshot._replace(text="")
        self._troubles.pop(snapshot.name, None)

    # ---- peers ----

    def _take_peers(self, sample: Sample) -> None:
        keys = [(row.nid, row.row) for row in sample.rows]
        is_worst_only = "worst" in sample.flags
        for below in (self._below["peer_credits"], self._below["rtr_credits"]):
            below.look()
            below.keep(keys)  # where only the worst rows are listed, the others are not below 0
        if not is_worst_only:
            for key in self._peers.keys() - set(keys):
                self._forget(self._peers.pop(key))
            for mark in (self._marks["peer_credits"], self._marks["rtr_credits"]):
                mark.keep(keys)
        for key, row in zip(keys, sample.rows, strict=True):
            self._put_peer(key, row, sample)
        self._most(sample.time_ns, self._short, self._queue)

    def change_peers(self, rows: Sequence[tuple[Key, Any]], snapshot: Snapshot) -> None:
        """Take rows of `peers` that changed since the snapshot before; all others are as they were."""
        self.note(snapshot)
        self._seen.add("peers")
        for below in (self._below["peer_credits"], self._below["rtr_credits"]):
            below.look()
        for key, row in rows:
            self._put_peer(key, row, snapshot)
        self._most(snapshot.time_ns, self._short, self._queue)

    def _put_peer(self, key: Key, row: Any, origin: Sample | Snapshot) -> None:
        before = self._peers.get(key)
        if before is not None:
            self._forget(before)
        self._peers[key] = row
        self._down += row.state == "down"
        if row.tx_credits_max <= 0:  # routed peers hold no credits
            self._below["peer_credits"].drop(key)
            self._below["rtr_credits"].drop(key)
            return
        self._short += row.tx_credits < 0
        self._queue += row.queue_bytes
        name = f"peer {row.nid}"
        own = {"is_windowed": "low_water_reset" in origin.flags}
        limit = row.tx_credits_max
        self._marks["peer_credits"].add(key, origin.time_ns, name, row.tx_credits, row.tx_credits_min, limit, **own)
        self._marks["rtr_credits"].add(key, origin.time_ns, name, row.rtr_credits, row.rtr_credits_min, None, **own)
        self._below["peer_credits"].put(key, name, row.tx_credits)
        self._below["rtr_credits"].put(key, name, row.rtr_credits)

    def _forget(self, row: Any) -> None:
        self._down -= row.state == "down"
        if row.tx_credits_max > 0:
            self._short -= row.tx_credits < 0
            self._queue -= row.queue_bytes

    def _most(self, time_ns: int, short: int, queue: int) -> None:
        if self._most_short is None or short > self._most_short.value:
            self._most_short = _Worst(short, "", time_ns, None)
        if self._most_queued is None or queue > self._most_queued.value:
            self._most_queued = _Worst(queue, "", time_ns, None)

    def _take_sums(self, sample: Sample) -> None:
        """Take the sums of all peers, beside which `peers` lists the worst rows only."""
        self._of_sums = {"down": sum(row.down for row in sample.rows)}
        self._most(sample.time_ns, sum(row.oversubscribed for row in sample.rows), sum(row.queue_bytes for row in sample.rows))

    # ---- the others ----

    def _take_nis(self, sample: Sample) -> None:
        mark, below = self._marks["ni_credits"], self._below["ni_credits"]
        keys = [(row.nid, row.row) for row in sample.rows]
        mark.keep(keys)
        below.look()
        below.keep(keys)
        windowed = "low_water_reset" in sample.flags
        for row in sample.rows:
            if row.tx_credits_max > 0:
                name = f"NI {row.nid} on CPT {row.row}"
                values = (row.tx_credits, row.tx_credits_min, row.tx_credits_max)
                mark.add((row.nid, row.row), sample.time_ns, name, *values, is_windowed=windowed)
                below.put((row.nid, row.row), name, row.tx_credits)
        self._nis_down = sorted({row.nid for row in sample.rows if row.status == "down"})

    def _take_buffers(self, sample: Sample) -> None:
        mark, below = self._marks["router_buffers"], self._below["router_buffers"]
        keys = [(row.pool, row.row) for row in sample.rows]
        mark.keep(keys)
        below.look()
        below.keep(keys)
        for row in sample.rows:
            if row.count > 0:
                name = f"{row.pool} buffers on CPT {row.row}, {row.count} in all"
                share, low = 100 * row.credits / row.count, 100 * row.credits_min / row.count
                mark.add((row.pool, row.row), sample.time_ns, name, share, low, 100.0, is_windowed=False)
                below.put((row.pool, row.row), name, row.credits)

    def _take_routes(self, sample: Sample) -> None:
        self._routes_down = sorted({f"{row.net} via {row.router}" for row in sample.rows if row.state == "down"})

    def _take_health(self, sample: Sample) -> None:
        known = [row for row in sample.rows if row.nid and not row.nid.endswith("@lo") and row.health_value is not None]
        worst = min(known, key=lambda row: row.health_value, default=None)
        self._health = None if worst is None else _Worst(worst.health_value, f"NI {worst.nid}", sample.time_ns, 1000)

    # ---- what came of it ----

    def figures(self, *, is_record: bool) -> Iterator[Figure]:
        """Yield a figure for each kind. `is_record`: there are several looks, and when the worst was is told."""
        self._is_record = is_record
        found: dict[str, _Worst | None] = {
            **{name: mark.worst for name, mark in self._marks.items()},
            **{f"{name}_low": mark.low for name, mark in self._marks.items()},
            "peers_oversubscribed": self._most_short,
            "queue_bytes": self._most_queued,
            "ni_health": self._health,
        }
        down = self._down if self._of_sums is None else max(self._down, self._of_sums["down"])
        named = [row.nid for row in self._peers.values() if row.state == "down"]
        lists = {"peers_down": (down, named), "nis_down": (len(self._nis_down), self._nis_down)}
        lists["routes_down"] = (len(self._routes_down), self._routes_down)
        for file, names in _READ_BY.items():
            for name in names:
                figure = self._figure(name, file, found.get(name), lists.get(name))
                yield figure
                if name in CREDITS and is_record:
                    yield self._share(figure)

    def _figure(self, name: str, file: str, worst: _Worst | None, listed: tuple[int, list[str]] | None) -> Figure:
        state = self._states.get(file)
        unread = self._unread(file)
        if unread and file not in self._seen:
            return Figure(name, self.host, None, why=unread, unread=True)
        if state is None and self._is_record:
            return Figure(name, self.host, None, why=f"no sample of {file} in this time", unread=file in _ALWAYS_THERE)
        if state is None or file not in self._seen:
            return Figure(name, self.host, None, why=_NONE_HERE[file] or f"no {file}")
        if unread and name.endswith("_down"):  # what is down now is not known where it could not be read at the end
            return Figure(name, self.host, None, why=unread, unread=True)
        if listed is not None:
            count, subjects = listed
            more = f" and {count - MOST_NAMED} more" if count > MOST_NAMED and subjects else ""
            return Figure(name, self.host, count, ", ".join(subjects[:MOST_NAMED]) + more)
        if worst is None:
            return Figure(name, self.host, None, why=_NONE_HERE[file])
        words = worst.subject
        if name.endswith("_low"):
            words += ", since its mark was reset"
        elif self._is_record and worst.subject and name != "ni_health":
            words += f", at {iso(worst.time_ns)}"
        return Figure(name, self.host, worst.value, words, worst.limit)

    def _share(self, figure: Figure) -> Figure:
        """Return for how much of the time the credits were below 0 of which a figure tells the worst moment; without a moment no share."""
        share = self._below[figure.name].worst
        name = figure.name + BELOW_0
        if figure.value is None or share is None:
            return figure._replace(name=name, value=None, words="", limit=None)
        return Figure(name, self.host, share.percent, share.words, 100.0)

    def _unread(self, file: str) -> str:
        """Return why a file could not be read at the last look, empty where it was, or where the node has no such file."""
        snapshot = self._states.get(file)
        if snapshot is None or (snapshot.state is State.ABSENT and file not in self._seen):
            return ""
        if snapshot.state is State.ABSENT:
            return f"{file}: was there and is gone: was LNet unloaded?"
        if snapshot.state in (State.FORBIDDEN, State.FAILED):
            advice = ": run as root" if snapshot.state is State.FORBIDDEN else ""
            return f"{file}: {os.strerror(snapshot.errno or errno.EIO)}{advice}"
        return f"{file}: {self._troubles[file]}" if file in self._troubles else ""

    @property
    def has_lnet(self) -> bool:
        """Whether any table of LNet was there to be read."""
        return any(snapshot.state is not State.ABSENT for name, snapshot in self._states.items() if name in FILES)


def paths_of(names: Iterable[str]) -> list[str]:
    """Return where a node has these tables, below its root."""
    return [path for name in names if (table := table_named(name)) for path in table.paths]
