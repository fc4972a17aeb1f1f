"""One group simulated step by step, with the few totals noted at each step from which the ground truth is made."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lnetstat.simulator.engine import Engine, Stop
from lnetstat.simulator.plan import READ, WRITE, Plan
from lnetstat.simulator.views import ServiceView, Truth

Ints = NDArray[np.int64]
SERVICES = ("ost", "ost_io")
NS = 1_000_000_000
STEPS_PER_INTERVAL = 60


class Steps(NamedTuple):
    """Totals since the start, at each step (first axis).

    time_ns (steps,); router_busy_ns (steps, routers, 2) and server_busy_ns (steps, servers, 2): send and receive servers of all NIs of a
    node; waits (steps, servers, 2, 2): for ost and ost_io how many requests began to be handled and how long they had waited, in usec;
    handling_usec (steps, servers, 2): how long ost and ost_io handled requests, all threads together.
    """

    time_ns: Ints
    router_busy_ns: Ints
    server_busy_ns: Ints
    waits: Ints
    handling_usec: Ints


class GroupTruth(NamedTuple):
    """What happened in one group, or in several laid side by side, up to `until_ns`. Simulated nanoseconds from the start.

    bytes, pings (servers, bins): bulk bytes through the disk and pings served; done: RPCs of each process; pings_sent (servers,),
    pings_by_router (routers,): since the start. `pinging`: imports that ping at all; `first_ns`, `last_ns`: their first pings (both -1
    without). `plan` (without first pings) is the first group's. `entries`, `pools`, `ni_queues`: Engine.truth()'s, with the group's number.
    """

    groups: tuple[int, ...]
    plan: Plan
    until_ns: int
    bytes: Ints
    pings: Ints
    done: Ints
    pings_sent: Ints
    pings_by_router: Ints
    pinging: int
    first_ns: int
    last_ns: int
    steps: Steps
    entries: list[dict[str, int]]
    pools: list[dict[str, int]]
    ni_queues: list[dict[str, int]]


def step_ns(plan: Plan, sample_ns: int = 1) -> int:
    """Return how far apart the totals are noted: a second or a 60th of the ping interval, in whole samples."""
    wanted_ns = min(NS, plan.pings.interval_ns // STEPS_PER_INTERVAL or NS)
    return sample_ns * max(1, wanted_ns // sample_ns)


class Follower:
    """Runs the engine of one group; `advance` to rising times, among them 0 and all multiples of `step_ns`, then `truth`."""

    def __init__(self, plan: Plan, group: int, step_ns: int, *, compiled: bool | None = None) -> None:
        self.plan, self.group, self._step_ns = plan, group, step_ns
        self.engine = Engine(plan, compiled=compiled)
        self.time_ns = 0
        self._routers = range(plan.clients, plan.clients + plan.routers)
        self._servers = range(plan.clients + plan.routers, plan.clients + plan.routers + plan.servers)
        self._times: list[int] = []
        self._router_busy: list[list[tuple[int, int]]] = []
        self._server_busy: list[list[tuple[int, int]]] = []
        self._waits: list[list[list[tuple[int, int]]]] = []
        self._handling: list[list[list[int]]] = []
        self._held: tuple[int, Truth, int] | None = None
        self._found: Truth | None = None

    def advance(self, time_ns: int, stop: Stop | None = None) -> bool:
        """Simulate up to and including `time_ns`; at whole steps, note the totals. False where `stop` was set before it was reached."""
        if not self.engine.advance(time_ns, stop):
            return False
        self.time_ns = time_ns
        if time_ns % self._step_ns == 0:
            self._note(time_ns)
        return True

    @property
    def began(self) -> bool:
        """Whether time 0 was reached."""
        return bool(self._times)

    def hold(self) -> None:
        """Remember what happened so far, to be able to `go_back` to it."""
        self._held = self.time_ns, self.engine.truth(), len(self._times)

    def go_back(self) -> None:
        """From now on, `truth` tells what happened up to the last `hold`."""
        assert self._held is not None
        self.time_ns, self._found, steps = self._held
        for totals in (self._times, self._router_busy, self._server_busy, self._waits, self._handling):
            del totals[steps:]

    def _note(self, time_ns: int) -> None:
        services = [self.engine.services(node) for node in self._servers]
        self._times.append(time_ns)
        self._router_busy.append([self._busy_ns(node) for node in self._routers])
        self._server_busy.append([self._busy_ns(node) for node in self._servers])
        self._waits.append([[_waited(service) for service in each] for each in services])
        self._handling.append([[_handled(service) for service in each] for each in services])

    def truth(self) -> GroupTruth:
        """Return what happened so far."""
        plan, found = self.plan, self._found or self.engine.truth()
        first = np.asarray(plan.pings.first_ns, np.int64)
        first = first[first >= 0]
        bins = -(-self.time_ns // plan.bin_ns)
        return GroupTruth(
            (self.group,),
            plan._replace(pings=plan.pings._replace(first_ns=())),
            self.time_ns,
            np.array(found.bytes[:, :bins], np.int64),
            np.array(found.pings[:, :bins], np.int64),
            np.array(found.done, np.int64),
            np.array(found.pings_sent, np.int64),
            np.array(found.pings_by_router, np.int64),
            int(first.size),
            int(first.min()) if first.size else -1,
            int(first.max()) if first.size else -1,
            self._steps(),
            [{"group": self.group, **entry} for entry in found.entries],
            [{"group": self.group, **pool} for pool in found.pools],
            [{"group": self.group, **queue} for queue in found.ni_queues],
        )

    def rpcs_done(self) -> Iterator[tuple[int, int, int]]:
        """Yield (process, RPCs done, bytes that they moved) of every I/O process."""
        for number, (process, done) in enumerate(zip(self.plan.processes, self.engine.rpcs_done().tolist(), strict=True)):
            yield number, done, done * self.plan.bulk_bytes if process.kind in (WRITE, READ) else 0

    def _busy_ns(self, node: int) -> tuple[int, int]:
        counts = self.engine.node_counts(node)
        return counts.tx_busy_ns, counts.rx_busy_ns

    def _steps(self) -> Steps:
        count, servers = len(self._times), len(self._servers)
        return Steps(
            np.array(self._times, np.int64),
            np.array(self._router_busy, np.int64).reshape(count, len(self._routers), 2),
            np.array(self._server_busy, np.int64).reshape(count, servers, 2),
            np.array(self._waits, np.int64).reshape(count, servers, len(SERVICES), 2),
            np.array(self._handling, np.int64).reshape(count, servers, len(SERVICES)),
        )


def _waited(service: ServiceView) -> tuple[int, int]:
    return service.req_waittime.samples, service.req_waittime.sum


def _handled(service: ServiceView) -> int:
    return sum(counter.sum for counter in service.ops.values())


def side_by_side(truths: list[GroupTruth]) -> GroupTruth:
    """Return the groups as one: servers, routers and processes one after the other, in the order given. All of one scenario and time."""
    first = truths[0]
    steps = Steps(
        first.steps.time_ns,
        np.concatenate([truth.steps.router_busy_ns for truth in truths], axis=1),
        np.concatenate([truth.steps.server_busy_ns for truth in truths], axis=1),
        np.concatenate([truth.steps.waits for truth in truths], axis=1),
        np.concatenate([truth.steps.handling_usec for truth in truths], axis=1),
    )
    return first._replace(
        groups=tuple(group for truth in truths for group in truth.groups),
        bytes=np.concatenate([truth.bytes for truth in truths]),
        pings=np.concatenate([truth.pings for truth in truths]),
        done=np.concatenate([truth.done for truth in truths]),
        pings_sent=np.concatenate([truth.pings_sent for truth in truths]),
        pings_by_router=np.concatenate([truth.pings_by_router for truth in truths]),
        pinging=sum(truth.pinging for truth in truths),
        steps=steps,
        entries=[entry for truth in truths for entry in truth.entries],
        pools=[pool for truth in truths for pool in truth.pools],
        ni_queues=[queue for truth in truths for queue in truth.ni_queues],
    )
