"""`nis`: one row per local NI and CPT with its credits. Beside `peers`.

    nid                      status alive refs peer  rtr   max    tx   min
    10.1.0.1@tcp                 up     3    1    2    0     4     4     2

Lustre 1.6 to 1.8.1 print six columns, 1.8.2 to 2.17 nine. Since 2.3 an NI that is bound to several CPTs has one row for each, in CPT order,
without a CPT column: `row` counts them. `rtr` 0 (kfi: -1) means "not set: inherits", not zero credits. A negative `tx` means that messages
which already own a peer credit wait for a credit of the NI (lnet_debugfs.c: proc_lnet_nis).
"""

from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.model import Column, Parsed, Reduce, Semantics, Table
from lnetstat.tables._rows import Layout, extra_of, integer, is_nid, parse_table

SIX = Layout("nis of Lustre 1.6-1.8.1 (6 columns)", ("nid", "refs", "peer", "max", "tx", "min"))
NINE = Layout("nis of Lustre 1.8.2-2.17 (9 columns)", ("nid", "status", "alive", "refs", "peer", "rtr", "max", "tx", "min"))


class NisRow(NamedTuple):
    nid: str
    row: int
    status: str | None
    alive_s: int | None
    refs: int
    peer_credits: int
    peer_buffer_credits: int | None
    tx_credits_max: int
    tx_credits: int
    tx_credits_min: int
    extra: Mapping[str, str] = {}


def parse(text: str) -> Parsed:
    """Parse a whole `nis` text; ParseError when neither its header nor any row can be recognised."""
    return parse_table("nis", text, (NINE, SIX), is_nid, _row, "NID, status up or down, and signed whole numbers")


def _row(words: list[str], layout: Layout, extra: tuple[str, ...], number: int) -> NisRow:
    if not is_nid(words[0]):
        raise ValueError(words[0])
    more = extra_of(extra, words[len(layout.words) :])
    if layout is SIX:
        refs, peer, limit, tx, low = (integer(word) for word in words[1:6])
        return NisRow(words[0], number, None, None, refs, peer, None, limit, tx, low, more)
    if words[1] not in ("up", "down"):
        raise ValueError(words[1])
    alive, refs, peer, rtr, limit, tx, low = (integer(word) for word in words[2:9])
    return NisRow(words[0], number, words[1], alive, refs, peer, rtr, limit, tx, low, more)


def render(parsed: Parsed, layout: str) -> str:
    """Return the text that a kernel of this layout prints for the rows: the inverse of parse()."""
    if layout == SIX.name:
        lines = ["%-24s %4s %4s %5s %5s %5s\n" % SIX.words]
        lines += ["%-24s %4d %4d %5d %5d %5d\n" % (r.nid, r.refs, r.peer_credits, *r[7:10]) for r in parsed.rows]
    else:
        lines = ["%-24s %6s %5s %4s %4s %4s %5s %5s %5s\n" % NINE.words]
        lines += ["%-24s %6s %5d %4d %4d %4d %5d %5d %5d\n" % (r.nid, *r[2:10]) for r in parsed.rows]
    return "".join(lines)


def looks_like(text: str) -> bool:
    words = tuple(text.lstrip("\ufeff\r\n ").split("\n", 1)[0].split())
    return words[: len(NINE.words)] == NINE.words or words[: len(SIX.words)] == SIX.words


_L, _G = Semantics.LABEL, Semantics.GAUGE
table = Table(
    name="nis",
    help="credits of every local NI and CPT",
    names=("nis", "lnet.nis", "debugfs.lnet.nis"),
    paths=("sys/kernel/debug/lnet/nis", "proc/sys/lnet/nis"),
    row=NisRow,
    key=("nid", "row"),
    columns=(
        Column("nid", _L, "", Reduce.NONE, "network address of the local interface"),
        Column("row", _L, "", Reduce.NONE, "CPT number within the NID"),
        Column("status", Semantics.STATE, "", Reduce.LAST, "up or down, as told to the peers"),
        Column("alive_s", _G, "s", Reduce.NONE, "seconds since the NI was last alive; -1 where this node does not route"),
        Column("refs", _G, "references", Reduce.NONE, "references held on the NI"),
        Column("peer_credits", Semantics.LIMIT, "credits", Reduce.LAST, "configured credits of each peer of this NI"),
        Column("peer_buffer_credits", Semantics.LIMIT, "credits", Reduce.LAST, "configured router credits of a peer; 0, -1: inherited"),
        Column("tx_credits_max", Semantics.LIMIT, "credits", Reduce.LAST, "send credits of this NI on this CPT"),
        Column("tx_credits", _G, "credits", Reduce.MIN, "send credits left; negative: messages waiting for the NI now"),
        Column("tx_credits_min", Semantics.LOW_WATER, "credits", Reduce.MIN, "lowest tx_credits since the mark was reset"),
    ),
    looks_like=looks_like,
    parse=parse,
    render=render,
    layouts=(SIX.name, NINE.name),
)
