"""The queue of events: a binary heap, and beside it rings for kinds of events whose times come in order.

An event is (time, sequence, kind, number). The order is that of (time, sequence), wherever an event is kept: a ring is only a cheaper
place, and what does not fit into its ring's order goes to the heap.
"""

from lnetstat.simulator.kernel.layout import *


def next_sequence(m: Memory) -> int:
    """Give the next sequence number."""
    sequence = m[SEQUENCE]
    m[SEQUENCE] = sequence + 1
    return sequence


def schedule(m: Memory, h: Memory, ring: int, time: int, kind: int, number: int) -> None:
    """Add an event with a new sequence number."""
    push(m, h, ring, time, next_sequence(m), kind, number)


def push(m: Memory, h: Memory, ring: int, time: int, sequence: int, kind: int, number: int) -> None:
    """Add an event, to `ring` where its order and room allow it, else to the heap."""
    if ring < 0:
        push_heap(m, h, time, sequence, kind, number)
        return
    r = RINGS_AT + ring * RING
    count = m[r + RING_COUNT]
    if count == 0:
        m[r + RING_TIME] = time
        m[r + RING_SEQ] = sequence
    elif count > m[r + RING_MASK] or time < m[r + RING_LAST] or (time == m[r + RING_LAST] and sequence < m[r + RING_LAST_SEQ]):
        push_heap(m, h, time, sequence, kind, number)
        return
    at = m[r + RING_BASE] + ((m[r + RING_FIRST] + count) & m[r + RING_MASK]) * EVENT
    m[at] = time
    m[at + 1] = sequence
    m[at + 2] = kind
    m[at + 3] = number
    m[r + RING_COUNT] = count + 1
    m[r + RING_LAST] = time
    m[r + RING_LAST_SEQ] = sequence


def pop_ring(m: Memory, ring: int) -> None:
    """Forget the first event of a ring."""
    r = RINGS_AT + ring * RING
    first = (m[r + RING_FIRST] + 1) & m[r + RING_MASK]
    count = m[r + RING_COUNT] - 1
    m[r + RING_FIRST] = first
    m[r + RING_COUNT] = count
    if count:
        at = m[r + RING_BASE] + first * EVENT
        m[r + RING_TIME] = m[at]
        m[r + RING_SEQ] = m[at + 1]
    else:
        m[r + RING_TIME] = NEVER


def push_heap(m: Memory, h: Memory, time: int, sequence: int, kind: int, number: int) -> None:
    """Add an event to the heap."""
    i = m[HEAP_COUNT]
    m[HEAP_COUNT] = i + 1
    while i > 0:
        up = (i - 1) >> 1
        a = up * EVENT
        if h[a] < time or (h[a] == time and h[a + 1] < sequence):
            break
        b = i * EVENT
        h[b] = h[a]
        h[b + 1] = h[a + 1]
        h[b + 2] = h[a + 2]
        h[b + 3] = h[a + 3]
        i = up
    b = i * EVENT
    h[b] = time
    h[b + 1] = sequence
    h[b + 2] = kind
    h[b + 3] = number


def pop_heap(m: Memory, h: Memory) -> None:
    """Forget the first event of the heap."""
    count = m[HEAP_COUNT] - 1
    m[HEAP_COUNT] = count
    last = count * EVENT
    time = h[last]
    sequence = h[last + 1]
    i = 0
    while True:
        low = 2 * i + 1
        if low >= count:
            break
        a = low * EVENT
        if low + 1 < count and (h[a + EVENT] < h[a] or (h[a + EVENT] == h[a] and h[a + EVENT + 1] < h[a + 1])):
            low += 1
            a += EVENT
        if time < h[a] or (time == h[a] and sequence < h[a + 1]):
            break
        b = i * EVENT
        h[b] = h[a]
        h[b + 1] = h[a + 1]
        h[b + 2] = h[a + 2]
        h[b + 3] = h[a + 3]
        i = low
    b = i * EVENT
    h[b] = time
    h[b + 1] = sequence
    h[b + 2] = h[last + 2]
    h[b + 3] = h[last + 3]


def first_ring(m: Memory, h: Memory) -> int:
    """Tell where the first event is: a ring's number, NO_RING for the heap (also when there is no event at all)."""
    found = NO_RING
    time = NEVER
    sequence = NEVER
    if m[HEAP_COUNT] > 0:
        time = h[0]
        sequence = h[1]
    for ring in range(RINGS):
        r = RINGS_AT + ring * RING
        if m[r] < time or (m[r] == time and time < NEVER and m[r + RING_SEQ] < sequence):
            found = ring
            time = m[r]
            sequence = m[r + RING_SEQ]
    return found


def first_time(m: Memory, h: Memory, ring: int) -> int:
    """The time of the event that first_ring() found; NEVER when there is none."""
    if ring >= 0:
        return m[RINGS_AT + ring * RING]
    return h[0] if m[HEAP_COUNT] > 0 else NEVER
