"""`llstat`: the output of Lustre's llstat, which reads a `stats` file every few seconds. Better feed the stats file itself.

Up to 2.14 `last` is the SUM of the interval's values; since 2.15 it is their MEAN, and nothing but the header words tells:

    ost.OSS.ost_io.stats @ 1700000010.254000
    Name                      Cur.Count  Cur.Rate   #Events   Unit           last        min          avg        max    stddev
    req_waittime              11         1          22        [usec]          351          8        30.00         57     15.91

`Cur.Count` (in Lustre 1.6 broken over two lines): sum. `Count`, or in narrow windows no count at all: mean. The first sample has only
names and counts: these rows have `events` alone. With -g one line per interval holds groups `NAME_rq count rate total [reqs]   NAME last
rate sum [unit]`; its seconds count from the first line on, so such rows have no time but `seconds` in extra. rate is cut to a whole number:
0 for slow events. After a counter reset llstat prints negative differences as huge unsigned numbers: they are negative here. Rows
start_time and elapsed_time are an accident of llstat and are left out.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lnetstat.errors import ParseError, shown
from lnetstat.model import Column, Parsed, Problem, Reduce, Semantics, Table
from lnetstat.tables._rows import CUT
from lnetstat.tables._times import nanoseconds
from lnetstat.tables.counters import SYNONYMS

SUM = "llstat of Lustre 1.4-2.14 (last = sum)"
MEAN = "llstat of Lustre 2.15-2.17 (last = mean)"
GRAPH = "llstat -g"
LONGEST_LINE = 65536  # with -g one line holds every counter
_HEAD = 4096
_AFTER_UNIT = ("last", "min", "avg", "max", "stddev")
_NO_COUNTERS = ("start_time", "elapsed_time")
_TITLE = re.compile(r"\S*llstat\S*: ")
_HEADER = re.compile(r"^Name\s+(?:Cur\.|Count\s|Rate\s+#Events)", re.MULTILINE)
_GRAPH_HEADER = "Timestamp [Name Count Rate Total Unit]"
_END_OF_INTERVAL = re.compile(r"(?:^|.*\s)@ ([0-9]{1,12}\.[0-9]{1,9})\s*\Z")
_WHOLE = re.compile(r"-?[0-9]{1,20}\Z", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,9})?\Z", re.ASCII)
_GROUP = re.compile(
    r"(\S{1,80})_rq (\d{1,20}) (\d{1,20}) (\d{1,20}) \[reqs\](?:\s+\1 (\d{1,20}) (\d{1,20}) (\d{1,20}) \[(\w{1,16})\])?", re.ASCII
)


class LlstatRow(NamedTuple):
    counter: str
    snapshot_time_ns: int | None
    count: int | None  # type: ignore[assignment]  # llstat's word hides tuple.count, which nobody calls on a row
    rate: int | None
    events: int
    unit: str | None
    last: int | None
    min: int | None
    avg: float | None
    max: int | None
    stddev: float | None
    extra: Mapping[str, str] = {}


class _Reading:
    """What has been understood so far of one text."""

    def __init__(self, text: str) -> None:
        self.rows: list[LlstatRow] = []
        self.problems: list[Problem] = []
        self.time_ns: int | None = None
        self.counts = 0  # columns between the name and the unit; 0 before the first header
        self.after_unit: tuple[str, ...] = ()
        self.graph = _GRAPH_HEADER in text
        self.sums = "Cur." in text or ("STATS on" in text[:_HEAD] and not re.search(r"^Name\s+(?:Count\s|Rate\s)", text, re.MULTILINE))

    def read(self, line: str) -> None:
        words = line.split()
        if ended := _END_OF_INTERVAL.match(line):
            self.time_ns = nanoseconds(ended[1])
        elif words[0] == "Name" and ("last" in words or "Cur." in words):
            self.counts = 3 if "Cur." in words or "Cur.Count" in words or "Count" in words else 2
            self.after_unit = tuple(word for word in _AFTER_UNIT if word in words) or _AFTER_UNIT
        elif words[0] == "snapshot_time" and len(words) == 2:
            self.time_ns = nanoseconds(words[1])
        elif not _is_frame(line, words):
            row = self._row(words)
            if row and row.counter not in _NO_COUNTERS:
                self.rows.append(row)

    def _row(self, words: list[str]) -> LlstatRow:
        if not self.counts:
            if len(words) < 2:
                raise ValueError("NAME COUNT")
            name, events = " ".join(words[:-1]), words[-1]
            events = events.split(".")[0] if name in _NO_COUNTERS else events
            return LlstatRow(name, self.time_ns, None, None, _whole(events), None, None, None, None, None, None)
        at = next((at for at, word in enumerate(words) if word.startswith("[") and word.endswith("]")), len(words))
        after = words[at + 1 :]
        if at <= self.counts or len(after) not in (0, len(self.after_unit)):
            raise ValueError(f"NAME, {self.counts} numbers, [UNIT], {' '.join(self.after_unit)}")
        numbers = [_whole(word) for word in words[at - self.counts : at]]
        values = dict(zip(self.after_unit, after, strict=False))
        unit = words[at][1:-1] if at < len(words) else None
        return LlstatRow(
            counter=" ".join(words[: at - self.counts]),
            snapshot_time_ns=self.time_ns,
            count=numbers[0] if self.counts == 3 else None,
            rate=numbers[-2],
            events=numbers[-1],
            unit=SYNONYMS.get(unit, unit) if unit else None,
            last=_whole_or_none(values.get("last")),
            min=_whole_or_none(values.get("min")),
            avg=_decimal_or_none(values.get("avg")),
            max=_whole_or_none(values.get("max")),
            stddev=_decimal_or_none(values.get("stddev")),
        )

    def read_graph(self, line: str) -> None:
        seconds = line.split(None, 1)[0]
        groups = list(_GROUP.finditer(line)) if _WHOLE.match(seconds) else []
        if not groups or _GROUP.sub("", line).split() != [seconds]:
            raise ValueError("SECONDS and groups 'NAME_rq count rate total [reqs]   NAME last rate sum [unit]'")
        for group in groups:
            count, rate, events = (_whole(word) for word in group.group(2, 3, 4))
            unit = SYNONYMS.get(group[8], group[8]) if group[8] else "reqs"
            last = _whole(group[5]) if group[5] else None
            extra = {"seconds": seconds} | ({"value_rate": group[6], "value_sum": group[7]} if group[5] else {})
            self.rows.append(LlstatRow(group[1], None, count, rate, events, unit, last, None, None, None, None, extra))


def parse(text: str) -> Parsed:
    """Parse one or many intervals; a row's key is the counter and its interval's end. Fact `last`: sum or mean, if told."""
    if not looks_like(text):
        first = next((line for line in text.split("\n") if line.strip()), "")
        raise ParseError("llstat", 1, first, "llstat's title or its header 'Name ... #Events Unit last ...'")
    reading = _Reading(text)
    lines = text.removeprefix("\ufeff").split("\n")
    body = _body_begins(lines)
    in_graph = False
    for number, line in enumerate(lines[body:], body + 1):
        if not line.strip() or set(line.strip()) == {"-"}:
            continue
        if line.startswith(_GRAPH_HEADER):
            in_graph = True
            continue
        try:
            if len(line) > LONGEST_LINE:
                raise ValueError("a line of llstat")
            reading.read_graph(line) if in_graph else reading.read(line)
            if number == len(lines):
                reading.problems.append(Problem(number, shown(line), CUT))
        except ValueError as error:
            reading.problems.append(Problem(number, shown(line), str(error)))
    layout = GRAPH if reading.graph else SUM if reading.sums else MEAN
    facts: dict[str, int | str] = {"last": "sum" if reading.sums else "mean"}
    if reading.graph and not body:
        facts = {}
        reading.problems.insert(
            0, Problem(1, shown(lines[0]), "llstat's title first: without it nobody knows if `last` is a sum or a mean")
        )
    return Parsed(tuple(reading.rows), layout, facts, tuple(reading.problems))


def _body_begins(lines: list[str]) -> int:
    """Return the index of the first line that is not part of the title, which is wrapped in several ways."""
    if not any(_TITLE.match(line) for line in lines[:3]):
        return 0
    for at, line in enumerate(lines):
        if line.startswith(("snapshot_time", "Name", "Timestamp")) or _END_OF_INTERVAL.match(line):
            return at
    return len(lines)


def _is_frame(line: str, words: list[str]) -> bool:
    """True for lines without numbers: the file's name, which newer releases put on a line of its own, and the old header's second line."""
    return (len(words) == 1 and not line[:1].isspace() and "." in line) or words[:4] == ["Count", "Rate", "Events", "Unit"]


def _whole(word: str) -> int:
    if not _WHOLE.match(word):
        raise ValueError(f"a whole number where '{word[:20]}' stands")
    number = int(word)
    return number - 2**64 if number >= 2**63 else number


def _whole_or_none(word: str | None) -> int | None:
    return None if word is None else _whole(word)


def _decimal_or_none(word: str | None) -> float | None:
    if word is None:
        return None
    if not _DECIMAL.match(word):
        raise ValueError(f"a number where '{word[:20]}' stands")
    return float(word)


def looks_like(text: str) -> bool:
    head = text[:_HEAD].removeprefix("\ufeff").lstrip()
    return _TITLE.match(head) is not None or _HEADER.search(head) is not None or _GRAPH_HEADER in head


_L, _C, _G = Semantics.LABEL, Semantics.COUNTER, Semantics.GAUGE
table = Table(
    name="llstat",
    help="intervals printed by llstat; feed the stats file itself where you have it",
    names=("llstat", "llstat*"),
    paths=(),
    row=LlstatRow,
    key=("counter", "snapshot_time_ns"),
    columns=(
        Column("counter", _L, "", Reduce.NONE, "the counter's name; llstat cuts it to 20 or 23 letters in narrow windows"),
        Column("snapshot_time_ns", _L, "ns", Reduce.NONE, "end of the interval, by the server's clock; llstat -g prints none"),
        Column("count", _G, "events", Reduce.NONE, "events in the interval"),
        Column("rate", _G, "events/s", Reduce.NONE, "count by the interval's length, cut to a whole number"),
        Column("events", _C, "events", Reduce.LAST, "events since the reset"),
        Column("unit", _L, "", Reduce.NONE, "what last, min, avg and max count"),
        Column("last", _G, "unit", Reduce.NONE, "sum (up to 2.14) or mean (since 2.15) of the interval's values: see the fact last"),
        Column("min", _G, "unit", Reduce.NONE, "smallest value since the reset"),
        Column("avg", _G, "unit", Reduce.NONE, "mean since the reset"),
        Column("max", _G, "unit", Reduce.NONE, "largest value since the reset"),
        Column("stddev", _G, "unit", Reduce.NONE, "standard deviation since the reset"),
    ),
    looks_like=looks_like,
    parse=parse,
)
