"""The things of one group as plain objects: nodes, interfaces, entries, pools, services, RPCs. No behaviour but waiting in line."""

from collections import deque
from typing import Any

from lnetstat.simulator.plan import Net, Ni, Plan, Process, Service

HEALTHY = 1000
HEADER_BYTES = 72
PAGE_BYTES = 4096


class Line:
    """A FIFO that knows how long everybody waited: the integral of its length over time, and the sum of the waits."""

    def __init__(self) -> None:
        self.items: deque[tuple[int, Any]] = deque()
        self.changed_ns = 0
        self.integral = 0  # ns times messages
        self.busy_ns = 0  # time with somebody in it
        self.waits = 0
        self.wait_ns = 0  # of those who left
        self.longest = 0

    def __len__(self) -> int:
        return len(self.items)

    def account(self, now: int) -> None:
        """Bring the integrals up to `now`."""
        passed = now - self.changed_ns
        self.integral += passed * len(self.items)
        self.busy_ns += passed if self.items else 0
        self.changed_ns = now

    def append(self, now: int, what: Any) -> None:
        """Let `what` wait from now on."""
        self.account(now)
        self.items.append((now, what))
        self.waits += 1
        self.longest = max(self.longest, len(self.items))

    def pop(self, now: int) -> Any:
        """Take who waited longest."""
        self.account(now)
        since, what = self.items.popleft()
        self.wait_ns += now - since
        return what

    def waiting_ns(self, now: int) -> int:
        """Sum of the waits so far of those who still stand here."""
        return sum(now - since for since, _ in self.items)

    def who(self) -> list[Any]:
        """Who waits, in order."""
        return [what for _, what in self.items]


class Credits:
    """A signed counter that starts at its limit, its low-water mark, and the line of those who made it negative."""

    def __init__(self, limit: int) -> None:
        self.limit = self.now = self.low = limit
        self.line = Line()

    def take(self, now: int, what: Any) -> bool:
        """Take one; False: none was left and `what` waits."""
        self.now -= 1
        self.low = min(self.low, self.now)
        if self.now < 0:
            self.line.append(now, what)
            return False
        return True

    def give(self, now: int) -> Any:
        """Give one back; return who gets it at once, or None."""
        self.now += 1
        return self.line.pop(now) if self.now <= 0 else None


class Interface:
    """One NI with its two serial servers."""

    def __init__(self, number: int, node: "Node", limits: Ni, net: Net, cpts: int) -> None:
        self.number, self.node, self.limits, self.net = number, node, limits, net
        self.queues = [Credits(limits.credits) for _ in range(cpts)]
        self.tx_free = self.tx_busy = self.rx_free = self.rx_busy = 0
        self.receiving = False
        self.rxq: deque[tuple[Rpc, Entry]] = deque()
        self.up = True
        self.health = HEALTHY
        self.seq = self.rounds = 0
        self.recovering = False


class Entry:
    """What one node keeps for one NI of another; on o2ib also this end of the connection. `other`: the entry of the other end."""

    other: "Entry"

    def __init__(self, ni: Interface, remote: Interface, cpt: int) -> None:
        self.ni, self.remote, self.cpt = ni, remote, cpt
        self.tx = Credits(ni.limits.peer_credits)
        self.rtr = Credits(ni.limits.peer_buffer_credits)
        self.queue_bytes = self.seq = 0
        self.wire = ni.net.wire_credits
        self.outstanding = self.nsends = 0
        self.sendq: deque[Rpc] = deque()
        self.nocredq: deque[Rpc] = deque()
        self.health = HEALTHY
        self.rounds = 0
        self.recovering = False
        self.cut = False  # the path between its two NIs

    @property
    def up(self) -> bool:
        """Whether a message gets through."""
        return not self.cut and self.ni.up and self.remote.up

    @property
    def node(self) -> "Node":
        """Whose entry it is."""
        return self.ni.node

    @property
    def queue(self) -> Credits:
        """The NI queue of its CPT."""
        return self.ni.queues[self.cpt]

    @property
    def connected(self) -> bool:
        """True where the driver has a window of its own."""
        return self.ni.net.wire_credits > 0


class Station:
    """A ptlrpc service: request buffers, the portal's line before them, threads and the line before these."""

    def __init__(self, limits: Service) -> None:
        self.limits = limits
        self.buffers = limits.buffers
        self.used = self.busy = self.started = 0
        self.portal = Line()
        self.queue = Line()


