import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.errors import SimulatorError
from lnetstat.simulator.barrier import Barrier, Noise, barriers, clumped_barriers, offset, offset_barriers, one_after_another

S = 1_000_000_000
INTERVAL_NS = 75 * S
IMPORTS = 360


def aligned(nodes: int) -> Barrier:
    return clumped_barriers(nodes=nodes, imports=IMPORTS, spread_ns=10_000_000, interval_ns=INTERVAL_NS)


def booted_apart(nodes: int, spread_s: float = 75) -> Barrier:
    return clumped_barriers(nodes=nodes, imports=IMPORTS, spread_ns=round(spread_s * S), interval_ns=INTERVAL_NS)


def each_for_itself(nodes: int) -> Barrier:
    return offset_barriers(nodes=nodes, imports=IMPORTS, interval_ns=INTERVAL_NS)


def tick_by_tick(noise: Noise, nodes: int, until: int, step: int) -> Barrier:
    """The same steps, walked through tick by tick and node by node."""
    busy = np.zeros((nodes, until * 20 + 1000), dtype=bool)
    for begin, end, node in zip(*noise, strict=True):
        busy[node, begin:end] = True
    now = steps = hit = 0
    while now < until:
        ready = now
        for node in range(nodes):
            tick = now
            computed = 0
            while computed < step:
                computed += not busy[node, tick]
                tick += 1
            ready = max(ready, tick)
        hit += ready > now + step
        steps += 1
        now = ready
    return Barrier(steps, now / steps, hit / steps)


@given(
    dues=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.integers(1, 9)), max_size=25),
    step=st.integers(1, 12),
)
def test_the_steps_are_those_of_a_walk_tick_by_tick(dues: list[tuple[int, int, int]], step: int) -> None:
    due, node, length = np.array(dues, dtype=np.int64).reshape(-1, 3).T
    noise = one_after_another(due, node, length)
    assert barriers(noise, until_ns=80, step_ns=step) == tick_by_tick(noise, 4, 80, step)


@given(dues=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=25), length=st.integers(1, 9))
def test_a_node_pings_one_import_after_another(dues: list[tuple[int, int]], length: int) -> None:
    due, node = np.array(dues, dtype=np.int64).reshape(-1, 2).T
    noise = one_after_another(due, node, length)
    assert list(noise.begin_ns) == sorted(noise.begin_ns)
    expected = []
    for owner in range(4):
        free = 0
        for moment in sorted(int(time) for time, who in dues if who == owner):
            expected.append((max(moment, free), max(moment, free) + length, owner))
            free = expected[-1][1]
    assert sorted(zip(*(part.tolist() for part in noise), strict=True)) == sorted(expected)


@pytest.mark.parametrize(("nodes", "step_ms", "hit"), [(1_000, 1.10, 0.014), (9_408, 2.30, 0.218), (25_000, 5.25, 0.71)])
def test_nodes_that_booted_at_any_time_stretch_barriers_the_more_the_more_there_are(nodes: int, step_ms: float, hit: float) -> None:
    found = booted_apart(nodes)
    assert found.mean_step_ns / 1e6 == pytest.approx(step_ms, rel=0.02)
    assert found.hit_share == pytest.approx(hit, rel=0.05)


@pytest.mark.parametrize("nodes", [1_000, 9_408, 25_000])
def test_nodes_that_ping_at_one_time_cost_no_more_than_that_time(nodes: int) -> None:
    assert aligned(nodes).mean_step_ns / 1e6 == pytest.approx(1, abs=0.0005)


@pytest.mark.parametrize("nodes", [1_000, 9_408, 25_000])
def test_imports_that_ping_each_for_itself_cost_about_one_ping_in_every_step(nodes: int) -> None:
    assert each_for_itself(nodes).mean_step_ns / 1e6 == pytest.approx(1.02, abs=0.008)


def test_the_paper_saw_little_where_the_system_was_small_and_much_where_it_was_jaguar() -> None:
    assert booted_apart(1_000).mean_step_ns <= 1.15 * each_for_itself(1_000).mean_step_ns
    assert booted_apart(9_408).mean_step_ns >= 2 * each_for_itself(9_408).mean_step_ns


def test_the_wider_nodes_spread_the_longer_the_steps() -> None:
    steps_ms = [booted_apart(25_000, spread).mean_step_ns / 1e6 for spread in (0.2, 2, 10, 30)]
    assert steps_ms == pytest.approx([1.002, 1.024, 1.135, 1.545], rel=0.01)
    assert steps_ms == sorted(steps_ms)
    assert booted_apart(25_000, 74).mean_step_ns / 1e6 > 4.9


def test_steps_without_noise_are_as_long_as_the_computing() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert barriers(Noise(none, none, none), until_ns=S, step_ns=1_000_000) == Barrier(1000, 1_000_000, 0)


def test_a_seed_gives_the_same_figures_again() -> None:
    assert booted_apart(500) == booted_apart(500)
    assert booted_apart(500) != clumped_barriers(nodes=500, imports=IMPORTS, spread_ns=INTERVAL_NS, interval_ns=INTERVAL_NS, seed=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nodes": 0}, "nodes 0: expected more than 0"),
        ({"imports": -1}, "imports -1: expected more than 0"),
        ({"spread_ns": -1}, "spread -1 ns"),
        ({"step_ns": 0}, "step_ns 0"),
        ({"interval_ns": 0}, "until_ns 0"),
    ],
)
def test_what_makes_no_sense_is_said(change: dict[str, int], said: str) -> None:
    with pytest.raises(SimulatorError, match=said):
        clumped_barriers(**{"nodes": 2, "imports": 2, "spread_ns": 5, "interval_ns": S} | change)


def test_pings_that_do_not_fit_into_memory_are_refused() -> None:
    with pytest.raises(SimulatorError, match="expected at most"):
        offset(nodes=10**6, imports=10**5, interval_ns=INTERVAL_NS, until_ns=INTERVAL_NS)
