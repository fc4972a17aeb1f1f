"""The kernel's own assertions, and conservation: what must hold between any two events."""

import numpy as np

from lnetstat.simulator.kernel.build import Array, Places
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.plan import Plan


def check(m: Array, places: Places, plan: Plan) -> None:
    """Raise AssertionError with words where a credit, a queue or a message is not accounted for."""
    entries = m[places.entries : places.connections].reshape(-1, ENTRY)
    limits, router_limits = m[entries[:, NI_OF] + NI_PEER_CREDITS], m[entries[:, NI_OF] + NI_PEER_BUFFER_CREDITS]
    for row, limit in zip(entries[:, TX : TXQ_FIRST + 1], limits, strict=True):
        _check_credits(m, "tx credits of a peer", row[TX], row[TX_MIN], limit, row[TXQ_FIRST])
    awaiting: list[int] = []  # messages that wait for a router's credit or buffer
    for row, limit in zip(entries, router_limits, strict=True):
        awaiting += _check_credits(m, "router credits of a peer", row[RTR], row[RTR_MIN], limit, row[RTRQ_FIRST])
    queues = m[places.queues : places.entries].reshape(-1, QUEUE)
    pools = m[places.pools : places.pools + plan.routers * plan.cpts * 3 * QUEUE].reshape(-1, QUEUE)
    for row in queues:
        _check_credits(m, "NI credits", row[CREDITS], row[CREDITS_MIN], row[CREDITS_MAX], row[QUEUE_FIRST])
    for row in pools:
        awaiting += _check_credits(m, "router buffers", row[CREDITS], row[CREDITS_MIN], row[CREDITS_MAX], row[QUEUE_FIRST])
    _check_wire(m, places, entries)
    _check_free(m)
    _check_buffers(m, places, plan, entries, awaiting)


def _check_credits(m: Array, name: str, now: int, low: int, limit: int, first: int) -> list[int]:
    """lnet/lib-move.c: credits are below zero exactly while somebody waits, and as many wait as are short. Returns those that wait."""
    assert low <= now <= limit, f"{name}: {now} is outside {low}…{limit}"
    waiting = []
    address = int(first)
    while address:
        waiting.append(address)
        address = int(m[address + NEXT])
    assert len(waiting) == max(-now, 0), f"{name}: {now}, but {len(waiting)} messages wait"
    return waiting


def _check_wire(m: Array, places: Places, entries: Array) -> None:
    """klnds/o2iblnd: neither end of a connection has more credits than its window."""
    own = entries[entries[:, CONNECTION_OF] > 0]
    window = m[own[:, NI_OF] + WINDOW]
    for field in (WIRE_CREDITS, OUTSTANDING):
        wire = m[own[:, CONNECTION_OF] + field]
        assert np.all((wire >= 0) & (wire <= window)), f"wire credits from {wire.min()} to {wire.max()}"


def _check_free(m: Array) -> None:
    """Every message is either free or some RPC's."""
    free, address = (len(m) - int(m[UNUSED_MESSAGE])) // MESSAGE, int(m[FREE_MESSAGE])
    while address:
        free += 1
        address = int(m[address + NEXT])
    assert free == m[FREE_COUNT], f"{free} free messages, {m[FREE_COUNT]} counted"


def _check_buffers(m: Array, places: Places, plan: Plan, entries: Array, awaiting: list[int]) -> None:
    """Identity I1: what a router's buffers hold is on its way to a peer, or still being copied in."""
    if not plan.routers:
        return
    messages = m[places.messages : int(m[UNUSED_MESSAGE])].reshape(-1, MESSAGE)
    granted = ~np.isin(places.messages + np.arange(len(messages)) * MESSAGE, awaiting)
    coming = messages[granted & (messages[:, RX_ENTRY] != 0) & (messages[:, PHASE] != WHOLE)]
    sender = m[m[coming[:, TX_ENTRY] + NI_OF] + NI_NODE]
    holder = m[m[coming[:, RX_ENTRY] + NI_OF] + NI_NODE]
    holder = holder[sender != holder]
    of_node = m[entries[:, NI_OF] + NI_NODE]
    out = m[entries[:, NI_OF] + NI_PEER_CREDITS] - entries[:, TX]
    for number in range(plan.routers):
        router = places.nodes + (plan.clients + number) * NODE
        first = int(m[router + POOLS])
        pools = m[first : first + plan.cpts * 3 * QUEUE].reshape(-1, QUEUE)
        held = int(np.sum(pools[:, CREDITS_MAX] - np.maximum(pools[:, CREDITS], 0)))
        sent, copied = int(np.sum(out[of_node == router])), int(np.count_nonzero(holder == router))
        assert held == sent + copied, f"router {number}: {held} buffers held, {sent} messages on their way out, {copied} on their way in"
