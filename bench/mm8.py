"""Tandem of two M/M/8/64 stations (arrivals 7.2, service 1 per server and second): the reference model of all speed ratios.

An event is an arrival from outside or a departure from a station. In one nominal second SimPy processes 283,000 of them. Who finds
64 customers in a station is lost; at the first station that is 1.925e-4 of them (`loss`).

`python bench/mm8.py` prints the loss and the events per nominal second of each engine that is installed.
"""

import functools
import heapq
import random
import shutil
import subprocess
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import simpy

ARRIVALS_PER_S, SERVERS, PLACES = 7.2, 8, 64
SECOND_NS = 1_000_000_000
NOMINAL_EVENTS = 283_000
NS3_SOURCE = Path(__file__).with_name("ns3_mm8.cc")


class Result(NamedTuple):
    """Counts of one run, and the CPU seconds of its event loop."""

    events: int
    arrivals: int
    lost: int  # at the first station
    cpu_s: float


def loss() -> float:
    """Return the share of arrivals that M/M/8/64 turns away: the probability of state 64, from the birth-death equations."""
    weights = [1.0]
    for state in range(1, PLACES + 1):
        weights.append(weights[-1] * ARRIVALS_PER_S / min(state, SERVERS))
    return weights[-1] / sum(weights)


def nominal_s(count: int = 60_000) -> float:
    """Return how many CPU seconds a nominal second takes now: those of 283,000 events of SimPy."""
    result = run_simpy(count)
    return result.cpu_s / result.events * NOMINAL_EVENTS


def run_simpy(count: int, seed: int = 1) -> Result:
    """Process style: each customer a process, each station a Resource."""
    chance = random.Random(seed)
    env = simpy.Environment()
    stations = [simpy.Resource(env, SERVERS), simpy.Resource(env, SERVERS)]
    lost = [0, 0]
    departures = 0

    def customer() -> simpy.events.ProcessGenerator:
        nonlocal departures
        for number, station in enumerate(stations):
            if station.count + len(station.queue) >= PLACES:
                lost[number] += 1
                return
            with station.request() as server:
                yield server
                yield env.timeout(chance.expovariate(1.0))
            departures += 1

    def outside() -> simpy.events.ProcessGenerator:
        for _ in range(count):
            yield env.timeout(chance.expovariate(ARRIVALS_PER_S))
            env.process(customer())

    env.process(outside())
    began = time.process_time()
    env.run()
    return Result(count + departures, count, lost[0], time.process_time() - began)


def run_heapq(count: int, seed: int = 1) -> Result:
    """Plain Python: tuples (time, sequence, station) on a heap; station -1 is an arrival."""
    chance = random.Random(seed)
    draw = chance.expovariate
    present, lost = [0, 0], [0, 0]
    events = sequence = 0
    left = count
    heap = [(draw(ARRIVALS_PER_S), 0, -1)]
    pop, push = heapq.heappop, heapq.heappush
    began = time.process_time()
    while heap:
        now, _, station = pop(heap)
        events += 1
        if station < 0:
            left -= 1
            if left:
                sequence += 1
                push(heap, (now + draw(ARRIVALS_PER_S), sequence, -1))
        else:
            present[station] -= 1
            if present[station] >= SERVERS:
                sequence += 1
                push(heap, (now + draw(1.0), sequence, station))
        station += 1
        if station < 2:
            if present[station] >= PLACES:
                lost[station] += 1
            else:
                present[station] += 1
                if present[station] <= SERVERS:
                    sequence += 1
                    push(heap, (now + draw(1.0), sequence, station))
    return Result(events, count, lost[0], time.process_time() - began)


@functools.cache
def _queue_program() -> Callable[..., int]:
    """The same model on the simulator's own queue of events, compiled by numba."""
    import numba
    import numpy

    from lnetstat.simulator.kernel import events, jit, layout

    names = {name: value for name, value in vars(layout).items() if isinstance(value, int)}
    names.update(jit.compile_functions((events,)))
    names.update(numpy=numpy, PLACES=PLACES, STATION_SERVERS=SERVERS, GAP_NS=SECOND_NS / ARRIVALS_PER_S, SERVICE_NS=float(SECOND_NS))
    inner = numba.njit(types.FunctionType(_tandem.__code__, names), error_model="numpy")
    pointer = jit.pointer()

    @numba.njit(error_model="numpy")
    def tandem(m: Any, h: Any, count: int, seed: int, lost: Any) -> int:
        numpy.random.seed(seed)
        return inner(pointer(m), pointer(h), count, lost)  # type: ignore[no-any-return]

    return tandem


