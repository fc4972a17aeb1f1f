"""The loop: the earliest event, its handler, and so on until a time."""

from lnetstat.simulator.kernel.client import *
from lnetstat.simulator.kernel.events import *
from lnetstat.simulator.kernel.health import *
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.kernel.lnet import *
from lnetstat.simulator.kernel.o2ib import *
from lnetstat.simulator.kernel.ptlrpc import *


def advance(m: Memory, h: Memory, room: int, trace: Memory, until: int) -> int:
    """Process all events with time <= `until`; FINISHED, what has to grow before going on, or PAUSED after many events.

    `room`: how many events the heap holds; `trace`: three numbers an event, or of no length.
    """
    pause = m[EVENT_COUNT] + m[PAUSE_EVENTS]
    while True:
        ring = first_ring(m, h)
        time = first_time(m, h, ring)
        if time > until:
            m[NOW] = until
            return FINISHED
        if m[EVENT_COUNT] == pause:
            return PAUSED
        if m[FREE_COUNT] < m[MARGIN]:
            return MORE_MESSAGES
        if m[HEAP_COUNT] + m[MARGIN] > room:
            return MORE_EVENTS
        if m[TRACE_SIZE] and m[TRACE_COUNT] + 3 > m[TRACE_SIZE]:
            return MORE_TRACE
        if ring >= 0:
            at = m[RINGS_AT + ring * RING + RING_BASE] + m[RINGS_AT + ring * RING + RING_FIRST] * EVENT
            kind = m[at + 2]
            number = m[at + 3]
            pop_ring(m, ring)
        else:
            kind = h[2]
            number = h[3]
            pop_heap(m, h)
        m[NOW] = time
        m[EVENT_COUNT] += 1
        if m[TRACE_SIZE]:
            note(m, trace, time, kind, number)
        handle(m, h, kind, number)


def handle(m: Memory, h: Memory, kind: int, number: int) -> None:
    """Do what an event means; the most frequent first."""
    if kind == DELIVER:
        handle_deliver(m, h, number)
    elif kind == RECEIVED:
        handle_received(m, h, number)
    elif kind == REPOST:
        reposted(m, h, number)
    elif kind == NOOP:
        handle_noop(m, h, number)
    elif kind == SERVED:
        handle_served(m, h, number)
    elif kind == ACK:
        handle_ack(m, h, number)
    elif kind == DISK:
        handle_disk(m, h, number)
    elif kind == PINGER:
        handle_pinger(m, h, number)
    elif kind == THINK:
        handle_think(m, h, number)
    elif kind == START:
        handle_start(m, h, number)
    elif kind == FAULT:
        handle_fault(m, number)
    elif kind == RETRY:
        handle_retry(m, h, number)
    elif kind == RESEND:
        handle_resend(m, h, number)
    elif kind == RECOVER_NI:
        handle_recover_ni(m, h, number)
    else:
        handle_recover_entry(m, h, number)


def handle_deliver(m: Memory, h: Memory, ni: int) -> None:
    """A message is at its next node, which is also its completion at the sender."""
    msg = take_delivered(m, h, ni)
    p = m[msg + TX_ENTRY]
    if m[HAS_FAULTS] and not path_up(m, p):
        handle_failed(m, h, msg)
        return
    window = m[ni + WINDOW]
    if window:
        m[m[p + CONNECTION_OF] + NSENDS] -= 1
    if m[msg + PHASE] != REQ:
        count_sent(m, m[ni + NI_NODE], msg)
        return_credits(m, h, msg)
    if window:
        check_sends(m, h, p)
    receiver = m[m[p + OTHER] + NI_OF]
    if m[receiver + RX] == 0:
        received(m, h, msg)
        return
    append(m, receiver + RX_FIRST, msg)
    if not m[receiver + RECEIVING]:
        start_receive(m, h, receiver)


def handle_received(m: Memory, h: Memory, ni: int) -> None:
    """The receive server is done with a message."""
    msg = take(m, ni + RX_FIRST)
    m[ni + RECEIVING] = 0
    extra = received(m, h, msg)
    m[ni + RX_FREE] = m[NOW] + extra
    m[ni + RX_BUSY] += extra
    if m[ni + RX_FIRST] != 0:
        start_receive(m, h, ni)


def note(m: Memory, trace: Memory, time: int, kind: int, number: int) -> None:
    """Note an event for comparison with the reference."""
    if kind == DELIVER:
        shown = m[m[number + LANE_FIRST] + NUMBER]
    elif kind == RECEIVED:
        shown = m[m[number + RX_FIRST] + NUMBER]
    elif kind == DISK:
        shown = m[m[number + DISK_FIRST] + NUMBER]
    elif kind == NOOP or kind == REPOST or kind == RECOVER_ENTRY:
        ni = m[(number & ADDRESS_MASK) + NI_OF]
        shown = m[ni + NI_INDEX] if kind == RECOVER_ENTRY else m[m[ni + NI_NODE] + NODE_INDEX]
    elif kind == PINGER:
        shown = m[number + NODE_INDEX]
    elif kind == START or kind == THINK:
        shown = ((number & ADDRESS_MASK) - m[FIRST_PROCESS]) // PROCESS
    elif kind == FAULT:
        shown = (number - m[FIRST_FAULT]) // FAULT_SIZE
    elif kind == RECOVER_NI:
        shown = m[number + NI_INDEX]
    else:
        shown = m[number + NUMBER]
    at = m[TRACE_COUNT]
    trace[at] = time
    trace[at + 1] = kind
    trace[at + 2] = shown
    m[TRACE_COUNT] = at + 3
