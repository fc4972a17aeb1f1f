"""Which resource ran out first. When one credit is gone the messages behind it hold the others, so the first one is the one to raise."""

from typing import NamedTuple

from lnetstat.analysis.credits import badness
from lnetstat.analysis.results import CreditUse, DeadTime
from lnetstat.analysis.wording import CREDITS, clock
from lnetstat.model import Finding, Severity


class Exhaustion(NamedTuple):
    """`resource`: peer_credits, ni_credits, router_buffers, peer_router_credits, server or none; `first`: the row (None for the last two).

    `ordered`: False where marks were low already when the record began, so that the order rests on how much was missing."""

    resource: str
    first: CreditUse | None
    ordered: bool
    order: tuple[tuple[str, int], ...]  # (resource, when first seen below 0 in ns)


def first_exhausted(used: list[CreditUse], dead_time: DeadTime) -> Exhaustion:
    """Return which resource was below zero first in the record.

    With dips caused by pings and every credit free, the messages wait in the server's own request queues: "server".
    """
    ran_out = [use for use in used if use.grade != "never"]
    if not ran_out:
        waits = dead_time.detected and dead_time.cause == "ping" and bool(used)
        return Exhaustion("server" if waits else "none", None, True, ())
    timed = sorted((use for use in ran_out if use.first_low_ns is not None), key=lambda use: use.first_low_ns or 0)
    before = [use for use in ran_out if use.low_at_start]
    order: dict[str, int] = {}
    for use in timed:
        order.setdefault(use.resource, use.first_low_ns or 0)
    if before and len({use.resource for use in ran_out}) > 1:
        worst = max(ran_out, key=lambda use: (use.waiting_max / max(1, use.limit), badness(use)))
        return Exhaustion(worst.resource, worst, False, tuple(order.items()))
    first = timed[0] if timed else max(ran_out, key=badness)
    return Exhaustion(first.resource, first, bool(timed), tuple(order.items()))


def finding_of(found: Exhaustion, begin_ns: int, end_ns: int) -> Finding | None:
    """Return the finding, None where nothing ran out."""
    evidence = {"resource": found.resource, "ordered": found.ordered, "order": [list(each) for each in found.order]}
    if found.resource == "none":
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
    when = f", at {clock(use.first_low_ns)} UTC" if found.ordered and use.first_low_ns is not None else ""
    others = [CREDITS[resource].noun for resource, _ in found.order if resource != found.resource]
    after = f"; {' and '.join(others)} only after that" if others and found.ordered else ""
    unsure = "" if found.ordered else " (judged by how many were missing: the marks were low before the record began)"
    return Finding(
        "first_exhausted",
        Severity.WARNING,
        f"{use.subject} on {use.host}" if use.host else use.subject,
        use.first_low_ns or begin_ns,
        use.last_low_ns or end_ns,
        evidence | {"host": use.host, "subject": use.subject, "row": use.row},
        f"{guide.noun} ran out first: {guide.holder} {use.subject}{' on ' + use.host if use.host else ''}{when}{after}{unsure}",
        guide.advice,
        guide.reference,
    )
