"""The same figures from a Graphite that agents ship to. Of a node's peers it knows each network's worst, not which peer that was."""

import fnmatch
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lnetstat.check.kinds import BELOW_0, Figure
from lnetstat.config import parse_prefix
from lnetstat.errors import SourceError
from lnetstat.reduce.metrics import PREFIX
from lnetstat.reduce.paths import host_node
from lnetstat.series import graphite
from lnetstat.sinks._exposition import readable
from lnetstat.words import iso

FAMILIES = (
    "peers.*.{tx_credits_worst,tx_credits_low,rtr_credits_worst,rtr_credits_low,oversubscribed,queue_bytes,down}",
    "nis.*.*.{tx_credits,tx_credits_min,tx_credits_max,up}",
    "buffers.*.{count,in_use_max,credits_worst,credits_low}",
    "routes.down",
    "health.*.value",
)
TRAFFIC = (
    "lnet_stats.{route_length,send_length,recv_length}",
    "counters.obdfilter_*.{read_bytes,write_bytes}.sum",
    "counters.{ost_io,ost}.{ost_read,ost_write}.samples",
)
# Some of what every host ships whose agent lives, whatever it is: few series, for they are asked for over days.
HEARTBEATS = ("{self,lnet_stats}.{series,send_length}", "{peers,buffers}.*.{count,tx_credits_worst}", "counters.*.obd_ping.samples")
FINE_S = 5 * 3600.0  # our storage schemas keep seconds for six hours
_KINDS = {"nis": "NID", "health": "NID", "peers": "NET"}  # what the second node stands for


class Series(NamedTuple):
    """One series of one host: the path below PREFIX.HOST as nodes, and its values that are there, by epoch second."""

    nodes: tuple[str, ...]
    time_s: "np.typing.NDArray[np.float64]"
    value: "np.typing.NDArray[np.float64]"

    @property
    def last(self) -> float:
        return float(self.value[-1])

    @property
    def lowest(self) -> tuple[float, float]:
        """The lowest value and its epoch second."""
        at = int(self.value.argmin())
        return float(self.value[at]), float(self.time_s[at])

    @property
    def words(self) -> str:
        """What the series is about: peers of a net, an NI with its CPT, a pool."""
        family, *names = self.nodes[:-1]
        if names:
            names[0] = readable(_KINDS.get(family, ""), names[0])
        text = " ".join(names)
        return {"peers": f"peers of {text}", "nis": f"NI {text}", "health": f"NI {text}", "buffers": f"{text} buffers"}.get(family, text)


class _Moment(NamedTuple):
    """A value, when it was and whose it is."""

    value: float
    time_s: float
    series: Series

    @property
    def words(self) -> str:
        return f"{self.series.words}, at {iso(int(self.time_s * 1e9))}"


def prefix_of(location: str) -> str:
    """Return the first nodes of the metric paths that a location names, `lnet` where it names none. Raises SourceError."""
    place = graphite.place_of(location)
    if len(place.targets) > 1:
        raise SourceError(f"{place.name}: one prefix, please: expected graphite://HOST[:PORT][/PREFIX]")
    try:
        return parse_prefix(place.targets[0]) if place.targets else PREFIX
    except ValueError as error:
        raise SourceError(f"{place.name}: a prefix of metrics, no target: {error}") from None


def targets_of(prefix: str, hosts: Sequence[str] | None, families: Sequence[str]) -> list[str]:
    """Return what to ask for."""
    nodes = "*" if hosts is None else "{" + ",".join(host_node(host) for host in hosts) + "}"
    return [f"{prefix}.{nodes}.{family}" for family in families]


