"""Where an agent's points go besides Carbon, and what the status says of a spool."""

import json
import socket
import time
import urllib.request

import pytest

from lnetstat.agent.loop import Agent
from lnetstat.agent.outlets import Outlets
from lnetstat.agent.settings import AgentSettings
from lnetstat.errors import SinkError
from lnetstat.sources.reading import Clocks
from tests.agent_process import make_tree, running


def free_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return "{}:{}".format(*free.getsockname())


def test_prometheus_and_a_textfile_show_the_points_that_are_printed(tmp_path):
    tree, address, textfile = make_tree(tmp_path / "tree"), free_address(), tmp_path / "lnetstat.prom"
    given = {"root": str(tree), "host": "rtr", "stdout": True, "prometheus": address, "textfile": str(textfile), "prefix": "site"}
    with running(**given, interval_s=0.1) as agent:
        seconds = set()
        while len(seconds) < 3:
            path, _, second = agent.stdout.readline().split()
            assert path.startswith("site.rtr.")
            seconds.add(second)
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as page:
            served = page.read().decode()
        kept = textfile.read_text()
        agent.terminate()
        agent.communicate(timeout=30)
    wanted = 'lnet_stats_route_count_total{host="rtr"} 11483'
    assert any(line.endswith(wanted) for line in served.splitlines())
    assert any(line.endswith(wanted) for line in kept.splitlines())
    assert not textfile.exists()  # old values would pass for new


def test_a_textfile_that_cannot_be_written_is_in_the_status_and_in_the_exit_status(tmp_path):
    tree, folder, status = make_tree(tmp_path / "tree"), tmp_path / "exporter", tmp_path / "status"
    folder.mkdir()
    (folder / "lnetstat.prom").mkdir()  # a folder in the file's place stops root too
    given = {"root": str(tree), "textfile": str(folder / "lnetstat.prom"), "status": str(status), "interval_s": 0.1}
    with running(**given) as agent:
        while not (status.exists() and json.loads(status.read_text())["troubles"]):
            assert agent.poll() is None
            time.sleep(0.02)
        agent.terminate()
        agent.communicate(timeout=30)
    assert agent.returncode == 3
    assert "cannot be written: Is a directory" in json.loads(status.read_text())["troubles"][0]["what"]


class Sleeper:
    """Hours that pass at once; `slept` gets what had been printed before each sleep."""

    def __init__(self, printed):
        self.now_ns = 1_700_000_000 * 10**9
        self.printed, self.slept = printed, []

    def wait(self, timeout_s):
        self.slept.append(self.printed())
        self.now_ns += int(timeout_s * 1e9) + 1

    def wake(self):
        pass

    close = wake


def test_points_are_shipped_with_their_own_sample(tmp_path, capsys):
    tree = make_tree(tmp_path / "tree")
    sleeper = Sleeper(lambda: capsys.readouterr().out)
    clocks = Clocks(lambda: sleeper.now_ns, lambda: sleeper.now_ns)
    settings = AgentSettings(root=str(tree), host="rtr", stdout=True, interval_s=3600.0, samples=2)
    assert Agent(settings, report=print, clocks=clocks, waiter=sleeper).run()
    before_the_first, before_the_second = sleeper.slept[0], sleeper.slept[-1]
    assert before_the_first == ""
    assert "lnet.rtr.lnet_stats.route_count" in before_the_second, "and not an hour later"


def test_what_waits_for_a_former_destination_is_told(tmp_path):
    tree, former = make_tree(tmp_path / "tree"), tmp_path / "spool" / "old:2003"
    former.mkdir(parents=True)
    (former / "0000000001.spool").write_bytes(b"lnetstat spool 1\n")
    given = {"root": str(tree), "spool": str(tmp_path / "spool"), "carbon": (free_address(),), "interval_s": 0.1, "samples": 1}
    with running(**given) as agent:
        _, words = agent.communicate(timeout=30)
    assert f"spool {former}: what waits there for a former destination is not sent" in words


def test_a_port_that_is_taken_is_said_at_the_start(tmp_path):
    tree = make_tree(tmp_path / "tree")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "{}:{}".format(*taken.getsockname())
        with running(root=str(tree), prometheus=address) as agent:
            _, words = agent.communicate(timeout=30)
    assert (agent.returncode, words.count("\n")) == (3, 1)
    assert f"prometheus: cannot listen on {address}" in words


def test_where_one_destination_is_refused_no_other_is_connected_to():
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as carbon:
        settings = AgentSettings(carbon=("{}:{}".format(*carbon.getsockname()),), prometheus="{}:{}".format(*taken.getsockname()))
        with pytest.raises(SinkError, match="in use"):
            Outlets(settings, print)
        carbon.setblocking(False)
        with pytest.raises(BlockingIOError):
            carbon.accept()


def test_two_agents_do_not_share_a_spool(tmp_path):
    tree, spool, carbon = make_tree(tmp_path / "tree"), str(tmp_path / "spool"), free_address()
    with running(root=str(tree), carbon=(carbon,), spool=spool, stdout=True, interval_s=0.1) as first:
        first.stdout.readline()
        with running(root=str(tree), carbon=(carbon,), spool=spool) as second:
            _, words = second.communicate(timeout=30)
        first.terminate()
        first.communicate(timeout=30)
    assert (second.returncode, words.count("\n")) == (3, 1)
    assert "another process uses it" in words


def test_what_waits_in_a_spool_is_in_the_status(tmp_path):
    tree, path = make_tree(tmp_path / "tree"), tmp_path / "status"
    given = {"root": str(tree), "carbon": (free_address(),), "spool": str(tmp_path / "spool"), "status": str(path), "stdout": True}
    with running(**given, samples=12, interval_s=0.1) as agent:
        points, _ = agent.communicate(timeout=30)
    (destination,) = json.loads(path.read_text())["destinations"]
    assert (destination["connected"], destination["sent"], destination["lost"]) == (False, 0, 0)
    assert destination["queued"] == len(points.splitlines())
    assert destination["spool_bytes"] >= len(points)
