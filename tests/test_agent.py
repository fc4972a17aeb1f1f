"""The agent as a process: what it records and ships, what it carries, how it ends."""

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lnetstat.agent import AgentSettings, agent_command
from lnetstat.model import State
from lnetstat.recording import Recording

SAMPLES = Path(__file__).parents[1] / "sample-data" / "2.17.0"
FILES = {"peers": "peers--router", "nis": "nis--router", "buffers": "buffers--router", "stats": "stats--router", "routes": "routes--router"}


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    for name, sample in FILES.items():
        shutil.copy(SAMPLES / f"{sample}.txt", folder / name)
    return folder


def run(**settings):
    return subprocess.run(agent_command(AgentSettings(**settings)), capture_output=True, text=True, timeout=60)


def points_of(stdout):
    return [(path, float(value), int(second)) for path, value, second in (line.split() for line in stdout.splitlines())]


def test_points_carry_the_tables_values(tree):
    done = run(root=str(tree), host="rtr", stdout=True, samples=1)
    assert (done.returncode, done.stderr) == (0, "")
    values = {path: value for path, value, _ in points_of(done.stdout)}
    assert values["lnet.rtr.peers.tcp1.tx_credits_worst"] == 0
    assert values["lnet.rtr.peers.tcp1.tx_credits_low"] == -7
    assert values["lnet.rtr.lnet_stats.route_count"] == 11483
    assert values["lnet.rtr.buffers.small.credits_low"] == 4086
    assert values["lnet.rtr.routes.routing"] == 1
    assert values["lnet.rtr.self.lost"] == 0


def test_the_process_carries_the_standard_library_only(tree):
    command = agent_command(AgentSettings(root=str(tree), stdout=True, samples=1))
    at = command.index("-c") + 1
    command[at] = command[at].replace("sys.exit(main(sys.argv[2]))", "main(sys.argv[2]); print(*sorted(sys.modules), file=sys.stderr)")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "lnetstat" in loaded
    assert not loaded & {"numpy", "pandas", "click", "yaml", "rich", "plotly", "hashlib", "inspect", "datetime"}


def test_a_recording_keeps_every_byte_and_what_was_not_there(tree, tmp_path):
    (tree / "buffers").unlink()
    done = run(root=str(tree), host="rtr", recording=str(tmp_path / "rec"), interval_s=0.5, samples=5)
    assert done.returncode == 0
    snapshots = list(Recording(tmp_path / "rec").snapshots())
    peers = [snapshot for snapshot in snapshots if snapshot.name == "peers"]
    assert [snapshot.text for snapshot in peers] == [(SAMPLES / "peers--router.txt").read_text()] * 5
    assert {snapshot.state for snapshot in snapshots if snapshot.name == "buffers"} == {State.ABSENT}
    assert all(before.time_ns < after.time_ns for before, after in itertools.pairwise(peers))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_with_everything_written(tree, tmp_path, number, status):
    command = agent_command(AgentSettings(root=str(tree), recording=str(tmp_path / "rec"), stdout=True, interval_s=0.05))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as agent:
        agent.stdout.readline()  # the first second has been shipped: it runs
        agent.send_signal(number)
        agent.communicate(timeout=30)
    assert agent.returncode == status
    recording = Recording(tmp_path / "rec")
    assert recording.problems == []
    assert list(recording.snapshots(names=["peers"]))


def test_an_unreadable_table_is_told_once_and_the_others_go_on(tree):
    (tree / "peers").unlink()
    (tree / "peers").mkdir()
    done = run(root=str(tree), host="rtr", stdout=True, samples=3, interval_s=0.05)
    assert done.returncode == 3
    assert done.stderr.count(f"peers: failed: Is a directory: {tree}/peers (errno 21)") == 1
    assert any(path == "lnet.rtr.lnet_stats.route_count" for path, _, _ in points_of(done.stdout))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_forbidden_is_said_with_what_to_do(tree):
    (tree / "peers").chmod(0)
    for folder in (tree, *tree.parents[:-2]):
        folder.chmod(0o755)
    command = agent_command(AgentSettings(root=str(tree), host="rtr", stdout=True, samples=1))
    at = command.index("-c") + 1
    # The interpreter may lie where only root can read: drop the rights after everything is imported.
    ready = "import lnetstat.tables, os; lnetstat.tables.builtin_tables()"
    drop = f"{ready}; os.setgroups([]); os.setgid(65534); os.setuid(65534); sys.exit(main"
    command[at] = command[at].replace("sys.exit(main", drop)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    line = f"peers: forbidden: Permission denied (run as root, or have debugfs readable): {tree}/peers (errno 13)\n"
    assert done.stderr.count(line) == 1
    assert done.returncode == 3
    assert any(path == "lnet.rtr.lnet_stats.route_count" for path, _, _ in points_of(done.stdout))


