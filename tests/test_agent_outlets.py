"""Where an agent's points go besides Carbon, and what the status says of a spool."""

import json
import socket
import urllib.request

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


def test_a_port_that_is_taken_is_said_at_the_start(tmp_path):
    tree = make_tree(tmp_path / "tree")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "{}:{}".format(*taken.getsockname())
        with running(root=str(tree), prometheus=address) as agent:
            _, words = agent.communicate(timeout=30)
    assert (agent.returncode, words.count("\n")) == (3, 1)
    assert f"prometheus: cannot listen on {address}" in words


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
