"""Points as Prometheus' text exposition (format 0.0.4): names, labels and types from the list of metrics. Pure: no clock, no socket.

`PREFIX.HOST.peers.NET.tx_credits_worst` becomes `lnet_peers_tx_credits_worst{host="rtr1",net="o2ib1"}`. What only grows is a counter and
ends in `_total`. Labels have the names as the world writes them (10.10.1.2@o2ib1, obdfilter.FS-OST0000) wherever the path's node leads
back to exactly one printable name; where it does not (a name too long, or with unprintable characters), the node itself.
"""

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from lnetstat.model import Point, Semantics
from lnetstat.reduce.metrics import METRICS, PREFIX, WILDCARDS, Metric, metric_of
from lnetstat.reduce.paths import host_node, name_node, net_node, nid_node
from lnetstat.tables import builtin_tables

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Not `instance`: Prometheus gives that label to every target itself.
LABELS = {"NET": "net", "NID": "nid", "POOL": "pool", "CPT": "cpt", "INSTANCE": "service", "COUNTER": "counter", "BUCKET": "bucket"}
# Counters that are no column of a table; every other type follows the column's semantics.
OWN_COUNTERS = frozenset({"self.late", "self.errors", "self.sent", "self.resent", "self.lost", "health.NID.errors", "health.NID.timeouts"})
# Read every 30 s, not at every tick: kept for two and a half of these intervals.
SLOW_FAMILIES = frozenset({"health"})
SLOW_KEPT_S = 75.0
KEPT_S = 150.0  # when nothing was offered for so long, the loop hangs or samples very seldom: better no value than an old one
NODES_MAX = 32
SECOND_METRIC = "lnet_sampled_time_seconds"
SECOND_HELP = "whole second (since 1970) of the newest points here"

_IPV4 = re.compile(r"(?P<address>[0-9]+_[0-9]+_[0-9]+_[0-9]+)_at_(?P<net>[a-z][a-z0-9]*)\Z", re.ASCII)
_NUMBER = re.compile(r"(?P<address>[0-9]+)_at_(?P<net>[a-z][a-z0-9]*)\Z", re.ASCII)
_IPV6 = re.compile(r"(?P<address>[0-9a-fA-F-]+)_at_(?P<net>[a-z][a-z0-9]*)\Z", re.ASCII)


class Exposed(NamedTuple):
    """How one metric stands on the page."""

    name: str
    type: str
    help: str


def exposed(metric: Metric) -> Exposed:
    """Return name, type and help of a metric: peers.NET.count -> lnet_peers_count, gauge."""
    words = [word for word in metric.pattern.split(".") if word not in WILDCARDS]
    counter = is_counter(metric)
    name = "_".join(words if words[0].startswith("lnet_") else ["lnet", *words]) + ("_total" if counter else "")
    return Exposed(name, "counter" if counter else "gauge", f"{metric.help} [{metric.unit}]" if metric.unit else metric.help)


def is_counter(metric: Metric) -> bool:
    """Whether it only grows, until it is reset."""
    family, _, rest = metric.pattern.partition(".")
    table = builtin_tables().get(family)
    column_name = rest.rpartition(".")[2]
    columns = {column.name: column.semantics for column in table.columns} if table else {}
    return metric.pattern in OWN_COUNTERS or columns.get(column_name) is Semantics.COUNTER


