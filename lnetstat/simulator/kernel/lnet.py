"""LNet's credits: taking them to send and to route, giving them back (lnet/lib-move.c)."""

from lnetstat.simulator.kernel.events import *
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.kernel.o2ib import *


def begin_short(m: Memory, q: int) -> None:
    """A queue's credits went below zero."""
    if m[q + CREDITS] == -1:
        m[q + SHORT_SINCE] = m[NOW]


def end_short(m: Memory, q: int, msg: int) -> None:
    """A message leaves the queue; with the last one the shortage ends."""
    m[q + WAIT] += m[NOW] - m[msg + AT]
    m[q + WAITS] += 1
    if m[q + CREDITS] == 0:
        m[q + SHORT] += m[NOW] - m[q + SHORT_SINCE]


def post_send(m: Memory, h: Memory, msg: int, p: int) -> None:
    """Take the credit of the peer, then that of the NI, then send (lnet_post_send_locked)."""
    m[msg + TX_ENTRY] = p
    tx = m[p + TX] - 1
    m[p + TX] = tx
    m[p + QUEUE_BYTES] += m[msg + PAYLOAD] + HEADER_BYTES
    if tx < m[p + TX_MIN]:
        m[p + TX_MIN] = tx
    if tx < 0:
        if tx == -1 and m[p + CONNECTION_OF] != 0:
            m[m[p + CONNECTION_OF] + ENTRY_SHORT_SINCE] = m[NOW]
        m[msg + AT] = m[NOW]
        append(m, p + TXQ_FIRST, msg)
        return
    take_ni(m, h, msg)


def take_ni(m: Memory, h: Memory, msg: int) -> None:
    """Take the NI's credit, then send."""
    q = m[m[msg + TX_ENTRY] + NI_QUEUE_OF]
    left = m[q + CREDITS] - 1
    m[q + CREDITS] = left
    if left < m[q + CREDITS_MIN]:
        m[q + CREDITS_MIN] = left
    if left < 0:
        begin_short(m, q)
        m[msg + AT] = m[NOW]
        append(m, q + QUEUE_FIRST, msg)
        return
    lnd_send(m, h, msg)


def count_sent(m: Memory, node: int, msg: int) -> None:
    """Count a message that reached its next node; what it is next has all its retries (msg_retry_count is of one message)."""
    m[msg + RETRIES] = 0
    if m[node + NODE_ROLE] == ROUTER:
        m[node + ROUTE_COUNT] += 1
        m[node + ROUTE_LENGTH] += m[msg + PAYLOAD]
    else:
        m[node + SEND_COUNT] += 1
        m[node + SEND_LENGTH] += m[msg + PAYLOAD]


def return_credits(m: Memory, h: Memory, msg: int) -> None:
    """Give back in the kernel's order: NI, peer, buffer, peer router credit; each return may set the next message going.

    lnet_return_tx_credits_locked, lnet_return_rx_credits_locked.
    """
    p = m[msg + TX_ENTRY]
    node = m[m[p + NI_OF] + NI_NODE]
    m[node + MSGS] -= 1
    m[MESSAGE_COUNT] += 1
    q = m[p + NI_QUEUE_OF]
    m[q + CREDITS] += 1
    if m[q + CREDITS] <= 0:
        following = take(m, q + QUEUE_FIRST)
        end_short(m, q, following)
        lnd_send(m, h, following)
    m[p + QUEUE_BYTES] -= m[msg + PAYLOAD] + HEADER_BYTES
    m[p + TX] += 1
    if m[p + TX] <= 0:
        following = take(m, p + TXQ_FIRST)
        if m[p + CONNECTION_OF] != 0:
            count_wait(m, m[p + CONNECTION_OF], m[NOW] - m[following + AT], m[p + TX] == 0)
        take_ni(m, h, following)
    if m[node + NODE_ROLE] == ROUTER:
        return_buffer(m, h, msg)


