"""Read back what to_parquet wrote, into the same frames."""

from pathlib import Path
from typing import Any

import pandas as pd

from lnetstat.errors import SourceError
from lnetstat.frames.loading import Frames

BESIDE = ("facts", "states")
LABELS = frozenset(("host", "instance", "table", "fact", "name"))


def is_parquet_folder(path: str | Path) -> bool:
    """Return True when the folder holds what to_parquet writes beside the tables."""
    return all((Path(path) / f"{name}.parquet").is_file() for name in BESIDE)


def from_parquet(folder: str | Path) -> Frames:
    """Return the frames of a folder that to_parquet wrote; columns of mixed values come back as text.

    Raises SourceError where a file cannot be read, is damaged, or lacks what every file has (host and time_ns).
    """
    read = {path.stem: _read(path) for path in sorted(Path(folder).glob("*.parquet"))}
    missing = [name for name in BESIDE if name not in read]
    if missing:
        raise SourceError(f"{folder}: no {missing[0]}.parquet: expected a folder written by `lnetstat dump --format parquet`")
    return Frames({name: frame for name, frame in read.items() if name not in BESIDE}, read["facts"], read["states"])


def _read(path: Path) -> pd.DataFrame:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise SourceError(f"{path}: reading Parquet needs pyarrow: pip install 'lnetstat[analysis]'") from error
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except (pa.ArrowException, ValueError) as error:
        raise SourceError(f"{path}: damaged Parquet file: {str(error).partition(chr(10))[0]}") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from error
    lacking = [name for name in ("host", "time_ns") if name not in table.column_names]
    if lacking:
        raise SourceError(f"{path}: no column {lacking[0]}: expected a table written by `lnetstat dump --format parquet`")
    frame = pd.DataFrame({name: _column(name, table.column(name)) for name in table.column_names}, copy=False)
    units = {field.name: (field.metadata or {}).get(b"unit", b"").decode() for field in table.schema}
    frame.attrs["units"] = {name: unit for name, unit in units.items() if unit}
    return frame


def _column(name: str, column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        if not column.null_count:
            return column.to_numpy()
        return column.to_pandas(types_mapper=lambda kind: pd.Int64Dtype() if pa.types.is_integer(kind) else None).array
    values = column.to_pandas()
    return pd.Categorical(values.astype(object)) if name in LABELS else values
