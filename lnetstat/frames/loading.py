"""From a source to DataFrames. Recordings take a short way: of regular texts only the lines that changed are parsed, many at once."""

import contextlib
import gc
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lnetstat.errors import SourceError
from lnetstat.frames.columns import INT64_MAX, INT64_MIN, Labels, Values, columns_of
from lnetstat.frames.streams import Block, Stream, UnfitError, Waiting
from lnetstat.model import Sample, Snapshot, Source, State, Table
from lnetstat.recording import Change
from lnetstat.sources.collectl import Recorded
from lnetstat.tables import builtin_tables, samples, table_named

READABLE = (State.OK, State.PARTIAL)
WORST = "worst"
MOST_MISFITS = 8  # texts in a row that are not regular: then the file is no longer tried


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
            builder.add(snapshot, builder.parse(snapshot), builder.next_order())
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
    texts: dict[tuple[str, str], _Text] = {}
    with _no_garbage_collection():
        for change in changes:
            name = change.snapshot.name
            if builder.wants(name):
                key = change.snapshot.host, name
                if key not in texts:
                    texts[key] = _Text(builder)
                texts[key].take(change, builder.next_order())
        for text in texts.values():
            text.settle()


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Spare Python to look for cycles among the many small things that wait: there are none, and it is a quarter of the work."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Text:
    """One file of one host, sample by sample: what is regular waits to be parsed together, anything else is parsed at once."""

    def __init__(self, builder: "_Builder") -> None:
        self._builder = builder
        self._parts: list[_Part] | None = None  # of the last sample that was parsed, None where it could not be read
        self._lines: list[bytes] = []
        self._stream: Stream | None = None
        self._misfits = 0

    def take(self, change: Change, order: int) -> None:
        """Take the next sample."""
        if change.changed is not None and self._parts is not None and change.snapshot.state in READABLE:
            if self._stream is None:
                self._stream = self._begun()
            if self._stream is not None:
                self._stream.put(order, change)
                if self._stream.is_full:
                    self.settle()
                return
            if not change.changed:
                self._builder.add(change.snapshot, self._parts, order)
                return
        self.settle()
        self._stream = None
        self._parse(change.snapshot, change.text(), order)
        self._lines = list(change.lines)

    def settle(self) -> None:
        """Have nothing wait any longer."""
        stream = self._stream
        while stream is not None and stream.waiting:
            count = len(stream.waiting)
            while count and not self._add_block(stream, count):
                count //= 2
            if not count:
                stream = self._parse_next(stream)
        self._stream = None if stream is None or stream.is_lost else stream

    def _add_block(self, stream: Stream, count: int) -> bool:
        waiting = stream.waiting[:count]
        try:
            block = stream.block(count)
        except UnfitError:
            return False
        assert self._parts is not None
        self._builder.add_block(waiting, self._parts[0].sample, block)
        return True

    def _parse_next(self, stream: Stream) -> Stream:
        """Parse the whole text of the next sample that waits, and return the stream in which the others do."""
        first, text = stream.text_of_next()
        self._parse(first.snapshot, text, first.order)
        self._lines = stream.lines
        fresh = self._begun()
        if fresh is None:
            stream.is_lost = True
            return stream
        fresh.take_over(stream)
        return fresh

    def _parse(self, snapshot: Snapshot, text: str, order: int) -> None:
        parts = self._builder.parse(snapshot._replace(text=text))
        self._builder.add(snapshot, parts, order)
        self._parts = parts if snapshot.state in READABLE else None

    def _begun(self) -> Stream | None:
        """Return where the next samples may wait, if the last one that was parsed was regular."""
        parts, found = self._parts, None
        if self._misfits >= MOST_MISFITS:
            return None
        if parts is not None and len(parts) == 1 and parts[0].columns and not parts[0].sample.problems:
            sample = parts[0].sample
            columns = self._builder.table(sample.table).columns
            found = Stream.begun(sample.table, self._lines, columns, parts[0].columns, sample.facts)
        self._misfits = 0 if found is not None else self._misfits + 1
        return found


