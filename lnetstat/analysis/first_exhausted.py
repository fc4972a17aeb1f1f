"""Which resource ran out first. When one credit is gone the messages behind it hold the others, so the first one is the one to raise."""

from typing import NamedTuple

from lnetstat.analysis.credits import badness
from lnetstat.analysis.results import CreditUse, DeadTime
from lnetstat.analysis.wording import CREDITS, clock_of, credit_advice
from lnetstat.model import Finding, Severity

FOLLOWS_SHARE = 0.9  # of a pool: what is on its way out of it has been counted at another moment of the same sample


class Exhaustion(NamedTuple):
    """`resource`: peer_credits, ni_credits, router_buffers, peer_router_credits, server or none; `first`: the row (None for the last two).

    `ordered`: False where no order can be told: marks were low already when the record began, or fell within one sample, or there are
    few samples. Then `first` is the row that was the scarcest. `held`: where the order follows from what the buffers held: messages of
    the router's peers, and buffers."""

    resource: str
    first: CreditUse | None
    ordered: bool
    order: tuple[tuple[str, int], ...]  # (resource, when first seen below 0 in ns)
    held: tuple[int, int] | None = None


def first_exhausted(used: list[CreditUse], dead_time: DeadTime) -> Exhaustion:
    """Return which resource was below zero first in the record.

    With dips caused by pings and every credit free, the messages wait in the server's own request queues: "server".
    """
    ran_out = [use for use in used if use.grade != "never"]
    if not ran_out:
        waits = dead_time.detected and dead_time.cause == "ping" and bool(used)
        return Exhaustion("server" if waits else "none", None, True, ())
    timed = sorted((use for use in ran_out if use.first_low_ns is not None), key=lambda use: use.first_low_ns or 0)
    order: dict[str, int] = {}
    for use in timed:
        order.setdefault(use.resource, use.first_low_ns or 0)
    if timed and not any(use.low_at_start or use.few for use in ran_out) and _well_apart(timed):
        return Exhaustion(timed[0].resource, timed[0], True, tuple(order.items()))
    worst = _scarcest(ran_out)
    return _peers_behind_buffers(ran_out, tuple(order.items())) or Exhaustion(worst.resource, worst, False, tuple(order.items()))


def _scarcest(ran_out: list[CreditUse]) -> CreditUse:
    return max(ran_out, key=lambda use: (use.waiting / max(1, use.limit), use.waiting_max / max(1, use.limit), badness(use)))


def _peers_behind_buffers(ran_out: list[CreditUse], order: tuple[tuple[str, int], ...]) -> Exhaustion | None:
    """Return peer credits as first where a router's buffers were full of messages that had none, within whatever one sample hides.

    A router's buffer is in use until the message in it is sent on: buffers in use = sum over its peers of (max - tx) (CUG 2012, IV.C). So
    where that sum is the whole pool, its buffers only follow; were they the first, few messages in them would lack a peer's credit.
    """
    for pool in (use for use in ran_out if use.resource == "router_buffers" and use.waiting and not use.low_at_start):
        peers = [use for use in ran_out if use.resource == "peer_credits" and use.host == pool.host and use.waiting]
        held = sum(use.limit + use.waiting for use in peers)
        if peers and held >= FOLLOWS_SHARE * pool.limit and not any(use.low_at_start or use.few for use in (pool, *peers)):
            return Exhaustion("peer_credits", _scarcest(peers), True, order, (held, pool.limit))
    return None


def _well_apart(timed: list[CreditUse]) -> bool:
    """Return True when the first row was seen below 0 more than a sample before any row of another resource."""
    first = timed[0]
    other = next((use for use in timed if use.resource != first.resource), None)
    if other is None:
        return True
    return (other.first_low_ns or 0) - (first.first_low_ns or 0) > max(first.interval_s, other.interval_s) * 1e9


def sentence(found: Exhaustion) -> str:
    """Return what the verdict says of the resource: "ran out first" only where an order is known and there is something to come after."""
    if found.first is None:
        return ""
    use = found.first
    noun, place = CREDITS[found.resource].noun, f"{use.subject} on {use.host}" if use.host else use.subject
    noun = noun[0].upper() + noun[1:]
    if not use.waiting:
        return f"No credits ran out in the record; a mark tells that {noun.lower()} did before ({place})."
    if found.ordered:
        return f"{noun} ran out{' first' if len(found.order) > 1 else ''} ({place})."
    return f"{noun} were {'below 0' if use.few else 'the scarcest'} ({place})."


def finding_of(found: Exhaustion, begin_ns: int, end_ns: int) -> Finding | None:
    """Return the finding, None where nothing ran out."""
    evidence: dict[str, object] = {"resource": found.resource, "ordered": found.ordered, "order": [list(each) for each in found.order]}
    if found.held is not None:
        evidence |= {"messages_held": found.held[0], "router_buffers": found.held[1]}
    if found.resource == "none" or (found.first is not None and (found.first.few or not found.first.waiting)):
        return None
    if found.first is None:
        return Finding(
            "first_exhausted",
            Severity.WARNING,
            "server",
            begin_ns,
            end_ns,
            evidence,
            "no credit and no buffer ran out although throughput dips with the pings: messages wait inside the server",
            "Look at req_qdepth and req_waittime of ost_io and ost; raise threads_max or make requests cheaper.",
            "Minimizing Lustre Ping Effects at Scale on Cray Systems (CUG 2012), IV.A",
        )
    use, guide = found.first, CREDITS[found.resource]
    others = [CREDITS[resource].noun for resource, _ in found.order if resource != found.resource]
    where = f"{guide.holder} {use.subject}{' on ' + use.host if use.host else ''}"
    if found.held is not None:
        held, buffers = found.held
        message = f"{guide.noun} ran out first: {where}; the router buffers only followed: "
        message += f"{min(held, buffers):,} of {buffers:,} held messages for peers without credits"
    elif found.ordered and use.first_low_ns is not None:
        after = f"; {' and '.join(others)} only after that" if others else ""
        message = f"{guide.noun} ran out first: {where}, at {clock_of(begin_ns, end_ns)(use.first_low_ns)} UTC{after}"
    else:
        message = (
            f"{guide.noun} were the scarcest: {where}, {use.waiting} waiting beyond {use.limit}; what ran out first is not known "
            "(marks were low before the record began, or fell within one sample)"
        )
    return Finding(
        "first_exhausted",
        Severity.WARNING,
        f"{use.subject} on {use.host}" if use.host else use.subject,
        use.first_low_ns or begin_ns,
        use.last_low_ns or end_ns,
        evidence | {"host": use.host, "subject": use.subject, "row": use.row},
        message,
        credit_advice(use),
        guide.reference,
    )
