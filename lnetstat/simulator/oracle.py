"""What a ping flood must look like by arithmetic alone: a max-plus recursion for one router and one server, and closed forms of queueing.

No events here: each ping's times follow from those of earlier pings, so an error in the engine's order of things cannot be repeated here.
"""

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.errors import SimulatorError
from lnetstat.simulator.plan import ONE, Plan

Times = npt.NDArray[np.int64]
PAGE_BYTES = 4096
NEVER = 1 << 62
REFUSAL = "the max-plus oracle does not hold for this plan"


class PingTimes(NamedTuple):
    """When each ping passed each place, in ns; one element per ping, in the order in which pings arrive at the router."""

    arrived: Times  # in the router's memory
    received: Times  # through the router's receive server
    delivered: Times  # in the server's memory, which is also when the router's credits and buffer are free again
    accepted: Times  # through the server's receive server, in a request buffer
    served: Times  # an ost thread is done with it; the reply leaves


def ping_times(plan: Plan) -> PingTimes:
    """Return the times of all pings sent up to the plan's end, also where a ping ends later.

    Holds for pings alone, with one router and one server, where the order of messages cannot depend on credits (`conditions`).
    Raises SimulatorError with the first condition that the plan does not meet. Recursion: SIMULATOR.md, section 3.2.
    """
    for holds, condition in conditions(plan):
        if not holds:
            raise SimulatorError(f"{REFUSAL}: it needs {condition}; use the engine")
    arrived = arrivals(plan)
    if len(_client_cpts(plan)) > 1 and plan.router_buffers[1] < 2 * len(arrived):
        raise SimulatorError(f"{REFUSAL}: its clients are on several CPTs, so it needs {2 * len(arrived)} small buffers; use the engine")
    times = _recursion(plan, arrived)
    replies_late = len(arrived) == 0 or times.served[0] > times.accepted[-1]
    for holds, condition in _conditions_of_replies(plan, len(arrived)):
        if not (holds or replies_late):
            raise SimulatorError(f"{REFUSAL}: replies come among requests, so it needs {condition}; use the engine")
    return times


def conditions(plan: Plan) -> Iterator[tuple[bool, str]]:
    """Yield what must hold: whether it does, and what it is in words."""
    net, per_client = plan.server_net, _pings_of_a_client(plan)
    yield (plan.routers, plan.servers, plan.rails) == (1, 1, 1), "one router and one server"
    yield not plan.processes, "no I/O"
    yield 0 < plan.ping_bytes <= PAGE_BYTES, "pings of 1 to 4096 bytes"
    yield plan.pings.aligned or plan.pings.early_permille == 0, "pings that come at their interval"
    yield plan.pings.idle_ns == 0, "imports that stay connected"
    yield plan.client_net.wire_credits == 0, "a clients' network without wire credits"
    yield min(plan.client_ni.credits, plan.client_ni.peer_credits) >= per_client, f"clients with {per_client} credits"
    yield plan.router_client_ni.peer_buffer_credits >= per_client, f"{per_client} peer router credits for a client"
    yield plan.router_client_ni.eager_ns <= 0, "a router without eager receives, or with free ones"
    yield net.wire_credits == 0 or net.protocol == 2, "wire protocol 2"
    yield net.wire_credits == 0 or 1 <= net.credits_highwater <= net.wire_credits, "credits_highwater from 1 to the wire credits"
    yield plan.ost.buffers >= per_client * plan.clients, "a request buffer for each ping"
    yield len(set(plan.service_jitter)) == 1, "a constant service time"


def _conditions_of_replies(plan: Plan, pings: int) -> Iterator[tuple[bool, str]]:
    """What else must hold where replies leave before the last ping is accepted."""
    net, small = plan.server_net, plan.router_buffers[1]
    apart = _client_cpts(plan).isdisjoint({(plan.clients + 1) % plan.cpts})
    yield small >= 2 * pings or apart, f"{2 * pings} small buffers, or CPTs that keep replies out of the requests' buffers"
    yield net.wire_credits == 0 or net.credits_highwater == 1, "credits_highwater 1, so that no reply carries credits"
    yield net.wire_credits == 0 or net.concurrent_sends >= net.wire_credits, "concurrent_sends of at least the wire credits"


def _client_cpts(plan: Plan) -> set[int]:
    """The router's CPTs that keep the entries of clients which ping."""
    first = np.asarray(plan.pings.first_ns).reshape(plan.clients, -1)
    return {int(client) % plan.cpts for client in np.flatnonzero((first >= 0).any(axis=1))}


def _pings_of_a_client(plan: Plan) -> int:
    """The most pings that one client sends until the end."""
    return int((_sent(plan) < NEVER).sum(axis=1).max())


