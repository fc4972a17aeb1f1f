"""What a running stack answers: the points at their exact seconds, pictures, dashboards; and who may ask it."""

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lnetstat.stack import config, dashboards

DASHBOARDS = dashboards.dashboards()


def test_every_point_comes_back_at_its_second(filled):
    begin_s = filled.points[0].time_s
    end_s = filled.points[-1].time_s
    sent: dict[str, dict[int, float]] = {}
    for point in filled.points:
        sent.setdefault(point.path, {})[point.time_s] = point.value
    for target in ("lnet.rtr1.*.*", "lnet.rtr1.*.*.*", "lnet.rtr1.*.*.*.*", "lnet.rtr1.*.*.*.*.*"):
        expected = {path: series for path, series in sent.items() if path.count(".") == target.count(".")}
        assert expected
        assert filled.rendered_whole(target, begin_s, end_s, sum(len(series) for series in expected.values())) == expected
    assert any(value < 0 for value in sent["lnet.rtr1.peers.tcp1.tx_credits_worst"].values())


def test_find_lists_hosts_and_metrics(filled):
    hosts = json.loads(filled.get("/metrics/find", query="lnet.*").body)
    assert "rtr1" in [host["text"] for host in hosts]
    pools = json.loads(filled.get("/metrics/find", query="lnet.rtr1.buffers.*").body)
    assert [(pool["id"], pool["leaf"]) for pool in pools] == [(f"lnet.rtr1.buffers.{name}", 0) for name in ("large", "small", "tiny")]
    metric = json.loads(filled.get("/metrics/find", query="lnet.rtr1.buffers.small.credits_worst").body)
    assert [(found["id"], found["leaf"]) for found in metric] == [("lnet.rtr1.buffers.small.credits_worst", 1)]


def test_a_graph_is_drawn(filled):
    if any("libcairo" in line for line in filled.told):
        pytest.skip("no libcairo.so.2 here")
    answer = filled.get("/render", target="lnet.rtr1.buffers.*.credits_worst", **{"from": "-3min"})
    assert (answer.status, answer.kind) == (200, "image/png")
    assert answer.body.startswith(b"\x89PNG")
    assert len(answer.body) > 3000


@pytest.mark.parametrize("path", ["/functions", "/", "/dashboard/", "/composer/", "/static/js/dashboard.js", "/events/", "/version/"])
def test_pages_answer(filled, path):
    assert filled.get(path).status == 200


def test_dashboards_are_there():
    assert {"lnet-router", "lnet-oss"} <= {dashboard.name for dashboard in DASHBOARDS}


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=[dashboard.name for dashboard in DASHBOARDS])
def test_dashboard_loads_with_its_graphs(filled, dashboard):
    assert filled.get(f"/dashboard/{dashboard.name}").status == 200
    state = json.loads(filled.get(f"/dashboard/load/{dashboard.name}").body)["state"]
    assert state == dashboard.state
    for _, _, url in state["graphs"]:
        answer = filled.get(url + "&format=json")
        assert answer.status == 200
        assert isinstance(json.loads(answer.body), list)  # what is in it: tests/dashboards


def test_foreign_host_names_are_refused(filled):
    assert filled.get("/version/", host="evil.example").status == 400


def test_secret_key_is_for_the_owner_alone(filled):
    key = filled.stack.folder / "conf" / "secret_key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(filled.stack.folder.stat().st_mode) == 0o700
    assert len(key.read_text()) >= 50


def test_every_listener_is_on_loopback(filled):
    status = filled.stack.status()
    listeners = listening(status.carbon_pid) + listening(status.web_pid)
    ports = [port for _, port in listeners]
    assert {filled.web_port, filled.carbon_port} < set(ports)
    assert len(ports) == 3  # and carbon's cache, which graphite-web asks
    assert {address for address, _ in listeners} == {"127.0.0.1"}


def listening(pid: int) -> list[tuple[str, int]]:
    """Return (address, port) of each TCP or UDP socket of a process that takes what others send."""
    inodes = {os.readlink(fd)[8:-1] for fd in Path(f"/proc/{pid}/fd").iterdir() if os.readlink(fd).startswith("socket:[")}
    found = []
    for kind, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[1].partition(":")
            if fields[9] in inodes and fields[3] == state:
                ipv4 = socket.inet_ntoa(int(address, 16).to_bytes(4, "little")) if len(address) == 8 else address
                found.append((ipv4, int(port, 16)))
    return found


def test_up_again_is_harmless(filled):
    before = filled.stack.status()
    assert before.state == "running"
    assert filled.stack.up() == before


NO_CAIRO = """
import json, django
from django.test import Client
django.setup()
client = Client(HTTP_HOST="127.0.0.1", raise_request_exception=False)
answers = {kind: client.get("/render", {"target": "lnet.rtr1.self.late", "from": "-10min", "format": kind}) for kind in ("json", "png")}
print(json.dumps([answers["json"].status_code, len(answers["json"].json()), answers["png"].status_code]))
"""


def test_without_libcairo_there_are_data_but_no_pictures(filled, tmp_path):
    (tmp_path / "cairocffi.py").write_text('raise OSError("no library called cairo-2 was found")\n')
    environment = config.environment(filled.stack.folder, config.Ports(filled.web_port, filled.carbon_port, 1))
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
    done = subprocess.run([sys.executable, "-c", NO_CAIRO], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [200, 1, 500]
    assert "drawing needs libcairo.so.2" in done.stderr + (filled.stack.folder / "storage/log/webapp/exception.log").read_text()
