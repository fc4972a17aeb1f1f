"""What ran out first, walked along the way of messages: in every preset of the simulator, in real captures, and by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from lnetstat.analysis import joined
from lnetstat.analysis.credits import Row, credit_use, measure
from lnetstat.analysis.first_exhausted import finding_of, first_exhausted, sentence
from lnetstat.analysis.results import DeadTime
from lnetstat.frames import load
from lnetstat.simulator.run import record
from lnetstat.simulator.scenario import load_scenario, presets
from lnetstat.sources import open_source

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"
LNET = ("peers", "nis", "buffers")
NO_DIPS = DeadTime("", "", "", "", "", "none", "", False, False, 0.0, 1.0)
# A tenth of the paper's clients with some mounts each: as many pings at once, in a fraction of the time. One flood.
FLOOD = {"clients.count": "2500", "io.0.processes": "100", "run.duration": "20 s", "pings.mounts": "4"}
LARGER = FLOOD | {"pings.mounts": "8"}
SHORT = {"run.duration": "20 s"}
PRESETS = {
    "paper-untuned": (FLOOD, "peer_credits", {"router_buffers"}),
    "paper-tuned": (FLOOD, "peer_credits", set()),
    "paper-fake-scaled": (LARGER, "peer_credits", {"router_buffers", "peer_router_credits"}),
    "oversubscribed": (LARGER, "peer_credits", {"peer_router_credits"}),
    "petascale": (FLOOD | {"groups": "1"}, "peer_credits", set()),
    "control-interval-25": (FLOOD, "peer_credits", {"router_buffers"}),
    "control-spread": (FLOOD | {"pings.mounts": "1"}, "none", set()),
    "control-suppressed": ({"clients.count": "500", "io.0.processes": "100", **SHORT}, "none", set()),
    "real-pings": ({"run.duration": "60 s"}, "peer_credits", set()),
    "mr-failure": ({"run.duration": "65 s"}, "none", set()),
    "nics-credits": (SHORT, "peer_credits", set()),
    "nics-credits-192": (SHORT, "none", set()),
    "ornl-tcp": (SHORT, "peer_credits", set()),
    "kit-links": (SHORT | {"groups": "1"}, "peer_credits", set()),
}
# What binds when somebody sized one thing too small: each resource of the path once.
WIDE = {"o2ib.credits": "1024", "o2ib.peer_credits": "255", "o2ib.concurrent_sends": "255"}
UNDERSIZED = {
    "router_buffers": FLOOD | WIDE | {"routers.small_router_buffers": "64"},
    "ni_credits": FLOOD | {"o2ib.credits": "126"},
    "peer_router_credits": FLOOD | {"routers.gni.peer_credits": "1", "pings.mounts": "1"},
}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    def run(preset, settings):
        folder = tmp_path_factory.mktemp("simulated") / preset
        result = record(load_scenario(preset, settings), folder, processes=1)
        frames = load(open_source(str(folder)), tables=LNET)
        used, _ = credit_use(frames, {})
        return used, result.truth["merged"]

    return run


def walked(used):
    found = first_exhausted(used, NO_DIPS)
    return found, {link.use.resource for link in found.follows} - {found.resource}


def test_every_preset_is_in_the_table():
    assert sorted(PRESETS) == sorted(presets())


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_names_what_binds_and_what_only_follows(simulated, preset):
    settings, resource, following = PRESETS[preset]
    used, truth = simulated(preset, settings)
    found, followed = walked(used)
    assert found.resource == resource
    assert followed >= following
    if resource == "none":
        assert not any(each["waits"] for each in truth["entries"] + truth["pools"] + truth["ni_queues"])
        return
    assert found.ordered, found.why
    told = finding_of(found, 0, 1)
    assert "peer credits ran out" in told.message
    assert json.dumps(told.evidence)


@pytest.mark.parametrize("resource", UNDERSIZED)
def test_what_was_sized_too_small_is_what_binds(simulated, resource):
    used, _ = simulated("paper-tuned", UNDERSIZED[resource])
    found, _ = walked(used)
    assert found.resource == resource
    assert found.first.host == "rtr01"


def test_replies_held_up_by_full_routers_do_not_accuse_the_server(simulated):
    """Pings fill the routers' buffers, so replies wait on servers for credits of all routers, recorded or not: they only follow."""
    used, truth = simulated(
        "paper-untuned", {"clients.count": "1000", "servers.targets_per_server": "60", **SHORT, "io.0.processes": "100"}
    )
    found, _ = walked(used)
    assert truth["credits_wanted_peak"]["servers"] > truth["credits_wanted_peak"]["routers"]
    assert (found.resource, found.first.host) == ("peer_credits", "rtr01")
    assert found.queues[0].host == "oss01"
    assert "the queue stands on oss01" in finding_of(found, 0, 1).message


