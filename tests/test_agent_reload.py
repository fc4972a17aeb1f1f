"""SIGHUP: the file's new settings are taken without losing a point or a tick; a bad file changes nothing and is told."""

import json
import os
import signal
import socket

import pytest

from lnetstat.recording import Recording
from tests.agent_process import make_tree, running, wait_for

INTERVAL_NS = 100_000_000


@pytest.fixture
def listeners():
    """Two Carbons: what they hear is in the sockets."""
    made = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    for listener in made:
        listener.settimeout(30)
    yield made
    for listener in made:
        listener.close()


@pytest.fixture
def written(tmp_path):
    tree = make_tree(tmp_path / "tree")

    def write(carbon, more=""):
        path = tmp_path / "lnetstat.toml"
        fresh = tmp_path / "fresh"
        fresh.write_text(f'root = "{tree}"\nhost = "rtr"\ninterval = "100ms"\n{more}\n[carbon]\nto = ["{carbon}"]\n')
        os.replace(fresh, path)
        return path

    return write


def address_of(listener):
    return "{}:{}".format(*listener.getsockname())


def first_line(listener):
    connected, _ = listener.accept()
    with connected:
        return connected.makefile().readline()


def test_a_new_destination_and_a_new_recording_are_taken_without_losing_a_sample(written, listeners, tmp_path):
    one, two = listeners
    rest = f'status = "{tmp_path}/status"\n[recording]\nfolder = "{tmp_path}'
    with running(config=written(address_of(one), f'{rest}/a"')) as agent:
        heard, _ = one.accept()
        with heard, heard.makefile() as lines:
            assert lines.readline().startswith("lnet.rtr.")
            written(address_of(two), f'{rest}/b"')
            agent.send_signal(signal.SIGHUP)
            assert "carbon, recording changed" in wait_for(agent, "read again: ").replace("recording, carbon", "carbon, recording")
            sent = [line for line in lines if line.startswith("lnet.rtr.self.late ")]  # to the end of the connection
        assert first_line(two).startswith("lnet.rtr.")
        agent.terminate()
        agent.communicate(timeout=30)
    assert sent
    late = json.loads((tmp_path / "status").read_text())["late"]
    before, after = (list(Recording(tmp_path / name).snapshots(names=["stats"])) for name in "ab")
    ticks = [snapshot.time_ns // INTERVAL_NS for snapshot in (*before, *after)]
    assert before
    assert after
    assert ticks[-1] - ticks[0] + 1 <= len(ticks) + late  # none is missing that was not counted


def test_a_bad_file_is_told_and_the_old_settings_stay(written, listeners):
    one, _ = listeners
    path = written(address_of(one))
    with running(config=path) as agent:
        heard, _ = one.accept()
        with heard, heard.makefile() as lines:
            lines.readline()
            path.write_text("interval = 'soon'\n")
            agent.send_signal(signal.SIGHUP)
            line = wait_for(agent, "the old settings stay")
            assert "lnetstat.toml: interval: 'soon': expected seconds" in line
            seconds = set()
            while len(seconds) < 3:  # it ships on
                seconds.add(lines.readline().split()[2])
            agent.terminate()
            assert "soon" not in agent.stderr.read()


def test_what_takes_a_restart_is_said_and_stays(written, listeners):
    one, _ = listeners
    path = written(address_of(one))
    with running(config=path) as agent:
        first_line(one)
        path.write_text(path.read_text().replace('host = "rtr"', 'host = "other"\nseries_max = 300'))
        agent.send_signal(signal.SIGHUP)
        assert "read again: series_max changed; takes a restart: host" in wait_for(agent, "read again")


def test_a_new_destination_that_cannot_be_made_leaves_all_as_it_was(written, listeners):
    one, taken = listeners
    path = written(address_of(one))
    with running(config=path) as agent:
        first_line(one)
        path.write_text(path.read_text() + f'[prometheus]\nlisten = "{address_of(taken)}"\n')
        agent.send_signal(signal.SIGHUP)
        assert "cannot listen" in wait_for(agent, "the old settings stay")


def test_what_the_command_line_said_stays_said(written, listeners):
    one, two = listeners
    path = written(address_of(two))
    with running(config=path, carbon=(address_of(one),)) as agent:
        first_line(one)
        path.write_text(path.read_text().replace('"100ms"', '"50ms"'))
        agent.send_signal(signal.SIGHUP)
        assert "read again: interval_s changed" in wait_for(agent, "read again")


def test_without_a_file_a_hangup_ends_it_as_a_terminal_expects(tmp_path):
    with running(root=str(make_tree(tmp_path / "tree")), stdout=True, interval_s=0.05) as agent:
        agent.stdout.readline()
        agent.send_signal(signal.SIGHUP)
        agent.communicate(timeout=30)
        assert agent.returncode == 0
