"""Which Python runs the stack, and what is said where none can."""

import configparser
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from lnetstat.stack import StackError
from lnetstat.stack.interpreter import Interpreter, interpreter_for, probe, requirements

REPOSITORY = Path(__file__).parents[2]


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_this_python_is_taken_where_it_has_the_stack(tmp_path):
    told = []
    found = interpreter_for(tmp_path, told.append)
    assert (found.path, found.version, found.missing) == (sys.executable, (3, 11), ())
    assert told == []


def test_a_newer_python_without_python311_is_told_in_one_line(tmp_path, monkeypatch):
    newer = script(tmp_path / "python", """echo '[[3, 13], ["carbon", "graphite"], false]'""")
    script(tmp_path / "python3.11", "echo 'python3.11: command not found' >&2; exit 127")  # a shim with nothing behind it
    monkeypatch.setattr(sys, "executable", newer)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StackError) as caught:
        interpreter_for(tmp_path / "stack", lambda line: None)
    assert "install python3.11" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_python311_without_venv_is_told_in_one_line(tmp_path, monkeypatch):
    newer = script(tmp_path / "python", "echo '[[3, 13], [], false]'")
    bare = script(
        tmp_path / "python3.11",
        """[ "$1" = -c ] && echo '[[3, 11], ["carbon"], false]' || { echo 'ensurepip is not available'; exit 1; }""",
    )
    monkeypatch.setattr(sys, "executable", newer)
    monkeypatch.setenv("PATH", str(tmp_path))
    told = []
    with pytest.raises(StackError, match=r"install python3\.11-venv\): ensurepip is not available"):
        interpreter_for(tmp_path / "stack", told.append)
    assert bare in told[0]


def test_what_is_no_python_is_passed_over(tmp_path):
    assert probe(str(tmp_path / "absent")) is None
    assert probe(script(tmp_path / "mute", "exit 0")) is None


@pytest.mark.parametrize(
    ("version", "missing", "runs"), [((3, 11), (), True), ((3, 11), ("carbon",), False), ((3, 12), (), False), ((3, 10), (), False)]
)
def test_only_python311_with_every_module_runs_the_stack(version, missing, runs):
    assert Interpreter("python", version, missing, draws=True).runs_stack is runs


def test_the_pins_are_those_of_the_extra():
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(REPOSITORY / "setup.cfg")
    pins = {Requirement(line.partition(";")[0]) for line in setup["options.extras_require"]["stack"].strip().splitlines()}
    assert {Requirement(text) for text in requirements()} == pins
    assert "graphite-web" in {pin.name for pin in pins}
