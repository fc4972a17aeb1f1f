"""The reference itself: traces worked out by hand from docs/simulator-model.md, and what must hold on any plan."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from reference import Kind, Run, simulate
from reference.plans import plans
from reference.simple import GNI, O2IB, ni, pings, plan

from lnetstat.simulator.plan import READ, WRITE, Fault, Health, Plan, Process, Service


def happened(run: Run) -> list[tuple[int, str]]:
    """The trace up to the plan's end, as time and kind in words."""
    return [(time, Kind(kind).name) for time, kind, _ in run.trace if time <= run.plan.end_ns]


def one_rpc(kind: int) -> Process:
    """A process that does one RPC at 0."""
    return Process(client=0, kind=kind, first_target=0, stripes=1, window=1, total=1, think_ns=0, start_ns=0)


def test_a_ping_goes_through_the_router_and_back_at_the_times_that_its_costs_add_up_to() -> None:
    run = simulate(plan(pings=pings((5_000,))), trace=True, drain=True)
    assert happened(run) == [
        (5_000, "PINGER"),
        (9_000, "DELIVER"),  # 1000 to send, 3000 of wire
        (13_000, "DELIVER"),
        (53_000, "SERVED"),
        (57_000, "DELIVER"),
        (61_000, "DELIVER"),
    ]
    router = run.routers[0]
    assert (router.route_count, router.route_length, run.pings_by_router[0]) == (2, 400, 1)
    assert run.clients[0].recv_length == 200


def test_a_write_without_router_over_o2ib_shakes_hands_for_its_data_only() -> None:
    quiet = plan(routers=0, client_net=O2IB, repost_server_ns=500, processes=(one_rpc(WRITE),))
    run = simulate(quiet, trace=True, drain=True)
    assert happened(run) == [
        (0, "START"),
        (3_000, "DELIVER"),  # the request
        (3_500, "REPOST"),
        (6_000, "DELIVER"),  # GET
        (9_000, "DELIVER"),  # PUT_REQ: costs of a small message
        (11_000, "ACK"),
        (22_000, "DELIVER"),  # 9000 of RDMA and 2000 of wire
        (22_500, "REPOST"),
        (722_000, "DISK"),
        (725_000, "DELIVER"),  # the reply
    ]
    assert run.bytes == {(0, 0): 1 << 20}
    # GET left before the request's receive was posted again, so PUT_ACK brought that credit; that of the data rode on the reply.
    # The credit of GET rode on PUT_REQ; that of the reply stays with the client.
    client, server = run.clients[0].entries[0], run.servers[0].entries[0]
    assert (client.wire, client.outstanding, server.wire, server.outstanding) == (8, 1, 7, 0)


def test_the_wire_credits_of_a_read_come_back_by_noop_too() -> None:
    run = simulate(plan(routers=0, client_net=O2IB._replace(credits_highwater=1), processes=(one_rpc(READ),)), trace=True, drain=True)
    assert [kind for _, kind in happened(run)].count("NOOP") > 0
    for entry in (run.clients[0].entries[0], run.servers[0].entries[0]):
        assert (entry.wire, entry.outstanding) == (8, 0)


def test_buffers_that_are_short_make_messages_wait_at_the_router_in_order() -> None:
    # Ten pings at once, two small buffers, and a router that needs 10 us to send one message: so long it holds the buffer.
    slow = plan(targets=10, pings=pings((0,) * 10), router_buffers=(2, 2, 2), router_server_ni=ni(post_ns=10_000), client_ni=ni(post_ns=0))
    run = simulate(slow, debug=True, drain=True)
    small = run.routers[0].pools[0][1]
    assert small.low == 2 - 10
    assert small.line.longest == 8
    served = [time for _, _, time in run.ping_waits]
    assert served == sorted(served)


def test_a_lost_message_is_sent_again_when_its_interface_is_back() -> None:
    faults = (Fault(0, 0, False), Fault(5_000_000, 0, True))
    health = Health(sensitivity=100, retry_count=2, recovery_ns=10**6, recovery_max_ns=10**9, detect_ns=10**6, resend_ns=10**6)
    run = simulate(plan(routers=0, pings=pings((10,)), faults=faults, health=health), trace=True, debug=True, drain=True)
    assert run.clients[0].drop_count == 4  # at 0, 1, 2 ms; given up at 3; sent anew at 4; that it failed is known, and the NI up, at 5
    assert run.finished == 1
    assert run.nis[0].health == 1000


def test_a_group_whose_writes_wait_for_credits_that_only_writes_give_back_is_told_to_stand_still() -> None:
    processes = (one_rpc(WRITE)._replace(window=4, total=4),)
    stuck = plan(routers=0, client_net=O2IB._replace(wire_credits=2, credits_highwater=1), ost_io=Service(1, 1, 1, 1), processes=processes)
    with pytest.raises(AssertionError, match="the group stands still: 0 of 4 RPCs done"):
        simulate(stuck, drain=True)


def test_a_plan_without_anything_to_do_ends_at_once() -> None:
    run = simulate(plan(client_net=GNI), trace=True, drain=True)
    assert run.trace == []


@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(plans())
def test_the_kernels_assertions_hold_at_every_event_and_every_credit_comes_back(group: Plan) -> None:
    simulate(group, debug=True, drain=True)
