"""Completion in the real shells: bash sources the script and completes; zsh and fish, where they are installed, read it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lnetstat.cli import lnetstat

# Completes the line of $1 as readline would: finds the function by `complete -p`, fills in COMP_*, prints COMPREPLY.
ASK = r"""
source <(lnetstat completion bash)
line=$1
COMP_LINE=$line COMP_POINT=${#line}
read -ra COMP_WORDS <<< "$line"
[[ $line == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
[[ $(complete -p lnetstat) =~ -F\ ([a-zA-Z_]+) ]] || exit 9
compopt() { echo "compopt $*"; }
"${BASH_REMATCH[1]}" lnetstat "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A PATH with this lnetstat first."""
    program = tmp_path / "lnetstat"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m lnetstat "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


def completed(line):
    done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", line], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("lnetstat an", ["analyze"]),
        ("lnetstat dump --fo", ["--format"]),
        ("lnetstat dump --format ", ["table", "json", "csv", "parquet"]),
        ("lnetstat stack sch", ["schemas"]),
        ("lnetstat completion z", ["zsh"]),
        ("lnetstat nothing", []),
    ],
)
def test_bash_completes(line, offered):
    assert [word for word in completed(line) if word] == offered


@pytest.mark.usefixtures("path")
def test_bash_offers_every_verb():
    assert set(lnetstat.list_commands(None)) <= set(completed("lnetstat "))


def test_completing_a_verb_imports_none():
    script = (
        "import sys; from lnetstat.cli import lnetstat; import click; c = click.Context(lnetstat);"
        "print([i.value for i in lnetstat.shell_complete(c, 'an')], [i.help[:3] for i in lnetstat.shell_complete(c, 'an')]);"
        "print(sorted(m for m in sys.modules if m.startswith('lnetstat.cli.') and not m.startswith('lnetstat.cli._')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["['analyze'] ['Say']", "[]"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_read_their_script(shell, tmp_path):
    script = tmp_path / "script"
    script.write_text(CliRunner().invoke(lnetstat, ["completion", shell]).stdout)
    assert "_LNETSTAT_COMPLETE" in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here: only it can check its script's syntax")
    assert subprocess.run([shell, "-n", str(script)], capture_output=True, timeout=60).returncode == 0
