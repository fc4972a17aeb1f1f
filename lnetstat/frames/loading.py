"""From a source to DataFrames. Recordings take a short way: of a large table only the lines that changed are parsed again."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lnetstat.errors import SourceError
from lnetstat.frames.columns import INT64_MAX, INT64_MIN, Labels, Values, columns_of
from lnetstat.model import Sample, Snapshot, Source, State, Table
from lnetstat.recording import Change
from lnetstat.sources.collectl import Recorded
from lnetstat.tables import builtin_tables, samples, table_named

# Tables of one header line and then one row per line, which means the same whatever stands in the other lines.
ROW_PER_LINE = frozenset({"peers", "nis"})
READABLE = (State.OK, State.PARTIAL)
WORST = "worst"


class Frames(NamedTuple):
    """Everything that a source held.

    `tables`: by table name, one line per row and sample: host and instance (categorical), time_ns (int64, epoch), low_water_reset (bool),
    then the table's columns: numbers as int64, or Int64 where a value may be missing, labels as categorical, mixed values as objects.
    `facts`: host, table, instance, time_ns, fact, value (object): what stands outside the rows.
    `states`: one line per file and read: host, name, time_ns, read_ns, state (ok, absent, …; failed also where the text could not be
    parsed, worst where only the worst rows of a table were recorded), errno, problems (skipped lines).
    Lines stand in the order in which the source gave them. `frame.attrs["units"]` of each table names its columns' units.
    """

    tables: dict[str, pd.DataFrame]
    facts: pd.DataFrame
    states: pd.DataFrame


def load(
    source: Source,
    *,
    tables: Collection[str] | None = None,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    hosts: Collection[str] | None = None,
) -> Frames:
    """Read a source to its end. `tables`: names of the tables wanted; begin_ns <= time_ns < end_ns; None is everything.

    Errors are the source's (LnetstatError); a text that cannot be parsed is a line in `states`, not an error.
    """
    builder = _Builder(tables)
    if isinstance(source, Recorded):
        _load_recording(builder, source.changes(begin_ns=begin_ns, end_ns=end_ns, hosts=hosts))
        return builder.finish()
    for snapshot in source.snapshots():
        in_time = (begin_ns is None or snapshot.time_ns >= begin_ns) and (end_ns is None or snapshot.time_ns < end_ns)
        if in_time and (hosts is None or snapshot.host in hosts) and builder.wants(snapshot.name):
            builder.add(snapshot, builder.parse(snapshot))
    return builder.finish()


def from_changes(changes: Iterable[Change], *, tables: Collection[str] | None = None) -> Frames:
    """Return the frames of a stretch of a recording, as a follower reads it. `tables`: names of the tables wanted; None is all."""
    builder = _Builder(tables)
    _load_recording(builder, changes)
    return builder.finish()


class _Part(NamedTuple):
    """One sample, its rows turned into columns."""

    sample: Sample
    columns: list[Values]

    @property
    def row_count(self) -> int:
        return len(self.columns[0].values) if self.columns else 0


def _load_recording(builder: "_Builder", changes: Iterable[Change]) -> None:
    last: dict[tuple[str, str], list[_Part]] = {}
    for change in changes:
        snapshot = change.snapshot
        if not builder.wants(snapshot.name):
            continue
        key = snapshot.host, snapshot.name
        parts = last.get(key)
        if parts is None or snapshot.state not in READABLE or not _bring_up_to_date(builder, parts, change):
            parts = builder.parse(snapshot._replace(text=change.text()))
        builder.add(snapshot, parts)
        if snapshot.state in READABLE:
            last[key] = parts
        else:
            last.pop(key, None)


def _bring_up_to_date(builder: "_Builder", parts: list[_Part], change: Change) -> bool:
    """Change the parts of the previous snapshot into those of this one; False where only parsing the whole text is safe."""
    if change.changed is None:
        return False
    if not change.changed:
        return True
    if not _is_row_per_line(parts, len(change.lines)) or change.changed[0] == 0:
        return False
    part = parts[0]
    text = b"".join([change.lines[0], *(change.lines[at] for at in change.changed)]).decode("utf-8", "surrogateescape")
    changed_parts = builder.parse(change.snapshot._replace(text=text))
    if not _is_row_per_line(changed_parts, len(change.changed) + 1) or changed_parts[0].sample.table != part.sample.table:
        return False
    positions = np.array(change.changed) - 1
    table = builder.table(part.sample.table)
    for at, name in enumerate(table.names):
        if name in table.keys and not np.array_equal(part.columns[at].values[positions], changed_parts[0].columns[at].values):
            return False
    for at, name in enumerate(table.names):
        if name != "row":  # counts the NID's rows before this one, which only the whole text tells; the NIDs are still the same
            part.columns[at] = _replaced(part.columns[at], positions, changed_parts[0].columns[at])
    return True


def _is_row_per_line(parts: list[_Part], line_count: int) -> bool:
    """True where a text of so many lines was a header and a row in each other line, and nothing else."""
    if len(parts) != 1:
        return False
    sample = parts[0].sample
    return (
        sample.table in ROW_PER_LINE
        and sample.state in READABLE
        and parts[0].row_count == line_count - 1
        and not sample.problems
        and not sample.facts
    )


def _replaced(column: Values, positions: Any, fresh: Values) -> Values:
    """Put fresh values into the column, in place; return it."""
    missing = column.missing
    if missing is None and fresh.missing is not None:
        missing = np.zeros(len(column.values), np.bool_)
    column.values[positions] = fresh.values
    if missing is not None:
        missing[positions] = False if fresh.missing is None else fresh.missing
    return Values(column.values, missing)


class _Builder:
    """Collects samples; `finish` makes the frames."""

    def __init__(self, wanted: Collection[str] | None) -> None:
        self._wanted = wanted
        self._wants: dict[str, bool] = {}
        self._hosts, self._instances, self._names = Labels(), Labels(), Labels()
        self._tables: dict[str, _TableRows] = {}
        self._facts: list[tuple[int, str, int, int, str, int | str]] = []
        self._states: list[tuple[int, int, int, int, str, int, int]] = []

    def wants(self, name: str) -> bool:
        """False where the snapshot's name alone says that it holds no table that is wanted."""
        if name not in self._wants:
            table = table_named(name)
            self._wants[name] = self._wanted is None or table is None or table.name in self._wanted
        return self._wants[name]

    def table(self, name: str) -> "_TableRows":
        if name not in self._tables:
            self._tables[name] = _TableRows(builtin_tables()[name])
        return self._tables[name]

    def parse(self, snapshot: Snapshot) -> list[_Part]:
        """Return the samples of a snapshot with their rows as columns."""
        return [
            _Part(sample, self.table(sample.table).convert(sample.rows) if sample.rows else [])
            for sample in samples(snapshot)
            if self._wanted is None or sample.table in self._wanted or not sample.table
        ]

    def add(self, snapshot: Snapshot, parts: list[_Part]) -> None:
        """Append one snapshot whose samples are `parts`; their times and flags are the snapshot's.

        Raises SourceError for a stamp that does not fit 64 bits: our own sources give none, others may.
        """
        if not all(INT64_MIN <= number <= INT64_MAX for number in (snapshot.time_ns, snapshot.read_ns, snapshot.errno)):
            raise SourceError(
                f"{snapshot.host}: {snapshot.name}: time {snapshot.time_ns} ns, read {snapshot.read_ns} ns, errno {snapshot.errno}: "
                "expected numbers of 64 bits: the source has to leave it out"
            )
        host = self._hosts.code(snapshot.host)
        for part in parts:
            instance = self._instances.code(part.sample.instance)
            if part.columns:
                origin = _Origin(host, instance, snapshot.time_ns, "low_water_reset" in snapshot.flags, part.row_count)
                self.table(part.sample.table).append(origin, part.columns)
            for fact, value in part.sample.facts.items():
                self._facts.append((host, part.sample.table, instance, snapshot.time_ns, fact, value))
        failed = snapshot.state in READABLE and any(part.sample.state is State.FAILED for part in parts)
        state = State.FAILED.value if failed else WORST if "worst" in snapshot.flags else snapshot.state.value
        problems = sum(len(part.sample.problems) for part in parts)
        name = self._names.code(snapshot.name)
        self._states.append((host, name, snapshot.time_ns, snapshot.read_ns, state, snapshot.errno, problems))

    def finish(self) -> Frames:
        tables = {name: rows.finish(self._hosts, self._instances) for name, rows in self._tables.items() if rows.count}
        return Frames(tables, self._facts_frame(), self._states_frame())

    def _facts_frame(self) -> pd.DataFrame:
        host, table, instance, time_ns, fact, value = _transposed(self._facts, 6)
        values = np.empty(len(value), object)
        values[:] = value
        columns = {
            "host": self._hosts.categorical(np.array(host, np.int32)),
            "table": pd.Categorical(np.array(table, object)),
            "instance": self._instances.categorical(np.array(instance, np.int32)),
            "time_ns": np.array(time_ns, np.int64),
            "fact": pd.Categorical(np.array(fact, object)),
            "value": pd.Series(values, dtype=object),
        }
        return pd.DataFrame(columns)

    def _states_frame(self) -> pd.DataFrame:
        host, name, time_ns, read_ns, state, errno, problems = _transposed(self._states, 7)
        columns = {
            "host": self._hosts.categorical(np.array(host, np.int32)),
            "name": self._names.categorical(np.array(name, np.int32)),
            "time_ns": np.array(time_ns, np.int64),
            "read_ns": np.array(read_ns, np.int64),
            "state": pd.Series(list(state), dtype=str),
            "errno": np.array(errno, np.int64),
            "problems": np.array(problems, np.int64),
        }
        return pd.DataFrame(columns)