def count_wait(m: Memory, c: int, wait_ns: int, last: bool) -> None:
    """A message got the credit of its peer after waiting; with the last one the shortage ends."""
    m[c + ENTRY_WAIT] += wait_ns
    m[c + ENTRY_WAITS] += 1
    if last:
        m[c + ENTRY_SHORT] += m[NOW] - m[c + ENTRY_SHORT_SINCE]


def return_buffer(m: Memory, h: Memory, msg: int) -> None:
    """Give back a router's buffer, then the credit of the peer that filled it."""
    r = m[msg + RX_ENTRY]
    pool = pool_for(m, msg, r)
    m[msg + RX_ENTRY] = 0
    m[pool + CREDITS] += 1
    if m[pool + CREDITS] <= 0:
        following = take(m, pool + QUEUE_FIRST)
        end_short(m, pool, following)
        granted(m, h, following)
    m[r + RTR] += 1
    if m[r + RTR] <= 0:
        take_buffer(m, h, take(m, r + RTRQ_FIRST))


def pool_for(m: Memory, msg: int, r: int) -> int:
    """The pool for a payload, of the sending peer's CPT (lnet_msg2bufpool)."""
    payload = m[msg + PAYLOAD]
    size = 0 if payload == 0 else 1 if payload <= PAGE_BYTES else 2
    return m[r + POOLS_OF] + size * QUEUE


def take_buffer(m: Memory, h: Memory, msg: int) -> None:
    """Take a router buffer, or wait for one with the router credit in hand."""
    pool = pool_for(m, msg, m[msg + RX_ENTRY])
    left = m[pool + CREDITS] - 1
    m[pool + CREDITS] = left
    if left < m[pool + CREDITS_MIN]:
        m[pool + CREDITS_MIN] = left
    if left < 0:
        begin_short(m, pool)
        m[msg + AT] = m[NOW]
        append(m, pool + QUEUE_FIRST, msg)
        return
    granted(m, h, msg)


def granted(m: Memory, h: Memory, msg: int) -> None:
    """A buffer is there: the data may come, or, when it is in it, go on."""
    r = m[msg + RX_ENTRY]
    if m[msg + PHASE] == REQ:
        send_ack(m, h, msg, r)
        return
    if m[m[r + NI_OF] + WINDOW]:
        repost(m, h, r)
    forward(m, h, msg)


def forward(m: Memory, h: Memory, msg: int) -> None:
    """Send on what a router holds, towards the server or back to the client."""
    router = m[m[m[msg + RX_ENTRY] + NI_OF] + NI_NODE]
    stage = m[msg + STAGE]
    upwards = stage == REQUEST or stage == DATA_ACK or (stage == DATA and m[msg + KIND] == WRITE)
    if upwards:
        server = m[m[msg + OF_SERVER] + NODE_INDEX] - m[CLIENTS] - m[ROUTERS]
        post_send(m, h, msg, m[router + SERVER_ENTRIES] + server * ENTRY)
    else:
        post_send(m, h, msg, m[router + ENTRIES] + m[m[msg + OF_CLIENT] + NODE_INDEX] * ENTRY)


def route_in(m: Memory, h: Memory, msg: int, r: int) -> int:
    """A router takes in a message; the cost of an eager receive where it had to (lnet_parse_forward_locked)."""
    ni = m[r + NI_OF]
    router = m[ni + NI_NODE]
    count_in(m, router)
    if m[msg + KIND] == PING and m[msg + STAGE] == REQUEST:
        m[m[PINGS_ROUTED] + m[router + NODE_INDEX] - m[CLIENTS]] += 1
    m[msg + RX_ENTRY] = r
    extra = 0
    if m[ni + EAGER] >= 0 and (m[r + RTR] <= 0 or m[pool_for(m, msg, r) + CREDITS] <= 0):
        extra = m[ni + EAGER]
    rtr = m[r + RTR] - 1
    m[r + RTR] = rtr
    if rtr < m[r + RTR_MIN]:
        m[r + RTR_MIN] = rtr
    if rtr < 0:
        append(m, r + RTRQ_FIRST, msg)
    else:
        take_buffer(m, h, msg)
    return extra


