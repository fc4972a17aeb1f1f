"""The engine against the reference on random groups in which everything runs short: every event at the same nanosecond, the same state."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from reference import Kind, Run, simulate
from reference.plans import plans
from reference.simple import O2IB, ni, pings
from reference.simple import plan as simple_plan
from reference.world import Entry, Line, Node

from lnetstat.simulator.engine import Engine
from lnetstat.simulator.kernel import layout
from lnetstat.simulator.plan import READ, SMALL, WRITE, Fault, Health, Plan, Process

KINDS = {getattr(layout, kind.name): kind for kind in Kind}
random_groups = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate, Phase.shrink),  # without "explain", which traces every line
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


@random_groups
@given(plans())
def test_the_plain_engine_does_what_the_rules_say(plan: Plan) -> None:
    assert_same(plan, compiled=False)


@random_groups
@given(plans())
def test_the_compiled_engine_does_what_the_rules_say(plan: Plan) -> None:
    pytest.importorskip("numba", reason="the compiled engine needs numba")
    assert_same(plan, compiled=True)


NARROW = O2IB._replace(handshake=True, wire_credits=2, credits_highwater=1, concurrent_sends=1)
BY_NOOP_ONLY = O2IB._replace(protocol=1, wire_credits=6, credits_highwater=2)
WRITES = Process(client=0, kind=WRITE, first_target=0, stripes=1, window=4, total=12, think_ns=0, start_ns=0)
CORNERS = {
    "credits ride on a PUT_DONE that waits for its turn": simple_plan(
        routers=0,
        client_net=NARROW,
        client_ni=ni(post_ns=500),
        disk_read_ns=5_000,
        small_service_ns=11_000,
        processes=(WRITES._replace(kind=READ, window=2), WRITES._replace(kind=SMALL, total=20)),
    ),
    "protocol 1: no NOOP without a credit": simple_plan(
        routers=0, client_net=BY_NOOP_ONLY, targets=5, pings=pings((0,) * 5), ping_service_ns=0, repost_server_ns=10**6
    ),
    "credits that rode on a lost message come back": simple_plan(
        routers=0,
        client_net=O2IB._replace(wire_credits=3, credits_highwater=3),
        disk_write_ns=1_000,
        processes=(WRITES,),
        health=Health(100, 2, 10**6, 10**7, 10**5, 10**6),
        faults=(Fault(20_908, 0, False), Fault(70_908, 0, True)),
    ),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("corner", CORNERS)
def test_what_random_groups_hardly_ever_meet(corner: str, compiled: bool) -> None:
    if compiled:
        pytest.importorskip("numba", reason="the compiled engine needs numba")
    assert_same(CORNERS[corner], compiled=compiled)


def assert_same(plan: Plan, *, compiled: bool) -> None:
    """Run both to the end, in two steps, and compare everything that can be seen."""
    engine, run = Engine(plan, compiled=compiled, trace=True), Run(plan, trace=True)
    for until_ns in (plan.end_ns // 3, plan.end_ns):
        engine.advance(until_ns)
        run.advance(until_ns)
        assert_same_trace(engine, run)
        run.now = until_ns
        for node in run.nodes:
            assert_same_node(engine, node)
        engine.check()
    assert_same_truth(engine, run)


def assert_same_trace(engine: Engine, run: Run) -> None:
    """Every event in order; say where they part."""
    mine = [(time, Kind(kind).name, number) for time, kind, number in run.trace]
    its = [(time, KINDS[kind].name, number) for time, kind, number in engine.trace]
    for index, (reference, found) in enumerate(zip(mine, its, strict=False)):
        assert found == reference, f"event {index}: the engine has {found}, the rules say {reference}"
    rest = (mine + its)[min(len(mine), len(its))] if len(its) != len(mine) else ()
    assert len(its) == len(mine), f"the engine has {len(its)} events, the rules say {len(mine)}; the first of the rest is {rest}"


def assert_same_node(engine: Engine, node: Node) -> None:
    """All counters of one node."""
    peers, nis = engine.peers(node.number), engine.nis(node.number)
    assert rows(*peers) == [entry_row(entry) for entry in node.entries]
    queues = [(i, cpt, int(ni.up), q.limit, q.now, q.low, ni.health) for i, ni in enumerate(node.nis) for cpt, q in enumerate(ni.queues)]
    assert rows(nis.ni, nis.cpt, nis.up, nis.tx_max, nis.tx, nis.tx_min, nis.health) == queues
    counts = engine.node_counts(node.number)
    named = {name: getattr(node, name) for name in counts._fields if not name.endswith("busy_ns")}
    busy = {"tx_busy_ns": sum(ni.tx_busy for ni in node.nis), "rx_busy_ns": sum(ni.rx_busy for ni in node.nis)}
    assert counts._asdict() == named | busy
    if node.role == "router":
        pools = [(cpt, size, p.limit, p.now, p.low) for cpt, sizes in enumerate(node.pools) for size, p in enumerate(sizes)]
        assert rows(*engine.buffers(node.number)) == pools
    for view, station in zip(engine.services(node.number) if node.stations else (), node.stations or (), strict=True):
        assert (view.threads_busy, view.queued, view.portal_queued) == (station.busy, len(station.queue), len(station.portal))
        assert view.req_waittime.samples == station.started


def entry_row(entry: Entry) -> tuple[int, ...]:
    """An entry as a row of PeersView."""
    tx, rtr = entry.tx, entry.rtr
    refs = 1 + tx.limit - tx.now + rtr.limit - rtr.now
    rail = entry.remote.node.nis.index(entry.remote)
    credits_of = (rtr.limit, rtr.now, rtr.low, tx.limit, tx.now, tx.low)
    return (entry.remote.node.number, rail, refs, *credits_of, entry.queue_bytes, entry.health)


def assert_same_truth(engine: Engine, run: Run) -> None:
    """What happened, and for how long who was short of what."""
    truth = engine.truth()
    for name in ("bytes", "pings"):
        found = getattr(truth, name)
        assert {(int(s), int(b)): int(found[s, b]) for s, b in np.argwhere(found)} == dict(getattr(run, name))
    assert truth.done.tolist() == [job.done for job in run.jobs]
    assert truth.pings_sent.tolist() == run.pings_sent
    assert truth.pings_by_router.tolist() == run.pings_by_router
    watched = [
        entry for node in run.routers + run.servers for entry in node.entries if not (run.routers and entry.remote.node.role == "client")
    ]
    assert truth.entries == [shortage(run, entry.tx, node=entry.node.number, remote_node=entry.remote.node.number) for entry in watched]
    pools = [(node, cpt, size, pool) for node in run.routers for cpt, sizes in enumerate(node.pools) for size, pool in enumerate(sizes)]
    assert truth.pools == [shortage(run, pool, node=node.number, cpt=cpt, pool=size) for node, cpt, size, pool in pools]
    queues = [(node, i, cpt, q) for node in run.routers + run.servers for i, ni in enumerate(node.nis) for cpt, q in enumerate(ni.queues)]
    assert truth.ni_queues == [shortage(run, q, node=node.number, ni=i, cpt=cpt) for node, i, cpt, q in queues]


def shortage(run: Run, counter: Any, **where: int) -> dict[str, int]:
    """One element of the truth's lists: waits are those that ended."""
    line: Line = counter.line
    line.account(run.now)
    wanted_peak = counter.limit - counter.low
    return where | {"wanted_peak": wanted_peak, "short_ns": line.busy_ns, "waits": line.waits - len(line), "wait_ns": line.wait_ns}


def rows(*columns: Any) -> list[tuple[int, ...]]:
    """Columns as rows of plain integers."""
    return [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]


def test_a_difference_is_told_with_its_event() -> None:
    """The comparison itself: a run that lacks its last event is not the same."""

    plan = simple_plan(pings=pings((0,)))
    engine, run = Engine(plan, compiled=False, trace=True), simulate(plan, trace=True)
    engine.advance(plan.end_ns)
    assert_same_trace(engine, run)
    run.trace[3] = (run.trace[3][0] + 1, *run.trace[3][1:])
    with pytest.raises(AssertionError, match="event 3: the engine has"):
        assert_same_trace(engine, run)
