"""How far credits were used, row by row: a limit acts per peer, per NI and CPT, per buffer pool and CPT, never on their sum.

tx < 0 means that exactly -tx messages wait now (lnet/lib-move.c: lnet_post_send_locked). `min` is the low-water mark since start or since
somebody wrote to the file. Sampling tx sees little: bursts are shorter than samples; `min` sees all, but not when. Grades:
never (min >= 0), touched (min < 0, never sampled below 0), intermittent (sampled below 0), sustained (below 0 in >= 1 % of the time, or
for >= 1 s on end).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.analysis.rates import typical_interval
from lnetstat.analysis.results import FEW, CreditSeries, CreditSummary, CreditUse, FloatArray, Interval
from lnetstat.frames import Frames

SUSTAINED_FRACTION = 0.01
SUSTAINED_SPELL_S = 1.0
MOST_DETAILED = 400  # rows per host and resource that are looked at one by one, worst first
DRAWN_ROWS = 4
GRADES = ("never", "touched", "intermittent", "sustained")

IntArray = npt.NDArray[np.int64]


class Resource(NamedTuple):
    """One kind of credit: which columns of which table hold it."""

    name: str
    table: str
    key: str
    credits: str
    low_water: str
    limit: str


RESOURCES = (
    Resource("peer_credits", "peers", "nid", "tx_credits", "tx_credits_min", "tx_credits_max"),
    Resource("peer_router_credits", "peers", "nid", "rtr_credits", "rtr_credits_min", "tx_credits_max"),
    Resource("ni_credits", "nis", "nid", "tx_credits", "tx_credits_min", "tx_credits_max"),
    Resource("router_buffers", "buffers", "pool", "credits", "credits_min", "count"),
)


class Row(NamedTuple):
    """The samples of one row in time order; arrays of shape (n,)."""

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


def credit_use(frames: Frames, incidents: dict[str, tuple[Interval, ...]]) -> tuple[list[CreditUse], list[CreditSeries]]:
    """Return (use of every row that ran out, and of the tightest other row of each host and resource; series of the worst rows).

    `incidents`: dips or bursts by host, for the share of the oversubscribed time that lies inside them.
    """
    used: list[CreditUse] = []
    drawn: list[CreditSeries] = []
    for resource in RESOURCES:
        table = frames.tables.get(resource.table)
        if table is None or table.empty:
            continue
        for host, rows in _rows_by_host(table, resource):
            graded = [(measure(row, incidents.get(host, ())), row) for row in rows]
            graded.sort(key=lambda pair: badness(pair[0]), reverse=True)
            ran_out = [use for use, _ in graded if use.grade != "never"]
            used += ran_out or [use for use, _ in graded[:1]]
            count = len(graded) if resource.name == "router_buffers" else DRAWN_ROWS
            drawn += [series_of(row) for _, row in graded[:count]]
    used.sort(key=badness, reverse=True)
    return used, drawn


def badness(use: CreditUse) -> tuple[int, float, float, float]:
    """Return a key that sorts rows by how bad they are: grade, messages that waited, time below 0, credits wanted."""
    share = use.required_peak / use.limit if use.limit > 0 else 0.0
    return GRADES.index(use.grade), float(use.waiting_max), use.fraction_time_oversubscribed, share


def _rows_by_host(table: pd.DataFrame, resource: Resource) -> Iterator[tuple[str, list[Row]]]:
    """Yield each host with its worst rows, samples in time order. Rows without a limit are left out: routed peers, 0@lo, torn rows."""
    needed = [resource.credits, resource.low_water, resource.limit]
    table = table[table[resource.limit] > 0].dropna(subset=needed)
    for host, own in table.groupby("host", observed=True, sort=False):
        lowest = own.groupby([resource.key, "row"], observed=True, sort=False)[[resource.credits, resource.low_water]].min().min(axis=1)
        worst = lowest.nsmallest(MOST_DETAILED).index
        if len(worst) < len(lowest):
            own = own[pd.MultiIndex.from_frame(own[[resource.key, "row"]]).isin(worst)]
        rows = []
        for (subject, number), samples in own.groupby([resource.key, "row"], observed=True, sort=False):
            rows.append(_row(str(host), resource, str(subject), int(str(number)), samples))
        yield str(host), rows


def _row(host: str, resource: Resource, subject: str, number: int, samples: pd.DataFrame) -> Row:
    order = np.argsort(samples["time_ns"].to_numpy(), kind="stable")

    def column(name: str) -> IntArray:
        return samples[name].to_numpy(np.int64)[order]

    free = column(resource.credits)
    limit = column(resource.limit)
    if resource.name == "peer_router_credits":
        # `peers` does not print the limit of rtr; an idle row shows it.
        limit = np.full(free.size, max(1, int(free.max())), dtype=np.int64)
    queue = samples["queue_bytes"].to_numpy(np.float64)[order] if resource.name == "peer_credits" else None
    return Row(
        host,
        resource.name,
        resource.table,
        subject,
        number,
        column("time_ns") / 1e9,
        free,
        column(resource.low_water),
        limit,
        samples["low_water_reset"].to_numpy(bool)[order],
        queue,
    )


def measure(row: Row, incidents: tuple[Interval, ...] = ()) -> CreditUse:
    """Return how far the credits of one row were used."""
    span = durations(row.time_s)
    below = row.credits < 0
    limit = int(row.limit[-1])
    lowest = int(min(row.low_water.min(), row.credits.min()))
    at_worst = int(row.credits.argmin())
    in_record, fell_ns = worst_in_record(row)
    covered = float(span.sum())
    fraction = float(span[below].sum()) / covered if covered > 0 else float(below.mean())
    spell = longest_spell(below, row.time_s, span)
    seen = np.flatnonzero(low_events(row))
    windows = float((row.low_water[row.windowed] < 0).mean()) if row.windowed.any() else None
    in_use = row.limit - row.credits
    return CreditUse(
        host=row.host,
        resource=row.resource,
        table=row.table,
        subject=row.subject,
        row=row.row,
        grade=grade_of(lowest, bool(below.any()), fraction if below.size >= FEW else 0.0, spell),
        limit=limit,
        low_water=lowest,
        required_peak=limit - lowest,
        required_p99=weighted_percentile(in_use, span, 99.0),
        fraction_time_oversubscribed=fraction,
        fraction_windows=windows,
        waiting_max=max(0, -lowest),
        spell_max_s=spell,
        first_low_ns=round(row.time_s[seen[0]] * 1e9) if seen.size else None,
        last_low_ns=round(row.time_s[seen[-1]] * 1e9) if seen.size else None,
        resets=int((np.diff(row.low_water) > 0)[~row.windowed[1:]].sum()),
        low_at_start=bool(row.low_water[0] < 0 and not row.windowed[0]),
        dead_time_share=_share_inside(row.time_s[seen], incidents) if seen.size and incidents else None,
        worst_sampled=int(row.credits[at_worst]),
        worst_sampled_ns=round(row.time_s[at_worst] * 1e9),
        worst_in_record=in_record,
        low_water_before_record=bool(row.low_water[0] == lowest < 0 and not row.windowed[0]),
        low_water_fell_ns=fell_ns,
        samples=int(row.time_s.size),
        samples_below=int(below.sum()),
        interval_s=typical_interval(row.time_s),
    )


def worst_in_record(row: Row) -> tuple[int, tuple[int, int] | None]:
    """Return (the lowest credits proved for the record itself, the samples in ns between which a mark fell so low, else None).

    A mark that stays as it was tells nothing of the record; one that changed was set since the sample before.
    """
    sampled = int(row.credits.min())
    told = np.flatnonzero(_fresh_marks(row))
    if told.size == 0 or row.low_water[told].min() >= 0:
        return sampled, None
    lowest = int(told[row.low_water[told].argmin()])
    if row.low_water[lowest] > sampled:
        return sampled, None
    before = max(0, lowest - 1)
    return int(row.low_water[lowest]), (round(row.time_s[before] * 1e9), round(row.time_s[lowest] * 1e9))


def grade_of(lowest: int, sampled_below: bool, fraction: float, spell_s: float) -> str:
    """Return the grade: never, touched, intermittent or sustained."""
    if lowest >= 0:
        return "never"
    if not sampled_below:
        return "touched"
    return "sustained" if fraction >= SUSTAINED_FRACTION or spell_s >= SUSTAINED_SPELL_S else "intermittent"


def low_events(row: Row) -> npt.NDArray[np.bool_]:
    """Mark the samples that show the row below 0 since the sample before: tx below 0, or the low-water mark at a new negative low.

    The first sample's mark tells of a time before the record and is no event, unless it was reset for that sample.
    """
    return (row.credits < 0) | ((row.low_water < 0) & _fresh_marks(row))


def _fresh_marks(row: Row) -> npt.NDArray[np.bool_]:
    """Mark the samples whose low-water mark tells of the time since the sample before: it fell, or was reset in between or just then."""
    fresh = row.windowed.copy()
    fresh[1:] |= row.low_water[1:] != row.low_water[:-1]
    return fresh


def durations(time_s: FloatArray) -> FloatArray:
    """Return how long each sample stands, (n,) seconds: until the next one, but never longer than 5 typical intervals."""
    if time_s.size < 2:
        return np.zeros(time_s.size)
    typical = typical_interval(time_s)
    return np.asarray(np.minimum(np.append(np.diff(time_s), typical), 5 * typical))


def longest_spell(below: npt.NDArray[np.bool_], time_s: FloatArray, span: FloatArray) -> float:
    """Return the longest time on end that samples were below 0, in seconds; a single sample proves nothing of its interval: 0."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], below, [False])).astype(np.int8)))
    longest = 0.0
    for first, last in edges.reshape(-1, 2).tolist():
        if last - first > 1 and span[first : last - 1].max() < 5 * max(typical_interval(time_s), 1e-9):
            longest = max(longest, float(time_s[last - 1] - time_s[first]))
    return longest


