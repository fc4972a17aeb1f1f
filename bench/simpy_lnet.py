"""LNet with SimPy: credits, gateways, router buffers and the o2ib window, for simpy_lnet.py. One hop is a generator.

Credits are SimPy's Containers, or, with `lean`, counters that cost an event only where somebody waits. The window (`check_sends`) is a
plain function. Rules and words are those of docs/simulator-lnet.md.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Protocol

import simpy

from lnetstat.simulator.plan import Net, Ni, Plan

HEADER_BYTES, PAGE_BYTES = 72, 4096
CLIENT, ROUTER, SERVER = range(3)
Steps = Generator[simpy.Event, Any, None]


class Credits(Protocol):
    """Signed credits: `now` falls below zero by as many as wait."""

    now: int
    low: int

    def take(self) -> simpy.Event: ...

    def give(self) -> None: ...


class ResourceCredits:
    """Credits as a SimPy Container."""

    def __init__(self, env: simpy.Environment, limit: int) -> None:
        self.now = self.low = limit
        self._store = simpy.Container(env, limit, limit)

    def take(self) -> simpy.Event:
        self.now -= 1
        self.low = min(self.low, self.now)
        return self._store.get(1)

    def give(self) -> None:
        self.now += 1
        self._store.put(1)


class LeanCredits:
    """Credits without an event where one is free."""

    def __init__(self, env: simpy.Environment, limit: int, past: simpy.Event) -> None:
        self.now = self.low = limit
        self._env, self._past = env, past
        self._waiting: deque[simpy.Event] = deque()

    def take(self) -> simpy.Event:
        self.now -= 1
        if self.now < self.low:
            self.low = self.now
        if self.now >= 0:
            return self._past  # a process that yields it goes on at once
        event = self._env.event()
        self._waiting.append(event)
        return event

    def give(self) -> None:
        self.now += 1
        if self.now <= 0:
            self._waiting.popleft().succeed()


class Interface:
    """A node's NI: NI queues per CPT, and the two serial servers."""

    def __init__(self, lnet: "Lnet", ni: Ni, net: Net, cpts: int) -> None:
        self.ni, self.net = ni, net
        self.queues = [lnet.credits(ni.credits) for _ in range(cpts)]
        self.tx_free_ns = 0
        self.receiver = simpy.Resource(lnet.env, 1)


class Entry:
    """What a node keeps for one NI of another; with `other`, the other end's entry, it is a connection."""

    other: "Entry"

    def __init__(self, lnet: "Lnet", node: "Node", interface: Interface, remote: int) -> None:
        ni = interface.ni
        self.node, self.interface, self.cpt = node, interface, remote % node.cpts
        self.tx, self.rtr = lnet.credits(ni.peer_credits), lnet.credits(ni.peer_buffer_credits)
        self.queue_bytes = self.seq = 0
        self.wire, self.outstanding, self.nsends = interface.net.wire_credits, 0, 0
        self.sendq: deque[Message] = deque()
        self.nocredq: deque[Message] = deque()


class Node:
    """A client, router or server and its entries by remote node."""

    def __init__(self, lnet: "Lnet", number: int, role: int) -> None:
        plan = lnet.plan
        self.role, self.cpts = role, 1 if role == CLIENT else plan.cpts
        self.turn = plan.routers - 1
        self.entries: dict[int, Entry] = {}
        if role == ROUTER:
            self.pools = [[lnet.credits(count) for count in plan.router_buffers] for _ in range(self.cpts)]


class Message:
    """The one message that an RPC is at a time."""

    __slots__ = ("arrives_ns", "buffer", "credits", "kind", "payload", "phase_done", "posted", "serial")

    def __init__(self, serial: int, kind: int) -> None:
        self.serial, self.kind = serial, kind
        self.payload = self.credits = 0
        self.buffer: tuple[Credits, Credits] | None = None  # at a router: its buffer and the sending peer's router credit
        self.phase_done = False
        self.posted: simpy.Event | None = None
        self.arrives_ns = -1


