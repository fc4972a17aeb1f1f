"""Scenarios whose RPCs would take no time, or whose groups take much memory: told before the run."""

import threading
from pathlib import Path

import pytest

from lnetstat.errors import SimulatorError
from lnetstat.simulator.engine import Engine
from lnetstat.simulator.scenario import Scenario, load_scenario
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