class _Builder:
    """Collects samples; `finish` makes the frames."""

    def __init__(self, wanted: Collection[str] | None) -> None:
        self._wanted = wanted
        self._wants: dict[str, bool] = {}
        self._hosts, self._instances, self._names = Labels(), Labels(), Labels()
        self._tables: dict[str, _TableRows] = {}
        self._facts: list[tuple[int, int, str, int, int, str, int | str]] = []  # order, then the columns
        self._states: list[tuple[int, int, int, int, int, str, int, int]] = []
        # The place of the next snapshot among all: samples may be added in any order, and stand in this one.
        self.next_order = itertools.count().__next__

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

    def add(self, snapshot: Snapshot, parts: list[_Part], order: int) -> None:
        """Append one snapshot whose samples are `parts`; their times and flags are the snapshot's.

        Raises SourceError for a stamp that does not fit 64 bits: our own sources give none, others may.
        """
        _check(snapshot)
        host, name = self._hosts.code(snapshot.host), self._names.code(snapshot.name)
        failed = snapshot.state in READABLE and any(part.sample.state is State.FAILED for part in parts)
        state = State.FAILED.value if failed else WORST if "worst" in snapshot.flags else snapshot.state.value
        problems = sum(len(part.sample.problems) for part in parts)
        self._states.append((order, host, name, snapshot.time_ns, snapshot.read_ns, state, snapshot.errno, problems))
        for part in parts:
            instance = self._instances.code(part.sample.instance)
            if part.columns:
                origin = _Origin(order, host, instance, snapshot.time_ns, "low_water_reset" in snapshot.flags, part.row_count)
                self.table(part.sample.table).append((origin,), part.columns)
            for fact, value in part.sample.facts.items():
                self._facts.append((order, host, part.sample.table, instance, snapshot.time_ns, fact, value))

    def add_block(self, waiting: Sequence[Waiting], like: Sample, block: Block) -> None:
        """Append samples that were taken apart together; their table and instance are those of `like`. Raises what `add` raises."""
        host, instance = self._hosts.code(like.host), self._instances.code(like.instance)
        columns = list(block.columns.values())
        row_count = len(columns[0].values) // len(waiting)
        orders, snapshots, _, _ = zip(*waiting, strict=True)
        names, _, time_ns, _, read_ns, states, errno, flags, _ = zip(*snapshots, strict=True)
        if not all(_fits(min(each)) and _fits(max(each)) for each in (time_ns, read_ns, errno)):
            for snapshot in snapshots:
                _check(snapshot)
        is_usual = states.count(State.OK) == len(states) and not any(flags)
        told = repeat("ok") if is_usual else [WORST if WORST in own else state.value for own, state in zip(flags, states, strict=True)]
        reset = repeat(False) if is_usual else ["low_water_reset" in own for own in flags]
        self._states += zip(
            orders, repeat(host), repeat(self._names.code(names[0])), time_ns, read_ns, told, errno, repeat(0), strict=False
        )
        origins = zip(orders, repeat(host), repeat(instance), time_ns, reset, repeat(row_count), strict=False)
        self.table(like.table).append(origins, columns)
        self._facts += [
            (order, host, like.table, instance, each.time_ns, fact, value)
            for (order, each, _, _), facts in zip(waiting, block.facts, strict=True)
            for fact, value in facts.items()
        ]

    def finish(self) -> Frames:
        tables = {name: rows.finish(self._hosts, self._instances) for name, rows in self._tables.items() if rows.count}
        return Frames(tables, self._facts_frame(), self._states_frame())

    def _facts_frame(self) -> pd.DataFrame:
        _, host, table, instance, time_ns, fact, value = _transposed(self._facts, 7)
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
        _, host, name, time_ns, read_ns, state, errno, problems = _transposed(self._states, 8)
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


def _check(snapshot: Snapshot) -> None:
    if not (_fits(snapshot.time_ns) and _fits(snapshot.read_ns) and _fits(snapshot.errno)):
        raise SourceError(
            f"{snapshot.host}: {snapshot.name}: time {snapshot.time_ns} ns, read {snapshot.read_ns} ns, errno {snapshot.errno}: "
            "expected numbers of 64 bits: the source has to leave it out"
        )


def _fits(number: int) -> bool:
    return INT64_MIN <= number <= INT64_MAX


def _transposed(lines: list[Any], width: int) -> Iterator[tuple[Any, ...]]:
    """Return the columns of lines that begin with their order, in that order."""
    lines.sort(key=itemgetter(0))
    return iter(zip(*lines, strict=True)) if lines else iter([()] * width)


class _Origin(NamedTuple):
    """Where the rows of one sample come from, and how many they are; host and instance are label codes."""

    order: int
    host: int
    instance: int
    time_ns: int
    low_water_reset: bool
    row_count: int


class _TableRows:
    """The rows of one table, of all hosts."""

    def __init__(self, table: Table) -> None:
        self.columns = columns_of(table)
        self._units = {column.name: column.unit for column in table.columns if column.unit}
        self._origins: list[tuple[int, int, int, int, bool, int]] = []  # as _Origin
        self.count = 0

    def convert(self, rows: tuple[Any, ...]) -> list[Values]:
        """Return the rows as columns."""
        fields = rows[0]._fields
        by_name = dict(zip(fields, zip(*rows, strict=True), strict=True))
        return [column.convert(by_name[name]) for name, column in self.columns.items()]

    def append(self, origins: Iterable[tuple[int, int, int, int, bool, int]], columns: list[Values]) -> None:
        """Append the rows of these samples, which come from there, as _Origin says."""
        for column, values in zip(self.columns.values(), columns, strict=True):
            column.extend(values)
        self._origins += origins
        self.count += len(columns[0].values)

    def finish(self, hosts: Labels, instances: Labels) -> pd.DataFrame:
        """Return the DataFrame; the columns are emptied one by one, so that none is there twice for long."""
        order, host, instance, time_ns, reset, counts = (np.array(values) for values in zip(*self._origins, strict=True))
        places = None
        if (np.diff(order) < 0).any():
            samples = np.argsort(order)
            begins = np.cumsum(counts) - counts
            host, instance, time_ns, reset, counts, begins = (each[samples] for each in (host, instance, time_ns, reset, counts, begins))
            places = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        made: dict[str, Any] = {
            "host": hosts.categorical(np.repeat(host.astype(np.int32), counts)),
            "instance": instances.categorical(np.repeat(instance.astype(np.int32), counts)),
            "time_ns": np.repeat(time_ns.astype(np.int64), counts),
            "low_water_reset": np.repeat(reset, counts),
        }
        made.update({name: column.finish(places) for name, column in self.columns.items()})
        frame = pd.DataFrame(made, copy=False)
        frame.attrs["units"] = {"time_ns": "ns", **self._units}
        return frame
