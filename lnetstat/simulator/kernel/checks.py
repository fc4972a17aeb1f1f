"""The kernel's own assertions, and conservation: what must hold between any two events."""

import numpy as np

from lnetstat.simulator.kernel.build import Array, Places
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.plan import Plan


def check(m: Array, places: Places, plan: Plan) -> None:
    """Raise AssertionError with words where a credit, a queue or a message is not accounted for."""
    entries = m[places.entries : places.entries + _entries(plan) * ENTRY].reshape(-1, ENTRY)
    for row in entries:
        _check_credits(m, "tx credits of a peer", int(row[TX]), int(row[TX_MIN]), int(row[TX_MAX]), int(row[TXQ_FIRST]))
        _check_credits(m, "router credits of a peer", int(row[RTR]), int(row[RTR_MIN]), int(row[RTR_MAX]), int(row[RTRQ_FIRST]))
        assert 0 <= row[WIRE_CREDITS] + row[OUTSTANDING] <= 2 * m[row[NI_OF] + WINDOW] + 1, f"wire credits {row[WIRE_CREDITS]}"
    queues = m[places.queues : places.queues + _queues(plan) * QUEUE].reshape(-1, QUEUE)
    pools = m[places.pools : places.pools + plan.routers * plan.cpts * 3 * QUEUE].reshape(-1, QUEUE)
    for name, rows in (("NI credits", queues), ("router buffers", pools)):
        for row in rows:
            _check_credits(m, name, int(row[CREDITS]), int(row[CREDITS_MIN]), int(row[CREDITS_MAX]), int(row[QUEUE_FIRST]))
    _check_messages(m, places)
    _check_buffers(m, places, plan, entries)


def _entries(plan: Plan) -> int:
    pairs = plan.rails * plan.rails
    if not plan.routers:
        return 2 * plan.clients * plan.servers * pairs
    return 2 * plan.routers * (plan.clients + plan.servers)


def _queues(plan: Plan) -> int:
    return plan.clients * plan.rails + (2 * plan.routers + plan.servers * plan.rails) * plan.cpts


def _check_credits(m: Array, name: str, now: int, low: int, limit: int, first: int) -> None:
    """lnet/lib-move.c: credits below zero exactly while somebody waits, and as many wait as are short."""
    assert low <= now <= limit, f"{name}: {now} is outside {low}…{limit}"
    waiting = 0
    while first:
        waiting += 1
        first = int(m[first + NEXT])
    assert waiting == max(-now, 0), f"{name}: {now}, but {waiting} messages wait"


def _check_messages(m: Array, places: Places) -> None:
    """Every message is either free or some RPC's."""
    free, address = 0, int(m[FREE_MESSAGE])
    while address:
        free += 1
        address = int(m[address + NEXT])
    assert free == m[FREE_COUNT], f"{free} free messages, {m[FREE_COUNT]} counted"


def _check_buffers(m: Array, places: Places, plan: Plan, entries: Array) -> None:
    """Identity I1: what a router's buffers hold is on its way to a peer, or still being copied in."""
    if not plan.routers:
        return
    messages = m[places.messages :].reshape(-1, MESSAGE)
    held = messages[messages[:, POOL] != 0]
    sender = m[m[held[:, TX_ENTRY] + NI_OF] + NI_NODE]
    holder = m[m[held[:, RX_ENTRY] + NI_OF] + NI_NODE]
    copied_in = held[sender != holder]  # their data is still on its way into the buffer
    of_node = m[m[entries[:, NI_OF] + NI_NODE] + NODE_INDEX]
    for router in range(plan.clients, plan.clients + plan.routers):
        first = int(m[places.nodes + router * NODE + POOLS])
        pools = m[first : first + plan.cpts * 3 * QUEUE].reshape(-1, QUEUE)
        granted = int(np.sum(pools[:, CREDITS_MAX] - np.maximum(pools[:, CREDITS], 0)))
        out = int(np.sum((entries[:, TX_MAX] - entries[:, TX])[of_node == router]))
        coming = int(np.count_nonzero((copied_in[:, POOL] >= first) & (copied_in[:, POOL] < first + plan.cpts * 3 * QUEUE)))
        assert granted == out + coming, f"router {router}: {granted} buffers granted, {out} messages out, {coming} coming in"

