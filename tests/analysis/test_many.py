"""Many hosts in one analysis: the same result for any number of workers and however they were recorded, and the same as of all frames."""

import json
import os
import subprocess
import sys

import jsonschema
import numpy as np
import pytest

from lnetstat import cli
from lnetstat.analysis import analyze
from lnetstat.analysis.schema import SCHEMA
from lnetstat.cli import _recordings
from lnetstat.frames import load
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter

BEGIN = 1_700_000_000
PERIOD, SECONDS = 25, 200
PEERS = "%-24s %4s %5s %5s %5s %5s %5s %5s %5s %s\n"


def write_routers(folder, hosts, *, files=("peers", "stats", "buffers"), slow=(), peers=2, seconds=SECONDS, seed=1):
    """Routers whose load dips every 25 s for 2 s; the first one's peer runs out of credits then."""
    random = np.random.default_rng(seed)
    flood = np.arange(seconds) % PERIOD < 2
    steps = {}
    for host in hosts:
        rate = np.where(flood, 0.4, 1.0) * (1 + 0.05 * random.standard_normal(seconds)) * (0.5 if host in slow else 1.0)
        steps[host] = np.cumsum(1e9 * rate).astype(np.int64), np.cumsum(np.where(flood, 900, 500)).astype(np.int64)
    writer = RecordingWriter(str(folder))
    for second in range(seconds):
        for number, host in enumerate(hosts):
            volume, count = steps[host]
            low = second >= 1 and number == 0
            rows = [("nid", "refs", "state", "last", "max", "rtr", "min", "tx", "min", "queue")]
            rows += [
                (
                    f"10.2.{each // 250}.{each % 250 + 1}@o2ib",
                    1,
                    "up",
                    -1,
                    8,
                    8,
                    8,
                    -5 if low and not each and flood[second] else 8,
                    -9 if low and not each else 6,
                    0,
                )
                for each in range(peers)
            ]
            texts = {
                "peers": "".join(PEERS % row for row in rows),
                "stats": f"0 1 0 0 0 {count[second]} 0 0 0 {volume[second]} 0\n",
                "buffers": "pages count credits min\n0 512 512 512\n1 4096 4096 4000\n256 256 256 250\n",
            }
            stamp = (BEGIN + second) * 10**9
            writer.write([Snapshot(name, host, stamp, None, 0, State.OK, 0, frozenset(), texts[name]) for name in files])
    writer.close()
    return str(folder)