def _sent(plan: Plan) -> Times:
    """Ping times (client, ping) up to the end, ascending; NEVER fills up."""
    first = np.asarray(plan.pings.first_ns, dtype=np.int64).reshape(plan.clients, -1)
    rounds = int(max(0, plan.end_ns - first[first >= 0].min(initial=plan.end_ns)) // plan.pings.interval_ns) + 1
    sent = (first[:, :, None] + plan.pings.interval_ns * np.arange(rounds)).reshape(plan.clients, -1)
    never = np.repeat(first < 0, rounds, axis=1) | (sent > plan.end_ns)
    return np.sort(np.where(never, NEVER, sent), axis=1)


def arrivals(plan: Plan) -> Times:
    """When the pings arrive in the router's memory, ascending: each client sends one after the other."""
    sent, post_ns = _sent(plan), plan.client_ni.post_ns
    done = lindley(sent, post_ns)
    return np.sort(done[sent < NEVER]) + plan.client_net.wire_ns


def lindley(arrived: Times, service_ns: int) -> Times:
    """Return when one FIFO server with a constant service time is done with each; ascending arrivals along the last axis."""
    number = np.arange(arrived.shape[-1])
    return np.maximum.accumulate(arrived - number * service_ns, axis=-1) + (number + 1) * service_ns


def _recursion(plan: Plan, arrived: Times) -> PingTimes:
    """Plain integers in loops: a ping waits for one a window before it, and windows can be 1."""
    received = arrived if plan.router_client_ni.rx_ns == 0 else lindley(arrived, plan.router_client_ni.rx_ns)
    net, router = plan.server_net, plan.router_server_ni
    window = min(plan.router_buffers[1], router.peer_credits, router.credits)
    wire, highwater = NEVER, 1
    if net.wire_credits:
        window, wire, highwater = min(window, net.concurrent_sends), net.wire_credits, net.credits_highwater
    back_ns = plan.repost_server_ns + net.wire_ns
    delivered: list[int] = []
    accepted: list[int] = []
    sent = accepted_last = 0
    for i, ready in enumerate(received.tolist()):
        if i >= window:
            ready = max(ready, delivered[i - window])
        if i >= wire:  # credit k comes back with the NOOP after reception b(k)
            ready = max(ready, accepted[((i - wire) // highwater + 1) * highwater - 1] + back_ns)
        sent = max(ready, sent) + router.post_ns
        delivered.append(sent + net.wire_ns)
        accepted_last = max(delivered[i], accepted_last) + plan.server_ni.rx_ns
        accepted.append(accepted_last)
    return PingTimes(arrived, received, np.array(delivered, dtype=np.int64), np.array(accepted, dtype=np.int64), _served(plan, accepted))


def _served(plan: Plan, accepted: list[int]) -> Times:
    """The ost threads: the first free one takes the next ping."""
    service_ns = plan.ping_service_ns * int(plan.service_jitter[0]) // ONE
    served: list[int] = []
    for i, ready in enumerate(accepted):
        served.append(max(ready, served[i - plan.ost.threads] if i >= plan.ost.threads else 0) + service_ns)
    return np.array(served, dtype=np.int64)


def md1_wait(load: float) -> float:
    """Mean wait of an M/D/1 queue in service times (Pollaczek and Khinchin)."""
    _check_load(load)
    return load / (2 * (1 - load))


def mmc_wait(servers: int, load: float) -> float:
    """Mean wait of an M/M/c queue in service times; `load` = arrival rate / (servers * service rate) (Erlang C)."""
    _check_load(load)
    offered = servers * load
    terms = list(accumulate(range(1, servers + 1), lambda term, n: term * offered / n, initial=1.0))
    waiting = terms[-1] / (1 - load)
    return waiting / (sum(terms[:-1]) + waiting) / (servers * (1 - load))


def mmck_loss(servers: int, places: int, offered: float) -> float:
    """Share of arrivals that an M/M/c/K queue turns away; `offered` = arrival rate / service rate, `places` with those in service."""
    if servers < 1 or places < servers or offered < 0:
        raise SimulatorError(f"M/M/{servers}/{places} with {offered} offered: expected 1 <= servers <= places and nothing negative")
    terms = list(accumulate(range(1, places + 1), lambda term, n: term * offered / min(n, servers), initial=1.0))
    return terms[-1] / math.fsum(terms)


def _check_load(load: float) -> None:
    if not 0 <= load < 1:
        raise SimulatorError(f"a load of {load}: expected 0 to below 1 (a queue with more never comes to rest)")


def window_rate(window: int, highwater: int, round_trip_ns: int, spacing_ns: int) -> float:
    """Messages per second of a saturated connection whose credits come back `highwater` at a time.

    `round_trip_ns`: send, wire, reception, credit return and wire of one message alone. `spacing_ns`: the slowest serial server on the way.
    Of window = n * highwater + rest credits n * highwater go round; a group's NOOP leaves with its message number highwater - rest.
    """
    groups, rest = divmod(window, highwater)
    if groups == 0:
        raise SimulatorError(f"credits_highwater {highwater} with {window} credits: they never come back; expected at most {window}")
    credit_rate = groups * highwater / (round_trip_ns + (highwater - 1 - rest) * spacing_ns)
    return 1e9 * min(credit_rate, 1 / spacing_ns if spacing_ns else math.inf)
