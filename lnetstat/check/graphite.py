"""The same figures from a Graphite that agents ship to. Of a node's peers it knows each network's worst, not which peer that was."""

import fnmatch
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lnetstat.check.kinds import Figure
from lnetstat.config import parse_prefix
from lnetstat.errors import SourceError
from lnetstat.reduce.metrics import PREFIX
from lnetstat.reduce.paths import host_node
from lnetstat.series import graphite
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
    "counters.{ost,mdt,mds,mgs}.obd_ping.samples",
)
_NID = re.compile(r"([0-9]{1,3}(?:_[0-9]{1,3}){3}|[0-9]{1,10})_at_([a-z][a-z0-9]*)", re.ASCII)


class Series(NamedTuple):
    """One series of one host: the path below PREFIX.HOST as nodes, and its values that are there, by epoch second."""

    nodes: tuple[str, ...]
    time_s: "np.typing.NDArray[np.float64]"
    value: "np.typing.NDArray[np.float64]"

    @property
    def last(self) -> float:
        return float(self.value[-1])

    @property
    def words(self) -> str:
        """What the series is about: a net, an NI with its CPT, a pool."""
        found = _NID.fullmatch(self.nodes[1]) if len(self.nodes) > 1 else None
        name = f"{found[1].replace('_', '.')}@{found[2]}" if found else self.nodes[1] if len(self.nodes) > 1 else ""
        return " ".join([name, *self.nodes[2:-1]])


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


def look_at_graphite(location: str, hosts: Sequence[str] | None, *, begin_s: float, now_s: float, timeout_s: float) -> list[Figure]:
    """Return the figures of all hosts or those wanted since `begin_s`. Raises SourceError where Graphite cannot be asked or has nothing."""
    prefix = prefix_of(location)
    found = graphite.fetch(location, targets=targets_of(prefix, hosts, FAMILIES), begin_s=begin_s, timeout_s=timeout_s)
    by_host: dict[str, list[Series]] = {}
    for target, time_s, value in found:
        nodes = target.removeprefix(f"{prefix}.").split(".")
        there = np.isfinite(value)
        if there.any():
            by_host.setdefault(nodes[0], []).append(Series(tuple(nodes[1:]), time_s[there], value[there]))
    missing = sorted({host_node(host) for host in hosts or ()} - by_host.keys())
    figures = [figure for host, series in sorted(by_host.items()) for figure in _figures(host, series, now_s)]
    why = f"no values since {iso(int(begin_s * 1e9))}"
    return figures + [Figure("data_age", host, None, why=why, unread=True) for host in missing]


def _figures(host: str, series: Sequence[Series], now_s: float) -> Iterator[Figure]:
    def of(pattern: str) -> list[Series]:
        return [each for each in series if fnmatch.fnmatchcase(".".join(each.nodes), pattern)]

    yield Figure("data_age", host, max(0.0, now_s - max(float(each.time_s[-1]) for each in series)))
    yield _credits("peer_credits", host, of("peers.*.tx_credits_worst"), of("peers.*.tx_credits_low"), "no peer that holds credits")
    yield _credits("rtr_credits", host, of("peers.*.rtr_credits_worst"), of("peers.*.rtr_credits_low"), "no peer that holds credits")
    yield _credits("ni_credits", host, of("nis.*.tx_credits"), of("nis.*.tx_credits_min"), "no interface")
    yield from _buffers(host, of("buffers.*"))
    yield _lowest("peer_credits_low", host, of("peers.*.tx_credits_low"))
    yield _lowest("rtr_credits_low", host, of("peers.*.rtr_credits_low"))
    yield _lowest("ni_credits_low", host, of("nis.*.tx_credits_min"))
    yield _lowest("ni_health", host, of("health.*.value"))
    yield _counted("routes_down", host, of("routes.down"))
    yield _counted("peers_down", host, of("peers.*.down"))
    yield _nis_down(host, of("nis.*.up"))
    yield _most("peers_oversubscribed", host, of("peers.*.oversubscribed"))
    yield _most("queue_bytes", host, of("peers.*.queue_bytes"))


def _credits(name: str, host: str, now: list[Series], marks: list[Series], none: str) -> Figure:
    """Return the lowest credits that a second saw, or that a mark tells which fell within the time."""
    worst: tuple[float, float, Series] | None = None
    for each in now:
        at = int(each.value.argmin())
        worst = min(worst or (np.inf, 0.0, each), (float(each.value[at]), float(each.time_s[at]), each), key=lambda item: item[0])
    for each in marks:
        fell = np.flatnonzero(np.diff(each.value) < 0) + 1
        if fell.size and worst is not None:
            at = int(fell[each.value[fell].argmin()])
            if each.value[at] < min(0, worst[0]):
                worst = float(each.value[at]), float(each.time_s[at]), each
    if worst is None:
        return Figure(name, host, None, why=none)
    value, time_s, series = worst
    return Figure(name, host, value, f"{series.words}, at {iso(int(time_s * 1e9))}")


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
    down = sorted({each.words.split(" ")[0] for each in found if not each.last})
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
    pools: dict[str, dict[str, Series]] = {}
    for each in found:
        pools.setdefault(each.nodes[1], {})[each.nodes[2]] = each
    shares, lows = [], []
    for pool, columns in pools.items():
        count, used, worst, low = (columns.get(name) for name in ("count", "in_use_max", "credits_worst", "credits_low"))
        if count is None or count.last <= 0:
            continue
        if used is not None:
            shares.append((100 * (1 - float(used.value.max()) / count.last), pool))
        if worst is not None and worst.value.min() < 0:
            shares.append((100 * float(worst.value.min()) / count.last, pool))
        if low is not None:
            lows.append((100 * low.last / count.last, pool))
    for name, values, since in (("router_buffers", shares, ""), ("router_buffers_low", lows, ", since its mark was reset")):
        if values:
            share, pool = min(values)
            yield Figure(name, host, share, f"{pool} buffers{since}", 100.0)
        else:
            yield Figure(name, host, None, why="no router buffers: this node does not route")
