"""Lay out the memory of a group: every object of its plan, at rest."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.plan import Net, Ni, Plan, Service

Array = npt.NDArray[np.int64]


class Places(NamedTuple):
    """Where the objects of each kind begin in the memory."""

    nodes: int
    nis: int
    queues: int
    entries: int
    connections: int
    pools: int
    services: int
    processes: int
    faults: int
    ping_bins: int
    bulk_bins: int
    pings_sent: int
    pings_routed: int
    import_next: int
    import_last: int
    bins: int
    messages: int  # the first message


class _Memory:
    """A growing memory: `reserve` gives out the next stretch."""

    def __init__(self) -> None:
        self.size = AFTER_RINGS

    def reserve(self, words: int) -> int:
        """Give out `words` words from the next cache line on."""
        at = (self.size + LINE - 1) // LINE * LINE
        self.size = at + words
        return at


def aligned(words: int) -> Array:
    """Zeros that begin at a cache line."""
    whole = np.zeros(words + LINE, dtype=np.int64)
    skip = -(whole.ctypes.data // 8) % LINE
    return whole[skip : skip + words]


def build(plan: Plan, messages: int) -> tuple[Array, Places]:
    """Make the memory of a plan, with room for `messages` messages; beginning.py adds the first events."""
    memory = _Memory()
    clients, routers, servers = plan.clients, plan.routers, plan.servers
    k = plan.rails
    per_server = routers if routers else clients * k * k
    per_client = routers if routers else servers * k * k
    entry_count = clients * per_client + routers * (clients + servers) + servers * per_server
    ni_count = clients * k + 2 * routers + servers * k
    queue_count = clients * k + (2 * routers + servers * k) * plan.cpts
    bins = plan.end_ns // plan.bin_ns + 1
    imports = plan.targets * plan.pings.mounts
    ring_sizes = _ring_sizes(clients, messages)
    rings = [memory.reserve(size * EVENT) for size in ring_sizes]
    jitter = memory.reserve(len(plan.service_jitter)), memory.reserve(len(plan.disk_jitter))
    places = Places(
        nodes=memory.reserve((clients + routers + servers) * NODE),
        nis=memory.reserve(ni_count * NI),
        queues=memory.reserve(queue_count * QUEUE),
        entries=memory.reserve(entry_count * ENTRY),
        connections=memory.reserve(_connection_count(plan, entry_count, clients * per_client) * CONNECTION),
        pools=memory.reserve(routers * plan.cpts * 3 * QUEUE),
        services=memory.reserve(servers * 2 * SERVICE),
        processes=memory.reserve(len(plan.processes) * PROCESS),
        faults=memory.reserve(len(plan.faults) * FAULT_SIZE),
        ping_bins=memory.reserve(servers * bins),
        bulk_bins=memory.reserve(servers * bins),
        pings_sent=memory.reserve(servers),
        pings_routed=memory.reserve(routers),
        import_next=memory.reserve(clients * imports),
        import_last=memory.reserve(clients * imports),
        bins=bins,
        messages=memory.reserve(messages * MESSAGE),
    )
    m = aligned(memory.size)
    for ring, (base, size) in enumerate(zip(rings, ring_sizes, strict=True)):
        r = RINGS_AT + ring * RING
        m[r + RING_TIME] = NEVER
        m[r + RING_BASE] = base
        m[r + RING_MASK] = size - 1
    for at, table in zip(jitter, (plan.service_jitter, plan.disk_jitter), strict=True):
        m[at : at + len(table)] = table
    _fill_head(m, plan, places, jitter, imports)
    _fill_nodes(m, plan, places, per_client, per_server)
    _fill_nis(m, plan, places)
    _fill_entries(m, plan, places, per_client, per_server)
    _fill_servers(m, plan, places)
    m[places.import_next : places.import_next + clients * imports] = plan.pings.first_ns
    m[places.import_last : places.import_last + clients * imports] = -1
    return m, places


def _ring_sizes(clients: int, messages: int) -> list[int]:
    """A ring is as large as its events may be many in most groups; what is beyond goes to the heap."""
    sizes = [1 << min(messages.bit_length(), 12)] * RINGS
    sizes[RING_PINGER] = 1 << max(clients, 2).bit_length()
    return sizes


def _fill_head(m: Array, plan: Plan, places: Places, jitter: tuple[int, int], imports: int) -> None:
    values = {
        SEQUENCE: 0,
        CLIENTS: plan.clients,
        ROUTERS: plan.routers,
        SERVERS: plan.servers,
        RAILS: plan.rails,
        BALANCE: int(plan.balance),
        TARGETS: plan.targets,
        IMPORTS: imports,
        FIRST_NODE: places.nodes,
        PING_BYTES: plan.ping_bytes,
        REQUEST_BYTES: plan.request_bytes,
        REPLY_BYTES: plan.reply_bytes,
        BULK_BYTES: plan.bulk_bytes,
        PING_SERVICE: plan.ping_service_ns,
        SMALL_SERVICE: plan.small_service_ns,
        DISK_WRITE: plan.disk_write_ns,
        DISK_READ: plan.disk_read_ns,
        SERVICE_JITTER: jitter[0],
        SERVICE_JITTER_MASK: len(plan.service_jitter) - 1,
        DISK_JITTER: jitter[1],
        DISK_JITTER_MASK: len(plan.disk_jitter) - 1,
        SEED: plan.seed,
        INTERVAL: plan.pings.interval_ns,
        ALIGNED: int(plan.pings.aligned),
        EARLY_PERMILLE: plan.pings.early_permille,
        IDLE: plan.pings.idle_ns,
        KEEP: plan.pings.keep,
        IMPORT_NEXT: places.import_next,
        IMPORT_LAST: places.import_last,
        FIRST_PROCESS: places.processes,
        SENSITIVITY: plan.health.sensitivity,
        RETRY_COUNT: plan.health.retry_count,
        RECOVERY: plan.health.recovery_ns,
        RECOVERY_MAX: plan.health.recovery_max_ns,
        DETECT: plan.health.detect_ns,
        RESEND_AFTER: plan.health.resend_ns,
        FIRST_FAULT: places.faults,
        BIN: plan.bin_ns,
        BINS: places.bins,
        PING_BINS: places.ping_bins,
        BULK_BINS: places.bulk_bins,
        PINGS_SENT: places.pings_sent,
        PINGS_ROUTED: places.pings_routed,
        HAS_FAULTS: int(bool(plan.faults)),
        UNUSED_MESSAGE: places.messages,
        FREE_COUNT: (len(m) - places.messages) // MESSAGE,
    }
    for field, value in values.items():
        m[field] = value


def _fill_nodes(m: Array, plan: Plan, places: Places, per_client: int, per_server: int) -> None:
    clients, routers, servers, k = plan.clients, plan.routers, plan.servers, plan.rails
    nodes = m[places.nodes : places.nodes + (clients + routers + servers) * NODE].reshape(-1, NODE)
    nodes[:, NODE_INDEX] = np.arange(len(nodes))
    number = np.arange(clients)
    nodes[:clients, NODE_ROLE] = CLIENT
    nodes[:clients, ENTRIES] = places.entries + number * per_client * ENTRY
    nodes[:clients, FIRST_NI] = places.nis + number * k * NI
    entries = places.entries + clients * per_client * ENTRY
    ni = places.nis + clients * k * NI
    number = np.arange(routers)
    router = nodes[clients : clients + routers]
    router[:, NODE_ROLE] = ROUTER
    router[:, ENTRIES] = entries + number * (clients + servers) * ENTRY
    router[:, SERVER_ENTRIES] = router[:, ENTRIES] + clients * ENTRY
    router[:, FIRST_NI] = ni + number * 2 * NI
    router[:, POOLS] = places.pools + number * plan.cpts * 3 * QUEUE
    entries += routers * (clients + servers) * ENTRY
    ni += routers * 2 * NI
    number = np.arange(servers)
    server = nodes[clients + routers :]
    server[:, NODE_ROLE] = SERVER
    server[:, ENTRIES] = entries + number * per_server * ENTRY
    server[:, FIRST_NI] = ni + number * k * NI
    server[:, SERVICES] = places.services + number * 2 * SERVICE


def _fill_nis(m: Array, plan: Plan, places: Places) -> None:
    """Interfaces in the order of docs/simulator-model.md, with their NI queues."""
    clients, routers, servers, k = plan.clients, plan.routers, plan.servers, plan.rails
    client_net, server_net = plan.client_net, plan.server_net if routers else plan.client_net
    server_ring = RING_SERVER_NET if routers else RING_CLIENT_NET
    count = clients * k + 2 * routers + servers * k
    nis = m[places.nis : places.nis + count * NI].reshape(-1, NI)
    queues = m[places.queues : places.pools]
    nis[:, NI_INDEX] = np.arange(count)
    nis[:, HEALTH] = HEALTH_MAX
    nis[:, UP] = 1
    first, last = clients * k, clients * k + 2 * routers
    queue = places.queues + np.arange(first) * QUEUE
    nis[:first, NI_QUEUE] = queue
    nis[first:, NI_QUEUE] = places.queues + (first + np.arange(count - first) * plan.cpts) * QUEUE
    nis[:first, NI_NODE] = places.nodes + np.arange(first) // k * NODE
    nis[first:last, NI_NODE] = places.nodes + (clients + np.arange(2 * routers) // 2) * NODE
    nis[last:, NI_NODE] = places.nodes + (clients + routers + np.arange(servers * k) // k) * NODE
    _fill_ni(nis[:first], plan.client_ni, client_net, 0, (RING_CLIENT_SEND, RING_CLIENT_NET, NO_RING))
    _fill_ni(nis[first:last:2], plan.router_client_ni, client_net, plan.repost_router_ns, (NO_RING, RING_CLIENT_NET, RING_ROUTER_RECEIVE))
    _fill_ni(
        nis[first + 1 : last : 2], plan.router_server_ni, server_net, plan.repost_router_ns, (NO_RING, RING_SERVER_NET, RING_ROUTER_RECEIVE)
    )
    _fill_ni(nis[last:], plan.server_ni, server_net, plan.repost_server_ns, (NO_RING, server_ring, RING_SERVER_RECEIVE))
    queue_rows = queues[: (first + (count - first) * plan.cpts) * QUEUE].reshape(-1, QUEUE)
    limits = np.empty(len(queue_rows), dtype=np.int64)
    limits[:first] = plan.client_ni.credits
    rest = limits[first:].reshape(-1, plan.cpts)
    rest[: 2 * routers : 2] = plan.router_client_ni.credits
    rest[1 : 2 * routers : 2] = plan.router_server_ni.credits
    rest[2 * routers :] = plan.server_ni.credits
    for field in (CREDITS, CREDITS_MIN, CREDITS_MAX):
        queue_rows[:, field] = limits


def _fill_ni(rows: Array, ni: Ni, net: Net, repost_ns: int, rings: tuple[int, int, int]) -> None:
    rows[:, POST] = ni.post_ns
    rows[:, BULK] = ni.bulk_ns
    rows[:, RX] = ni.rx_ns
    rows[:, EAGER] = ni.eager_ns
    rows[:, WIRE] = net.wire_ns
    rows[:, HANDSHAKE] = int(net.handshake)
    rows[:, WINDOW] = net.wire_credits
    rows[:, HIGHWATER] = net.credits_highwater
    rows[:, CONCURRENT] = net.concurrent_sends
    rows[:, PROTOCOL] = net.protocol
    rows[:, REPOST_AFTER] = repost_ns
    rows[:, NI_PEER_CREDITS] = ni.peer_credits
    rows[:, NI_PEER_BUFFER_CREDITS] = ni.peer_buffer_credits
    rows[:, SEND_RING], rows[:, CONTROL_RING], rows[:, RECEIVE_RING] = rings


def _fill_entries(m: Array, plan: Plan, places: Places, per_client: int, per_server: int) -> None:
    """Peer entries of clients, routers and servers, with the entry at the other end."""
    clients, routers, servers, k = plan.clients, plan.routers, plan.servers, plan.rails
    total = clients * per_client + routers * (clients + servers) + servers * per_server
    entries = m[places.entries : places.entries + total * ENTRY].reshape(-1, ENTRY)
    at = places.entries + np.arange(total) * ENTRY
    mine, theirs, remote = _ends(plan, per_client, per_server)
    entries[:, NI_OF] = places.nis + mine * NI
    entries[:, OTHER] = at[theirs]
    first_ni = clients * k
    cpt = np.where(mine < first_ni, 0, remote % plan.cpts)
    entries[:, NI_QUEUE_OF] = m[entries[:, NI_OF] + NI_QUEUE] + cpt * QUEUE
    node = m[entries[:, NI_OF] + NI_NODE]
    entries[:, POOLS_OF] = np.where(m[node + NODE_ROLE] == ROUTER, m[node + POOLS] + cpt * 3 * QUEUE, 0)
    for field in (TX, TX_MIN):
        entries[:, field] = m[entries[:, NI_OF] + NI_PEER_CREDITS]
    for field in (RTR, RTR_MIN):
        entries[:, field] = m[entries[:, NI_OF] + NI_PEER_BUFFER_CREDITS]
    owner = m[node + NODE_INDEX]
    if routers:  # the kernel puts routes in random order; so no node begins with the router that its neighbour begins with
        entries[:, SEQ] = np.where(m[node + NODE_ROLE] == ROUTER, 0, (remote - clients - owner) % routers)
        m[places.nodes + np.arange(clients + routers + servers) * NODE + TURN] = routers - 1
    connected = _has_connection(plan, mine, remote)
    connections = places.connections + np.arange(int(connected.sum())) * CONNECTION
    entries[connected, CONNECTION_OF] = connections
    m[connections + WIRE_CREDITS] = m[entries[connected, NI_OF] + WINDOW]
    m[connections + ENTRY_HEALTH] = HEALTH_MAX


def _has_connection(plan: Plan, mine: Array, remote: Array) -> npt.NDArray[np.bool_]:
    """Which entries keep a connection: all but those between clients and routers whose driver has no wire credits."""
    if not plan.routers or plan.client_net.wire_credits:
        return np.ones(len(mine), dtype=bool)
    return (mine >= plan.clients) & (remote >= plan.clients)


def _connection_count(plan: Plan, entries: int, of_clients: int) -> int:
    if not plan.routers or plan.client_net.wire_credits:
        return entries
    return entries - 2 * of_clients


def _ends(plan: Plan, per_client: int, per_server: int) -> tuple[Array, Array, Array]:
    """For every entry: the number of its own NI, the number of the entry at the other end, and the number of the remote node."""
    clients, routers, servers, k = plan.clients, plan.routers, plan.servers, plan.rails
    c, r, s = np.arange(clients), np.arange(routers), np.arange(servers)
    router_base = clients * per_client
    per_router = clients + servers
    server_base = router_base + routers * per_router
    ni_router, ni_server = clients * k, clients * k + 2 * routers
    parts: list[tuple[Array, Array, Array]] = []
    if routers:
        of_client = (
            np.repeat(c, routers),
            np.tile(router_base + r * per_router, clients) + np.repeat(c, routers),
            clients + np.tile(r, clients),
        )
        parts.append(of_client)
        for router in range(routers):
            up = np.full(clients, ni_router + 2 * router), c * routers + router, c
            down = np.full(servers, ni_router + 2 * router + 1), server_base + s * routers + router, clients + routers + s
            parts += [up, down]
        at_router = np.tile(router_base + r * per_router + clients, servers) + np.repeat(s, routers)
        parts.append((ni_server + np.repeat(s, routers), at_router, clients + np.tile(r, servers)))
    else:
        grid = np.indices((clients, servers, k, k)).reshape(4, -1)
        other = server_base + ((grid[1] * clients + grid[0]) * k + grid[3]) * k + grid[2]
        parts.append((grid[0] * k + grid[2], other, clients + grid[1]))
        grid = np.indices((servers, clients, k, k)).reshape(4, -1)
        other = ((grid[1] * servers + grid[0]) * k + grid[3]) * k + grid[2]
        parts.append((ni_server + grid[0] * k + grid[2], other, grid[1]))
    mine, theirs, remote = (np.concatenate([part[i] for part in parts]).astype(np.int64) for i in range(3))
    return mine, theirs, remote


def _fill_servers(m: Array, plan: Plan, places: Places) -> None:
    """Router buffers, services, processes and faults."""
    pools = m[places.pools : places.pools + plan.routers * plan.cpts * 3 * QUEUE].reshape(-1, 3, QUEUE)
    for field in (CREDITS, CREDITS_MIN, CREDITS_MAX):
        pools[:, :, field] = plan.router_buffers
    services = m[places.services : places.services + plan.servers * 2 * SERVICE].reshape(-1, 2, SERVICE)
    for number, service in enumerate((plan.ost, plan.ost_io)):
        _fill_service(services[:, number], service)
    for number, process in enumerate(plan.processes):
        at = places.processes + number * PROCESS
        m[at + P_CLIENT] = places.nodes + process.client * NODE
        m[at + P_KIND] = process.kind
        m[at + P_FIRST_TARGET] = process.first_target
        m[at + P_STRIPES] = process.stripes
        m[at + P_WINDOW] = process.window
        m[at + P_TOTAL] = process.total
        m[at + P_THINK] = process.think_ns
    for number, fault in enumerate(plan.faults):
        at = places.faults + number * FAULT_SIZE
        m[at + FAULT_NI] = places.nis + fault.ni * NI
        m[at + FAULT_UP] = int(fault.up)
        m[at + FAULT_PATH] = 0 if fault.other < 0 else places.entries + _entry_between(plan, fault.ni, fault.other) * ENTRY


def _entry_between(plan: Plan, ni: int, other: int) -> int:
    """The number of the client's entry of the path between an interface of a client and one of a server."""
    k = plan.rails
    client, i = divmod(min(ni, other), k)
    server, j = divmod(max(ni, other) - plan.clients * k, k)
    return ((client * plan.servers + server) * k + i) * k + j


def _fill_service(rows: Array, service: Service) -> None:
    rows[:, THREADS] = service.threads
    rows[:, BUFFERS] = service.buffers
    rows[:, BUFFERS_MAX] = service.buffers_max
    rows[:, BUFFERS_GROUP] = service.buffers_group