def weighted_percentile(values: IntArray, weight: FloatArray, percent: float) -> float:
    """Return the percentile of values that stand for different times."""
    if weight.sum() <= 0:
        return float(np.percentile(values, percent))
    order = np.argsort(values)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(int(np.searchsorted(share, percent / 100)), values.size - 1)])


def _share_inside(time_s: FloatArray, incidents: tuple[Interval, ...]) -> float:
    edges = np.array(sorted(incidents))
    position = np.searchsorted(edges[:, 0] - 1.0, time_s, side="right") - 1
    inside = (position >= 0) & (time_s <= edges[np.maximum(position, 0), 1] + 1.0)
    return float(inside.mean())


def series_of(row: Row) -> CreditSeries:
    """Return the samples of a row for drawing."""
    return CreditSeries(
        row.host,
        row.resource,
        row.table,
        row.subject,
        row.row,
        int(row.limit[-1]),
        row.time_s,
        row.credits.astype(np.float64),
        row.low_water.astype(np.float64),
        row.queue_bytes,
    )


def summary(used: list[CreditUse]) -> CreditSummary | None:
    """Return the figures of the worst peer; None where no peer's credits were seen."""
    peers = [use for use in used if use.resource == "peer_credits"]
    if not peers:
        return None
    worst = max(peers, key=badness)
    return CreditSummary(
        f"{worst.subject} on {worst.host}" if worst.host else worst.subject,
        worst.fraction_time_oversubscribed,
        float(worst.required_peak),
        worst.required_p99,
        worst.samples,
    )
