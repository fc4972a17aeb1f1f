"""`lnetstat analyze` of Parquet, Graphite, IOR and progress of the simulator; and of bad input, which is told and never a traceback."""

import http.server
import json
import os
import threading

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lnetstat import cli, series
from lnetstat.analysis import analyze, analyze_series
from lnetstat.analysis.schema import SCHEMA
from lnetstat.cli.analyze import command
from lnetstat.frames import load, to_parquet
from lnetstat.frames.importing import from_parquet
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter

BEGIN = 1_700_000_000
HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"


def run(*arguments):
    return CliRunner().invoke(command, list(arguments), standalone_mode=False)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A router whose peer runs out of credits from the 100th second on."""
    folder = tmp_path_factory.mktemp("inputs") / "rec"
    writer = RecordingWriter(str(folder))
    for second in range(150):
        low = 8 if second < 100 else -12
        texts = {
            "peers": HEADER + f"10.2.0.1@tcp1 1 up -1 8 8 8 {8 if second < 100 else -3} {low} 0\n",
            "stats": f"0 1 0 0 0 {second * 100} 0 0 0 {second * 10**8} 0\n",
            "buffers": "pages count credits min\n0 512 512 512\n1 4096 4096 4000\n256 256 256 250\n",
        }
        stamp = (BEGIN + second) * 10**9
        writer.write([Snapshot(name, "rtr1", stamp, None, 0, State.OK, 0, frozenset(), text) for name, text in texts.items()])
    writer.close()
    return str(folder)


def test_a_recording_dumped_as_parquet_says_the_same(recording, tmp_path):
    whole = load(Recording(recording))
    to_parquet(whole, tmp_path / "dump")
    assert analyze(from_parquet(tmp_path / "dump")).as_json() == analyze(whole).as_json()
    result = run(str(tmp_path / "dump"), "--json")
    assert result.return_value == 0
    jsonschema.validate(json.loads(result.stdout), SCHEMA)
    assert "oversubscribed_peers" in {each["kind"] for each in json.loads(result.stdout)["findings"]}


def test_a_damaged_dump_is_one_line(recording, tmp_path, capsys):
    for path in to_parquet(load(Recording(recording)), tmp_path / "dump"):
        if path.name == "peers.parquet":
            path.write_bytes(path.read_bytes()[:100])
    assert cli.run(["analyze", str(tmp_path / "dump")]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "peers.parquet: damaged Parquet file" in captured.err


def test_dumps_and_recordings_are_not_mixed(recording, tmp_path, capsys):
    to_parquet(load(Recording(recording)), tmp_path / "dump")
    assert cli.run(["analyze", recording, str(tmp_path / "dump")]) == 2
    assert "give them apart" in capsys.readouterr().err


def test_progress_of_the_simulator(tmp_path):
    path = tmp_path / "sim.progress.csv"
    rows = ["time_s,group,process,rpcs,bytes"]
    moved = np.zeros(3)
    for second in range(600):
        moved += np.where(second % 25 < 2, 0.0, 1e8) * np.random.default_rng(second).uniform(0.95, 1.05, 3)
        rows += [f"{second},0,{process},{int(moved[process] / 2**20)},{int(moved[process])}" for process in range(3)]
    path.write_text("\n".join(rows)[:-3] + "\n")
    result = run(str(path), "--json")
    document = json.loads(result.stdout)
    assert document["dead_time"]["period_s"] == pytest.approx(25, abs=0.02)
    assert document["dead_time"]["epoch_aligned"] is None
    assert "times count from the start of the simulation" in result.stderr


def test_a_summary_of_ior_cannot_tell_and_is_no_failure(tmp_path):
    path = tmp_path / "summary.csv"
    path.write_text("access,bw(MiB/s),IOPS,iter\nwrite,1000.0,1,0\n")
    result = run(str(path))
    assert result.return_value == 0
    assert result.stdout.startswith("Cannot tell whether there is periodic dead time: a summary of IOR")
    jsonschema.validate(json.loads(run(str(path), "--json").stdout), SCHEMA)


def test_a_local_time_needs_a_zone_that_exists(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("time,value\n" + "".join(f"2026-08-14 14:{at // 60:02d}:{at % 60:02d},5\n" for at in range(600)))
    assert cli.run(["analyze", str(path)]) == 3
    assert "names no zone: give --tz" in capsys.readouterr().err
    assert cli.run(["analyze", str(path), "--tz", "Middle/Earth"]) == 2
    assert "is no time zone" in capsys.readouterr().err
    assert cli.run(["analyze", str(path), "--tz", "Europe/Berlin"]) == 0
    assert "2026-08-14T12:00:00Z to 2026-08-14T12:09:59Z" in capsys.readouterr().out


@pytest.fixture
def graphite():
    """A Graphite that answers 500."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(500)

        def log_message(self, *_):
            return

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"graphite://127.0.0.1:{server.server_address[1]}/x"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_graphite_that_answers_500_is_one_line_and_status_3(graphite, capsys):
    assert cli.run(["analyze", graphite]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "answers 500" in captured.err


def test_rates_below_zero_are_told_and_many_cannot_tell(tmp_path):
    time = BEGIN + np.arange(600)
    value = np.random.default_rng(1).normal(1e9, 3e7, 600)
    value[300] = -5e9
    path = tmp_path / "a.csv"
    path.write_text("time,value\n" + "".join(f"{t},{v:.0f}\n" for t, v in zip(time, value, strict=True)))
    few = json.loads(run(str(path), "--json").stdout)
    assert few["dead_time"]["verdict"] == "none"
    assert "1 reads below zero" in " ".join(run(str(path)).stdout.split())
    value[::10] = -1
    path.write_text("time,value\n" + "".join(f"{t},{v:.0f}\n" for t, v in zip(time, value, strict=True)))
    many = json.loads(run(str(path), "--json").stdout)
    assert many["dead_time"]["verdict"] == "cannot_tell"
    assert "values lie below zero in 10 %" in many["dead_time"]["reason"]


PLAIN = [[f"{BEGIN + at}", f"{1e9 * (0.3 if at % 20 < 2 else 1.0):.0f}", "3", "8", "-2", "100", "a"] for at in range(150)]
NAMES = ["time", "value", "ping_rate", "tx", "tx_min", "queue_bytes", "source"]
ODD = [
    "",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "-5",
    "0",
    "1e-320",
    "x",
    '"',
    "1700000000000",
    "2026-08-14 02:30:00",
    "1_0",
    "\x00",
    "é",
    "9e18",
]
SLIPS = st.lists(
    st.one_of(
        st.tuples(st.just("cell"), st.integers(0, 149), st.integers(0, 6), st.sampled_from(ODD)),
        st.tuples(st.just("column"), st.integers(0, 149), st.integers(0, 6), st.sampled_from(ODD)),
        st.tuples(st.just("swap"), st.integers(0, 149), st.integers(0, 149), st.just("")),
        st.tuples(st.just("again"), st.integers(0, 149), st.integers(0, 149), st.just("")),
        st.tuples(st.just("cut"), st.integers(0, 149), st.integers(0, 6), st.just("")),
        st.tuples(st.just("jump"), st.integers(0, 149), st.integers(-3000, 3000), st.just("")),
    ),
    max_size=6,
)


def mangled(slips, columns):
    rows = [list(row) for row in PLAIN]
    for what, at, other, word in slips:
        if what == "cell":
            rows[at][other : other + 1] = [word]
        elif what == "column":
            for row in rows[at:]:
                row[other : other + 1] = [word]
        elif what == "swap":
            rows[at], rows[other] = rows[other], rows[at]
        elif what == "again":
            rows[at] = list(rows[other])
        elif what == "cut":
            rows[at] = rows[at][:other]
        else:
            for row in rows[at:]:
                row[0] = f"{float(row[0]) + other}" if row and row[0].replace(".", "").isdecimal() else ""
    return "\n".join(",".join(cells) for cells in [NAMES[:columns], *[row[:columns] for row in rows]]) + "\n"


def read_or_told(path):
    """Return the table; None where one clear line says why there is none. Anything else that is raised fails the test."""
    failed = []
    table = series.load_all([path], series.Clock("Europe/Berlin"), failed)
    assert all("\n" not in line for line in failed)
    assert failed or table is not None
    return table


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(slips=SLIPS, columns=st.integers(2, 7), kind=st.sampled_from(["rate", "counter"]), ends=st.sampled_from(["\n", "\r\n", "\r"]))
def test_mangled_files_are_told_or_analyzed_but_never_raise(tmp_path, slips, columns, kind, ends):
    path = tmp_path / "a.csv"
    path.write_bytes(mangled(slips, columns).replace("\n", ends).encode())
    table = read_or_told(str(path))
    if table is None:
        return
    document = analyze_series(table, kind=table.attrs.get("kind") or kind, credits_max=8).as_json()
    jsonschema.validate(json.loads(json.dumps(document, allow_nan=False)), SCHEMA)


BYTES = [
    b"time,runtime,tp\n0.1,0.02,5e7\n0.2,0.02,5e7\n0.9,0.02,5e7\n",
    b"time_s,group,process,rpcs,bytes\n0,0,0,0,0\n1,0,0,5,500\n2,0,0,9,900\n",
    b'{"Version": "4", "Command line": "ior", "tests": [{"Results": [{"access": "write", "bwMiB": 5.0}]}]}',
    b"1700000000 1700000000 oss1 lmt_ost 2;oss1;1.0;2.0;fs-OST0000;1;2;3;4;5;6;7;8;9;1;2;3;4;COMPLETE;\n" * 3,
]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), base=st.sampled_from(BYTES))
def test_any_bytes_are_read_or_told(tmp_path, data, base):
    """Formats of others with bytes changed, cut out and put in."""
    text = bytearray(base)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"\n", b",", b";", b"-", b"1e300", b'"', b"\r"])
        )
    path = tmp_path / "input"
    path.write_bytes(bytes(text))
    table = read_or_told(str(path))
    assert table is None or np.isfinite(table["time"]).all()


def test_a_pipe_is_read_like_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "time,value\n" + "".join(f"{BEGIN + at},{1e9 * (0.3 if at % 20 < 2 else 1.0):.0f}\n" for at in range(600))
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    document = json.loads(run(str(pipe), "--json").stdout)
    writer.join()
    assert document["data_quality"]["hosts"][0]["samples"] == 600