class Exposition:
    """The newest points of one node. `offer` replaces them, `text` is the page; both say what monotonic time it is.

    A series that the newest batch does not have is gone from the page; the few that are read seldom stay 75 s. `refused`: points that are
    none of our metrics, or no number, or the same series twice.
    """

    def __init__(self, prefix: str = PREFIX) -> None:
        self._prefix_nodes = prefix.split(".")
        self._newest: dict[str, Point] = {}
        self._offered_s = -math.inf
        self._slow: dict[str, tuple[float, Point]] = {}
        self.refused = 0

    def offer(self, points: Iterable[Point], now_s: float) -> bool:
        """Take a batch; return whether it had any points. An empty one changes nothing: the second is not over yet."""
        newest: dict[str, Point] = {}
        slow = dict(self._slow)
        below = len(self._prefix_nodes) + 1
        for point in points:
            nodes = point.path.split(".", below + 1)
            if len(nodes) > below and nodes[below] in SLOW_FAMILIES:
                slow[point.path] = (now_s, point)
            elif point.path not in newest or newest[point.path].time_s <= point.time_s:
                newest[point.path] = point
        if not newest and slow == self._slow:
            return False
        if newest:
            self._newest, self._offered_s = newest, now_s
        self._slow = {path: kept for path, kept in slow.items() if kept[0] + SLOW_KEPT_S >= now_s}
        return True

    def points(self, now_s: float) -> list[Point]:
        """Return what stands on the page now."""
        slow = [point for kept_s, point in self._slow.values() if kept_s + SLOW_KEPT_S >= now_s]
        return [*self._newest.values(), *slow] if self._offered_s + KEPT_S >= now_s else slow

    def text(self, points: Iterable[Point]) -> str:
        """Return the page of these points."""
        series: dict[str, dict[str, float]] = {}
        families: dict[str, Metric] = {}
        newest_s: dict[str, int] = {}
        refused = 0
        for point in points:
            place = _place(point.path, len(self._prefix_nodes))
            if place is None or point.path.split(".")[: len(self._prefix_nodes)] != self._prefix_nodes or not math.isfinite(point.value):
                refused += 1
                continue
            families[place.metric.pattern] = place.metric
            values = series.setdefault(place.metric.pattern, {})
            if place.labels in values:
                refused += 1
                continue
            values[place.labels] = point.value
            newest_s[place.host] = max(newest_s.get(place.host, point.time_s), point.time_s)
        self.refused = refused
        lines: list[str] = []
        for metric in METRICS:
            if metric.pattern in families:
                lines += _family(exposed(metric), series[metric.pattern])
        second = {_labels([("host", host)]): float(time_s) for host, time_s in newest_s.items()}
        if second:
            lines += _family(Exposed(SECOND_METRIC, "gauge", SECOND_HELP), second)
        return "".join(lines)


def _family(shown: Exposed, values: dict[str, float]) -> list[str]:
    help_text = shown.help.replace("\\", "\\\\").replace("\n", "\\n")
    head = [f"# HELP {shown.name} {help_text}\n", f"# TYPE {shown.name} {shown.type}\n"]
    return head + [f"{shown.name}{labels} {_number(value)}\n" for labels, value in values.items()]


def _number(value: float) -> str:
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


class _Place(NamedTuple):
    metric: Metric
    host: str
    labels: str


@lru_cache(maxsize=1024)
def _place(path: str, prefix_nodes: int) -> _Place | None:
    """Return where a path stands on the page, or None for a path that is none of our metrics."""
    nodes = path.split(".", NODES_MAX)[prefix_nodes:]
    if len(nodes) < 2 or not all(nodes):
        return None
    host, family = nodes[0], nodes[1:]
    metric = metric_of(".".join(family))
    if metric is None:
        return None
    host = readable("HOST", host)
    pairs = [("host", host)]
    for word, node in zip(metric.pattern.split("."), family, strict=True):
        if word in WILDCARDS:
            pairs.append((LABELS[word], readable(word, node)))
    return _Place(metric, host, _labels(pairs))


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}"


def _escaped(value: str) -> str:
    """Escape what ends a label's value; what is no UTF-8 (a surrogate) cannot stand on the page at all."""
    value = value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


_NODE_OF: dict[str, Callable[[str], str]] = {
    "HOST": host_node,
    "NET": net_node,
    "NID": nid_node,
    "INSTANCE": name_node,
    "COUNTER": name_node,
}


def readable(word: str, node: str) -> str:
    """Return the one printable name behind a path's node, or the node itself: taken only where the name leads to this very node again.

    `word`: what the node stands for, as in METRICS (NID, NET, INSTANCE, …) or HOST.
    """
    if word == "CPT":
        return node.removeprefix("cpt")
    node_of = _NODE_OF.get(word)
    if node_of is None:
        return node
    name = _from_hex(node) if node.startswith("__") else _from_words(word, node)
    # A name that looks like hex of ours stays hex: it could meet a node that is kept as it is.
    sure = name.isprintable() and name != "" and not name.startswith("__") and node_of(name) == node
    return name if sure else node


def _from_hex(node: str) -> str:
    try:
        return bytes.fromhex(node[2:]).decode("utf-8")
    except ValueError:
        return ""


def _from_words(word: str, node: str) -> str:
    if word == "HOST":
        return node.replace("_", ".")
    if word == "NID":
        for pattern, mark, sign in ((_IPV4, "_", "."), (_NUMBER, "_", "_"), (_IPV6, "-", ":")):
            if found := pattern.match(node):
                return f"{found['address'].replace(mark, sign)}@{found['net']}"
    if word in ("INSTANCE", "COUNTER") and name_node(node) != node:
        return node.replace("_", ".", 1)
    return node
