"""What can be seen of a simulated group: columns as LNet's own files have them, and the ground truth that no file shows."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.simulator.kernel.build import Places
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.plan import Plan

Array = npt.NDArray[np.int64]
SHORTAGE = ("remote_node", "wanted_peak", "short_ns", "waits", "wait_ns")


class PeersView(NamedTuple):
    """Peer entries in their order: a router's clients, then its servers. Arrays of one length; refs = 1 + what either credit is out for."""

    remote_node: Array
    remote_rail: Array
    refs: Array
    rtr_max: Array
    rtr: Array
    rtr_min: Array
    tx_max: Array
    tx: Array
    tx_min: Array
    queue_bytes: Array
    health: Array


class NisView(NamedTuple):
    """One element per NI and CPT: own NIs in order, CPTs inside."""

    ni: Array
    cpt: Array
    up: Array
    refs: Array
    peer_credits: Array
    peer_buffer_credits: Array
    tx_max: Array
    tx: Array
    tx_min: Array
    health: Array


class BuffersView(NamedTuple):
    """One element per CPT and pool (0 tiny, 1 small, 2 large)."""

    cpt: Array
    pool: Array
    count: Array  # type: ignore[assignment]  # tuple.count gives way
    credits: Array
    credits_min: Array


class NodeCounts(NamedTuple):
    """LNet's counters of a node, and for how long its send and receive servers were busy (sums over its NIs)."""

    msgs: int
    msgs_max: int
    send_count: int
    recv_count: int
    route_count: int
    drop_count: int
    send_length: int
    recv_length: int
    route_length: int
    drop_length: int
    tx_busy_ns: int
    rx_busy_ns: int


class Counter(NamedTuple):
    """A counter of a service's statistics; min and max are 0 without samples."""

    samples: int
    min: int
    max: int
    sum: int
    sumsq: int


class ServiceView(NamedTuple):
    """One service: req_waittime and ops in microseconds, the others in requests and buffers."""

    name: str
    req_waittime: Counter
    req_qdepth: Counter
    req_active: Counter
    reqbuf_avail: Counter
    ops: dict[str, Counter]
    threads_busy: int
    queued: int
    portal_queued: int


ServicesView = tuple[ServiceView, ServiceView]


class Watched(NamedTuple):
    """Entries of one node to routers and servers: where they lie, and the nodes at the other end."""

    node: int
    addresses: Array
    remotes: Array


class Truth(NamedTuple):
    """What happened. Arrays by (server, bin): bytes through the disk and pings served; entries, pools, ni_queues: see _shortages."""

    bin_ns: int
    bytes: Array
    pings: Array
    done: Array
    pings_sent: Array
    pings_by_router: Array
    entries: list[dict[str, int]]
    pools: list[dict[str, int]]
    ni_queues: list[dict[str, int]]
    disk_busy_ns: Array


def peers_view(m: Array, places: Places, plan: Plan, node: int) -> PeersView:
    """Columns of `peers`."""
    rows = entries_of(m, places, plan, node)
    other = m[rows[:, OTHER] + NI_OF]
    tx_max, rtr_max = m[rows[:, NI_OF] + NI_PEER_CREDITS], m[rows[:, NI_OF] + NI_PEER_BUFFER_CREDITS]
    connection = rows[:, CONNECTION_OF]
    return PeersView(
        remote_node=m[m[other + NI_NODE] + NODE_INDEX],
        remote_rail=(other - m[m[other + NI_NODE] + FIRST_NI]) // NI,
        refs=1 + (tx_max - rows[:, TX]) + (rtr_max - rows[:, RTR]),
        rtr_max=rtr_max,
        rtr=rows[:, RTR].copy(),
        rtr_min=rows[:, RTR_MIN].copy(),
        tx_max=tx_max,
        tx=rows[:, TX].copy(),
        tx_min=rows[:, TX_MIN].copy(),
        queue_bytes=rows[:, QUEUE_BYTES].copy(),
        health=np.where(connection > 0, m[connection + ENTRY_HEALTH], HEALTH_MAX),
    )


def entries_of(m: Array, places: Places, plan: Plan, node: int) -> Array:
    """The entries of a node as rows."""
    begin = int(m[places.nodes + node * NODE + ENTRIES])
    last = node + 1 == plan.clients + plan.routers + plan.servers
    end = _end_of_entries(places, m, plan) if last else int(m[places.nodes + (node + 1) * NODE + ENTRIES])
    return m[begin:end].reshape(-1, ENTRY)


