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

from lnetstat.analysis import listed, sizing, spells
from lnetstat.analysis.credit_rows import RESOURCES, IntArray, Resource, Row, row_of, rows_by_host
from lnetstat.analysis.rates import typical_interval
from lnetstat.analysis.results import FEW, CreditSeries, CreditSummary, CreditUse, FloatArray, Interval
from lnetstat.frames import Frames

SUSTAINED_FRACTION = 0.01
SUSTAINED_SPELL_S = 1.0
MOST_COUNTED = 1 << 16  # different values that are counted rather than sorted
MOST_RESETS = 50  # times told one by one
DRAWN_ROWS = 4
GRADES = ("never", "touched", "intermittent", "sustained")


def credit_use(frames: Frames, incidents: dict[str, tuple[Interval, ...]]) -> tuple[list[CreditUse], list[CreditSeries]]:
    """Return (use of every row that ran out, and of the tightest other row of each host and resource; series of the worst rows).

    `incidents`: dips or bursts by host, for the share of the oversubscribed time that lies inside them.
    """
    used: list[CreditUse] = []
    drawn: list[CreditSeries] = []
    scans = listed.scans_of(frames)
    for resource in RESOURCES:
        table = frames.tables.get(resource.table)
        if table is None or table.empty:
            continue
        for host, rows, short in rows_by_host(table, resource):
            if resource.table == "peers" and host in scans:
                rows = [row._replace(scans=scans[host]) for row in rows]
            own = incidents.get(host, ())
            graded = list(zip(_measured(rows, own), rows, strict=True))
            graded.sort(key=lambda pair: badness(pair[0]), reverse=True)
            if resource.name == "peer_credits":
                graded = _sized(graded, traffic_of(frames, host))
            uses = [use for use, _ in graded]
            worst_only = resource.table == "peers" and host in scans
            if worst_only:
                uses += _unlisted(frames, resource, host, uses, scans[host], own)
                uses.sort(key=badness, reverse=True)
            used += _counted(frames, resource, host, _kept(resource, uses), short, worst_only)
            count = len(graded) if resource.name == "router_buffers" else DRAWN_ROWS
            drawn += [series_of(row) for _, row in graded[:count]]
    used.sort(key=badness, reverse=True)
    return used, drawn


def _unlisted(
    frames: Frames, resource: Resource, host: str, uses: list[CreditUse], scans: listed.Scans, incidents: tuple[Interval, ...]
) -> list[CreditUse]:
    """Return a use for each network whose sums say that a peer ran out while no row that was recorded did: which one is not known."""
    found = []
    for net, table in listed.worst_of_nets(frames, host, resource.credits, resource.low_water).items():
        row = row_of(host, resource, listed.UNLISTED + net, table)._replace(scans=scans)
        use = measure(row, incidents)
        known = [each for each in uses if net_of(each.subject) == net]
        more = use.waiting and not any(each.waiting for each in known)
        if use.grade != "never" and (more or all(each.grade == "never" for each in known)):
            found.append(use)
    return found


def _counted(frames: Frames, resource: Resource, host: str, uses: list[CreditUse], short: int, worst_only: bool) -> list[CreditUse]:
    """Return the uses with how many rows of the host ran out; `short`: of the recorded ones, `worst_only`: which are not all."""
    known, at_least = max(short, sum(use.grade != "never" for use in uses)), worst_only
    if worst_only and resource.name == "peer_credits" and (told := listed.most_short(frames, host)) is not None:
        known = max(known, told)
        at_least = any(use.resets or use.fraction_windows is not None for use in uses)  # marks of one time do not tell of all times
    return [use._replace(rows_short=known, rows_at_least=at_least) for use in uses]


def _kept(resource: Resource, graded: list[CreditUse]) -> list[CreditUse]:
    """Return the rows that ran out, else the tightest; of interfaces one row of each NID: they tell who is who on the path of messages."""
    ran_out = [use for use in graded if use.grade != "never"]
    if resource.name != "ni_credits":
        return ran_out or graded[:1]
    named = {use.subject for use in ran_out}
    tightest = {use.subject: use for use in reversed(graded) if use.subject not in named}
    return ran_out + sorted(tightest.values(), key=badness, reverse=True)


