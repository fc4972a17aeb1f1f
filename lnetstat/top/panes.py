"""The four panes: which columns they have, and how parsed rows become theirs. Pure.

A row's first key is its host. `level` is what its line draws: the free share of credits or buffers, or a rate.
"""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lnetstat.model import Sample
from lnetstat.tables.counters import CountersRow
from lnetstat.top.trail import Key

NS = 1_000_000_000
WRAP = 1 << 32  # LNet's message counts have 32 bit

Value = str | int | float | None
Before = Mapping[tuple[str, str, str], Sample]  # by host, table and instance: the samples to count rates from


class Mark(enum.IntEnum):
    """What makes a row stand out, the worst last."""

    NONE = 0
    WAS_SHORT = 1  # its low-water mark is below zero
    DOWN = 2
    SHORT = 3  # credits or buffers have run out now


SIGNS = {Mark.NONE: "", Mark.WAS_SHORT: "!", Mark.DOWN: "x", Mark.SHORT: "!!"}
SIGNS_HELP = "!! credits ran out: messages wait now   ! they did since the reset   x down"


class Kind(enum.Enum):
    """How a column's values are shown and sorted: text from a on, numbers with their worst end first."""

    TEXT = "text"
    LOW = "low"  # the lower, the worse
    HIGH = "high"
    BYTES = "bytes"  # the higher, the worse
    RATE = "rate"


class Shown(NamedTuple):
    """One column. `width`: of numbers and short words; 0 for a name, which takes what it needs. `least`: shown from this width
    on; where there is too little room all the same, the columns with the greatest go first."""

    name: str
    title: str
    kind: Kind
    width: int
    help: str
    least: int = 0


class Row(NamedTuple):
    """One row of a pane; `values` stand in the order of its columns. `level`: None where there is nothing to draw."""

    key: Key
    values: tuple[Value, ...]
    mark: Mark
    level: float | None


class Pane(NamedTuple):
    """`tables`: what it is made of. `worst`: the order in which the rows that matter stand first. `top`: the level of a full bar."""

    name: str
    title: str
    tables: tuple[str, ...]
    columns: tuple[Shown, ...]
    rows: Callable[[Sample, Before], Iterator[Row]]
    worst: Callable[[Row], Any]
    line: str
    top: float | None


HOST = Shown("host", "host", Kind.TEXT, 0, "the node")


def _share(free: int, limit: int) -> float | None:
    return free / limit if limit > 0 else None


def _mark(now: Iterable[int], low: Iterable[int], *, down: bool) -> Mark:
    if any(value < 0 for value in now):
        return Mark.SHORT
    if down:
        return Mark.DOWN
    return Mark.WAS_SHORT if any(value < 0 for value in low) else Mark.NONE


def _peers(sample: Sample, _: Before) -> Iterator[Row]:
    host = sample.host
    for nid, number, refs, state, _last_s, limit, rtr, rtr_low, tx, tx_low, queue_bytes, _extra in sample.rows:
        # As `_mark`, in a fifth of the time: there may be many thousand peers. Routed NIDs hold no credits.
        mark = Mark.NONE
        if limit > 0:
            if tx < 0 or rtr < 0:
                mark = Mark.SHORT
            elif state == "down":
                mark = Mark.DOWN
            elif tx_low < 0 or rtr_low < 0:
                mark = Mark.WAS_SHORT
        values = (host, nid, state, limit, tx, tx_low, rtr, rtr_low, queue_bytes, refs)
        free = rtr if rtr < 0 and rtr < tx else tx
        yield Row((host, nid, str(number) if number else ""), values, mark, free / limit if limit > 0 else None)


def _nis(sample: Sample, _: Before) -> Iterator[Row]:
    for r in sample.rows:
        holds = r.tx_credits_max > 0  # the loopback NI does not
        mark = _mark((r.tx_credits,), (r.tx_credits_min,), down=r.status == "down") if holds else Mark.NONE
        values = (sample.host, r.nid, r.row, r.status, r.tx_credits_max, r.tx_credits, r.tx_credits_min, r.peer_credits, r.refs)
        yield Row((sample.host, r.nid, str(r.row)), values, mark, _share(r.tx_credits, r.tx_credits_max))


