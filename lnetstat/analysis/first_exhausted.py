"""Which resource ran out first. When one credit is gone the messages behind it hold the others, so the first one is the one to raise."""

from typing import NamedTuple

from lnetstat.analysis import message_path
from lnetstat.analysis.cpu import CpuUse
from lnetstat.analysis.cpu import sentence as cpu_words
from lnetstat.analysis.message_path import Follows, scarcity
from lnetstat.analysis.results import CreditUse, DeadTime
from lnetstat.analysis.wording import CREDITS, clock_of, counted, credit_advice, place_of, sizing_words
from lnetstat.model import Finding, Severity

LARGE_QUEUE = 0.5  # of the largest: a host with so many waiting is named too, as the queue of the other direction
NEGLIGIBLE = 0.1  # of the messages waiting for each credit: a shortage a tenth as bad is not what the longer queue waits for


class Exhaustion(NamedTuple):
    """`resource`: peer_credits, ni_credits, router_buffers, peer_router_credits, server or none; `first`: the row (None for the last two).

    `ordered`: False where no order can be told: other resources ran out that do not merely follow, and marks were low already when the
    record began, or fell within one sample, or there are few samples: `why` says it. Then `first` is the row that was the scarcest.
    `order`: each resource and when it was first seen below 0, ns. `follows`: rows that ran out only because others did. `queues`: where
    most messages waited, one row of a host, longest first: the queue stands in front of what is scarce, which may be a node away.
    """

    resource: str
    first: CreditUse | None
    ordered: bool
    order: tuple[tuple[str, int], ...]
    follows: tuple[Follows, ...] = ()
    queues: tuple[CreditUse, ...] = ()
    why: str = ""

    @property
    def held(self) -> tuple[int, int] | None:
        """Messages that the router's peers held or wanted, and buffers there, where the order follows from that."""
        return next((link.held for link in self.follows if link.held is not None), None)


def first_exhausted(used: list[CreditUse], dead_time: DeadTime) -> Exhaustion:
    """Return which resource ran out by itself, and what only followed.

    With dips caused by pings and every credit free, the messages wait in the server's own request queues: "server".
    """
    ran_out = [use for use in used if use.grade != "never"]
    if not ran_out:
        waits = dead_time.detected and dead_time.cause == "ping" and bool(used)
        return Exhaustion("server" if waits else "none", None, True, ())
    links = message_path.followers(used)
    first = message_path.root_of(max(ran_out, key=scarcity), links)
    roots = _weighty(message_path.walked(used), links)
    order = _order(ran_out)
    why = _why_not_first(first, roots, dict(order))
    return Exhaustion(first.resource, first, not why, order, tuple(links), _queues(ran_out), why)


def _weighty(ran_out: list[CreditUse], links: list[Follows]) -> list[CreditUse]:
    """Return what ran out by itself in the record, less what held up next to nothing beside the scarcest of them."""
    held_up: dict[int, float] = {}
    for use in ran_out:
        root = id(message_path.root_of(use, links))
        held_up[root] = max(held_up.get(root, 0.0), use.waiting / max(1, use.limit))
    least = NEGLIGIBLE * max(held_up.values(), default=0.0)
    return [use for use in ran_out if held_up.get(id(use), 0.0) > least]


def _order(ran_out: list[CreditUse]) -> tuple[tuple[str, int], ...]:
    order: dict[str, int] = {}
    for time_ns, resource in sorted((use.first_low_ns, use.resource) for use in ran_out if use.first_low_ns is not None):
        order.setdefault(resource, time_ns)
    return tuple(order.items())


def _queues(ran_out: list[CreditUse]) -> tuple[CreditUse, ...]:
    longest: dict[str, CreditUse] = {}
    for use in sorted(ran_out, key=lambda use: -use.waiting):
        longest.setdefault(use.host, use)
    most = max(use.waiting for use in longest.values())
    return tuple(use for use in longest.values() if use.waiting and use.waiting >= LARGE_QUEUE * most)


def _why_not_first(first: CreditUse, roots: list[CreditUse], order: dict[str, int]) -> str:
    """Return why no order is known; "" when nothing else ran out by itself, or only later in a record that begins with credits free."""
    if first.few or not first.waiting:
        return "too few samples" if first.few else "marks were low before the record began"
    others = [use for use in roots if use.resource != first.resource]
    if others and any(use.low_at_start for use in (first, *others)):
        return "marks were low before the record began"
    for use in others:
        if not _later(use, first, order):
            early = use.first_low_ns is not None and use.first_low_ns < order.get(first.resource, 0)
            when = "earlier" if early else "within one sample"
            return f"{CREDITS[use.resource].noun} of {place_of(use)} ran out by themselves, {when}"
    return ""


def _later(use: CreditUse, first: CreditUse, order: dict[str, int]) -> bool:
    """Return True when a row ran out more than a sample after the first row's resource did."""
    began, apart_ns = order.get(first.resource), max(use.interval_s, first.interval_s) * 1e9
    return began is not None and use.first_low_ns is not None and use.first_low_ns - began > apart_ns


def sentence(found: Exhaustion) -> str:
    """Return what the verdict says of the resource: "ran out first" only where an order is known and there is something to come after."""
    if found.first is None:
        return ""
    use = found.first
    noun, place = CREDITS[found.resource].noun, place_of(use)
    noun = noun[0].upper() + noun[1:]
    if not use.waiting:
        return f"No credits ran out in the record; a mark tells that {noun.lower()} did before ({place})."
    if found.ordered:
        return f"{noun} ran out{' first' if _others_came_after(found) else ''} ({place})."
    return f"{noun} were {'below 0' if use.few else 'the scarcest'} ({place})."


