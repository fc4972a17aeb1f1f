"""What a scenario gives when its keys take other values: every combination of them, on local processes or a Dask cluster.

Every point is one simulation of the scenario's first routing group. What it gives depends on its settings only, not on where or in
which order points run.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lnetstat.errors import SimulatorError
from lnetstat.simulator import barrier
from lnetstat.simulator.plan import Plan
from lnetstat.simulator.run import run_group
from lnetstat.simulator.scenario import Scenario, load_scenario
from lnetstat.workers import Progress, run_all

MOST_POINTS = 1_000
MOST_AXES = 4
NS = 1_000_000_000
POOLS = ("tiny", "small", "large")
DURATION = "run.duration"
SYSTEM_TARGETS = 360  # at least, where there are routers: the scenario is one routing group of a larger system


class Axis(NamedTuple):
    """One key of the scenario, and the values that it takes, as texts for `load_scenario`."""

    key: str
    values: tuple[str, ...]


class Point(NamedTuple):
    """One combination: a value for each axis, and the scenario that it makes.

    `intervals`: how many ping intervals are simulated, from the first ping; 0: the scenario's whole duration. `imports`: those of a client
    in the whole system, for the barriers.
    """

    values: tuple[str, ...]
    scenario: Scenario
    intervals: int
    imports: int


class Figures(NamedTuple):
    """What one point gives. None: cannot be told, or there is no such thing (no routers, no pings).

    `dead_s`: dead time of one ping interval, mean; `flood_s`: from the first ping sent to the last one served, mean; shares are of 1.
    `peers_min`, `…_buffers_min`: the lowest credits as `peers` and `buffers` of a router show them (without routers: `peers` of a
    server); `credits_required`: with so many peer credits none would have waited. `pings_per_server`: served in one interval.
    `barrier_step_ns`, `barrier_hit_share`: of a program on all clients that computes 1 ms between barriers (barrier.py), where a client has
    `barrier_imports` in the whole system.
    """

    dead_s: float | None
    lost_fraction: float | None
    flood_s: float | None
    write_minimum_share: float | None
    peers_min: int | None
    tiny_buffers_min: int | None
    small_buffers_min: int | None
    large_buffers_min: int | None
    credits_required: int | None
    pings_per_server: float | None
    barrier_step_ns: float | None
    barrier_hit_share: float | None
    barrier_imports: int


class Row(NamedTuple):
    """One point's values and what it gave. `notes`: what the drivers clamped there."""

    values: tuple[str, ...]
    figures: Figures
    notes: tuple[str, ...]


class Sweep(NamedTuple):
    """A whole sweep; `rows` in the order of `points`: the last axis changes fastest."""

    scenario: str
    about: str
    settings: dict[str, str]
    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]


def parse_axis(text: str) -> Axis:
    """Return the axis that `key=v1,v2,v3` names. Raises SimulatorError where it is none."""
    key, equals, rest = text.partition("=")
    values = tuple(value.strip() for value in rest.split(","))
    if not equals or not key.strip() or not all(values):
        raise SimulatorError(f"--over {text}: expected KEY=VALUE,VALUE…, for example pings.spread=0.2s,2s,20s")
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise SimulatorError(f"--over {text}: the value {twice} stands there twice")
    return Axis(key.strip(), values)


def points(
    name_or_path: str, axes: Sequence[Axis], settings: Mapping[str, str], *, intervals: int = 1, imports: int | None = None
) -> list[Point]:
    """Return every combination; all are checked before anything runs.

    `intervals` does not hold where `settings` or an axis gives run.duration. `imports`: None takes those of all groups, and at least
    SYSTEM_TARGETS of each mount where there are routers. Raises SimulatorError, which names the combination, where one makes no scenario;
    and where there are too many.
    """
    _check_axes(axes, settings)
    if DURATION in settings or any(axis.key == DURATION for axis in axes):
        intervals = 0
    found = []
    for values in itertools.product(*(axis.values for axis in axes)):
        own = {axis.key: value for axis, value in zip(axes, values, strict=True)}
        try:
            scenario = load_scenario(name_or_path, {**settings, **own})
        except SimulatorError as error:
            where = ", ".join(f"{key}={value}" for key, value in own.items())
            raise SimulatorError(f"point {where}: {error}") from error
        found.append(Point(values, scenario, intervals, imports or 0))
    return found


