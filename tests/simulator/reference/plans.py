"""Random small plans in which everything can run short, for hypothesis. None of them can stand still for ever (see `services`)."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from lnetstat.simulator.plan import ONE, READ, SMALL, WRITE, Fault, Health, Net, Ni, Pings, Plan, Process, Service

PINGED_AT_MOST = 40  # imports; each is pinged up to four times
CLIENTS_WITHOUT_ROUTERS_AT_MOST = 4
STEPS_OF_A_RUN = 20  # things that repeat for ever (thinking, recovery, resending) come at most so often


@st.composite
def plans(draw: DrawFn) -> Plan:
    """One routing group or one group without routers, a few hundred to a few thousand events long.

    What is rare by chance alone is drawn on purpose in two of three cases: o2iblnd with hardly any wire credits, and interfaces that fail.
    """
    rare = draw(st.sampled_from(["nothing", "wire credits", "faults"]))
    times = draw(st.sampled_from([st.sampled_from([0, 1000, 2000, 5000]), st.integers(0, 9_999), st.sampled_from([0, 1, 2])]))
    routers = draw(st.integers(0, 0 if rare == "faults" else 3))
    servers = draw(st.integers(1, 3))
    rails = 1 if routers else draw(st.integers(1, 3))
    clients = draw(st.integers(1, 12 if routers else CLIENTS_WITHOUT_ROUTERS_AT_MOST))
    targets = draw(st.integers(1, 2 * servers))
    pings = draw(ping_plans(clients, targets))
    end_ns = pings.interval_ns * 3
    processes = tuple(draw(st.lists(process_plans(clients, targets, end_ns), max_size=3)))
    some_nets = few_wire_credits(times) if rare == "wire credits" else nets(times)
    client_net, server_net = draw(some_nets), draw(some_nets)
    nis = [draw(ni_plans(times)) for _ in range(4)]
    nis_in_all = rails * (clients + servers)
    ost, ost_io = draw(services(server_net if routers else client_net, processes))
    return Plan(
        clients=clients,
        routers=routers,
        servers=servers,
        rails=rails,
        cpts=draw(st.integers(1, 3)),
        client_net=client_net,
        server_net=server_net,
        client_ni=nis[0],
        router_client_ni=nis[1],
        router_server_ni=nis[2],
        server_ni=nis[3],
        router_buffers=(draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 6))),
        balance=draw(st.booleans()),
        targets=targets,
        ost=ost,
        ost_io=ost_io,
        ping_service_ns=draw(times),
        small_service_ns=draw(times),
        disk_write_ns=draw(times),
        disk_read_ns=draw(times),
        service_jitter=draw(jitters()),
        disk_jitter=draw(jitters()),
        repost_router_ns=draw(times),
        repost_server_ns=draw(times),
        ping_bytes=draw(st.sampled_from([0, 200, 4096])),
        request_bytes=draw(st.sampled_from([0, 300, 4096, 4097])),
        reply_bytes=draw(st.sampled_from([0, 300, 4096, 4097])),
        bulk_bytes=draw(st.sampled_from([4096, 4097, 1 << 20])),
        pings=pings,
        processes=processes,
        health=draw(health_plans(end_ns)),
        faults=tuple(draw(st.lists(fault_plans(end_ns, rails * clients, nis_in_all), max_size=6 if rare == "faults" else 0))),
        bin_ns=draw(st.integers(end_ns // 200 + 1, end_ns)),
        end_ns=end_ns,
        seed=draw(st.integers(0, 2**31 - 1)),
    )


@st.composite
def nets(draw: DrawFn, times: st.SearchStrategy[int]) -> Net:
    """A network of any driver. Protocol 1 needs a third credit, and two to return at once, or a NOOP answers a NOOP for ever."""
    lnd = draw(st.sampled_from(["o2ib", "gni", "tcp"]))
    if lnd != "o2ib":
        return Net(lnd, draw(times), lnd == "gni" and draw(st.booleans()), 0, 0, 0, 0)
    protocol = draw(st.sampled_from([1, 2]))
    wire_credits = draw(st.integers(3 if protocol == 1 else 1, 8))
    highwater = draw(st.integers(2 if protocol == 1 else 1, wire_credits - 1 if protocol == 1 else wire_credits))
    return Net(lnd, draw(times), draw(st.booleans()), wire_credits, highwater, draw(st.integers(1, wire_credits)), protocol)


@st.composite
def few_wire_credits(draw: DrawFn, times: st.SearchStrategy[int]) -> Net:
    """o2iblnd at its limits: handshakes, one or two sends at once, and NOOPs that must not take the last credit."""
    protocol = draw(st.sampled_from([1, 2]))
    wire_credits = draw(st.integers(3, 4) if protocol == 1 else st.integers(1, 3))
    return Net("o2ib", draw(times), True, wire_credits, 2 if protocol == 1 else 1, draw(st.integers(1, 2)), protocol)


@st.composite
def ni_plans(draw: DrawFn, times: st.SearchStrategy[int]) -> Ni:
    """Few credits everywhere."""
    few = st.integers(1, 6)
    eager = st.one_of(st.just(-1), times)
    return Ni(draw(few), draw(few), draw(few), draw(times), draw(times), draw(times), draw(eager))


@st.composite
def services(draw: DrawFn, net: Net, processes: tuple[Process, ...]) -> tuple[Service, Service]:
    """Few threads and request buffers.

    A write holds its request buffer until its data came. Where every wire credit is held by a request that waits for a buffer, the data
    never come: so ost_io can grow until enough of the driver's credits stay free.
    """
    few = st.integers(1, 3)
    ost = Service(draw(few), draw(few), draw(st.integers(1, 8)), draw(few))
    threads, buffers, group = draw(few), draw(few), draw(few)
    in_flight = sum(process.stripes * process.window for process in processes if process.kind in (WRITE, READ))
    may_wait = net.wire_credits - net.credits_highwater - (1 if net.protocol == 1 else 0) if net.wire_credits else in_flight
    least = max(1, in_flight - may_wait) + group
    return ost, Service(threads, buffers, draw(st.integers(least, least + 4)), group)


@st.composite
def process_plans(draw: DrawFn, clients: int, targets: int, end_ns: int) -> Process:
    """A process with a few RPCs, or one that goes on until the end and then thinks long enough."""
    total = draw(st.integers(0, 12))
    think = st.integers(end_ns // STEPS_OF_A_RUN, end_ns) if total == 0 else st.sampled_from([0, 0, 1000, 12_345])
    return Process(
        client=draw(st.integers(0, clients - 1)),
        kind=draw(st.sampled_from([WRITE, READ, SMALL])),
        first_target=draw(st.integers(0, targets - 1)),
        stripes=draw(st.integers(1, 3)),
        window=draw(st.integers(1, 3)),
        total=total,
        think_ns=draw(think),
        start_ns=draw(st.sampled_from([0, 0, 1000, end_ns // 3])),
    )


@st.composite
def ping_plans(draw: DrawFn, clients: int, targets: int) -> Pings:
    """Every policy: all at one instant, offset, never; busy imports pinged or not; coming early; disconnecting."""
    mounts = draw(st.integers(1, 2))
    interval = draw(st.sampled_from([10_000, 50_000, 123_457, 1_000_000]))
    imports = clients * targets * mounts
    pinged = draw(st.integers(0, min(imports, PINGED_AT_MOST)))
    first = st.one_of(st.just(-1), st.just(0), st.just(5_000), st.integers(0, interval))
    some = draw(st.lists(first, min_size=pinged, max_size=pinged))
    return Pings(
        interval_ns=interval,
        aligned=draw(st.booleans()),
        early_permille=draw(st.sampled_from([0, 100, 1000])),
        idle_ns=draw(st.sampled_from([0, interval // 2, 2 * interval])),
        keep=draw(st.integers(0, targets)),
        mounts=mounts,
        first_ns=tuple(some + [-1] * (imports - len(some))),
    )


@st.composite
def health_plans(draw: DrawFn, end_ns: int) -> Health:
    """Retries and recovery pings, none of them for ever at one instant."""
    step = end_ns // STEPS_OF_A_RUN
    pauses = st.integers(step, 4 * step)
    return Health(
        sensitivity=draw(st.sampled_from([0, 100, 1000])),
        retry_count=draw(st.integers(0, 3)),
        recovery_ns=draw(pauses),
        recovery_max_ns=4 * step,
        detect_ns=draw(pauses),
        resend_ns=draw(pauses),
    )


@st.composite
def fault_plans(draw: DrawFn, end_ns: int, of_clients: int, nis: int) -> Fault:
    """An NI, or the path between one of a client and one of a server, goes down or up."""
    time = st.one_of(st.integers(0, 20_000), st.integers(0, end_ns))  # most traffic comes early
    if draw(st.booleans()):
        return Fault(draw(time), draw(st.integers(0, nis - 1)), draw(st.booleans()))
    ends = draw(st.permutations([draw(st.integers(0, of_clients - 1)), draw(st.integers(of_clients, nis - 1))]))
    return Fault(draw(time), ends[0], draw(st.booleans()), ends[1])


@st.composite
def jitters(draw: DrawFn) -> tuple[int, ...]:
    """A power of two of factors."""
    size = draw(st.sampled_from([1, 2, 8]))
    return tuple(draw(st.lists(st.one_of(st.just(ONE), st.integers(0, 4 * ONE)), min_size=size, max_size=size)))
