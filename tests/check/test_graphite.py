"""A real carbon and graphite-web: `check` says of what agents ship what it would say of the nodes."""

import math
import time

import numpy as np
import pytest
from click.testing import CliRunner

from lnetstat.check.graphite import look_at_graphite, prefix_of
from lnetstat.cli.check import command
from lnetstat.cli.watch import command as watch
from lnetstat.errors import SourceError
from lnetstat.model import Point
from lnetstat.words import iso
from tests.stack.conftest import Rig

SECONDS = 60
ROUTER = {
    "peers.tcp1.tx_credits_worst": lambda n: -7 if n == 30 else 8,
    "peers.tcp1.tx_credits_low": lambda n: -50,
    "peers.o2ib.tx_credits_worst": lambda n: 8,
    "peers.o2ib.tx_credits_low": lambda n: -2 if n < 40 else -9,
    "peers.tcp1.rtr_credits_worst": lambda n: 3,
    "peers.tcp1.down": lambda n: 2 if n < 50 else 0,
    "peers.o2ib.down": lambda n: 1,
    "peers.tcp1.oversubscribed": lambda n: n == 30,
    "peers.tcp1.queue_bytes": lambda n: 100 * n,
    "peers.o2ib.queue_bytes": lambda n: 7,
    "nis.fd00-3--1_at_tcp1.cpt0.tx_credits": lambda n: 100,
    "nis.fd00-3--1_at_tcp1.cpt1.tx_credits": lambda n: 90,
    "nis.fd00-3--1_at_tcp1.cpt0.up": lambda n: n < 40,
    "buffers.small.count": lambda n: 4096,
    "buffers.small.in_use_max": lambda n: 1024 if n == 5 else 0,
    "buffers.small.credits_worst": lambda n: 500,
    "buffers.small.credits_low": lambda n: -41,
    "routes.down": lambda n: 0,
    "health.fd00-3--1_at_tcp1.value": lambda n: 700,
}


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """A stack with a router that ships everything until now, and a client that fell silent 40 s ago and has no buffers."""
    rig = Rig(tmp_path_factory.mktemp("check") / "stack")
    rig.stack.up()
    try:
        begin_s = int(time.time()) - SECONDS
        points = [Point(f"lnet.rtr1.{name}", float(of(n)), begin_s + n) for name, of in ROUTER.items() for n in range(SECONDS)]
        points += [Point("lnet.c1.peers.tcp1.tx_credits_worst", 8.0, begin_s + n) for n in range(SECONDS - 40)]
        rig.begin_s = begin_s
        rig.send(points)
        rig.rendered_whole("lnet.c1.peers.*.*", begin_s, begin_s + SECONDS, SECONDS - 40)
        for name in ROUTER:
            rig.rendered_whole(f"lnet.rtr1.{name}", begin_s, begin_s + SECONDS, SECONDS)
        yield rig
    finally:
        rig.stack.down()


def look(rig, hosts=None, *, last_s=SECONDS - 1, forget_s=3600):
    now_s = rig.begin_s + SECONDS - 1
    found = look_at_graphite(
        f"graphite://127.0.0.1:{rig.web_port}", hosts, begin_s=now_s - last_s, now_s=now_s, forget_s=forget_s, timeout_s=60
    )
    return {(figure.host, figure.name): figure for figure in found}


def test_figures_are_the_worst_of_the_time_and_what_is_down_now(rig):
    found = look(rig)
    expected = {
        "peer_credits": -9,  # a mark that fell within the time, lower than any second saw
        "peer_credits_low": -50,
        "rtr_credits": 3,
        "peer_credits_below_0": 100 / SECONDS,
        "rtr_credits_below_0": 0,
        "peers_down": 1,
        "peers_oversubscribed": 1,
        "queue_bytes": 100 * (SECONDS - 1) + 7,
        "ni_credits": 90,
        "nis_down": 1,
        "router_buffers": 75,
        "routes_down": 0,
        "ni_health": 700,
        "data_age": 0,
    }
    assert {name: found["rtr1", name].value for name in expected} == expected
    assert math.isclose(found["rtr1", "router_buffers_low"].value, -100 * 41 / 4096)
    assert found["rtr1", "peers_down"].words == "peers of o2ib"
    assert found["rtr1", "nis_down"].words == "fd00:3::1@tcp1"
    assert found["rtr1", "ni_credits"].words.startswith("NI fd00:3::1@tcp1 cpt1, at 20")
    assert found["rtr1", "router_buffers"].words == f"small buffers, at {iso((rig.begin_s + 5) * 10**9)}"
    assert found["rtr1", "peer_credits_below_0"].words == f"peers of tcp1, in 1 of {SECONDS} values"


