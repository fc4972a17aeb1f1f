"""One plan in which nothing runs short, to be changed where a test wants something to."""

from typing import Any

from lnetstat.simulator.plan import ONE, Health, Net, Ni, Pings, Plan, Service

ROOMY = 1 << 20
GNI = Net("gni", 3_000, False, 0, 0, 0, 0)
O2IB = Net("o2ib", 2_000, True, 8, 4, 8, 2)


def ni(**changes: Any) -> Ni:
    """An interface with credits for everybody: sends take 1000 ns, bulk 9000 ns, receiving takes no time."""
    return Ni(ROOMY, ROOMY, ROOMY, 1_000, 9_000, 0, -1)._replace(**changes)


def pings(first_ns: tuple[int, ...], **changes: Any) -> Pings:
    """One ping of each import at its time; the interval is longer than any test."""
    return Pings(10**15, True, 0, 0, 0, 1, first_ns)._replace(**changes)


def plan(**changes: Any) -> Plan:
    """One client, one router and one server; nobody sends anything."""
    roomy = Service(512, ROOMY, ROOMY, 1)
    quiet = Plan(
        clients=1,
        routers=1,
        servers=1,
        rails=1,
        cpts=1,
        client_net=GNI,
        server_net=GNI,
        client_ni=ni(),
        router_client_ni=ni(),
        router_server_ni=ni(),
        server_ni=ni(),
        router_buffers=(ROOMY, ROOMY, ROOMY),
        balance=True,
        targets=1,
        ost=roomy,
        ost_io=roomy,
        ping_service_ns=40_000,
        small_service_ns=50_000,
        disk_write_ns=700_000,
        disk_read_ns=600_000,
        service_jitter=(ONE,),
        disk_jitter=(ONE,),
        repost_router_ns=0,
        repost_server_ns=0,
        ping_bytes=200,
        request_bytes=300,
        reply_bytes=300,
        bulk_bytes=1 << 20,
        pings=pings((-1,)),
        processes=(),
        health=Health(100, 2, 10**9, 900 * 10**9, 10**6, 10**9),
        faults=(),
        bin_ns=10**9,
        end_ns=10**9,
        seed=1,
    )
    return quiet._replace(**changes)
