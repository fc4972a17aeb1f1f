"""SIGTERM ends the agent soon, whatever hangs, and what it had read is where it belongs."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lnetstat.agent import agent_command
from lnetstat.agent.settings import AgentSettings
from lnetstat.recording import Recording
from tests.agent_process import make_tree, running

HANGING = Path(__file__).with_name("hanging_file.py")


@pytest.fixture
def hanging(tmp_path):
    """A folder with a `peers` that hangs, and the process that says when somebody reads it."""
    folder = tmp_path / "hanging"
    folder.mkdir()
    server = subprocess.Popen([sys.executable, str(HANGING), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with server:
        if server.stdout.readline() != "mounted\n":
            pytest.skip(f"no FUSE here: {server.stderr.read().strip()}")
        yield folder, server
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=30)
        server.kill()


def test_a_read_that_hangs_does_not_keep_it_from_ending_and_the_other_tables_are_recorded(tmp_path, hanging):
    folder, server = hanging
    tree = make_tree(tmp_path / "tree")
    (tree / "peers").unlink()
    (tree / "peers").symlink_to(folder / "peers")
    command = agent_command(AgentSettings(root=str(tree), recording=str(tmp_path / "rec"), interval_s=3600.0, deadline_s=10.0))
    # A wall clock on which the hour is nearly over: an interval so long that only the deadline, or being told to stop, ends the tick.
    early_ns = 3600 * 10**9 - time.time_ns() % (3600 * 10**9) - 2 * 10**9
    clocks = f"import time, functools; from lnetstat.agent import loop, process; from lnetstat.sources.reading import Clocks; \
process.Agent = functools.partial(loop.Agent, clocks=Clocks(lambda: time.time_ns() + {early_ns})); sys.exit(main"
    at = command.index("-c") + 1
    command[at] = command[at].replace("sys.exit(main", clocks)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as agent:
        assert server.stdout.readline() == "read\n"
        agent.terminate()
        _, words = agent.communicate(timeout=30)
    assert "timed out" not in words  # it did not wait for the deadline
    assert agent.returncode == 0
    assert {snapshot.name for snapshot in Recording(tmp_path / "rec").snapshots()} >= {"stats", "buffers", "nis", "routes"}


def test_a_carbon_that_hangs_loses_nothing_that_has_a_spool(tmp_path):
    tree = make_tree(tmp_path / "tree")
    with socket.create_server(("127.0.0.1", 0)) as listener:  # the kernel connects, nobody reads
        listener.settimeout(30)
        address = "{}:{}".format(*listener.getsockname())
        shared = {"root": str(tree), "host": "rtr", "carbon": (address,), "spool": str(tmp_path / "spool"), "interval_s": 0.1}
        with running(**shared, stdout=True) as agent:
            offered = [agent.stdout.readline()]
            while len({line.split()[2] for line in offered}) < 3:
                offered.append(agent.stdout.readline())
            agent.terminate()
            rest, words = agent.communicate(timeout=30)
            offered += rest.splitlines(keepends=True)
        assert agent.returncode == 0, words
        hung, _ = listener.accept()
        hung.close()
        with running(**shared, samples=1) as agent:
            heard, _ = listener.accept()
            with heard, heard.makefile() as lines:
                delivered = set(lines)
            _, words = agent.communicate(timeout=30)
        assert agent.returncode == 0, words
    assert set(offered) <= delivered


def test_a_log_that_went_away_stops_nothing(tmp_path):
    tree = make_tree(tmp_path / "tree")
    with running(root=str(tree), stdout=True, interval_s=0.05) as agent:
        agent.stdout.readline()
        agent.stderr.close()
        (tree / "nis").unlink()  # which it tells
        seconds = set()
        while len(seconds) < 3:
            seconds.add(agent.stdout.readline().split()[2])
        agent.terminate()
        agent.stdout.read()
        assert agent.wait(30) == 3
    assert not os.path.exists(f"/proc/{agent.pid}")
