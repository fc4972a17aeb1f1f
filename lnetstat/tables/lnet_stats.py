"""`stats` of LNet: one line of eleven totals of this node. Beside `peers`; the same in all releases from 1.6 to 2.17.

    0 13 0 179 179 11483 0 5952 6096 212909968 0

Counts are 32 bit and wrap, lengths are 64 bit and hold payload bytes without headers. A routed message counts once, in route_*, and
neither as sent nor as received. Writing anything resets them all: seen as a length that falls; a count that falls while its length does
not has wrapped (lnet_debugfs.c: proc_lnet_stats).
"""

import re
from typing import NamedTuple

from lnetstat.errors import ParseError, shown
from lnetstat.model import Column, Parsed, Problem, Reduce, Semantics, Table

LAYOUT = "stats of LNet, Lustre 1.6-2.17 (11 numbers)"
_LINE = re.compile(r"\s*((?:[0-9]{1,20}[ \t]+){10}[0-9]{1,20})[ \t]*(\r?\n|\r?\Z)", re.ASCII)


class LnetStatsRow(NamedTuple):
    msgs_alloc: int
    msgs_max: int
    errors: int
    send_count: int
    recv_count: int
    route_count: int
    drop_count: int
    send_length: int
    recv_length: int
    route_length: int
    drop_length: int


def parse(text: str) -> Parsed:
    """Parse the line; ParseError unless it holds eleven unsigned numbers."""
    found = _LINE.match(text.removeprefix("\ufeff"))
    if not found:
        line = next((line for line in text.splitlines() if line.strip()), "")
        raise ParseError("lnet_stats", 1, line, "eleven numbers in one line: msgs_alloc msgs_max errors and four counts and four lengths")
    row = LnetStatsRow(*(int(word) for word in found[1].split()))
    problems = []
    if not found[2]:
        problems.append(Problem(1, shown(found[1]), "a line end: the row is kept, but its last number may be cut"))
    if text[found.end() :].strip():
        problems.append(Problem(2, shown(text[found.end() :].strip().split("\n")[0]), "nothing after the one line"))
    return Parsed((row,), LAYOUT, {}, tuple(problems))


def render(parsed: Parsed, layout: str) -> str:
    """Return the line that a kernel prints: the inverse of parse()."""
    return " ".join(str(value) for value in parsed.rows[0]) + "\n"


def looks_like(text: str) -> bool:
    return _LINE.match(text) is not None


def _count(name: str, text: str) -> Column:
    return Column(name, Semantics.COUNTER, "messages", Reduce.LAST, text + " (32 bit, wraps)")


def _length(name: str, text: str) -> Column:
    return Column(name, Semantics.COUNTER, "bytes", Reduce.LAST, text)


table = Table(
    name="lnet_stats",
    help="message and byte totals of this node",
    names=("stats", "lnet.stats", "debugfs.lnet.stats"),
    paths=("sys/kernel/debug/lnet/stats", "proc/sys/lnet/stats"),
    row=LnetStatsRow,
    key=(),
    columns=(
        Column("msgs_alloc", Semantics.GAUGE, "messages", Reduce.MAX, "messages alive now"),
        Column(
            "msgs_max",
            Semantics.GAUGE,
            "messages",
            Reduce.MAX,
            "most messages alive at once (since 2.3 an upper bound)",
        ),
        Column("errors", Semantics.COUNTER, "errors", Reduce.LAST, "errors; practically always 0"),
        _count("send_count", "messages sent"),
        _count("recv_count", "messages received"),
        _count("route_count", "messages routed"),
        _count("drop_count", "messages dropped"),
        _length("send_length", "payload bytes sent"),
        _length("recv_length", "payload bytes received"),
        _length("route_length", "payload bytes routed"),
        _length("drop_length", "payload bytes dropped"),
    ),
    looks_like=looks_like,
    parse=parse,
    render=render,
    layouts=(LAYOUT,),
)
