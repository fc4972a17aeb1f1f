"""`tunables`: parameters of one value: timeout, ping_interval, suppress_pings, module parameters, versions, CPU partitions.

Two forms. `NAME=VALUE` lines, as `lctl get_param` prints them and as our captures list module parameters (a long value stands on the next
line); or the bare text of one file below /sys/module/*/parameters, /sys/fs/lustre, /proc/sys/lustre, whose name the snapshot gives:

    timeout=100
    ping_interval=25
    ksocklnd.peer_credits=8

A value that is a plain number is an int, everything else text; a value may be empty. Releases: all.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.errors import ParseError, shown
from lnetstat.model import Column, Parsed, Problem, Reduce, Semantics, Table
from lnetstat.tables._rows import CUT

LINES = "NAME=VALUE lines"
BARE = "one bare value"
LONGEST_VALUE = 65536
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_.@:+*<>/-]{0,200})=(.*)\Z", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"(?:0|-?[1-9][0-9]{0,19})\Z", re.ASCII)
_COMPLAINT = re.compile(r"error: |[\w./-]{1,40}: .{0,200}: (?:No such file|Permission denied|Cannot|Input/output|Operation not)")


class TunablesRow(NamedTuple):
    name: str  # "" for a bare value until `named` gives it the snapshot's name
    value: int | str
    extra: Mapping[str, str] = {}


def parse(text: str) -> Parsed:
    """Parse NAME=VALUE lines or one bare value, which may be empty; ParseError for an error message of a tool and what is not printable."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    first = next((line for line in plain.split("\n") if line.strip()), "")
    if _COMPLAINT.match(first):
        raise ParseError("tunables", 1, first, "a value, not an error message: read the parameter again")
    return _parse_lines(plain) if _LINE.match(first) else _parse_bare(plain)


def _parse_bare(text: str) -> Parsed:
    value = text.strip()
    if len(value) > LONGEST_VALUE or not value.replace("\n", "").replace("\t", "").isprintable():
        raise ParseError("tunables", 1, value.split("\n", 1)[0], f"one printable value of at most {LONGEST_VALUE} characters")
    problems = () if not text or text.endswith("\n") else (Problem(1, shown(value), CUT),)
    return Parsed((TunablesRow("", _value(value)),), BARE, {}, problems)


def _parse_lines(text: str) -> Parsed:
    rows: list[TunablesRow] = []
    problems: list[Problem] = []
    below = False  # lctl puts a long value, and one of several lines, below its name
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        found = _LINE.match(line.strip()) if len(line) <= LONGEST_VALUE else None
        if found and found[2].replace("\t", " ").isprintable():
            rows.append(TunablesRow(found[1], _value(found[2].strip())))
            below = not found[2].strip()
        elif below and len(line) <= LONGEST_VALUE and line.strip().replace("\t", " ").isprintable():
            rows[-1] = rows[-1]._replace(value=_value(f"{rows[-1].value}\n{line.strip()}".strip()))
        elif line.strip():
            problems.append(Problem(number, shown(line), "NAME=VALUE"))
        if number == len(lines) and line.strip():
            problems.append(Problem(number, shown(line), CUT))
    if not rows:
        raise ParseError("tunables", 1, lines[0], "NAME=VALUE lines of printable text")
    return Parsed(tuple(rows), LINES, {}, tuple(problems))


def _value(word: str) -> int | str:
    return int(word) if _NUMBER.match(word) else word


def named(parsed: Parsed, snapshot_name: str) -> Parsed:
    """Give a bare value the name of its snapshot, and the parameters in `params.MODULE` the module's name: ksocklnd.peer_credits."""
    name = snapshot_name.removeprefix("debugfs.lnet.")
    module = name.removeprefix("params.") + "." if name.startswith("params.") else ""
    rows = (row._replace(name=module + row.name if row.name else name) for row in parsed.rows)
    return parsed._replace(rows=tuple(rows))


def render(parsed: Parsed, layout: str) -> str:
    """Return NAME=VALUE lines, or the bare value of the first row: the inverse of parse()."""
    if layout == BARE:
        return f"{parsed.rows[0].value}\n"
    return "".join(f"{row.name}=" + ("\n" if "\n" in str(row.value) else "") + f"{row.value}\n" for row in parsed.rows)


def looks_like(text: str) -> bool:
    """True when every line is NAME=VALUE; a bare value is known by its snapshot's name only."""
    lines = [line for line in text[:LONGEST_VALUE].removeprefix("\ufeff").split("\n") if line.strip()]
    return bool(lines) and all(_LINE.match(line.strip()) for line in lines)


table = Table(
    name="tunables",
    help="parameters of one value: timeouts, ping interval, module parameters, versions",
    names=(
        "tunables",
        "timeout",
        "ldlm_timeout",
        "ping_interval",
        "evict_multiplier",
        "suppress_pings",
        "pinger",
        "version",
        "at_*",
        "health_check",
        "jobid_var",
        "memused*",
        "lnet_memused",
        "lnet_lnd_timeout",
        "cpu_partition_*",
        "portal_rotor",
        "*.idle_timeout",
        "*.num_exports",
        "*.threads_*",
        "params.*",
        "lnet.*",
        "libcfs.*",
        "ptlrpc.*",
        "ksocklnd.*",
        "ko2iblnd.*",
        "kgnilnd.*",
        "kfilnd.*",
        "kefalnd.*",
        "debugfs.lnet.*",
    ),
    paths=("sys/fs/lustre/timeout", "proc/sys/lustre/timeout", "sys/fs/lustre/ping_interval", "sys/fs/lustre/version"),
    row=TunablesRow,
    key=("name",),
    columns=(
        Column("name", Semantics.LABEL, "", Reduce.NONE, "the parameter: timeout, ksocklnd.peer_credits"),
        Column("value", Semantics.LIMIT, "", Reduce.NONE, "its value as set: a whole number, or text"),
    ),
    looks_like=looks_like,
    parse=parse,
    render=render,
    layouts=(LINES, BARE),
)
