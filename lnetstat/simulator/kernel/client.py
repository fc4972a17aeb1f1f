"""Clients: the pinger (ptlrpc/pinger.c) and I/O processes with their RPCs in flight."""

from lnetstat.simulator.kernel.events import *
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.kernel.lnet import *
from lnetstat.simulator.kernel.ptlrpc import *


def new_rpc(m: Memory, kind: int, client: int, target: int, payload: int) -> int:
    """Make the message of a new RPC."""
    msg = m[FREE_MESSAGE]
    if msg != 0:
        m[FREE_MESSAGE] = m[msg + NEXT]
    else:
        msg = m[UNUSED_MESSAGE]
        m[UNUSED_MESSAGE] = msg + MESSAGE
    m[FREE_COUNT] -= 1
    m[msg + NEXT] = 0
    m[msg + KIND] = kind
    m[msg + STAGE] = REQUEST
    m[msg + PAYLOAD] = payload
    m[msg + NUMBER] = m[SERIAL]
    m[SERIAL] += 1
    m[msg + OF_CLIENT] = client
    m[msg + OF_SERVER] = m[FIRST_NODE] + (m[CLIENTS] + m[ROUTERS] + target % m[SERVERS]) * NODE
    m[msg + RX_ENTRY] = 0
    m[msg + CARRIED] = 0
    m[msg + RETRIES] = 0
    return msg


def free_rpc(m: Memory, msg: int) -> None:
    """An RPC is done: its message is free again."""
    m[msg + NEXT] = m[FREE_MESSAGE]
    m[FREE_MESSAGE] = msg
    m[FREE_COUNT] += 1


def handle_pinger(m: Memory, h: Memory, client: int) -> None:
    """Ping every import that is due, then sleep until the next is."""
    now = m[NOW]
    imports = m[IMPORTS]
    number = m[client + NODE_INDEX]
    first = m[IMPORT_NEXT] + number * imports
    aligned = m[ALIGNED]
    step = m[INTERVAL]
    if not aligned and m[EARLY_PERMILLE]:
        share = m[EARLY_PERMILLE] * (hashed(m, number * 613 + m[client + ROUND]) & 1023) // 1024
        step -= m[INTERVAL] // 1000 * share
    wake = NEVER
    due = False
    for i in range(imports):
        at = m[first + i]
        if at < 0:
            continue
        if at <= now:
            due = True
            if connected(m, number * imports + i, i % m[TARGETS]):
                ping(m, h, client, i)
            at = at + step if aligned else now + step
            m[first + i] = at
        wake = min(wake, at)
    if due:
        m[client + ROUND] += 1
    if wake < NEVER:
        schedule(m, h, RING_PINGER, wake, PINGER, client)


def connected(m: Memory, imported: int, target: int) -> bool:
    """Tell whether an import is still connected, and so pinged."""
    if m[IDLE] == 0 or target < m[KEEP]:
        return True
    last = m[m[IMPORT_LAST] + imported]
    return last >= 0 and m[NOW] - last <= m[IDLE]


def ping(m: Memory, h: Memory, client: int, i: int) -> None:
    """Ping the server of import i."""
    target = i % m[TARGETS]
    msg = new_rpc(m, PING, client, target, m[PING_BYTES])
    m[m[PINGS_SENT] + target % m[SERVERS]] += 1
    send(m, h, msg, client)


def handle_start(m: Memory, h: Memory, process: int) -> None:
    """A process begins: it fills the window of each of its stripes."""
    for stripe in range(m[process + P_STRIPES]):
        for _ in range(m[process + P_WINDOW]):
            if has_more(m, process):
                issue(m, h, process, stripe)


def has_more(m: Memory, process: int) -> bool:
    """Tell whether a process has RPCs left to send."""
    return m[process + P_TOTAL] == 0 or m[process + P_ISSUED] < m[process + P_TOTAL]


def issue(m: Memory, h: Memory, process: int, stripe: int) -> None:
    """Send the next RPC of one stripe; an RPC postpones the ping of its import, but for aligned pings."""
    target = (m[process + P_FIRST_TARGET] + stripe) % m[TARGETS]
    m[process + P_ISSUED] += 1
    client = m[process + P_CLIENT]
    msg = new_rpc(m, m[process + P_KIND], client, target, m[REQUEST_BYTES])
    m[msg + OF] = process + (stripe << STRIPE_SHIFT)
    imported = m[client + NODE_INDEX] * m[IMPORTS] + target
    m[m[IMPORT_LAST] + imported] = m[NOW]
    if not m[ALIGNED] and m[m[IMPORT_NEXT] + imported] >= 0:
        m[m[IMPORT_NEXT] + imported] = m[NOW] + m[INTERVAL]
    send(m, h, msg, client)


def rpc_done(m: Memory, h: Memory, msg: int) -> None:
    """The reply is here."""
    if m[msg + KIND] == PING:
        free_rpc(m, msg)
        return
    number = m[msg + OF]
    process = number & ADDRESS_MASK
    free_rpc(m, msg)
    m[process + P_DONE] += 1
    if not has_more(m, process):
        return
    if m[process + P_THINK] > 0:
        schedule(m, h, NO_RING, m[NOW] + m[process + P_THINK], THINK, number)
    else:
        issue(m, h, process, number >> STRIPE_SHIFT)


def handle_think(m: Memory, h: Memory, number: int) -> None:
    """A process has thought: the next RPC of one stripe."""
    process = number & ADDRESS_MASK
    if has_more(m, process):
        issue(m, h, process, number >> STRIPE_SHIFT)


def consume(m: Memory, h: Memory, msg: int, r: int, node: int) -> None:
    """A message is at the end of its way."""
    m[node + RECV_COUNT] += 1
    m[node + RECV_LENGTH] += m[msg + PAYLOAD]
    stage = m[msg + STAGE]
    if m[node + NODE_ROLE] == CLIENT:
        if stage == REPLY:
            rpc_done(m, h, msg)
            return
        if stage == GET:
            m[msg + PAYLOAD] = m[BULK_BYTES]
            m[msg + STAGE] = DATA
        else:
            m[msg + PAYLOAD] = 0
            m[msg + STAGE] = DATA_ACK
        send(m, h, msg, node)
    elif stage == REQUEST:
        request_in(m, h, msg, r)
    elif stage == DATA:
        disk(m, h, msg)
    else:
        reply(m, h, msg)


def received(m: Memory, h: Memory, msg: int) -> int:
    """A node has received a message; the extra time that this took its receive server."""
    r = m[m[msg + TX_ENTRY] + OTHER]
    ni = m[r + NI_OF]
    node = m[ni + NI_NODE]
    window = m[ni + WINDOW]
    if window:
        unpack(m, h, r, msg)
    phase = m[msg + PHASE]
    router = m[node + NODE_ROLE] == ROUTER
    if phase == DONE:
        if window:
            repost(m, h, r)
        if router:
            forward(m, h, msg)
        else:
            consume(m, h, msg, r, node)
        return 0
    if router:
        return route_in(m, h, msg, r)
    if phase == REQ:
        send_ack(m, h, msg, r)
    else:
        if window and (m[node + NODE_ROLE] == CLIENT or m[msg + STAGE] != REQUEST):
            repost(m, h, r)
        consume(m, h, msg, r, node)
    return 0