def _tandem(m: Any, h: Any, count: int, lost: Any) -> int:
    """Compiled, with the names of kernel/events.py: kind -1 is an arrival, 0 and 1 a departure of that station."""
    present = [0, 0]
    done = 0
    left = count
    schedule(m, h, NO_RING, int(numpy.random.exponential(GAP_NS)), -1, 0)  # noqa: F821
    while m[HEAP_COUNT] > 0:  # noqa: F821
        first_ring(m, h)  # noqa: F821
        now = h[0]
        station = h[2]
        pop_heap(m, h)  # noqa: F821
        done += 1
        if station < 0:
            left -= 1
            if left > 0:
                schedule(m, h, NO_RING, now + int(numpy.random.exponential(GAP_NS)), -1, 0)  # noqa: F821
        else:
            present[station] -= 1
            if present[station] >= STATION_SERVERS:  # noqa: F821
                schedule(m, h, NO_RING, now + int(numpy.random.exponential(SERVICE_NS)), station, 0)  # noqa: F821
        station += 1
        if station < 2:
            if present[station] >= PLACES:
                lost[station] += 1
            else:
                present[station] += 1
                if present[station] <= STATION_SERVERS:  # noqa: F821
                    schedule(m, h, NO_RING, now + int(numpy.random.exponential(SERVICE_NS)), station, 0)  # noqa: F821
    return done


def run_queue(count: int, seed: int = 1) -> Result:
    """On the simulator's queue; compiling is not counted."""
    import numpy

    from lnetstat.simulator.kernel import layout

    program = _queue_program()
    result = Result(0, 0, 0, 0.0)
    for arrivals in (1, count):
        memory = numpy.zeros(layout.AFTER_RINGS, dtype=numpy.int64)
        for ring in range(layout.RINGS):
            memory[layout.RINGS_AT + ring * layout.RING] = layout.NEVER
        heap = numpy.zeros((2 * SERVERS + 2) * layout.EVENT, dtype=numpy.int64)
        lost = numpy.zeros(2, dtype=numpy.int64)
        began = time.process_time()
        events = program(memory, heap, arrivals, seed, lost)
        result = Result(events, arrivals, int(lost[0]), time.process_time() - began)
    return result


def ns3_program(folder: str) -> Path | None:
    """Compile the same model on ns-3's core; None where ns-3's headers (Debian: libns3-dev) or a C++ compiler are missing."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if not compiler:
        return None
    program = Path(folder) / "ns3_mm8"
    built = subprocess.run(
        [compiler, "-std=c++17", "-O2", "-DNDEBUG", str(NS3_SOURCE), "-o", str(program), *_ns3_libraries()],
        capture_output=True,
        check=False,
    )
    return program if built.returncode == 0 else None


def _ns3_libraries() -> list[str]:
    found = subprocess.run(["pkg-config", "--libs-only-L", "--libs-only-l", "ns3-core"], capture_output=True, text=True, check=False)
    return found.stdout.split() if found.returncode == 0 else ["-lns3-core"]


def run_ns3(program: Path, count: int, seed: int = 1, scheduler: str = "Calendar") -> Result:
    """Run the compiled program with ns-3's Calendar, Map or Heap scheduler; it measures its own CPU time."""
    out = subprocess.run([program, str(count), str(seed), scheduler], capture_output=True, text=True, check=True).stdout
    events, arrivals, lost, cpu_s = out.split()
    return Result(int(events), int(arrivals), int(lost), float(cpu_s))


def main() -> None:
    print(f"loss at the first station: {loss():.4g} analytic")
    with tempfile.TemporaryDirectory() as folder:
        program = ns3_program(folder)
        runs: list[tuple[str, Callable[[], Result]]] = [("simpy", lambda: run_simpy(60_000)), ("heapq", lambda: run_heapq(300_000))]
        if program:
            for scheduler in ("Heap", "Map", "Calendar"):
                runs.append((f"ns-3 {scheduler}", lambda scheduler=scheduler: run_ns3(program, 1_000_000, 1, scheduler)))
        else:
            print("ns-3 is not installed (Debian: libns3-dev, g++): left out")
        runs.append(("our queue", lambda: run_queue(5_000_000)))
        simpy_per_s = 0.0
        for name, run in runs:
            best = max((run() for _ in range(3)), key=lambda result: result.events / result.cpu_s)
            per_s = best.events / best.cpu_s
            simpy_per_s = simpy_per_s or per_s
            print(f"{name:14} {per_s:12,.0f} events/s  {per_s / simpy_per_s:7.1f} x SimPy  lost {best.lost / best.arrivals:.3e}")


if __name__ == "__main__":
    main()