def _sized(graded: list[tuple[CreditUse, Row]], traffic: sizing.Traffic | None) -> list[tuple[CreditUse, Row]]:
    """Return the uses of a host's peers, those that ran out with what limited them and how long messages waited on average."""
    by_net: dict[str, list[tuple[CreditUse, Row]]] = {}
    for use, row in graded:
        by_net.setdefault(net_of(use.subject), []).append((use, row))
    sized: list[tuple[CreditUse, Row]] = []
    for members in by_net.values():
        if all(use.grade == "never" for use, _ in members):
            sized += members
            continue
        load = sizing.load_of([sizing.Samples(row.time_s, row.credits, row.limit) for _, row in members])
        found = sizing.sizing(load, traffic)
        backlog = sum(use.backlog_message_s for use, _ in members)
        wait = backlog / found.messages if found.messages else None
        saturated = load.fewest_free < 0
        wanted = float(load.wanted[saturated].sum())
        for use, row in members:
            share = float((row.limit - row.credits)[row.credits < 0].sum()) / wanted if wanted else 0.0
            needed = share * found.offered_peak * found.hold_s if found.offered_peak and found.hold_s else None
            sized.append((use._replace(sizing=found, mean_wait_s=wait, required_credits=needed) if use.grade != "never" else use, row))
    sized.sort(key=lambda pair: badness(pair[0]), reverse=True)
    return sized


def net_of(nid: str) -> str:
    """Return the network of a NID: tcp1 of 10.2.0.21@tcp1."""
    return nid.rpartition("@")[2]


def traffic_of(frames: Frames, host: str) -> sizing.Traffic | None:
    """Return what a host counted of its messages: those it routed where it routes, else those it sent; None where nothing was counted."""
    stats = frames.tables.get("lnet_stats")
    if stats is None or stats.empty:
        return None
    own = stats[stats["host"] == host].sort_values("time_ns", kind="stable")
    buffers = frames.tables.get("buffers")
    routes = buffers is not None and bool((buffers.loc[buffers["host"] == host, "count"] > 0).any())
    columns = ("route_count", "route_length") if routes else ("send_count", "send_length")
    if own.empty or not all(column in own for column in columns):
        return None
    messages, volume = (own[column].to_numpy(np.float64, na_value=np.nan) for column in columns)
    return sizing.Traffic(own["time_ns"].to_numpy(np.float64) / 1e9, messages, volume, 0.5 if routes else 1.0)


def badness(use: CreditUse) -> tuple[int, float, float, float]:
    """Return a key that sorts rows by how bad they are: grade, messages that waited, time below 0, credits wanted."""
    share = use.required_peak / use.limit if use.limit > 0 else 0.0
    return GRADES.index(use.grade), float(use.waiting_max), use.fraction_time_oversubscribed, share


class _Moments(NamedTuple):
    """What the times of a row's samples tell; rows that were sampled together share it.

    `span`: how long each sample stands; `in_dips`: whether it lies in an incident, `dips` the same of all scans.
    """

    time_s: FloatArray
    scans: listed.Scans
    typical_s: float
    span: FloatArray
    in_dips: npt.NDArray[np.bool_]
    dips: npt.NDArray[np.bool_]


def _moments_of(row: Row, incidents: tuple[Interval, ...]) -> _Moments:
    scans = row.scans or listed.scans_at(row.time_s)
    typical = typical_interval(scans.time_s)
    in_dips = spells.inside(row.time_s, incidents, typical / 2)
    dips = in_dips if scans.time_s is row.time_s else spells.inside(scans.time_s, incidents, typical / 2)
    return _Moments(row.time_s, scans, typical, listed.span_of(row.time_s, scans), in_dips, dips)


def _measured(rows: list[Row], incidents: tuple[Interval, ...]) -> Iterator[CreditUse]:
    moments: _Moments | None = None
    for row in rows:
        if moments is None or moments.time_s is not row.time_s:
            moments = _moments_of(row, incidents)
        yield _measure(row, incidents, moments)


def measure(row: Row, incidents: tuple[Interval, ...] = ()) -> CreditUse:
    """Return how far the credits of one row were used."""
    return _measure(row, incidents, _moments_of(row, incidents))


