"""The ends of the way, by the rules of docs/simulator-model.md: servers, clients, health; and `simulate`, which runs a plan."""

from collections import Counter
from typing import Any

from lnetstat.simulator.plan import ONE, PING, SMALL, WRITE, Plan

from .checks import check_idle, check_now
from .clock import Kind
from .lnet import Lnet
from .world import HEALTHY, Entry, Interface, Job, Rpc, Station


def simulate(plan: Plan, *, trace: bool = False, debug: bool = False, drain: bool = False) -> "Run":
    """Run the plan to its end. `debug`: the kernel's assertions after every event.

    `drain`: then let everything under way come to its end, without new work and with every NI up, and check that all credits are back.
    """
    run = Run(plan, trace=trace, debug=debug)
    run.advance(plan.end_ns)
    if drain:
        run.drain()
    return run


class Run(Lnet):
    """A plan under way."""

    def __init__(self, plan: Plan, *, trace: bool = False, debug: bool = False) -> None:
        super().__init__(plan, trace=trace, debug=debug)
        self.serials = self.finished = 0
        self.jobs = [Job(index, process) for index, process in enumerate(plan.processes)]
        imports = plan.targets * plan.pings.mounts
        first = list(plan.pings.first_ns)
        self.next_ping = [first[c * imports : (c + 1) * imports] for c in range(plan.clients)]
        self.last_rpc: list[list[int | None]] = [[None] * imports for _ in range(plan.clients)]
        self.rounds = [0] * plan.clients
        self.bytes: Counter[tuple[int, int]] = Counter()  # (server, bin)
        self.pings: Counter[tuple[int, int]] = Counter()
        self.pings_sent = [0] * plan.servers
        self.ping_waits: list[tuple[int, int, int]] = []  # (server, arrived at the service, served) of each ping served
        self.begin()

    def begin(self) -> None:
        """Schedule what is known at the start."""
        for client in range(self.plan.clients):
            self.schedule_pinger(client)
        for job in self.jobs:
            self.schedule(job.plan.start_ns, Kind.START, job)
        for index, fault in enumerate(self.plan.faults):
            self.schedule(fault.time_ns, Kind.FAULT, index)

    def check(self) -> None:
        """The kernel's assertions and Little, as they hold now."""
        check_now(self)

    def drain(self) -> None:
        """Begin nothing new; finish what is under way."""
        self.draining = True
        for ni in self.nis:
            ni.up = True
        for p in (entry for node in self.nodes for entry in node.entries):
            p.cut = False
        self.advance(2**62)
        check_idle(self)

    # --- the end of the way -----------------------------------------------------------------------------------

    def consume(self, m: Rpc, r: Entry) -> None:
        """A client or server has the whole message."""
        node = r.node
        node.recv_count += 1
        node.recv_length += m.payload
        if node.role == "client":
            self.client_got(m)
        elif m.stage == "REQUEST":
            m.rx = r
            station = self.station(m)
            if station.used < station.buffers:
                self.accept(m, station)
            else:
                station.portal.append(self.now, m)
        elif m.stage == "WRITE_DATA":
            self.disk(m)
        else:
            self.reply(m)

    def station(self, m: Rpc) -> Station:
        """The service of an RPC."""
        stations = m.server.stations
        assert stations is not None
        return stations[0 if m.kind in (PING, SMALL) else 1]

    def accept(self, m: Rpc, station: Station) -> None:
        """A request gets a request buffer."""
        limits, r = station.limits, m.rx
        assert r is not None
        station.used += 1
        if station.buffers - station.used <= limits.buffers_group // 2 and station.buffers + limits.buffers_group <= limits.buffers_max:
            station.buffers += limits.buffers_group
        m.rx = None
        if r.connected and m.phase != "DONE":
            self.repost(r)
        m.arrived = self.now
        if station.busy < station.limits.threads:
            self.start(m, station)
        else:
            station.queue.append(self.now, m)

    def start(self, m: Rpc, station: Station) -> None:
        """A thread takes the request."""
        station.busy += 1
        station.started += 1
        if m.kind in (PING, SMALL):
            service = self.plan.ping_service_ns if m.kind == PING else self.plan.small_service_ns
            self.schedule(self.now + self.jittered(service, self.plan.service_jitter, m), Kind.SERVED, m)
        elif m.kind == WRITE:
            m.payload, m.stage = 0, "GET"
            self.send(m, m.server)
        else:
            self.disk(m)

    def on_served(self, m: Rpc) -> None:
        """The ost thread has the answer."""
        if m.kind == PING:
            server = m.server.number - self.plan.clients - self.plan.routers
            self.pings[server, self.now // self.plan.bin_ns] += 1
            self.ping_waits.append((server, m.arrived, self.now))
        self.reply(m)

    def disk(self, m: Rpc) -> None:
        """The serial disk of the server."""
        time = self.plan.disk_write_ns if m.kind == WRITE else self.plan.disk_read_ns
        m.server.disk_free = max(self.now, m.server.disk_free) + self.jittered(time, self.plan.disk_jitter, m)
        self.schedule(m.server.disk_free, Kind.DISK, m)

    def on_disk(self, m: Rpc) -> None:
        """Data was written or read."""
        self.bytes[m.server.number - self.plan.clients - self.plan.routers, self.now // self.plan.bin_ns] += self.plan.bulk_bytes
        if m.kind == WRITE:
            self.reply(m)
        else:
            m.payload, m.stage = self.plan.bulk_bytes, "READ_DATA"
            self.send(m, m.server)

    def reply(self, m: Rpc) -> None:
        """The reply goes; its thread and its request buffer are free."""
        m.payload, m.stage = self.plan.ping_bytes if m.kind == PING else self.plan.reply_bytes, "REPLY"
        self.send(m, m.server)
        station = self.station(m)
        station.busy -= 1
        if station.queue:
            self.start(station.queue.pop(self.now), station)
        station.used -= 1
        if station.portal:
            self.accept(station.portal.pop(self.now), station)

    def jittered(self, time: int, table: Any, m: Rpc) -> int:
        """A time with the factor that belongs to the RPC."""
        return time * int(table[self.hash(m.serial) & (len(table) - 1)]) // ONE

    def hash(self, number: int) -> int:
        """Thirty-one bits that look like chance."""
        x = (number + 7919 * self.plan.seed) & 0x7FFFFFFF
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        x ^= x >> 15
        x = (x * 1597334677) & 0x7FFFFFFF
        return x ^ x >> 13

    # --- clients ----------------------------------------------------------------------------------------------

    def client_got(self, m: Rpc) -> None:
        """GET, read data or a reply came."""
        if m.stage == "GET":
            m.payload, m.stage = self.plan.bulk_bytes, "WRITE_DATA"
            self.send(m, m.client)
        elif m.stage == "READ_DATA":
            m.payload, m.stage = 0, "READ_ACK"
            self.send(m, m.client)
        else:
            self.finished += 1
            del self.live[m.serial]
            if m.process is not None:
                self.job_done(m.process, m.stripe)

    def job_done(self, job: Job, stripe: int) -> None:
        """An I/O RPC of a process is done: the next."""
        job.done += 1
        if job.more and job.plan.think_ns > 0:
            self.schedule(self.now + job.plan.think_ns, Kind.THINK, (job, stripe))
        elif job.more:
            self.issue(job, stripe)

    def new_rpc(self, kind: int, client: int, target: int, payload: int) -> Rpc:
        """Create an RPC of a client to a target."""
        m = Rpc(self.serials, kind, self.clients[client], self.servers[target % self.plan.servers], payload)
        self.serials += 1
        self.live[m.serial] = m
        return m

    def schedule_pinger(self, client: int) -> None:
        """At the earliest next ping of the client's imports."""
        due = [time for time in self.next_ping[client] if time >= 0]
        if due:
            self.schedule(min(due), Kind.PINGER, client)

    def on_pinger(self, client: int) -> None:
        """Ping every import whose time has come."""
        if self.draining:
            return
        pings, nexts, last = self.plan.pings, self.next_ping[client], self.last_rpc[client]
        hashed = self.hash(client * 613 + self.rounds[client]) & 1023
        early = pings.interval_ns // 1000 * (pings.early_permille * hashed // 1024)
        due = [i for i, time in enumerate(nexts) if 0 <= time <= self.now]
        self.rounds[client] += 1 if due else 0
        for i in due:
            target = i % self.plan.targets
            rpc_ns = last[i]
            if pings.idle_ns == 0 or target < pings.keep or (rpc_ns is not None and self.now - rpc_ns <= pings.idle_ns):
                self.pings_sent[target % self.plan.servers] += 1
                self.send(self.new_rpc(PING, client, target, self.plan.ping_bytes), self.clients[client])
            nexts[i] = nexts[i] + pings.interval_ns if pings.aligned else self.now + pings.interval_ns - early
        self.schedule_pinger(client)

    def on_start(self, job: Job) -> None:
        """A process begins: a window full of RPCs on each stripe."""
        for stripe in range(job.plan.stripes):
            for _ in range(job.plan.window):
                if job.more:
                    self.issue(job, stripe)

    def on_think(self, what: tuple[Job, int]) -> None:
        """A process thought long enough; meanwhile another of its RPCs may have been the last."""
        if what[0].more:
            self.issue(*what)

    def issue(self, job: Job, stripe: int) -> None:
        """A process sends its next RPC."""
        if self.draining:
            return
        client, pings = job.plan.client, self.plan.pings
        target = (job.plan.first_target + stripe) % self.plan.targets
        job.issued += 1
        m = self.new_rpc(job.plan.kind, client, target, self.plan.request_bytes)
        m.process, m.stripe = job, stripe
        self.last_rpc[client][target] = self.now
        if not pings.aligned and self.next_ping[client][target] >= 0:
            self.next_ping[client][target] = self.now + pings.interval_ns
        self.send(m, m.client)

    # --- health -----------------------------------------------------------------------------------------------

    def on_fault(self, index: int) -> None:
        """An NI, or only the path between two, goes down or up."""
        if self.draining:
            return
        fault = self.plan.faults[index]
        if fault.other < 0:
            self.nis[fault.ni].up = fault.up
            return
        ends = {self.nis[fault.ni], self.nis[fault.other]}
        for p in (entry for node in self.nodes for entry in node.entries):
            if {p.ni, p.remote} == ends:
                p.cut = not fault.up

    def on_retry(self, m: Rpc) -> None:
        """The sender knows of the failure."""
        m.retries += 1
        if m.retries > self.plan.health.retry_count:
            m.retries = 0
            self.schedule(self.now + self.plan.health.resend_ns, Kind.RESEND, m)
        else:
            self.on_resend(m)

    def on_resend(self, m: Rpc) -> None:
        """Send the message anew."""
        assert m.tx is not None
        self.send(m, m.tx.node)

    def on_recover_ni(self, ni: Interface) -> None:
        """A recovery ping to an own NI."""
        self.recover(ni, ni.up, Kind.RECOVER_NI)

    def on_recover_entry(self, p: Entry) -> None:
        """A recovery ping along a path."""
        self.recover(p, p.up, Kind.RECOVER_ENTRY)

    def recover(self, what: Interface | Entry, up: bool, kind: Kind) -> None:
        """Healthier where the ping came back, else ask again later and later."""
        health = self.plan.health
        if up:
            what.health, what.rounds = min(HEALTHY, what.health + health.sensitivity), 0
            what.recovering = what.health < HEALTHY
            if what.recovering:
                self.schedule(self.now + health.recovery_ns, kind, what)
        else:
            what.rounds += 1
            pause = min(health.recovery_ns * 2 ** min(what.rounds, 20), health.recovery_max_ns)
            self.schedule(self.now + pause, kind, what)