def _buffers(sample: Sample, _: Before) -> Iterator[Row]:
    for r in sample.rows:
        mark = _mark((r.credits,), (r.credits_min,), down=False)
        values = (sample.host, r.pool, r.row, r.count, r.credits, r.credits_min, r.count - r.credits, r.pages)
        yield Row((sample.host, r.pool, str(r.row)), values, mark, _share(r.credits, r.count))


def _services(sample: Sample, before: Before) -> Iterator[Row]:
    last = before.get((sample.host, sample.table, sample.instance))
    found = _lnet_stats(sample, last) if sample.table == "lnet_stats" else _counters(sample, last)
    for service, counter, per_s, bytes_per_s, mean, unit, total in found:
        values = (sample.host, service, counter, per_s, bytes_per_s, mean, unit, total)
        yield Row((sample.host, service, counter), values, Mark.NONE, per_s)


_Rate = tuple[str, str, float | None, float | None, float | None, str, int]


def _lnet_stats(sample: Sample, last: Sample | None) -> Iterator[_Rate]:
    """Yield the four kinds of messages. A count that falls while its length does not has wrapped; a length that falls was reset."""
    old = last.rows[0] if last and last.rows else None
    seconds = _seconds(sample, last)
    for row in sample.rows:
        for what in ("send", "recv", "route", "drop"):
            count, length = getattr(row, f"{what}_count"), getattr(row, f"{what}_length")
            per_s = bytes_per_s = mean = None
            if old and seconds:
                more, more_bytes = count - getattr(old, f"{what}_count"), length - getattr(old, f"{what}_length")
                if more_bytes >= 0:
                    more += WRAP if more < 0 else 0
                    per_s, bytes_per_s = more / seconds, more_bytes / seconds
                    mean = more_bytes / more if more else None
            yield "lnet", what, per_s, bytes_per_s, mean, "bytes", count


def _counters(sample: Sample, last: Sample | None) -> Iterator[_Rate]:
    """Yield each counter; one that was not there before was 0, one that fell was reset."""
    seconds = _seconds(sample, last)
    if last and last.facts.get("start_time") != sample.facts.get("start_time"):
        seconds = None
    old = {row.counter: row for row in last.rows} if last and seconds else {}
    for row in sample.rows:
        per_s = bytes_per_s = mean = None
        if seconds:
            more, more_sum = _more(row, old.get(row.counter))
            if more is not None:
                per_s = more / seconds
                mean = more_sum / more if more and more_sum is not None else None
                bytes_per_s = more_sum / seconds if more_sum is not None and row.unit == "bytes" else None
        yield sample.instance, row.counter, per_s, bytes_per_s, mean, row.unit, row.samples


def _more(row: CountersRow, old: CountersRow | None) -> tuple[int | None, int | None]:
    """Return how many events came since, and by how much their sum grew; None where that cannot be told."""
    more = row.samples - (old.samples if old else 0)
    if more < 0:
        return None, None
    if row.sum is None:
        return more, None
    return more, row.sum - ((old.sum or 0) if old else 0)


def _seconds(sample: Sample, last: Sample | None) -> float | None:
    """Return the time between two samples, by the file's own stamps where it has them; None where there was none."""
    if last is None:
        return None
    now, then = sample.facts.get("snapshot_time"), last.facts.get("snapshot_time")
    gone_ns = int(now) - int(then) if now is not None and then is not None else sample.time_ns - last.time_ns
    return gone_ns / NS if gone_ns > 0 else None


def _worst_peer(row: Row) -> Any:
    key, (_, _, _, limit, tx, low, rtr, rtr_low, queue, _), mark, _ = row
    if mark is Mark.NONE:
        return limit == 0, 0, tx, low, -queue, key  # type: ignore[operator]
    return limit == 0, -mark if mark > Mark.WAS_SHORT else 0, min(tx, rtr), min(low, rtr_low), -queue, key  # type: ignore[operator, type-var]


def _worst_share(row: Row) -> Any:
    return (row.level is None, -row.mark if row.mark > Mark.WAS_SHORT else 0, row.level or 0.0, -row.mark, row.key)


