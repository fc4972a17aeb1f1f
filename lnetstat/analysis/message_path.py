"""The way of a message through what may run out, and which of what ran out together only follows.

A message takes, in this order: on its sender a credit of the peer it goes to and one of the interface; on a router a router credit of the
peer it came from, a buffer, a credit of the peer it goes on to and one of that interface (lib-move.c: lnet_post_routed_recv_locked, then
lnet_post_send_locked). It holds them all until it has been sent on. So where messages wait for one thing they use up everything that comes
before it on their way, and what is to be raised is the last one that ran out ("Minimizing Lustre Ping Effects at Scale on Cray Systems",
CUG 2012, IV.C and Figs. 5 and 6).
"""

from collections.abc import Sequence
from typing import NamedTuple

from lnetstat.analysis import spells
from lnetstat.analysis.credits import badness, net_of
from lnetstat.analysis.results import CreditUse, Interval

TOGETHER = 0.5  # of its spells: what is short without the next resource being short in most of them is short by itself
FOLLOWS_SHARE = 0.9  # of a pool: what is on its way out of it has been counted at another moment of the same sample
MOST_WALKED = 64  # rows of a host and resource; a flood leaves thousands of peers short, all for the same reason
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


class Kind(NamedTuple):
    """Rows of one host, resource, network and sender (the host of their subject, "" where not recorded): they are short together.

    `spells`: when any of them was.
    """

    host: str
    resource: str
    net: str
    sender: str
    rows: tuple[CreditUse, ...]
    spells: tuple[Interval, ...]


def path_of(used: Sequence[CreditUse]) -> Path:
    """Return who is who, from the rows of interfaces and of router buffers."""
    owner = {use.subject: use.host for use in used if use.resource == "ni_credits"}
    return Path(owner, frozenset(use.host for use in used if use.resource == "router_buffers"))


def walked(used: Sequence[CreditUse]) -> list[CreditUse]:
    """Return the rows to look at: short within the record, the scarcest MOST_WALKED of each host and resource."""
    by_resource: dict[tuple[str, str], list[CreditUse]] = {}
    for use in used:
        if use.grade != "never" and use.spells:
            by_resource.setdefault((use.host, use.resource), []).append(use)
    return [use for rows in by_resource.values() for use in sorted(rows, key=scarcity, reverse=True)[:MOST_WALKED]]


def followers(used: Sequence[CreditUse]) -> list[Follows]:
    """Return those of the rows walked which only follow another of them, each with that other row."""
    path, ran_out = path_of(used), walked(used)
    kinds = _kinds(ran_out, path)
    found = []
    for use in ran_out:
        ahead = [
            kind
            for host in dict.fromkeys((use.host, path.owner.get(use.subject, "")))
            for kind in kinds.get(host, ())
            if _is_ahead(use, kind, path)
        ]
        link = _filled(use, ahead) if use.resource == "router_buffers" else _together(use, [each for each in ahead if _holds(each, kinds)])
        found += [link] if link is not None else []
    return found + _likewise(ran_out, found, path)


def _kinds(ran_out: Sequence[CreditUse], path: Path) -> dict[str, list[Kind]]:
    rows: dict[tuple[str, str, str, str], list[CreditUse]] = {}
    for use in ran_out:
        rows.setdefault((use.host, use.resource, net_of(use.subject), path.owner.get(use.subject, "")), []).append(use)
    kinds: dict[str, list[Kind]] = {}
    for key, members in rows.items():
        union = spells.joined([spell for use in members for spell in use.spells], 0.0)
        kinds.setdefault(key[0], []).append(Kind(*key, tuple(members), union))
    return kinds


def _holds(kind: Kind, kinds: dict[str, list[Kind]]) -> bool:
    """Return False for interfaces for which fewer messages wait than half the credits of the peers behind them: others hold the rest."""
    if kind.resource != "ni_credits":
        return True
    peers = [each for each in kinds[kind.host] if (each.resource, each.net) == ("peer_credits", kind.net)]
    held = sum(use.limit for each in peers for use in each.rows)
    return max(use.waiting for use in kind.rows) >= TOGETHER * held


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


def _is_ahead(use: CreditUse, kind: Kind, path: Path) -> bool:
    """Return True when messages take what the rows of a kind hold after they took this row's."""
    net = net_of(use.subject)
    if kind.host == use.host:
        if use.resource == "peer_router_credits":
            return kind.resource == "router_buffers" or (kind.resource in SENDS and kind.net != net)
        if use.resource == "router_buffers":
            return kind.resource in SENDS
        return use.resource == "peer_credits" and kind.resource == "ni_credits" and kind.net == net
    if use.resource != "peer_credits" or kind.host not in path.routers:
        return False
    if kind.resource == "peer_router_credits":
        return kind.sender in (use.host, "") and kind.net == net
    return kind.resource == "router_buffers" or kind.net != net


def _together(use: CreditUse, ahead: list[Kind]) -> Follows | None:
    """Return what a row follows: the kind ahead of it that was short in most of its own spells, by its scarcest row."""
    best: tuple[float, Kind | None] = (0.0, None)
    for kind in ahead:
        share = spells.overlap(use.spells, kind.spells, max(use.interval_s, kind.rows[0].interval_s))
        best = max(best, (share, kind), key=lambda pair: pair[0])
    share, binding = best
    return Follows(use, max(binding.rows, key=scarcity)) if binding is not None and share >= TOGETHER else None


def _filled(pool: CreditUse, ahead: list[Kind]) -> Follows | None:
    """Return what a pool of router buffers follows: peers without credits, where their messages are what fills it.

    A buffer is in use until the message in it is sent on: buffers in use = sum over the router's peers of (max - tx). So where that sum is
    the whole pool, its buffers only follow; were they the first, few messages in them would lack a peer's credit. Interfaces likewise.
    """
    for resource in SENDS:
        able = [use for kind in ahead if kind.resource == resource for use in kind.rows]
        rows = [use for use in able if spells.overlap(pool.spells, use.spells, use.interval_s) > 0]
        held = sum(use.limit + use.waiting for use in rows)
        if rows and held >= FOLLOWS_SHARE * pool.limit:
            return Follows(pool, max(rows, key=scarcity), (held, pool.limit))
    return None


def scarcity(use: CreditUse) -> tuple[float, float, tuple[int, float, float, float]]:
    """Return a key that sorts rows by how many messages waited for each credit there is."""
    return use.waiting / max(1, use.limit), use.waiting_max / max(1, use.limit), badness(use)
