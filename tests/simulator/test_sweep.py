import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lnetstat.errors import SimulatorError, WorkerError
from lnetstat.simulator.barrier import plan_barriers
from lnetstat.simulator.scenario import load_scenario
from lnetstat.simulator.sweep import SYSTEM_TARGETS, Axis, Point, parse_axis, points, run_point, swept
from lnetstat.workers import run_all

distributed = pytest.importorskip("distributed", reason="the extra [cluster] is not installed")

SMALL = """
release = "1.8"
[run]
duration = "60 s"
[clients]
count = 200
[routers]
count = 2
[servers]
count = 2
[o2ib]
credits = 256
[pings]
interval = "10 s"
first = "2 s"
spread = "1 ms"
[costs]
credit_return_server = "20 ms"
disk_write = "20 ms"
[[io]]
processes = 8
window = 2
"""
CREDITS = Axis("o2ib.peer_credits", ("8", "16", "64"))
SPREAD = Axis("pings.spread", ("1 ms", "5 s"))


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return str(path)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local:
        yield local.scheduler_address


def test_more_peer_credits_cost_less_dead_time(small: str) -> None:
    rows = swept(points(small, [CREDITS], {}), [CREDITS], {}).rows
    assert [row.values for row in rows] == [("8",), ("16",), ("64",)]
    dead = [row.figures.dead_s for row in rows]
    floods = [row.figures.flood_s for row in rows]
    assert dead == sorted(dead, reverse=True)
    assert dead[0] > 5 * max(dead[2], 0.05)
    assert floods == sorted(floods, reverse=True)
    assert all(row.figures.pings_per_server == 200 * 4 for row in rows)
    for row in rows:
        assert row.figures.peers_min == int(row.values[0]) - row.figures.credits_required


def test_a_wide_spread_ends_dead_time_and_stretches_barriers(small: str) -> None:
    close, wide = (row.figures for row in swept(points(small, [SPREAD], {}), [SPREAD], {}).rows)
    assert close.dead_s > 0.5 > 0.1 > wide.dead_s
    assert close.barrier_step_ns < wide.barrier_step_ns
    assert close.barrier_imports == SYSTEM_TARGETS


def test_each_mount_pings_all_targets_of_the_system(small: str) -> None:
    found = [run_point(point) for point in points(small, [Axis("pings.mounts", ("1", "3"))], {})]
    assert [each.barrier_imports for each in found] == [SYSTEM_TARGETS, 3 * SYSTEM_TARGETS]
    assert [each.pings_per_server for each in found] == [800, 2400]


def test_the_last_axis_changes_fastest(small: str) -> None:
    every = points(small, [SPREAD, CREDITS], {"clients.count": "20"})
    assert [point.values for point in every] == [(spread, limit) for spread in SPREAD.values for limit in CREDITS.values]
    assert {point.scenario.plan(0).clients for point in every} == {20}


def test_processes_and_a_cluster_give_what_one_process_gives(small: str, cluster: str) -> None:
    every = points(small, [SPREAD, CREDITS], {})
    here = swept(every, [SPREAD, CREDITS], {})
    told: list[tuple[int, int]] = []
    assert swept(every, [SPREAD, CREDITS], {}, processes=2) == here
    assert swept(every, [SPREAD, CREDITS], {}, scheduler=cluster, progress=lambda done, count: told.append((done, count))) == here
    assert told == [(done, 6) for done in range(1, 7)]


def test_a_point_ends_one_interval_after_the_first_ping(small: str) -> None:
    one, three = (run_point(point) for count in (1, 3) for point in points(small, [Axis("run.seed", ("1",))], {}, intervals=count))
    assert one.pings_per_server == three.pings_per_server == 800
    assert one.dead_s == pytest.approx(three.dead_s, rel=0.1)


def test_a_duration_that_is_given_holds(small: str) -> None:
    assert points(small, [CREDITS], {"run.duration": "30 s"})[0].intervals == 0
    assert points(small, [Axis("run.duration", ("20 s", "30 s"))], {})[0].intervals == 0


def test_pings_that_come_all_the_time_are_counted_too(small: str) -> None:
    found = run_point(points(small, [Axis("pings.spread", ("10 s",))], {}, intervals=2)[0])
    assert found.flood_s is None
    assert found.pings_per_server == pytest.approx(800, rel=0.05)


def test_without_pings_there_is_no_dead_time_and_no_barrier(small: str) -> None:
    found = run_point(points(small, [Axis("pings.policy", ("suppressed",))], {})[0])
    assert found.barrier_step_ns is None
    assert found.pings_per_server is None
    assert abs(found.dead_s) < 0.1


def test_without_routers_the_servers_credits_count(tmp_path: Path) -> None:
    path = tmp_path / "direct.toml"
    path.write_text(
        'release = "2.12"\n[clients]\ncount = 4\n[servers]\ncount = 1\n[network.client]\nlnd = "tcp"\n[run]\nduration = "10 s"\n'
        '[pings]\npolicy = "suppressed"\n[[io]]\nprocesses = 4\nkind = "read"\nwindow = 32\n'
    )
    found = run_point(points(str(path), [Axis("tcp.peer_credits", ("2",))], {})[0])
    assert found.small_buffers_min is None
    assert found.peers_min == 2 - found.credits_required
    assert found.peers_min < 0