def finding_of(found: Exhaustion, begin_ns: int, end_ns: int, cpu: tuple[CpuUse, ...] = ()) -> Finding | None:
    """Return the finding, None where nothing ran out."""
    if found.resource == "none" or (found.first is not None and (found.first.few or not found.first.waiting)):
        return None
    if found.first is None:
        return _of_server(found, begin_ns, end_ns, cpu)
    use, guide = found.first, CREDITS[found.resource]
    parts = [_what_ran_out(found, use, begin_ns, end_ns), *_what_followed(found, use), *_where_it_stands(found, use)]
    parts += [sizing_words(use)] if use.sizing is not None else []
    parts += [cpu_words(cpu)] if cpu else []
    return Finding(
        "first_exhausted",
        Severity.WARNING,
        place_of(use),
        use.first_low_ns or begin_ns,
        use.last_low_ns or end_ns,
        _evidence(found, cpu) | {"host": use.host, "subject": use.subject, "row": use.row},
        "; ".join(parts),
        credit_advice(use),
        guide.reference,
    )


def _of_server(found: Exhaustion, begin_ns: int, end_ns: int, cpu: tuple[CpuUse, ...]) -> Finding:
    words = "no credit and no buffer ran out although throughput dips with the pings: messages wait inside the server"
    return Finding(
        "first_exhausted",
        Severity.WARNING,
        "server",
        begin_ns,
        end_ns,
        _evidence(found, cpu),
        "; ".join([words, *([cpu_words(cpu)] if cpu else [])]),
        "Look at req_qdepth and req_waittime of ost_io and ost; raise threads_max or make requests cheaper.",
        "Minimizing Lustre Ping Effects at Scale on Cray Systems (CUG 2012), IV.A",
    )


def _evidence(found: Exhaustion, cpu: tuple[CpuUse, ...]) -> dict[str, object]:
    evidence: dict[str, object] = {"resource": found.resource, "ordered": found.ordered, "order": [list(each) for each in found.order]}
    if found.held is not None:
        evidence |= {"messages_held": found.held[0], "router_buffers": found.held[1]}
    evidence["follows"] = [
        {"host": host, "resource": resource, "rows": rows, "of": of} for (host, resource, of), rows in _grouped(found.follows).items()
    ]
    evidence["queues"] = [
        {"host": use.host, "resource": use.resource, "subject": use.subject, "waiting": use.waiting} for use in found.queues
    ]
    if found.first is not None and found.first.sizing is not None:
        evidence["sizing"] = found.first.sizing._asdict()
    evidence["cpu"] = [each._asdict() for each in cpu]
    return evidence


def _grouped(follows: tuple[Follows, ...]) -> dict[tuple[str, str, str], int]:
    """Return how many rows of each host and resource follow which resource."""
    rows: dict[tuple[str, str, str], int] = {}
    for link in follows:
        key = (link.use.host, link.use.resource, link.of.resource)
        rows[key] = rows.get(key, 0) + 1
    return rows


def _what_ran_out(found: Exhaustion, use: CreditUse, begin_ns: int, end_ns: int) -> str:
    guide = CREDITS[found.resource]
    where, beyond = place_of(use, guide.holder), f"{use.waiting} waiting beyond {use.limit}"
    if not found.ordered:
        return f"{guide.noun} were the scarcest: {where}, {beyond}; what ran out first is not known ({found.why})"
    when = "" if use.first_low_ns is None else f", from {clock_of(begin_ns, end_ns)(use.first_low_ns)} UTC on"
    return f"{guide.noun} ran out{' first' if _others_came_after(found) else ''}: {where}, {beyond}{when}"


def _what_followed(found: Exhaustion, first: CreditUse) -> list[str]:
    """Return what only followed, and what ran out later by itself."""
    if not found.ordered:
        return []
    following, after, beside = _others(found)
    parts = [f"{_nouns(following)} only followed"] if following else []
    if found.held is not None and parts:
        held, buffers = found.held
        parts[0] += f": {min(held, buffers):,} of {buffers:,} held messages for peers without credits"
    parts += [f"{_nouns(after)} only after that"] if after else []
    return parts + ([f"{_nouns(beside)} too, by far less"] if beside else [])


def _others(found: Exhaustion) -> tuple[list[str], list[str], list[str]]:
    """Return the other resources that ran out: those that only followed, that came later, that ran out beside the first by far less."""
    order = dict(found.order)
    following = list(dict.fromkeys(link.use.resource for link in found.follows if link.use.resource != found.resource))
    rest = [resource for resource in order if resource not in (found.resource, *following)]
    apart_ns = found.first.interval_s * 1e9 if found.first is not None else 0.0
    after = [resource for resource in rest if order[resource] - order.get(found.resource, order[resource]) > apart_ns]
    return following, after, [resource for resource in rest if resource not in after]


def _others_came_after(found: Exhaustion) -> bool:
    following, after, beside = _others(found)
    return bool(following or after) and not beside


def _nouns(resources: list[str]) -> str:
    return " and ".join(CREDITS[resource].noun for resource in resources)


def _where_it_stands(found: Exhaustion, first: CreditUse) -> list[str]:
    """Return where the queue stands; of a single node nothing, as nobody knows of queues on the nodes before it."""
    if [(use.host, use.subject) for use in found.queues] in ([], [(first.host, first.subject)]):
        return ["the queue stands there"] if any(link.use.host != first.host for link in found.follows) else []
    queues = [f"{_on(use)} ({counted(use.waiting, 'message')} for {_what_for(use)})" for use in found.queues[:2]]
    return [f"the queue stands {' and '.join(queues)}"]


def _what_for(use: CreditUse) -> str:
    return f"{use.subject} buffers" if use.resource == "router_buffers" else use.subject


def _on(use: CreditUse) -> str:
    return f"on {use.host}" if use.host else "there"
