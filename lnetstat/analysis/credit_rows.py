"""The rows of credits in a table, each with its samples as arrays in time order."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.analysis import listed
from lnetstat.analysis.results import FloatArray

MOST_DETAILED = 400  # rows per host and resource that are looked at one by one, worst first

IntArray = npt.NDArray[np.int64]


class Resource(NamedTuple):
    """One kind of credit: which columns of which table hold it."""

    name: str
    table: str
    key: str
    credits: str
    low_water: str
    limit: str

    @property
    def columns(self) -> tuple[str, str, str]:
        """Credits, low-water mark and limit."""
        return self.credits, self.low_water, self.limit


RESOURCES = (
    Resource("peer_credits", "peers", "nid", "tx_credits", "tx_credits_min", "tx_credits_max"),
    Resource("peer_router_credits", "peers", "nid", "rtr_credits", "rtr_credits_min", "tx_credits_max"),
    Resource("ni_credits", "nis", "nid", "tx_credits", "tx_credits_min", "tx_credits_max"),
    Resource("router_buffers", "buffers", "pool", "credits", "credits_min", "count"),
)


class Row(NamedTuple):
    """The samples of one row in time order; arrays of shape (n,). `scans`: all scans of the table, where not all of them list every row."""

    host: str
    resource: str
    table: str
    subject: str
    row: int
    time_s: FloatArray
    credits: IntArray
    low_water: IntArray
    limit: IntArray
    windowed: npt.NDArray[np.bool_]
    queue_bytes: FloatArray | None
    scans: listed.Scans | None = None


def rows_by_host(table: pd.DataFrame, resource: Resource) -> Iterator[tuple[str, list[Row], int]]:
    """Yield each host with its worst rows, samples in time order, and how many rows were below 0 at any time.

    Rows without a limit are left out: routed peers, 0@lo, torn rows.
    """
    counted = _integers(table, resource.limit) > 0
    for name in resource.columns:
        if table[name].hasnans:
            counted &= table[name].notna().to_numpy(bool)
    places = np.flatnonzero(counted)
    host, hosts = pd.factorize(table["host"])
    subject, subjects = pd.factorize(table[resource.key])
    numbers = _integers(table, "row")
    ids = subject * (int(numbers.max(initial=0)) + 1) + numbers  # one for each subject and number of its row
    hosts_there, first = np.unique(host[places], return_index=True)
    for each in hosts_there[np.argsort(first)].tolist():
        own = places if len(hosts_there) == 1 else places[host[places] == each]
        rows, short = _rows(str(hosts[each]), resource, table, own, ids[own])
        named = [row._replace(subject=str(subjects[subject[at]]), row=int(numbers[at])) for at, row in rows]
        yield str(hosts[each]), named, short


def _integers(table: pd.DataFrame, name: str) -> IntArray:
    """Return a column of whole numbers, 0 where one is missing."""
    column = table[name]
    return column.to_numpy(np.int64) if not column.hasnans else column.fillna(0).to_numpy(np.int64)


def _rows(host: str, resource: Resource, table: pd.DataFrame, places: IntArray, ids: IntArray) -> tuple[list[tuple[int, Row]], int]:
    """Return the worst rows of one host, still without a name, each with the place of its first sample, and how many were below 0.

    They stand in the order in which they first come. Columns become arrays once, and are cut: a table of each row would take longer to
    make than to measure.
    """
    number, different = pd.factorize(ids)
    time_ns = table["time_ns"].to_numpy(np.int64)[places]
    if len(different) < 1 << 16 and bool((time_ns[1:] >= time_ns[:-1]).all()):
        order = np.argsort(number.astype(np.uint16), kind="stable")  # of small numbers: in one pass
    else:
        order = np.lexsort((time_ns, number))
    ends = np.cumsum(np.bincount(number, minlength=len(different)))
    begins = np.append(0, ends[:-1])
    free, low_water = (_integers(table, name)[places] for name in (resource.credits, resource.low_water))
    lowest = np.minimum.reduceat(np.minimum(free, low_water)[order], begins)
    worst = np.sort(np.argsort(lowest, kind="stable")[:MOST_DETAILED])
    columns = _columns(resource, table, places)
    rows: list[tuple[int, Row]] = []
    for begin, end in zip(begins[worst].tolist(), ends[worst].tolist(), strict=True):
        row = _row(host, resource, "", 0, columns.at(order[begin:end]))
        if rows and np.array_equal(rows[-1][1].time_s, row.time_s):
            row = row._replace(time_s=rows[-1][1].time_s)  # one array for all: what is made of it is made once
        rows.append((int(places[order[begin]]), row))
    return rows, int((lowest < 0).sum())


class _Columns(NamedTuple):
    """The samples of one row or of several, as columns."""

    time_ns: IntArray
    credits: IntArray
    low_water: IntArray
    limit: IntArray
    windowed: npt.NDArray[np.bool_]
    queue_bytes: FloatArray | None

    def at(self, places: IntArray) -> "_Columns":
        """Return the samples at these places, in this order."""
        queue_bytes = None if self.queue_bytes is None else self.queue_bytes[places]
        time_ns, free, low_water, limit = (each[places] for each in (self.time_ns, self.credits, self.low_water, self.limit))
        return _Columns(time_ns, free, low_water, limit, self.windowed[places], queue_bytes)


def _columns(resource: Resource, samples: pd.DataFrame, order: IntArray) -> _Columns:
    """Return the columns that a resource needs, in this order."""

    def column(name: str) -> IntArray:
        return samples[name].to_numpy(np.int64)[order]

    queue_bytes = samples["queue_bytes"].to_numpy(np.float64)[order] if resource.name == "peer_credits" else None
    windowed = samples["low_water_reset"].to_numpy(bool)[order]
    free, low_water, limit = map(column, resource.columns)
    return _Columns(column("time_ns"), free, low_water, limit, windowed, queue_bytes)


def _row(host: str, resource: Resource, subject: str, number: int, samples: _Columns) -> Row:
    """Return the row of these samples, which are in time order."""
    limit = samples.limit
    if resource.name == "peer_router_credits":
        # `peers` does not print the limit of rtr; an idle row shows it.
        limit = np.full(limit.size, max(1, int(samples.credits.max())), dtype=np.int64)
    return Row(
        host,
        resource.name,
        resource.table,
        subject,
        number,
        samples.time_ns / 1e9,
        samples.credits,
        samples.low_water,
        limit,
        samples.windowed,
        samples.queue_bytes,
    )


def slim(peers: pd.DataFrame) -> pd.DataFrame:
    """Return what rows of credits are made of, in as few bytes as hold it: to be sent to another process."""
    wanted = {"host", "time_ns", "low_water_reset", "row", "queue_bytes"}
    wanted |= {name for each in RESOURCES if each.table == "peers" for name in (each.key, *each.columns)}
    found = peers[[name for name in peers if name in wanted]]
    whole = [name for name in found if found[name].dtype == np.int64]
    extents = {name: np.result_type(np.min_scalar_type(found[name].min()), np.min_scalar_type(found[name].max())) for name in whole}
    return found.astype({name: dtype for name, dtype in extents.items() if dtype.kind == "i" or found[name].min() >= 0})


def row_of(host: str, resource: Resource, subject: str, samples: pd.DataFrame) -> Row:
    """Return these samples as one row."""
    return _row(host, resource, subject, 0, _columns(resource, samples, np.argsort(samples["time_ns"].to_numpy(), kind="stable")))
