"""`peers`: one row per peer NI with its credits. /proc/sys/lnet/peers up to 2.10, /sys/kernel/debug/lnet/peers since 2.11.

    nid                      refs state  last   max   rtr   min    tx   min queue
    10.2.0.21@tcp1              3    up    -1     2     2    -1     0    -7 2097296

Lustre 1.6 to 1.8 print no `last` (9 columns); 2.1 to 2.17 print ten. Two columns are called `min`: the first is the low-water mark of
`rtr`, the second that of `tx`. A negative `tx` means that this many messages wait for a peer credit now, a negative second `min` that so
many waited at the worst since the mark was reset (lnet_debugfs.c: proc_lnet_peers). Rows of routed NIDs have max = 0: they hold no
credits of their own and are never exhausted.
"""

from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.model import Column, Parsed, Reduce, Semantics, Table
from lnetstat.tables._rows import Layout, extra_of, integer, is_nid, parse_table

NINE = Layout("peers of Lustre 1.6-2.0 (9 columns)", ("nid", "refs", "state", "max", "rtr", "min", "tx", "min", "queue"))
TEN = Layout("peers of Lustre 2.1-2.17 (10 columns)", ("nid", "refs", "state", "last", "max", "rtr", "min", "tx", "min", "queue"))
STATES = ("up", "down", "NA", "~rtr")


class PeersRow(NamedTuple):
    nid: str
    row: int
    refs: int
    state: str
    last_s: int | None
    tx_credits_max: int
    rtr_credits: int
    rtr_credits_min: int
    tx_credits: int
    tx_credits_min: int
    queue_bytes: int
    extra: Mapping[str, str] = {}


def parse(text: str) -> Parsed:
    """Parse a whole `peers` text; ParseError when neither its header nor any row can be recognised."""
    regular = _parse_regular(text)
    return regular or parse_table("peers", text, (TEN, NINE), is_nid, _row, "NID, refs, state and signed whole numbers")


def _row(words: list[str], layout: Layout, extra: tuple[str, ...], number: int) -> PeersRow:
    if not is_nid(words[0]) or words[2] not in STATES:
        raise ValueError(words[0])
    width = len(layout.words)
    values = [integer(word) for word in words[3:width]]
    last_s = values.pop(0) if layout is TEN else None
    limit, rtr, rtr_min, tx, tx_min, queue = values
    return PeersRow(
        words[0], number, integer(words[1]), words[2], last_s, limit, rtr, rtr_min, tx, tx_min, queue, extra_of(extra, words[width:])
    )


TEN_HEADER = "%-24s %4s %5s %5s %5s %5s %5s %5s %5s %s\n" % TEN.words
NINE_HEADER = "%-24s %4s %5s %5s %5s %5s %5s %5s %s\n" % NINE.words
_FORGIVEN_BY_INT = ("_", "+", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\ufeff")


def _parse_regular(text: str) -> Parsed | None:
    """Parse the text that every kernel since 2.1 prints, without checks that this text cannot fail; None for any other text."""
    if not text.startswith(TEN_HEADER) or not text.endswith("\n") or not text.isascii() or any(mark in text for mark in _FORGIVEN_BY_INT):
        return None
    new, row_type, none = tuple.__new__, PeersRow, PeersRow._field_defaults["extra"]
    rows: list[PeersRow] = []
    append = rows.append
    try:
        for line in text[len(TEN_HEADER) : -1].split("\n") if len(text) > len(TEN_HEADER) else ():
            nid, refs, state, last, limit, rtr, rtr_min, tx, tx_min, queue = line.split()
            numbers = (int(last), int(limit), int(rtr), int(rtr_min), int(tx), int(tx_min), int(queue))
            if state not in STATES or "@" not in nid:
                return None
            append(new(row_type, (nid, 0, int(refs), state, *numbers, none)))
    except ValueError:
        return None
    if len({row.nid for row in rows}) != len(rows) or not all(is_nid(row.nid) for row in rows):
        return None
    return Parsed(tuple(rows), TEN.name, {}, ())


def render(parsed: Parsed, layout: str) -> str:
    """Return the text that a kernel of this layout prints for the rows: the inverse of parse()."""
    if layout == NINE.name:
        lines = [NINE_HEADER]
        lines += ["%-24s %4d %5s %5d %5d %5d %5d %5d %d\n" % (r.nid, r.refs, r.state, *r[5:11]) for r in parsed.rows]
    else:
        lines = [TEN_HEADER]
        lines += ["%-24s %4d %5s %5d %5d %5d %5d %5d %5d %d\n" % (r.nid, r.refs, r.state, *r[4:11]) for r in parsed.rows]
    return "".join(lines)


def looks_like(text: str) -> bool:
    words = tuple(text.lstrip("\ufeff\r\n ").split("\n", 1)[0].split())
    return words[: len(TEN.words)] == TEN.words or words[: len(NINE.words)] == NINE.words


_L, _G, _W = Semantics.LABEL, Semantics.GAUGE, Semantics.LOW_WATER
table = Table(
    name="peers",
    help="credits of every peer NI",
    names=("peers", "lnet.peers", "debugfs.lnet.peers"),
    paths=("sys/kernel/debug/lnet/peers", "proc/sys/lnet/peers"),
    row=PeersRow,
    key=("nid", "row"),
    columns=(
        Column("nid", _L, "", Reduce.NONE, "network address of the peer interface"),
        Column("row", _L, "", Reduce.NONE, "how many rows of this NID stood before"),
        Column("refs", _G, "references", Reduce.NONE, "references held on the peer; since 2.10 without a fixed meaning"),
        Column("state", Semantics.STATE, "", Reduce.LAST, "up, down, or NA where aliveness is not tracked"),
        Column("last_s", _G, "s", Reduce.NONE, "seconds since the peer's last sign of life, -1 unknown; always -1 since 2.13"),
        Column("tx_credits_max", Semantics.LIMIT, "credits", Reduce.LAST, "configured peer_credits; 0 for routed NIDs, which hold none"),
        Column("rtr_credits", _G, "credits", Reduce.MIN, "router-buffer credits left for this peer; negative: messages waiting"),
        Column("rtr_credits_min", _W, "credits", Reduce.MIN, "lowest rtr_credits since the mark was reset"),
        Column("tx_credits", _G, "credits", Reduce.MIN, "send credits left; negative: messages waiting for a credit now"),
        Column("tx_credits_min", _W, "credits", Reduce.MIN, "lowest tx_credits since the mark was reset"),
        Column("queue_bytes", _G, "bytes", Reduce.MAX, "bytes of all messages that hold or wait for a peer credit, headers included"),
    ),
    looks_like=looks_like,
    parse=parse,
    render=render,
    layouts=(NINE.name, TEN.name),
)