def look_at_graphite(
    location: str, hosts: Sequence[str] | None, *, begin_s: float, now_s: float, forget_s: float, timeout_s: float
) -> list[Figure]:
    """Return the figures of all hosts or those wanted since `begin_s`, and since when those are silent that sent anything in `forget_s`.

    Raises SourceError where Graphite cannot be asked or has nothing.
    """
    prefix = prefix_of(location)
    known = graphite.names_of(location, f"{prefix}.*", timeout_s=timeout_s)
    wanted = known if hosts is None else {host_node(host) for host in hosts}
    targets = targets_of(prefix, hosts, FAMILIES)
    by_host: dict[str, list[Series]] = {}
    for target, time_s, value in graphite.fetch(location, targets=targets, begin_s=begin_s, timeout_s=timeout_s, may_be_empty=True):
        nodes = target.removeprefix(f"{prefix}.").split(".")
        there = np.isfinite(value)
        if there.any():
            by_host.setdefault(nodes[0], []).append(Series(tuple(nodes[1:]), time_s[there], value[there]))
    figures = [figure for host, series in sorted(by_host.items()) for figure in _figures(readable("HOST", host), series, now_s)]
    quiet = sorted((wanted & known) - by_host.keys())
    heard_s = last_heard_s(location, prefix, quiet, begin_s=begin_s, now_s=now_s, forget_s=forget_s, timeout_s=timeout_s)
    for host, last_s in heard_s.items():
        is_silent = last_s < begin_s
        words = f"{'silent since' if is_silent else 'last sample'} {iso(int(last_s * 1e9))}"
        figures.append(Figure("data_age", readable("HOST", host), max(0.0, now_s - last_s), words, unread=is_silent))
    if not figures and not wanted & known:
        raise SourceError(f"no series below {prefix} of {'any host' if hosts is None else ', '.join(hosts)}: do agents ship to it?")
    never = [] if hosts is None and figures else sorted(wanted - by_host.keys() - heard_s.keys())
    since = iso(int(min(begin_s, now_s - forget_s) * 1e9))
    return figures + [Figure("data_age", readable("HOST", host), None, why=f"no values since {since}", unread=True) for host in never]


def last_heard_s(
    location: str, prefix: str, nodes: Sequence[str], *, begin_s: float, now_s: float, forget_s: float, timeout_s: float
) -> dict[str, float]:
    """Return by host node when its last value came, in epoch seconds, of those with any in `forget_s`.

    Asked for since `begin_s` first, then for hours: of days Graphite keeps coarse values only, which tell less precisely when.
    """
    found: dict[str, float] = {}
    oldest_s = min(begin_s, now_s - forget_s)
    for from_s in sorted({begin_s, min(begin_s, max(oldest_s, now_s - FINE_S)), oldest_s}, reverse=True):
        rest = [node for node in nodes if node not in found]
        if not rest:
            break
        named = f"{prefix}.{{{','.join(rest)}}}"
        targets = [f"groupByNode({named}.{family},{prefix.count('.') + 1},'maxSeries')" for family in HEARTBEATS]
        for node, time_s, value in graphite.fetch(location, targets=targets, begin_s=from_s, timeout_s=timeout_s, may_be_empty=True):
            there = np.isfinite(value)
            if there.any():
                found[node] = max(found.get(node, 0.0), float(time_s[there][-1]))
    return found


def _figures(host: str, series: Sequence[Series], now_s: float) -> Iterator[Figure]:
    def of(pattern: str) -> list[Series]:
        return [each for each in series if fnmatch.fnmatchcase(".".join(each.nodes), pattern)]

    last_s = max(float(each.time_s[-1]) for each in series)
    yield Figure("data_age", host, max(0.0, now_s - last_s), f"last sample {iso(int(last_s * 1e9))}")
    no_peer = "no peer that holds credits" if of("peers.*") else "no values of peers in this time"
    for name, now, mark, none in (
        ("peer_credits", "peers.*.tx_credits_worst", "peers.*.tx_credits_low", no_peer),
        ("rtr_credits", "peers.*.rtr_credits_worst", "peers.*.rtr_credits_low", no_peer),
        ("ni_credits", "nis.*.tx_credits", "nis.*.tx_credits_min", "no values of interfaces in this time"),
    ):
        yield _credits(name, host, of(now), of(mark), none)
        yield _share(name, host, of(now), none)
        yield _lowest(f"{name}_low", host, of(mark))
    yield from _buffers(host, of("buffers.*"))
    yield _lowest("ni_health", host, of("health.*.value"))
    yield _counted("routes_down", host, of("routes.down"))
    yield _counted("peers_down", host, of("peers.*.down"))
    yield _nis_down(host, of("nis.*.up"))
    yield _most("peers_oversubscribed", host, of("peers.*.oversubscribed"))
    yield _most("queue_bytes", host, of("peers.*.queue_bytes"))


