"""`kgnilnd`: totals of the LND for Cray's Gemini and Aries networks, /proc/kgnilnd/stats. Lustre 2.4 to master.

    time: 1554894618.892172
    npeers: 15
    RDMAQ nstalls: 0
    dev n_schedule: -1609036116
    SMSG tx_bytes: 75792495969

`KEY: VALUE` lines, keys with blanks. The column is the key in small letters with `_` for blanks: smsg_tx_bytes; keys that are not listed
below stay in `extra`. Counters of 32 bit wrap into negative numbers. `time` is the fact time (ns); its fraction is not zero padded up to
2.12 (see _times.py). No capture of ours: the layout rests on one public sample and the source.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.errors import ParseError, shown
from lnetstat.model import Column, Parsed, Problem, Reduce, Semantics, Table
from lnetstat.tables._rows import CUT, LONGEST_LINE
from lnetstat.tables._times import nanoseconds

LAYOUT = "kgnilnd stats of Lustre 2.4 and later"
_LINE = re.compile(r"([A-Za-z][A-Za-z0-9_ ]{0,40}):[ \t]*(-?[0-9]{1,20}(?:\.[0-9]{1,9})?)[ \t]*\r?\Z", re.ASCII)


class KgnilndRow(NamedTuple):
    ntx: int | None = None
    npeers: int | None = None
    nconns: int | None = None
    neps: int | None = None
    ndgrams: int | None = None
    n_eager_allocs: int | None = None
    gart_map_bytes: int | None = None
    rdmaq_bytes_auth: int | None = None
    rdmaq_bytes_left: int | None = None
    rdmaq_nstalls: int | None = None
    dev_mutex_delay: int | None = None
    dev_n_yield: int | None = None
    dev_n_schedule: int | None = None
    smsg_fast_try: int | None = None
    smsg_fast_ok: int | None = None
    smsg_fast_block: int | None = None
    smsg_ntx: int | None = None
    smsg_tx_bytes: int | None = None
    smsg_nrx: int | None = None
    smsg_rx_bytes: int | None = None
    rdma_ntx: int | None = None
    rdma_tx_bytes: int | None = None
    rdma_nrx: int | None = None
    rdma_rx_bytes: int | None = None
    extra: Mapping[str, str] = {}


def parse(text: str) -> Parsed:
    """Parse the lines into one row; ParseError unless some key that this LND prints was found. Fact: time (ns)."""
    values: dict[str, int] = {}
    extra: dict[str, str] = {}
    problems: list[Problem] = []
    facts: dict[str, int | str] = {}
    lines = text.removeprefix("\ufeff").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _LINE.match(line) if len(line) <= LONGEST_LINE else None
        if not found:
            problems.append(Problem(number, shown(line), "KEY: NUMBER"))
            continue
        if number == len(lines):
            problems.append(Problem(number, shown(line), CUT))
        column = found[1].lower().replace(" ", "_")
        if column == "time":
            _read_time(found[2], number, facts, problems)
        elif column in KgnilndRow._fields and "." not in found[2]:
            values[column] = int(found[2])
        else:
            extra[found[1]] = found[2]
    if not values:
        first = next((line for line in lines if line.strip()), "")
        raise ParseError("kgnilnd", 1, first, "lines such as 'npeers: 15' and 'SMSG ntx: 177614377'")
    return Parsed((KgnilndRow(**values, extra=extra),), LAYOUT, facts, tuple(problems))


def _read_time(word: str, number: int, facts: dict[str, int | str], problems: list[Problem]) -> None:
    try:
        facts["time"] = nanoseconds(word)
    except ValueError:
        problems.append(Problem(number, shown(word), "time: SECONDS.FRACTION"))


def looks_like(text: str) -> bool:
    head = text[:LONGEST_LINE]
    return (
        re.search(r"^npeers: -?[0-9]", head, re.MULTILINE) is not None
        and re.search(r"^(?:nconns|ndgrams): ", head, re.MULTILINE) is not None
    )


_NOW = ("ntx", "npeers", "nconns", "neps", "ndgrams", "gart_map_bytes", "rdmaq_bytes_auth", "rdmaq_bytes_left")


def _column(name: str) -> Column:
    unit = "bytes" if "bytes" in name else "events"
    if name in _NOW:
        return Column(name, Semantics.GAUGE, unit.replace("events", "objects"), Reduce.LAST, "how many there are now")
    return Column(name, Semantics.COUNTER, unit, Reduce.LAST, "total since the LND was loaded; may wrap below zero")


table = Table(
    name="kgnilnd",
    help="totals of the LND for Cray Gemini and Aries",
    names=("kgnilnd", "kgnilnd.stats", "kgnilnd/stats", "proc/kgnilnd/stats"),
    paths=("proc/kgnilnd/stats",),
    row=KgnilndRow,
    key=(),
    columns=tuple(_column(name) for name in KgnilndRow._fields if name != "extra"),
    looks_like=looks_like,
    parse=parse,
)
