"""What the files of one simulated node say: LNet's tables and service statistics, byte for byte in the words of a Lustre release.

The layouts are those of lnetstat.tables. Where the model has no number, what stands there is fixed: errors 0, hops as unset, the loopback
NI, a router that was last pinged up to a minute ago. Peer health ("up" rather than NA) is kept on o2ib and tcp; gni has it switched off.
With several rails `peers` shows a NID once for each own NI, since the model keeps credits for every pair; rows of NIDs behind routers,
which hold no credits, are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lnetstat.model import Parsed
from lnetstat.simulator.engine import Engine
from lnetstat.simulator.plan import Plan
from lnetstat.simulator.scenario.tunables import MODULES
from lnetstat.simulator.text.peers import PeersText
from lnetstat.simulator.text.releases import RELEASES
from lnetstat.simulator.text.services import service_text
from lnetstat.simulator.views import NisView
from lnetstat.tables import buffers, lnet_stats, nis, routers, routes, table_named, tunables

NS = 1_000_000_000
JIFFY_NS = 10_000_000
PAGES = (0, 1, 256)
WRAP = 2**32  # message counts are 32 bit
ROUTER_PING_S = 60  # live_router_check_interval
LOOPBACK = nis.NisRow("0@lo", 0, "up", 0, 2, 0, 0, 0, 0, 0)
BOOTED_S = 3600  # a node has been up for an hour when the simulation starts
Text = tuple[str, str]


class Clock(NamedTuple):
    """When a sample is taken: simulated time, the epoch time it stands for, and that of the start."""

    time_ns: int
    epoch_ns: int
    start_ns: int


class NodeText:
    """Renders one node of a group, sample after sample.

    `nids`: for each node of the group the NIDs of its NIs (a router: client side, server side). `release`: a key of RELEASES.
    """

    def __init__(self, plan: Plan, node: int, nids: Sequence[tuple[str, ...]], release: str, values: Mapping[str, str]) -> None:
        self._plan, self._node, self._nids = plan, node, nids
        self._release = RELEASES[release]
        self._tunables = values
        self._peers: PeersText | None = None
        self.is_router = plan.clients <= node < plan.clients + plan.routers
        self.is_server = node >= plan.clients + plan.routers

    def texts(self, engine: Engine, clock: Clock) -> Iterator[Text]:
        """Yield (name, text) of every file as it stands now: those of LNet, of services, and /proc/stat."""
        yield "stats", self._stats(engine)
        yield "buffers", self._buffers(engine)
        yield "nis", self._nis(engine)
        yield "routes", self._routes()
        yield "routers", self._routers(engine, clock)
        yield "peers", self._peers_text(engine, clock)
        if self.is_server:
            for service in engine.services(self._node):
                yield f"ost.OSS.{service.name}.stats", service_text(service, self._release.counters, clock.epoch_ns, clock.start_ns)
        yield "proc/stat", self._stat(engine, clock)

    def tunables(self) -> Iterator[Text]:
        """Yield (name, text) of the parameters: those that have a file of their own in a node, then the others together."""
        rows = []
        for name, value in self._tunables.items():
            row = tunables.TunablesRow(name, value)
            table = table_named(name)
            if table is not None and table.name == "tunables":
                yield name, tunables.render(Parsed((row,), tunables.BARE, {}, ()), tunables.BARE)
            else:
                rows.append(row)
        if rows:
            yield "tunables", tunables.render(Parsed(tuple(rows), tunables.LINES, {}, ()), tunables.LINES)

    def _peers_text(self, engine: Engine, clock: Clock) -> str:
        view = engine.peers(self._node)
        if self._peers is None:
            remotes = list(zip(view.remote_node.tolist(), view.remote_rail.tolist(), strict=True))
            nids = [self._nid(node, rail) for node, rail in remotes]
            health = [self._health_kept(node, nid) for (node, _), nid in zip(remotes, nids, strict=True)]
            states = ["up" if kept or self._is_router(node) else "NA" for kept, (node, _) in zip(health, remotes, strict=True)]
            lasts = np.array(health, bool) if self._release.last else None
            self._peers = PeersText(nids, states, self._release.peers, lasts)
        return self._peers.text(view, clock.time_ns)

    def _nid(self, node: int, rail: int) -> str:
        """Return the NID of a remote node's NI as this node reaches it: a router shows servers its server side."""
        if self._is_router(node):
            return self._nids[node][1 if self.is_server else 0]
        return self._nids[node][rail]

    def _is_router(self, node: int) -> bool:
        return self._plan.clients <= node < self._plan.clients + self._plan.routers

    def _health_kept(self, node: int, nid: str) -> bool:
        """Return whether this node tracks the aliveness of a peer (lnet_peer_aliveness_enabled)."""
        return (self.is_router or self._release.aliveness_everywhere) and not nid.endswith("gni")

    def _nis(self, engine: Engine) -> str:
        view = engine.nis(self._node)
        rows = [self._ni_row(view, row) for row in range(view.ni.size)]
        return nis.render(Parsed((LOOPBACK, *rows), nis.NINE.name, {}, ()), nis.NINE.name)

    def _ni_row(self, view: NisView, row: int) -> nis.NisRow:
        nid = self._nids[self._node][int(view.ni[row])]
        return nis.NisRow(
            nid,
            int(view.cpt[row]),
            "up" if view.up[row] else "down",
            0 if self.is_router else -1,
            int(view.refs[row]),
            int(view.peer_credits[row]),
            self._buffer_credits_as_set(nid),
            int(view.tx_max[row]),
            int(view.tx[row]),
            int(view.tx_min[row]),
        )

    def _buffer_credits_as_set(self, nid: str) -> int:
        """Return the driver's peer_buffer_credits, which `nis` prints as they were set: 0 where they were not."""
        driver = nid.partition("@")[2].rstrip("0123456789")
        return int(self._tunables.get(f"{MODULES[driver]}.peer_buffer_credits", 0))

    def _buffers(self, engine: Engine) -> str:
        rows: list[buffers.BuffersRow] = []
        if self.is_router:
            view = engine.buffers(self._node)
            order = sorted(range(view.pool.size), key=lambda at: (int(view.pool[at]), int(view.cpt[at])))
            for at in order:
                pool, cpt = int(view.pool[at]), int(view.cpt[at])
                numbers = int(view.count[at]), int(view.credits[at]), int(view.credits_min[at])
                rows.append(buffers.BuffersRow(buffers.POOLS[pool], cpt, PAGES[pool], *numbers))
        elif self._release.pools_everywhere:
            rows = [buffers.BuffersRow(pool, 0, pages, 0, 0, 0) for pool, pages in zip(buffers.POOLS, PAGES, strict=True)]
        return buffers.render(Parsed(tuple(rows), buffers.LAYOUT.name, {}, ()), buffers.LAYOUT.name)

    def _stats(self, engine: Engine) -> str:
        counts = engine.node_counts(self._node)
        row = lnet_stats.LnetStatsRow(
            counts.msgs,
            counts.msgs_max,
            0,
            counts.send_count % WRAP,
            counts.recv_count % WRAP,
            counts.route_count % WRAP,
            counts.drop_count % WRAP,
            counts.send_length,
            counts.recv_length,
            counts.route_length,
            counts.drop_length,
        )
        return lnet_stats.render(Parsed((row,), lnet_stats.LAYOUT, {}, ()), lnet_stats.LAYOUT)

    def _routes(self) -> str:
        rows: list[routes.RoutesRow] = []
        if not self.is_router:
            far_side = 0 if self.is_server else 1
            for gateway in self._gateways():
                net = self._nids[gateway][far_side].partition("@")[2]
                rows.append(routes.RoutesRow(net, self._nids[gateway][1 - far_side], 0, self._release.hops, 0, "up"))
        facts = {"routing": "enabled" if self.is_router else "disabled"}
        return routes.render(Parsed(tuple(rows), self._release.routes, facts, ()), self._release.routes)

    def _routers(self, engine: Engine, clock: Clock) -> str:
        rows: list[routers.RoutersRow] = []
        if not self.is_router and self._plan.routers:
            view = engine.peers(self._node)
            refs = dict(zip(view.remote_node.tolist(), view.refs.tolist(), strict=True))
            near_side = 1 if self.is_server else 0
            last_ping_s = clock.time_ns // NS % ROUTER_PING_S
            for gateway in self._gateways():
                nid = self._nids[gateway][near_side]
                rows.append(routers.RoutersRow(nid, refs.get(gateway, 1), 1, 1, "up", last_ping_s, 1, None, 0))
        return routers.render(Parsed(tuple(rows), self._release.routers, {}, ()), self._release.routers)

    def _gateways(self) -> range:
        return range(self._plan.clients, self._plan.clients + self._plan.routers)

    def _stat(self, engine: Engine, clock: Clock) -> str:
        """Return /proc/stat of a node with two CPUs for each NI: what its send and receive servers work is system time."""
        counts = engine.node_counts(self._node)
        cpus = 2 * len(self._nids[self._node])
        up = BOOTED_S * NS + clock.time_ns
        busy = (counts.tx_busy_ns + counts.rx_busy_ns) // JIFFY_NS
        idle = max(0, cpus * up // JIFFY_NS - busy)
        lines = [_cpu_line("cpu ", busy, idle)]
        lines += [_cpu_line(f"cpu{cpu}", _part(busy, cpu, cpus), _part(idle, cpu, cpus)) for cpu in range(cpus)]
        return "".join(lines) + f"btime {clock.start_ns // NS - BOOTED_S}\n"


def _cpu_line(name: str, system: int, idle: int) -> str:
    return f"{name} 0 0 {system} {idle} 0 0 0 0 0 0\n"


def _part(total: int, number: int, parts: int) -> int:
    """Return the share of part `number` when a total is dealt out evenly."""
    return (total + parts - 1 - number) // parts