def test_barriers_are_those_of_the_scenarios_pings() -> None:
    aligned, spread = (
        load_scenario("paper-untuned", {"clients.count": "3000", "pings.spread": value}).plan(0) for value in ("10 ms", "75 s")
    )
    together, apart = (plan_barriers(plan, imports=360) for plan in (aligned, spread))
    assert together.mean_step_ns == pytest.approx(1e6, rel=0.001)
    assert apart.mean_step_ns == pytest.approx(1.33e6, rel=0.05)


def test_imports_that_disconnect_do_not_disturb_barriers() -> None:
    settings = {"clients.count": "3000", "release": "2.12", "pings.policy": "idle-offset", "pings.idle_disconnect": "20 s"}
    assert plan_barriers(load_scenario("paper-untuned", settings).plan(0), imports=360) is None
    kept = plan_barriers(load_scenario("paper-untuned", settings | {"pings.keep": "1"}).plan(0), imports=360)
    assert 1e6 < kept.mean_step_ns < 1.05e6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pings.spread", "expected KEY=VALUE,VALUE"),
        ("=1,2", "expected KEY=VALUE,VALUE"),
        ("pings.spread=1 s,,2 s", "expected KEY=VALUE,VALUE"),
        ("pings.spread=", "expected KEY=VALUE,VALUE"),
        ("pings.spread=1 s,2 s,1 s", "the value 1 s stands there twice"),
    ],
)
def test_an_axis_that_is_none_is_said(text: str, said: str) -> None:
    with pytest.raises(SimulatorError, match=said):
        parse_axis(text)


def test_an_axis_keeps_its_values_as_written() -> None:
    assert parse_axis("pings.spread=0.2s, 2 s") == Axis("pings.spread", ("0.2s", "2 s"))


@pytest.mark.parametrize(
    ("axes", "settings", "said"),
    [
        ([], {}, "a sweep over 0 keys: expected 1 to 4"),
        ([CREDITS, CREDITS], {}, "o2ib.peer_credits is given twice"),
        ([CREDITS], {"o2ib.peer_credits": "9"}, "with --set and with --over"),
        ([Axis("run.seed", tuple(map(str, range(200)))), Axis("pings.mounts", tuple(map(str, range(1, 7))))], {}, "200 x 6 = 1,200 points"),
        ([Axis("o2ib.peer_credits", ("8", "x"))], {}, "point o2ib.peer_credits=x: "),
        ([Axis("o2ib.peer_credit", ("8",))], {}, "point o2ib.peer_credit=8: .*did you mean"),
    ],
)
def test_a_sweep_that_cannot_be_is_said_before_anything_runs(small: str, axes: list[Axis], settings: dict[str, str], said: str) -> None:
    with pytest.raises(SimulatorError, match=said) as error:
        points(small, axes, settings)
    assert "\n" not in str(error.value)


def die(task: int) -> int:
    os._exit(9)


def fail(task: int) -> int:
    raise SimulatorError(f"task {task} cannot be done")


def pid(task: int) -> tuple[int, int]:
    return task, os.getpid()


def test_results_come_in_the_order_of_the_tasks() -> None:
    found = run_all(pid, range(6), processes=2)
    assert [task for task, _ in found] == list(range(6))
    assert os.getpid() not in {worker for _, worker in found}
    assert run_all(pid, [3], processes=2) == [(3, os.getpid())]


def test_a_worker_that_is_killed_is_said() -> None:
    with pytest.raises(WorkerError, match="worker process was killed"):
        run_all(die, range(4), processes=2)


def test_an_error_of_a_worker_comes_as_it_is() -> None:
    with pytest.raises(SimulatorError, match=r"task . cannot be done"):
        run_all(fail, range(4), processes=2)


def test_an_error_on_the_cluster_comes_as_it_is(cluster: str) -> None:
    with pytest.raises(SimulatorError, match="point cannot be simulated"):
        run_all(broken, [1], scheduler=cluster)


def broken(task: int) -> int:
    from lnetstat.errors import SimulatorError as OnTheWorker

    raise OnTheWorker("this point cannot be simulated")


def test_a_scheduler_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lnetstat.workers.CONNECT_S", 0.5)
    with pytest.raises(WorkerError, match=r"scheduler tcp://127.0.0.1:1 does not answer"):
        run_all(pid, [1], scheduler="tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    ("address", "said"),
    [("foo://x", "unknown address scheme 'foo'"), ("nonsense", "missing port number"), ("tcp://head", "missing port number")],
)
def test_what_can_be_no_scheduler_is_said_without_trying(monkeypatch: pytest.MonkeyPatch, address: str, said: str) -> None:
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: pytest.fail("tried"))
    with pytest.raises(WorkerError, match=f"scheduler {address} does not answer: {said}"):
        run_all(pid, [1], scheduler=address)


def test_a_point_is_plain_data(small: str) -> None:
    import pickle

    point = points(small, [CREDITS], {})[0]
    assert isinstance(point, Point)
    assert pickle.loads(pickle.dumps(point)).scenario.plan(0) == point.scenario.plan(0)
