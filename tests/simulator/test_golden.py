"""Rows that others printed and shapes that our captures show, from the simulator."""

import numpy as np
import pytest
from reference import simple

from lnetstat.simulator.engine import Engine
from lnetstat.simulator.plan import READ, WRITE, Net, Plan, Process
from lnetstat.simulator.text.peers import PeersText
from lnetstat.tables import peers

MS = 1_000_000
MIB = 1 << 20
TCP = Net("tcp", 10 * MS, handshake=False, wire_credits=0, credits_highwater=0, concurrent_sends=0, protocol=0)


def sender_of_bulk(peer_credits: int, ni_credits: int, reads: int, pings: int) -> Plan:
    """A server that sends bulk to one client, 1 ms each, and answers pings behind it; what it sends next comes 20 ms later."""
    ni = simple.ni(credits=ni_credits, peer_credits=peer_credits, peer_buffer_credits=peer_credits, post_ns=1000, bulk_ns=MS)
    return simple.plan(
        clients=1,
        routers=0,
        servers=1,
        client_net=TCP,
        server_net=TCP,
        client_ni=simple.ni(credits=256, peer_credits=64, peer_buffer_credits=64, post_ns=1000, bulk_ns=MS),
        server_ni=ni,
        targets=4,
        ping_bytes=160,
        bulk_bytes=MIB,
        disk_read_ns=0,
        ping_service_ns=0,
        pings=simple.pings(first_ns=tuple(100_000 if i < pings else -1 for i in range(4))),
        processes=(Process(0, READ, 0, 1, reads, reads, 0, 0),),
        end_ns=100 * MS,
    )


@pytest.mark.parametrize(
    ("peer_credits", "ni_credits", "reads", "pings", "sampled_ms", "printed"),
    [
        (8, 256, 2, 0, 21.5, "2 8 8 8 7 6 1048648"),
        (8, 256, 14, 3, 23.5, "15 8 8 8 -6 -9 11535824"),
        (2, 4, 4, 0, 21.5, "4 2 2 2 -1 -2 3145944"),
    ],
)
def test_the_rows_of_a_public_talk_come_out(
    peer_credits: int, ni_credits: int, reads: int, pings: int, sampled_ms: float, printed: str
) -> None:
    """B. Caldwell, "Getting the most out of Lustre with the TCP LND", LUG 2013: `peers` under lnet-selftest, concurrency 1, 16, 3."""
    engine = Engine(sender_of_bulk(peer_credits, ni_credits, reads, pings))
    engine.advance(int(sampled_ms * MS))
    text = PeersText(["10.0.0.1@tcp"], ["up"], peers.NINE.name).text(engine.peers(1), engine.now_ns)
    _nid, refs, _state, *credits_and_queue = text.splitlines()[1].split()
    assert " ".join([refs, *credits_and_queue]) == printed


def test_messages_wait_at_the_sender_few_at_the_router_and_never_for_an_ni() -> None:
    """As on real LNet 2.17 with concurrency 64 and these credits: -63 at the sender, -5 to -8 at the router, NI credits never short."""
    near = simple.ni(credits=4, peer_credits=2, peer_buffer_credits=2, post_ns=50_000, bulk_ns=9 * MS, rx_ns=20_000)
    net = TCP._replace(wire_ns=100_000)
    plan = simple.plan(
        client_net=net,
        server_net=net,
        client_ni=near._replace(rx_ns=0),
        router_client_ni=near._replace(peer_buffer_credits=8),
        router_server_ni=near._replace(post_ns=150_000),
        server_ni=near,
        router_buffers=(512, 4096, 256),
        processes=(Process(0, WRITE, 0, 1, 64, 0, 0, 0),),
        end_ns=20_000 * MS,
    )
    engine = Engine(plan)
    lowest_ni = 4
    for time_ns in range(0, plan.end_ns, 100 * MS):
        engine.advance(time_ns)
        lowest_ni = min(lowest_ni, *(int(engine.nis(node).tx_min.min()) for node in range(3)))
    client, router = engine.peers(0), engine.peers(1)
    assert -66 <= client.tx_min[0] <= -58
    assert -12 <= router.tx_min[1] < 0
    assert lowest_ni >= 0
    assert np.all(engine.buffers(1).credits_min >= np.array([500, 4000, 240]))
