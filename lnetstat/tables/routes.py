"""`routes`: which router leads to which remote net, and whether this node routes. Beside `peers`.

    Routing disabled
    net      hops priority   state router
    tcp1       -1        0      up 10.1.0.1@tcp

Lustre 1.6 to 2.4 print no priority. hops that were not set print as 1 up to 2.7, as 4294967295 in 2.8 and 2.9 (an unsigned -1) and as -1
since 2.10: the middle form is read as -1. The first line says whether THIS node routes: enabled, disabled and, in 2.17, starting or
stopping; it becomes the fact `routing` (lnet_debugfs.c: proc_lnet_routes).
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.model import Column, Parsed, Reduce, Semantics, Table
from lnetstat.tables._rows import Layout, extra_of, integer, is_nid, parse_table

FOUR = Layout("routes of Lustre 1.6-2.4 (4 columns)", ("net", "hops", "state", "router"))
FIVE = Layout("routes of Lustre 2.5-2.17 (5 columns)", ("net", "hops", "priority", "state", "router"))
_ROUTING = re.compile(r"\s*Routing (enabled|disabled|starting|stopping)\s*\Z", re.ASCII)
_NET = re.compile(r"[a-z][a-z0-9]{0,15}\Z", re.ASCII)
UNSET_UNSIGNED = 4294967295


class RoutesRow(NamedTuple):
    net: str
    router: str
    row: int
    hops: int
    priority: int | None
    state: str
    extra: Mapping[str, str] = {}


def _is_net(word: str) -> bool:
    return _NET.match(word) is not None


def parse(text: str) -> Parsed:
    """Parse a whole `routes` text; the fact `routing` is absent where the text lost its first line."""
    first, _, rest = text.removeprefix("\ufeff").lstrip("\r\n").partition("\n")
    routing = _ROUTING.match(first)
    facts: dict[str, int | str] = {"routing": routing[1]} if routing else {}
    body, first_line = (rest, 2) if routing else (text, 1)
    if routing and not rest.strip():
        return Parsed((), FIVE.name, facts | {"header": "missing"}, ())
    seen: dict[tuple[str, str], int] = {}
    expected = "net, hops, state up or down, and the router's NID"
    parsed = parse_table("routes", body, (FIVE, FOUR), _is_net, lambda *row: _row(row[0], row[1], row[2], seen), expected, first_line)
    return parsed._replace(facts=facts | dict(parsed.facts))


def _row(words: list[str], layout: Layout, extra: tuple[str, ...], seen: dict[tuple[str, str], int]) -> RoutesRow:
    net, hops, *middle = words[: len(layout.words)]
    router, state = middle[-1], middle[-2]
    if not _is_net(net) or not is_nid(router) or state not in ("up", "down"):
        raise ValueError(router)
    number = seen[net, router] = seen.get((net, router), -1) + 1
    distance = integer(hops)
    return RoutesRow(
        net,
        router,
        number,
        -1 if distance == UNSET_UNSIGNED else distance,
        integer(middle[0]) if layout is FIVE else None,
        state,
        extra_of(extra, words[len(layout.words) :]),
    )


def render(parsed: Parsed, layout: str) -> str:
    """Return the text that a kernel of this layout prints for the rows: the inverse of parse()."""
    lines = [f"Routing {parsed.facts.get('routing', 'disabled')}\n"]
    if layout == FOUR.name:
        lines += ["%-8s %4s %7s %s\n" % FOUR.words]
        lines += ["%-8s %4d %7s %s\n" % (r.net, r.hops, r.state, r.router) for r in parsed.rows]
    else:
        lines += ["%-8s %4s %8s %7s %s\n" % FIVE.words]
        lines += ["%-8s %4d %8d %7s %s\n" % (r.net, r.hops, r.priority, r.state, r.router) for r in parsed.rows]
    return "".join(lines)


def looks_like(text: str) -> bool:
    lines = [line for line in text.lstrip("\ufeff").split("\n", 4)[:4] if line.strip()]
    if lines and _ROUTING.match(lines[0]):
        return True
    words = tuple(lines[0].split()) if lines else ()
    return words[:5] == FIVE.words or words[:4] == FOUR.words


table = Table(
    name="routes",
    help="routers towards remote nets; whether this node routes",
    names=("routes", "lnet.routes", "debugfs.lnet.routes"),
    paths=("sys/kernel/debug/lnet/routes", "proc/sys/lnet/routes"),
    row=RoutesRow,
    key=("net", "router", "row"),
    columns=(
        Column("net", Semantics.LABEL, "", Reduce.NONE, "remote LNet network"),
        Column("router", Semantics.LABEL, "", Reduce.NONE, "NID of the router"),
        Column("row", Semantics.LABEL, "", Reduce.NONE, "how many rows of this net and router stood before"),
        Column("hops", Semantics.LIMIT, "hops", Reduce.NONE, "configured distance; -1 not set"),
        Column("priority", Semantics.LIMIT, "", Reduce.NONE, "configured priority, 0 is the highest"),
        Column("state", Semantics.STATE, "", Reduce.LAST, "up or down: the router is alive"),
    ),
    looks_like=looks_like,
    parse=parse,
    render=render,
    layouts=(FOUR.name, FIVE.name),
)
