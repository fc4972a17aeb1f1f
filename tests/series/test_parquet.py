"""Parquet: the columns of the CSV with times of any type, and whole recordings as `dump` writes them."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lnetstat import series
from lnetstat.errors import LnetstatError
from lnetstat.series import Clock

NOON = 1786708800
UTC = datetime.UTC


@pytest.fixture
def stored(tmp_path):
    def store(columns, names=None):
        path = str(tmp_path / "a.parquet")
        pq.write_table(pa.table(columns, names=names), path)
        return path

    return store


@pytest.mark.parametrize(
    ("time", "zone"),
    [
        ([NOON, NOON + 1], ""),
        (pa.array([datetime.datetime.fromtimestamp(NOON + n, UTC) for n in (0, 1)]), ""),
        (pa.array([datetime.datetime(2026, 8, 14, 14, 0, n) for n in (0, 1)], pa.timestamp("ns")), "Europe/Berlin"),
        (["2026-08-14T12:00:00Z", "2026-08-14T12:00:01Z"], ""),
    ],
)
def test_times_of_any_type(stored, time, zone):
    table = series.load(stored({"time": time, "value": [1, None], "other": ["x", "y"]}), Clock(zone))
    assert table["time"].tolist() == [NOON, NOON + 1]
    assert table["value"].isna().tolist() == [False, True]
    assert list(table) == ["time", "value"]


def test_sources_and_bad_rows(stored):
    columns = {"time": [1.0, 1.0, 1.0, None], "value": [1.0, 2.0, 3.0, 4.0], "source": ["a", "b", "a", "b"]}
    table = series.load(stored(columns))
    assert table["source"].tolist() == ["a", "b"]
    assert "row 3: time 1 stands there already; 2 of 4 rows" in table.attrs["problems"][0]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"a": [1]}, "expected columns time and value"),
        ({"time": [1], "value": ["x"]}, "column value holds string: expected numbers"),
        ({"time": [True], "value": [1]}, "column time holds bool"),
        ({"time": pa.array([], pa.float64()), "value": pa.array([], pa.float64())}, "no samples"),
        ({"time": [datetime.datetime(2026, 8, 14)], "value": [1]}, "names no zone"),
    ],
)
def test_what_is_no_series_is_one_line(stored, columns, told):
    with pytest.raises(LnetstatError, match=told):
        series.load(stored(columns))


def test_a_column_twice_is_told(stored):
    with pytest.raises(LnetstatError, match="column value stands there twice"):
        series.load(stored([pa.array([1]), pa.array([2]), pa.array([3])], ["time", "value", "value"]))


@pytest.mark.parametrize("cut", [3, 20, 200])
def test_damaged_files_are_one_line(stored, cut):
    path = stored({"time": np.arange(100.0), "value": np.arange(100.0)})
    with open(path, "r+b") as file:
        file.truncate(cut)
    with pytest.raises(LnetstatError, match=r"a\.parquet: damaged Parquet file") as caught:
        series.load(path)
    assert "\n" not in str(caught.value)
