"""What pings cost a program that computes between barriers: each step is as long as that of its unluckiest node.

All nodes compute `step_ns`, wait for one another, and begin again. A node that pings does not compute meanwhile: `ping_ns` for each of
its imports. Where all nodes ping at the same time, the program loses that time once an interval; where each node pings at a time of
its own, every one of them makes all others wait. "Minimizing Lustre Ping Effects at Scale on Cray Systems" (CUG 2012), section VII,
has the question; the model is ours.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lnetstat.errors import SimulatorError
from lnetstat.simulator.plan import Plan

IntArray = NDArray[np.int64]

STEP_NS = 1_000_000
PING_NS = 20_000
CLOCK_SPREAD_NS = 10_000_000  # how far apart NTP leaves the clocks of a machine
WINDOW_NS = 2_000_000_000  # pings at any time look alike everywhere: this much of an interval tells what the whole would
MOST_PINGS = 50_000_000  # in the window: more would not fit into memory


class Noise(NamedTuple):
    """When nodes do not compute, sorted by begin: arrays of one length, int64; times of one node do not overlap."""

    begin_ns: IntArray
    end_ns: IntArray
    node: IntArray


class Barrier(NamedTuple):
    """What the steps became: their number, their mean length, and the share of those that were longer than they had to be."""

    steps: int
    mean_step_ns: float
    hit_share: float


def clumped(*, nodes: int, imports: int, spread_ns: int, ping_ns: int = PING_NS, seed: int = 0) -> Noise:
    """Return one interval in which each node pings all its imports one after another, from a moment of its own within the spread.

    That is Lustre 1.8, which aligns to the node's uptime: `spread_ns` is how far apart the nodes booted. Aligned to the wall
    clock, it is how far their clocks are apart (CLOCK_SPREAD_NS).
    """
    _check(nodes=nodes, imports=imports, ping_ns=ping_ns)
    if spread_ns < 0:
        raise SimulatorError(f"barrier: spread {spread_ns} ns: expected 0 or more")
    begin = np.random.default_rng(seed).integers(0, max(1, spread_ns), nodes)
    return one_after_another(begin, np.arange(nodes), imports * ping_ns)


def offset(*, nodes: int, imports: int, interval_ns: int, until_ns: int, ping_ns: int = PING_NS, seed: int = 0) -> Noise:
    """Return the first `until_ns` of an interval in which each import pings at a time of its own (Lustre 1.6, and 2.x where idle)."""
    _check(nodes=nodes, imports=imports, ping_ns=ping_ns)
    if not 0 < until_ns <= interval_ns:
        raise SimulatorError(
            f"barrier: {until_ns} ns of an interval of {interval_ns} ns: expected more than 0 and not more than the interval"
        )
    random = np.random.default_rng(seed)
    count = int(random.binomial(nodes * imports, until_ns / interval_ns))
    if count > MOST_PINGS:
        raise SimulatorError(f"barrier: {count} pings in {until_ns} ns: expected at most {MOST_PINGS}: take fewer nodes or imports")
    return one_after_another(random.integers(0, until_ns, count), random.integers(0, nodes, count), ping_ns)


def one_after_another(due_ns: IntArray, node: IntArray, length_ns: IntArray | int) -> Noise:
    """Return noise of these lengths at these times (int64, in any order): what is due while its node is still at it comes after that."""
    order = np.lexsort((due_ns, node))
    due, owner = due_ns[order], node[order]
    length = np.broadcast_to(np.asarray(length_ns, dtype=np.int64), due_ns.shape)[order]
    # One queue for all nodes, each so far behind the last that it does not touch it: begin = max(due, end of the one before).
    apart = int(due.max(initial=0)) + 1 + int(length.sum())
    if len(due) and apart * (int(owner[-1]) + 1) >= 2**63:
        raise SimulatorError(f"barrier: {len(due)} pings of {int(length.sum())} ns are too long together: take fewer nodes or imports")
    before = np.cumsum(length) - length
    begin = np.maximum.accumulate(due + owner * apart - before) + before - owner * apart
    by_time = np.argsort(begin, kind="stable")
    return Noise(begin[by_time], (begin + length)[by_time], owner[by_time])


def barriers(noise: Noise, *, until_ns: int, step_ns: int = STEP_NS) -> Barrier:
    """Return what the steps from time 0 to the first barrier at or after `until_ns` became."""
    _check(step_ns=step_ns, until_ns=until_ns)
    begin, end, node = (part.tolist() for part in noise)
    now = first = steps = hit = 0
    while now < until_ns:
        while first < len(end) and end[first] <= now:
            first += 1
        quiet = ((begin[first] if first < len(begin) else until_ns) - now) // step_ns
        if quiet > 0:
            quiet = min(quiet, -(-(until_ns - now) // step_ns))
            now, steps = now + quiet * step_ns, steps + quiet
            continue
        late_ns = _latest(begin, end, node, first, now, step_ns)
        now, steps, hit = now + step_ns + late_ns, steps + 1, hit + (late_ns > 0)
    return Barrier(steps, now / steps, hit / steps)


def _latest(begin: list[int], end: list[int], node: list[int], first: int, now: int, step_ns: int) -> int:
    """Return by how much the slowest node is late that begins a step at `now`; noise before `first` is over."""
    late: dict[int, int] = {}
    worst = 0
    for place in range(first, len(begin)):
        if begin[place] >= now + step_ns + worst:
            break
        owner = node[place]
        so_far = late.get(owner, 0)
        if begin[place] < now + step_ns + so_far:
            late[owner] = so_far + max(0, end[place] - max(begin[place], now))
            worst = max(worst, late[owner])
    return worst


def clumped_barriers(
    *, nodes: int, imports: int, spread_ns: int, interval_ns: int, ping_ns: int = PING_NS, step_ns: int = STEP_NS, seed: int = 0
) -> Barrier:
    """Return one interval of steps where each node pings all its imports at once, at a moment of its own within `spread_ns`."""
    noise = clumped(nodes=nodes, imports=imports, spread_ns=spread_ns, ping_ns=ping_ns, seed=seed)
    return barriers(noise, until_ns=interval_ns, step_ns=step_ns)


def offset_barriers(
    *, nodes: int, imports: int, interval_ns: int, ping_ns: int = PING_NS, step_ns: int = STEP_NS, seed: int = 0
) -> Barrier:
    """Return what steps become where each import pings at a time of its own; seen in WINDOW_NS of the interval."""
    until_ns = min(interval_ns, WINDOW_NS)
    noise = offset(nodes=nodes, imports=imports, interval_ns=interval_ns, until_ns=until_ns, ping_ns=ping_ns, seed=seed)
    return barriers(noise, until_ns=until_ns, step_ns=step_ns)


def plan_barriers(plan: Plan, *, imports: int, step_ns: int = STEP_NS) -> Barrier | None:
    """Return one ping interval of steps on the plan's clients, which ping when the plan says; None where nobody pings.

    `imports`: those of a client in the whole system, of which the plan's group has a part; the others ping together with these.
    A ping takes a client as long as its interface takes to send it.
    """
    pings = plan.pings
    own = plan.targets * pings.mounts
    first = np.asarray(pings.first_ns, dtype=np.int64).reshape(plan.clients, own)
    pinging = first >= 0
    if pings.idle_ns:
        # The program computes and has no I/O: imports that disconnect when idle have done so, here as in the other groups.
        pinging &= np.arange(own) % plan.targets < pings.keep
        imports = own
    node, place = np.nonzero(pinging)
    if not len(node):
        return None
    # Pings of a node that are due together are one noise: fewer to walk through.
    together, count = np.unique(np.stack((node, first[node, place] % pings.interval_ns)), axis=1, return_counts=True)
    lengths = count * (plan.client_ni.post_ns * imports) // own
    noise = one_after_another(together[1], together[0], lengths)
    return barriers(noise, until_ns=pings.interval_ns, step_ns=step_ns)


def _check(**values: int) -> None:
    for name, value in values.items():
        if value <= 0:
            raise SimulatorError(f"barrier: {name} {value}: expected more than 0")
