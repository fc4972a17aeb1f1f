"""How fast the simulator is: against SimPy with the same model, against ns-3 on M/M/8/64, and a whole machine room in nominal seconds.

A nominal second (n.s.) is the CPU time in which SimPy processes 283,000 events of mm8.py on this computer; it is measured in between.
ns-3 is compared where it is installed (Debian: libns3-dev and g++); OMNeT++, which Debian does not have, is not.
`python bench/bench_simulator.py [--full]`: --full simulates all 150 groups of the paper's machine, and runs the tests without numba.
"""

import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
import mm8
from group_plan import MS, S, group_plan
from simpy_model import Model

from lnetstat.simulator.engine import Engine
from lnetstat.simulator.plan import Plan
from lnetstat.simulator.scenario import load_scenario

Figure = tuple[str, float, float, str]
GROUPS = 150  # of the preset petascale: 600 routers, 450 servers, 45 million pings in 75 s
ROOT = Path(__file__).parents[1]

FIRST_RUN = """
import sys, time
sys.path.insert(0, sys.argv[1])
from group_plan import group_plan
from lnetstat.simulator.engine import Engine
engine = Engine(group_plan(10, 1, duration_ns=10**9))
began = time.process_time()
engine.advance(10**9)
print(time.process_time() - began)
"""


class Group(NamedTuple):
    """One group of 25,000 clients simulated for 75 s."""

    cpu_s: float  # with laying it out
    events: int
    pings: int
    writes: int
    peak_mib: float  # of the process so far


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes smaller groups and fewer runs: for tests, not for figures."""
    return [*_against_simpy(scale), *_queue_against_others(scale), *_machine_room(scale, 8 if scale == 1 else 2), *_cold(scale)]


def _against_simpy(scale: float) -> list[Figure]:
    """The same plan through SimPy, the engine compiled and the engine as plain Python, in turns; the best CPU time of each."""
    clients, writers = max(50, round(1_000 * scale)), max(3, round(30 * scale))
    plan = group_plan(clients, writers, duration_ns=3 * S if scale == 1 else round(1.3 * S), flood_ns=S, untied=True)
    _advance(plan, compiled=True)
    simpy_s, lean_s, compiled_s, plain_s = [], [], [], []
    messages = 0
    for _ in range(2):
        for times, lean in ((simpy_s, False), (lean_s, True)):
            model = Model(plan, lean=lean)
            began_s = time.process_time()
            counts = model.run()
            times.append(time.process_time() - began_s)
            messages = counts.messages
        plain_s.append(_advance(plan, compiled=False))
        compiled_s += [_advance(plan, compiled=True) for _ in range(5)]
    what = f"same model, {clients:,} clients, {messages:,} messages"
    return [
        (f"{what}: engine / SimPy, messages/s", min(simpy_s) / min(compiled_s), 100, ">="),
        (f"{what}: engine / SimPy without events for free credits", min(lean_s) / min(compiled_s), 50, ">="),
        (f"{what}: engine without numba / SimPy", min(simpy_s) / min(plain_s), 1.5, ">="),
    ]


def _advance(plan: Plan, *, compiled: bool) -> float:
    engine = Engine(plan, compiled=compiled)
    began_s = time.process_time()
    engine.advance(plan.end_ns)
    return time.process_time() - began_s


def _queue_against_others(scale: float) -> list[Figure]:
    """M/M/8/64 on the simulator's queue of events, on ns-3's core and in SimPy."""
    ours, others, simpy_runs = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        program = mm8.ns3_program(folder)
        for seed in range(1, 4):
            simpy_runs.append(mm8.run_simpy(round(60_000 * scale) or 1, seed))
            ours.append(mm8.run_queue(round(7_000_000 * scale), seed))
            if program:
                others += [mm8.run_ns3(program, round(1_000_000 * scale), seed, scheduler) for scheduler in ("Calendar", "Map", "Heap")]
    lost = sum(result.lost for result in ours) / sum(result.arrivals for result in ours)
    figures: list[Figure] = [
        ("M/M/8/64: our queue / SimPy, events/s", _per_s(ours) / _per_s(simpy_runs), 60, ">="),
        ("M/M/8/64: how far the simulated loss is from the analytic one, parts", abs(lost / mm8.loss() - 1), 0.25 / min(1, scale), "<="),
    ]
    if others:
        figures.append(("M/M/8/64: our queue / ns-3's best scheduler, events/s", _per_s(ours) / _per_s(others), 2, ">="))
    else:
        print("ns-3 is not installed (Debian: libns3-dev and g++): not compared", file=sys.stderr)
    return figures


def _per_s(results: list[mm8.Result]) -> float:
    return max(result.events / result.cpu_s for result in results)


def _machine_room(scale: float, groups: int) -> list[Figure]:
    """Simulate groups of the preset petascale for one interval, one after the other and on two processes."""
    nominal_s = [mm8.nominal_s()]
    wall_s, one = _simulate(groups, 1, scale)
    nominal_s.append(mm8.nominal_s())
    wall_of_2_s, two = _simulate(groups, 2, scale)
    nominal_s.append(mm8.nominal_s())
    alone_s, beside_s = (sum(group.cpu_s for group in done) / groups for done in (one, two))
    nominal = min(nominal_s)
    pings, writes, events = (sum(getattr(group, name) for group in one) * GROUPS // groups / 1e6 for name in ("pings", "writes", "events"))
    what = f"petascale, {GROUPS} groups, 75 s, {pings:.1f} M pings, {writes:.1f} M writes, {events:.0f} M events"
    how = f"all {GROUPS} groups" if groups == GROUPS else f"{GROUPS} x the mean of {groups} groups"
    load = f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return [
        ("one group, 25,000 clients, 75 s: nominal seconds", min(group.cpu_s for group in one) / nominal, 1, "<="),
        (f"{what}: nominal seconds on one core ({how})", alone_s / nominal * GROUPS, 120, "<="),
        ("petascale: MiB of a process at most", max(group.peak_mib for group in one + two), 512, "<="),
        (f"petascale on 2 processes: wall time of 1 / of 2 (needs 2 free cores; {load})", wall_s / wall_of_2_s, 1.7, ">="),
        ("petascale on 2 processes: CPU time of a group alone / beside another", alone_s / beside_s, 0.85, ">="),
        ("sweep of 100 such groups on 2 free cores: nominal seconds (from the CPU time of a group)", beside_s / nominal * 50, 60, "<="),
    ]


def _simulate(groups: int, processes: int, scale: float) -> tuple[float, list[Group]]:
    """Return the wall seconds and what each group says; the workers are up and compiled before the clock starts."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawn, initializer=_warm) as pool:
        list(pool.map(_warm, range(processes)))
        began_s = time.monotonic()
        results = list(pool.map(_group, range(groups), [scale] * groups))
        return time.monotonic() - began_s, results


