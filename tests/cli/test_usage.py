"""Wrong options are said before anything is done; a missing extra is named; one taker that fails does not end the other."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lnetstat.cli import lnetstat, run

SAMPLES = Path(__file__).parents[2] / "sample-data"
PINGS = SAMPLES / "recordings" / "s7-lustre-pings"


@pytest.mark.parametrize(
    "words",
    [
        ["record", "-o", ""],
        ["record", "-o", "rec", "-i", "1ms"],
        ["record", "-o", "rec", "-i", "nan"],
        ["record", "-o", "rec", "--root", "/tmp", "--reset-low-water"],
        ["record", "-o", "rec", "--max-bytes", "10k"],
        ["agent"],
        ["agent", "--stdout", "--prefix", "a b..c"],
        ["agent", "--stdout", "--host", "a\nb"],
        ["agent", "--carbon", "nowhere"],
        ["replay", str(PINGS), "--carbon", "localhost:1", "--prefix", ""],
        ["replay", str(PINGS)],
        ["analyze", str(PINGS), "--interval", "nan"],
        ["analyze", str(PINGS), "--fail-on", "everything"],
        ["dump", str(PINGS), "--format", "parquet"],
        ["simulate", "--list", "--json"],
        ["tables", "--markdown", "--json"],
        ["tables", "peers", "--metrics"],
        ["agent", "--check-config", "lnetstat.toml", "--json"],
    ],
    ids=lambda words: " ".join(words[:1] + words[-2:]).replace(str(PINGS), "REC"),
)
def test_wrong_options_are_status_2_in_one_line(words, capsys):
    assert run(words) == 2
    assert "Error: " in capsys.readouterr().err


def test_a_verb_that_is_none_is_told_with_the_one_that_was_meant(capsys):
    assert run(["anlyze", "rec"]) == 2
    assert "Error: there is no verb anlyze, did you mean analyze?" in capsys.readouterr().err
    assert run(["\x1b[2J"]) == 2
    assert "Error: there is no verb \\x1b[2J: lnetstat --help lists them" in capsys.readouterr().err


def test_a_folder_of_recordings_is_not_read_as_something_else(capsys):
    assert run(["analyze", str(SAMPLES)]) == 3
    assert " recordings: name those to read" in capsys.readouterr().err


def test_what_cannot_be_read_is_status_3_also_for_analyze(tmp_path, capsys):
    (tmp_path / "peers").write_text("garbage\n")
    (tmp_path / "stats").write_text((SAMPLES / "2.17.0" / "stats--router.txt").read_text())
    assert run(["analyze", str(tmp_path)]) == 3
    assert "peers of " in (words := capsys.readouterr().err)
    assert "could not be read whole" in words
    assert run(["dump", str(tmp_path), "--format", "parquet", "--to", str(tmp_path / "out")]) == 3
    assert "could not be read" in capsys.readouterr().err


def test_no_snapshot_in_the_time_asked_for_is_said(capsys):
    assert run(["dump", str(PINGS), "--begin", "2030-01-01T00:00:00Z"]) == 3
    assert "no snapshot between --begin and --end" in capsys.readouterr().err


def test_csv_comes_from_stdin_too():
    rows = "".join(f"{1_700_000_000 + second},{0 if second % 30 < 2 else 100}\n" for second in range(900))
    command = [sys.executable, "-m", "lnetstat", "analyze", "-", "--interval", "1"]
    done = subprocess.run(command, input="time,value\n" + rows, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "every 30" in done.stdout


def test_a_carbon_that_is_not_there_does_not_keep_the_tree_from_being_written(tmp_path, monkeypatch):
    monkeypatch.setattr("lnetstat.cli.replay.CARBON_PATIENCE_S", 0.2)
    words = ["replay", str(PINGS), "--to", str(tmp_path), "--speed", "100000", "--carbon", "127.0.0.1:1", "--host", "rtr"]
    done = CliRunner().invoke(lnetstat, words, standalone_mode=False)
    assert done.return_value == 3
    assert "going on without it" in done.output
    assert (tmp_path / "peers").read_text().startswith("nid ")


def test_a_missing_extra_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "lnetstat.cli.analyze", raising=False)
    monkeypatch.delitem(sys.modules, "lnetstat.cli._inputs", raising=False)
    assert run(["analyze", str(PINGS)]) == 3
    assert "pip install 'lnetstat[analysis]'" in capsys.readouterr().err
