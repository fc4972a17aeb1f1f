"""`routers`: the routers that this node uses, and their health. Beside `peers`.

    ref  rtr_ref alive router
    4          1    up 10.1.0.1@tcp

Three forms: 1.6 to 1.8.1 (6 columns), 1.8.2 to 2.12 (9) and since 2.13 (4). The deadline of 1.8.2 to 2.12 is printed unsigned: one that has
expired stands near 1.8e19 and is read as the negative number it is; `NA` is None. down_ni -1: unknown (lnet_debugfs.c: proc_lnet_routers).
"""

from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.model import Column, Parsed, Reduce, Semantics, Table
from lnetstat.tables._rows import Layout, extra_of, integer, is_nid, parse_table

SIX = Layout("routers of Lustre 1.6-1.8.1 (6 columns)", ("ref", "rtr_ref", "alive_cnt", "state", "last_ping", "router"))
NINE = Layout(
    "routers of Lustre 1.8.2-2.12 (9 columns)",
    ("ref", "rtr_ref", "alive_cnt", "state", "last_ping", "ping_sent", "deadline", "down_ni", "router"),
)
FOUR = Layout("routers of Lustre 2.13-2.17 (4 columns)", ("ref", "rtr_ref", "alive", "router"))


class RoutersRow(NamedTuple):
    router: str
    refs: int
    rtr_refs: int
    alive_count: int | None
    state: str
    last_ping_s: int | None
    ping_sent: int | None
    deadline_s: int | None
    down_ni: int | None
    extra: Mapping[str, str] = {}


def _is_number(word: str) -> bool:
    return word.removeprefix("-").isdigit()


def parse(text: str) -> Parsed:
    """Parse a whole `routers` text; ParseError when neither its header nor any row can be recognised."""
    return parse_table("routers", text, (NINE, SIX, FOUR), _is_number, _row, "the router's NID, its state, and numbers")


def _row(words: list[str], layout: Layout, extra: tuple[str, ...], number: int) -> RoutersRow:
    value = dict(zip(layout.words, words, strict=False))
    state = value.get("state") or value["alive"]
    if not is_nid(value["router"]) or state not in ("up", "down", "NA"):
        raise ValueError(value["router"])

    def optional(name: str) -> int | None:
        return integer(value[name]) if name in value else None

    return RoutersRow(
        value["router"],
        integer(value["ref"]),
        integer(value["rtr_ref"]),
        optional("alive_cnt"),
        state,
        optional("last_ping"),
        optional("ping_sent"),
        _deadline(value.get("deadline")),
        optional("down_ni"),
        extra_of(extra, words[len(layout.words) :]),
    )


def _deadline(word: str | None) -> int | None:
    if word is None or word == "NA":
        return None
    seconds = integer(word)
    for bits in (64, 32):
        if 1 << (bits - 1) <= seconds < 1 << bits:
            return seconds - (1 << bits)
    return seconds


def render(parsed: Parsed, layout: str) -> str:
    """Return the text that a kernel of this layout prints for the rows: the inverse of parse()."""
    if layout == FOUR.name:
        lines = ["%-4s %7s %5s %s\n" % FOUR.words]
        lines += ["%-4d %7d %5s %s\n" % (r.refs, r.rtr_refs, r.state, r.router) for r in parsed.rows]
    elif layout == SIX.name:
        lines = ["%-4s %7s %9s %6s %12s %s\n" % SIX.words]
        lines += ["%-4d %7d %9d %6s %12d %s\n" % (*r[1:6], r.router) for r in parsed.rows]
    else:
        lines = ["%-4s %7s %9s %6s %12s %9s %8s %7s %s\n" % NINE.words]
        for r in parsed.rows:
            deadline = "NA" if r.deadline_s is None else str(r.deadline_s % 2**64)
            lines.append("%-4d %7d %9d %6s %12d %9d %8s %7d %s\n" % (*r[1:7], deadline, r.down_ni, r.router))
    return "".join(lines)


def looks_like(text: str) -> bool:
    words = tuple(text.lstrip("\ufeff\r\n ").split("\n", 1)[0].split())
    return any(words[: len(layout.words)] == layout.words for layout in (NINE, SIX, FOUR))


_L, _G = Semantics.LABEL, Semantics.GAUGE
table = Table(
    name="routers",
    help="routers that this node uses, with their health",
    names=("routers", "lnet.routers", "debugfs.lnet.routers"),
    paths=("sys/kernel/debug/lnet/routers", "proc/sys/lnet/routers"),
    row=RoutersRow,
    key=("router",),
    columns=(
        Column("router", _L, "", Reduce.NONE, "NID of the router"),
        Column("refs", _G, "references", Reduce.NONE, "references held on the router"),
        Column("rtr_refs", _G, "references", Reduce.NONE, "routes that use it"),
        Column("alive_count", Semantics.COUNTER, "changes", Reduce.NONE, "how often it went up or down"),
        Column("state", Semantics.STATE, "", Reduce.LAST, "up or down"),
        Column("last_ping_s", _G, "s", Reduce.NONE, "seconds since the last router ping"),
        Column("ping_sent", Semantics.STATE, "", Reduce.NONE, "1 while a ping is under way"),
        Column("deadline_s", _G, "s", Reduce.NONE, "seconds until the ping times out; negative: it has"),
        Column("down_ni", _G, "interfaces", Reduce.NONE, "interfaces of the router that are down; -1 unknown"),
    ),
    looks_like=looks_like,
    parse=parse,
    render=render,
    layouts=(SIX.name, NINE.name, FOUR.name),
)
