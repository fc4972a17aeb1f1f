import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lnetstat.cli import run
from lnetstat.recording import Recording, is_recording

SMALL = """
about = "a small system"
release = "1.8"
[run]
duration = "25 s"
[clients]
count = 20
[routers]
count = 2
[servers]
count = 2
[o2ib]
credits = 256
[pings]
interval = "10 s"
first = "2 s"
[[io]]
processes = 4
window = 2
"""
DEADLINE_S = 120


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """What stands on stderr, which is one line."""
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1, said
    return said


def test_a_scenario_becomes_a_recording_with_the_truth_beside_it(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "rec"
    assert run(["simulate", small, "-o", str(folder)]) == 0
    said = capsys.readouterr()
    assert is_recording(folder)
    assert len(Recording(folder).hosts) == 2
    assert json.loads((tmp_path / "rec.truth.json").read_text())["simulated_s"] == 25
    assert (tmp_path / "rec.progress.csv").stat().st_size > 0
    dead, load, wanted = said.out.splitlines()
    assert dead.startswith("Dead time: ")
    assert "3 floods of pings" in dead
    assert "pings of one interval: 80 a server, 80 a router" in load
    assert wanted.startswith("Wanted at once: peer credits ")
    assert f"{folder}: simulated 25.0 s, 26 samples, " in said.err


def test_the_recording_can_be_analyzed(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", small, "-o", str(tmp_path / "rec")]) == 0
    assert run(["analyze", str(tmp_path / "rec")]) == 0
    assert "26 samples, one every 1 s" in capsys.readouterr().out


def test_what_drivers_clamp_is_said(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change = ["--set", "o2ib.credits=64", "--set", "o2ib.peer_credits=126"]
    assert run(["simulate", small, "-o", str(tmp_path / "rec"), "--duration", "3s", *change]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("lnetstat: note: ")]
    assert any("peer_credits=126" in note and "64" in note for note in notes)


def test_json_says_what_was_written_and_the_truth(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", small, "-o", str(tmp_path / "rec"), "--duration", "15 s", "--seed", "7", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert document["written"]["samples"] == 16
    assert document["truth"] == json.loads((tmp_path / "rec.truth.json").read_text())["merged"]
    assert json.loads((tmp_path / "rec.truth.json").read_text())["seed"] == 7


def test_a_live_tree_has_the_files_of_each_host(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = tmp_path / "tree"
    assert run(["simulate", small, "--to", str(tree), "--speed", "1000", "--duration", "5s"]) == 0
    capsys.readouterr()
    hosts = sorted(path.name for path in tree.iterdir())
    assert len(hosts) == 2
    assert run(["dump", str(tree / hosts[-1]), "--table", "peers"]) == 0
    assert "@o2ib" in capsys.readouterr().out


def test_presets_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--list"]) == 0
    listed = capsys.readouterr().out
    for name in ("paper-untuned", "paper-tuned", "petascale", "ornl-tcp", "mr-failure", "control-suppressed"):
        assert f"\n{name} " in f"\n{listed}"
    assert max(map(len, listed.splitlines())) <= 100
    assert run(["simulate", "--show", "paper-untuned"]) == 0
    assert "about" in tomllib.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["paper-untune", "-o", "rec"], "did you mean 'paper-untuned'?"),
        (["--show", "paper-untune"], "did you mean 'paper-untuned'?"),
        (["none.toml", "-o", "rec"], "none.toml: cannot be read"),
        (["paper-untuned", "-o", "rec", "--set", "o2ib.peer_credit=9"], "did you mean 'o2ib.peer_credits'?"),
        (["paper-untuned", "-o", "rec", "--set", "o2ib.peer_credits"], "expected KEY=VALUE"),
        (["paper-untuned", "-o", "rec", "--set", "clients.count=-1"], "clients.count"),
        (["paper-untuned", "-o", "rec", "--set", "run.seed=1", "--seed", "2"], "run.seed is given twice"),
        (["paper-untuned", "-o", "rec", "--duration", "20 weeks"], "run.duration"),
    ],
)
def test_a_scenario_that_cannot_be_is_one_line_and_leaves_nothing(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", *arguments]) == 2
    assert said in told(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a preset"),
        (["paper-untuned"], "say where to write: -o REC"),
        (["paper-untuned", "-o", "rec", "--to", "tree"], "not both"),
        (["paper-untuned", "-o", "rec", "--speed", "2"], "--speed goes with --to"),
        (["paper-untuned", "--to", "tree", "--speed", "0"], "--speed"),
        (["paper-untuned", "--to", "tree", "--speed", "nan"], "--speed: nan: expected a finite number above 0"),
        (["paper-untuned", "--to", "tree", "--speed", "1e400"], "--speed: inf: expected a finite number above 0"),
        (["paper-untuned", "--to", "tree", "--processes", "2"], "--processes goes with -o"),
        (["paper-untuned", "-o", "rec", "--seed", "-1"], "--seed"),
        (["paper-untuned", "-o", "rec", "--processes", "0"], "--processes"),
        (["paper-untuned", "-o", ""], "empty"),
    ],
)
def test_options_that_do_not_fit_are_said(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_recording_is_not_written_over(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simulate", small, "-o", str(tmp_path / "rec"), "--duration", "3s"]
    assert run(arguments) == 0
    capsys.readouterr()
    assert run(arguments) == 3
    assert "choose another folder" in told(capsys)


def test_ctrl_c_leaves_a_recording_and_its_truth(small: str, tmp_path: Path) -> None:
    folder = tmp_path / "rec"
    command = [sys.executable, "-m", "lnetstat", "simulate", small, "-o", str(folder), "--duration", "5d"]
    with started(command) as process:
        wait_until(lambda: folder.is_dir() and sum(file.stat().st_size for file in folder.iterdir()) > 20_000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "stopped after" in err
    assert out.startswith("Dead time: ")
    truth = json.loads((tmp_path / "rec.truth.json").read_text())
    assert truth["complete"] is False
    assert set(Recording(folder).hosts) == set(truth["observed"])


@pytest.mark.parametrize(
    ("numbers", "status"),
    [
        ([signal.SIGTERM], 143),
        ([signal.SIGKILL], -signal.SIGKILL),
        ([signal.SIGINT, signal.SIGINT], 130),
        ([signal.SIGTERM, signal.SIGTERM], 143),
    ],
)
def test_no_worker_outlives_the_program(small: str, tmp_path: Path, numbers: list[int], status: int) -> None:
    change = ["--set", "groups=3", "--processes", "2", "--duration", "5d"]
    with started([sys.executable, "-m", "lnetstat", "simulate", small, "-o", str(tmp_path / "rec"), *change]) as process:
        wait_until(lambda: len(simulating(process.pid)) == 2)
        children = simulating(process.pid)
        try:
            for number in numbers:
                process.send_signal(number)
            _, err = process.communicate(timeout=DEADLINE_S)  # to the end of stderr, which workers hold open too
        finally:
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
    assert process.returncode == status, err
    assert "Traceback" not in err
    assert list(Recording(tmp_path / "rec").snapshots())
    if numbers == [signal.SIGTERM]:
        assert json.loads((tmp_path / "rec.truth.json").read_text())["complete"] is False


def simulating(parent: int) -> list[int]:
    """Its worker processes that have come as far as the simulator's libraries."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in children if "_multiarray_umath" in Path(f"/proc/{child}/maps").read_text()]


def test_a_terminal_sees_how_far_it_is(small: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lnetstat", "simulate", small, "-o", str(tmp_path / "rec")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # EIO: the other end was closed
            while part := os.read(ours, 65536):
                seen += part
        os.close(ours)
    assert process.returncode == 0
    assert "25 s of 25 s simulated" in seen.decode()
    assert "x real time" in seen.decode()


def test_help_is_there_at_once() -> None:
    code = "import sys; from lnetstat.cli import run; run(['simulate', '--help']); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@contextlib.contextmanager
def started(command: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """A process that does not outlive the test."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(there: Callable[[], bool]) -> None:
    """Look again and again until it is so."""
    end = time.monotonic() + DEADLINE_S
    while not there():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
