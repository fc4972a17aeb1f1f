"""The simulator as a source: every snapshot is a text that the tables read, of every release, with the numbers of the engine."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lnetstat.model import Sample, Snapshot
from lnetstat.simulator.scenario import Scenario, load_scenario
from lnetstat.simulator.source import SimulatorSource
from lnetstat.tables import samples

NS = 10**9
ROUTED = """
[run]
duration = "12 s"
sample = "1 s"
[clients]
count = 20
[routers]
count = 2
[servers]
count = 2
targets_per_server = 2
[pings]
policy = "aligned-jiffies"
interval = "5 s"
spread = "100 ms"
first = "1 s"
[[io]]
processes = 3
window = 4
think = "1 s"
"""
Load = Callable[..., Scenario]
KINDS = {"c00001": "client", "rtr01": "router", "oss01": "server"}


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def loaded(**settings: str) -> Scenario:
        path = tmp_path / "routed.toml"
        path.write_text(ROUTED)
        named = {"observe.hosts": '["c00001", "rtr01", "oss01"]'} | {name.replace("__", "."): value for name, value in settings.items()}
        return load_scenario(str(path), named)

    return loaded


def taken(scenario: Scenario) -> list[Snapshot]:
    return list(SimulatorSource(scenario, compiled=False).snapshots())


def parsed(snapshots: list[Snapshot]) -> dict[tuple[str, str], list[Sample]]:
    """Samples by host and snapshot name."""
    found: dict[tuple[str, str], list[Sample]] = {}
    for snapshot in snapshots:
        for sample in samples(snapshot):
            assert not sample.problems, (snapshot.name, sample.problems)
            found.setdefault((snapshot.host, snapshot.name), []).append(sample)
    return found


RELEASES: list[dict[str, Any]] = [
    {"release": "1.8"},
    {"release": "2.5", "cpts": "2"},
    {"release": "2.12", "network__client__lnd": "o2ib"},
    {"release": "2.16", "network__client__lnd": "tcp", "network__server__lnd": "tcp"},
]


@pytest.mark.parametrize("settings", RELEASES, ids=lambda settings: str(settings["release"]))
def test_every_text_of_every_release_is_read_without_a_problem(load: Load, settings: dict[str, Any]) -> None:
    found = parsed(taken(load(**settings)))
    for host, kind in KINDS.items():
        names = {name for owner, name in found if owner == host}
        assert {"stats", "buffers", "nis", "routes", "routers", "peers", "proc/stat", "timeout"} <= names
        assert ("ost.OSS.ost_io.stats" in names) == (kind == "server")
    assert len(found["rtr01", "peers"]) == 13
    assert {row.nid for row in found["rtr01", "peers"][0].rows} >= {row.nid for row in found["oss01", "nis"][0].rows if row.nid != "0@lo"}


def test_stamps_are_the_scenarios_start_and_simulated_time(load: Load) -> None:
    scenario = load()
    snapshots = taken(scenario)
    assert sorted({snapshot.time_ns - scenario.start_ns for snapshot in snapshots}) == [second * NS for second in range(13)]
    assert [a.time_ns <= b.time_ns for a, b in pairwise(snapshots)].count(False) == 0
    (sample,) = samples([s for s in snapshots if s.name == "ost.OSS.ost.stats"][-1])
    assert sample.facts["snapshot_time"] == scenario.start_ns + 12 * NS


def test_tunables_come_at_the_start_and_every_ten_minutes(load: Load) -> None:
    scenario = load(run__duration="1300 s", run__sample="100 s", io__0__rpcs="1", pings__policy="suppressed")
    times = [s.time_ns - scenario.start_ns for s in taken(scenario) if s.name == "timeout" and s.host == "rtr01"]
    assert times == [0, 600 * NS, 1200 * NS]


def test_pings_served_and_routed_messages_are_the_engines(load: Load) -> None:
    scenario = load()
    source = SimulatorSource(scenario, compiled=False)
    found = parsed(list(source.snapshots()))
    (truth,) = source.truths()
    pings = [row.samples for row in found["oss01", "ost.OSS.ost.stats"][-1].rows if row.counter == "obd_ping"]
    assert pings == [int(truth.pings[0].sum())] == [3 * 20 * 2]
    writes = [row.samples for row in found["oss01", "ost.OSS.ost_io.stats"][-1].rows if row.counter == "ost_write"]
    assert writes[0] > 0
    stats = found["rtr01", "stats"][-1].rows[0]
    both_routers = int(truth.done.sum()) * 4 + int(truth.pings.sum()) * 2  # a write is a request, a GET, its data and a reply
    assert stats.route_count == pytest.approx(both_routers / 2, rel=0.1)
    assert (stats.send_count, stats.recv_count) == (0, 0)


def test_a_router_has_a_row_of_buffers_for_each_pool_and_cpt_others_only_a_header(load: Load) -> None:
    found = parsed(taken(load(release="2.5", cpts="2")))
    pools = [(row.pool, row.row, row.pages) for row in found["rtr01", "buffers"][-1].rows]
    assert pools == [("tiny", 0, 0), ("tiny", 1, 0), ("small", 0, 1), ("small", 1, 1), ("large", 0, 256), ("large", 1, 256)]
    assert found["oss01", "buffers"][-1].rows == ()
    assert [row.row for row in found["oss01", "nis"][-1].rows if row.nid != "0@lo"] == [0, 1]


def test_1_8_prints_pools_of_nothing_on_nodes_that_do_not_route(load: Load) -> None:
    found = parsed(taken(load(release="1.8")))
    assert [(row.pages, row.count, row.credits) for row in found["oss01", "buffers"][0].rows] == [(0, 0, 0), (1, 0, 0), (256, 0, 0)]


def test_routes_name_the_far_network_and_the_near_side_of_each_router(load: Load) -> None:
    scenario = load(release="2.12", network__client__lnd="gni")
    found = parsed(taken(scenario))
    sides = [scenario.nids(0)[20], scenario.nids(0)[21]]
    assert [(row.net, row.router, row.hops) for row in found["c00001", "routes"][0].rows] == [("o2ib", near, -1) for near, _ in sides]
    assert [(row.net, row.router) for row in found["oss01", "routes"][0].rows] == [("gni", far) for _, far in sides]
    assert found["rtr01", "routes"][0].rows == ()
    assert found["rtr01", "routes"][0].facts["routing"] == "enabled"
    assert [row.router for row in found["oss01", "routers"][0].rows] == [far for _, far in sides]
    assert {row.nid for row in found["oss01", "peers"][0].rows} == {far for _, far in sides}


def test_aliveness_is_told_where_the_release_and_driver_keep_it(load: Load) -> None:
    def states(host: str, **settings: str) -> set[str]:
        return {row.state for row in parsed(taken(load(run__duration="1 s", **settings)))[host, "peers"][-1].rows}

    assert states("rtr01", release="1.8", network__client__lnd="gni") == {"NA", "up"}  # gni has peer health off
    assert states("rtr01", release="2.16", network__client__lnd="tcp", network__server__lnd="tcp") == {"up"}
    assert states("oss01", release="2.16", network__client__lnd="tcp", network__server__lnd="tcp") == {"up"}  # routers are always told


def test_busy_time_is_in_proc_stat_and_never_more_than_there_is(load: Load) -> None:
    found = parsed(taken(load()))["rtr01", "proc/stat"]
    whole = [next(row for row in sample.rows if row.cpu == "cpu") for sample in (found[0], found[-1])]
    assert 0 < whole[1].busy - whole[0].busy < 12 * 100 * 4
    assert sum(row.busy for row in found[-1].rows if row.cpu != "cpu") == whole[1].busy


def test_snapshots_are_the_same_with_numba(load: Load) -> None:
    pytest.importorskip("numba")
    scenario = load()
    assert list(SimulatorSource(scenario, compiled=True).snapshots()) == taken(scenario)