def _busiest(row: Row) -> Any:
    return (row.level is None, -(row.level or 0.0), row.key)


PEERS = Pane(
    "peers",
    "Peers",
    ("peers",),
    (
        HOST,
        Shown("nid", "NID", Kind.TEXT, 0, "network address of the peer"),
        Shown("state", "state", Kind.TEXT, 5, "up, down, or NA where aliveness is not tracked", least=90),
        Shown("tx_credits_max", "max", Kind.LOW, 5, "configured peer_credits"),
        Shown("tx_credits", "tx", Kind.LOW, 6, "send credits left; negative: so many messages wait"),
        Shown("tx_credits_min", "tx low", Kind.LOW, 6, "the lowest tx since the mark was reset"),
        Shown("rtr_credits", "rtr", Kind.LOW, 6, "router-buffer credits left for this peer", least=60),
        Shown("rtr_credits_min", "rtr low", Kind.LOW, 7, "the lowest rtr since the mark was reset", least=61),
        Shown("queue_bytes", "queue", Kind.BYTES, 8, "bytes in flight and waiting"),
        Shown("refs", "refs", Kind.HIGH, 6, "references held on the peer", least=100),
    ),
    _peers,
    _worst_peer,
    "free share of the tx credits; ! none of them or of the router credits was left",
    1.0,
)
NIS = Pane(
    "nis",
    "NIs",
    ("nis",),
    (
        HOST,
        Shown("nid", "NID", Kind.TEXT, 0, "network address of the local interface"),
        Shown("row", "CPT", Kind.HIGH, 4, "which of its rows, one for each CPT"),
        Shown("status", "status", Kind.TEXT, 6, "up or down, as told to the peers"),
        Shown("tx_credits_max", "max", Kind.LOW, 6, "send credits of this NI on this CPT"),
        Shown("tx_credits", "tx", Kind.LOW, 6, "send credits left; negative: so many messages wait"),
        Shown("tx_credits_min", "tx low", Kind.LOW, 6, "the lowest tx since the mark was reset"),
        Shown("peer_credits", "peer", Kind.LOW, 5, "configured credits of each of its peers"),
        Shown("refs", "refs", Kind.HIGH, 6, "references held on the NI", least=100),
    ),
    _nis,
    _worst_share,
    "free share of the NI's credits; ! ran out",
    1.0,
)
BUFFERS = Pane(
    "buffers",
    "Buffers",
    ("buffers",),
    (
        HOST,
        Shown("pool", "pool", Kind.TEXT, 0, "tiny, small (one page; pings) or large (1 MiB)"),
        Shown("row", "CPT", Kind.HIGH, 4, "which of its rows, one for each CPT"),
        Shown("count", "count", Kind.LOW, 7, "buffers allocated"),
        Shown("credits", "free", Kind.LOW, 7, "buffers free; negative: so many messages wait"),
        Shown("credits_min", "low", Kind.LOW, 7, "the fewest free since the pool was made or resized"),
        Shown("in_use", "in use", Kind.HIGH, 7, "buffers in use, and messages that wait for one"),
        Shown("pages", "pages", Kind.HIGH, 6, "pages of one buffer", least=100),
    ),
    _buffers,
    _worst_share,
    "free share of the buffers; ! ran out",
    1.0,
)
SERVICES = Pane(
    "services",
    "Services",
    ("counters", "lnet_stats"),
    (
        HOST,
        Shown("service", "service", Kind.TEXT, 0, "the service or target; lnet: this node's messages"),
        Shown("counter", "counter", Kind.TEXT, 17, "what is counted"),
        Shown("per_s", "per s", Kind.RATE, 8, "events a second since the sample before"),
        Shown("bytes_per_s", "B/s", Kind.BYTES, 9, "bytes a second since the sample before"),
        Shown("mean", "mean", Kind.RATE, 8, "mean of the new events' values"),
        Shown("unit", "unit", Kind.TEXT, 6, "what the mean is in"),
        Shown("total", "total", Kind.RATE, 8, "events since the counter was reset", least=100),
    ),
    _services,
    _busiest,
    "events a second, each row by its own greatest",
    None,
)
PANES = (PEERS, NIS, BUFFERS, SERVICES)
