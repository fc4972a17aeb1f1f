"""`peers` reduced per net: the reference over parsed rows, and the fast path over the text.

A router has up to 100,000 peers and most of their lines are the same from one second to the next. The fast path splits the text, compares
it line by line with the previous one and takes only changed lines apart; lines with the same tail (all but the NID) are parsed once. It
must give what the reference gives: tests/reduce/test_peers.py.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import compress
from operator import ne
from typing import NamedTuple, TypeVar

from lnetstat.reduce.metrics import BUCKETS
from lnetstat.tables._rows import NID_BEFORE_NET
from lnetstat.tables.peers import NINE_HEADER, STATES, TEN_HEADER, PeersRow

PART_CHARACTERS = 50_000

_Value = TypeVar("_Value", int, tuple[int, int])
_LINE_START = re.compile(NID_BEFORE_NET + "(?=[a-z][a-z0-9]* )", re.ASCII)
_STATES = "|".join(STATES)
# By header, what stands behind the NID's @: net, refs, state, last in ten columns, and the numbers max, rtr, min, tx, min, queue.
_TAILS = {
    TEN_HEADER: re.compile(rf"([a-z][a-z0-9]*) +-?[0-9]+ +({_STATES}) +-?[0-9]+" + r" +(-?[0-9]+)" * 6 + " *", re.ASCII),
    NINE_HEADER: re.compile(rf"([a-z][a-z0-9]*) +-?[0-9]+ +({_STATES})" + r" +(-?[0-9]+)" * 6 + " *", re.ASCII),
}


class PeersTotal(NamedTuple):
    """The aggregates of one net (ARCHITECTURE.md, metrics); credits None where no peer of the net holds any. `buckets` as in BUCKETS."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody calls on an aggregate
    down: int
    oversubscribed: int
    oversubscribed_low: int
    in_use: int
    tx_credits_worst: int | None
    tx_credits_low: int | None
    rtr_credits_worst: int | None
    rtr_credits_low: int | None
    queue_bytes: int
    queue_bytes_max: int
    buckets: tuple[int, ...]


class TopPeer(NamedTuple):
    """One of the worst peers: its order is that of the list."""

    tx_credits: int
    tx_credits_min: int
    queue_negative: int
    nid: str
    rtr_credits: int
    rtr_credits_min: int


class _Tail(NamedTuple):
    """What a line says behind its NID, ready to be added up. The first three fields are the order of the worst peers."""

    tx: int
    tx_low: int
    queue_negative: int
    net: str
    down: bool
    limit: int
    rtr: int
    rtr_low: int


