"""Multi-rail: interfaces that fail, health values, resends and recovery pings (lnet/lib-msg.c, lib-lnet.h)."""

from lnetstat.simulator.kernel.client import *
from lnetstat.simulator.kernel.events import *
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.kernel.lnet import *
from lnetstat.simulator.kernel.o2ib import *


def path_up(m: Memory, p: int) -> bool:
    """Tell whether the path of an entry and the interfaces at both its ends are up."""
    return m[m[p + CONNECTION_OF] + PATH_DOWN] == 0 and m[m[p + NI_OF] + UP] != 0 and m[m[m[p + OTHER] + NI_OF] + UP] != 0


def handle_fault(m: Memory, fault: int) -> None:
    """An interface, or one path, goes down or up."""
    up = m[fault + FAULT_UP]
    path = m[fault + FAULT_PATH]
    if path == 0:
        m[m[fault + FAULT_NI] + UP] = up
    else:
        m[m[path + CONNECTION_OF] + PATH_DOWN] = 1 - up
        m[m[m[path + OTHER] + CONNECTION_OF] + PATH_DOWN] = 1 - up


def handle_failed(m: Memory, h: Memory, msg: int) -> None:
    """A message did not arrive: its credits come back, health falls, and it is sent again later."""
    p = m[msg + TX_ENTRY]
    ni = m[p + NI_OF]
    node = m[ni + NI_NODE]
    c = m[p + CONNECTION_OF]
    if m[ni + WINDOW]:
        m[c + NSENDS] -= 1
        m[c + WIRE_CREDITS] += 1  # the driver closes the connection, and a new one has all its credits
        m[c + OUTSTANDING] += m[msg + CARRIED]
        m[msg + CARRIED] = 0
    m[node + DROP_COUNT] += 1
    m[node + DROP_LENGTH] += m[msg + PAYLOAD]
    return_credits(m, h, msg)
    if m[ni + WINDOW]:
        check_sends(m, h, p)
    if not m[ni + UP]:
        m[ni + HEALTH] = max(m[ni + HEALTH] - m[SENSITIVITY], 0)
        if not m[ni + RECOVERING]:
            m[ni + RECOVERING] = 1
            m[ni + ROUNDS] = 0
            schedule(m, h, NO_RING, m[NOW] + m[RECOVERY], RECOVER_NI, ni)
    else:
        m[c + ENTRY_HEALTH] = max(m[c + ENTRY_HEALTH] - m[SENSITIVITY], 0)
        if not m[c + ENTRY_RECOVERING]:
            m[c + ENTRY_RECOVERING] = 1
            m[c + ENTRY_ROUNDS] = 0
            schedule(m, h, NO_RING, m[NOW] + m[RECOVERY], RECOVER_ENTRY, p)
    schedule(m, h, NO_RING, m[NOW] + m[DETECT], RETRY, msg)


def handle_retry(m: Memory, h: Memory, msg: int) -> None:
    """The sender knows of the failure: it tries again, up to retry_count times, then much later."""
    m[msg + RETRIES] += 1
    if m[msg + RETRIES] > m[RETRY_COUNT]:
        m[msg + RETRIES] = 0
        schedule(m, h, NO_RING, m[NOW] + m[RESEND_AFTER], RESEND, msg)
    else:
        handle_resend(m, h, msg)


def handle_resend(m: Memory, h: Memory, msg: int) -> None:
    """Send a failed message again, by the best way now."""
    send(m, h, msg, m[m[m[msg + TX_ENTRY] + NI_OF] + NI_NODE])


def recovery_wait(m: Memory, rounds: int) -> int:
    """How long until the next recovery ping after so many failed ones."""
    return min(m[RECOVERY] << min(rounds, 20), m[RECOVERY_MAX])


def handle_recover_ni(m: Memory, h: Memory, ni: int) -> None:
    """A recovery ping over an own NI."""
    if m[ni + UP]:
        m[ni + HEALTH] = min(m[ni + HEALTH] + m[SENSITIVITY], HEALTH_MAX)
        m[ni + ROUNDS] = 0
        if m[ni + HEALTH] == HEALTH_MAX:
            m[ni + RECOVERING] = 0
            return
    else:
        m[ni + ROUNDS] += 1
    schedule(m, h, NO_RING, m[NOW] + recovery_wait(m, m[ni + ROUNDS]), RECOVER_NI, ni)


def handle_recover_entry(m: Memory, h: Memory, p: int) -> None:
    """A recovery ping to a remote NI."""
    c = m[p + CONNECTION_OF]
    if path_up(m, p):
        m[c + ENTRY_HEALTH] = min(m[c + ENTRY_HEALTH] + m[SENSITIVITY], HEALTH_MAX)
        m[c + ENTRY_ROUNDS] = 0
        if m[c + ENTRY_HEALTH] == HEALTH_MAX:
            m[c + ENTRY_RECOVERING] = 0
            return
    else:
        m[c + ENTRY_ROUNDS] += 1
    schedule(m, h, NO_RING, m[NOW] + recovery_wait(m, m[c + ENTRY_ROUNDS]), RECOVER_ENTRY, p)
