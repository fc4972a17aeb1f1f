"""`cpu`: /proc/stat, the CPU time of the node. Any Linux kernel since 2.6.

    cpu  2255 34 2290 22625563 6290 127 456 0 0 0
    cpu0 1132 34 1441 11311718 3675 127 438 0 0 0

user nice system idle iowait irq softirq steal guest guest_nice, in jiffies of USER_HZ: 1/100 s on every platform Lustre runs on. busy is
user + nice + system + irq + softirq + steal: guest time is in user already, idle and iowait are not busy. The row `cpu` is the sum of all
CPUs. iowait of one CPU may fall (proc(5)). Of the other lines only btime is kept, as a fact.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.errors import ParseError, shown
from lnetstat.model import Column, Parsed, Problem, Reduce, Semantics, Table
from lnetstat.tables._rows import CUT, LONGEST_LINE

LAYOUT = "stat of Linux 2.6 and later"
_ROW = re.compile(r"(cpu[0-9]{0,5})((?:[ \t]+[0-9]{1,20}){7,16})[ \t]*\Z", re.ASCII)
_BTIME = re.compile(r"btime ([0-9]{1,12})\s*\Z", re.ASCII)
_EXTRA = ("guest", "guest_nice")


class CpuRow(NamedTuple):
    cpu: str
    busy: int
    softirq: int
    iowait: int
    extra: Mapping[str, str] = {}


def parse(text: str) -> Parsed:
    """Parse the cpu lines; ParseError when there is none. Fact: btime, the boot time in epoch seconds."""
    rows: list[CpuRow] = []
    problems: list[Problem] = []
    facts: dict[str, int | str] = {}
    lines = text.removeprefix("\ufeff").split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("btime") and number < len(lines) and (booted := _BTIME.match(line)):
            facts["btime"] = int(booted[1])
        if not line.startswith("cpu"):
            continue
        found = _ROW.match(line.rstrip("\r")) if len(line) <= LONGEST_LINE else None
        if found:
            rows.append(_row(found[1], [int(word) for word in found[2].split()]))
        if not found or number == len(lines):
            problems.append(Problem(number, shown(line), CUT if found else "cpuN and at least seven numbers of jiffies"))
    if not rows:
        raise ParseError("cpu", 1, lines[0], "cpu and at least seven numbers of jiffies, as in /proc/stat")
    return Parsed(tuple(rows), LAYOUT, facts, tuple(problems))


def _row(cpu: str, jiffies: list[int]) -> CpuRow:
    user, nice, system, _, iowait, irq, softirq = jiffies[:7]
    steal = jiffies[7] if len(jiffies) > 7 else 0
    extra = {name: str(value) for name, value in zip(_EXTRA, jiffies[8:], strict=False)}
    return CpuRow(cpu, user + nice + system + irq + softirq + steal, softirq, iowait, extra)


def looks_like(text: str) -> bool:
    first = text[:LONGEST_LINE].removeprefix("\ufeff").split("\n", 1)[0]
    return _ROW.match(first.rstrip("\r")) is not None and first.startswith("cpu ")


_JIFFIES = "jiffies (1/100 s)"
table = Table(
    name="cpu",
    help="CPU time of the node: to show that it is not CPU bound",
    names=("proc/stat", "proc.stat", "proc_stat"),
    paths=("proc/stat",),
    row=CpuRow,
    key=("cpu",),
    columns=(
        Column("cpu", Semantics.LABEL, "", Reduce.NONE, "cpu for the sum of all, else cpu0, cpu1, ..."),
        Column("busy", Semantics.COUNTER, _JIFFIES, Reduce.LAST, "time not idle and not waiting for I/O, interrupts included"),
        Column("softirq", Semantics.COUNTER, _JIFFIES, Reduce.LAST, "the part of busy in soft interrupts, where the network stack works"),
        Column("iowait", Semantics.COUNTER, _JIFFIES, Reduce.LAST, "idle time with a disk request outstanding; may fall"),
    ),
    looks_like=looks_like,
    parse=parse,
)
