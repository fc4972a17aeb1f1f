"""Which rates of a host tell about dead time: throughput to look for dips in, messages and pings to look for bursts in.

Router: bytes routed (route_length) and messages routed (route_count). Server: bytes of its targets, else read and write requests of
ost_io, and obd_ping of the services ost, mdt and mgs, which count pings exactly. Others: bytes and messages sent and received.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from lnetstat.analysis import rates
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.results import FloatArray
from lnetstat.frames import Frames

PING_SERVICES = ("ost", "mdt", "mds", "mgs")
MOST_TARGETS = 512


class Track(NamedTuple):
    """The rates of one signal before anything was found in it; the fields are those of results.Signal."""

    host: str
    role: str
    table: str
    instance: str
    name: str
    purpose: str
    unit: str
    rates: Rates


class Hints(NamedTuple):
    """What the tunables say about pings: exact periods in seconds to test, and the setting that holds."""

    exact_periods_s: tuple[float, ...]
    ping_interval_s: float | None


def tracks_of(frames: Frames) -> list[Track]:
    """Return the signals of all hosts that carry any."""
    stats, counters = frames.tables.get("lnet_stats"), frames.tables.get("counters")
    routers = router_hosts(frames)
    found: list[Track] = []
    for host in hosts_of(frames):
        own_counters = _of_host(counters, host)
        services = set(map(str, own_counters["instance"].unique())) if own_counters is not None else set()
        role = "router" if host in routers else "oss" if services & {"ost", "ost_io"} or _targets(services) else "client"
        if own_counters is not None:
            found += _service_tracks(own_counters, host, role, services)
        own_stats = _of_host(stats, host)
        if own_stats is not None:
            found += _stats_tracks(own_stats, host, role)
    return found


def hosts_of(frames: Frames) -> list[str]:
    """Return the hosts in the order of their first sample."""
    return [str(host) for host in frames.states["host"].drop_duplicates()] if len(frames.states) else []


def router_hosts(frames: Frames) -> set[str]:
    """Return the hosts that route: their router buffer pools hold buffers."""
    buffers = frames.tables.get("buffers")
    if buffers is None or buffers.empty:
        return set()
    return {str(host) for host in buffers.loc[buffers["count"] > 0, "host"].unique()}


def hints_of(frames: Frames) -> Hints:
    """Return what tunables tell about the ping interval: ping_interval, or obd_timeout / 4 (ptlrpc/pinger.c)."""
    table = frames.tables.get("tunables")
    if table is None or table.empty:
        return Hints((), None)
    names = table["name"].astype(str)
    settings = [_number(value) for value in table.loc[names == "ping_interval", "value"]]
    timeouts = [_number(value) for value in table.loc[names == "timeout", "value"]]
    periods = [value for value in settings if value] + [max(1.0, value // 4) for value in timeouts if value]
    return Hints(tuple(sorted(set(periods))), periods[0] if periods else None)


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _of_host(table: pd.DataFrame | None, host: str) -> pd.DataFrame | None:
    if table is None or table.empty:
        return None
    is_own = (table["host"] == host).to_numpy(bool)
    if is_own.all():
        return table
    return table[is_own] if is_own.any() else None


def _stats_tracks(stats: pd.DataFrame, host: str, role: str) -> Iterator[Track]:
    lengths, counts = (
        (("route_length",), ("route_count",))
        if role == "router"
        else (
            ("send_length", "recv_length"),
            ("send_count", "recv_count"),
        )
    )
    for columns, purpose, unit, wraps in ((lengths, "throughput", "bytes/s", False), (counts, "messages", "messages/s", True)):
        if not all(column in stats for column in columns):
            continue
        parts = [
            rates.from_counter(_seconds(stats), stats[column].to_numpy(np.float64, na_value=np.nan), wraps=wraps) for column in columns
        ]
        total = _sum(parts)
        if total.rate.size and float(total.rate.max()) > 0:
            yield Track(host, role, "lnet_stats", "", "+".join(columns), purpose, unit, total)


def _service_tracks(counters: pd.DataFrame, host: str, role: str, services: set[str]) -> Iterator[Track]:
    bytes_moved = _counter_rates(counters, _targets(services), ("read_bytes", "write_bytes"), "sum")
    if bytes_moved is not None:
        yield Track(host, role, "counters", "obdfilter", "read_bytes+write_bytes", "throughput", "bytes/s", bytes_moved)
    requests = _counter_rates(counters, services & {"ost_io", "ost"}, ("ost_read", "ost_write"), "samples")
    if requests is not None:
        yield Track(host, role, "counters", "ost_io", "ost_read+ost_write", "throughput", "requests/s", requests)
    serving = services & set(PING_SERVICES)
    pings = _counter_rates(counters, serving, ("obd_ping",), "samples")
    if pings is not None:
        yield Track(host, role, "counters", "+".join(sorted(serving)), "obd_ping", "pings", "pings/s", pings)
    if not serving:
        imports = {name for name in services if name.startswith(("osc.", "mdc.", "mgc."))}
        sent = _counter_rates(counters, imports, ("obd_ping",), "samples")
        if sent is not None:
            yield Track(host, role, "counters", "osc+mdc", "obd_ping", "pings", "pings/s", sent)


def _targets(services: set[str]) -> set[str]:
    return {name for name in services if name.startswith("obdfilter.")}


def _counter_rates(counters: pd.DataFrame, instances: set[str], names: tuple[str, ...], column: str) -> Rates | None:
    """Return the summed rate of the named counters of these instances; None where none of them moved or was there."""
    wanted = counters[counters["counter"].isin(names) & counters["instance"].isin(sorted(instances)[:MOST_TARGETS])]
    parts = []
    for _, rows in wanted.groupby(["instance", "counter"], observed=True):
        each = rates.from_counter(_seconds(rows), rows[column].to_numpy(np.float64, na_value=np.nan))
        if each.rate.size and float(each.rate.max()) > 0:
            parts.append(each)
    return _sum(parts) if parts else None


def _seconds(table: pd.DataFrame) -> FloatArray:
    return np.asarray(table["time_ns"].to_numpy(np.float64) / 1e9)


def _sum(parts: list[Rates]) -> Rates:
    """Return the sum of rates on the intervals of the longest of them; files of one tick are read some milliseconds apart."""
    longest = max(parts, key=lambda each: each.time_s.size)
    total = longest.rate.copy()
    for each in parts:
        if each is not longest:
            total = total + np.nan_to_num(rates.on_times(each, longest.time_s, longest.interval_s))
    return longest._replace(rate=total, resets=max(each.resets for each in parts))
