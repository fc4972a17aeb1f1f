"""IOR: operations of ranks become bytes per second, summaries are said to hold no series."""

import json

import numpy as np
import pytest

from lnetstat import series
from lnetstat.analysis import analyze_series
from lnetstat.errors import LnetstatError
from lnetstat.series import Clock

CSV = """access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter
write,1000.0000,30.3795,1.5543,131072.0000,1024.0000,15.0489,202.2413,35.0600,202.6921,48,0
write,2000.0000,30.3795,1.5543,131072.0000,1024.0000,15.0489,202.2413,35.0600,202.6921,48,1
read,500.0000,2026.8185,0.0158,131072.0000,1024.0000,0.4558,3.0314,1.0307,3.0536,48,0
"""
TEXT = """IOR-4.1.0: MPI Coordinated Test of Parallel I/O
Began               : Thu Mar 30 16:09:19 2023

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     1000.00    4282       0.001868    1024.00    256.00     0.001203   0.007473   0.000973   0.008768   0
write     2000.00    4282       0.001868    1024.00    256.00     0.001203   0.007473   0.000973   0.008768   1
read      500.00     2259.33    0.000031    1024.00    256.00     0.015838   0.014163   0.014007   0.016137   0
remove    -          -          -           -          -          -          -          -          0.006066   0
"""
RESULTS = [{"access": "write", "bwMiB": 1000.0}, {"access": "write", "bwMiB": 2000.0}, {"access": "read", "bwMiB": 500.0}]
JSON = {"Version": "4.0.0", "Command line": "ior", "tests": [{"TestID": 0, "Results": RESULTS}], "summary": [{"bwMeanMIB": 1500.0}]}
OLDER = {**JSON, "tests": [{"TestID": 0, "Results": [[each] for each in RESULTS]}]}


def test_bytes_of_an_operation_are_spread_over_its_duration(written):
    table = series.load(written("time,runtime,tp\n0.0,0.4,1000\n0.35,0.1,4000\n0.5,0.1,4000\n0.6,0.1,4000\n0.7,0.1,4000\n"))
    assert table["time"].tolist() == pytest.approx([0.1 * each for each in range(1, 9)])
    # Five operations of 400 bytes: one over the first 0.4 s, one half in the fourth and half in the fifth tenth.
    assert table["value"].tolist() == pytest.approx([1000, 1000, 1000, 3000, 2000, 4000, 4000, 4000])
    assert table["value"].sum() * 0.1 == pytest.approx(5 * 400)


def test_ranks_are_summed_and_their_stops_found(written, operations):
    paths = [written(operations(seed=rank), f"ops-0-{rank:05d}.csv") for rank in range(4)]
    failed = []
    table = series.load_all(paths, Clock(), failed)
    assert failed == []
    assert "source" not in table
    assert float(table["value"].median()) == pytest.approx(4 * 2**20 / 0.02, rel=0.1)
    found = analyze_series(table, kind=table.attrs["kind"]).dead_time
    assert found.detected
    assert found.period_s == pytest.approx(25, abs=0.01)
    assert found.duration_s == pytest.approx(2, abs=0.2)
    assert found.epoch_aligned is None, "times count from the start of the phase"


def test_operations_of_no_time_keep_their_bytes(written):
    table = series.load(written("time,runtime,tp\n0.05,0,inf\n0.15,1e-1,1e4\n0.3,1e-1,1e4\n"))
    assert table["value"].iloc[0] == pytest.approx(10_000, rel=0.01)


def test_files_of_two_repetitions_are_refused(written, operations):
    paths = [written(operations(10), f"ops-{repetition}-00000.csv") for repetition in (0, 1)]
    failed = []
    assert series.load_all(paths, Clock(), failed) is None
    assert "repetitions 0, 1 were given together" in failed[0]


def test_torn_rows_are_told(written):
    table = series.load(written("time,runtime,tp\n0.0,0.1,1000\n0.1,x,1000\n0.2,0.1,1000\n0.3,0.1,-5\n0.4,0.1,1000\n0.5"))
    assert "line 3: expected time,runtime,tp as numbers, 0 or more; 3 rows" in table.attrs["problems"][0]
    assert np.isfinite(table["value"]).all()


@pytest.mark.parametrize("body", ["", "a,b,c\n", "0,0,0\n", "1e300,1,1\n"])
def test_no_operation_is_one_line(written, body):
    with pytest.raises(LnetstatError, match=r"a\.csv: ") as caught:
        series.load(written(f"time,runtime,tp\n{body}"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [CSV, TEXT, json.dumps(JSON, indent=1), json.dumps(OLDER, indent=1)], ids=["csv", "text", "json", "older"])
def test_a_summary_cannot_tell_and_says_what_it_holds(written, text):
    path = written(text, "summary")
    assert series.is_series(path)
    found = analyze_series(series.load(path))
    assert found.dead_time.verdict == "cannot_tell"
    assert "write: 2 iterations, 1000 to 2000, mean 1500 MiB/s (1572.86 MB/s)" in found.dead_time.reason
    assert "read: 1 iteration, 500 MiB/s (524.288 MB/s)" in found.dead_time.reason
    assert "savePerOpDataCSV" in found.dead_time.reason
    assert [each.kind for each in found.findings] == ["cannot_tell"]


@pytest.mark.parametrize(
    "text", [CSV.split("\n", 1)[0], "IOR-4.0\n", json.dumps(JSON, indent=1)[:150], CSV.replace("500.0000", "nonsense")]
)
def test_a_damaged_summary_is_one_line(written, text):
    with pytest.raises(LnetstatError) as caught:
        series.load(written(text, "summary"))
    assert "\n" not in str(caught.value)
