"""One node's snapshots to points: what a whole second of samples becomes, in at most `series_max` series."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from lnetstat.model import Point, Reduce, Sample, Snapshot, State
from lnetstat.reduce.families import FAMILIES, Values, peers_values
from lnetstat.reduce.health import health_values
from lnetstat.reduce.metrics import METRICS, PREFIX, SERIES_MAX, metric_of, needs_whole_scan
from lnetstat.reduce.paths import host_node, net_node, nid_node
from lnetstat.reduce.peers import PeersStream, TopPeer, totals, worst
from lnetstat.reduce.top import TopPeers
from lnetstat.tables import samples, table_named

TOP_REDUCE = {m.pattern.rpartition(".")[2]: m.reduce for m in METRICS if ".top." in m.pattern}
TOP_SERIES = len(TOP_REDUCE)
TOP_LEAVES = ("tx_credits", "tx_credits_min", "rtr_credits", "rtr_credits_min", "queue_bytes")
SAME_TEXT_MAX = 65_536  # longer texts are not kept for comparison
TOP_NODES = 5  # peers.NET.top.NID.tx_credits
NS = 1_000_000_000
_TOP_REDUCTIONS = tuple(TOP_REDUCE[leaf] for leaf in TOP_LEAVES)
_POINT = partial(tuple.__new__, Point)  # a Point of a tuple, without a call of Python for each


class Reducer:
    """Give it every snapshot of one host; take the points of each second that is over.

    `series`: how many different paths it has sent; `refused`: how many it has not, because of `series_max`; `errors`: snapshots that could
    not be read, or lines that could not be parsed; `problems`: by snapshot name, what could not be parsed in the latest one.
    """

    def __init__(self, host: str, *, prefix: str = PREFIX, series_max: int = SERIES_MAX) -> None:
        self._base = f"{prefix}.{host_node(host)}."
        self._stream = PeersStream()
        self._top = TopPeers()
        self._seconds: dict[int, _Second] = {}
        self._reduce: dict[str, Reduce] = {}
        self._refused: set[str] = set()
        self._others_max = max(0, series_max - 2 * self._top.count * TOP_SERIES)
        self._top_max = series_max - self._others_max
        self._others = 0
        self._same: dict[str, _Same] = {}
        self._peers_values: list[tuple[str, float]] = []
        self.errors = 0
        self.problems: dict[str, str] = {}

    @property
    def series(self) -> int:
        """How many different paths have been sent, the top peers' counted as they are now."""
        return self._others + min(self._top_max, TOP_SERIES * len(self._top.nids))

    @property
    def refused(self) -> int:
        """How many different paths were not sent because of the limit."""
        return len(self._refused)

    def add(self, snapshot: Snapshot) -> None:
        """Take one snapshot into its second. A file that is absent, forbidden or failed gives no value: a gap, not a zero.

        One whose scan broke off gives its rows and the worst values of what was read, but no numbers and sums of rows.
        """
        second = snapshot.time_ns // NS
        self.errors += snapshot.state not in (State.OK, State.ABSENT)
        if snapshot.state not in (State.OK, State.PARTIAL):
            return
        same = self._same.get(snapshot.name)
        if same is not None and same.text == snapshot.text:
            self.errors += same.errors
            self._put_of(snapshot, same.values)
            return
        self.problems.pop(snapshot.name, None)
        table = table_named(snapshot.name)
        name = table.name if table else ""
        if name == "peers":
            self._add_peers(snapshot, second)
            return
        errors = self.errors
        values = list(self._values_of(snapshot, name))
        self._put_of(snapshot, values)
        if len(snapshot.text) <= SAME_TEXT_MAX:
            self._same[snapshot.name] = _Same(snapshot.text, values, self.errors - errors)

    def _values_of(self, snapshot: Snapshot, table: str) -> Values:
        if table.startswith("lnetctl_"):
            yield from health_values(snapshot.text) if table == "lnetctl_net" else ()
            return
        for sample in samples(snapshot):
            self._note(snapshot.name, sample)
            family = FAMILIES.get(sample.table)
            if family is not None and sample.state is not State.FAILED:
                yield from family(sample)

    def _add_peers(self, snapshot: Snapshot, second: int) -> None:
        """Take the rows of peers. Where these are the worst only, the sums of all stand in `peers_by_net`."""
        is_whole = "worst" not in snapshot.flags
        if self._stream.update(snapshot.text):
            if self._stream.changed:
                self._peers_values = list(peers_values(self._stream.totals()))
            if is_whole:
                self._put_of(snapshot, self._peers_values)
            lowest = self._stream.worst(self._top.count)
            self._top.update([peer.nid for peer in lowest], second)
            left = self._top.nids - {peer.nid for peer in lowest}
            self._put_top(second, [*lowest, *(self._stream.peers(left) if left else ())])
            return
        for sample in samples(snapshot):
            self._note(snapshot.name, sample)
            if sample.table == "peers" and sample.state is not State.FAILED:
                if is_whole:
                    self._put_of(snapshot, peers_values(totals(sample.rows)))
                lowest = worst(sample.rows, self._top.count)
                self._top.update([peer.nid for peer in lowest], second)
                self._put_top(second, _peers_of(sample, self._top.nids))

    def _note(self, name: str, sample: Sample) -> None:
        self.errors += len(sample.problems)
        if sample.problems:
            line, text, expected = sample.problems[0]
            others = f" ({len(sample.problems) - 1} other lines likewise)" if len(sample.problems) > 1 else ""
            self.problems[name] = f"line {line}: {text}: expected {expected}{others}"

    def _put_top(self, second: int, peers: Iterable[TopPeer]) -> None:
        nids, tops = self._top.nids, self._second(second).tops
        for peer in peers:
            if peer.nid in nids:
                values = (peer.tx_credits, peer.tx_credits_min, peer.rtr_credits, peer.rtr_credits_min, -peer.queue_negative)
                before = tops.get(peer.nid)
                tops[peer.nid] = values if before is None else tuple(map(_joined, _TOP_REDUCTIONS, before, values))

    def put(self, time_ns: int, values: Iterable[tuple[str, float]]) -> None:
        """Take values of the caller's own, such as self.*: (path below PREFIX.HOST, value) pairs."""
        self._put(time_ns // NS, values)

    def _put_of(self, snapshot: Snapshot, values: Iterable[tuple[str, float]]) -> None:
        if snapshot.state is State.PARTIAL:
            values = [(path, value) for path, value in values if not needs_whole_scan(path)]
        self._put(snapshot.time_ns // NS, values)

    def _put(self, second: int, values: Iterable[tuple[str, float]]) -> None:
        bucket, counts = self._second(second)[:2]
        reductions = self._reduce.get
        for path, value in values:
            reduce = reductions(path) or self._admit(path)
            if reduce is None:
                continue
            if path not in bucket:
                bucket[path] = value
                continue
            bucket[path] = _joined(reduce, bucket[path], value)
            if reduce is Reduce.MEAN_MAX:
                counts[path] = counts.get(path, 1) + 1

    def _second(self, second: int) -> "_Second":
        found = self._seconds.get(second)
        if found is None:
            found = self._seconds[second] = _Second({}, {}, {})
        return found

    def _admit(self, path: str) -> Reduce | None:
        """Return how a new path is reduced, or None beyond the limit. The top peers have a share of their own, bounded by TopPeers."""
        nodes = path.split(".")
        if len(nodes) == TOP_NODES and nodes[2] == "top":  # a net may be called top
            return TOP_REDUCE[nodes[-1]]
        metric = metric_of(path)
        if metric is None:
            raise ValueError(f"metric {path} is not in METRICS")
        if self._others >= self._others_max:
            self._refused.add(path)
            return None
        self._others += 1
        self._reduce[path] = metric.reduce
        return metric.reduce

    def points(self, before_s: int | None = None) -> list[Point]:
        """Return and forget the points of all seconds before `before_s` (None: of all), oldest first."""
        done = sorted(second for second in self._seconds if before_s is None or second < before_s)
        return [point for second in done for point in self._points_of(second, self._seconds.pop(second))]

    def _points_of(self, second: int, bucket: "_Second") -> Iterator[Point]:
        values, base = bucket.values, self._base
        for path, count in bucket.counts.items():
            values[path] /= count
        rows = [(base + path, value, second) for path, value in values.items()]
        for nid, figures in bucket.tops.items():
            top = f"{base}peers.{net_node(nid.rpartition('@')[2])}.top.{nid_node(nid)}."
            rows += [(top + leaf, value, second) for leaf, value in zip(TOP_LEAVES, figures, strict=True)]
        return map(_POINT, rows)


class _Same(NamedTuple):
    """A text and what came of it: many files say the same from one second to the next."""

    text: str
    values: list[tuple[str, float]]
    errors: int


class _Second(NamedTuple):
    """What one second holds so far.

    `values`: by path, where the mean is wanted their sum; `counts`: how many went into a sum, where there is more than one; `tops`: by
    NID, in the order of TOP_LEAVES.
    """

    values: dict[str, float]
    counts: dict[str, int]
    tops: dict[str, tuple[float, ...]]


def _joined(reduce: Reduce, before: float, value: float) -> float:
    """Return what two values of one second become; where the mean is wanted, their sum."""
    if reduce is Reduce.MIN:
        return min(before, value)
    if reduce is Reduce.MAX:
        return max(before, value)
    return before + value if reduce is Reduce.MEAN_MAX else value


def _peers_of(sample: Sample, nids: frozenset[str]) -> Iterator[TopPeer]:
    yield from worst((row for row in sample.rows if row.nid in nids), len(nids))