def _measure(row: Row, incidents: tuple[Interval, ...], moments: _Moments) -> CreditUse:
    _, scans, typical, span, in_dips, dips = moments
    below = row.credits < 0
    limit = int(row.limit[-1])
    lowest = int(min(row.low_water.min(), row.credits.min()))
    at_worst = int(row.credits.argmin())
    fresh = _fresh_marks(row)
    in_record, fell_ns = worst_in_record(row, fresh)
    covered = float(scans.span_s.sum())
    unlisted = max(0.0, covered - float(span.sum())) if row.scans else 0.0
    fraction = float(span[below].sum()) / covered if covered > 0 else float(below.mean())
    spell = spells.longest(below, row.time_s, typical)
    low = low_events(row, fresh)
    seen = np.flatnonzero(low)
    windows = float((row.low_water[row.windowed] < 0).mean()) if row.windowed.any() else None
    in_use = row.limit - row.credits
    risen = np.flatnonzero((np.diff(row.low_water) > 0) & ~row.windowed[1:]) + 1
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
        required_p99=weighted_percentile(np.append(in_use, 0), np.append(span, unlisted), 99.0),
        fraction_time_oversubscribed=fraction,
        fraction_windows=windows,
        waiting_max=max(0, -lowest),
        spell_max_s=spell,
        first_low_ns=round(row.time_s[seen[0]] * 1e9) if seen.size else None,
        last_low_ns=round(row.time_s[seen[-1]] * 1e9) if seen.size else None,
        resets=int(risen.size),
        low_at_start=bool(row.low_water[0] < 0 and not row.windowed[0]),
        dead_time_share=float(in_dips[seen].mean()) if seen.size and incidents else None,
        worst_sampled=int(row.credits[at_worst]),
        worst_sampled_ns=round(row.time_s[at_worst] * 1e9),
        worst_in_record=in_record,
        low_water_before_record=bool(row.low_water[0] == lowest < 0 and not row.windowed[0] and row.time_s[0] <= scans.time_s[0]),
        low_water_fell_ns=fell_ns,
        samples=int(scans.time_s.size),
        samples_below=int(below.sum()),
        interval_s=typical,
        fraction_error=spells.share_error(below, span, typical, unlisted) if below.size >= FEW else None,
        fraction_inside=_fraction(span[below & in_dips], scans.span_s[dips]) if incidents else None,
        fraction_outside=_fraction(span[below & ~in_dips], scans.span_s[~dips]) if incidents else None,
        backlog_message_s=float((np.maximum(0, -row.credits) * span).sum()),
        queued_bytes_max=_queued_bytes(row),
        resets_ns=tuple(round(row.time_s[index] * 1e9) for index in risen[:MOST_RESETS].tolist()),
        spells=_spells(row, low, span, typical),
    )


def _fraction(below_s: FloatArray, chosen_s: FloatArray) -> float | None:
    """Return the share of the time chosen that samples were below 0; None where no time was chosen."""
    whole = float(chosen_s.sum())
    return float(below_s.sum()) / whole if whole > 0 else None


def _queued_bytes(row: Row) -> float | None:
    """Return the most bytes that waited; None where `queue` is not known.

    `queue` counts the bytes of all messages that hold or wait for a credit (lpni_txqnob), limit - tx of them, of which -tx wait: the share
    that waits is right for messages of one size, and no more than a guide where bulk and small messages are mixed.
    """
    if row.queue_bytes is None:
        return None
    below = row.credits < 0
    waiting, held = -row.credits[below], np.maximum(1, row.limit[below] - row.credits[below])
    return float(np.nanmax(row.queue_bytes[below] * (waiting / held), initial=0.0))


def _spells(row: Row, low: npt.NDArray[np.bool_], span: FloatArray, typical_s: float) -> tuple[Interval, ...]:
    """Return when the row was seen below 0: around the samples that saw it, between the samples where a mark told it."""
    sampled = row.credits < 0
    found = [
        (float(row.time_s[first] - span[first] / 2), float(row.time_s[last - 1] + span[last - 1] / 2))
        for first, last in spells.runs(sampled).tolist()
    ]
    told = np.flatnonzero(low & ~sampled)
    found += [(float(row.time_s[max(0, index - 1)]), float(row.time_s[index])) for index in told.tolist()]
    return spells.joined(found, typical_s)


def worst_in_record(row: Row, fresh: npt.NDArray[np.bool_]) -> tuple[int, tuple[int, int] | None]:
    """Return (the lowest credits proved for the record itself, the samples in ns between which a mark fell so low, else None).

    A mark that stays as it was tells nothing of the record; one that changed, a `fresh` one, was set since the sample before.
    """
    sampled = int(row.credits.min())
    told = np.flatnonzero(fresh)
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


def low_events(row: Row, fresh: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Mark the samples that show the row below 0 since the sample before: tx below 0, or the low-water mark at a new negative low.

    The first sample's mark tells of a time before the record and is no event, unless it was reset for that sample.
    """
    return (row.credits < 0) | ((row.low_water < 0) & fresh)


def _fresh_marks(row: Row) -> npt.NDArray[np.bool_]:
    """Mark the samples whose low-water mark tells of the time since the sample before: it fell, or was reset in between or just then."""
    fresh = row.windowed.copy()
    fresh[1:] |= row.low_water[1:] != row.low_water[:-1]
    return fresh


def weighted_percentile(values: IntArray, weight: FloatArray, percent: float) -> float:
    """Return the percentile of values that stand for different times."""
    if weight.sum() <= 0:
        return float(np.percentile(values, percent))
    least = int(values.min())
    if int(values.max()) - least < MOST_COUNTED:
        share = np.cumsum(np.bincount(values - least, weight)) / weight.sum()
        return float(least + min(int(np.searchsorted(share, percent / 100)), share.size - 1))
    order = np.argsort(values)
    share = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(int(np.searchsorted(share, percent / 100)), values.size - 1)])


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
