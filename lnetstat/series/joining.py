"""One table of one location, or of several as sources of one system."""

from collections.abc import Sequence

import pandas as pd

from lnetstat.errors import LnetstatError, SourceError
from lnetstat.series import csv, graphite, ior, ltop, parquet, progress
from lnetstat.series.kinds import Kind, kind_of
from lnetstat.series.texts import text_of
from lnetstat.series.times import AS_IT_STANDS, Clock


def load(location: str, clock: Clock = AS_IT_STANDS) -> pd.DataFrame:
    """Return the table of a file or a graphite:// address; LnetstatError, one line, where there is none."""
    kind = kind_of(location)
    if kind is Kind.GRAPHITE:
        return graphite.load(location)
    if kind is Kind.PARQUET:
        return parquet.load(location, clock)
    if kind is Kind.OPERATIONS:
        return ior.load_operations([location])
    text = text_of(location)
    if kind is Kind.SUMMARY:
        return ior.load_summary(location, text)
    if kind is Kind.LTOP:
        return ltop.load(location, text)
    return progress.load(location, text) if kind is Kind.PROGRESS else csv.load(location, text, clock)


def load_all(locations: Sequence[str], clock: Clock, failed: list[str]) -> pd.DataFrame | None:
    """Return the table of several locations, each a source; files of IOR's operations are ranks of one program and are summed.

    What could not be read is told in `failed`; None where nothing could.
    """
    ranks = [location for location in locations if kind_of(location) is Kind.OPERATIONS]
    groups = ([(ranks[0], ranks)] if ranks else []) + [(location, [location]) for location in locations if location not in ranks]
    tables: dict[str, pd.DataFrame] = {}
    for name, members in groups:
        try:
            table = ior.load_operations(members) if members[0] in ranks else load(name, clock)
        except LnetstatError as error:
            failed.append(str(error))
            continue
        failed += table.attrs.get("problems", [])
        tables[name] = table
    if len(tables) < 2:
        return next(iter(tables.values()), None)
    return _joined(tables)


def _joined(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Put tables under each other, told apart by `source`."""
    silent = [name for name, table in tables.items() if table.attrs.get("cannot_tell")]
    if silent:
        why = tables[silent[0]].attrs["cannot_tell"]
        raise SourceError(f"{silent[0]}: {why}; it cannot be put beside others: give it alone")
    for key, words in (("kind", "rates and counters"), ("clock", "times since the epoch and since a start of their own")):
        said = {str(table.attrs.get(key, "")) for table in tables.values()}
        if len(said) > 1:
            raise SourceError(f"{', '.join(tables)}: {words} cannot be analyzed together: give them apart")
    parts = []
    for name, table in tables.items():
        own = [f"{name} {source}" for source in table["source"]] if "source" in table else name
        parts.append(table.assign(source=own))
    whole = pd.concat([part.set_axis(part.columns, axis=1) for part in parts], ignore_index=True)
    first = next(iter(tables.values())).attrs
    whole.attrs = {
        "problems": [each for table in tables.values() for each in table.attrs.get("problems", [])],
        "notes": list(dict.fromkeys(each for table in tables.values() for each in table.attrs.get("notes", []))),
        **{key: first[key] for key in ("kind", "clock") if key in first},
    }
    return whole
