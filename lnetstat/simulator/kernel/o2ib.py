"""The network drivers: the serial send and receive servers, o2iblnd's wire credits, NOOPs and handshakes (klnds/o2iblnd/o2iblnd_cb.c)."""

from lnetstat.simulator.kernel.events import *
from lnetstat.simulator.kernel.layout import *


def lnd_send(m: Memory, h: Memory, msg: int) -> None:
    """Hand a message that has all LNet credits to the driver."""
    p = m[msg + TX_ENTRY]
    ni = m[p + NI_OF]
    m[msg + PHASE] = REQ if m[ni + HANDSHAKE] and m[msg + PAYLOAD] > PAGE_BYTES else WHOLE
    if m[ni + WINDOW] == 0:
        transmit(m, h, msg, ni)
        return
    append(m, m[p + CONNECTION_OF] + SENDQ_FIRST, msg)
    check_sends(m, h, p)


def append(m: Memory, queue: int, msg: int) -> None:
    """Append to the FIFO whose first and last are the two fields at `queue`."""
    m[msg + NEXT] = 0
    if m[queue] == 0:
        m[queue] = msg
    else:
        m[m[queue + 1] + NEXT] = msg
    m[queue + 1] = msg


def take(m: Memory, queue: int) -> int:
    """Take the first message off a FIFO that is not empty."""
    msg = m[queue]
    m[queue] = m[msg + NEXT]
    return msg


def transmit(m: Memory, h: Memory, msg: int, ni: int) -> None:
    """Queue a message at the NI's serial send server: its delivery time is known at once."""
    service = m[ni + BULK] if m[msg + PAYLOAD] > PAGE_BYTES and m[msg + PHASE] != REQ else m[ni + POST]
    done = max(m[NOW], m[ni + TX_FREE]) + service
    m[ni + TX_FREE] = done
    m[ni + TX_BUSY] += service
    at = done + m[ni + WIRE]
    sequence = next_sequence(m)
    m[msg + AT] = at
    m[msg + AT_SEQ] = sequence
    if m[ni + LANE_FIRST] == 0:
        push(m, h, m[ni + SEND_RING], at, sequence, DELIVER, ni)
    append(m, ni + LANE_FIRST, msg)


def take_delivered(m: Memory, h: Memory, ni: int) -> int:
    """Take the message that is delivered now off the send server's lane; the next one's delivery becomes an event."""
    msg = take(m, ni + LANE_FIRST)
    following = m[ni + LANE_FIRST]
    if following != 0:
        push(m, h, m[ni + SEND_RING], m[following + AT], m[following + AT_SEQ], DELIVER, ni)
    return msg


def check_sends(m: Memory, h: Memory, p: int) -> None:
    """Send what the connection's credits allow, and a NOOP where many credits wait for a way back (kiblnd_check_sends)."""
    ni = m[p + NI_OF]
    c = m[p + CONNECTION_OF]
    first_protocol = m[ni + PROTOCOL] == 1
    if m[c + OUTSTANDING] >= m[ni + HIGHWATER] and noop_needed(m, c, first_protocol):
        if first_protocol:
            m[c + WIRE_CREDITS] -= 1
        # a NOOP's number holds the receiving entry and, above it, the credits that it carries
        number = m[p + OTHER] + (m[c + OUTSTANDING] << STRIPE_SHIFT)
        schedule(m, h, m[ni + CONTROL_RING], m[NOW] + m[ni + WIRE], NOOP, number)
        m[c + OUTSTANDING] = 0
    concurrent = m[ni + CONCURRENT]
    while m[c + NOCREDQ_FIRST] != 0 and m[c + NSENDS] < concurrent:
        post(m, h, c, take(m, c + NOCREDQ_FIRST), ni)
    reserve = 1 if first_protocol else 0
    while m[c + SENDQ_FIRST] != 0 and m[c + NSENDS] < concurrent and m[c + WIRE_CREDITS] > reserve:
        m[c + WIRE_CREDITS] -= 1
        post(m, h, c, take(m, c + SENDQ_FIRST), ni)