def _credits(name: str, host: str, now: list[Series], marks: list[Series], none: str) -> Figure:
    """Return the lowest credits that a second saw, or that a mark tells which fell within the time."""
    worst = _worst_of([_Moment(*each.lowest, each) for each in now])
    for each in marks:
        fell = np.flatnonzero(np.diff(each.value) < 0) + 1
        if fell.size and worst is not None:
            at = int(fell[each.value[fell].argmin()])
            if each.value[at] < min(0, worst.value):
                worst = _Moment(float(each.value[at]), float(each.time_s[at]), each)
    return _of_moment(name, host, worst, none)


def _worst_of(moments: list[_Moment]) -> _Moment | None:
    return min(moments, key=lambda moment: (moment.value, moment.time_s), default=None)


def _of_moment(name: str, host: str, worst: _Moment | None, none: str) -> Figure:
    return Figure(name, host, None, why=none) if worst is None else Figure(name, host, worst.value, worst.words)


def _share(name: str, host: str, found: list[Series], none: str) -> Figure:
    """Return for how much of the time credits were below 0: of what is worst off, a net's peers all together."""
    name += BELOW_0
    shares = [(100 * float((each.value < 0).mean()), int((each.value < 0).sum()), each) for each in found]
    if not shares:
        return Figure(name, host, None, why=none)
    percent, below, series = max(shares, key=lambda share: share[0])
    words = f"{series.words}, in {below} of {series.value.size} values" if below else f"in none of {series.value.size} values"
    return Figure(name, host, percent, words, 100.0)


def _lowest(name: str, host: str, found: list[Series]) -> Figure:
    worst = min(found, key=lambda each: each.last, default=None)
    if worst is None:
        return Figure(name, host, None, why="not shipped")
    since = ", since its mark was reset" if name.endswith("_low") else ""
    return Figure(name, host, worst.last, worst.words + since)


def _counted(name: str, host: str, found: list[Series]) -> Figure:
    if not found:
        return Figure(name, host, None, why="not shipped")
    return Figure(name, host, sum(each.last for each in found), ", ".join(each.words for each in found if each.last and each.words))


def _nis_down(host: str, found: list[Series]) -> Figure:
    if not found:
        return Figure("nis_down", host, None, why="not shipped")
    down = sorted({readable("NID", each.nodes[1]) for each in found if not each.last})
    return Figure("nis_down", host, len(down), ", ".join(down))


def _most(name: str, host: str, found: list[Series]) -> Figure:
    """Return the most of all networks together in one second."""
    if not found:
        return Figure(name, host, None, why="not shipped")
    stamps = np.unique(np.concatenate([each.time_s for each in found]))
    sums = np.zeros(stamps.size)
    for each in found:
        sums[np.searchsorted(stamps, each.time_s)] += each.value
    at = int(sums.argmax())
    return Figure(name, host, float(sums[at]), f"at {iso(int(stamps[at] * 1e9))}")


def _buffers(host: str, found: list[Series]) -> Iterator[Figure]:
    """Yield the free share of all CPTs together; where one CPT ran out, that: shares of single CPTs are not shipped."""
    none = "no router buffers: this node does not route" if found else "no values of router buffers in this time"
    pools: dict[str, dict[str, Series]] = {}
    for each in found:
        pools.setdefault(each.nodes[1], {})[each.nodes[2]] = each
    pools = {pool: columns for pool, columns in pools.items() if "count" in columns and columns["count"].last > 0}
    moments, lows = [], []
    for columns in pools.values():
        count = columns["count"].last
        if used := columns.get("in_use_max"):
            free = used._replace(value=100 * (1 - used.value / count))
            moments.append(_Moment(*free.lowest, free))
        if (worst := columns.get("credits_worst")) and worst.lowest[0] < 0:
            share = worst._replace(value=100 * worst.value / count)
            moments.append(_Moment(*share.lowest, share))
        if low := columns.get("credits_low"):
            lows.append(low._replace(value=100 * low.value / count))
    yield _of_moment("router_buffers", host, _worst_of(moments), none)._replace(limit=100.0)
    yield _share("router_buffers", host, [columns["credits_worst"] for columns in pools.values() if "credits_worst" in columns], none)
    lowest = _lowest("router_buffers_low", host, lows)
    yield lowest._replace(limit=100.0) if lows else lowest._replace(why=none)
