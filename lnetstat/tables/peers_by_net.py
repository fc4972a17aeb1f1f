"""`peers_by_net`: the sums of all peers of each network, which lnet.ph records beside the rows of the worst peers only.

    net count down oversubscribed oversubscribed_low in_use tx_credits_worst … queue_bytes_max share_lt0 share_0_25 … limit
    tcp1 1200 0 3 17 412 -7 -12 8 2 1048648 1048648 3 10 22 165 1000 9600

No kernel prints it: the reader of collectl's raw files writes the header over the lines `lnt:NET COUNT DOWN …`. The columns are the metrics
peers.NET.* and, as `limit`, the credits of all peers together. `-` where no peer of the network holds credits.
"""

import re
from typing import NamedTuple

from lnetstat.model import Column, Parsed, Reduce, Semantics, Table
from lnetstat.tables._rows import Layout, integer, parse_table

_NET = re.compile(r"[a-z][a-z0-9]*\Z", re.ASCII)


class PeersByNetRow(NamedTuple):
    net: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody calls on a row
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
    share_lt0: int
    share_0_25: int
    share_25_50: int
    share_50_75: int
    share_75_100: int
    limit: int


LAYOUT = Layout("sums of lnet.ph", PeersByNetRow._fields)
HEADER = " ".join(PeersByNetRow._fields) + "\n"
_MAY_MISS = frozenset(name for name in PeersByNetRow._fields if name.startswith(("tx_", "rtr_")))


def parse(text: str) -> Parsed:
    """Parse the header and a line per network."""
    return parse_table("peers_by_net", text, (LAYOUT,), lambda word: _NET.match(word) is not None, _make_row, "NET and 17 numbers")


def _make_row(words: list[str], layout: Layout, extra: tuple[str, ...], number: int) -> PeersByNetRow:
    values = [
        None if word == "-" and name in _MAY_MISS else integer(word)
        for name, word in zip(layout.words[1:], words[1 : len(layout.words)], strict=True)
    ]
    return PeersByNetRow(words[0], *values)  # type: ignore[arg-type]  # None only where _MAY_MISS allows it


def looks_like(text: str) -> bool:
    return text.startswith(HEADER)


def _gauge(name: str, unit: str, reduce: Reduce, text: str) -> Column:
    return Column(name, Semantics.GAUGE, unit, reduce, text)


table = Table(
    name="peers_by_net",
    help="sums of all peers of each network, beside the rows of the worst peers (raw files of collectl)",
    names=("peers_by_net",),
    paths=(),
    row=PeersByNetRow,
    key=("net",),
    columns=(
        Column("net", Semantics.LABEL, "", Reduce.NONE, "network, the part of a NID behind its @"),
        _gauge("count", "peers", Reduce.LAST, "peers, routed ones included"),
        _gauge("down", "peers", Reduce.LAST, "peers whose state is down"),
        _gauge("oversubscribed", "peers", Reduce.MAX, "peers with messages waiting for a peer credit (tx_credits < 0)"),
        _gauge("oversubscribed_low", "peers", Reduce.MAX, "peers whose low-water mark is below 0"),
        _gauge("in_use", "credits", Reduce.MEAN_MAX, "peer credits in use or waited for"),
        _gauge("tx_credits_worst", "credits", Reduce.MIN, "lowest tx_credits of any peer"),
        Column("tx_credits_low", Semantics.LOW_WATER, "credits", Reduce.MIN, "lowest low-water mark of any peer"),
        _gauge("rtr_credits_worst", "credits", Reduce.MIN, "lowest router credits of any peer"),
        Column("rtr_credits_low", Semantics.LOW_WATER, "credits", Reduce.MIN, "lowest low-water mark of router credits of any peer"),
        _gauge("queue_bytes", "bytes", Reduce.MAX, "bytes of all messages that hold or wait for a peer credit"),
        _gauge("queue_bytes_max", "bytes", Reduce.MAX, "the largest queue of one peer"),
        _gauge("share_lt0", "peers", Reduce.LAST, "peers with less than no credit free"),
        _gauge("share_0_25", "peers", Reduce.LAST, "peers with 0 to 25 % of their credits free"),
        _gauge("share_25_50", "peers", Reduce.LAST, "peers with 25 to 50 % free"),
        _gauge("share_50_75", "peers", Reduce.LAST, "peers with 50 to 75 % free"),
        _gauge("share_75_100", "peers", Reduce.LAST, "peers with 75 to 100 % free"),
        Column("limit", Semantics.LIMIT, "credits", Reduce.LAST, "peer credits of all peers together"),
    ),
    looks_like=looks_like,
    parse=parse,
)