class Lnet:
    """The nodes of a group and what connects them."""

    def __init__(self, plan: Plan, env: simpy.Environment, *, lean: bool) -> None:
        self.plan, self.env, self._lean = plan, env, lean
        self._past = env.timeout(0)
        env.run(self._past)
        self.messages = 0
        first_server = plan.clients + plan.routers
        roles = [CLIENT] * plan.clients + [ROUTER] * plan.routers + [SERVER] * plan.servers
        self.nodes = [Node(self, number, role) for number, role in enumerate(roles)]
        clients = [Interface(self, plan.client_ni, plan.client_net, 1) for _ in range(plan.clients)]
        servers = [Interface(self, plan.server_ni, plan.server_net, plan.cpts) for _ in range(plan.servers)]
        for router in range(plan.clients, first_server):
            inner = Interface(self, plan.router_client_ni, plan.client_net, plan.cpts)
            outer = Interface(self, plan.router_server_ni, plan.server_net, plan.cpts)
            for client, interface in enumerate(clients):
                self._connect(client, interface, router, inner)
            for server, interface in enumerate(servers, first_server):
                self._connect(router, outer, server, interface)

    def credits(self, limit: int) -> Credits:
        return LeanCredits(self.env, limit, self._past) if self._lean else ResourceCredits(self.env, limit)

    def _connect(self, a: int, interface_a: Interface, b: int, interface_b: Interface) -> None:
        one, other = Entry(self, self.nodes[a], interface_a, b), Entry(self, self.nodes[b], interface_b, a)
        one.other, other.other = other, one
        self.nodes[a].entries[b], self.nodes[b].entries[a] = one, other
        for own, (node, remote) in ((one, (a, b)), (other, (b, a))):
            if self.nodes[node].role != ROUTER:
                own.seq = (remote - self.plan.clients - node) % self.plan.routers

    def travel(self, message: Message, source: int, target: int) -> Generator[simpy.Event, Any, Entry]:
        """Send from a client or server to the other end; return the entry there by which it came."""
        first = self.choose(self.nodes[source])
        return (yield from self.ride(message, first, self.post(message, first), target))

    def ride(self, message: Message, entry: Entry, place: simpy.Event, target: int) -> Generator[simpy.Event, Any, Entry]:
        """Both hops of a message whose credit at `entry` is asked for."""
        self.messages += 1
        yield from self._hop(message, entry, place)
        onward = entry.other.node.entries[target]
        yield from self._hop(message, onward, self.post(message, onward))
        return onward.other

    def choose(self, node: Node) -> Entry:
        """The next gateway (lnet_compare_routes)."""
        node.turn += 1
        if self.plan.balance:  # of equal ones the last
            best = min(reversed(node.entries.values()), key=lambda entry: (entry.queue_bytes, -entry.tx.now, entry.seq))
        else:
            best = min(node.entries.values(), key=lambda entry: entry.seq)
        best.seq = node.turn
        return best

    def post(self, message: Message, entry: Entry) -> simpy.Event:
        entry.queue_bytes += message.payload + HEADER_BYTES
        return entry.tx.take()

    def _hop(self, message: Message, entry: Entry, place: simpy.Event) -> Steps:
        """From one node into the next one's hands: at a router with its buffer."""
        net, other = entry.interface.net, entry.other
        buffer, message.buffer = message.buffer, None
        yield place
        queue = entry.interface.queues[entry.cpt]
        yield queue.take()
        message.phase_done = False
        if net.handshake and message.payload > PAGE_BYTES:
            yield from self._carry(message, entry, entry.interface.ni.post_ns, entry.sendq)
            if net.wire_credits:
                self._check_sends(entry)
            yield from self._receive(message, other)
            self._pack(message, other)
            yield self.env.timeout(net.wire_ns)
            message.phase_done = True
            entry.wire += message.credits
            message.credits = 0
            yield from self._carry(message, entry, entry.interface.ni.bulk_ns, entry.nocredq)
            self._completed(message, entry, queue, buffer)
            yield from self._receive(message, other)
            if net.wire_credits:
                self.repost(other)
        else:
            cost_ns = entry.interface.ni.bulk_ns if message.payload > PAGE_BYTES else entry.interface.ni.post_ns
            yield from self._carry(message, entry, cost_ns, entry.sendq)
            self._completed(message, entry, queue, buffer)
            yield from self._receive(message, other)
            is_request = other.node.role == SERVER and message.payload in (self.plan.ping_bytes, self.plan.request_bytes)
            if net.wire_credits and not is_request:
                self.repost(other)

    def _completed(self, message: Message, entry: Entry, queue: Credits, buffer: tuple[Credits, Credits] | None) -> None:
        """Return the credits in the kernel's order: NI, peer, buffer, peer router credit; then send what the window allows."""
        queue.give()
        entry.queue_bytes -= message.payload + HEADER_BYTES
        entry.tx.give()
        if buffer:
            for held in buffer:
                held.give()
        if entry.interface.net.wire_credits:
            self._check_sends(entry)

    def _receive(self, message: Message, entry: Entry) -> Steps:
        """The receive server of the NI; at a router then the router credit and a buffer."""
        interface = entry.interface
        serial = None
        if interface.ni.rx_ns:
            serial = interface.receiver.request()
            yield serial
            yield self.env.timeout(interface.ni.rx_ns)
        self._credited(message, entry)
        if entry.node.role != ROUTER or message.phase_done:
            if serial:
                interface.receiver.release(serial)
            return
        pool = entry.node.pools[entry.cpt][0 if not message.payload else 1 if message.payload <= PAGE_BYTES else 2]
        eager = interface.ni.eager_ns > 0 and (entry.rtr.now <= 0 or pool.now <= 0)
        place = entry.rtr.take()
        if serial and eager:
            held = serial
            self.after(interface.ni.eager_ns, lambda: interface.receiver.release(held))
        elif serial:
            interface.receiver.release(serial)
        yield place
        yield pool.take()
        message.buffer = pool, entry.rtr

    # The driver

    def _carry(self, message: Message, entry: Entry, cost_ns: int, queue: deque[Message]) -> Steps:
        """Through the window, the send service and over the wire."""
        interface = entry.interface
        message.posted = None
        if interface.net.wire_credits:
            message.arrives_ns = -1
            queue.append(message)
            self._check_sends(entry)
            if message.arrives_ns < 0:
                message.posted = self.env.event()
                yield message.posted
        else:
            self._transmit(message, interface, cost_ns)
        yield self.env.timeout(message.arrives_ns - self.env.now)
        if interface.net.wire_credits:
            entry.nsends -= 1

    def _transmit(self, message: Message, interface: Interface, cost_ns: int) -> None:
        interface.tx_free_ns = max(self.env.now, interface.tx_free_ns) + cost_ns
        message.arrives_ns = interface.tx_free_ns + interface.net.wire_ns
        if message.posted:
            message.posted.succeed()

    def _check_sends(self, entry: Entry) -> None:
        """Return credits by a NOOP where nothing carries them, then post what the window allows (kiblnd_check_sends)."""
        interface, net = entry.interface, entry.interface.net
        if entry.outstanding >= net.credits_highwater and self._need_noop(entry):
            entry.wire -= net.protocol == 1
            self.after(net.wire_ns, lambda count=entry.outstanding: self._noop(entry.other, count))
            entry.outstanding = 0
        while entry.nocredq and entry.nsends < net.concurrent_sends:
            entry.nsends += 1
            self._send_packed(entry.nocredq.popleft(), entry, interface.ni.bulk_ns)
        while entry.sendq and entry.nsends < net.concurrent_sends and entry.wire > (net.protocol == 1):
            message = entry.sendq.popleft()
            entry.wire -= 1
            entry.nsends += 1
            whole_bulk = message.payload > PAGE_BYTES and not net.handshake
            self._send_packed(message, entry, interface.ni.bulk_ns if whole_bulk else interface.ni.post_ns)

    def _need_noop(self, entry: Entry) -> bool:
        if entry.nocredq:
            return False
        if entry.interface.net.protocol == 2:
            return not entry.sendq or entry.wire == 0
        return entry.wire > 0 and (not entry.sendq or entry.wire == 1) and not (entry.wire == 1 and entry.outstanding == 0)

    def _send_packed(self, message: Message, entry: Entry, cost_ns: int) -> None:
        self._pack(message, entry)
        self._transmit(message, entry.interface, cost_ns)

    def _pack(self, message: Message, entry: Entry) -> None:
        message.credits, entry.outstanding = entry.outstanding, 0

    def _credited(self, message: Message, entry: Entry) -> None:
        if message.credits:
            entry.wire += message.credits
            message.credits = 0
            self._check_sends(entry)

    def _noop(self, entry: Entry, count: int) -> None:
        entry.wire += count
        entry.outstanding += entry.interface.net.protocol == 1
        self._check_sends(entry)

    def repost(self, entry: Entry) -> None:
        delay_ns = (0, self.plan.repost_router_ns, self.plan.repost_server_ns)[entry.node.role]
        if delay_ns:
            self.after(delay_ns, lambda: self._reposted(entry))
        else:
            self._reposted(entry)

    def _reposted(self, entry: Entry) -> None:
        entry.outstanding += 1
        self._check_sends(entry)

    def after(self, delay_ns: int, action: Callable[[], None]) -> None:
        self.env.timeout(delay_ns).callbacks.append(lambda _: action())
