"""--host of analyze, report, compare and dump: node sets, lists without ClusterShell, and names that look like sets."""

import json
import sys

import pytest

from lnetstat import cli
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter

PEERS = """nid                      refs state  last   max   rtr   min    tx   min queue
10.0.0.1@tcp                1    up    -1     8     8     8     8     6 0
"""
HOSTS = ("rtr01", "rtr02", "oss1", "odd[1]")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosts") / "rec"
    with RecordingWriter(folder) as writer:
        for stamp in range(1_700_000_000, 1_700_000_004):
            writer.write([Snapshot("peers", host, stamp * 10**9, None, 0, State.OK, 0, frozenset(), PEERS) for host in HOSTS])
    return str(folder)


def analyzed(capsys, recording, text):
    status = cli.run(["analyze", recording, "--host", text, "--json"])
    said = capsys.readouterr()
    return status, {each["host"] for each in json.loads(said.out)["data_quality"]["hosts"]} if said.out else set(), said.err


@pytest.mark.parametrize(
    ("text", "hosts"),
    [("rtr[01-02],oss1", {"rtr01", "rtr02", "oss1"}), ("oss1", {"oss1"}), ("odd[1]", {"odd[1]"})],
)
def test_every_verb_takes_a_set_of_hosts(capsys, recording, tmp_path, text, hosts):
    assert analyzed(capsys, recording, text)[:2] == (0, hosts)
    assert cli.run(["dump", recording, "--host", text, "--json"]) == 0
    assert {each["host"] for each in json.loads(capsys.readouterr().out)["files"]} == hosts
    assert cli.run(["report", recording, "--host", text, "--format", "json"]) == 0
    assert {each["host"] for each in json.loads(capsys.readouterr().out)["data_quality"]["hosts"]} == hosts
    assert cli.run(["compare", recording, recording, "--host", text, "--json"]) == 0
    assert next(each for each in json.loads(capsys.readouterr().out)["load"] if each["name"] == "hosts")["after"] == len(hosts)


def test_hosts_that_are_not_there_are_named_and_the_others_are_looked_at(capsys, recording):
    assert analyzed(capsys, recording, "rtr[02-03]") == (3, {"rtr02"}, "lnetstat: no host rtr03 in what was given: going on without\n")
    status, found, said = analyzed(capsys, recording, "oss[7-8]")
    assert (status, found) == (3, set())
    assert "no host oss[7-8]: it holds odd[1], oss1, rtr01, rtr02" in said
    assert cli.run(["dump", recording, "--host", "rtr[02-03]"]) == 3
    assert "no host rtr03" in capsys.readouterr().err


def test_a_list_needs_no_clustershell(capsys, recording, monkeypatch):
    monkeypatch.setitem(sys.modules, "ClusterShell", None)
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", None)
    assert analyzed(capsys, recording, "rtr02,oss1")[:2] == (0, {"rtr02", "oss1"})
    assert analyzed(capsys, recording, "odd[1]")[:2] == (0, {"odd[1]"})
    assert "pip install" in analyzed(capsys, recording, "rtr[01-02]")[2]


def test_an_input_of_one_host_takes_one_name(capsys, tmp_path):
    (tmp_path / "rates.csv").write_text("time,value\n" + "".join(f"{1_700_000_000 + n},1000\n" for n in range(60)))
    assert cli.run(["analyze", str(tmp_path / "rates.csv"), "--host", "rtr[1-2]"]) == 3
    assert "is of one host, and --host names several" in capsys.readouterr().err
    assert analyzed(capsys, str(tmp_path / "rates.csv"), "<odd>")[:2] == (0, {"<odd>"})


def test_an_empty_name_is_refused_and_not_taken_for_all(capsys, recording):
    assert cli.run(["analyze", recording, "--host", ""]) == 2
    assert "names no node" in capsys.readouterr().err
