"""How numbers, times and advice read: plain words for someone who was woken up."""

import datetime
from typing import NamedTuple

PAPER = "Minimizing Lustre Ping Effects at Scale on Cray Systems (CUG 2012)"


class Guidance(NamedTuple):
    """What a resource is called in a sentence, the kind of its finding, what to do, and where to read on."""

    kind: str
    noun: str
    holder: str
    advice: str
    reference: str


CREDITS = {
    "peer_credits": Guidance(
        "oversubscribed_peers",
        "peer credits",
        "peer",
        "Raise peer_credits of this network's LND towards the credits wanted at the 99th percentile, at both ends (o2iblnd: the same on "
        "all peers, at most 255, concurrent_sends at least half of it). If the peer answers late, more credits only move the queue.",
        f"{PAPER}, IV.B and VI.A; lnet/lnet/lib-move.c: lnet_post_send_locked()",
    ),
    "peer_router_credits": Guidance(
        "oversubscribed_rtr_credits",
        "router buffer credits",
        "peer",
        "Raise peer_buffer_credits on the router. They come back only when the next hop has taken the message: look at the peer credits of "
        "the outgoing side first.",
        f"{PAPER}, IV.C and VI.B; lnet/lnet/lib-move.c: lnet_post_routed_recv_locked()",
    ),
    "ni_credits": Guidance(
        "oversubscribed_nis",
        "NI credits",
        "NI",
        "Raise credits of this network's LND: all messages sent through this interface share them.",
        "Lustre Operations Manual, Tuning LNet; lnet/lnet/lib-move.c: lnet_post_send_locked()",
    ),
    "router_buffers": Guidance(
        "oversubscribed_buffers",
        "buffers",
        "router buffer pool",
        "Raise tiny_router_buffers, small_router_buffers or large_router_buffers: they cost memory only. If peer credits run out too, they "
        "are the cause and more buffers only hold more waiting messages.",
        f"{PAPER}, IV.C and VI.B; lnet/lnet/lib-move.c: lnet_post_routed_recv_locked()",
    ),
}

PING_ADVICE = (
    "Fewer or no pings: suppress_pings=1 of ptlrpc on the servers (Lustre 2.4 and later, where clients' death is detected otherwise), a "
    "longer ping_interval or obd_timeout (the interval is a quarter of it), idle_timeout of osc; then raise the credits that ran out."
)
PING_REFERENCE = f"{PAPER}, IV; lustre/ptlrpc/pinger.c: ptlrpc_update_next_ping()"


def clock(time_ns: float) -> str:
    """Return a time of day in UTC, to the second."""
    return datetime.datetime.fromtimestamp(time_ns / 1e9, datetime.UTC).strftime("%H:%M:%S")


def stamp(time_ns: float) -> str:
    """Return date and time of day in UTC."""
    return datetime.datetime.fromtimestamp(time_ns / 1e9, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def percent(share: float) -> str:
    """Return a share in percent with two significant digits."""
    value = 100 * share
    if value == 0:
        return "0 %"
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %" if value >= 0.995 else f"{value:.2g} %"


def seconds(value: float) -> str:
    """Return a time span with the digits that matter."""
    if value >= 600:
        return f"{value / 60:.0f} min"
    return f"{value:.0f} s" if value >= 99.5 else f"{value:.1f} s" if value >= 1 else f"{value:.2g} s"


def counted(number: float, noun: str) -> str:
    """Return a number with its noun in the right form: 1 message, 7 messages."""
    whole = f"{number:,.0f}"
    return f"{whole} {noun}" if whole == "1" else f"{whole} {noun}s"


def and_others(number: int, noun: str) -> str:
    """Return a tail for what is not named one by one."""
    return "" if number <= 0 else f"; {counted(number, f'other {noun}')} likewise"
