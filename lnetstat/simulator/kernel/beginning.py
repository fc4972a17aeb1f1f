"""How a run begins: its first events, and room for its messages."""

import numpy as np

from lnetstat.simulator.kernel.build import Array, Places, aligned
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.plan import Plan

MESSAGES_MAX = 1 << 19  # a flood of the largest presets; more are added when they are needed


def message_count(plan: Plan) -> int:
    """How many messages a run begins with: a flood's, so that the memory need not be copied in the midst of it."""
    imports = plan.targets * plan.pings.mounts
    in_flight = sum(process.window * process.stripes for process in plan.processes)
    return min(plan.clients * imports + in_flight, MESSAGES_MAX) + margin(plan)


def margin(plan: Plan) -> int:
    """How many messages and events one event may need at most."""
    window = max((process.window * process.stripes for process in plan.processes), default=0)
    return max(plan.targets * plan.pings.mounts, window) + 64


def more_messages(m: Array, count: int) -> Array:
    """Append room for `count` messages to the memory."""
    grown = aligned(len(m) + count * MESSAGE)
    grown[: len(m)] = m
    grown[FREE_COUNT] += count
    return grown


def first_events(m: Array, plan: Plan, places: Places) -> Array:
    """Put the first event of every pinger into the pingers' ring; return the heap of the others: processes, then faults.

    Sequence numbers go by client, process and fault, as docs/simulator-model.md says.
    """
    imports = plan.targets * plan.pings.mounts
    following = np.asarray(plan.pings.first_ns, dtype=np.int64).reshape(plan.clients, imports)
    earliest = np.where(following < 0, NEVER, following).min(axis=1, initial=NEVER)
    pingers = np.flatnonzero(earliest < NEVER)
    times = earliest[pingers]
    events = np.column_stack([times, np.arange(len(pingers)), np.full(len(pingers), PINGER), places.nodes + pingers * NODE])
    _fill_ring(m, RINGS_AT + RING_PINGER * RING, events[np.argsort(times, kind="stable")])
    starts = [(process.start_ns, START, places.processes + i * PROCESS) for i, process in enumerate(plan.processes)]
    faults = [(fault.time_ns, FAULT, places.faults + i * FAULT_SIZE) for i, fault in enumerate(plan.faults)]
    others = sorted((time, len(pingers) + i, kind, number) for i, (time, kind, number) in enumerate(starts + faults))
    m[SEQUENCE] = len(pingers) + len(others)
    m[HEAP_COUNT] = len(others)
    return np.array(others, dtype=np.int64).reshape(-1)  # in order, which is one way to be a heap


def _fill_ring(m: Array, r: int, events: Array) -> None:
    """Fill an empty ring with events in their order."""
    if len(events) == 0:
        return
    base = int(m[r + RING_BASE])
    m[base : base + events.size] = events.reshape(-1)
    m[r + RING_COUNT] = len(events)
    m[r + RING_TIME], m[r + RING_SEQ] = events[0, :2]
    m[r + RING_LAST], m[r + RING_LAST_SEQ] = events[-1, :2]
