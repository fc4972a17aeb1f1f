"""Sending, delivery and reception: LNet's credits and the drivers' windows, on clients, routers and servers alike."""

from abc import abstractmethod

from lnetstat.simulator.plan import PING, Plan

from .clock import Clock, Kind
from .world import Credits, Entry, Interface, Node, Rpc


class Lnet(Clock):
    """What every node does with a message."""

    def __init__(self, plan: Plan, *, trace: bool, debug: bool) -> None:
        super().__init__(plan, trace=trace, debug=debug)
        self.live: dict[int, Rpc] = {}  # RPCs under way, by serial number
        self.pings_by_router = [0] * plan.routers

    @abstractmethod
    def consume(self, m: Rpc, r: Entry) -> None:
        """A client or server has the whole message."""

    def send(self, m: Rpc, node: Node) -> None:
        """A client or server sends."""
        self.count(node, 1)
        to = m.client if node.role == "server" else m.server
        self.post_send(m, self.choose_gateway(node) if self.plan.routers else self.choose_rails(node, to))

    def count(self, node: Node, step: int) -> None:
        """Messages that the node knows of."""
        node.msgs += step
        node.msgs_max = max(node.msgs_max, node.msgs)

    def choose_gateway(self, node: Node) -> Entry:
        """lnet_compare_routes."""
        node.turn += 1
        best = node.entries[0]
        for entry in node.entries[1:]:
            if self.plan.balance:
                mine, others = (entry.queue_bytes, -entry.tx.now), (best.queue_bytes, -best.tx.now)
                better = mine < others or (mine == others and entry.seq <= best.seq)
            else:
                better = entry.seq < best.seq
            best = entry if better else best
        best.seq = node.turn
        return best

    def choose_rails(self, node: Node, to: Node) -> Entry:
        """The own NI first, then the other node's."""
        node.turn += 1
        entries = node.routes[to.number]
        queue = entries[0].cpt
        ni = min(node.nis, key=lambda ni: (-ni.health, -ni.queues[queue].now, ni.seq))
        ni.seq = node.turn
        entry = min((e for e in entries if e.ni is ni), key=lambda e: (-e.health, -e.tx.now, e.seq))
        entry.seq = node.turn
        return entry

    def post_send(self, m: Rpc, p: Entry) -> None:
        """lnet_post_send_locked: the peer's credit first."""
        m.tx, m.sending = p, True
        p.queue_bytes += m.size
        if p.tx.take(self.now, m):
            self.take_ni(m, p)

    def take_ni(self, m: Rpc, p: Entry) -> None:
        """…then the NI's."""
        if p.queue.take(self.now, m):
            self.lnd_send(m, p)

    def lnd_send(self, m: Rpc, p: Entry) -> None:
        """The driver gets the message."""
        m.phase = "REQ" if p.ni.net.handshake and m.bulk else "WHOLE"
        if p.connected:
            p.sendq.append(m)
            self.check_sends(p)
        else:
            self.transmit(m, p)

    def transmit(self, m: Rpc, p: Entry) -> None:
        """The serial send server of the NI, then the wire."""
        ni = p.ni
        service = ni.limits.bulk_ns if m.bulk and m.phase != "REQ" else ni.limits.post_ns
        ni.tx_free = max(self.now, ni.tx_free) + service
        ni.tx_busy += service
        self.schedule(ni.tx_free + ni.net.wire_ns, Kind.DELIVER, m)

    def check_sends(self, p: Entry) -> None:
        """kiblnd_check_sends."""
        net = p.ni.net
        reserve = 1 if net.protocol == 1 else 0
        if p.outstanding >= net.credits_highwater and not p.nocredq and self.noop_may_go(p):
            p.wire -= reserve
            self.schedule(self.now + net.wire_ns, Kind.NOOP, p.other, p.outstanding)
            p.outstanding = 0
        while p.nocredq and p.nsends < net.concurrent_sends:
            self.post(p, p.nocredq.popleft())
        while p.sendq and p.nsends < net.concurrent_sends and p.wire > reserve:
            p.wire -= 1
            self.post(p, p.sendq.popleft())

    def noop_may_go(self, p: Entry) -> bool:
        """kiblnd_need_noop, the half that depends on the protocol."""
        if p.ni.net.protocol == 2:
            return not p.sendq or p.wire == 0
        return p.wire > 0 and (not p.sendq or p.wire == 1) and not (p.wire == 1 and p.outstanding == 0)

    def post(self, p: Entry, m: Rpc) -> None:
        """Post one send, with all credits that wait to go back."""
        p.nsends += 1
        self.pack(p, m)
        self.transmit(m, p)

    def pack(self, p: Entry, m: Rpc) -> None:
        """kiblnd_pack_msg."""
        m.credits, p.outstanding = p.outstanding, 0

    def on_deliver(self, m: Rpc) -> None:
        """The message is in the other node's memory, and its sender knows."""
        p = m.tx
        assert p is not None
        if not p.up:
            self.failed(m, p)
            return
        if p.connected:
            p.nsends -= 1
        if m.phase != "REQ":
            self.completed(m, p)
        if p.connected:
            self.check_sends(p)
        ni, r = p.remote, p.other
        if ni.limits.rx_ns == 0:
            self.received(m, r)
            return
        ni.rxq.append((m, r))
        if not ni.receiving:
            self.start_receive(ni)

    def start_receive(self, ni: Interface) -> None:
        """The serial receive server takes the next."""
        ni.receiving = True
        ni.rx_busy += ni.limits.rx_ns
        self.schedule(max(self.now, ni.rx_free) + ni.limits.rx_ns, Kind.RECEIVED, ni)

    def on_received(self, ni: Interface) -> None:
        """One message went through the receive server."""
        m, r = ni.rxq.popleft()
        ni.receiving = False
        extra = self.received(m, r)
        ni.rx_free = self.now + extra
        ni.rx_busy += extra
        if ni.rxq:
            self.start_receive(ni)

    def completed(self, m: Rpc, p: Entry, lost: bool = False) -> None:
        """lnet_return_tx_credits_locked, then lnet_return_rx_credits_locked."""
        node = p.node
        kind = "drop" if lost else "route" if node.role == "router" else "send"
        setattr(node, kind + "_count", getattr(node, kind + "_count") + 1)
        setattr(node, kind + "_length", getattr(node, kind + "_length") + m.payload)
        self.count(node, -1)
        m.sending = False
        if not lost:
            m.retries = 0
        if first := p.queue.give(self.now):
            self.lnd_send(first, first.tx)
        p.queue_bytes -= m.size
        if first := p.tx.give(self.now):
            self.take_ni(first, p)
        if node.role == "router":
            pool, rx = m.pool, m.rx
            assert pool is not None
            assert rx is not None
            m.pool = m.rx = None
            if first := pool.give(self.now):
                self.granted(first, pool)
            if first := rx.rtr.give(self.now):
                self.take_buffer(first)

    def failed(self, m: Rpc, p: Entry) -> None:
        """The message was lost: its credits come back, the NI or the path loses health, the message is tried again."""
        if p.connected:
            p.nsends -= 1
            p.wire += 1
            p.outstanding += m.credits
            m.credits = 0
        self.completed(m, p, lost=True)
        if p.connected:
            self.check_sends(p)
        blamed = p if p.ni.up else p.ni
        blamed.health = max(0, blamed.health - self.plan.health.sensitivity)
        if not blamed.recovering:
            blamed.recovering, blamed.rounds = True, 0
            kind = Kind.RECOVER_ENTRY if p.ni.up else Kind.RECOVER_NI
            self.schedule(self.now + self.plan.health.recovery_ns, kind, blamed)
        self.schedule(self.now + self.plan.health.detect_ns, Kind.RETRY, m)

    def received(self, m: Rpc, r: Entry) -> int:
        """The message is in; return what the receive server is held up by it."""
        node = r.node
        if r.connected and m.credits:
            r.wire += m.credits
            m.credits = 0
            self.check_sends(r)
        if m.phase == "DONE":
            if r.connected:
                self.repost(r)
            if node.role == "router":
                node.copying -= 1
                self.forward(m, node)
            else:
                self.consume(m, r)
        elif node.role == "router":
            return self.route(m, r)
        elif m.phase == "REQ":
            self.send_ack(m, r)
        else:
            if r.connected and not (node.role == "server" and m.stage == "REQUEST"):
                self.repost(r)  # a request's receive is posted again when it got a request buffer
            self.consume(m, r)
        return 0

    def pool_of(self, m: Rpc, r: Entry) -> Credits:
        """lnet_msg2bufpool."""
        return r.node.pools[r.cpt][2 if m.bulk else 1 if m.payload else 0]

    def route(self, m: Rpc, r: Entry) -> int:
        """lnet_parse_forward_locked, then lnet_post_routed_recv_locked."""
        self.count(r.node, 1)
        if m.kind == PING and m.stage == "REQUEST":
            self.pings_by_router[r.node.number - self.plan.clients] += 1
        m.rx = r
        short = r.rtr.now <= 0 or self.pool_of(m, r).now <= 0
        extra = r.ni.limits.eager_ns if short and r.ni.limits.eager_ns >= 0 else 0
        if r.rtr.take(self.now, m):
            self.take_buffer(m)
        return extra

    def take_buffer(self, m: Rpc) -> None:
        """The message has its rtr credit and wants a buffer."""
        assert m.rx is not None
        pool = self.pool_of(m, m.rx)
        if pool.take(self.now, m):
            self.granted(m, pool)

    def granted(self, m: Rpc, pool: Credits) -> None:
        """The message has its buffer."""
        r = m.rx
        assert r is not None
        m.pool = pool
        if m.phase == "REQ":
            r.node.copying += 1
            self.send_ack(m, r)
            return
        if r.connected:
            self.repost(r)
        self.forward(m, r.node)

    def forward(self, m: Rpc, node: Node) -> None:
        """A router sends towards the server or the client."""
        to = m.server if m.stage in ("REQUEST", "WRITE_DATA", "READ_ACK") else m.client
        self.post_send(m, node.routes[to.number][0])

    def send_ack(self, m: Rpc, r: Entry) -> None:
        """PUT_ACK: the sender may send the data."""
        if r.connected:
            self.pack(r, m)
        self.schedule(self.now + r.ni.net.wire_ns, Kind.ACK, m)

    def on_ack(self, m: Rpc) -> None:
        """The sender got the PUT_ACK: the data and PUT_DONE go."""
        p = m.tx
        assert p is not None
        m.phase = "DONE"
        if not p.connected:
            self.transmit(m, p)
            return
        p.wire += m.credits
        m.credits = 0
        p.nocredq.append(m)
        self.check_sends(p)

    def on_noop(self, r: Entry, n: int) -> None:
        """Credits came back alone. Protocol 1: the credit that the NOOP took can go back at once (kiblnd_handle_rx)."""
        r.wire += n
        if r.ni.net.protocol == 1:
            r.outstanding += 1
        self.check_sends(r)

    def repost(self, r: Entry) -> None:
        """The receive is posted again; after a while its credit can go back."""
        delay = {"router": self.plan.repost_router_ns, "server": self.plan.repost_server_ns, "client": 0}[r.node.role]
        if delay:
            self.schedule(self.now + delay, Kind.REPOST, r)
        else:
            self.on_repost(r)

    def on_repost(self, r: Entry) -> None:
        """One more credit can go back."""
        r.outstanding += 1
        self.check_sends(r)