def test_a_host_that_is_silent_or_unknown_is_told(rig):
    found = look(rig, ("rtr1", "c1", "c2"))
    assert found["c1", "data_age"].value == 40
    assert (found["c1", "router_buffers"].value, found["c1", "router_buffers"].unread) == (None, False)
    assert found["c2", "data_age"].unread


def test_hosts_that_were_silent_all_the_time_are_told_until_they_are_forgotten(rig):
    found = look(rig, last_s=20)
    assert {host for host, _ in found} == {"rtr1", "c1"}
    silent = found["c1", "data_age"]
    assert (silent.value, silent.unread) == (40, True)
    assert silent.words == f"silent since {iso((rig.begin_s + SECONDS - 41) * 10**9)}"
    assert {host for host, _ in look(rig, last_s=20, forget_s=30)} == {"rtr1"}


def test_the_verb_says_unknown_for_a_silent_host_and_critical_for_what_is_broken(rig):
    location = f"graphite://127.0.0.1:{rig.web_port}/lnet"
    for words, status in ((["--host", "c1", "--max-age", "10s"], 3), (["--host", "rtr[1]"], 2), (["--only", "routes_down"], 0)):
        done = CliRunner().invoke(command, [location, "--last", "5min", *words], standalone_mode=False)
        assert done.return_value == status, done.stdout
        assert done.stdout.startswith("LNET ")


def test_dips_of_a_router_are_explained_by_the_pings_that_a_server_counted(rig):
    at = np.arange(300)
    begin_s = int(time.time()) - at.size
    inside = (begin_s + at) % 20 < 3
    counters = {
        "site.rtr1.lnet_stats.route_length": np.cumsum(np.where(inside, 2e8, 1e9 + 1e7 * (at % 7))),
        "site.oss1.counters.ost.obd_ping.samples": np.cumsum(np.where(inside, 300, 0)),
    }
    rig.send([Point(name, float(values[n]), begin_s + n) for name, values in counters.items() for n in range(at.size)])
    for name in counters:
        rig.rendered_whole(name, begin_s, begin_s + at.size, at.size)
    location = f"graphite://127.0.0.1:{rig.web_port}/site"
    words = ["--last", "10min", "--only", "dead_time", "--host", "rtr1"]
    done = CliRunner().invoke(command, [location, *words], standalone_mode=False)
    assert done.stdout.startswith("LNET CRITICAL: dead_time 1"), done.stdout
    assert "on rtr1 (throughput by route_length dips every 20" in done.stdout
    assert "cause: ping" in done.stdout
    watched = CliRunner().invoke(watch, [f"{location}.rtr1.lnet_stats.route_length", "--once"], standalone_mode=False)
    assert "dead_time begin: route_length of rtr1 dips every 20" in watched.stdout
    assert "; made by pings: " in watched.stdout
    assert "obd_ping of oss1: " in watched.stdout


def test_a_graphite_that_is_not_there_or_has_no_such_host_is_unknown(rig):
    for location, words in (("graphite://127.0.0.1:1", "connection refused"), (f"graphite://127.0.0.1:{rig.web_port}/other", "no series")):
        done = CliRunner().invoke(command, [location], standalone_mode=False)
        assert done.return_value == 3
        assert words in done.stdout


@pytest.mark.parametrize(("location", "prefix"), [("graphite://g", "lnet"), ("graphite://g:80/site.lnet", "site.lnet")])
def test_the_prefix_of_an_address(location, prefix):
    assert prefix_of(location) == prefix


@pytest.mark.parametrize("location", ["graphite://g/lnet.*", "graphite://g/a?target=b", "http://g/lnet"])
def test_what_is_no_prefix_is_told(location):
    with pytest.raises(SourceError, match=r"expected|prefix"):
        prefix_of(location)
