"""The model of docs/simulator-model.md once more, as one writes it with SimPy: the reference of the engine's speed.

Process style: an RPC is a process that travels client, router, server and back. Credits, router buffers and threads are SimPy's resources,
or, with `lean`, counters that cost an event only where somebody waits.

It covers groups with routers, pings and writes. SimPy wakes processes breadth first where the kernel goes depth first, so it agrees
with the engine where no two independent events fall on the same nanosecond.
"""

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import simpy
from simpy.resources.resource import Request
from simpy_lnet import Entry, Lnet, Message, Steps

from lnetstat.simulator.plan import ONE, PING, WRITE, Plan, Process, Service


class Counts(NamedTuple):
    """What a run did."""

    messages: int  # LNet messages that were sent: a ping has two, a write four
    pings: list[int]  # served, per server
    last_ping_ns: int  # when the last of them was served
    done: list[int]  # finished RPCs per process
    credits: list[tuple[int, int, int, int]]  # of each routers' entry towards a server: tx, its low-water mark, rtr, its low-water mark


class ServiceState:
    """Threads and request buffers of a service."""

    def __init__(self, env: simpy.Environment, service: Service) -> None:
        self.limits, self.buffers, self.used = service, service.buffers, 0
        self.threads = simpy.Resource(env, service.threads)
        self.portal: deque[simpy.Event] = deque()


class Server:
    """What only a server has."""

    def __init__(self, env: simpy.Environment, plan: Plan) -> None:
        self.ost, self.ost_io = ServiceState(env, plan.ost), ServiceState(env, plan.ost_io)
        self.disk_free_ns = 0