def _check_axes(axes: Sequence[Axis], settings: Mapping[str, str]) -> None:
    keys = [axis.key for axis in axes]
    if not 0 < len(axes) <= MOST_AXES:
        raise SimulatorError(f"a sweep over {len(axes)} keys: expected 1 to {MOST_AXES}, each with an --over of its own")
    if len(set(keys)) < len(keys):
        raise SimulatorError(f"--over {next(key for key in keys if keys.count(key) > 1)} is given twice: write all its values in one")
    for key in keys:
        if key in settings:
            raise SimulatorError(f"{key} is given with --set and with --over: give it once")
    sizes = [len(axis.values) for axis in axes]
    if math.prod(sizes) > MOST_POINTS:
        words = " x ".join(map(str, sizes))
        raise SimulatorError(f"a sweep of {words} = {math.prod(sizes):,} points: expected at most {MOST_POINTS:,}: take fewer values")


def swept(
    every: Sequence[Point],
    axes: Sequence[Axis],
    settings: Mapping[str, str],
    *,
    processes: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Simulate the points of `points`, on so many local processes or on the Dask cluster of `scheduler`; the result is the same.

    Raises WorkerError where workers or the cluster fail.
    """
    found = run_all(run_point, every, processes=processes, scheduler=scheduler, progress=progress)
    rows = tuple(Row(point.values, figures, point.scenario.notes) for point, figures in zip(every, found, strict=True))
    return Sweep(every[0].scenario.name, every[0].scenario.about, dict(settings), tuple(axes), rows)


def run_point(point: Point) -> Figures:
    """Simulate one point."""
    plan = _shortened(point.scenario.plan(0), point.intervals)
    imports = point.imports or _system_imports(plan, point.scenario.groups)
    return figures_of(plan, run_group(plan), imports)


def _system_imports(plan: Plan, groups: int) -> int:
    targets = plan.targets * groups
    return plan.pings.mounts * (max(targets, SYSTEM_TARGETS) if plan.routers else targets)


def _shortened(plan: Plan, intervals: int) -> Plan:
    """Return the plan up to the end of so many intervals after the first ping; as it is where nobody pings or `intervals` is 0."""
    first_ns = _first_ping_ns(plan)
    if not intervals or first_ns is None:
        return plan
    return plan._replace(end_ns=min(plan.end_ns, first_ns + intervals * plan.pings.interval_ns))


def _first_ping_ns(plan: Plan) -> int | None:
    return min((first for first in plan.pings.first_ns if first >= 0), default=None)


def figures_of(plan: Plan, summary: Mapping[str, Any], imports: int) -> Figures:
    """Return the figures of a run of the plan: `summary` as lnetstat/simulator/truth.py describes it."""
    wanted = summary["credits_wanted_peak"]["routers" if plan.routers else "servers"]
    limit = plan.router_server_ni.peer_credits if plan.routers else plan.server_ni.peer_credits
    peaks = [summary["buffers_wanted_peak"][pool] for pool in POOLS]
    tiny, small, large = (None if peak is None else count - peak for count, peak in zip(plan.router_buffers, peaks, strict=True))
    lost = summary["lost_fraction"]
    steps = barrier.plan_barriers(plan, imports=imports)
    return Figures(
        dead_s=None if lost is None else lost * plan.pings.interval_ns / NS,
        lost_fraction=lost,
        flood_s=summary["flood_s"],
        write_minimum_share=summary["write_minimum_share"],
        peers_min=None if wanted is None else limit - wanted,
        tiny_buffers_min=tiny,
        small_buffers_min=small,
        large_buffers_min=large,
        credits_required=wanted,
        pings_per_server=_pings_per_server(plan, summary),
        barrier_step_ns=steps.mean_step_ns if steps else None,
        barrier_hit_share=steps.hit_share if steps else None,
        barrier_imports=imports,
    )


def _pings_per_server(plan: Plan, summary: Mapping[str, Any]) -> float | None:
    """Return the pings that a server serves in one interval; where they come all the time there are no floods to count them in."""
    first_ns = _first_ping_ns(plan)
    if summary["ping_pattern"] != "steady" or first_ns is None or plan.end_ns <= first_ns:
        mean: float | None = summary["pings_per_server"]["mean"]
        return mean
    served: int = summary["pings_served"]
    return served / plan.servers * plan.pings.interval_ns / (plan.end_ns - first_ns)
