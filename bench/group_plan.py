"""One group of the paper, 4 routers to 3 servers with 4 targets each, of any size: what the speed of the simulator is measured on.

Costs are assumptions of the right size (preset petascale has the calibrated ones).
"""

import random

from lnetstat.simulator.plan import ONE, WRITE, Health, Net, Ni, Pings, Plan, Process, Service

US, MS, S = 1_000, 1_000_000, 1_000_000_000


def group_plan(
    clients: int = 25_000,
    writers: int = 375,
    *,
    duration_ns: int = 75 * S,
    peer_credits: int = 126,
    small_buffers: int = 16_384,
    repost_ns: int = 1 * MS,
    spread_ns: int = 200 * MS,
    flood_ns: int = 10 * S,
    untied: bool = False,
    seed: int = 1,
) -> Plan:
    """Return the plan: every client pings 12 targets once in 75 s, writers keep 8 writes of 1 MiB in flight.

    `untied` adds odd nanoseconds to each cost, so that independent events do not meet on one nanosecond.
    """
    odd = (lambda number: number) if untied else (lambda number: 0)
    highwater = 7 if peer_credits == 8 else peer_credits // 2
    gni = Net("gni", 3 * US + odd(17), False, 0, 0, 0, 2)
    o2ib = Net("o2ib", 3 * US + odd(41), True, peer_credits, highwater, max(8, peer_credits // 2), 1 if peer_credits == 8 else 2)
    # credits, peer credits, peer buffer credits, post, bulk, receive, eager
    client_ni = Ni(256, 16, 16, 20 * US + odd(73), 200 * US + odd(211), 0, -1)
    router_client_ni = Ni(2048, 16, 16, 2 * US + odd(5), 200 * US + odd(331), 3 * US + odd(13), 2 * US + odd(3))
    router_server_ni = Ni(256, peer_credits, peer_credits, 2 * US + odd(7), 330 * US + odd(419), 3 * US + odd(11), -1)
    server_ni = Ni(256, peer_credits, peer_credits, 2 * US + odd(9), 330 * US + odd(523), 4 * US + odd(19), -1)
    chance = random.Random(seed)
    targets = 12
    first_ns: list[int] = []
    for _ in range(clients):
        first_ns += [flood_ns + chance.randrange(spread_ns)] * targets
    processes = tuple(Process(client, WRITE, client % targets, 1, 8, 0, 0, client * 1_009 * US // 7) for client in range(writers))
    return Plan(
        clients, 4, 3, 1, 1, gni, o2ib, client_ni, router_client_ni, router_server_ni, server_ni,
        (1024, small_buffers, 512), True, targets,
        Service(128, 512, 16_384, 64), Service(512, 512, 16_384, 64),
        40 * US + odd(29), 40 * US + odd(31), 700 * US + odd(97), 700 * US + odd(101),
        [ONE] * 4 if not untied else [chance.randrange(900, 1100) for _ in range(1024)],
        [ONE] * 4 if not untied else [chance.randrange(900, 1100) for _ in range(1024)],
        10 * US + odd(23) if untied else 0, repost_ns + odd(37),
        224, 488, 368, 1 << 20,
        Pings(75 * S, True, 0, 0, 0, 1, first_ns), processes,
        Health(100, 2, S, 900 * S, S, S), (), 100 * MS, duration_ns, seed,
    )  # fmt: skip