def _end_of_entries(places: Places, m: Array, plan: Plan) -> int:
    per_server = plan.routers if plan.routers else plan.clients * plan.rails * plan.rails
    return int(m[places.nodes + (plan.clients + plan.routers + plan.servers - 1) * NODE + ENTRIES]) + per_server * ENTRY


def nis_of(m: Array, places: Places, plan: Plan, node: int) -> list[int]:
    """Addresses of a node's NIs."""
    at = places.nodes + node * NODE
    count = 2 if m[at + NODE_ROLE] == ROUTER else plan.rails
    return [int(m[at + FIRST_NI]) + i * NI for i in range(count)]


def nis_view(m: Array, places: Places, plan: Plan, node: int) -> NisView:
    """Columns of `nis`; refs count the NI's peers, as each keeps a reference, split over CPTs by the first."""
    cpts = 1 if node < plan.clients else plan.cpts
    router = m[places.nodes + node * NODE + NODE_ROLE] == ROUTER
    kinds = (
        [plan.router_client_ni, plan.router_server_ni]
        if router
        else [plan.client_ni if node < plan.clients else plan.server_ni] * plan.rails
    )
    entries = entries_of(m, places, plan, node)
    rows = []
    for number, ni in enumerate(nis_of(m, places, plan, node)):
        for cpt in range(cpts):
            queue = int(m[ni + NI_QUEUE]) + cpt * QUEUE
            out = int(m[queue + CREDITS_MAX] - m[queue + CREDITS])
            refs = 1 + int(np.count_nonzero(entries[:, NI_QUEUE_OF] == queue)) + max(out, 0)
            state = (int(m[ni + UP]), refs, kinds[number].peer_credits, kinds[number].peer_buffer_credits)
            credits_left = (int(m[queue + CREDITS_MAX]), int(m[queue + CREDITS]), int(m[queue + CREDITS_MIN]))
            rows.append((number, cpt, *state, *credits_left, int(m[ni + HEALTH])))
    return NisView(*np.array(rows, dtype=np.int64).T)


