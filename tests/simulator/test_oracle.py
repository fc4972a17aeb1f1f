"""The engine against arithmetic: a max-plus recursion that must agree to the nanosecond, and closed forms."""

import math
from typing import Any

import numpy as np
import pytest
from reference import simulate
from reference.simple import O2IB, ROOMY, ni, pings, plan

from lnetstat.errors import SimulatorError
from lnetstat.simulator.engine import Engine
from lnetstat.simulator.kernel.layout import DELIVER, RECEIVED, SERVED
from lnetstat.simulator.oracle import lindley, md1_wait, mmc_wait, mmck_loss, ping_times, window_rate
from lnetstat.simulator.plan import ONE, WRITE, Plan, Process, Service

SLOW_OST = 10**9  # replies leave when the last request has long been accepted
BUSY_LINK = O2IB._replace(wire_credits=8, credits_highwater=1, concurrent_sends=8)


def flood(clients: int, targets: int, spread_ns: int, **changes: Any) -> Plan:
    """Every client pings every target, each client at a random time of its own within the spread."""
    start = np.random.default_rng(7).integers(0, spread_ns, clients)
    first = tuple(int(time) for time in np.repeat(start, targets))
    fields: dict[str, Any] = {
        "clients": clients,
        "targets": targets,
        "pings": pings(first),
        "client_ni": ni(post_ns=20_000),
        "router_client_ni": ni(rx_ns=4_000),
        "router_server_ni": ni(post_ns=2_000),
        "server_net": BUSY_LINK,
        "server_ni": ni(rx_ns=8_000),
        "repost_server_ns": 1_000_000,
        "ost": Service(128, ROOMY, ROOMY, 1),
        "end_ns": 20 * 10**9,
    }
    return plan(**(fields | changes))


NO_WIRE_CREDITS: dict[str, Any] = {"server_net": plan().server_net}
PLENTY = Service(ROOMY, ROOMY, ROOMY, 1)
LATE_REPLIES: dict[str, Any] = {"ping_service_ns": 4 * SLOW_OST, "ost": PLENTY}
FLOODS = {
    "eight credits that come back one by one": flood(1_000, 12, 200_000_000),
    "short of buffers, which replies on another CPT do not touch": flood(
        1_000,
        12,
        1,
        cpts=2,
        router_buffers=(1, 5, 1),
        pings=pings(((0,) * 12 + (-1,) * 12) * 500),
        ost=Service(3, ROOMY, ROOMY, 1),
    ),
    "credits by NOOPs of seven": flood(1_000, 12, 200_000_000, server_net=BUSY_LINK._replace(credits_highwater=7), **LATE_REPLIES),
    "126 credits by NOOPs of 63, short of buffers": flood(
        1_000,
        12,
        50_000_000,
        router_buffers=(1, 100, 1),
        server_net=BUSY_LINK._replace(wire_credits=126, credits_highwater=63, concurrent_sends=80),
        **LATE_REPLIES,
    ),
    "no wire credits, and more than one round": flood(1_000, 4, 1, pings=pings((5,) * 4_000, interval_ns=6 * 10**9), **NO_WIRE_CREDITS),
    "peer credits and few threads": flood(
        1_000, 12, 200_000_000, router_server_ni=ni(peer_credits=3, post_ns=5_000), ost=Service(2, ROOMY, ROOMY, 1), **NO_WIRE_CREDITS
    ),
}


@pytest.mark.parametrize("name", FLOODS)
def test_each_ping_of_a_flood_is_served_when_the_recursion_says(name: str) -> None:
    group = FLOODS[name]
    engine = Engine(group, trace=True)
    engine.advance(group.end_ns)
    served = [event.time_ns for event in engine.trace if event.kind == SERVED]
    expected = ping_times(group).served
    assert len(served) > 3_000
    assert served == expected[expected <= group.end_ns].tolist()


def test_the_reference_says_so_too() -> None:
    group = flood(40, 6, 1_000_000)
    run = simulate(group)
    assert sorted(time for _, _, time in run.ping_waits) == ping_times(group).served.tolist()
    assert sorted(accepted for _, accepted, _ in run.ping_waits) == ping_times(group).accepted.tolist()


@pytest.mark.parametrize(
    ("changes", "needs"),
    [
        ({"routers": 2}, "one router and one server"),
        ({"processes": (Process(0, WRITE, 0, 1, 1, 1, 0, 0),)}, "no I/O"),
        ({"server_net": BUSY_LINK._replace(protocol=1)}, "wire protocol 2"),
        ({"server_net": BUSY_LINK._replace(credits_highwater=2)}, "credits_highwater 1, so that no reply carries credits"),
        ({"server_net": BUSY_LINK._replace(concurrent_sends=4)}, "concurrent_sends of at least the wire credits"),
        ({"router_buffers": (1, 5, 1)}, "480 small buffers"),
        ({"cpts": 2, "router_buffers": (1, 5, 1)}, "480 small buffers"),
        ({"client_ni": ni(peer_credits=5)}, "clients with 6 credits"),
        ({"router_client_ni": ni(peer_buffer_credits=5)}, "6 peer router credits for a client"),
        ({"ost": Service(1, 239, 239, 1)}, "a request buffer for each ping"),
        ({"service_jitter": (ONE, 2 * ONE)}, "a constant service time"),
    ],
)
def test_a_plan_for_which_the_recursion_does_not_hold_is_refused_with_the_condition(changes: dict[str, Any], needs: str) -> None:
    with pytest.raises(SimulatorError, match=f"^the max-plus oracle does not hold for this plan: .*{needs}.*; use the engine$"):
        ping_times(flood(40, 6, 1_000_000, **changes))