def noop_needed(m: Memory, c: int, first_protocol: bool) -> bool:
    """Tell whether nothing else can carry the credits back (kiblnd_need_noop)."""
    if m[c + NOCREDQ_FIRST] != 0:
        return False
    left = m[c + WIRE_CREDITS]
    if not first_protocol:
        return m[c + SENDQ_FIRST] == 0 or left == 0
    if left == 0 or (left == 1 and m[c + OUTSTANDING] == 0):
        return False
    return m[c + SENDQ_FIRST] == 0 or left == 1


def post(m: Memory, h: Memory, c: int, msg: int, ni: int) -> None:
    """Post one message, which carries all unreturned credits (kiblnd_pack_msg)."""
    m[c + NSENDS] += 1
    pack(m, c, msg)
    transmit(m, h, msg, ni)


def pack(m: Memory, c: int, msg: int) -> None:
    """Let a message carry all unreturned credits."""
    m[msg + CARRIED] = m[c + OUTSTANDING]
    m[c + OUTSTANDING] = 0


def unpack(m: Memory, h: Memory, r: int, msg: int) -> None:
    """Take the credits that a message brings."""
    if m[msg + CARRIED] > 0:
        m[m[r + CONNECTION_OF] + WIRE_CREDITS] += m[msg + CARRIED]
        m[msg + CARRIED] = 0
        check_sends(m, h, r)


def repost(m: Memory, h: Memory, r: int) -> None:
    """Post the receive again, at once or after the node's delay: then its credit can go back (kiblnd_post_rx)."""
    ni = m[r + NI_OF]
    if m[ni + REPOST_AFTER] == 0:
        reposted(m, h, r)
    else:
        schedule(m, h, RING_REPOST, m[NOW] + m[ni + REPOST_AFTER], REPOST, r)


def reposted(m: Memory, h: Memory, r: int) -> None:
    """One more credit to return."""
    m[m[r + CONNECTION_OF] + OUTSTANDING] += 1
    check_sends(m, h, r)


def handle_noop(m: Memory, h: Memory, number: int) -> None:
    """NOOP: credits come back; on protocol 1 it used one itself, which may go back with the next message at once (kiblnd_handle_rx)."""
    r = number & ADDRESS_MASK
    c = m[r + CONNECTION_OF]
    m[c + WIRE_CREDITS] += number >> STRIPE_SHIFT
    if m[m[r + NI_OF] + PROTOCOL] == 1:
        m[c + OUTSTANDING] += 1
    check_sends(m, h, r)


def send_ack(m: Memory, h: Memory, msg: int, r: int) -> None:
    """Answer a PUT_REQ: the data may come."""
    ni = m[r + NI_OF]
    if m[ni + WINDOW]:
        pack(m, m[r + CONNECTION_OF], msg)
    schedule(m, h, m[ni + CONTROL_RING], m[NOW] + m[ni + WIRE], ACK, msg)


def handle_ack(m: Memory, h: Memory, msg: int) -> None:
    """PUT_ACK: the sender moves the data and says PUT_DONE, with the wire credit that PUT_REQ took."""
    p = m[msg + TX_ENTRY]
    ni = m[p + NI_OF]
    m[msg + PHASE] = DONE
    if m[ni + WINDOW] == 0:
        transmit(m, h, msg, ni)
        return
    c = m[p + CONNECTION_OF]
    m[c + WIRE_CREDITS] += m[msg + CARRIED]
    m[msg + CARRIED] = 0
    append(m, c + NOCREDQ_FIRST, msg)
    check_sends(m, h, p)


def start_receive(m: Memory, h: Memory, ni: int) -> None:
    """Begin to receive the first message that waits."""
    m[ni + RECEIVING] = 1
    m[ni + RX_BUSY] += m[ni + RX]
    schedule(m, h, m[ni + RECEIVE_RING], max(m[NOW], m[ni + RX_FREE]) + m[ni + RX], RECEIVED, ni)
