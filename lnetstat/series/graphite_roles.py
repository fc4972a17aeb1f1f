"""What series of Graphite mean: by the names of our own metrics, or by an alias() that is a column's name.

lnetstat ships raw counters, one value a second: traffic stays a counter; pings become a rate, as their column is one.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.errors import SourceError, shown
from lnetstat.reduce.metrics import metric_of
from lnetstat.series.rows import NUMBERS, finished, sifted

Floats = npt.NDArray[np.float64]
Found = tuple[str, Floats, Floats]  # target, epoch seconds, values

# The first row that has a counter which moved is the traffic of a host: bytes of targets before requests before messages of LNet.
TRAFFIC = (
    r"counters\.obdfilter_[^.]+\.(?:read|write)_bytes\.sum",
    r"counters\.(?:ost_io|ost)\.ost_(?:read|write)\.samples",
    r"lnet_stats\.route_length",
    r"lnet_stats\.(?:send|recv)_length",
)
PINGS = r"counters\.(?:ost|mdt|mds|mgs|osc_[^.]+|mdc_[^.]+|mgc_[^.]+)\.obd_ping\.samples"
LOWEST = {
    "tx": r"peers\.[^.]+\.(?:tx_credits_worst|top\.[^.]+\.tx_credits)",
    "tx_min": r"peers\.[^.]+\.(?:tx_credits_low|top\.[^.]+\.tx_credits_min)",
}
QUEUE = r"peers\.[^.]+\.queue_bytes"


class Own(NamedTuple):
    """A metric of ours: the host's node, the family below PREFIX.HOST, and its values by epoch second."""

    host: str
    family: str
    values: "pd.Series[float]"


def table_of(name: str, found: Sequence[Found]) -> pd.DataFrame:
    """Return one table of all series: time, value and, where known, ping_rate, tx, tx_min, queue_bytes, source.

    `name` of the Graphite, for messages. `attrs["kind"]` is counter where the traffic is our own, else left to the user. Raises SourceError
    where no series is traffic.
    """
    known, others, columns = _sorted_out(found)
    traffic = _traffic(known)
    if traffic and others:
        raise SourceError(
            f"{name}: {shown(next(iter(others)))} is no counter of ours like the others: ask for them apart, or name it by alias()"
        )
    sources = traffic or others
    if "value" in columns and not sources:
        sources = {"value": columns.pop("value")}
    if not sources:
        raise SourceError(
            f"{name}: no traffic in {shown(', '.join(each[0] for each in found))}: ask for route_length, ost_io or obdfilter counters too"
        )
    parts = [pd.DataFrame({"value": values, "source": source}) for source, values in sources.items()]
    whole = pd.concat(parts)
    whole.index.name = "time"
    whole = whole.join(pd.DataFrame(_along(known) | columns))
    if len(sources) == 1:
        whole = whole.drop(columns="source")
    table, odd = sifted(whole.reset_index())
    table = finished(name, table, [odd], place="row")
    hosts = {each.host for each in known}
    table.attrs.update(kind="counter" if traffic else "", name=next(iter(hosts)) if len(hosts) == 1 and traffic else "", notes=[])
    unused = _unused(known, traffic)
    if unused:
        table.attrs["notes"].append(
            f"{name}: {len(unused)} series say nothing about dead time or peer credits and were left out, as {unused[0]}"
        )
    return table


def _sorted_out(found: Sequence[Found]) -> tuple[list[Own], dict[str, "pd.Series[float]"], dict[str, "pd.Series[float]"]]:
    """Return (metrics of ours, other series by target, series that are named like a column)."""
    known: list[Own] = []
    others: dict[str, pd.Series[float]] = {}
    columns: dict[str, pd.Series[float]] = {}
    for target, time_s, value in found:
        values = pd.Series(value, index=time_s)
        values = values[~values.index.duplicated()]
        if target in NUMBERS[1:]:
            columns[target] = values
            continue
        own = _own(target, values)
        if own:
            known.append(own)
        else:
            others[target] = values
    return known, others, columns


def _own(target: str, values: "pd.Series[float]") -> Own | None:
    """Return the metric that a target without functions names: PREFIX.HOST.FAMILY."""
    nodes = target.split(".")
    for at in range(2, len(nodes)):
        family = ".".join(nodes[at:])
        if metric_of(family):
            return Own(nodes[at - 1], family, values)
    return None


def _traffic(known: list[Own]) -> dict[str, "pd.Series[float]"]:
    """Return by host the sum of the counters of the first kind of traffic that moved there."""
    chosen: dict[str, pd.Series[float]] = {}
    for host in dict.fromkeys(each.host for each in known):
        for pattern in TRAFFIC:
            members = [each.values for each in known if each.host == host and re.fullmatch(pattern, each.family)]
            if any(_moved(values) for values in members):
                # A second in which one counter is missing has no sum.
                chosen[host] = pd.concat(members, axis=1).sum(axis=1, skipna=False)
                break
    return chosen


def _moved(values: "pd.Series[float]") -> bool:
    there = values.dropna()
    return there.size > 1 and bool((there.diff().dropna() > 0).any())


def _along(known: list[Own]) -> dict[str, "pd.Series[float]"]:
    """Return the columns beside `value`: pings per second of all services, the lowest credits, the bytes queued."""
    columns: dict[str, pd.Series[float]] = {}
    pings = [_rate(each.values) for each in known if re.fullmatch(PINGS, each.family)]
    if pings:
        columns["ping_rate"] = pd.concat(pings, axis=1).sum(axis=1, min_count=1)
    for column, pattern in LOWEST.items():
        lowest = [each.values for each in known if re.fullmatch(pattern, each.family)]
        if lowest:
            columns[column] = pd.concat(lowest, axis=1).min(axis=1)
    queues = [each.values for each in known if re.fullmatch(QUEUE, each.family)]
    if queues:
        columns["queue_bytes"] = pd.concat(queues, axis=1).sum(axis=1, min_count=1)
    return columns


def _rate(counter: "pd.Series[float]") -> "pd.Series[float]":
    """Return the rate over the interval that ends at each stamp; missing at the first, and where the counter began anew."""
    there = counter.dropna()
    steps = pd.Series(np.diff(there.index.to_numpy(np.float64), prepend=np.nan), index=there.index)
    rate = there.diff() / steps
    return rate.where(rate >= 0).reindex(counter.index)


def _unused(known: list[Own], traffic: dict[str, "pd.Series[float]"]) -> list[str]:
    patterns = [PINGS, QUEUE, *LOWEST.values(), *TRAFFIC] if traffic else [PINGS, QUEUE, *LOWEST.values()]
    return [f"{each.host}.{each.family}" for each in known if not any(re.fullmatch(pattern, each.family) for pattern in patterns)]