class Node:
    """A client, router or server. `routes`: entries by the number of the remote node."""

    def __init__(self, number: int, role: str) -> None:
        self.number, self.role = number, role
        self.nis: list[Interface] = []
        self.entries: list[Entry] = []
        self.routes: dict[int, list[Entry]] = {}
        self.pools: list[list[Credits]] = []
        self.stations: tuple[Station, Station] | None = None
        self.disk_free = 0
        self.copying = 0  # of a router: messages that have a buffer while their data are still under way from the other end
        self.turn = self.msgs = self.msgs_max = 0
        self.send_count = self.recv_count = self.route_count = self.drop_count = 0
        self.send_length = self.recv_length = self.route_length = self.drop_length = 0


class Rpc:
    """One RPC, which is one message at a time."""

    def __init__(self, serial: int, kind: int, client: Node, server: Node, payload: int) -> None:
        self.serial, self.kind, self.client, self.server, self.payload = serial, kind, client, server, payload
        self.stage = "REQUEST"
        self.phase = "WHOLE"
        self.credits = self.retries = self.arrived = 0
        self.tx: Entry | None = None  # the entry it is or was last sent by…
        self.sending = False  # …and whether it holds or awaits that entry's credit
        self.rx: Entry | None = None  # came in by this entry; at a router also: holds or awaits its rtr credit
        self.pool: Credits | None = None  # holds a buffer of it
        self.process: Job | None = None
        self.stripe = 0

    @property
    def bulk(self) -> bool:
        """True above one page."""
        return self.payload > PAGE_BYTES

    @property
    def size(self) -> int:
        """What it counts in queue_bytes."""
        return self.payload + HEADER_BYTES


class Job:
    """One I/O process."""

    def __init__(self, index: int, plan: Process) -> None:
        self.index, self.plan = index, plan
        self.issued = self.done = 0

    @property
    def more(self) -> bool:
        """True while it has RPCs left."""
        return self.plan.total == 0 or self.issued < self.plan.total


class World:
    """All objects of a plan, wired. `nodes` and `nis` are numbered as docs/simulator-model.md says."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes: list[Node] = []
        self.nis: list[Interface] = []
        roles = ["client"] * plan.clients + ["router"] * plan.routers + ["server"] * plan.servers
        for number, role in enumerate(roles):
            self.nodes.append(self.build_node(number, role))
        self.clients = self.nodes[: plan.clients]
        self.routers = self.nodes[plan.clients : plan.clients + plan.routers]
        self.servers = self.nodes[plan.clients + plan.routers :]
        self.connect()

    def build_node(self, number: int, role: str) -> Node:
        """Make one node with its NIs, pools and services."""
        plan = self.plan
        node = Node(number, role)
        if role == "client":
            sides = [(plan.client_ni, plan.client_net)] * plan.rails
        elif role == "router":
            sides = [(plan.router_client_ni, plan.client_net), (plan.router_server_ni, plan.server_net)]
            node.pools = [[Credits(count) for count in plan.router_buffers] for _ in range(plan.cpts)]
        else:
            sides = [(plan.server_ni, plan.server_net if plan.routers else plan.client_net)] * plan.rails
            node.stations = (Station(plan.ost), Station(plan.ost_io))
        for limits, net in sides:
            node.nis.append(Interface(len(self.nis), node, limits, net, 1 if role == "client" else plan.cpts))
            self.nis.append(node.nis[-1])
        return node

    def connect(self) -> None:
        """Make every node's entries, in the order of the rules, then let both ends know each other."""
        if self.plan.routers:
            for client in self.clients:
                self.add_entries(client, client.nis, [[router.nis[0]] for router in self.routers])
            for router in self.routers:
                self.add_entries(router, router.nis[:1], [client.nis for client in self.clients])
                self.add_entries(router, router.nis[1:], [server.nis for server in self.servers])
            for server in self.servers:
                self.add_entries(server, server.nis, [[router.nis[1]] for router in self.routers])
        else:
            for client in self.clients:
                self.add_entries(client, client.nis, [server.nis for server in self.servers])
            for server in self.servers:
                self.add_entries(server, server.nis, [client.nis for client in self.clients])
        ends = {(entry.ni.number, entry.remote.number): entry for node in self.nodes for entry in node.entries}
        for (own, remote), entry in ends.items():
            entry.other = ends[remote, own]

    def add_entries(self, node: Node, own: list[Interface], remotes: list[list[Interface]]) -> None:
        """For each remote node (its NIs): one entry per own NI and remote NI."""
        for remote_nis in remotes:
            number = remote_nis[0].node.number
            cpt = 0 if node.role == "client" else number % self.plan.cpts
            made = [Entry(ni, remote, cpt) for ni in own for remote in remote_nis]
            node.entries += made
            node.routes[number] = made
            if self.plan.routers and node.role != "router":
                node.turn = self.plan.routers - 1
                made[0].seq = (number - self.plan.clients - node.number) % self.plan.routers
