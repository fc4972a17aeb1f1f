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
from lnetstat.sinks._exposition import readable

Floats = npt.NDArray[np.float64]
Found = tuple[str, Floats, Floats]  # target, epoch seconds, values


class Traffic(NamedTuple):
    """One kind of traffic: the families that are added up, and what the sum is called, as that of a recording is (analysis.signals)."""

    pattern: str
    role: str
    table: str
    instance: str
    columns: tuple[str, ...]
    unit: str


# The first row that has a counter which moved is the traffic of a host: bytes of targets before requests before messages of LNet.
_BYTES, _REQUESTS = ("read_bytes", "write_bytes"), ("ost_read", "ost_write")
TRAFFIC = (
    Traffic(r"counters\.obdfilter_[^.]+\.(read_bytes|write_bytes)\.sum", "oss", "counters", "obdfilter", _BYTES, "bytes/s"),
    Traffic(r"counters\.(?:ost_io|ost)\.(ost_read|ost_write)\.samples", "oss", "counters", "ost_io", _REQUESTS, "requests/s"),
    Traffic(r"lnet_stats\.(route_length)", "router", "lnet_stats", "", ("route_length",), "bytes/s"),
    Traffic(r"lnet_stats\.(send_length|recv_length)", "client", "lnet_stats", "", ("send_length", "recv_length"), "bytes/s"),
)
PINGS_BESIDE = "counters.{ost,mdt,mds,mgs}.obd_ping.samples"  # as a target: servers count them, and routers do not
PINGS = r"counters\.(?:ost|mdt|mds|mgs|osc_[^.]+|mdc_[^.]+|mgc_[^.]+)\.obd_ping\.samples"
LOWEST = {
    "tx": r"peers\.[^.]+\.(?:tx_credits_worst|top\.[^.]+\.tx_credits)",
    "tx_min": r"peers\.[^.]+\.(?:tx_credits_low|top\.[^.]+\.tx_credits_min)",
}
QUEUE = r"peers\.[^.]+\.queue_bytes"


class Signal(NamedTuple):
    """What a source's `value` is: the fields of analysis.signals.Track, without the rates."""

    host: str
    role: str
    table: str
    instance: str
    name: str
    unit: str


class Own(NamedTuple):
    """A metric of ours: prefix and host as nodes, the family below PREFIX.HOST, and its values by epoch second."""

    prefix: str
    host: str
    family: str
    values: "pd.Series[float]"


def table_of(name: str, found: Sequence[Found]) -> pd.DataFrame:
    """Return one table of all series: time, value and, where known, ping_rate, tx, tx_min, queue_bytes, source.

    `name` of the Graphite, for messages. `attrs["kind"]` is counter where the traffic is our own, else left to the user; then
    `attrs["signals"]` says what each source is, and `attrs["pings_of"]` which host counted the pings, "" for several. Raises SourceError
    where no series is traffic.
    """
    known, others, columns = _sorted_out(found)
    chosen = _traffic(known)
    traffic, signals = {host: values for host, (values, _) in chosen.items()}, {host: signal for host, (_, signal) in chosen.items()}
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
    pinged = {each.host for each in known if re.fullmatch(PINGS, each.family)}
    more = {each.host for each in known if not re.fullmatch(PINGS, each.family)} - traffic.keys()
    table.attrs.update(
        kind="counter" if traffic else "",
        name=signals[next(iter(traffic))].host if len(traffic) == 1 and not more else "",
        notes=[],
        signals=signals,
        pings_of=readable("HOST", next(iter(pinged))) if len(pinged) == 1 else "",
    )
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
            return Own(".".join(nodes[: at - 1]), nodes[at - 1], family, values)
    return None


def _traffic(known: list[Own]) -> dict[str, tuple["pd.Series[float]", Signal]]:
    """Return by host the sum of the counters of the first kind of traffic that moved there, and what that is."""
    chosen: dict[str, tuple[pd.Series[float], Signal]] = {}
    for host in dict.fromkeys(each.host for each in known):
        own = [each for each in known if each.host == host]
        for kind in TRAFFIC:
            members = [(found[1], each.values) for each in own if (found := re.fullmatch(kind.pattern, each.family))]
            if any(_moved(values) for _, values in members):
                name = "+".join(column for column in kind.columns if column in {column for column, _ in members})
                signal = Signal(readable("HOST", host), kind.role, kind.table, kind.instance, name, kind.unit)
                # A second in which one counter is missing has no sum.
                chosen[host] = pd.concat([values for _, values in members], axis=1).sum(axis=1, skipna=False), signal
                break
    return chosen


def pings_beside(found: Sequence[str]) -> list[str]:
    """Return what to ask for beside these targets: the pings of all servers, where there are metrics of ours and no pings among them."""
    known = [own for target in found if (own := _own(target, pd.Series(dtype=float)))]
    if any(re.fullmatch(PINGS, each.family) for each in known):
        return []
    moving = [each for each in known if any(re.fullmatch(kind.pattern, each.family) for kind in TRAFFIC)]
    return [f"{prefix}.*.{PINGS_BESIDE}" for prefix in dict.fromkeys(each.prefix for each in moving)]


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
    patterns = [PINGS, QUEUE, *LOWEST.values(), *(kind.pattern for kind in TRAFFIC if traffic)]
    return [f"{each.host}.{each.family}" for each in known if not any(re.fullmatch(pattern, each.family) for pattern in patterns)]
