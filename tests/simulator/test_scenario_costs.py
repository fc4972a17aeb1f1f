"""Scenarios whose RPCs would take no time, or whose groups take much memory: told before the run."""

import threading
from pathlib import Path

import pytest

from lnetstat.errors import SimulatorError
from lnetstat.simulator.engine import Engine
from lnetstat.simulator.scenario import Scenario, load_scenario
from lnetstat.simulator.scenario.nodes import memory_bytes
from lnetstat.simulator.scenario.rpc_times import times_on_the_way

S = 10**9
PLAIN = """
release = "2.5"
[run]
duration = "1 s"
[network.client]
lnd = "tcp"
wire = "0 s"
[network.server]
wire = "0 s"
[clients]
count = 1
[servers]
count = 1
[pings]
policy = "suppressed"
[costs]
small = "0 s"
disk_write = "0 s"
disk_read = "0 s"
credit_return_server = "0 s"
[costs.clients]
send = "0 s"
bulk = "0 s"
receive = "0 s"
[costs.servers]
send = "0 s"
bulk = "0 s"
receive = "0 s"
"""
ROUTED = {"routers.count": "1", "network.server.lnd": "o2ib"} | {
    f"costs.routers.{lnd}.{name}": "0 s" for lnd in ("tcp", "o2ib") for name in ("send", "bulk", "receive")
}
KINDS = ("write", "read", "small")


def scenario_of(tmp_path: Path, text: str, settings: dict[str, str]) -> Scenario:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return load_scenario(str(path), settings)


def refusal(tmp_path: Path, text: str, settings: dict[str, str]) -> str:
    with pytest.raises(SimulatorError) as caught:
        scenario_of(tmp_path, text, settings)
    return str(caught.value).replace(str(tmp_path) + "/", "")


def test_rpcs_without_time_are_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, PLAIN, {"io.0.kind": "small"}) == (
        "own.toml: key 'network.client.wire': '0 s': RPCs of io.0 would take no time at all: set one of these, costs.clients.send, "
        "costs.clients.receive, costs.servers.send, costs.servers.receive, costs.small or io.0.think above 0 s"
    )
    assert "RPCs of io.1 would take no time" in refusal(
        tmp_path, PLAIN, {"io.0.think": "1 s", "io.1.kind": "read", "io.1.first_client": "0"}
    )
    fast = {"io.0.kind": "write", "costs.disk_write": "1000 TB/s", "messages.bulk": "4097 B"}
    assert "would take no time" in refusal(tmp_path, PLAIN, fast)  # a rate that comes to 0 ns


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", [{}, {"network.client.lnd": "o2ib"}, ROUTED], ids=["tcp", "o2ib", "routed"])
def test_every_time_on_the_way_is_enough_and_makes_the_clock_go(tmp_path: Path, kind: str, more: dict[str, str]) -> None:
    """One of the keys that the refusal names, set to 100 ms: the engine then reaches the end, after few RPCs."""
    settings = more | {"io.0.kind": kind, "io.0.window": "1"}
    assert "would take no time" in refusal(tmp_path, PLAIN, settings)
    waiting = scenario_of(tmp_path, PLAIN, settings | {"io.0.think": "100 ms"})
    names = list(times_on_the_way(waiting.settings, waiting.lnet, kind))
    few_events = threading.Event()
    few_events.set()
    for name in [*names, "io.0.think"]:
        engine = Engine(scenario_of(tmp_path, PLAIN, settings | {name: "100 ms"}).plan(0), compiled=False)
        assert engine.advance(S, few_events), name
        assert 1 <= engine.rpcs_done()[0] <= 200, name


def test_much_memory_is_foretold() -> None:
    """32 million imports that ping together took 6.45 GB; spread over the interval they are never in flight together."""
    many = {"clients.count": "200000", "servers.targets_per_server": "8", "servers.count": "2", "routers.count": "2", "pings.mounts": "10"}
    scenario = load_scenario("paper-untuned", many | {"pings.policy": "aligned-jiffies"})
    assert [note for note in scenario.notes if note.startswith("memory")] == [
        "memory: a group takes about 6.9 GiB, for 32000000 imports (clients x targets x mounts) and 800008 peers entries; "
        "observed groups, and one for each process, are simulated at once"
    ]
    for settings in (many | {"pings.policy": "idle-offset", "pings.spread": "75 s"}, {}):
        assert not any("memory" in note for note in load_scenario("paper-untuned", settings).notes)


@pytest.mark.parametrize(
    "settings",
    [
        {"clients.count": "2000", "pings.mounts": "20", "pings.policy": "aligned-jiffies"},
        {"clients.count": "400", "servers.count": "100", "rails": "2", "release": "2.12"},
    ],
    ids=["messages", "entries and connections"],
)
def test_the_foretold_memory_is_what_the_engine_takes(tmp_path: Path, settings: dict[str, str]) -> None:
    pytest.importorskip("numba")  # without it integers are Python's own, and take more
    scenario = scenario_of(tmp_path, PLAIN, settings | {"network.client.lnd": "o2ib"})
    assert Engine(scenario.plan(0), compiled=True).memory().nbytes == pytest.approx(memory_bytes(scenario.settings), rel=0.1)