def bucket_of(tx_credits: int, tx_credits_max: int) -> int:
    """Return the index in BUCKETS of the free share of a peer's credits."""
    return 0 if tx_credits < 0 else 1 + min(3, 4 * tx_credits // tx_credits_max)


def totals(rows: Iterable[PeersRow]) -> dict[str, PeersTotal]:
    """Return the aggregates of each net: the reference, from parsed rows. Routed rows (max 0) count in `count` only."""
    nets: dict[str, list[PeersRow]] = {}
    for row in rows:
        nets.setdefault(row.nid.rpartition("@")[2], []).append(row)
    return {net: _total(of_net) for net, of_net in nets.items()}


def _total(rows: Sequence[PeersRow]) -> PeersTotal:
    holders = [row for row in rows if row.tx_credits_max > 0]
    buckets = [bucket_of(row.tx_credits, row.tx_credits_max) for row in holders]
    return PeersTotal(
        count=len(rows),
        down=sum(row.state == "down" for row in holders),
        oversubscribed=sum(row.tx_credits < 0 for row in holders),
        oversubscribed_low=sum(row.tx_credits_min < 0 for row in holders),
        in_use=sum(row.tx_credits_max - row.tx_credits for row in holders),
        tx_credits_worst=min((row.tx_credits for row in holders), default=None),
        tx_credits_low=min((row.tx_credits_min for row in holders), default=None),
        rtr_credits_worst=min((row.rtr_credits for row in holders), default=None),
        rtr_credits_low=min((row.rtr_credits_min for row in holders), default=None),
        queue_bytes=sum(row.queue_bytes for row in holders),
        queue_bytes_max=max((row.queue_bytes for row in holders), default=0),
        buckets=tuple(buckets.count(index) for index in range(len(BUCKETS))),
    )


def worst(rows: Iterable[PeersRow], count: int) -> list[TopPeer]:
    """Return the `count` worst peers of the node: lowest tx_credits, then lowest mark, then largest queue, ties by NID."""
    return nsmallest(
        count,
        (
            TopPeer(row.tx_credits, row.tx_credits_min, -row.queue_bytes, row.nid, row.rtr_credits, row.rtr_credits_min)
            for row in rows
            if row.tx_credits_max > 0
        ),
    )


class _NetSums:
    """Running sums of one net, to which lines are added and from which they are taken away."""

    def __init__(self) -> None:
        self.count = self.down = self.oversubscribed = self.oversubscribed_low = self.in_use = 0
        self.buckets = [0] * len(BUCKETS)
        # How many peers have each value, so that the lowest is known when its peer goes.
        self.tx: dict[tuple[int, int], int] = {}  # of (tx, tx_low): together they are the order of the worst peers
        self.rtr: dict[tuple[int, int], int] = {}  # of (rtr, rtr_low)
        self.queue: dict[int, int] = {}

    def add(self, tail: _Tail, sign: int) -> None:
        """Add one line (sign 1) or take one away (sign -1)."""
        self.count += sign
        if tail.limit <= 0:
            return
        self.down += sign * tail.down
        self.oversubscribed += sign * (tail.tx < 0)
        self.oversubscribed_low += sign * (tail.tx_low < 0)
        self.in_use += sign * (tail.limit - tail.tx)
        self.buckets[bucket_of(tail.tx, tail.limit)] += sign
        _count(self.tx, tail[:2], sign)
        _count(self.rtr, (tail.rtr, tail.rtr_low), sign)
        _count(self.queue, tail.queue_negative, sign)

    def total(self) -> PeersTotal:
        return PeersTotal(
            self.count,
            self.down,
            self.oversubscribed,
            self.oversubscribed_low,
            self.in_use,
            min((tx for tx, _ in self.tx), default=None),
            min((low for _, low in self.tx), default=None),
            min((rtr for rtr, _ in self.rtr), default=None),
            min((low for _, low in self.rtr), default=None),
            -sum(queue * peers for queue, peers in self.queue.items()),
            -min(self.queue, default=0),
            tuple(self.buckets),
        )


def _count(peers: dict[_Value, int], value: _Value, sign: int) -> None:
    left = peers.get(value, 0) + sign
    if left:
        peers[value] = left
    else:
        del peers[value]


class PeersStream:
    """The fast path: one object per node, which is given each text of `peers` in turn."""

    def __init__(self) -> None:
        self._header = TEN_HEADER
        self._forget()

    def _forget(self) -> None:
        self._lines: list[str] = []
        self._tails: list[_Tail] = []
        self._known: dict[str, _Tail] = {}
        self._nets: dict[str, _NetSums] = {}
        self._worst: tuple[int, list[TopPeer]] | None = None  # the latest answer, good until a line changes
        self.changed = True  # whether the latest text differed from the one before
        self._is_first = True

    def update(self, text: str) -> bool:
        """Take the next text. False: it is not the regular text of nine or ten columns; use the reference for it."""
        header = next((header for header in _TAILS if text.startswith(header)), None)
        if header is not None and text.endswith("\n") and text.isascii():
            if header != self._header:
                self._header = header
                self._forget()
            try:
                self._take(text)
            except ValueError:
                pass
            else:
                return True
        self._forget()
        return False

    def _take(self, text: str) -> None:
        """Take apart only the lines that differ from the previous text's. Raises ValueError at a line that is no row."""
        if len(self._known) > 2 * len(self._lines) + 1000:
            self._known = {}
        at = 0
        self.changed, self._is_first = self._is_first, False
        for lines in _parts(text, len(self._header)):
            before = self._lines[at : at + len(lines)]
            if lines == before:
                at += len(lines)
                continue
            self.changed = True
            for offset in compress(range(len(before)), map(ne, lines, before)):
                self._change(at + offset, lines[offset], before[offset])
            for line in lines[len(before) :]:
                self._tails.append(self._tail(line))
                self._sums(self._tails[-1]).add(self._tails[-1], 1)
            self._lines[at : at + len(lines)] = lines
            at += len(lines)
        for tail in self._tails[at:]:
            self._sums(tail).add(tail, -1)
        if at < len(self._lines):
            self.changed = True
            del self._tails[at:], self._lines[at:]

    def _change(self, at: int, line: str, before: str) -> None:
        old, new = self._tails[at], self._tail(line, before)
        self._sums(old).add(old, -1)
        self._sums(new).add(new, 1)
        self._tails[at] = new

    def _sums(self, tail: _Tail) -> _NetSums:
        sums = self._nets.get(tail.net)
        if sums is None:
            sums = self._nets[tail.net] = _NetSums()
        return sums

    def _tail(self, line: str, before: str = "") -> _Tail:
        """Take a line apart. `before`: the line that stood there; the same NID need not be checked again."""
        net_at = before.find("@") + 1
        if not net_at or line[:net_at] != before[:net_at]:
            nid = _LINE_START.match(line)
            if nid is None:
                raise ValueError(line)
            net_at = nid.end()
        text = line[net_at:]
        tail = self._known.get(text)
        if tail is None:
            tail = self._known[text] = _parse_tail(text, _TAILS[self._header])
        return tail

    def totals(self) -> dict[str, PeersTotal]:
        """Return what totals() gives for the rows of the latest text."""
        return {net: sums.total() for net, sums in self._nets.items() if sums.count}

    def worst(self, count: int) -> list[TopPeer]:
        """Return what worst() gives for the rows of the latest text."""
        if self.changed or self._worst is None or self._worst[0] != count:
            self._worst = count, self._find_worst(count)
        return self._worst[1]

    def _find_worst(self, count: int) -> list[TopPeer]:
        bound = self._bound(count)
        tails, lines, tx_bound = self._tails, self._lines, bound[0]
        low = [at for at, tail in enumerate(tails) if tail[0] <= tx_bound]
        return nsmallest(count, (_peer(tails[at], lines[at]) for at in low if tails[at][:2] <= bound and tails[at].limit > 0))

    def _bound(self, count: int) -> tuple[int, int]:
        """Return a (tx, tx_low) that at least `count` peers, where there are as many, do not exceed."""
        bound = (0, 0)
        for tx, peers in sorted(item for sums in self._nets.values() for item in sums.tx.items()):
            bound = tx
            count -= peers
            if count <= 0:
                break
        return bound

    def peers(self, nids: frozenset[str]) -> list[TopPeer]:
        """Return the peers of these NIDs that hold credits, in the order of the text."""
        lines, tails = self._lines, self._tails
        found = [at for at, line in enumerate(lines) if line[: line.find(" ")] in nids]
        return [_peer(tails[at], lines[at]) for at in found if tails[at].limit > 0]


def _parts(text: str, begin: int) -> Iterator[list[str]]:
    """Yield the lines some hundreds at a time, so that old and new lines do not both stand in memory."""
    while begin < len(text):
        end = text.find("\n", begin + PART_CHARACTERS)
        end = len(text) - 1 if end < 0 else end
        yield text[begin:end].split("\n")
        begin = end + 1


def _peer(tail: _Tail, line: str) -> TopPeer:
    return TopPeer(tail.tx, tail.tx_low, tail.queue_negative, line.partition(" ")[0], tail.rtr, tail.rtr_low)


def _parse_tail(text: str, pattern: re.Pattern[str]) -> _Tail:
    found = pattern.fullmatch(text)
    if found is None:
        raise ValueError(text)
    net, state, *numbers = found.groups()
    limit, rtr, rtr_low, tx, tx_low, queue = map(int, numbers)
    return _Tail(tx, tx_low, -queue, net, state == "down", limit, rtr, rtr_low)