def test_a_plan_without_pings_has_no_times() -> None:
    assert len(ping_times(flood(3, 1, 10, pings=pings((-1,) * 3))).served) == 0


@pytest.mark.parametrize(("load", "published", "within"), [(0.5, 0.5, 0.005), (0.8, 2.0, 0.005), (0.95, 9.5, 0.03)])
def test_one_fifo_server_waits_as_m_d_1(load: float, published: float, within: float) -> None:
    service = 10_000
    chance = np.random.default_rng(0).random(2_500_000)
    waits = []
    for uniform in (chance, 1 - chance):  # a sample and its mirror image: their errors partly cancel
        arrived = np.cumsum(-np.log(np.maximum(uniform, 1e-16)) * service / load).astype(np.int64)
        waits.append((lindley(arrived, service) - service - arrived).mean() / service)
    assert md1_wait(load) == pytest.approx(published)
    assert np.mean(waits) == pytest.approx(published, rel=within)


def test_the_receive_server_of_the_engine_is_an_m_d_1_station() -> None:
    clients, targets, service = 5_000, 4, 10_000
    times = np.cumsum(np.random.default_rng(5).exponential(service / 0.5, clients * targets)).astype(np.int64)
    group = plan(
        clients=clients,
        targets=targets,
        pings=pings(tuple(times.reshape(targets, clients).T.ravel().tolist())),
        client_ni=ni(post_ns=0),
        router_client_ni=ni(rx_ns=service),
        end_ns=int(times[-1]) + 10**9,
    )
    engine = Engine(group, trace=True)
    engine.advance(group.end_ns)
    arrived: dict[int, int] = {}
    waits = []
    for event in engine.trace:
        if event.kind == DELIVER:
            arrived.setdefault(event.number, event.time_ns)
        elif event.kind == RECEIVED:
            waits.append(event.time_ns - service - arrived[event.number])
    assert waits == (lindley(times, service) - service - times).tolist()
    assert np.mean(waits) / service == pytest.approx(md1_wait(0.5), rel=0.03)


@pytest.mark.parametrize(("threads", "load"), [(1, 0.6), (4, 0.7), (16, 0.9)])
def test_ost_threads_with_exponential_service_wait_as_m_m_c(threads: int, load: float) -> None:
    clients, service = 20_000, 1_000_000
    quantiles = -np.log1p(-(np.arange(4_096) + 0.5) / 4_096)
    times = np.cumsum(np.random.default_rng(11).exponential(service / threads / load, clients)).astype(np.int64)
    group = plan(
        clients=clients,
        pings=pings(tuple(times.tolist())),
        ping_service_ns=service,
        service_jitter=tuple((ONE * quantiles).round().astype(int).tolist()),
        ost=Service(threads, ROOMY, ROOMY, 1),
        end_ns=int(times[-1]) + 10**10,
    )
    engine = Engine(group)
    engine.advance(group.end_ns)
    wait = engine.services(2 + clients - 1)[0].req_waittime
    assert wait.samples == clients
    assert wait.sum * 1_000 / wait.samples / service == pytest.approx(mmc_wait(threads, load), rel=0.1)


def test_closed_forms_give_the_textbooks_numbers() -> None:
    assert mmc_wait(1, 0.8) == pytest.approx(4.0)  # M/M/1: load / (1 - load)
    assert mmc_wait(2, 0.5) == pytest.approx(1 / 3)
    assert mmck_loss(1, 1, 1.0) == pytest.approx(0.5)  # Erlang B
    assert mmck_loss(2, 2, 1.0) == pytest.approx(0.2)
    assert mmck_loss(8, 64, 7.2) == pytest.approx(1.925e-4, rel=1e-3)
    for load in (-0.1, 1.0, math.nan):
        with pytest.raises(SimulatorError, match="expected 0 to below 1"):
            md1_wait(load)
    with pytest.raises(SimulatorError, match="1 <= servers <= places"):
        mmck_loss(3, 2, 1.0)


@pytest.mark.parametrize(("window", "highwater", "share"), [(8, 1, 1.0), (8, 4, 0.998), (8, 7, 0.873), (126, 1, 1.0), (126, 63, 0.962)])
def test_a_saturated_connection_moves_its_window_in_each_round_trip_less_what_batching_noops_costs(
    window: int, highwater: int, share: float
) -> None:
    # Costs so small beside the credit's 2.3 ms that only the window limits: a reception takes 0.0006 of the round trip.
    net = O2IB._replace(wire_ns=2_000, wire_credits=window, credits_highwater=highwater, concurrent_sends=window)
    group = flood(
        500,
        20,
        1,
        server_net=net,
        client_ni=ni(post_ns=0),
        router_client_ni=ni(),
        router_server_ni=ni(post_ns=1_000),
        server_ni=ni(rx_ns=1_400),
        repost_server_ns=2_300_000,
        **LATE_REPLIES,
    )
    round_trip = 1_000 + 2_000 + 1_400 + 2_300_000 + 2_000
    engine = Engine(group, trace=True)
    engine.advance(group.end_ns)
    served = np.array([event.time_ns for event in engine.trace if event.kind == SERVED])
    assert served.tolist() == ping_times(group).served.tolist()
    half = len(served) // 2 // window * window  # whole windows, and neither start nor end
    rate = 1e9 * half / (served[window + half] - served[window])
    assert rate == pytest.approx(window_rate(window, highwater, round_trip, 1_400), rel=0.002)
    assert rate * round_trip / 1e9 / window == pytest.approx(share, abs=0.003)


def test_credits_that_can_never_come_back_are_told() -> None:
    with pytest.raises(SimulatorError, match="credits_highwater 9 with 8 credits: they never come back; expected at most 8"):
        window_rate(8, 9, 1_000, 1)