def count_in(m: Memory, node: int) -> None:
    """One more message on a node."""
    m[node + MSGS] += 1
    if m[node + MSGS] > m[node + MSGS_MAX]:
        m[node + MSGS_MAX] = m[node + MSGS]


def send(m: Memory, h: Memory, msg: int, node: int) -> None:
    """Send a message of a client or server: choose the way, then take the credits."""
    count_in(m, node)
    if m[ROUTERS] > 0:
        post_send(m, h, msg, choose_gateway(m, node))
    else:
        post_send(m, h, msg, choose_rail(m, node, msg))


def choose_gateway(m: Memory, node: int) -> int:
    """The router with the fewest queued bytes, then most credits, then least recently used (lnet_compare_routes)."""
    turn = m[node + TURN] + 1
    m[node + TURN] = turn
    best = m[node + ENTRIES]
    balance = m[BALANCE]
    e = best
    for _ in range(1, m[ROUTERS]):
        e += ENTRY
        if balance:
            if m[e + QUEUE_BYTES] != m[best + QUEUE_BYTES]:
                better = m[e + QUEUE_BYTES] < m[best + QUEUE_BYTES]
            elif m[e + TX] != m[best + TX]:
                better = m[e + TX] > m[best + TX]
            else:
                better = m[e + SEQ] <= m[best + SEQ]
        else:
            better = m[e + SEQ] < m[best + SEQ]
        if better:
            best = e
    m[best + SEQ] = turn
    return best


def choose_rail(m: Memory, node: int, msg: int) -> int:
    """The healthiest own NI, then the healthiest remote one; then by credits, then least recently used (lnet_select_pathway)."""
    turn = m[node + TURN] + 1
    m[node + TURN] = turn
    if m[node + NODE_ROLE] == CLIENT:
        remote = m[m[msg + OF_SERVER] + NODE_INDEX] - m[CLIENTS]
    else:
        remote = m[m[msg + OF_CLIENT] + NODE_INDEX]
    rails = m[RAILS]
    best = m[node + ENTRIES] + remote * rails * rails * ENTRY
    for rail in range(1, rails):
        e = m[node + ENTRIES] + (remote * rails + rail) * rails * ENTRY
        if better_ni(m, e, best):
            best = e
    m[m[best + NI_OF] + NI_SEQ] = turn
    return choose_remote(m, best, turn)


def better_ni(m: Memory, e: int, best: int) -> bool:
    """Compare two own NIs by the first of each one's entries for the node to send to."""
    ni = m[e + NI_OF]
    other = m[best + NI_OF]
    if m[ni + HEALTH] != m[other + HEALTH]:
        return m[ni + HEALTH] > m[other + HEALTH]
    left = m[m[e + NI_QUEUE_OF] + CREDITS]
    others = m[m[best + NI_QUEUE_OF] + CREDITS]
    return left > others or (left == others and m[ni + NI_SEQ] < m[other + NI_SEQ])


def choose_remote(m: Memory, first: int, turn: int) -> int:
    """The best of a node's NIs to send to, from one own NI."""
    best = first
    for rail in range(1, m[RAILS]):
        e = first + rail * ENTRY
        health = m[m[e + CONNECTION_OF] + ENTRY_HEALTH]
        best_health = m[m[best + CONNECTION_OF] + ENTRY_HEALTH]
        if health != best_health:
            better = health > best_health
        elif m[e + TX] != m[best + TX]:
            better = m[e + TX] > m[best + TX]
        else:
            better = m[e + SEQ] < m[best + SEQ]
        if better:
            best = e
    m[best + SEQ] = turn
    return best