def _transposed(lines: list[Any], width: int) -> Iterator[tuple[Any, ...]]:
    return iter(zip(*lines, strict=True)) if lines else iter([()] * width)


class _Origin(NamedTuple):
    """Where the rows of one sample come from, and how many they are; host and instance are label codes."""

    host: int
    instance: int
    time_ns: int
    low_water_reset: bool
    row_count: int


class _TableRows:
    """The rows of one table, of all hosts."""

    def __init__(self, table: Table) -> None:
        self._columns = columns_of(table)
        self._units = {column.name: column.unit for column in table.columns if column.unit}
        self._origins: list[_Origin] = []
        self.names = tuple(self._columns)
        self.keys = frozenset(table.key) - {"row"}
        self.count = 0

    def convert(self, rows: tuple[Any, ...]) -> list[Values]:
        """Return the rows as columns."""
        fields = rows[0]._fields
        by_name = dict(zip(fields, zip(*rows, strict=True), strict=True))
        return [column.convert(by_name[name]) for name, column in self._columns.items()]

    def append(self, origin: _Origin, columns: list[Values]) -> None:
        for column, values in zip(self._columns.values(), columns, strict=True):
            column.extend(values)
        self._origins.append(origin)
        self.count += origin.row_count

    def finish(self, hosts: Labels, instances: Labels) -> pd.DataFrame:
        """Return the DataFrame; the columns are emptied one by one, so that none is there twice for long."""
        host, instance, time_ns, reset, counts = (np.array(values) for values in zip(*self._origins, strict=True))
        made: dict[str, Any] = {
            "host": hosts.categorical(np.repeat(host.astype(np.int32), counts)),
            "instance": instances.categorical(np.repeat(instance.astype(np.int32), counts)),
            "time_ns": np.repeat(time_ns.astype(np.int64), counts),
            "low_water_reset": np.repeat(reset, counts),
        }
        made.update({name: column.finish() for name, column in self._columns.items()})
        frame = pd.DataFrame(made, copy=False)
        frame.attrs["units"] = {"time_ns": "ns", **self._units}
        return frame
