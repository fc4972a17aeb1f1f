"""The status file and what `lnetstat agent --status` makes of it."""

import json
import socket
import subprocess
import sys

import pytest

from lnetstat.agent import status
from lnetstat.agent.verdict import CRITICAL, OK, UNKNOWN, WARNING, judge, read_status
from tests.agent_process import make_tree, running, wait_for

NOW_S = 1_700_000_000
WELL = {
    "schema": 1,
    "host": "rtr",
    "roles": ["router"],
    "state": "running",
    "updated_s": NOW_S,
    "started_s": NOW_S - 1000,
    "last_sample_s": NOW_S,
    "interval_s": 1.0,
    "series": 105,
    "late": 0,
    "lost": 0,
    "last_lost_s": None,
    "destinations": [{"name": "carbon a:1", "connected": True, "since_s": NOW_S, "queued": 0, "sent": 9, "lost": 0, "error": ""}],
    "sources": [{"name": "peers", "state": "ok"}],
    "troubles": [],
}
DOWN = {**WELL["destinations"][0], "connected": False, "queued": 500, "error": "cannot connect: Connection refused"}


@pytest.mark.parametrize(
    ("changes", "now_s", "level", "said"),
    [
        ({}, NOW_S, OK, "OK: rtr (router): running since"),
        ({}, NOW_S + 15, OK, "OK: rtr (router): running since"),
        ({}, NOW_S + 16, CRITICAL, "CRITICAL: no sign of life since 2023-11-14T22:13:20Z, 16 s ago"),
        ({"interval_s": 60.0}, NOW_S + 179, OK, "OK: rtr"),
        ({"state": "stopped"}, NOW_S, CRITICAL, "CRITICAL: the agent was stopped"),
        ({"destinations": [DOWN]}, NOW_S, WARNING, "WARNING: carbon a:1: not connected since 2023-11-14T22:13:20Z, sent: 9, waiting: 500"),
        ({"lost": 7, "last_lost_s": NOW_S - 600}, NOW_S, CRITICAL, "CRITICAL: points lost since the start: 7"),
        ({"lost": 7, "last_lost_s": NOW_S - 601}, NOW_S, OK, "OK: rtr"),
        ({"troubles": [{"what": "peers: gone", "since_s": NOW_S}]}, NOW_S, WARNING, "WARNING: peers: gone (since"),
        ({"last_sample_s": None}, NOW_S, WARNING, "WARNING: rtr (router): running since 2023-11-14T21:56:40Z, no sample yet"),
        ({"destinations": [{**WELL["destinations"][0], "queued": 105 * 300}]}, NOW_S, OK, "OK: rtr"),
        ({"destinations": [{**WELL["destinations"][0], "queued": 105 * 300 + 1}]}, NOW_S, WARNING, "WARNING: carbon a:1: connected since"),
        ({"destinations": [7]}, NOW_S, UNKNOWN, "UNKNOWN: not a status file of this lnetstat"),
        ({"updated_s": "today"}, NOW_S, UNKNOWN, "UNKNOWN: not a status file of this lnetstat"),
        ({"host": "a\x1b[31m"}, NOW_S, OK, "OK: a\\x1b[31m"),
    ],
)
def test_the_worst_of_all_is_the_verdict_and_comes_first(changes, now_s, level, said):
    found, lines = judge(WELL | changes, now_s)
    assert found == level
    assert lines[0].startswith(said)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"schema": 2}', "[" * 100_000])
def test_what_is_no_status_file_is_unknown(tmp_path, content):
    (tmp_path / "status").write_text(content)
    found, why = read_status(str(tmp_path / "status"))
    assert found is None
    assert "not a status file" in why


def test_the_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "status"
    status.write(str(path), {"state": "running"})
    with pytest.raises(TypeError):
        status.write(str(path), {"state": object()})
    assert json.loads(path.read_text()) == {"state": "running"}
    assert path.stat().st_mode & 0o777 == 0o644
    path.unlink()
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        status.write(str(path), {"state": "running"})
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def ask(path, *words):
    command = [sys.executable, "-m", "lnetstat", "agent", "--status", "--status-file", str(path), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_running_agent_says_how_it_is(tmp_path):
    tree, path = make_tree(tmp_path / "tree"), tmp_path / "status"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        address = "{}:{}".format(*listener.getsockname())
        with running(root=str(tree), host="rtr", carbon=[address], status=str(path), interval_s=0.2) as agent:
            heard, _ = listener.accept()
            with heard, heard.makefile() as lines:
                lines.readline()
                seconds = set()
                while len(seconds) < 3:  # it is connected, and has said so in its file
                    seconds.add(lines.readline().split()[2])
                done = ask(path)
                assert (done.returncode, done.stderr) == (OK, "")
                assert done.stdout.startswith("OK: rtr (router): running since")
                assert f"carbon {address}: connected since" in done.stdout
                (tree / "peers").rename(tree / "elsewhere")
                wait_for(agent, "peers: gone")
                while len(seconds) < 6:
                    seconds.add(lines.readline().split()[2])
                done = ask(path, "--json")
                assert done.returncode == WARNING
                told = json.loads(done.stdout)
                assert (told["verdict"], told["status"]["troubles"][0]["what"]) == ("WARNING", "peers: gone")
                assert {source["name"]: source["state"] for source in told["status"]["sources"]}["peers"] == "absent"
                agent.terminate()
                list(lines)
            agent.communicate(timeout=30)
        done = ask(path)
        assert done.returncode == CRITICAL
        assert "the agent was stopped" in done.stdout


def test_no_agent_is_unknown(tmp_path):
    done = ask(tmp_path / "none")
    assert (done.returncode, done.stderr) == (UNKNOWN, "")
    assert "no such file: is the agent running" in done.stdout


def test_a_status_file_that_cannot_be_written_is_told_once_and_the_agent_goes_on(tmp_path):
    tree = make_tree(tmp_path / "tree")
    with running(root=str(tree), stdout=True, status="/nowhere/status", samples=25, interval_s=0.1) as agent:
        out, err = agent.communicate(timeout=30)
    assert err.count("status file /nowhere/status: cannot be written: No such file or directory; going on") == 1
    assert len({line.split()[2] for line in out.splitlines()}) >= 2
