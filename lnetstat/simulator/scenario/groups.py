"""From checked settings to the integer plan of one routing group."""

import numpy as np

from lnetstat.simulator.plan import ONE, READ, SMALL, WRITE, Fault, Health, Net, Ni, Plan, Process, Service
from lnetstat.simulator.scenario.checks import io_clients, targets_of
from lnetstat.simulator.scenario.costs import NODE_COSTS, WIRE_NS, NodeCosts
from lnetstat.simulator.scenario.naming import Sizes, place_of
from lnetstat.simulator.scenario.parameters import Lnet
from lnetstat.simulator.scenario.pings import pings_of
from lnetstat.simulator.scenario.settings import Settings
from lnetstat.simulator.scenario.tunables import Held, Window

KINDS = {"write": WRITE, "read": READ, "small": SMALL}
DETECT_NS = {"2.12": 5 * 10**9, "2.16": 49 * 10**9}  # the drivers' time-outs; older releases have no health values
UNLIMITED_BUFFERS = 2**30
JITTER_SIZE = 1024
_JITTER = 2  # the stream of random numbers that service times use; phases have another


def plan_of(settings: Settings, lnet: Lnet, sizes: Sizes, group: int) -> Plan:
    """Return one group's plan."""
    targets, seed, bulk_bytes = targets_of(settings), settings.number("run.seed"), settings.number("messages.bulk")
    client_net = _net(settings, "client", lnet.client_lnd, lnet.client_window)
    client_ni = _ni(lnet.client, end_costs(settings, "clients", lnet.client_lnd), bulk_bytes)
    server_net, router_client_ni, router_server_ni = client_net, client_ni, client_ni
    if sizes.routers:
        server_net = _net(settings, "server", lnet.server_lnd, lnet.server_window)
        router_client_ni = _ni(lnet.router_client_side, router_costs(settings, lnet.client_lnd), bulk_bytes)
        router_server_ni = _ni(lnet.router_server_side, router_costs(settings, lnet.server_lnd), bulk_bytes)
    return Plan(
        clients=sizes.clients,
        routers=sizes.routers,
        servers=sizes.servers,
        rails=sizes.rails,
        cpts=settings.number("cpts"),
        client_net=client_net,
        server_net=server_net,
        client_ni=client_ni,
        router_client_ni=router_client_ni,
        router_server_ni=router_server_ni,
        server_ni=_ni(lnet.server, end_costs(settings, "servers", lnet.server_lnd), bulk_bytes),
        router_buffers=lnet.router_buffers,
        balance=settings.text("routers.choice") == "balanced",
        targets=targets,
        ost=_service(settings, "servers.ost_threads"),
        ost_io=_service(settings, "servers.ost_io_threads"),
        ping_service_ns=settings.number("costs.ping"),
        small_service_ns=settings.number("costs.small"),
        disk_write_ns=settings.cost("costs.disk_write").of(bulk_bytes),
        disk_read_ns=settings.cost("costs.disk_read").of(bulk_bytes),
        service_jitter=_jitter(settings.share("costs.service_jitter"), [seed, _JITTER, group, 0]),
        disk_jitter=_jitter(settings.share("costs.disk_jitter"), [seed, _JITTER, group, 1]),
        repost_router_ns=settings.number("costs.credit_return_router"),
        repost_server_ns=settings.number("costs.credit_return_server"),
        ping_bytes=settings.number("messages.ping"),
        request_bytes=settings.number("messages.request"),
        reply_bytes=settings.number("messages.reply"),
        bulk_bytes=bulk_bytes,
        pings=pings_of(settings, sizes.clients, targets),
        processes=_processes(settings, sizes.clients, targets, group),
        health=_health(settings),
        faults=_faults(settings, sizes, group),
        bin_ns=settings.number("run.bin"),
        end_ns=settings.number("run.duration"),
        seed=seed,
    )


