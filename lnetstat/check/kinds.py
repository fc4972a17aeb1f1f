"""What is looked at: names, units, defaults."""

from typing import NamedTuple

from lnetstat.check.ranges import Range, parse_range


class Kind(NamedTuple):
    """One thing that is looked at. `uom`: its unit in perfdata; `warn`, `crit`: default ranges; `lowest`: the worst is the least.

    `of_now`: the default ranges are for a node as it is now. The worst moment of hours is below 0 on every busy site, and no alarm: of a
    record it is told, and its share of the time (`*_below_0`) is judged.
    """

    name: str
    uom: str
    warn: str
    crit: str
    lowest: bool
    help: str
    of_now: bool = False


KINDS = (
    Kind("peer_credits", "", "0:", "", True, "send credits of the worst peer; below 0 so many messages wait", of_now=True),
    Kind("ni_credits", "", "0:", "", True, "send credits of the worst NI on its worst CPT", of_now=True),
    Kind("router_buffers", "%", "10:", "0:", True, "free share of the worst pool of router buffers; below 0 messages wait", of_now=True),
    Kind("rtr_credits", "", "0:", "", True, "router credits of the worst peer", of_now=True),
    Kind("peer_credits_below_0", "%", "5", "", False, "share of the time in which messages wait for the worst peer (record)"),
    Kind("ni_credits_below_0", "%", "5", "", False, "share of the time in which messages wait for the worst NI (record)"),
    Kind("router_buffers_below_0", "%", "1", "10", False, "share of the time in which messages wait for the worst pool (record)"),
    Kind("rtr_credits_below_0", "%", "5", "", False, "share of the time in which the worst peer's are below 0 (record)"),
    Kind("routes_down", "", "", "0", False, "routes that are down now"),
    Kind("nis_down", "", "", "0", False, "local NIs that are down now"),
    Kind("ni_health", "", "1000:", "", True, "health of the worst local NI (lnetctl); 1000 is well"),
    Kind("peers_down", "", "0", "", False, "peers that are down now, where LNet tracks it"),
    Kind("dead_time", "%", "1", "10", False, "throughput lost to periodic dips (record)"),
    Kind("data_age", "s", "", "", False, "age of the last sample (record); over --max-age: UNKNOWN"),
    Kind("peers_oversubscribed", "", "", "", False, "most peers at once with messages waiting for a credit"),
    Kind("queue_bytes", "B", "", "", False, "most bytes of messages that hold or wait for a peer credit"),
    Kind("peer_credits_low", "", "", "", True, "lowest low-water mark of a peer since its last reset"),
    Kind("ni_credits_low", "", "", "", True, "lowest low-water mark of an NI since its last reset"),
    Kind("router_buffers_low", "%", "", "", True, "lowest low-water mark of a pool since its last reset"),
    Kind("rtr_credits_low", "", "", "", True, "lowest low-water mark of router credits since its last reset"),
)
NAMES = tuple(kind.name for kind in KINDS)
BELOW_0 = "_below_0"
CREDITS = ("peer_credits", "ni_credits", "router_buffers", "rtr_credits")
OF_SERIES = frozenset({"dead_time", "data_age"} | {name + BELOW_0 for name in CREDITS})  # not of a node as it is now


class Thresholds(NamedTuple):
    """The ranges of one kind, None where it never alerts."""

    warn: Range | None
    crit: Range | None


def defaults(*, is_record: bool) -> dict[str, Thresholds]:
    """Return the default thresholds by name: of a record or a Graphite, or of a node as it is now."""
    never = Thresholds(None, None)
    return {kind.name: never if kind.of_now and is_record else Thresholds(parse_range(kind.warn), parse_range(kind.crit)) for kind in KINDS}


class Figure(NamedTuple):
    """What one host says of one kind. `value` None: `why` says why there is none; `unread`: it should be there and could not be read.
    `unread` with a value, the age of data: nothing is known since, so UNKNOWN at least.

    `words`: whose value it is (a peer, a pool), and what else to know; `limit`: the largest value there may be, where that is known.
    """

    name: str
    host: str
    value: float | None
    words: str = ""
    limit: float | None = None
    why: str = ""
    unread: bool = False