class Model:
    """One group. `run()` once."""

    def __init__(self, plan: Plan, *, lean: bool = False) -> None:
        if not plan.routers or any(process.kind != WRITE for process in plan.processes):
            raise ValueError("the SimPy model knows groups with routers, pings and writes only")
        self.plan, self.env = plan, simpy.Environment()
        self.lnet = Lnet(plan, self.env, lean=lean)
        self._serial = self.last_ping_ns = 0
        self.pings = [0] * plan.servers
        self.done = [0] * len(plan.processes)
        self.servers = [Server(self.env, plan) for _ in range(plan.servers)]
        per_client = plan.targets * plan.pings.mounts
        self.next_ns = [list(plan.pings.first_ns[c * per_client : (c + 1) * per_client]) for c in range(plan.clients)]
        self.last_rpc_ns: list[list[int | None]] = [[None] * per_client for _ in range(plan.clients)]

    def run(self) -> Counts:
        """Run to the plan's end and return what happened."""
        for client, first in enumerate(self.next_ns):
            if any(at >= 0 for at in first):
                self.env.process(self._pinger(client))
        for number, process in enumerate(self.plan.processes):
            self.env.process(self._writer(number, process))
        self.env.run(self.plan.end_ns + 1)  # SimPy stops before the events of that time
        nodes, first_server = self.lnet.nodes, len(self.lnet.nodes) - self.plan.servers
        entries = [
            router.entries[server] for router in nodes[self.plan.clients : first_server] for server in range(first_server, len(nodes))
        ]
        rows = [(entry.tx.now, entry.tx.low, entry.rtr.now, entry.rtr.low) for entry in entries]
        return Counts(self.lnet.messages, self.pings, self.last_ping_ns, self.done, rows)

    # Clients

    def _message(self, kind: int) -> Message:
        message = Message(self._serial, kind)
        self._serial += 1
        return message

    def _pinger(self, client: int) -> Steps:
        plan, pings, env = self.plan, self.plan.pings, self.env
        due, last, rounds = self.next_ns[client], self.last_rpc_ns[client], 0
        while True:
            yield env.timeout(min(at for at in due if at >= 0) - env.now)
            imports = [number for number, at in enumerate(due) if 0 <= at <= env.now]
            early_ns = pings.interval_ns // 1000 * (pings.early_permille * (self._hash(client * 613 + rounds) & 1023) // ONE)
            rounds += bool(imports)
            for number in imports:
                target, used_ns = number % plan.targets, last[number]
                if not pings.idle_ns or target < pings.keep or (used_ns is not None and env.now - used_ns <= pings.idle_ns):
                    env.process(self._ping(client, target % plan.servers, self._message(PING)))
                due[number] = due[number] + pings.interval_ns if pings.aligned else env.now + pings.interval_ns - early_ns

    def _writer(self, number: int, process: Process) -> Steps:
        yield self.env.timeout(process.start_ns)
        issued = [0]
        for stripe in range(process.stripes):
            for _ in range(process.window):
                if not self._all_issued(process, issued):
                    issued[0] += 1
                    self.env.process(self._writes(number, process, stripe, issued))

    def _writes(self, number: int, process: Process, stripe: int, issued: list[int]) -> Steps:
        """One slot of the window: an RPC after the other."""
        plan, pings = self.plan, self.plan.pings
        target = (process.first_target + stripe) % plan.targets
        due = self.next_ns[process.client]
        while True:
            self.last_rpc_ns[process.client][target] = self.env.now
            if not pings.aligned and due[target] >= 0:
                due[target] = self.env.now + pings.interval_ns
            yield from self._write(process.client, target % plan.servers, self._message(WRITE))
            self.done[number] += 1
            if process.think_ns and not self._all_issued(process, issued):
                yield self.env.timeout(process.think_ns)
            if self._all_issued(process, issued):
                return
            issued[0] += 1

    def _all_issued(self, process: Process, issued: list[int]) -> bool:
        return process.total > 0 and issued[0] >= process.total

    def _ping(self, client: int, server: int, message: Message) -> Steps:
        plan = self.plan
        there = plan.clients + plan.routers + server
        message.payload = plan.ping_bytes
        entry = yield from self.lnet.travel(message, client, there)
        service = self.servers[server].ost
        thread = yield from self._enter(message, service, entry)
        yield self.env.timeout(self._jittered(message, plan.ping_service_ns, plan.service_jitter))
        self.pings[server] += 1
        self.last_ping_ns = self.env.now
        message.payload = plan.ping_bytes
        yield from self._reply(message, there, client, service, thread)

    def _write(self, client: int, server: int, message: Message) -> Steps:
        plan = self.plan
        there = plan.clients + plan.routers + server
        state = self.servers[server]
        message.payload = plan.request_bytes
        entry = yield from self.lnet.travel(message, client, there)
        thread = yield from self._enter(message, state.ost_io, entry)
        message.payload = 0
        yield from self.lnet.travel(message, there, client)
        message.payload = plan.bulk_bytes
        yield from self.lnet.travel(message, client, there)
        state.disk_free_ns = max(self.env.now, state.disk_free_ns) + self._jittered(message, plan.disk_write_ns, plan.disk_jitter)
        yield self.env.timeout(state.disk_free_ns - self.env.now)
        message.payload = plan.reply_bytes
        yield from self._reply(message, there, client, state.ost_io, thread)

    # Servers

    def _enter(self, message: Message, service: ServiceState, entry: Entry) -> Generator[simpy.Event, Any, Request]:
        """Get a request buffer, which frees the receive, then a thread."""
        if service.used >= service.buffers:
            place = self.env.event()
            service.portal.append(place)
            yield place
        else:
            service.used += 1
        limits = service.limits
        if service.buffers - service.used <= limits.buffers_group // 2 and service.buffers + limits.buffers_group <= limits.buffers_max:
            service.buffers += limits.buffers_group
        if entry.interface.net.wire_credits and not message.phase_done:
            self.lnet.repost(entry)
        thread = service.threads.request()
        yield thread
        return thread

    def _reply(self, message: Message, server: int, client: int, service: ServiceState, thread: Request) -> Steps:
        """The reply takes its place in the queue before the thread and the request buffer are free."""
        first = self.lnet.choose(self.lnet.nodes[server])
        place = self.lnet.post(message, first)
        service.threads.release(thread)
        if service.portal:
            service.portal.popleft().succeed()  # hands the buffer over: it stays used
        else:
            service.used -= 1
        yield from self.lnet.ride(message, first, place, client)

    def _jittered(self, message: Message, time_ns: int, table: Sequence[int]) -> int:
        return time_ns * table[self._hash(message.serial) & (len(table) - 1)] // ONE

    def _hash(self, number: int) -> int:
        x = ((number + 7919 * self.plan.seed) * 1103515245 + 12345) & 0x7FFFFFFF
        x = ((x ^ x >> 15) * 1597334677) & 0x7FFFFFFF
        return x ^ x >> 13
