"""The way of a message through what may run out, and which of what ran out together only follows.

A message takes, in this order: on its sender a credit of the peer it goes to and one of the interface; on a router a router credit of the
peer it came from, a buffer, a credit of the peer it goes on to and one of that interface (lib-move.c: lnet_post_routed_recv_locked, then
lnet_post_send_locked). It holds them all until it has been sent on. So where messages wait for one thing they use up everything that comes
before it on their way, and what is to be raised is the last one that ran out ("Minimizing Lustre Ping Effects at Scale on Cray Systems",
CUG 2012, IV.C and Figs. 5 and 6).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lnetstat.analysis import spells
from lnetstat.analysis.credits import badness, net_of
from lnetstat.analysis.results import CreditUse, Interval

TOGETHER = 0.5  # of its spells: what is short without the next resource being short in most of them is short by itself
FOLLOWS_SHARE = 0.9  # of a pool: what is on its way out of it has been counted at another moment of the same sample
SENDS = ("peer_credits", "ni_credits")


class Follows(NamedTuple):
    """`use` ran out only because `of` did. `held`: of buffers, messages that the router's peers held or wanted, and all buffers."""

    use: CreditUse
    of: CreditUse
    held: tuple[int, int] | None = None


class Path(NamedTuple):
    """Who is who: the host of each NID seen in `nis`, and which hosts route."""

    owner: dict[str, str]
    routers: frozenset[str]


def path_of(used: Sequence[CreditUse]) -> Path:
    """Return who is who, from the rows of interfaces and of router buffers."""
    owner = {use.subject: use.host for use in used if use.resource == "ni_credits"}
    return Path(owner, frozenset(use.host for use in used if use.resource == "router_buffers"))


def followers(ran_out: Sequence[CreditUse], path: Path) -> list[Follows]:
    """Return those of the rows that ran out which only follow another of them, each with that other row."""
    found = []
    by_host: dict[str, list[CreditUse]] = {}
    for use in ran_out:
        by_host.setdefault(use.host, []).append(use)
    unions: dict[tuple[str, str, str], tuple[Interval, ...]] = {}
    for use in ran_out:
        ahead = _ahead(use, path)
        nearby = (each for host in dict.fromkeys((use.host, path.owner.get(use.subject, ""))) for each in by_host.get(host, ()))
        candidates = [other for other in nearby if other is not use and ahead(other)]
        if use.resource == "router_buffers":
            link = _filled(use, candidates)
        else:
            siblings = [
                other for other in by_host[use.host] if other.resource == use.resource and net_of(other.subject) == net_of(use.subject)
            ]
            link = _together(use, [other for other in candidates if _holds(other, siblings)], unions)
        found += [link] if link is not None else []
    return found + _likewise(ran_out, found, path)


def _holds(other: CreditUse, siblings: list[CreditUse]) -> bool:
    """Return False for an interface for which fewer messages wait than half the credits of the peers behind it: others hold the rest."""
    return other.resource != "ni_credits" or other.waiting >= TOGETHER * sum(use.limit for use in siblings)


def _likewise(ran_out: Sequence[CreditUse], found: list[Follows], path: Path) -> list[Follows]:
    """Return links for peers that nobody recorded: they are as those of the same network that are in the record.

    A server sees all routers of its group, and mostly one of them is recorded.
    """
    known = {(link.use.host, net_of(link.use.subject)): link.of for link in found if link.use.resource == "peer_credits"}
    missing = [use for use in ran_out if use.resource == "peer_credits" and use.subject not in path.owner]
    linked = {id(link.use) for link in found}
    like = [(use, known.get((use.host, net_of(use.subject)))) for use in missing if id(use) not in linked]
    return [Follows(use, of) for use, of in like if of is not None and of.host != use.host and spells.overlap(use.spells, of.spells, 0.0)]


def root_of(use: CreditUse, links: Sequence[Follows]) -> CreditUse:
    """Return the row at the end of the chain that a row follows; the row itself where it follows none."""
    following = {id(link.use): link.of for link in links}
    passed = {id(use)}
    while id(use) in following and id(following[id(use)]) not in passed:
        use = following[id(use)]
        passed.add(id(use))
    return use


def _ahead(use: CreditUse, path: Path) -> Callable[[CreditUse], bool]:
    """Return a test whether another row is what messages take after they took this one's."""
    net, next_host = net_of(use.subject), path.owner.get(use.subject)

    def here(other: CreditUse) -> bool:
        if use.resource == "peer_router_credits":
            return other.resource == "router_buffers" or (other.resource in SENDS and net_of(other.subject) != net)
        if use.resource == "router_buffers":
            return other.resource in SENDS
        return use.resource == "peer_credits" and other.resource == "ni_credits" and net_of(other.subject) == net

    def there(other: CreditUse) -> bool:
        if use.resource != "peer_credits" or next_host not in path.routers:
            return False
        if other.resource == "peer_router_credits":
            return path.owner.get(other.subject, use.host) == use.host and net_of(other.subject) == net
        return other.resource == "router_buffers" or net_of(other.subject) != net

    return lambda other: here(other) if other.host == use.host else other.host == next_host and there(other)


def _together(use: CreditUse, candidates: list[CreditUse], unions: dict[tuple[str, str, str], tuple[Interval, ...]]) -> Follows | None:
    """Return what a row follows: the kind of resource ahead of it that was short in most of its own spells, by its scarcest row."""
    kinds: dict[tuple[str, str, str], list[CreditUse]] = {}
    for other in candidates:
        kinds.setdefault((other.host, other.resource, net_of(other.subject)), []).append(other)
    best: tuple[float, list[CreditUse]] = (0.0, [])
    for kind, members in kinds.items():
        if kind not in unions:
            unions[kind] = spells.joined([spell for each in members for spell in each.spells], 0.0)
        share = spells.overlap(use.spells, unions[kind], max(use.interval_s, members[0].interval_s))
        best = max(best, (share, members), key=lambda pair: pair[0])
    share, members = best
    return Follows(use, max(members, key=scarcity)) if share >= TOGETHER else None


def _filled(pool: CreditUse, candidates: list[CreditUse]) -> Follows | None:
    """Return what a pool of router buffers follows: peers without credits, where their messages are what fills it.

    A buffer is in use until the message in it is sent on: buffers in use = sum over the router's peers of (max - tx). So where that sum is
    the whole pool, its buffers only follow; were they the first, few messages in them would lack a peer's credit. Interfaces likewise.
    """
    for resource in SENDS:
        rows = [use for use in candidates if use.resource == resource and spells.overlap(pool.spells, use.spells, use.interval_s) > 0]
        held = sum(use.limit + use.waiting for use in rows)
        if rows and held >= FOLLOWS_SHARE * pool.limit:
            return Follows(pool, max(rows, key=scarcity), (held, pool.limit))
    return None


def scarcity(use: CreditUse) -> tuple[float, float, tuple[int, float, float, float]]:
    """Return a key that sorts rows by how many messages waited for each credit there is."""
    return use.waiting / max(1, use.limit), use.waiting_max / max(1, use.limit), badness(use)
