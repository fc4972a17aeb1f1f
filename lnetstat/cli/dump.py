"""Say what files, archives or recordings hold: as text, JSON, CSV or Parquet."""

import contextlib
import csv
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any

import click

from lnetstat.cli import _schemas
from lnetstat.cli._nodes import HostsType, chosen, missing, name_for, only_name
from lnetstat.cli._options import schema_option
from lnetstat.cli._text import aligned
from lnetstat.cli._times import Moment, MomentType, window_ns, zone_option
from lnetstat.errors import LnetstatError, ParseError, SinkError, shown
from lnetstat.model import Parsed, Problem, Snapshot, Source, State, Table
from lnetstat.sources import open_source
from lnetstat.sources.collectl import Recorded
from lnetstat.tables import foreign_tables, instance_of, parse, split, table_named
from lnetstat.words import iso, printable

READ = (State.OK, State.PARTIAL)
MOST_TOLD = 10  # texts of one input that could not be read whole, told one by one


HELP = f"""{__doc__}

PATH is a file, a folder, a tar archive, a recording, raw files of collectl (one or their folder), or - for stdin.

\b
Examples:
  lnetstat dump /sys/kernel/debug/lnet/peers
  ssh rtr1 cat /sys/kernel/debug/lnet/nis | lnetstat dump - --table nis --csv
  lnetstat dump rec --begin -10s --json
  lnetstat dump sosreport-rtr1.tar.xz --format parquet --to tables
"""


@click.command(help=HELP)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv", "parquet"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--csv", "as_csv", is_flag=True, help="Short for --format csv.")
@click.option("--table", "table_name", metavar="NAME", help="Only this table; a single text without a telling name is read as it.")
@click.option("--to", "folder", metavar="DIR", help="One file per table in DIR (csv, parquet).")
@click.option(
    "--host",
    type=HostsType(),
    metavar="NODESET",
    help="Only these hosts of a recording: rtr1, rtr[1-8]; where the input does not tell its host, that host's name.",
)
@click.option("--begin", type=MomentType(), help="Leave out what is earlier: ISO 8601 with zone, epoch seconds, or -10m before the end.")
@click.option("--end", type=MomentType(), help="Leave out this time and what is later.")
@zone_option("Zone of --begin and --end where they name none, as Europe/Berlin. What is printed is UTC.", passed=False)
@schema_option(_schemas.dump)
def command(
    paths: tuple[str, ...],
    form: str,
    as_json: bool,
    as_csv: bool,
    table_name: str | None,
    folder: str | None,
    host: str | None,
    begin: Moment | None,
    end: Moment | None,
) -> int:
    form = "json" if as_json else "csv" if as_csv else form
    report: list[str] = []
    tables = foreign_tables(report)
    for line in report:
        _complain(line)
    if table_name is not None and table_name not in tables:
        raise click.BadParameter(f"no table is called {table_name}: one of {', '.join(tables)}", param_hint="--table")
    if form == "csv" and not table_name and not folder:
        raise click.UsageError("csv holds one table: name it with --table, or give --to DIR for a file per table")
    if form == "parquet" and not folder:
        raise click.UsageError("parquet needs --to DIR: one file per table is written there")
    if form == "parquet":
        return _parquet(paths, table_name, folder or "", host, begin, end)
    dump = _Dump(tables.get(table_name or ""), host, begin, end)
    with _writer(form, folder) as writer:
        for path in paths:
            for file in dump.files(path):
                writer.write(file)
    dump.tell_missing()
    return 3 if dump.failed else 0


class _File:
    """One parsed text: what it is called, where it comes from, and what was understood."""

    def __init__(self, name: str, snapshot: Snapshot, table: Table | None, parsed: Parsed) -> None:
        self.name, self.snapshot, self.table, self.parsed = name, snapshot, table, parsed

    @property
    def instance(self) -> str:
        return instance_of(self.name) if self.table and self.table.name in ("counters", "llstat") else ""


