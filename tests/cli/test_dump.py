"""dump: what it shows, its exact JSON, one line for each bad input, and exit statuses."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample-data"
PEERS = SAMPLES / "2.17.0" / "peers--router.txt"


def run(*words, text=None):
    return subprocess.run([sys.executable, "-m", "lnetstat", *map(str, words)], input=text, capture_output=True, text=True, timeout=120)


def test_a_table_with_its_layout_and_signed_credits():
    done = run("dump", PEERS)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if "modification time is used" not in line] == []
    assert "peers of Lustre 2.1-2.17 (10 columns), 5 rows" in done.stdout
    assert any(line.split()[:2] == ["10.2.0.21@tcp1", "0"] and line.split()[-2:] == ["-7", "2097296"] for line in done.stdout.splitlines())


def test_stdin_is_known_by_its_words():
    done = run("dump", "-", text=PEERS.read_text())
    assert done.returncode == 0
    assert "5 rows" in done.stdout


def test_json_keeps_empty_absent_and_zero_apart(tmp_path):
    header = (SAMPLES / "2.17.0" / "buffers--no-router.txt").read_text()
    (tmp_path / "buffers").write_text(header)
    done = run("dump", "--json", PEERS, tmp_path / "buffers")
    document = json.loads(done.stdout)
    assert document["schema"] == 1
    peers, buffers = document["files"]
    assert set(peers) == {"name", "host", "time", "table", "instance", "layout", "state", "errno", "flags", "rows", "facts", "problems"}
    assert peers["rows"][1]["tx_credits_min"] == -7
    assert peers["rows"][1]["tx_credits"] == 0
    assert (buffers["state"], buffers["rows"]) == ("ok", [])


@pytest.mark.parametrize(
    ("name", "text", "status", "words"),
    [
        ("peers", "", 3, "the text is empty"),
        ("peers", "\x00\x01\x02", 3, "expected the header"),
        ("peers", "x" * 1_000_000, 3, "expected the header"),
        ("passwd", "root:x:0:0:root:/root:/bin/sh\n", 3, "expected"),
        ("brw_stats", "snapshot_time:  1.5 (secs.usecs)\n\n  read | write\npages per bulk r/w  rpcs\n", 3, "brw_stats"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, name, text, status, words):
    (tmp_path / name).write_text(text)
    done = run("dump", tmp_path / name)
    lines = [line for line in done.stderr.splitlines() if "modification time is used" not in line]
    assert done.returncode == status
    assert len(lines) == 1
    assert words in lines[0]
    assert "Traceback" not in done.stderr
    assert len(lines[0]) < 600


def test_one_bad_file_does_not_stop_the_others(tmp_path):
    done = run("dump", tmp_path / "absent", PEERS)
    assert done.returncode == 3
    assert "absent: No such file or directory" in done.stderr
    assert "5 rows" in done.stdout


def test_a_cut_row_is_told(tmp_path):
    (tmp_path / "peers").write_text(PEERS.read_text()[:-3])
    done = run("dump", tmp_path / "peers")
    assert done.returncode == 3
    assert "line 6" in done.stderr


def test_csv_of_a_recording_within_a_time(tmp_path):
    recording = SAMPLES / "recordings" / "s7-lustre-pings"
    done = run("dump", recording, "--csv", "--table", "buffers", "--host", "rtr", "--begin", "2026-11-20T12:02:04Z")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert done.returncode == 0
    assert {row["host"] for row in rows} == {"rtr"}
    assert {row["pool"] for row in rows} == {"tiny", "small", "large"}
    assert all(int(row["time_ns"]) >= 1795176124 * 10**9 for row in rows)
    assert 30 <= len(rows) <= 63
    assert run("dump", recording, "--csv", "--to", tmp_path / "out").returncode == 0
    assert (tmp_path / "out" / "counters.csv").read_text().count("\n") > 10_000


def test_usage_errors_have_their_own_status():
    assert run("dump").returncode == 2
    assert run("dump", "--csv", PEERS).returncode == 2
    assert "no table is called nonsense" in run("dump", "--table", "nonsense", PEERS).stderr
    assert run("nonsense").returncode == 2


def test_a_hostile_name_cannot_drive_the_terminal(tmp_path):
    (tmp_path / "evil\x1b[2J").write_text("\x1b[31mred\n")
    done = run("dump", tmp_path / "evil\x1b[2J")
    assert "\x1b" not in done.stdout + done.stderr
    assert done.returncode == 3


def test_a_reader_that_goes_away_is_no_error():
    command = f"'{sys.executable}' -m lnetstat dump '{SAMPLES / 'recordings' / 's2-bursts'}' | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
