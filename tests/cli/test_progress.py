"""Progress of long work: seen in a terminal (a pty), gone at the end, and nowhere else."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter
from tests.cli.test_simulate import SMALL

PATIENCE_S = 60
START_NS = 1_790_000_000 * 10**9
PEERS = """\
nid                      refs state  last   max   rtr   min    tx   min queue
10.1.0.1@tcp                3    up    -1     8     8     2     6    -3 4096
"""
BAR = re.compile(r"\[#*-*\] +[0-9]+%")
VERBS = {
    "analyze": (["analyze", "recorded"], "credits of 1 of 1 hosts"),
    "report": (["report", "recorded", "-o", "report.html"], "drawing"),
    "compare": (["compare", "recorded", "recorded"], "comparing"),
    "series": (["analyze", "series.csv"], "searching for dead time"),
    "replay": (["replay", "recorded", "--to", "tree", "--speed", "1000"], "snapshots"),
    "simulate": (["simulate", "small.toml", "-o", "rec", "--processes", "1"], "s simulated"),
    "sweep": (["sweep", "small.toml", "--over", "pings.spread=1ms,5s", "--processes", "1"], "of 2 points"),
}


class Terminal:
    """A verb whose standard error is a terminal of its own, and whose other output is kept."""

    def __init__(self, folder: Path, words: list[str], *, columns: int = 80, **environment: str):
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lnetstat", *words],
            cwd=folder,
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that ^C comes as from a keyboard
        )
        os.close(theirs)
        self.seen = ""

    def until(self, words: str) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while words not in self.seen:
            assert select.select([self._ours], [], [], max(0.0, deadline_s - time.monotonic()))[0], self.seen
            self.seen += os.read(self._ours, 65536).decode()

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def end(self) -> int:
        """Return the exit status; `seen` is everything then."""
        try:
            while data := os.read(self._ours, 65536):
                self.seen += data.decode()
        except OSError:  # the other end is closed
            pass
        os.close(self._ours)
        return self.process.wait(PATIENCE_S)

    @property
    def screen(self) -> list[str]:
        """What stands there at the end, line by line: a return goes to the beginning of the line, and ESC [ K erases the rest of it."""
        lines, at = [""], 0
        for part in re.split(r"(\r|\n|\x1b\[K)", self.seen):
            if part == "\n":
                lines.append("")
                at = 0
            elif part == "\r":
                at = 0
            elif part == "\x1b[K":
                lines[-1] = lines[-1][:at]
            else:
                lines[-1] = lines[-1][:at] + part + lines[-1][at + len(part) :]
                at += len(part)
        return lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    with RecordingWriter(tmp_path / "recorded") as writer:
        for second in range(60):
            stamp = START_NS + second * 10**9
            for name, text in (("peers", PEERS), ("stats", f"0 13 0 9 9 {second * 100} 0 0 0 {second * 10**6} 0\n")):
                writer.write([Snapshot(name, "rtr1", stamp, stamp, 10**5, State.OK, 0, frozenset(), text)])
    (tmp_path / "series.csv").write_text("time,value\n" + "".join(f"{1_700_000_000 + t},{1e9 * (t % 25 > 1)}\n" for t in range(600)))
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_a_terminal_sees_how_far_it_is_and_keeps_nothing_of_it(verb: str, folder: Path) -> None:
    words, step = VERBS[verb]
    terminal = Terminal(folder, words)
    assert terminal.end() in (0, 1)
    assert BAR.search(terminal.seen)
    assert step in terminal.seen
    assert not any(BAR.search(line) for line in terminal.screen)
    assert terminal.screen[-1] == ""  # the prompt comes at the beginning of a line


def test_it_has_no_colours(folder: Path) -> None:
    terminal = Terminal(folder, VERBS["analyze"][0], NO_COLOR="1")
    terminal.end()
    assert set(re.findall(r"\x1b\[[0-9;?]*[A-Za-z]", terminal.seen)) == {"\x1b[K"}


def test_a_narrow_terminal_gets_a_line_that_does_not_wrap(folder: Path) -> None:
    terminal = Terminal(folder, VERBS["replay"][0], columns=40)
    terminal.end()
    drawn = [part for part in re.split(r"\r|\n|\x1b\[K", terminal.seen) if BAR.match(part)]
    assert drawn
    assert max(map(len, drawn)) == 39


@pytest.mark.parametrize("words", [["analyze", "recorded", "--json"], ["report", "recorded", "--format", "json"]])
def test_json_for_a_program_comes_without_a_word(words: list[str], folder: Path) -> None:
    terminal = Terminal(folder, words)
    assert terminal.end() == 0
    assert terminal.seen == ""


def test_a_terminal_that_cannot_erase_gets_no_bar(folder: Path) -> None:
    terminal = Terminal(folder, VERBS["analyze"][0], TERM="dumb")
    terminal.end()
    assert terminal.seen == ""


def test_without_a_terminal_there_is_none(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "lnetstat", *VERBS["replay"][0]], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1].startswith("replayed ")
    assert "\x1b" not in done.stderr
    assert not BAR.search(done.stderr)


def test_ctrl_c_ends_it_and_leaves_no_bar(folder: Path) -> None:
    terminal = Terminal(folder, ["replay", "recorded", "--to", "tree", "--speed", "1"])
    terminal.until("snapshots")
    terminal.press(b"\x03")
    assert terminal.end() == 130
    assert "Traceback" not in terminal.seen
    assert not any(BAR.search(line) for line in terminal.screen)


def test_what_is_said_meanwhile_stands_on_a_line_of_its_own(folder: Path) -> None:
    (folder / "tree" / "peers").mkdir(parents=True)  # where a file is to be: told once, and the replay goes on
    terminal = Terminal(folder, ["replay", "recorded", "--to", "tree", "--speed", "1000"])
    terminal.end()
    assert all(line.startswith(("lnetstat: ", "replayed ")) or not line for line in terminal.screen), terminal.screen
