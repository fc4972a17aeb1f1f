"""Nodes behind a real sshd: all their files, as they stand; one that refuses, hangs or dies hides no other."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lnetstat.recording import Recording
from lnetstat.remote import Crew, connection
from tests.remote.conftest import PATIENCE_S, WITHOUT_SSHD

pytestmark = pytest.mark.skipif(WITHOUT_SSHD, reason="no sshd here (Debian: apt-get install openssh-server openssh-client)")
TABLES = ("peers", "nis", "buffers", "stats", "routes")


def command(*words):
    return [sys.executable, "-m", "lnetstat", *map(str, words)]


def run(*words):
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)


def test_each_node_s_files_come_byte_for_byte_under_its_name(nodes, tmp_path):
    done = run("record", "-o", tmp_path / "rec", "-w", "rtr[1-3]", "--ssh", nodes.ssh, "--root", ".", "-i", "1", "-n", 3)
    assert (done.returncode, done.stderr) == (0, "")
    recording = Recording(tmp_path / "rec")
    assert recording.hosts == ("rtr1", "rtr2", "rtr3")
    snapshots = list(recording.snapshots())
    for host in recording.hosts:
        for name in TABLES:
            of_name = [s for s in snapshots if (s.host, s.name) == (host, name)]
            assert len(of_name) == 3
            assert {s.text for s in of_name} == {(nodes.tree(host) / name).read_text()}
            assert sorted({s.time_ns for s in of_name}) == [s.time_ns for s in of_name]
    assert abs(snapshots[-1].time_ns - time.time_ns()) < 60 * 10**9
    assert all(b.mono_ns > a.mono_ns for a, b in itertools.pairwise(of_name))


def test_one_that_refuses_and_one_that_hangs_are_named_and_hide_no_other(nodes, tmp_path):
    words = ("record", "-o", tmp_path / "rec", "-w", "rtr[1-2],refuses,hangs", "--ssh", nodes.ssh, "--root", ".", "-i", "0.1", "-n", 20)
    done = run(*words)
    assert done.returncode == 3
    assert Recording(tmp_path / "rec").hosts == ("rtr1", "rtr2")
    lines = done.stderr.splitlines()
    assert sum("refuses: " in line and "Connection refused" in line for line in lines) == 1
    assert sum("hangs: " in line and "timed out" in line for line in lines) == 1
    assert lines[-1].endswith("not read, or not all the time: hangs,refuses")
    assert len(lines) == 3


def test_one_shot_text_and_json_of_many_nodes(nodes):
    done = run("top", "-w", "rtr[1-3]", "--ssh", nodes.ssh, "--root", ".", "--rows", 2)
    assert (done.returncode, done.stderr) == (0, "")
    assert "rtr1, rtr2, rtr3" in done.stdout
    assert "Peers: 2 of 15" in done.stdout
    done = run("top", "-w", "rtr2,refuses", "--ssh", nodes.ssh, "--root", ".", "--json")
    assert done.returncode == 3
    assert {(peer["host"], peer["queue_bytes"]) for peer in json.loads(done.stdout)["peers"]} == {("rtr2", 200)}
    assert "refuses: " in done.stderr


def test_a_node_that_dies_is_told_once_comes_back_and_the_others_go_on(nodes):
    lines, looks = [], []
    crew = Crew(["rtr1", "rtr2"], lines.append, ssh=nodes.ssh.split(), root=".", interval_s=0.1)

    def until(enough):
        end_s = time.monotonic() + PATIENCE_S
        while not enough():
            assert time.monotonic() < end_s, (lines, len(looks))
            crew.ask()
            looks.extend(crew.wait(time.monotonic() + 0.5, lambda: crew.all_answered() or enough()))

    def hosts():
        return [look[0].host for look in looks]

    try:
        until(lambda: {"rtr1", "rtr2"} <= set(hosts()))
        assert nodes.kill_sessions("rtr1") > 0
        until(lambda: lines)
        looks.clear()
        until(lambda: hosts().count("rtr2") > 2)
        until(lambda: "rtr1" in hosts())
        assert len(lines) == 2
        assert lines[0].startswith("rtr1: ")
        assert lines[1] == "rtr1: answers again"
        assert crew.failed == ["rtr1"]
    finally:
        crew.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_loop_on_the_node_ends_with_us(nodes, tmp_path, number):
    words = ("record", "-o", tmp_path / "rec", "-w", "rtr3", "--ssh", nodes.ssh, "--root", ".", "-i", "0.1")
    process = subprocess.Popen(command(*words), stderr=subprocess.PIPE, text=True)
    with process:
        wait_until(lambda: (tmp_path / "rec").exists() and Recording(tmp_path / "rec").end_ns)
        assert shells_in(nodes.tree("rtr3"))
        process.send_signal(number)
        status = process.wait(PATIENCE_S)
    assert status == {signal.SIGKILL: -9, signal.SIGTERM: 0, signal.SIGINT: 130}[number]
    wait_until(lambda: not shells_in(nodes.tree("rtr3")))
    assert len(list(Recording(tmp_path / "rec").snapshots())) >= len(TABLES)


def test_one_that_lets_us_in_and_then_says_nothing_is_told_when_it_happens_and_when_it_speaks(nodes, monkeypatch):
    monkeypatch.setattr(connection, "SILENT_LOGIN_S", 0.5)
    lines = []
    crew = Crew(["mute"], lines.append, ssh=nodes.ssh.split(), root=".", interval_s=0.1)

    def until(enough):
        end_s = time.monotonic() + PATIENCE_S
        while not enough():
            assert time.monotonic() < end_s, lines
            crew.ask()
            list(crew.wait(time.monotonic() + 0.2, lambda: bool(enough())))

    speaks = nodes.tree("mute") / "speaks"
    try:
        until(lambda: lines)
        assert re.fullmatch(r"mute: no answer for \d+ s: the login hangs there, or the network", lines[0])
        assert list(crew.troubles) == ["mute"]
        speaks.touch()
        until(lambda: len(lines) > 1)
        assert (lines[1:], crew.troubles, crew.failed) == (["mute: answers again"], {}, ["mute"])
    finally:
        crew.close()
        speaks.unlink(missing_ok=True)


def test_one_look_at_many_nodes_names_the_one_that_says_nothing(nodes):
    done = run("top", "-w", "rtr1,mute", "--ssh", nodes.ssh, "--root", ".", "--json")
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert (found["hosts"], len(found["problems"]["nodes"])) == (["rtr1"], 1)
    assert re.fullmatch(r"mute: no answer for \d+ s", found["problems"]["nodes"][0])
    assert found["problems"]["nodes"][0] in done.stderr


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_ssh_to_a_node_that_hangs_ends_with_us(nodes, tmp_path, number):
    words = ("record", "-o", tmp_path / "rec", "-w", "mute", "--ssh", nodes.ssh, "--root", ".")
    # Also where these tests run under nohup, whose children inherit that SIGHUP is ignored.
    process = subprocess.Popen(command(*words), stderr=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
    try:
        wait_until(lambda: children(process.pid))
        started = children(process.pid)
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == -number
    finally:
        process.kill()
        process.wait(PATIENCE_S)
    wait_until(lambda: not any(is_alive(each) for each in started))


def test_files_that_are_forbidden_or_gone_are_told_apart(nodes, tmp_path):
    (nodes.tree("rtr2") / "buffers").rename(tmp_path / "buffers")
    try:
        done = run("record", "-o", tmp_path / "rec", "-w", "rtr2", "--ssh", nodes.ssh, "--root", ".", "-n", 1)
    finally:
        (tmp_path / "buffers").rename(nodes.tree("rtr2") / "buffers")
    assert done.returncode == 0
    states = {s.name: (s.state.value, s.text) for s in Recording(tmp_path / "rec").snapshots()}
    assert states["buffers"] == ("absent", "")
    assert states["peers"][0] == "ok"


def wait_until(true):
    end_s = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.05)  # processes that are not our children can only be looked at


def shells_in(folder):
    """Return the processes that live in a folder."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and os.readlink(process / "cwd") == str(folder):
                found.append(process.name)
        except OSError:
            continue
    return found


def state_and_parent(process):
    """Return what the kernel says of a process, which may be gone: a letter and the parent's number."""
    try:
        state, parent, *_ = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "gone", 0
    return state, int(parent)


def children(parent):
    return [each.name for each in Path("/proc").iterdir() if each.name.isdigit() and state_and_parent(each.name)[1] == parent]


def is_alive(process):
    return state_and_parent(process)[0] not in ("gone", "Z")
