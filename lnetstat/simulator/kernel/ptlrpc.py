"""Servers: request buffers, service threads, the disk, and the steps of each kind of RPC (ptlrpc/service.c)."""

from lnetstat.simulator.kernel.events import *
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.kernel.lnet import *
from lnetstat.simulator.kernel.o2ib import *


def hashed(m: Memory, number: int) -> int:
    """A number below 2^31 that looks random, the same for every run with the same seed."""
    x = (number + 7919 * m[SEED]) & 0x7FFFFFFF
    x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    x ^= x >> 15
    x = (x * 1597334677) & 0x7FFFFFFF
    return x ^ (x >> 13)


def add(m: Memory, counter: int, value: int) -> None:
    """Add one sample to a service's counter."""
    if m[counter + C_SAMPLES] == 0 or value < m[counter + C_MIN]:
        m[counter + C_MIN] = value
    if value > m[counter + C_MAX]:
        m[counter + C_MAX] = value
    m[counter + C_SAMPLES] += 1
    m[counter + C_SUM] += value
    if m[counter + C_SUMSQ] < NEVER:  # saturates instead of overflowing
        m[counter + C_SUMSQ] += value * value


def service_of(m: Memory, msg: int) -> int:
    """The service that a request is for: ost, or ost_io for bulk."""
    services = m[m[msg + OF_SERVER] + SERVICES]
    kind = m[msg + KIND]
    return services + SERVICE if kind == WRITE or kind == READ else services


def request_in(m: Memory, h: Memory, msg: int, r: int) -> None:
    """A request reaches its portal: it needs a request buffer, or waits while its receive is not posted again."""
    service = service_of(m, msg)
    m[msg + RX_ENTRY] = r
    if m[service + BUFFERS_USED] >= m[service + BUFFERS]:
        append(m, service + PORTAL_FIRST, msg)
        m[service + PORTAL_COUNT] += 1
        return
    accept(m, h, msg, service)


def accept(m: Memory, h: Memory, msg: int, service: int) -> None:
    """Take a request buffer, and a thread when one is free."""
    add(m, service + C_BUFS, m[service + BUFFERS] - m[service + BUFFERS_USED])
    m[service + BUFFERS_USED] += 1
    group = m[service + BUFFERS_GROUP]
    if m[service + BUFFERS] - m[service + BUFFERS_USED] <= group // 2 and m[service + BUFFERS] + group <= m[service + BUFFERS_MAX]:
        m[service + BUFFERS] += group
    r = m[msg + RX_ENTRY]
    m[msg + RX_ENTRY] = 0
    if m[m[r + NI_OF] + WINDOW] and m[msg + PHASE] != DONE:
        repost(m, h, r)
    m[msg + SINCE] = m[NOW]
    if m[service + THREADS_BUSY] < m[service + THREADS]:
        start(m, h, msg, service)
    else:
        append(m, service + WORK_FIRST, msg)
        m[service + WORK_COUNT] += 1


def start(m: Memory, h: Memory, msg: int, service: int) -> None:
    """A thread takes a request."""
    m[service + THREADS_BUSY] += 1
    now = m[NOW]
    add(m, service + C_WAITTIME, (now - m[msg + SINCE]) // 1000)
    m[msg + SINCE] = now
    add(m, service + C_QDEPTH, m[service + WORK_COUNT])
    add(m, service + C_ACTIVE, m[service + THREADS_BUSY])
    kind = m[msg + KIND]
    if kind == WRITE:
        m[msg + PAYLOAD] = 0
        m[msg + STAGE] = GET
        send(m, h, msg, m[msg + OF_SERVER])
    elif kind == READ:
        disk(m, h, msg)
    else:
        service_ns = m[PING_SERVICE] if kind == PING else m[SMALL_SERVICE]
        factor = m[m[SERVICE_JITTER] + (hashed(m, m[msg + NUMBER]) & m[SERVICE_JITTER_MASK])]
        schedule(m, h, RING_SERVED, now + service_ns * factor // 1024, SERVED, msg)


def disk(m: Memory, h: Memory, msg: int) -> None:
    """Queue at the server's disk."""
    server = m[msg + OF_SERVER]
    disk_ns = m[DISK_WRITE] if m[msg + KIND] == WRITE else m[DISK_READ]
    disk_ns = disk_ns * m[m[DISK_JITTER] + (hashed(m, m[msg + NUMBER]) & m[DISK_JITTER_MASK])] // 1024
    done = max(m[NOW], m[server + DISK_FREE]) + disk_ns
    m[server + DISK_FREE] = done
    m[server + DISK_BUSY] += disk_ns
    sequence = next_sequence(m)
    m[msg + AT] = done
    m[msg + AT_SEQ] = sequence
    if m[server + DISK_FIRST] == 0:
        push(m, h, NO_RING, done, sequence, DISK, server)
    append(m, server + DISK_FIRST, msg)


def handle_disk(m: Memory, h: Memory, server: int) -> None:
    """The disk is done with its first: a write is answered, what was read is sent."""
    msg = take(m, server + DISK_FIRST)
    following = m[server + DISK_FIRST]
    if following != 0:
        push(m, h, NO_RING, m[following + AT], m[following + AT_SEQ], DISK, server)
    count_bin(m, m[BULK_BINS], m[msg + OF_SERVER])
    if m[msg + KIND] == WRITE:
        reply(m, h, msg)
        return
    m[msg + PAYLOAD] = m[BULK_BYTES]
    m[msg + STAGE] = DATA
    send(m, h, msg, m[msg + OF_SERVER])


def count_bin(m: Memory, bins: int, server: int) -> None:
    """Count one in the server's time bin of now, as the ground truth."""
    number = m[server + NODE_INDEX] - m[CLIENTS] - m[ROUTERS]
    bin_number = min(m[NOW] // m[BIN], m[BINS] - 1)
    m[bins + number * m[BINS] + bin_number] += 1


def handle_served(m: Memory, h: Memory, msg: int) -> None:
    """A ping or a small RPC is served."""
    if m[msg + KIND] == PING:
        count_bin(m, m[PING_BINS], m[msg + OF_SERVER])
    reply(m, h, msg)


def reply(m: Memory, h: Memory, msg: int) -> None:
    """Send the reply; then the thread takes the next request, and the request buffer the next of the portal."""
    service = service_of(m, msg)
    kind = m[msg + KIND]
    add(m, service + C_OPS + kind * COUNTER, (m[NOW] - m[msg + SINCE]) // 1000)
    m[msg + PAYLOAD] = m[PING_BYTES] if kind == PING else m[REPLY_BYTES]
    m[msg + STAGE] = REPLY
    send(m, h, msg, m[msg + OF_SERVER])
    m[service + THREADS_BUSY] -= 1
    if m[service + WORK_FIRST] != 0:
        m[service + WORK_COUNT] -= 1
        start(m, h, take(m, service + WORK_FIRST), service)
    m[service + BUFFERS_USED] -= 1
    if m[service + PORTAL_FIRST] != 0:
        m[service + PORTAL_COUNT] -= 1
        accept(m, h, take(m, service + PORTAL_FIRST), service)
