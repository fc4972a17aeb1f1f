"""The program itself: in a terminal (a pty), and as text where there is none."""

import contextlib
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

import pytest

from tests.top.screens import record, router

COMMAND = [sys.executable, "-m", "lnetstat", "top"]
PATIENCE_S = 60


def make_tree(folder):
    for each in router(3):
        if each.name != "ost.OSS.ost.stats":
            (folder / each.name).write_text(each.text)
    return folder


def run(*words):
    return subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)


class Terminal:
    """The program in a terminal of 80x24; `until` reads what it draws. It is the terminal of no session: who closes it sends no SIGHUP."""

    def __init__(self, *words, command=COMMAND, size=(80, 24), **environment):
        self._master, child = pty.openpty()
        self._name = os.ttyname(child)
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", *reversed(size), 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"} | environment
        self._process = subprocess.Popen([*command, *map(str, words)], stdin=child, stdout=child, stderr=child, env=environment)
        os.close(child)
        self.drawn = b""

    def until(self, words):
        end_s = time.monotonic() + PATIENCE_S
        while words not in self.drawn:
            assert select.select([self._master], [], [], max(0, end_s - time.monotonic()))[0], self.drawn[-2000:]
            self.drawn += os.read(self._master, 65536)

    def press(self, keys):
        self.drawn = b""
        self.answer(keys)

    def answer(self, data):
        os.write(self._master, data)

    def terminate(self):
        self._process.terminate()

    def stop_the_flow(self):
        """Take no more of what is written, as after Ctrl-S or with an ssh that stalls."""
        flow = os.open(self._name, os.O_RDWR | os.O_NOCTTY)
        termios.tcflow(flow, termios.TCOOFF)
        os.close(flow)

    def go_away(self):
        os.close(self._master)
        self._master = None

    def status(self):
        return self._process.wait(PATIENCE_S)

    def end(self):
        """Return the exit status, and what was drawn last."""
        try:
            while data := os.read(self._master, 65536):
                self.drawn += data
        except OSError:  # the other end is closed
            pass
        return self.status()

    def close(self):
        self._process.kill()
        self._process.wait()
        if self._master is not None:
            os.close(self._master)


@pytest.fixture(name="open_terminal")
def fixture_open_terminal():
    """Makes Terminals, whose programs end with the test."""
    with contextlib.ExitStack() as opened:
        yield lambda *words, **how: opened.enter_context(contextlib.closing(Terminal(*words, **how)))


def test_in_a_terminal_it_draws_takes_keys_and_leaves_the_terminal_as_it_was(tmp_path, open_terminal):
    terminal = open_terminal("--root", make_tree(tmp_path), "-i", "0.1")
    terminal.until(b"10.2.0.3@tcp1")
    terminal.until(b"\x1b]11;?")  # it asks for the ground, which is white here
    terminal.answer(b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;4c")
    terminal.until(b"? help")  # textual is there
    assert b"48;2;224;224;224m" in terminal.drawn
    terminal.press(b"3")
    terminal.until(b"small")
    terminal.press(b"/qy\x7f1\r/")  # the field is imported when it is asked for
    terminal.until(b"/q1: 0 rows")
    terminal.press(b"\x03")  # quits there too
    assert terminal.end() == 0
    assert b"\x1b[?1049l" in terminal.drawn


def test_the_first_screen_is_there_before_textual_is(tmp_path, open_terminal):
    # it waits for a key, so that what was drawn before can be looked at
    (tmp_path / "textual.py").write_text("import sys; sys.stdin.readline(); raise RuntimeError('textual was imported')\n")
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from lnetstat.cli import main; main()"
    tree = tmp_path / "tree"
    tree.mkdir()
    terminal = open_terminal("--root", make_tree(tree), command=[sys.executable, "-c", code, str(tmp_path), "top"])
    terminal.until(b"10.2.0.3@tcp1")
    assert b"textual was imported" not in terminal.drawn
    terminal.press(b"\n")
    terminal.until(b"textual was imported")
    assert terminal.end() == 4


def test_what_is_drawn_is_on_the_terminal_where_stderr_is_a_file(tmp_path, open_terminal):
    tree, words = tmp_path / "tree", tmp_path / "words"
    tree.mkdir()
    terminal = open_terminal("--root", make_tree(tree), command=["sh", "-c", 'exec "$@" 2>"$0"', str(words), *COMMAND])
    terminal.until(b"? help")
    terminal.press(b"q")
    assert (terminal.end(), words.read_text()) == (0, "")


def test_a_recording_in_a_terminal(tmp_path, open_terminal):
    terminal = open_terminal(record(tmp_path / "rec", 10), "--at", "-2s")
    terminal.until(b"12:00:07.000Z")
    terminal.until(b"? help")
    terminal.press(b"\x1b[C")
    terminal.until(b"8")
    terminal.terminate()
    assert terminal.end() == 143
    assert b"\x1b[?1049l" in terminal.drawn


def test_a_terminal_that_goes_away_without_a_signal_ends_it_as_a_hangup_does(tmp_path, open_terminal):
    words = tmp_path / "words"
    terminal = open_terminal("--root", make_tree(tmp_path), command=["sh", "-c", 'exec "$@" 2>"$0"', str(words), *COMMAND])
    terminal.until(b"? help")
    terminal.go_away()
    assert (terminal.status(), words.read_text()) == (129, "")


def test_a_terminal_that_takes_nothing_keeps_nobody_from_ending_it(tmp_path, open_terminal):
    for end, status in ((lambda terminal: terminal.answer(b"tttq"), 0), (lambda terminal: terminal.terminate(), 143)):
        terminal = open_terminal("--root", make_tree(tmp_path), "-i", "0.1")
        terminal.until(b"? help")
        terminal.stop_the_flow()
        end(terminal)
        assert terminal.status() == status


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (0, 0)])
def test_a_terminal_of_any_size_without_unicode_is_drawn_in(tmp_path, open_terminal, size):
    terminal = open_terminal("--root", make_tree(tmp_path), size=size, TERM="linux", PYTHONIOENCODING="latin-1")
    terminal.until(b"\x1b[?2004h")  # textual takes keys; its words may have no room
    terminal.answer(b"?x3/a\rq")
    assert terminal.end() == 0
    assert terminal.drawn.isascii()
    assert b"\x1b]11;?" not in terminal.drawn  # older consoles print it


