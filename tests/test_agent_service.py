"""The agent under a service manager: ready, alive, reloading, stopping, and what `systemctl status` shows."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lnetstat.agent.service import Service
from tests.agent_process import Manager, make_tree, running

UNIT = Path(__file__).parents[1] / "collectors" / "systemd" / "lnetstat-agent.service"


@pytest.fixture
def manager(tmp_path):
    manager = Manager(tmp_path / "notify")
    yield manager
    manager.close()


def test_the_manager_hears_of_each_step_of_the_agents_life(tmp_path, manager):
    tree = make_tree(tmp_path / "tree")
    config = tmp_path / "lnetstat.toml"
    config.write_text(f'interval = "50ms"\nroot = "{tree}"\nhost = "rtr"\n[recording]\nfolder = "{tmp_path}/rec"\n')
    with running(config=config, environment={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "300000"}) as agent:
        assert manager.next() == "READY=1"
        manager.wait_for("STATUS=rtr (router):")
        manager.wait_for("WATCHDOG=1")
        manager.wait_for("WATCHDOG=1")
        agent.send_signal(signal.SIGHUP)
        assert manager.wait_for("RELOADING=1")[-1].startswith("RELOADING=1\nMONOTONIC_USEC=")
        assert manager.next() == "READY=1"
        agent.terminate()
        manager.wait_for("STOPPING=1")
        assert agent.wait(30) == 0


def test_the_watchdog_is_fed_between_samples_that_are_far_apart(tmp_path, manager):
    tree = make_tree(tmp_path / "tree")
    environment = {"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "150000"}
    with running(root=str(tree), recording=str(tmp_path / "rec"), interval_s=3600.0, environment=environment) as agent:
        heard = [manager.next() for _ in range(4)]
        assert heard == ["READY=1", *["WATCHDOG=1"] * 3]
        agent.terminate()
        manager.wait_for("STOPPING=1")


def test_a_manager_that_went_away_stops_nothing(tmp_path):
    tree = make_tree(tmp_path / "tree")
    with running(root=str(tree), stdout=True, samples=2, interval_s=0.05, environment={"NOTIFY_SOCKET": "/nowhere/notify"}) as agent:
        out, err = agent.communicate(timeout=30)
    assert (agent.returncode, err) == (0, "")
    assert out


def test_the_watchdog_of_another_process_is_not_ours():
    sent = []
    ours = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}
    assert Service(ours, lambda *message: sent.append(message)).alive_every_s == 1.0
    for other in ({"WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "soon"}, {"WATCHDOG_USEC": "0"}, {"NOTIFY_SOCKET": ""}):
        service = Service(ours | other, lambda *message: sent.append(message))
        service.alive(0.0)
        assert service.alive_every_s is None
    assert sent == []


def test_the_watchdog_is_fed_no_more_often_than_it_needs_and_a_status_told_once():
    sent = []
    service = Service({"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "3000000"}, lambda address, message: sent.append(message))
    for tenth in range(30):
        service.alive(100 + tenth / 10)
        service.status("well")
    assert sent.count(b"WATCHDOG=1") == 3
    assert sent.count(b"STATUS=well") == 1


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_the_unit_is_right_and_hardened(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/bin/lnetstat", sys.executable))  # it must be there to be right
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if UNIT.name in line]) == (0, [])
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=35", "--no-pager", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_the_unit_says_what_the_agent_answers_to():
    lines = UNIT.read_text().splitlines()
    assert {"Type=notify", "WatchdogSec=60", "ExecReload=/bin/kill -HUP $MAINPID"} <= set(lines)
    assert any(line.startswith("MemoryMax=") for line in lines)
