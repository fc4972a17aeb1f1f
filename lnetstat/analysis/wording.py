"""How numbers, times and advice read: plain words for someone who was woken up."""

import math
import re
from typing import NamedTuple

from lnetstat.analysis.listed import UNLISTED
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
        "Raise peer_credits of this network's LND at both ends. If the peer answers late, more credits only move the queue.",
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


class Lnd(NamedTuple):
    """A network's driver: its name, its default and largest peer_credits (None: no limit of its own), and what binds them."""

    name: str
    peer_credits: int
    most: int | None
    rule: str


O2IBLND_RULE = "o2iblnd: the same on all peers, at most 255 and no more than credits, concurrent_sends at least half of it"
# Every driver cuts peer_credits down to credits; defaults and limits: lnet/klnds/*/*_modparams.c
LNDS = {
    "tcp": Lnd("socklnd", 8, None, "socklnd: no more than credits, which are 256 unless set"),
    "o2ib": Lnd("o2iblnd", 8, 255, O2IBLND_RULE),
    "gni": Lnd("gnilnd", 16, None, "gnilnd: no more than credits, which are 64 on some compute nodes, else 256, unless set"),
    "kfi": Lnd("kfilnd", 16, None, "kfilnd: no more than credits, which are 512 unless set"),
    "efa": Lnd("efalnd", 8, None, "efalnd: no more than credits, which are 256 unless set"),
}
UNKNOWN_LND = Lnd("this network's LND", 8, None, O2IBLND_RULE)  # a CSV names no network
_NETWORK = re.compile(r".*@(o2ib|[a-z]+)[0-9]*", re.DOTALL)

SMALLER_BURSTS = "make bursts smaller (suppress_pings, a longer ping_interval, fewer clients or targets behind one peer)"
LATE_PEER = (
    "More credits would only move the queue, as the other end gives them back late. Look there: CPU, errors and retransmissions of its "
    f"network, on a server req_qdepth and req_waittime of ost_io, on a router its own credits and buffers. Else {SMALLER_BURSTS}."
)


def lnd_of(nid: str) -> Lnd:
    """Return the driver of a NID's network: socklnd of 10.2.0.21@tcp1."""
    found = _NETWORK.fullmatch(nid)
    return LNDS.get(found[1], UNKNOWN_LND) if found else UNKNOWN_LND


def credit_advice(use: CreditUse) -> str:
    """Return what to do about credits that ran out, by the row's own numbers, its network and what limited it."""
    if use.sizing is not None and use.sizing.limited_by == "peer":
        return LATE_PEER
    lnd = lnd_of(use.subject)
    if use.resource != "peer_credits":
        return CREDITS[use.resource].advice
    general = f"Raise peer_credits of {lnd.name} at both ends ({lnd.rule})."
    if use.sizing is None or use.sizing.limited_by != "credits":
        general += " If the peer answers late, more credits only move the queue."
    if use.few:
        return f"Record for some minutes (lnetstat record) to see how often and how long. {general}"
    if not use.waiting:
        return f"The mark tells that it happened, not when: reset the marks (--reset-low-water) and look again. {general}"
    return _towards(use, lnd, general)


def _towards(use: CreditUse, lnd: Lnd, general: str) -> str:
    """Return how many peer_credits would do: what the offered peak needs where that is known, else what was wanted."""
    limit, usual = counted(use.limit, "credit"), round(use.required_p99)
    needed = math.ceil(use.required_credits or 0)
    if use.sizing is not None and use.sizing.limited_by == "credits" and needed > use.limit:
        return f"The offered peak needs more than its {limit}: {_goal(needed, lnd)}. {general}"
    if usual > use.limit:
        return f"It wants more than its {limit} for long: {_goal(usual, lnd)}. {general}"
    why = f"{limit} do for 99 % of the time, {use.wanted_peak} were wanted at the peak: short bursts, of which all but {use.limit} wait."
    if lnd.most is None or use.wanted_peak <= lnd.most:
        least = lnd.peer_credits
        goal = f"to at least {least}, the default, better towards" if use.limit < least < use.wanted_peak else "towards"
        return f"{why} Raise peer_credits {goal} {use.wanted_peak} ({lnd.rule}), at both ends, or {SMALLER_BURSTS}."
    default = f" Raise peer_credits to {lnd.peer_credits}, the default, or more, at both ends." if use.limit < lnd.peer_credits else ""
    return f"{why} No peer_credits hold that ({lnd.name}: at most {lnd.most}): {SMALLER_BURSTS}.{default}"


def _goal(wanted: int, lnd: Lnd) -> str:
    if lnd.most is None or wanted <= lnd.most:
        return f"towards {wanted}"
    return f"towards {lnd.most}, the most that {lnd.name} takes, and {SMALLER_BURSTS}"


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


def place_of(use: CreditUse, holder: str = "") -> str:
    """Return which row on which host: [peer] 10.0.0.1@tcp1 on rtr, or a peer of tcp1 on rtr where it is not known which."""
    subject = f"{holder} {use.subject}".strip()
    if use.subject.startswith(UNLISTED):
        subject = f"a peer of {use.subject.removeprefix(UNLISTED)}"
    return f"{subject} on {use.host}" if use.host else subject


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
