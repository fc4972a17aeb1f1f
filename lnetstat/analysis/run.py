"""The whole analysis, of frames or of one series."""

import numpy as np
import pandas as pd

from lnetstat.analysis import many, rates
from lnetstat.analysis.assembly import assembled
from lnetstat.analysis.credit_rows import Row
from lnetstat.analysis.credits import measure, series_of
from lnetstat.analysis.deadtime import Label
from lnetstat.analysis.kinds import doubts, without_negative_rates
from lnetstat.analysis.quality import mixed_findings, quality_from
from lnetstat.analysis.results import Analysis, CreditSeries, CreditUse, DeadTime, Interval
from lnetstat.analysis.signals import Hints, Track
from lnetstat.analysis.verdicts import bursts_of, cases_of, incidents_by_host, judged, ranked, seen
from lnetstat.analysis.wording import clock_of
from lnetstat.frames import Frames


def analyze(frames: Frames) -> Analysis:
    """Return everything that frames of a recording or an archive tell."""
    return many.whole([many.part_of(host, own) for host, own in many.by_host(frames)])


def analyze_series(
    table: pd.DataFrame, *, kind: str = "rate", interval_s: float | None = None, credits_max: int | None = None, name: str = ""
) -> Analysis:
    """Return everything that one table of lnetstat.series tells.

    `kind`: "rate" (`value` is the mean over the interval that ends at `time`) or "counter" (cumulative, restarts from 0);
    `interval_s`: the nominal interval, else the median step; `credits_max`: the limit behind `tx`; `name`: stands for the host.
    Where the table's `attrs["signals"]` say what its sources are, verdicts name them.
    """
    table, below_zero = without_negative_rates(table, kind)
    tracks = _csv_tracks(table, kind, interval_s, name)
    bursts = [group for track in tracks if track.purpose == "pings" for group in bursts_of(track)]
    verdicts = ranked([judged(case) for case in cases_of(tracks, seen(bursts, Hints((), None)))])
    used, drawn = _csv_credits(table, credits_max, name, incidents_by_host(verdicts, bursts))
    doubt = str(table.attrs.get("cannot_tell", "")) or doubts(table, kind, below_zero)
    if doubt:
        verdicts = [_doubted(each, doubt) for each in verdicts]
    if table.attrs.get("clock") == "phase":
        verdicts = [each._replace(epoch_aligned=None, epoch_hypothesis_s=None, epoch_phase_s=None) for each in verdicts]
    stamps = np.round(np.sort(table["time"].to_numpy(np.float64)) * 1e9).astype(np.int64)
    first_source = stamps if "source" not in table else np.unique(stamps)
    resets = max((track.rates.resets for track in tracks), default=0)
    quality = (quality_from(name, first_source, _cell_states(table, below_zero), resets),) if stamps.size else ()
    mixed = [finding for each in quality for finding in mixed_findings(quality, clock_of(each.begin_ns, each.end_ns))]
    return assembled(tracks, verdicts, bursts, used, drawn, quality, mixed)


def _cell_states(table: pd.DataFrame, below_zero: int) -> dict[str, int]:
    """Return how many rows have a value, how many are known to miss it, and how many were no rate."""
    gone = int(table["value"].isna().sum())
    states = {"ok": len(table) - gone, "missing": gone - below_zero, "below zero": below_zero}
    return {state: count for state, count in states.items() if count or state == "ok"}


def _doubted(each: DeadTime, doubt: str) -> DeadTime:
    label = Label(each.host, each.role, each.table, each.instance, each.signal)
    return DeadTime(*label, "cannot_tell", doubt, False, False, each.score, each.fap)


def _csv_tracks(table: pd.DataFrame, kind: str, interval_s: float | None, name: str) -> list[Track]:
    make = rates.from_counter if kind == "counter" else rates.from_rate
    parts = list(table.groupby("source", sort=False)) if "source" in table else [("", table)]
    signals = table.attrs.get("signals", {})
    tracks = []
    for source, rows in parts:
        value = make(rows["time"].to_numpy(np.float64), rows["value"].to_numpy(np.float64), interval_s=interval_s)
        signal = signals.get(source) or (next(iter(signals.values())) if len(signals) == len(parts) == 1 else None)
        if signal:
            tracks.append(Track(signal.host, signal.role, signal.table, signal.instance, signal.name, "throughput", signal.unit, value))
        else:
            tracks.append(Track(name, "csv", "csv", str(source), "value", "throughput", "1/s", value))
    if "ping_rate" in table:
        rows = parts[0][1]
        value = rates.from_rate(rows["time"].to_numpy(np.float64), rows["ping_rate"].to_numpy(np.float64), interval_s=interval_s)
        if signals:
            tracks.append(Track(table.attrs.get("pings_of", ""), "oss", "counters", "", "obd_ping", "pings", "pings/s", value))
        else:
            tracks.append(Track(name, "csv", "csv", "", "ping_rate", "pings", "pings/s", value))
    return tracks


def _csv_credits(
    table: pd.DataFrame, credits_max: int | None, name: str, incidents: dict[str, tuple[Interval, ...]]
) -> tuple[list[CreditUse], list[CreditSeries]]:
    if "tx" not in table:
        return [], []
    rows = table.dropna(subset=["tx"]).sort_values("time")
    if rows.empty:
        return [], []
    free = np.round(rows["tx"].to_numpy(np.float64)).astype(np.int64)
    low = np.round(rows["tx_min"].fillna(rows["tx"]).to_numpy(np.float64)).astype(np.int64) if "tx_min" in rows else free
    limit = np.full(free.size, credits_max or max(1, int(free.max())), dtype=np.int64)
    queue = rows["queue_bytes"].to_numpy(np.float64) if "queue_bytes" in rows else None
    unreset = np.zeros(free.size, dtype=bool)
    row = Row(name, "peer_credits", "csv", "tx", 0, rows["time"].to_numpy(np.float64), free, low, limit, unreset, queue)
    return [measure(row, incidents.get(name, ()))], [series_of(row)]


def joined(parts: list[Frames]) -> Frames:
    """Return the frames of several sources as one, as if one recording held all hosts."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.tables)
    tables = {name: _concat([part.tables[name] for part in parts if name in part.tables]) for name in names}
    return Frames(tables, _concat([part.facts for part in parts]), _concat([part.states for part in parts]))


def _concat(tables: list[pd.DataFrame]) -> pd.DataFrame:
    whole = [table for table in tables if not table.empty] or tables[:1]
    if len(whole) == 1:
        return whole[0]
    joint = pd.concat(whole, ignore_index=True)
    most = [table.attrs["most_peers"] for table in whole if "most_peers" in table.attrs]
    if most:
        joint.attrs["most_peers"] = max(most)
    return joint


def within(frames: Frames, begin_ns: int | None, end_ns: int | None) -> Frames:
    """Return the frames with samples of begin_ns <= time_ns < end_ns only."""

    def cut(table: pd.DataFrame) -> pd.DataFrame:
        keep = np.ones(len(table), dtype=bool)
        if begin_ns is not None:
            keep &= table["time_ns"].to_numpy() >= begin_ns
        if end_ns is not None:
            keep &= table["time_ns"].to_numpy() < end_ns
        return table[keep]

    return Frames({name: cut(table) for name, table in frames.tables.items()}, cut(frames.facts), cut(frames.states))
