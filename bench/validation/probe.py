"""One flood watched every few milliseconds: what routers hold, which no file sampled once a second shows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lnetstat.simulator.engine import Engine
from lnetstat.simulator.plan import Plan
from lnetstat.simulator.scenario import load_scenario

Ints = NDArray[np.int64]
STEP_NS = 5_000_000
BEFORE_NS = 100_000_000
AFTER_NS = 1_400_000_000
AMPLE = "131072"  # small buffers that never run out in a flood of 75,000 pings


class Flood(NamedTuple):
    """The first router at times from shortly before a flood on, arrays (steps,); `begin_ns`, `injected_ns`: first and last pings sent.

    `small`, `large`: buffers of a pool in use; `held`: those of all pools; `to_servers`: messages that hold or want peer credits towards
    servers; `queued`: those towards anybody; `from_clients`: peer router credits in use by clients.
    """

    begin_ns: int
    injected_ns: int
    time_ns: Ints
    small: Ints
    large: Ints
    held: Ints
    to_servers: Ints
    queued: Ints
    from_clients: Ints


def flood(preset: str = "oversubscribed") -> Flood:
    """Watch the first flood of a preset, with small buffers enough."""
    plan = load_scenario(preset, {"routers.small_router_buffers": AMPLE, "run.duration": "15 s"}).plan(0)
    first = np.asarray(plan.pings.first_ns, np.int64)
    begin_ns, injected_ns = int(first.min()), int(first.max())
    engine = Engine(plan)
    times = range(begin_ns - BEFORE_NS, begin_ns + AFTER_NS, STEP_NS)
    rows = [_row(engine, plan, time_ns) for time_ns in times]
    return Flood(begin_ns, injected_ns, np.array(times), *(np.array(column) for column in zip(*rows, strict=True)))


def _row(engine: Engine, plan: Plan, time_ns: int) -> tuple[int, ...]:
    engine.advance(time_ns)
    peers, buffers = engine.peers(plan.clients), engine.buffers(plan.clients)
    used = np.array([np.clip(buffers.count - buffers.credits, 0, buffers.count)[buffers.pool == pool].sum() for pool in range(3)])
    queued = peers.tx_max - peers.tx
    servers = peers.remote_node >= plan.clients + plan.routers
    return (
        int(used[1]),
        int(used[2]),
        int(used.sum()),
        int(queued[servers].sum()),
        int(queued.sum()),
        int((peers.rtr_max - peers.rtr)[~servers].sum()),
    )