def buffers_view(m: Array, places: Places, plan: Plan, router_node: int) -> BuffersView:
    """Columns of `buffers`."""
    first = int(m[places.nodes + router_node * NODE + POOLS])
    rows = m[first : first + plan.cpts * 3 * QUEUE].reshape(-1, QUEUE)
    number = np.arange(len(rows))
    return BuffersView(number // 3, number % 3, rows[:, CREDITS_MAX].copy(), rows[:, CREDITS].copy(), rows[:, CREDITS_MIN].copy())


def node_counts(m: Array, places: Places, plan: Plan, node: int) -> NodeCounts:
    """What LNet counts on a node."""
    at = places.nodes + node * NODE
    nis = nis_of(m, places, plan, node)
    fields = [MSGS, MSGS_MAX, SEND_COUNT, RECV_COUNT, ROUTE_COUNT, DROP_COUNT, SEND_LENGTH, RECV_LENGTH, ROUTE_LENGTH, DROP_LENGTH]
    busy = [sum(int(m[ni + field]) for ni in nis) for field in (TX_BUSY, RX_BUSY)]
    return NodeCounts(*(int(m[at + field]) for field in fields), *busy)


def services_view(m: Array, places: Places, plan: Plan, server_node: int) -> ServicesView:
    """Statistics of ost and ost_io."""
    first = int(m[places.nodes + server_node * NODE + SERVICES])
    names: tuple[tuple[str, dict[str, int]], ...] = (
        ("ost", {"obd_ping": PING, "small": SMALL}),
        ("ost_io", {"ost_write": WRITE, "ost_read": READ}),
    )
    views = []
    for number, (name, kinds) in enumerate(names):
        at = first + number * SERVICE
        ops = {op: _counter(m, at + C_OPS + kind * COUNTER) for op, kind in kinds.items()}
        wait, depth, active, buffers = (_counter(m, at + field) for field in (C_WAITTIME, C_QDEPTH, C_ACTIVE, C_BUFS))
        busy, queued, portal_queued = (int(m[at + field]) for field in (THREADS_BUSY, WORK_COUNT, PORTAL_COUNT))
        views.append(ServiceView(name, wait, depth, active, buffers, ops, busy, queued, portal_queued))
    return views[0], views[1]


def _counter(m: Array, at: int) -> Counter:
    return Counter(*(int(value) for value in m[at : at + COUNTER]))


def rpcs_done(m: Array, places: Places, plan: Plan) -> Array:
    """How many RPCs each process has finished."""
    processes = m[places.processes : places.processes + len(plan.processes) * PROCESS].reshape(-1, PROCESS)
    return processes[:, P_DONE].copy()


def truth_of(m: Array, places: Places, plan: Plan, watched: list[Watched]) -> Truth:
    """What really happened so far; `watched` of `watched_entries`."""
    bins, servers = places.bins, plan.servers
    bulk = m[places.bulk_bins : places.bulk_bins + servers * bins].reshape(servers, bins)
    pings = m[places.ping_bins : places.ping_bins + servers * bins].reshape(servers, bins)
    first = plan.clients + plan.routers
    return Truth(
        bin_ns=plan.bin_ns,
        bytes=bulk * plan.bulk_bytes,
        pings=pings.copy(),
        done=rpcs_done(m, places, plan),
        pings_sent=m[places.pings_sent : places.pings_sent + servers].copy(),
        pings_by_router=m[places.pings_routed : places.pings_routed + plan.routers].copy(),
        entries=_entry_shortages(m, watched),
        pools=_pool_shortages(m, places, plan),
        ni_queues=_ni_shortages(m, places, plan),
        disk_busy_ns=m[places.nodes + np.arange(first, first + servers) * NODE + DISK_BUSY],
    )


def _short_ns(m: Array, left: int, short_ns: int, since_ns: int) -> int:
    """Time below zero, the present shortage included."""
    return short_ns + (int(m[NOW]) - since_ns if left < 0 else 0)


def watched_entries(m: Array, places: Places, plan: Plan) -> list[Watched]:
    """Return the entries between routers and servers (without routers: all of servers). They stay where they are."""
    found = []
    for node in range(plan.clients, plan.clients + plan.routers + plan.servers):
        rows = entries_of(m, places, plan, node)
        begin = int(m[places.nodes + node * NODE + ENTRIES])
        remotes = m[m[m[rows[:, OTHER] + NI_OF] + NI_NODE] + NODE_INDEX]
        chosen = remotes >= (plan.clients if plan.routers else 0)  # a router has an entry for every client
        found.append(Watched(node, begin + np.flatnonzero(chosen) * ENTRY, remotes[chosen]))
    return found


def _entry_shortages(m: Array, watched: list[Watched]) -> list[dict[str, int]]:
    """Entries between routers and servers: most credits wanted at once, time short of them, how many messages waited, how long."""
    found = []
    for node, entries, remotes in watched:
        connections = m[entries + CONNECTION_OF]
        wanted = m[m[entries + NI_OF] + NI_PEER_CREDITS] - m[entries + TX_MIN]
        present = np.where(m[entries + TX] < 0, m[NOW] - m[connections + ENTRY_SHORT_SINCE], 0)
        short = m[connections + ENTRY_SHORT] + present
        rows = np.stack([remotes, wanted, short, m[connections + ENTRY_WAITS], m[connections + ENTRY_WAIT]], axis=1).tolist()
        found += [{"node": node, **dict(zip(SHORTAGE, row, strict=True))} for row in rows]
    return found


def _queue_shortage(m: Array, row: Array) -> dict[str, int]:
    return {
        "wanted_peak": int(row[CREDITS_MAX] - row[CREDITS_MIN]),
        "short_ns": _short_ns(m, int(row[CREDITS]), int(row[SHORT]), int(row[SHORT_SINCE])),
        "waits": int(row[WAITS]),
        "wait_ns": int(row[WAIT]),
    }


def _pool_shortages(m: Array, places: Places, plan: Plan) -> list[dict[str, int]]:
    rows = m[places.pools : places.pools + plan.routers * plan.cpts * 3 * QUEUE].reshape(-1, QUEUE)
    per_router = plan.cpts * 3
    return [
        {"node": plan.clients + i // per_router, "cpt": i % per_router // 3, "pool": i % 3, **_queue_shortage(m, row)}
        for i, row in enumerate(rows)
    ]


def _ni_shortages(m: Array, places: Places, plan: Plan) -> list[dict[str, int]]:
    """NI queues of routers and servers."""
    found: list[dict[str, Any]] = []
    for node in range(plan.clients, plan.clients + plan.routers + plan.servers):
        for number, ni in enumerate(nis_of(m, places, plan, node)):
            for cpt in range(plan.cpts):
                queue = int(m[ni + NI_QUEUE]) + cpt * QUEUE
                found.append({"node": node, "ni": number, "cpt": cpt, **_queue_shortage(m, m[queue : queue + QUEUE])})
    return found
