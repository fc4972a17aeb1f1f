"""What other tools read: exact stamps, labels as strings, missing as missing, units with the columns."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from lnetstat.errors import SinkError
from lnetstat.frames import Frames, load, to_parquet
from lnetstat.model import Snapshot, State

TIME_NS = 1_786_708_800_123_456_789
OLD_PEERS = "nid refs state max rtr min tx min queue\n1@gni 1 up 8 8 8 -7 -9 1048648\nfd00::1@tcp 1 NA 8 8 8 8 8 0\n"
STATS = "snapshot_time 1.000000001 secs.nsecs\nobd_ping 5 samples [usec] 1 2 3 18446744073709551615\n"


class Captured:
    def snapshots(self) -> Iterator[Snapshot]:
        for name, text in (("peers", OLD_PEERS), ("ost.OSS.ost.stats", STATS), ("timeout", "100\n"), ("version", "2.15.8\n")):
            yield Snapshot(name, "rtr", TIME_NS, None, 0, State.OK, 0, frozenset(), text)


@pytest.fixture(scope="module")
def frames() -> Frames:
    return load(Captured())


def test_parquet_keeps_types_units_and_gaps(frames: Frames, tmp_path: Path) -> None:
    written = to_parquet(frames, tmp_path / "out")
    assert sorted(path.name for path in written) == [
        "counters.parquet", "facts.parquet", "peers.parquet", "states.parquet", "tunables.parquet"
    ]  # fmt: skip
    schema = pq.read_schema(tmp_path / "out" / "peers.parquet")
    kinds = {field.name: str(field.type) for field in schema}
    assert (kinds["time_ns"], kinds["nid"], kinds["tx_credits"], kinds["low_water_reset"]) == ("int64", "string", "int64", "bool")
    assert schema.field("queue_bytes").metadata == {b"unit": b"bytes"}
    assert schema.field("time_ns").metadata == {b"unit": b"ns"}
    peers = pd.read_parquet(tmp_path / "out" / "peers.parquet")
    assert peers["nid"].tolist() == ["1@gni", "fd00::1@tcp"]
    assert peers["time_ns"].tolist() == [TIME_NS, TIME_NS]
    assert peers["last_s"].isna().all()
    assert peers["tx_credits_min"].tolist() == [-9, 8]
    counters = pd.read_parquet(tmp_path / "out" / "counters.parquet")
    assert counters["sum"].tolist() == [3]
    assert counters["sumsq"].isna().all()
    tunables = pd.read_parquet(tmp_path / "out" / "tunables.parquet")
    assert tunables["value"].tolist() == ["100", "2.15.8"]
    facts = pd.read_parquet(tmp_path / "out" / "facts.parquet")
    assert facts[facts.fact == "snapshot_time"]["value"].tolist() == ["1000000001"]


def test_a_folder_that_cannot_be_written_is_named(frames: Frames, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match=r"cannot be written"):
        to_parquet(frames, tmp_path / "file")


def test_tables_without_rows_can_be_written(tmp_path: Path) -> None:
    class Nothing:
        def snapshots(self) -> Iterator[Snapshot]:
            return iter(())

    assert len(to_parquet(load(Nothing()), tmp_path)) == 2