def _warm(_number: int = 0) -> None:
    engine = Engine(group_plan(10, 1, duration_ns=200 * MS))
    engine.advance(200 * MS)


def _group(number: int, scale: float) -> Group:
    began_s = time.process_time()
    if scale == 1:
        plan = load_scenario("petascale", {"run.duration": "75 s"}).plan(number)
    else:
        plan = group_plan(round(25_000 * scale), round(375 * scale), duration_ns=11 * S, seed=number)
    engine = Engine(plan)
    engine.advance(plan.end_ns)
    cpu_s = time.process_time() - began_s
    truth = engine.truth()
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Group(cpu_s, engine.event_count, int(truth.pings.sum()), int(truth.done.sum()), peak_mib)


def _cold(scale: float) -> list[Figure]:
    """The first run on a machine compiles; later ones find the code in the user's cache."""
    if scale < 1:
        return []
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"XDG_CACHE_HOME": cache}
        first, again = (_first_run_s(environment) / mm8.nominal_s() for _ in range(2))
    return [
        ("first run on a machine: nominal seconds of compiling, apart from the above", first, 20, "<="),
        ("later runs: nominal seconds until the compiled code is loaded", again, 1, "<="),
    ]


def _first_run_s(environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", FIRST_RUN, str(Path(__file__).parent)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def _tests_without_numba() -> list[Figure]:
    """The simulator's own tests where numba cannot be imported."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text("import sys\nsys.modules['numba'] = None\n")
        before = os.times()
        environment = os.environ | {"PYTHONPATH": folder}
        tests = subprocess.run(
            [sys.executable, "-m", "pytest", "tests/simulator"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False
        )
        after = os.times()
    if tests.returncode:
        sys.exit("the simulator's tests fail where numba cannot be imported")
    spent_s = after.children_user + after.children_system - before.children_user - before.children_system
    return [("the simulator's tests without numba: nominal seconds", spent_s / mm8.nominal_s(), 60, "<=")]


def main(words: list[str]) -> int:
    full = "--full" in words
    figures = [*_against_simpy(1), *_queue_against_others(1), *_machine_room(1, GROUPS if full else 8), *_cold(1)]
    missed = 0
    for name, value, target, better in figures + (_tests_without_numba() if full else []):
        met = value <= target if better == "<=" else value >= target
        missed += not met
        print(f"{'ok    ' if met else 'MISSED'}  {value:9.2f}  {better} {target:<6g}  {name}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
