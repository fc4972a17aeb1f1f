"""`counters`: every lprocfs `stats` file: services, obdfilter, md_stats, osc, mdc, llite, ldlm, exports, osd.

/proc/fs/lustre/ost/OSS/ost_io/stats in Lustre 1.6 to 2.9, step by step below /sys/kernel/debug/lustre since then; the parameter has dots:
ost.OSS.ost_io.stats.

    snapshot_time             1704924117.040584137 secs.nsecs
    start_time                1704403917.045921397 secs.nsecs
    elapsed_time              520199.994662740 secs.nsecs
    read_bytes                1705491 samples [bytes] 1048576 1048576 1788336930816 1875207185567318016
    obd_ping                  6424 samples [usecs] 9 160186 719488 1002003

`NAME COUNT samples [UNIT]`, then nothing, or min max sum, or min max sum sumsq. Only counters that were used since the last reset are
printed: one that is missing is 0. min and max are since the reset. sumsq is 64 bit and may have overflowed into a negative number. Names
may hold a blank (`thandle starting`); Lustre 2.10 prints `statfs` twice in one obdfilter file: the second row is called `statfs_2`.
start_time (the last reset or creation) is printed since 2.15; elapsed_time is the difference of the two and is not kept. The units usecs
and secs of 2.15 are the older usec and sec, and are called so here. For the fraction of snapshot_time see _times.py.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.errors import ParseError, shown
from lnetstat.model import Column, Parsed, Problem, Reduce, Semantics, Table
from lnetstat.tables._rows import CUT, LONGEST_LINE
from lnetstat.tables._times import nanoseconds

MICRO = "stats of Lustre 1.6-2.9 (secs.usecs)"
NANO = "stats of Lustre 2.10-2.14 (secs.nsecs)"
START = "stats of Lustre 2.15-2.17 (start_time)"
BARE = "stats without snapshot_time"
SYNONYMS = {"usecs": "usec", "secs": "sec"}
_TIMES = ("snapshot_time", "start_time", "elapsed_time")
_NUMBERS = re.compile(r"[0-9]{1,20}(?: -?[0-9]{1,20})*\Z", re.ASCII)
_UNIT = re.compile(r"\[([A-Za-z/%]{1,16})\]\Z")
_NAME = re.compile(r"[!-~]{1,80}(?: [!-~]{1,80}){0,3}\Z")
_ROW_EXPECTED = "NAME COUNT samples [UNIT] and none, three or four numbers"


class CountersRow(NamedTuple):
    counter: str
    samples: int
    unit: str
    min: int | None
    max: int | None
    sum: int | None
    sumsq: int | None
    extra: Mapping[str, str] = {}


def parse(text: str) -> Parsed:
    """Parse a whole `stats` file; ParseError when it has neither snapshot_time nor a counter. Facts: snapshot_time, start_time (ns)."""
    rows: list[CountersRow] = []
    problems: list[Problem] = []
    facts: dict[str, int | str] = {}
    lines = text.removeprefix("\ufeff").split("\n")
    units = set()
    for number, line in enumerate(lines, 1):
        words = line.split() if len(line) <= LONGEST_LINE else ["", shown(line)]
        if not words:
            continue
        try:
            if words[0] in _TIMES and "samples" not in words:
                units.add(_read_time(words, facts, complete=number < len(lines)))
            else:
                rows.append(_row(words))
                if number == len(lines):
                    problems.append(Problem(number, shown(line), CUT))
        except ValueError as error:
            problems.append(Problem(number, shown(line), str(error)))
    if not rows and "snapshot_time" not in facts:
        first = next(((n, line) for n, line in enumerate(lines, 1) if line.strip()), (1, ""))
        raise ParseError("counters", *first, f"snapshot_time SECONDS.FRACTION, then {_ROW_EXPECTED}")
    if "snapshot_time" not in facts:
        problems.append(Problem(1, shown(lines[0]), "snapshot_time first: the counters stand, their time does not"))
    layout = BARE if "snapshot_time" not in facts else START if "start_time" in facts else MICRO if "secs.usecs" in units else NANO
    return Parsed(_numbered(rows), layout, facts, tuple(sorted(problems)))


def _row(words: list[str]) -> CountersRow:
    """Take one counter's words apart; ValueError says what was expected."""
    try:
        at = words.index("samples", 2)
    except ValueError:
        raise ValueError(_ROW_EXPECTED) from None
    unit = _UNIT.match(words[at + 1]) if at + 1 < len(words) else None
    numbers = [words[at - 1], *words[at + 2 :]]
    name = " ".join(words[: at - 1])
    if not unit or len(numbers) in (2, 3) or not _NUMBERS.match(" ".join(numbers)) or not _NAME.match(name):
        raise ValueError(_ROW_EXPECTED)
    values: list[int | None] = [int(word) for word in numbers[:5]]
    values += [None] * (5 - len(values))
    extra = {f"column_{at}": word for at, word in enumerate(numbers[5:], 6)}
    return CountersRow(name, values[0] or 0, SYNONYMS.get(unit[1], unit[1]), values[1], values[2], values[3], values[4], extra)


