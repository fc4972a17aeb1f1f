"""Write DataFrames for other tools as Parquet. Times stay whole nanoseconds, labels are strings, missing is not zero."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from lnetstat.errors import SinkError
from lnetstat.frames.loading import Frames

ROWS_AT_ONCE = 1 << 20


def to_parquet(frames: Frames, folder: str | Path) -> list[Path]:
    """Write one file per table, and facts.parquet and states.parquet, into a folder; return their paths.

    time_ns is int64, labels are strings, a column's unit is in its field's metadata (key `unit`), and columns of mixed values (fact values,
    tunables) are strings. Raises SinkError where a file cannot be written or pyarrow is not installed.
    """
    folder = Path(folder)
    written = []
    for name, frame in (*frames.tables.items(), ("facts", frames.facts), ("states", frames.states)):
        path = folder / f"{name}.parquet"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write_parquet(frame, path)
        except ModuleNotFoundError as error:
            raise SinkError(f"{path}: writing Parquet needs pyarrow: pip install 'lnetstat[analysis]'") from error
        except OSError as error:
            raise SinkError(f"{path}: cannot be written: {error.strerror or error}") from error
        written.append(path)
    return written


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    units = frame.attrs.get("units", {})
    schema = pa.schema(
        [pa.field(str(name), _arrow_type(frame[name]), metadata={"unit": units[name]} if name in units else None) for name in frame.columns]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for part in _parts(frame):
            arrays = [_arrow_array(part[field.name], field.type) for field in schema]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _parts(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for begin in range(0, max(len(frame), 1), ROWS_AT_ONCE):
        yield frame.iloc[begin : begin + ROWS_AT_ONCE]


def _arrow_type(column: "pd.Series[Any]") -> Any:
    import pyarrow as pa

    if pd.api.types.is_bool_dtype(column.dtype):
        return pa.bool_()
    if pd.api.types.is_integer_dtype(column.dtype):
        return pa.int64()
    return pa.float64() if pd.api.types.is_float_dtype(column.dtype) else pa.string()


def _arrow_array(column: "pd.Series[Any]", kind: Any) -> Any:
    import pyarrow as pa

    if kind == pa.string():
        if column.dtype == object:
            return pa.array([None if value is None else str(value) for value in column], kind)
        return pa.array(column, from_pandas=True).cast(kind)
    return pa.array(column, kind, from_pandas=True)
