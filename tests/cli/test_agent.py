"""`lnetstat agent`: the words of the command line, the file's, and both."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lnetstat.cli import run

SAMPLE = Path(__file__).parents[2] / "collectors" / "lnetstat.toml"


def test_a_file_is_checked_and_every_error_said(tmp_path, capsys):
    path = tmp_path / "lnetstat.toml"
    path.write_text("interval = 0\n[carbn]\n")
    assert run(["agent", "--check-config", str(path)]) == 2
    words = capsys.readouterr()
    assert (words.out, words.err.count(f"lnetstat: {path}: ")) == ("", 2)
    assert run(["agent", "--check-config", str(SAMPLE)]) == 0
    assert capsys.readouterr().out == f"{SAMPLE}: right\n"


def test_a_file_is_checked_under_what_else_is_said(tmp_path, capsys):
    path = tmp_path / "lnetstat.toml"
    path.write_text("interval = 5\n")
    assert run(["agent", "--check-config", str(path)]) == 2
    assert "say where points go" in capsys.readouterr().err
    assert run(["agent", "--check-config", str(path), "--stdout"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--config", "/nowhere"], "/nowhere: cannot be read"),
        (["--stdout", "--json"], "--json goes with --status"),
        (["--stdout", "--spool", "/x"], "say which Carbon"),
        (["--prometheus", "9169"], "expected HOST:PORT"),
        (["--textfile", "x.txt"], "ends in .prom"),
        (["--carbon", "a:1", "--spool", "/x", "--spool-max-bytes", "1k"], "at least 1M"),
    ],
)
def test_wrong_words_are_status_2_in_one_line(words, said, capsys):
    assert run(["agent", *words]) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert said in errors[0]


def test_the_file_says_what_the_command_line_does_not(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    path = tmp_path / "lnetstat.toml"
    path.write_text(f'root = "{tree}"\nhost = "file"\nprefix = "site.lnet"\nstatus = "status"\n')
    command = [sys.executable, "-m", "lnetstat", "agent", "--config", path.name, "--host", "line", "--stdout", "-n", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stdout.startswith("site.lnet.line.self.")
    status = json.loads((tmp_path / "status").read_text())
    assert (status["host"], status["config"]) == ("line", str(path))