class _Dump:
    """Walks through inputs; one bad input is told and does not stop the others."""

    def __init__(self, wanted: Table | None, host: str | None, begin: Moment | None, end: Moment | None) -> None:
        self._wanted, self._host, self._begin, self._end = wanted, host, begin, end
        self.failed = False
        self._found: set[str] = set()  # hosts of recordings
        self._texts_failed = 0  # of the input at hand

    def files(self, path: str) -> Iterator[_File]:
        self._texts_failed = 0
        try:
            source, hosts = _opened(path, self._host)
            self._found.update(hosts or ())
            count = 0
            for snapshot in _window(source, self._begin, self._end, hosts):
                count += 1
                where = getattr(source, "where", None)
                yield from self._parsed((where and where(snapshot)) or path, snapshot)
            if count == 0 and not getattr(source, "problems", ()):
                self._fail(f"{path}: no snapshot" + (" between --begin and --end" if self._begin or self._end else ""))
        except LnetstatError as error:
            self._fail(str(error))
            return
        finally:
            if self._texts_failed > MOST_TOLD:
                _complain(f"{path}: {self._texts_failed - MOST_TOLD:,} more likewise: with --json each stands beside its file")
        for problem in getattr(source, "problems", ()):
            self._fail(problem)
        for note in getattr(source, "notes", ()):
            _complain(note)

    def tell_missing(self) -> None:
        """Tell of hosts that were asked for and are in none of the recordings."""
        for line in missing(self._host, self._found):
            self._fail(line)

    def _parsed(self, path: str, snapshot: Snapshot) -> Iterator[_File]:
        if snapshot.state not in READ:
            table = table_named(snapshot.name)
            if self._wanted is None or table is self._wanted:
                yield _File(snapshot.name, snapshot, table, Parsed((), "", {}, ()))
            return
        for name, text in split(snapshot.name, snapshot.text):
            try:
                table, parsed = self._parse(name, text)
            except ParseError as error:
                if self._wanted is None or table_named(name) is self._wanted:
                    self._fail_text(f"{path}: {error}")
                    problem = Problem(error.line_number, shown(error.line), error.expected)
                    yield _File(name, snapshot._replace(state=State.FAILED), table_named(name), Parsed((), "", {}, (problem,)))
                continue
            if self._wanted is not None and table is not self._wanted:
                continue
            for problem in parsed.problems:
                self._fail_text(f"{path}: {table.name}: line {problem.line}: {problem.text}: expected {problem.expected}")
            yield _File(name, snapshot, table, parsed)

    def _parse(self, name: str, text: str) -> tuple[Table, Parsed]:
        if self._wanted is not None and table_named(name) in (None, self._wanted):
            return self._wanted, self._wanted.parse(text)
        return parse(name, text)

    def _fail_text(self, line: str) -> None:
        self._texts_failed += 1
        self.failed = True
        if self._texts_failed <= MOST_TOLD:
            _complain(line)

    def _fail(self, line: str) -> None:
        self.failed = True
        _complain(line)


def _opened(path: str, host: str | None) -> tuple[Source, tuple[str, ...] | None]:
    """Return what a path stands for, and of a recording the hosts that are wanted: None is all."""
    source = open_source(path, host=only_name(host))
    if host is None:
        return source, None
    if isinstance(source, Recorded):
        return source, chosen(host, source.hosts, path)
    name_for(path, host)
    return source, None


def _window(source: Source, begin: Moment | None, end: Moment | None, hosts: tuple[str, ...] | None) -> Iterator[Snapshot]:
    """Yield the snapshots of the wanted time and hosts; of a recording only its frames are read."""
    begin_ns, end_ns = window_ns(begin, end, getattr(source, "end_ns", None))
    if isinstance(source, Recorded):
        yield from source.snapshots(begin_ns=begin_ns, end_ns=end_ns, hosts=hosts)
        return
    for snapshot in source.snapshots():
        if (begin_ns is None or snapshot.time_ns >= begin_ns) and (end_ns is None or snapshot.time_ns < end_ns):
            yield snapshot


def _complain(line: str) -> None:
    click.echo(f"lnetstat: {printable(line)}", err=True)


def _row_dict(row: Any) -> dict[str, Any]:
    values: dict[str, Any] = row._asdict()
    extra = values.pop("extra", None)
    return values | ({"extra": dict(extra)} if extra else {})


