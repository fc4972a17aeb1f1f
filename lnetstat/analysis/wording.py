"""How numbers, times and advice read: plain words for someone who was woken up."""

from typing import NamedTuple

from lnetstat.analysis.results import CreditUse
from lnetstat.words import iso

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
        "Raise peer_credits of this network's LND at both ends (o2iblnd: the same on all peers, at most 255, concurrent_sends at least "
        "half of it). If the peer answers late, more credits only move the queue.",
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


KIND_ADVICE = "Give --kind"

DEFAULT_PEER_CREDITS = 8  # of socklnd and o2iblnd
MOST_PEER_CREDITS = 255  # of o2iblnd


def credit_advice(use: CreditUse) -> str:
    """Return what to do about credits that ran out, by the row's own numbers."""
    general = CREDITS[use.resource].advice
    if use.resource != "peer_credits":
        return general
    if use.few:
        return f"Record for some minutes (lnetstat record) to see how often and how long. {general}"
    if not use.waiting:
        return f"The mark tells that it happened, not when: reset the marks (--reset-low-water) and look again. {general}"
    peak, usual = use.wanted_peak, round(use.required_p99)
    if usual > use.limit:
        return f"It wants more than its {counted(use.limit, 'credit')} for long: towards {min(usual, MOST_PEER_CREDITS)}. {general}"
    smaller = "make bursts smaller (suppress_pings, a longer ping_interval, fewer clients or targets behind one peer)"
    why = f"{counted(use.limit, 'credit')} do for 99 % of the time, {peak} were wanted at the peak: short bursts, of which all but "
    why += f"{use.limit} wait."
    if peak <= MOST_PEER_CREDITS:
        least = DEFAULT_PEER_CREDITS
        goal = f"to at least {least}, the default, better towards {peak}" if use.limit < least < peak else f"towards {peak}"
        return f"{why} Raise peer_credits {goal}, at both ends, or {smaller}."
    goal = f" Raise peer_credits to {DEFAULT_PEER_CREDITS}, the default, or more, at both ends." if use.limit < DEFAULT_PEER_CREDITS else ""
    return f"{why} No peer_credits hold that (o2iblnd: at most {MOST_PEER_CREDITS}): {smaller}.{goal}"


def sizing_words(use: CreditUse) -> str:
    """Return one clause on what limited the peers of a network: their credits, or the other end."""
    found = use.sizing
    if found is None:
        return ""
    if found.limited_by == "unknown":
        return f"whether more credits would help is not known: {found.why}"
    if found.hold_s is None or found.hold_saturated_s is None:
        return f"limited by the peer, not by credits: {found.why}"
    held = f"a credit is held {seconds(found.hold_saturated_s)} when all are in use, {seconds(found.hold_s)} when some are free"
    if found.limited_by == "peer":
        return f"limited by the peer, not by credits: {held}"
    needed = "" if use.required_credits is None else f"; the offered peak would need {use.required_credits:,.0f}"
    return f"limited by credits: {held}{needed}"


class Clock(NamedTuple):
    """How the times of one record are said: without the date where the whole record lies in one day (UTC) and so does the time."""

    day: str  # of the record, "" where it spans several

    def __call__(self, time_ns: float) -> str:
        """Return a time in UTC, to the second: 12:00:32, or 2026-11-20 12:00:32."""
        date, _, time = iso(int(time_ns)).removesuffix("Z").partition("T")
        return time if date == self.day else f"{date} {time}".strip()


def clock_of(begin_ns: int, end_ns: int) -> Clock:
    """Return the clock for a record from begin to end."""
    day = iso(begin_ns).partition("T")[0]
    return Clock(day if day == iso(end_ns).partition("T")[0] else "")


def stamp(time_ns: float) -> str:
    """Return date and time of day in UTC."""
    return f"{Clock('')(time_ns)} UTC"


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
