"""One series from a Parquet file: the columns of the CSV, `time` as a number, a timestamp or ISO 8601 text. Needs pyarrow."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.errors import SourceError
from lnetstat.series import times
from lnetstat.series.rows import COLUMNS, Skipped, finished, sifted, without
from lnetstat.series.times import AS_IT_STANDS, Clock

MAGIC = b"PAR1"


def load(path: str, clock: Clock = AS_IT_STANDS) -> pd.DataFrame:
    """Return the series like csv.load; rows that cannot be meant are told by their number, counted from 1."""
    table = _read(path)
    if "time" not in table.column_names or "value" not in table.column_names:
        raise SourceError(f"{path}: columns {', '.join(table.column_names)}: expected columns time and value")
    twice = [name for name in COLUMNS if table.column_names.count(name) > 1]
    if twice:
        raise SourceError(f"{path}: column {twice[0]} stands there twice: expected each column once")
    faults: dict[int, str] = {}
    columns: dict[str, Any] = {}
    for name in (name for name in COLUMNS if name in table.column_names):
        if name == "source":
            columns[name] = table.column(name).cast("string").to_pandas().astype(object).fillna("").to_numpy()
        elif name == "time":
            columns[name], faults = _times(path, table.column(name), clock)
        else:
            columns[name] = _numbers(path, name, table.column(name))
    rows = pd.DataFrame(columns, index=pd.RangeIndex(1, table.num_rows + 1))
    rows, untimed = without(rows, faults)
    rows, odd = sifted(rows)
    left_out: list[Skipped | None] = [untimed, odd]
    return finished(path, rows, left_out, place="row")


def _read(path: str) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise SourceError(f"{path}: reading Parquet needs pyarrow: pip install 'lnetstat[analysis]'") from None
    try:
        with pq.ParquetFile(path) as file:
            return file.read()
    except (pa.ArrowException, ValueError) as error:
        raise SourceError(f"{path}: damaged Parquet file: {_line(error)}") from None
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or _line(error)}: expected a Parquet file") from None


def _numbers(path: str, name: str, column: Any) -> npt.NDArray[np.float64]:
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
        raise SourceError(f"{path}: column {name} holds {kind}: expected numbers")
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _times(path: str, column: Any, clock: Clock) -> tuple[npt.NDArray[np.float64], dict[int, str]]:
    """Return `time` as seconds since the epoch, and by position what is wrong there."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        micros = column.cast(pa.timestamp("us", "UTC"), safe=False).cast(pa.int64()).cast(pa.float64())
        return np.asarray(micros.to_numpy(), dtype=np.float64) / 1e6, {}
    if pa.types.is_timestamp(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return times.from_calendar([str(word) for word in column.cast("string").to_pylist()], clock)
    return times.from_numbers(_numbers(path, "time", column), clock), {}


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