def test_where_no_screen_can_be_drawn_it_is_text_and_says_why(tmp_path, open_terminal):
    terminal = open_terminal("--root", make_tree(tmp_path), TERM="dumb")
    assert terminal.end() == 0
    assert b"\x1b" not in terminal.drawn
    assert terminal.drawn.count(b"TERM names no terminal") == 1
    assert b"10.2.0.3@tcp1" in terminal.drawn


def test_without_a_terminal_it_is_one_sample_as_text_the_worst_first(tmp_path):
    done = run("--root", make_tree(tmp_path), "--rows", 2)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    at = lines.index("Peers: 2 of 5: 1 short now, 1 before, 1 down")
    assert ["10.2.0.3@tcp1" in lines[at + 2], "10.2.0.4@tcp1" in lines[at + 3], lines[at + 4]] == [True, True, ""]
    assert "\x1b" not in done.stdout


def test_json_has_every_row_and_what_could_not_be_read(tmp_path):
    (make_tree(tmp_path) / "nis").write_text("garbage\n")
    done = run("--root", tmp_path, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 3
    assert (len(found["peers"]), found["nis"]) == (5, [])
    assert "expected the header" in found["problems"]["nis"][0]
    assert found["buffers"][0]["credits"] == 3500


def test_several_samples_of_a_recording_have_rates(tmp_path):
    done = run(record(tmp_path / "rec", 10), "--at", "2026-08-14T12:00:00Z", "-n", 3, "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["time"][17:19] for each in found] == ["00", "01", "02"]
    pings = [row["per_s"] for each in found for row in each["services"] if row["counter"] == "obd_ping"]
    assert pings == [None, 59, 59]


def test_what_cannot_be_looked_at_is_one_line(tmp_path):
    for words, status, expected in (
        ((tmp_path / "none",), 3, "no recording: expected the folder that `lnetstat record` wrote"),
        ((record(tmp_path / "rec", 2), "--host", "other"), 3, "no host other: it holds rtr1"),
        ((tmp_path / "rec", "-w", "rtr1"), 2, "RECORDING is looked at by itself"),
        (("--at", "-5s"), 2, "--at is a moment of a recording"),
        (
            (tmp_path / "rec", "--at", "2030-01-01T00:00:00Z"),
            3,
            "no samples at 2030-01-01T00:00:00Z: the data begin at 2026-08-14T12:00:00Z",
        ),
        (("-w", "rtr[1-"), 3, "'rtr[1-': no names of nodes"),
        (("-w", "rtr1", "--ssh", "'"), 2, "--ssh"),
        (("--root", tmp_path / "none"), 3, "not a folder"),
    ):
        done = run(*words)
        assert (done.returncode, expected in done.stderr) == (status, True), done
        assert "Traceback" not in done.stderr