@pytest.fixture(scope="module")
def captured():
    def read(scenario):
        nodes = [CAPTURES / scenario / node / "fast.tar.gz" for node in ("c1", "rtr", "srv")]
        return joined([load(open_source(str(path), host=path.parent.name), tables=LNET) for path in nodes])

    return read


@pytest.mark.skipif(not CAPTURES.exists(), reason="needs ../shared/captures")
@pytest.mark.parametrize(
    ("scenario", "waiting", "queues", "ordered"),
    [
        ("s1_ramp_seed_credits", 63, {"c1": "10.1.0.1@tcp", "srv": "10.2.0.1@tcp1"}, False),
        ("s2_bursts_seed_credits", 64, {"c1": "10.1.0.1@tcp", "srv": "10.2.0.1@tcp1"}, True),
        ("s6b_lustre_ping_flood_15s", 388, {"c1": "10.1.0.1@tcp"}, True),
        ("s7_lustre_pings_seed_credits", 271, {"c1": "10.1.0.1@tcp"}, True),
    ],
)
def test_real_captures_name_the_starved_peer_and_the_node_where_the_queue_stands(captured, scenario, waiting, queues, ordered):
    used, _ = credit_use(captured(scenario), {})
    found, followed = walked(used)
    assert (found.resource, found.first.host, found.first.subject, found.first.waiting) == ("peer_credits", "c1", "10.1.0.1@tcp", waiting)
    assert found.ordered == ordered
    assert {use.host: use.subject for use in found.queues} == queues
    # Clients' router credits are held by messages that wait for the server's credits.
    towards = {link.of.subject for link in found.follows if link.use.host == "rtr" and link.use.subject.endswith("@tcp")}
    assert towards == {"10.2.0.21@tcp1"}
    assert "peer_router_credits" in followed
    assert "the queue stands" in finding_of(found, 0, 10**18).message


def use_of(free, *, host="rtr", resource="peer_credits", subject="10.2.0.1@tcp1", limit=8):
    left = np.array(free)
    low = np.minimum.accumulate(left)
    whole, no = np.full(left.size, limit), np.zeros(left.size, dtype=bool)
    return measure(Row(host, resource, "", subject, 0, np.arange(1000.0, 1000.0 + left.size), left, low, whole, no, None))


def burst(depth, *, first=20, last=30, limit=8, size=60):
    return [depth if first <= tick < last else limit for tick in range(size)]


def test_router_credits_follow_peer_credits_only_where_both_are_short_together():
    tx = use_of(burst(-9))
    together = use_of(burst(-3), resource="peer_router_credits", subject="10.1.0.7@tcp")
    apart = use_of(burst(-30, first=40, last=50), resource="peer_router_credits", subject="10.1.0.7@tcp")
    assert first_exhausted([tx, together], NO_DIPS).first is tx
    assert "ran out first" in sentence(first_exhausted([tx, together], NO_DIPS))
    found = first_exhausted([tx, apart], NO_DIPS)
    assert found.first is apart
    assert not found.ordered
    assert "peer credits of 10.2.0.1@tcp1 on rtr ran out by themselves, earlier" in finding_of(found, 0, 1).message


def test_a_client_follows_the_router_it_sends_to_where_interfaces_tell_who_is_who():
    client = use_of(burst(-200), host="c1", subject="10.1.0.1@tcp")
    router = use_of(burst(-9))
    pool = use_of([64] * 60, resource="router_buffers", subject="small", limit=64)
    mine = use_of([8] * 60, resource="ni_credits", subject="10.1.0.1@tcp")
    known = first_exhausted([client, router, pool, mine], NO_DIPS)
    assert known.first is router
    assert known.queues[0] is client
    assert "the queue stands on c1 (200 messages for 10.1.0.1@tcp)" in finding_of(known, 0, 1).message
    assert first_exhausted([client, router, pool], NO_DIPS).first is client


def test_a_shortage_a_tenth_as_bad_does_not_hide_which_came_first():
    tx, other = use_of(burst(-80)), use_of(burst(-1), resource="ni_credits", subject="10.2.0.9@tcp9", limit=64)
    found = first_exhausted([tx, other], NO_DIPS)
    assert found.first is tx
    assert found.ordered
    assert "NI credits too, by far less" in finding_of(found, 0, 1).message


def test_pings_that_cost_throughput_without_using_up_credits_wait_in_the_server():
    dips = NO_DIPS._replace(detected=True, cause="ping")
    found = first_exhausted([use_of([5] * 60)], dips)
    assert (found.resource, found.first) == ("server", None)
    assert "inside the server" in finding_of(found, 0, 1).message
    assert first_exhausted([], dips).resource == "none"
