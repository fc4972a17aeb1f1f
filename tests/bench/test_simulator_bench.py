"""The speed references measure the same thing as the engine: what can be compared is equal, and the bench gives its figures."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("simpy")
from lnetstat.simulator.engine import Engine
from lnetstat.simulator.kernel.layout import SERVED
from lnetstat.simulator.plan import Plan, Process

BENCH = Path(__file__).parents[2] / "bench"
MS, S = 1_000_000, 1_000_000_000


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import modules of bench/, which lies beside the package."""
    monkeypatch.syspath_prepend(BENCH)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load


def group(bench: Any, *, untied: bool = True, **settings: Any) -> Plan:
    """A small group whose pings flood it after 50 ms while 12 processes write."""
    plan: Plan = bench("group_plan").group_plan(60, 12, duration_ns=150 * MS, flood_ns=50 * MS, spread_ns=MS, untied=untied, **settings)
    return plan


PLANS = {
    "many credits": {},
    "protocol 1, eight credits, few buffers": {"peer_credits": 8, "small_buffers": 40, "repost_ns": 300_000},
    "fewer wire credits than pings": {"peer_credits": 16, "repost_ns": 2_300_000},
}


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("lean", [False, True])
def test_simpy_and_the_engine_agree_where_nothing_ties(name: str, lean: bool, bench: Any) -> None:
    check_equal(bench, group(bench, **PLANS[name]), lean=lean)


def test_they_agree_on_cpu_partitions_and_plain_round_robin(bench: Any) -> None:
    plan = group(bench, peer_credits=8)
    check_equal(bench, plan._replace(cpts=2, balance=False, router_buffers=(16, 8, 4)))


def test_they_agree_on_busy_imports_idle_ones_and_thinking_processes(bench: Any) -> None:
    plan = group(bench)
    first_ns = [at if number % 3 else at // 3 for number, at in enumerate(plan.pings.first_ns)]
    pings = plan.pings._replace(interval_ns=20 * MS, aligned=False, early_permille=100, idle_ns=30 * MS, keep=2, first_ns=first_ns)
    processes = tuple(process._replace(total=9, think_ns=5_000_017, stripes=2, window=2) for process in plan.processes)
    counts = check_equal(bench, plan._replace(pings=pings, processes=processes))
    assert counts.done == [9] * 12


def test_they_agree_on_request_buffers_that_run_out_and_grow(bench: Any) -> None:
    plan = group(bench, peer_credits=16)
    tight = plan.ost._replace(threads=2, buffers=3, buffers_max=9, buffers_group=3)
    check_equal(bench, plan._replace(ost=tight))


def check_equal(bench: Any, plan: Plan, *, lean: bool = True) -> Any:
    """Both run the plan: pings, finished RPCs, the last ping and the credits of the routers are the same."""
    counts = bench("simpy_model").Model(plan, lean=lean).run()
    engine = Engine(plan, compiled=False, trace=True)
    engine.advance(plan.end_ns)
    truth = engine.truth()
    assert counts.pings == [sum(bins) for bins in truth.pings.tolist()]
    assert counts.done == list(truth.done)
    assert counts.last_ping_ns == max((event.time_ns for event in engine.trace if event.kind == SERVED), default=0)
    assert counts.credits == router_credits(engine)
    assert sum(counts.pings) > 100
    assert sum(counts.done) > 50
    return counts


def router_credits(engine: Engine) -> list[tuple[int, int, int, int]]:
    """tx, its low-water mark, rtr, its low-water mark: of each router's entries towards servers."""
    rows = []
    for router in range(engine.plan.clients, engine.plan.clients + engine.plan.routers):
        view = engine.peers(router)
        columns = (view.tx, view.tx_min, view.rtr, view.rtr_min)
        rows += list(zip(*(column[-engine.plan.servers :].tolist() for column in columns), strict=True))
    return rows


def test_with_round_times_the_flood_ends_within_a_hundredth(bench: Any) -> None:
    plan = group(bench, untied=False, peer_credits=8, repost_ns=300_000)
    counts = bench("simpy_model").Model(plan, lean=True).run()
    engine = Engine(plan, compiled=False, trace=True)
    engine.advance(plan.end_ns)
    last_ns = max(event.time_ns for event in engine.trace if event.kind == SERVED)
    assert counts.last_ping_ns - 50 * MS == pytest.approx(last_ns - 50 * MS, rel=0.01)
    assert sum(counts.done) == pytest.approx(int(sum(engine.truth().done)), rel=0.01)


def test_simpy_refuses_what_it_does_not_model(bench: Any) -> None:
    plan = group(bench)
    reader = Process(0, 2, 0, 1, 1, 0, 0, 0)
    with pytest.raises(ValueError, match="pings and writes only"):
        bench("simpy_model").Model(plan._replace(processes=(reader,)))


def test_every_engine_of_mm8_loses_what_theory_says(bench: Any) -> None:
    pytest.importorskip("numba")
    mm8 = bench("mm8")
    assert mm8.loss() == pytest.approx(1.925e-4, rel=1e-3)
    runs = [mm8.run_queue(3_000_000, seed) for seed in (1, 2, 3)]
    assert sum(run.lost for run in runs) / sum(run.arrivals for run in runs) == pytest.approx(mm8.loss(), rel=0.25)
    for run in (mm8.run_simpy(2_000), mm8.run_heapq(2_000), mm8.run_queue(2_000)):
        assert run.arrivals == 2_000
        assert run.events == 3 * 2_000  # so few never fill a station


def test_ns3_loses_what_theory_says(bench: Any, tmp_path: Path) -> None:
    mm8 = bench("mm8")
    program = mm8.ns3_program(str(tmp_path))
    if program is None:
        pytest.skip("ns-3 is not installed (Debian: libns3-dev, g++)")
    runs = [mm8.run_ns3(program, 1_000_000, seed, "Calendar") for seed in (1, 2, 3)]
    assert sum(run.lost for run in runs) / sum(run.arrivals for run in runs) == pytest.approx(mm8.loss(), rel=0.4)


def test_the_bench_gives_named_figures_with_targets(bench: Any) -> None:
    pytest.importorskip("numba")
    figures = bench("bench_simulator").run(scale=0.02)
    assert len(figures) >= 9
    for words, value, target, better in figures:
        assert words
        assert value > 0
        assert target > 0
        assert better in ("<=", ">=")