def test_nothing_to_read_is_said(tmp_path):
    done = run(root=str(tmp_path), stdout=True, samples=1)
    assert "no table of LNet under" in done.stderr
    assert done.returncode == 3
    assert not any(".peers." in path for path, _, _ in points_of(done.stdout))


def test_an_absent_carbon_loses_points_but_says_how_many(tree):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        done = run(root=str(tree), carbon=[f"127.0.0.1:{closed.getsockname()[1]}"], samples=1)
    assert done.returncode == 3
    assert "cannot connect: Connection refused" in done.stderr
    assert "points not delivered" in done.stderr


def test_settings_travel_as_json_and_nothing_is_a_shell_string(tree):
    command = agent_command(AgentSettings(root="/x; rm -rf $HOME"))
    assert json.loads(command[-1])["root"] == "/x; rm -rf $HOME"
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).stderr.startswith("lnetstat: /x; rm -rf $HOME: not a folder")


def test_a_table_that_goes_bad_is_told_once_and_that_it_is_whole_again(tree):
    command = agent_command(AgentSettings(root=str(tree), host="rtr", stdout=True, interval_s=0.05))
    good = (tree / "nis").read_text()

    def wait_for(words):
        while words not in (line := agent.stderr.readline()):
            assert line, f"ended without saying {words}"

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as agent:
        replace(tree / "nis", "garbage\n")
        wait_for("nis: line 1: 'garbage': expected the header")
        replace(tree / "nis", good)
        wait_for("nis: whole again")
        (tree / "nis").unlink()
        wait_for("nis: gone")
        replace(tree / "nis", good)
        wait_for("nis: readable again")
        agent.terminate()
        agent.communicate(timeout=30)


def replace(path, text):
    """As a kernel would: the file is never half there."""
    path.with_name("new").write_text(text)
    path.with_name("new").rename(path)


def test_a_net_called_top_is_a_net(tree):
    with (tree / "peers").open("a") as file:
        file.write("10.0.0.1@top 2 up 5 8 8 8 -3 -9 1048648\n")
    done = run(root=str(tree), host="rtr", stdout=True, samples=1)
    assert done.returncode == 0
    values = {path: value for path, value, _ in points_of(done.stdout)}
    assert values["lnet.rtr.peers.top.count"] == 1
    assert values["lnet.rtr.peers.top.top.10_0_0_1_at_top.tx_credits_min"] == -9


def test_a_reader_that_goes_away_ends_it_quietly(tree):
    command = agent_command(AgentSettings(root=str(tree), stdout=True, interval_s=0.05))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as agent:
        agent.stdout.readline()
        agent.stdout.close()
        words = agent.stderr.read()
    assert (agent.returncode, words) == (0, "")


def test_a_closed_stdout_is_said(tree):
    command = agent_command(AgentSettings(root=str(tree), stdout=True, samples=1))
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "lnetstat: standard output is closed: nothing can be printed\n")


def test_what_the_bounds_of_a_recording_drop_is_told(tree, tmp_path):
    rows = "".join(
        f"10.{n // 250}.{n % 250}.7@tcp  1 NA -1 8 {n * 7919 % 9} {-n} {n * 104729 % 9} {-n * 31} {n * 15485863}\n" for n in range(6000)
    )
    with (tree / "peers").open("a") as file:
        file.write(rows)
    done = run(root=str(tree), host="rtr", recording=str(tmp_path / "rec"), interval_s=0.05, samples=90, max_bytes=200_000)
    assert done.returncode == 0, done.stderr
    assert "oldest segments dropped to stay within the bounds" in done.stderr
    assert sum(path.stat().st_size for path in (tmp_path / "rec").iterdir()) <= 200_000
    assert list(Recording(tmp_path / "rec").snapshots(names=["peers"]))


ENDED = """
import os, signal, sys
from lnetstat.agent import process
process.Agent.run = lambda self: os.kill(os.getpid(), signal.SIGTERM) is None
print(process.main(sys.argv[1]), signal.getitimer(signal.ITIMER_REAL)[0])
"""


def test_no_alarm_goes_off_once_a_signal_has_ended_it(tree):
    settings = agent_command(AgentSettings(root=str(tree), stdout=True))[-1]
    done = subprocess.run([sys.executable, "-c", ENDED, settings], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["0", "0.0"], done.stderr
