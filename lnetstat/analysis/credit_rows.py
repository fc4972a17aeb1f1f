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
    table = table[table[resource.limit] > 0].dropna(subset=list(resource.columns))
    for host, own in table.groupby("host", observed=True, sort=False):
        lowest = own.groupby([resource.key, "row"], observed=True, sort=False)[[resource.credits, resource.low_water]].min().min(axis=1)
        worst = lowest.nsmallest(MOST_DETAILED).index
        if len(worst) < len(lowest):
            own = own[pd.MultiIndex.from_frame(own[[resource.key, "row"]]).isin(worst)]
        yield str(host), _rows(str(host), resource, own), int((lowest < 0).sum())


def _rows(host: str, resource: Resource, own: pd.DataFrame) -> list[Row]:
    """Return the rows of one host, in the order in which they first stand in `own`.

    Columns become arrays once, and are cut: a table of each row would take longer to make than to measure.
    """
    number = own.groupby([resource.key, "row"], observed=True, sort=False).ngroup().to_numpy()
    order = np.lexsort((own["time_ns"].to_numpy(), number))
    ends = np.cumsum(np.bincount(number))
    begins = np.append(0, ends[:-1])
    first = own[[resource.key, "row"]].iloc[order[begins]]
    columns = _columns(resource, own, order)
    return [
        _row(host, resource, str(subject), int(place), columns.between(begin, end))
        for subject, place, begin, end in zip(first[resource.key], first["row"], begins.tolist(), ends.tolist(), strict=True)
    ]


class _Columns(NamedTuple):
    """The samples of one row or of several, as columns."""

    time_ns: IntArray
    credits: IntArray
    low_water: IntArray
    limit: IntArray
    windowed: npt.NDArray[np.bool_]
    queue_bytes: FloatArray | None

    def between(self, begin: int, end: int) -> "_Columns":
        queue_bytes = None if self.queue_bytes is None else self.queue_bytes[begin:end]
        time_ns, free, low_water, limit = (each[begin:end] for each in (self.time_ns, self.credits, self.low_water, self.limit))
        return _Columns(time_ns, free, low_water, limit, self.windowed[begin:end], queue_bytes)


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


def row_of(host: str, resource: Resource, subject: str, samples: pd.DataFrame) -> Row:
    """Return these samples as one row."""
    return _row(host, resource, subject, 0, _columns(resource, samples, np.argsort(samples["time_ns"].to_numpy(), kind="stable")))