def _read_time(words: list[str], facts: dict[str, int | str], complete: bool) -> str:
    """Put snapshot_time or start_time into `facts` and return its unit; a last line without a line end counts only with its whole unit."""
    unit = words[-1] if words[-1].startswith("secs") else ""
    number = " ".join(words[1:-1] if unit else words[1:])
    if not complete and unit not in ("secs.usecs", "secs.nsecs"):
        raise ValueError(f"{words[0]} SECONDS.FRACTION secs.nsecs: the line is cut")
    try:
        time_ns = nanoseconds(number, unit)
    except ValueError:
        raise ValueError(f"{words[0]} SECONDS.FRACTION secs.usecs or secs.nsecs") from None
    if words[0] != "elapsed_time":
        facts[words[0]] = time_ns
    return unit


def _numbered(rows: list[CountersRow]) -> tuple[CountersRow, ...]:
    """Make the names unique: the second `statfs` of a file becomes `statfs_2`."""
    if len({row.counter for row in rows}) == len(rows):
        return tuple(rows)
    taken: set[str] = set()
    unique = []
    for row in rows:
        name, number = row.counter, 1
        while name in taken:
            number += 1
            name = f"{row.counter}_{number}"
        taken.add(name)
        unique.append(row._replace(counter=name))
    return tuple(unique)


def render(parsed: Parsed, layout: str) -> str:
    """Return the text that Lustre of this layout prints: the inverse of parse() for the rows; times come from the facts."""
    text = "" if layout == BARE else _render_times(parsed.facts, layout)
    plurals = {short: long for long, short in SYNONYMS.items()} if layout == START else {}
    for row in parsed.rows:
        numbers = "".join(f" {value}" for value in (row.min, row.max, row.sum, row.sumsq, *row.extra.values()) if value is not None)
        text += f"{row.counter:<25} {row.samples} samples [{plurals.get(row.unit, row.unit)}]{numbers}\n"
    return text


def _render_times(facts: Mapping[str, int | str], layout: str) -> str:
    snapshot_ns = int(facts.get("snapshot_time", 0))
    seconds, rest = divmod(snapshot_ns, 1_000_000_000)
    if layout == MICRO:  # not zero padded, as those releases print it
        return f"{'snapshot_time':<25} {seconds}.{rest // 1000} secs.usecs\n"
    text = f"{'snapshot_time':<25} {seconds}.{rest:09} secs.nsecs\n"
    if layout == START:
        start_ns = int(facts.get("start_time", 0))
        for name, time_ns in (("start_time", start_ns), ("elapsed_time", max(0, snapshot_ns - start_ns))):
            text += f"{name:<25} {time_ns // 1_000_000_000}.{time_ns % 1_000_000_000:09} secs.nsecs\n"
    return text


def looks_like(text: str) -> bool:
    """True when the first line is `snapshot_time` without a colon (brw_stats has one) and a unit, or a counter's row."""
    words = text[:LONGEST_LINE].lstrip("\ufeff\r\n\t ").split("\n", 1)[0].split()
    if words[:1] == ["snapshot_time"]:
        return len(words) >= 3 and words[1][:1].isdigit() and words[-1].startswith("secs")
    at = words.index("samples") if "samples" in words[2:] else 0
    return at >= 2 and words[at - 1].isdecimal() and words[at + 1 : at + 2][:1] != [] and _UNIT.match(words[at + 1]) is not None


_C, _G = Semantics.COUNTER, Semantics.GAUGE
table = Table(
    name="counters",
    help="request and byte counters of services, targets and imports",
    names=(
        "ost.OSS.*.stats",
        "mds.MDS.*.stats",
        "mgs.*.stats",
        "mgc.*.stats",
        "ldlm.*.stats",
        "obdfilter.*.stats",
        "osd-*.stats",
        "mdt.*.stats",
        "osc.*.stats",
        "mdc.*.stats",
        "osp.*.stats",
        "lwp.*.stats",
        "lod.*.stats",
        "llite.*.stats",
        "*.md_stats",
    ),
    paths=(
        "sys/kernel/debug/lustre/ost/OSS/*/stats",
        "proc/fs/lustre/ost/OSS/*/stats",
        "sys/kernel/debug/lustre/mds/MDS/*/stats",
        "proc/fs/lustre/mds/MDS/*/stats",
        "sys/kernel/debug/lustre/mgs/MGS/mgs/stats",
        "proc/fs/lustre/mgs/MGS/mgs/stats",
        "sys/kernel/debug/lustre/obdfilter/*/stats",
        "proc/fs/lustre/obdfilter/*/stats",
        "sys/kernel/debug/lustre/osc/*/stats",
        "proc/fs/lustre/osc/*/stats",
        "sys/kernel/debug/lustre/mdc/*/stats",
        "proc/fs/lustre/mdc/*/stats",
    ),
    row=CountersRow,
    key=("counter",),
    columns=(
        Column("counter", Semantics.LABEL, "", Reduce.NONE, "the counter's name; one that is not there was never used: 0"),
        Column("samples", _C, "events", Reduce.LAST, "how often since the reset: requests handled, pings received"),
        Column("unit", Semantics.LABEL, "", Reduce.NONE, "what min, max and sum count: usec, sec, reqs, bytes, pages, bufs, locks"),
        Column("min", _G, "unit", Reduce.NONE, "smallest value since the reset"),
        Column("max", _G, "unit", Reduce.NONE, "largest value since the reset"),
        Column("sum", _C, "unit", Reduce.LAST, "sum of all values since the reset"),
        Column("sumsq", _C, "unit squared", Reduce.NONE, "sum of their squares; may have overflowed, also below zero"),
    ),
    looks_like=looks_like,
    parse=parse,
    render=render,
    layouts=(MICRO, NANO, START, BARE),
)
