"""carbon's storage schemas and aggregation rules, generated from the list of metrics, and what they cost in bytes.

carbon fixes both per file when the first point arrives: the rules must be there before. Its defaults (average, xFilesFactor 0.5)
destroy low-water marks and sparse series, hence one rule per metric and xFilesFactor 0.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lnetstat.model import Reduce
from lnetstat.reduce.metrics import METRICS, PREFIX, SERIES_MAX, TOP_PEERS, WILDCARDS, Metric

RETENTIONS = "1s:6h,10s:2d,60s:30d"
RETENTIONS_TOP = "1s:6h,60s:2d"  # the worst peers change: many names, each of interest for a short time
RETENTIONS_SELF = "1s:6h,60s:7d"  # as long as a spool keeps points
RETENTIONS_CARBON = "60s:30d"
NODES = (1, 100, 600)

# whisper.py: 16 bytes of header, 12 for each archive, 12 for each point (a 32-bit time and a double).
HEADER_BYTES = 16
ARCHIVE_BYTES = 12
POINT_BYTES = 12
UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}

METHODS = {Reduce.MIN: "min", Reduce.MAX: "max", Reduce.MEAN_MAX: "average", Reduce.LAST: "last"}


def storage_schemas(prefix: str = PREFIX, *, site: bool = False) -> str:
    """Return storage-schemas.conf. With `site` only the sections for our metrics, to stand first in a site's own file."""
    begin = f"^{re.escape(prefix)}\\.[^.]+\\."
    sections = [
        _section("lnetstat_top", begin + r"peers\.[^.]+\.top\.", f"retentions = {RETENTIONS_TOP}"),
        _section("lnetstat_self", begin + r"self\.", f"retentions = {RETENTIONS_SELF}"),
        _section("lnetstat", f"^{re.escape(prefix)}\\.", f"retentions = {RETENTIONS}"),
    ]
    if not site:
        sections.insert(0, _section("carbon", r"^carbon\.", f"retentions = {RETENTIONS_CARBON}"))
        sections.append(_section("everything_else", ".*", f"retentions = {RETENTIONS}"))
    return "\n".join(sections)


def storage_aggregation(metrics: Iterable[Metric] = METRICS, prefix: str = PREFIX, *, site: bool = False) -> str:
    """Return storage-aggregation.conf: one section per metric. With `site` only those, to stand first in a site's own file."""
    sections = [
        _section(metric.pattern, path_pattern(metric.pattern, prefix), "xFilesFactor = 0", f"aggregationMethod = {METHODS[metric.reduce]}")
        for metric in metrics
    ]
    if not site:
        sections.append(_section("everything_else", ".*", "xFilesFactor = 0", "aggregationMethod = average"))
    return "\n".join(sections)


def path_pattern(pattern: str, prefix: str = PREFIX) -> str:
    """Return the regular expression for the whole paths of a metric's pattern such as peers.NET.count."""
    nodes = ["[^.]+" if node in WILDCARDS else re.escape(node) for node in pattern.split(".")]
    return f"^{re.escape(prefix)}\\.[^.]+\\." + r"\.".join(nodes) + "$"


def _section(name: str, pattern: str, *settings: str) -> str:
    return "\n".join((f"[{name}]", f"pattern = {pattern}", *settings, ""))


def file_bytes(retentions: str) -> int:
    """Return the size of one whisper file, which is the size of one series: '1s:6h,10s:2d,60s:30d' -> 985012."""
    archives = retentions.split(",")
    return HEADER_BYTES + sum(ARCHIVE_BYTES + POINT_BYTES * _points(archive) for archive in archives)


def _points(archive: str) -> int:
    step, _, span = archive.partition(":")
    return _seconds(span) // _seconds(step)


def _seconds(text: str) -> int:
    return int(text[:-1]) * UNIT_S[text[-1]]


class Kind(NamedTuple):
    """One line of the sizing table: how many series of a node have which retentions."""

    name: str
    series: int
    retentions: str

    @property
    def bytes_per_node(self) -> int:
        return self.series * file_bytes(self.retentions)


def kinds(series: int = SERIES_MAX, metrics: Sequence[Metric] = METRICS) -> list[Kind]:
    """Return how `series` series of one node are kept: those of the worst peers (16 of one net), of the agent itself, all others."""
    top = TOP_PEERS * sum(".top." in metric.pattern for metric in metrics)
    own = sum(metric.pattern.startswith("self.") for metric in metrics)
    top = min(top, max(0, series - own))
    own = min(own, series)
    return [
        Kind("worst peers", top, RETENTIONS_TOP),
        Kind("lnetstat itself", own, RETENTIONS_SELF),
        Kind("all others", series - top - own, RETENTIONS),
    ]


def sizing_table(series: int = SERIES_MAX, nodes: Sequence[int] = NODES) -> str:
    """Return the bytes that whisper takes at most, per node and for several numbers of nodes, as a text table."""
    head = f"{'series of a node':<19}  {'retentions':<21}  {'each':>8}" + "".join(f"  {_nodes(count):>10}" for count in nodes)
    lines = [head]
    for kind in kinds(series):
        cells = "".join(f"  {_size(kind.bytes_per_node * count):>10}" for count in nodes)
        lines.append(f"{kind.series:>3} {kind.name:<15}  {kind.retentions:<21}  {_size(file_bytes(kind.retentions)):>8}{cells}")
    total = sum(kind.bytes_per_node for kind in kinds(series))
    lines.append(f"{series:>3} {'together':<15}  {'':<21}  {'':>8}" + "".join(f"  {_size(total * count):>10}" for count in nodes))
    top = file_bytes(RETENTIONS_TOP) * sum(".top." in metric.pattern for metric in METRICS)
    lines.append(f"Each further peer that becomes one of the worst adds {_size(top)}; its files may go when they are two days old.")
    return "\n".join(lines)


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _size(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" or size_bytes >= 10 else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} TB"
