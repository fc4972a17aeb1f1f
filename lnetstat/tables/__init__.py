"""One module per text format. A table is found by its snapshot's name first, then by its header words.

Built-in tables are discovered by scanning this package (modules whose name begins with `_` are helpers); other packages add theirs
through the entry-point group `lnetstat.tables`. Two tables of one name are an error that names both.
"""

import fnmatch
import functools
import importlib
import os
from collections.abc import Iterator

from lnetstat.errors import LnetstatError, ParseError, shown
from lnetstat.model import Parsed, Problem, Sample, Snapshot, State, Table
from lnetstat.tables._known import expected_instead
from lnetstat.tables._split import split as split  # part of this package's face
from lnetstat.tables.tunables import named


def _modules() -> list[str]:
    # Not pkgutil: it costs the agent 2 MB for a list of files.
    files = {name for folder in __path__ for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_")}
    return sorted(name.removesuffix(".py") for name in files)


@functools.cache
def builtin_tables() -> dict[str, Table]:
    """Return the tables of this package by name."""
    found: dict[str, Table] = {}
    for name in _modules():
        module = importlib.import_module(f"{__name__}.{name}")
        for table in getattr(module, "tables", None) or (module.table,):
            _add(found, table)
    return found


def foreign_tables(report: list[str]) -> dict[str, Table]:
    """Return the built-in tables and those of other packages; what could not be imported is told in `report`, the others go on."""
    from importlib.metadata import entry_points  # costs 3 MB: only who asks for foreign tables pays

    found = dict(builtin_tables())
    for entry_point in entry_points(group="lnetstat.tables"):
        try:
            table = entry_point.load()
        except Exception as error:
            report.append(f"table {entry_point.name} of {entry_point.value}: not loaded: {type(error).__name__}: {error}")
            continue
        _add(found, table)
    return found


def _add(found: dict[str, Table], table: Table) -> None:
    if table.name in found:
        modules = f"{found[table.name].parse.__module__} and {table.parse.__module__}"
        raise LnetstatError(f"two tables are called {table.name}: {modules}: rename one")
    found[table.name] = table


@functools.lru_cache(maxsize=4096)
def table_named(name: str) -> Table | None:
    """Return the table that a snapshot's name stands for, or None: `peers`, `ost.OSS.ost_io.stats`, `lnetctl net show`."""
    tables = builtin_tables().values()
    exact = next((table for table in tables if name in table.names), None)  # `*` and `?` are compiled only where they are needed
    if exact is not None:
        return exact
    return next((table for table in tables if any(fnmatch.fnmatchcase(name, pattern) for pattern in table.names)), None)


def table_looking_like(text: str) -> Table | None:
    """Return the table whose header words the text shows, or None."""
    for table in builtin_tables().values():
        if table.looks_like(text):
            return table
    return None


def parse(name: str, text: str) -> tuple[Table, Parsed]:
    """Parse one unwrapped text by its name, else by its header words. Raises ParseError where nothing fits."""
    table = table_named(name) or table_looking_like(text)
    if table is None:
        line = next((line for line in text.splitlines() if line.strip()), "")
        raise ParseError(name or "text", 1, line, expected_instead(name, text))
    return table, _parse(table, name, text)


def _parse(table: Table, name: str, text: str) -> Parsed:
    """Parse with the table; the text of a one-value parameter does not hold its name, so it takes the snapshot's."""
    parsed = table.parse(text)
    return named(parsed, name) if table.name == "tunables" else parsed


def instance_of(name: str) -> str:
    """Return what tells two files of one table apart: ost.OSS.ost_io.stats -> ost_io, obdfilter.FS-OST0.stats -> obdfilter.FS-OST0."""
    instance = name.removesuffix(".stats")
    for prefix in ("ost.OSS.", "mds.MDS.", "mgs.MGS.", "ldlm.services."):
        instance = instance.removeprefix(prefix)
    return instance


def samples(snapshot: Snapshot) -> Iterator[Sample]:
    """Unwrap and parse one snapshot. A text that cannot be parsed gives a FAILED sample whose problem says why; nothing is raised."""
    for name, text in split(snapshot.name, snapshot.text):
        table = table_named(name) or (table_looking_like(text) if snapshot.state in (State.OK, State.PARTIAL) else None)
        table_name = table.name if table else ""
        instance = instance_of(name) if table_name in ("counters", "llstat") else ""
        origin = (table_name, instance, snapshot.host, snapshot.time_ns)
        if snapshot.state not in (State.OK, State.PARTIAL):
            yield Sample(*origin, snapshot.state, snapshot.flags, (), {}, ())
            continue
        try:
            if table is None:
                raise ParseError(name, 1, text.split("\n", 1)[0], expected_instead(name, text))
            parsed = _parse(table, name, text)
        except ParseError as error:
            problem = Problem(error.line_number, shown(error.line), error.expected)
            yield Sample(*origin, State.FAILED, snapshot.flags, (), {}, (problem,))
            continue
        yield Sample(*origin, snapshot.state, snapshot.flags, parsed.rows, parsed.facts, parsed.problems)