class _TextWriter:
    def __enter__(self) -> "_TextWriter":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write(self, file: _File) -> None:
        snapshot, parsed = file.snapshot, file.parsed
        state = "" if snapshot.state is State.OK else f", {snapshot.state.value}"
        if snapshot.errno:
            state += f": {os.strerror(snapshot.errno)}"
        if "worst" in snapshot.flags:
            state += ", the worst only"
        click.echo(printable(f"{file.name}: {parsed.layout or 'not read'}, {len(parsed.rows)} rows{state}"))
        click.echo(printable(f"  {snapshot.host} {iso(snapshot.time_ns, 9)}" + "".join(f", {k} {v}" for k, v in parsed.facts.items())))
        if parsed.rows:
            names = [name for name in parsed.rows[0]._fields if name != "extra"]
            shown_names = [name for name in names if any(getattr(row, name) is not None for row in parsed.rows)]
            lines = aligned([shown_names, *([getattr(row, name) for name in shown_names] for row in parsed.rows)])
            click.echo("\n".join("  " + line for line in lines.split("\n")))


class _JsonWriter:
    """Streams one document, so that a long recording needs no memory."""

    def __enter__(self) -> "_JsonWriter":
        self._between = '{"schema":1,"files":[\n'
        return self

    def write(self, file: _File) -> None:
        document = {
            "name": file.name,
            "host": file.snapshot.host,
            "time": iso(file.snapshot.time_ns, 9),
            "table": file.table.name if file.table else None,
            "instance": file.instance,
            "layout": file.parsed.layout,
            "state": file.snapshot.state.value,
            "errno": file.snapshot.errno,
            "flags": sorted(file.snapshot.flags),
            "rows": [_row_dict(row) for row in file.parsed.rows],
            "facts": dict(file.parsed.facts),
            "problems": [problem._asdict() for problem in file.parsed.problems],
        }
        click.echo(self._between + json.dumps(document), nl=False)
        self._between = ",\n"

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            click.echo("\n]}" if self._between == ",\n" else self._between + "]}")


class _CsvWriter:
    """One table to stdout, or one file per table in a folder."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._open = contextlib.ExitStack()
        self._writers: dict[str, Any] = {}

    def __enter__(self) -> "_CsvWriter":
        return self

    def write(self, file: _File) -> None:
        if file.table is None or not file.parsed.rows:
            return
        names = [column.name for column in file.table.columns]
        writer = self._writer(file.table.name, names)
        origin = (file.snapshot.host, file.instance, file.snapshot.time_ns)
        writer.writerows([*origin, *(_safe(getattr(row, name)) for name in names)] for row in file.parsed.rows)

    def _writer(self, table: str, names: Sequence[str]) -> Any:
        if table not in self._writers:
            file: IO[str] = sys.stdout
            if self._folder is not None:
                os.makedirs(self._folder, exist_ok=True)
                path = os.path.join(self._folder, f"{table}.csv")
                file = self._open.enter_context(open(path, "w", newline="", encoding="utf-8"))  # noqa: SIM115
            self._writers[table] = csv.writer(file, lineterminator="\n")
            self._writers[table].writerow(["host", "instance", "time_ns", *names])
        return self._writers[table]

    def __exit__(self, *_: object) -> None:
        self._open.close()


def _safe(value: Any) -> Any:
    """Escape what a terminal would act on; numbers and None stay."""
    return printable(value) if isinstance(value, str) else value


def _writer(form: str, folder: str | None) -> Any:
    return {"table": _TextWriter, "json": _JsonWriter}[form]() if form != "csv" else _CsvWriter(folder)


def _parquet(paths: Sequence[str], table_name: str | None, folder: str, host: str | None, begin: Moment | None, end: Moment | None) -> int:
    from lnetstat import frames

    if len(paths) != 1:
        raise click.UsageError("parquet is made of one input at a time")
    source, hosts = _opened(paths[0], host)
    begin_ns, end_ns = window_ns(begin, end, getattr(source, "end_ns", None))
    loaded = frames.load(source, tables=[table_name] if table_name else None, begin_ns=begin_ns, end_ns=end_ns, hosts=hosts)
    if not loaded.tables:
        raise SinkError(f"{paths[0]}: nothing to write: no table was found" + (f" called {table_name}" if table_name else ""))
    os.makedirs(folder, exist_ok=True)
    frames.to_parquet(loaded, folder)
    bad = loaded.states[(loaded.states["problems"] > 0) | (loaded.states["state"] == "failed")]
    problems: list[str] = list(getattr(source, "problems", []))
    for (host_name, name), rows in bad.groupby(["host", "name"], observed=True):
        count = int(rows["problems"].sum())
        problems.append(f"{paths[0]}: {name} of {host_name}: {count} lines could not be read: `lnetstat dump {paths[0]}` says which")
    for line in problems:
        _complain(line)
    return 3 if problems else 0