def rpcs_of(settings: Settings, block: str) -> int:
    """Return how many RPCs each process of an [[io]] block issues; 0: until the end."""
    if settings.is_given(f"{block}size"):
        return -(-settings.number(f"{block}size") // settings.number("messages.bulk"))
    return settings.number_or(f"{block}rpcs", 0)


def _net(settings: Settings, side: str, lnd: str, window: Window | None) -> Net:
    """Return one network; only o2iblnd has a window of its own. gnilnd and o2iblnd fetch bulk data after a handshake (PUT_REQ, PUT_ACK)."""
    wire_credits, highwater, sends = window or (0, 0, 0)
    return Net(
        lnd=lnd,
        wire_ns=settings.number_or(f"network.{side}.wire", WIRE_NS[lnd]),
        handshake=lnd in ("gni", "o2ib"),
        wire_credits=wire_credits,
        credits_highwater=highwater,
        concurrent_sends=sends,
        protocol=settings.number("o2ib.protocol"),
    )


def _ni(held: Held, costs: NodeCosts, bulk_bytes: int) -> Ni:
    return Ni(
        credits=held.cpt_credits,
        peer_credits=held.peer_credits,
        peer_buffer_credits=held.peer_buffer_credits,
        post_ns=costs.send_ns,
        bulk_ns=costs.bulk.of(bulk_bytes),
        rx_ns=costs.receive_ns,
        eager_ns=costs.eager_ns,
    )


def end_costs(settings: Settings, role: str, lnd: str) -> NodeCosts:
    """Return what messages cost a client or server: the scenario's numbers, else those of its driver."""
    costs = NODE_COSTS[role, lnd]
    return NodeCosts(
        settings.number_or(f"costs.{role}.send", costs.send_ns),
        settings.cost(f"costs.{role}.bulk", costs.bulk),
        settings.number_or(f"costs.{role}.receive", costs.receive_ns),
    )


def router_costs(settings: Settings, lnd: str) -> NodeCosts:
    """Return what messages cost a router on the side of one driver."""
    prefix = f"costs.routers.{lnd}"
    eager_ns = settings.number("costs.routers.gni.eager") if lnd == "gni" else -1  # ksocklnd and o2iblnd have no eager receive
    return NodeCosts(settings.number(f"{prefix}.send"), settings.cost(f"{prefix}.bulk"), settings.number(f"{prefix}.receive"), eager_ns)


def _service(settings: Settings, threads: str) -> Service:
    buffers = settings.number("servers.request_buffers")
    most = settings.number("servers.request_buffers_max") or UNLIMITED_BUFFERS
    return Service(settings.number(threads), min(buffers, most), most, settings.number("servers.request_buffers_group"))


def _jitter(share: float, seed: list[int]) -> tuple[int, ...]:
    """Return factors in 1/1024, even over 1 - share to 1 + share, in an order of the group's own: groups differ, their means do not."""
    if not share:
        return (ONE,)
    steps = (2 * np.arange(JITTER_SIZE) + 1) / JITTER_SIZE - 1  # midpoints of -1 to 1
    factors = np.rint(ONE * (1 + share * steps)).astype(np.int64)
    return tuple(int(factor) for factor in np.random.default_rng(seed).permutation(factors))


def _processes(settings: Settings, clients: int, targets: int, group: int) -> tuple[Process, ...]:
    """Return the I/O processes. Each group uses other clients, as far as there are any; first targets follow in turn."""
    placed = io_clients(settings)
    shift = group * max((first + used for first, used in placed), default=0)
    processes = []
    for block, (first, _) in zip(settings.blocks("io"), placed, strict=True):
        stripes, per_client = settings.number(f"{block}stripes"), settings.number(f"{block}per_client")
        count, spread_ns = settings.number(f"{block}processes"), settings.number(f"{block}start_spread")
        for number in range(count):
            processes.append(
                Process(
                    client=(first + shift + number // per_client) % clients,
                    kind=KINDS[settings.text(f"{block}kind")],
                    first_target=number * stripes % targets,
                    stripes=stripes,
                    window=settings.number(f"{block}window"),
                    total=rpcs_of(settings, block),
                    think_ns=settings.number(f"{block}think"),
                    start_ns=settings.number(f"{block}start") + spread_ns * number // count,
                )
            )
    return tuple(processes)


def _health(settings: Settings) -> Health:
    return Health(
        sensitivity=settings.number("health.sensitivity"),
        retry_count=settings.number("health.retry_count"),
        recovery_ns=settings.number("health.recovery_interval"),
        recovery_max_ns=settings.number("health.recovery_interval_max"),
        detect_ns=settings.number_or("health.detect", DETECT_NS.get(settings.text("release"), DETECT_NS["2.12"])),
        resend_ns=settings.number("health.resend"),
    )


def _faults(settings: Settings, sizes: Sizes, group: int) -> tuple[Fault, ...]:
    """Return the faults of this group's nodes. Without routers, node n has the interfaces n x rails to n x rails + rails - 1."""
    faults = []
    for block in settings.blocks("faults"):
        place = place_of(sizes, settings.text(f"{block}node"))
        if place is None or place[0] != group:
            continue
        ni = place[1] * sizes.rails + settings.number(f"{block}rail")
        other = -1
        if settings.is_given(f"{block}to"):
            there = place_of(sizes, settings.text(f"{block}to"))
            assert there is not None  # check_hosts
            other = there[1] * sizes.rails + settings.number(f"{block}to_rail")
        faults.append(Fault(settings.number(f"{block}down"), ni, False, other))
        if settings.is_given(f"{block}up"):
            faults.append(Fault(settings.number(f"{block}up"), ni, True, other))
    return tuple(faults)