def document(capsys, *arguments):
    assert cli.run(["analyze", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return write_routers(tmp_path_factory.mktemp("rec") / "four", [f"rtr{number}" for number in range(4)])


@pytest.fixture(scope="module")
def whole(four):
    """What all frames of `four` at once give."""
    return json.loads(json.dumps(analyze(load(Recording(four), tables=_recordings.TABLES)).as_json()))


def test_one_process_two_and_all_frames_at_once_give_the_same(four, whole, capsys):
    jsonschema.validate(whole, SCHEMA)
    assert "4 hosts" in [each["host"] for each in whole["series"]]
    assert document(capsys, four, "--processes", "1") == whole
    assert document(capsys, four, "--processes", "2") == whole


def test_a_cluster_gives_the_same(four, whole, capsys):
    distributed = pytest.importorskip("distributed", reason="the extra [cluster] is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local:
        assert document(capsys, four, "--scheduler", local.scheduler_address) == whole


@pytest.mark.parametrize(("name", "value"), [("lnetstat.__version__", "9.9"), ("lnetstat.workers.version._sources", lambda: "0ther")])
def test_workers_of_another_lnetstat_are_told_in_one_line(four, capsys, monkeypatch, name, value):
    """Another version, or other sources of the same one: between releases the number stands still."""
    distributed = pytest.importorskip("distributed", reason="the extra [cluster] is not installed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as local:
        monkeypatch.setattr(name, value)
        assert cli.run(["analyze", four, "--scheduler", local.scheduler_address]) == 3
    told = capsys.readouterr()
    (line,) = told.err.splitlines()
    assert "runs another lnetstat: 0.1.0 (sources " in line
    assert ("here 9.9" if value == "9.9" else "0ther") in line


def test_a_scheduler_that_does_not_answer_is_one_line(four, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="the extra [cluster] is not installed")
    monkeypatch.setattr("lnetstat.workers.CONNECT_S", 0.5)
    assert cli.run(["analyze", four, "--scheduler", "tcp://127.0.0.1:1"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "scheduler tcp://127.0.0.1:1 does not answer" in line
    assert cli.run(["analyze", four, "--scheduler", "tcp://127.0.0.1:1", "--processes", "2"]) == 2


def test_recordings_apart_are_as_one_recording_of_all(tmp_path, four, whole, capsys):
    parts = [tmp_path / f"part{number}" for number in range(4)]
    for number, part in enumerate(parts):
        writer = RecordingWriter(str(part))
        for snapshot in Recording(four).snapshots(hosts=(f"rtr{number}",)):
            writer.write([snapshot])
        writer.close()
    assert document(capsys, *map(str, parts)) == whole


def test_one_host_in_two_recordings_is_one_host(tmp_path, capsys):
    whole = write_routers(tmp_path / "whole", ["rtr1"], seconds=100)
    middle = (BEGIN + 50) * 10**9
    halves = [tmp_path / "first", tmp_path / "second"]
    for half, window in zip(halves, ({"end_ns": middle}, {"begin_ns": middle}), strict=True):
        writer = RecordingWriter(str(half))
        for snapshot in Recording(whole).snapshots(**window):
            writer.write([snapshot])
        writer.close()
    assert document(capsys, *map(str, halves)) == document(capsys, whole)


def test_a_part_that_cannot_be_read_is_told_and_the_rest_analyzed(tmp_path, four, capsys):
    assert cli.run(["analyze", four, str(tmp_path / "none"), "--json"]) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["dead_time"]["detected"] is True
    assert captured.err.count("\n") == 1
    assert "none" in captured.err


def test_a_window_outside_the_data_says_where_they_end(four, capsys):
    assert cli.run(["analyze", four, "--begin", str(BEGIN + 10_000)]) == 3
    assert "the data end at 2023-11-14T22:16:39" in capsys.readouterr().err
    assert document(capsys, four, "--begin", "-50s", "--host", "rtr1")["data_quality"]["hosts"][0]["samples"] == 51


def test_many_hosts_are_ranked_in_a_short_table(tmp_path, capsys):
    hosts = [f"rtr{number:03}" for number in range(60)]
    few = write_routers(tmp_path / "few", hosts[:10], seconds=70)
    others = write_routers(tmp_path / "others", hosts[10:], files=["stats", "buffers"], seconds=70)
    assert cli.run(["analyze", few, others, "--processes", "1"]) == 0
    text = capsys.readouterr().out
    ranking = text[text.index("Ranking, worst first") : text.index("\nData")].splitlines()
    assert ranking[1].split() == ["HOST", "ROLE", "SIGNAL", "VERDICT", "PERIOD", "LOST", "CREDITS"]
    assert len(ranking) <= 24
    assert "more: --all" in "\n".join(ranking[-3:])
    assert max(map(len, text.splitlines())) < 80


MEASURE = """
import re, sys
from lnetstat import cli
from lnetstat.cli import _recordings

def most_kib():  # of this program; ru_maxrss holds that of the parent too, before exec
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

_recordings.ROWS_AT_ONCE = 50_000
import lnetstat.frames.loading
before = most_kib()
status = cli.run(["analyze", sys.argv[1], "--processes", "1", "--json"])
print(most_kib() - before, file=sys.stderr)
raise SystemExit(status)
"""


def growth_kib(folder):
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, folder], capture_output=True, text=True, check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}
    )
    return int(done.stderr.splitlines()[-1])


def test_a_host_with_very_many_peers_is_thinned_and_says_the_same(tmp_path, capsys, monkeypatch):
    folder = write_routers(tmp_path / "rec", ["rtr1"], peers=1500, seconds=60)
    whole = document(capsys, folder, "--processes", "1")
    monkeypatch.setattr(_recordings, "ROWS_AT_ONCE", 10_000)
    thinned = document(capsys, folder, "--processes", "1")
    assert thinned == whole
    assert whole["credit_use"][0]["subject"] == "10.2.0.1@o2ib"


def test_memory_does_not_grow_with_the_length_of_the_record(tmp_path):
    short, long = (
        growth_kib(write_routers(tmp_path / f"{seconds}", ["rtr1"], files=["peers"], peers=2500, seconds=seconds)) for seconds in (20, 200)
    )
    assert long < 2.5 * short  # 3.6 where all rows are held, 1.9 where they are not: what came before is not given back at once


def test_a_worker_that_is_killed_is_one_line(four):
    psutil = pytest.importorskip("psutil", reason="the extra [cluster] is not installed")
    command = [sys.executable, "-m", "lnetstat", "analyze", four, "--processes", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as analyze_it:
        workers: list = []
        while not workers and analyze_it.poll() is None:
            workers = [each for each in psutil.Process(analyze_it.pid).children() if "spawn_main" in " ".join(each.cmdline())]
        workers[0].kill()
        errors = analyze_it.communicate()[1]
    assert analyze_it.returncode == 3
    assert errors == "lnetstat: a worker process was killed, perhaps for want of memory: try fewer --processes\n"


def test_a_missing_extra_and_nonsense_are_one_line(four, capsys, monkeypatch):
    pytest.importorskip("distributed", reason="the extra [cluster] is not installed")
    assert cli.run(["analyze", four, "--scheduler", "http://head:1"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "unknown address scheme 'http'" in line
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.run(["analyze", four, "--scheduler", "tcp://head:8786"]) == 3
    assert capsys.readouterr().err == "lnetstat: the Python package distributed is missing: pip install 'lnetstat[cluster]'\n"
