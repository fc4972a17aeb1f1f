"""The whole analysis: signals, dead time, bursts, credits, health, and the verdict in plain words."""

import numpy as np
import pandas as pd

from lnetstat.analysis import findings, first_exhausted, health, pings, rates, signals, stops
from lnetstat.analysis.cpu import CpuUse, cpu_use
from lnetstat.analysis.credits import Row, credit_use, measure, series_of, summary
from lnetstat.analysis.deadtime import Label, dead_time
from lnetstat.analysis.kinds import doubts, without_negative_rates
from lnetstat.analysis.quality import quality_from, quality_of
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.results import (
    Analysis,
    CreditSeries,
    CreditUse,
    DeadTime,
    HostQuality,
    Interval,
    PingBursts,
    Signal,
)
from lnetstat.analysis.signals import Hints, Track
from lnetstat.analysis.wording import percent, seconds
from lnetstat.frames import Frames
from lnetstat.model import Finding

MOST_THROUGHPUT_SIGNALS = 64  # searched one by one, busiest first; the others only in the stack
NOTHING_TO_SEARCH = "no throughput signal (lnet stats, ost_io or obdfilter counters over time)"


def analyze(frames: Frames) -> Analysis:
    """Return everything that frames of a recording or an archive tell."""
    tracks = signals.tracks_of(frames)
    bursts = [group for track in tracks if track.purpose != "throughput" for group in bursts_of(track)]
    verdicts = _verdicts(tracks, _seen(bursts, signals.hints_of(frames)))
    incidents = _incidents_by_host(verdicts, bursts)
    used, drawn = credit_use(frames, incidents)
    quality = quality_of(frames)
    more = health.findings_of(frames, quality)
    return _assemble(tracks, verdicts, bursts, used, drawn, quality, more, cpu_use(frames, incidents))


def analyze_series(
    table: pd.DataFrame, *, kind: str = "rate", interval_s: float | None = None, credits_max: int | None = None, name: str = ""
) -> Analysis:
    """Return everything that one table of lnetstat.series tells.

    `kind`: "rate" (`value` is the mean over the interval that ends at `time`) or "counter" (cumulative, restarts from 0);
    `interval_s`: the nominal interval, else the median step; `credits_max`: the limit behind `tx`; `name`: stands for the host.
    """
    table, below_zero = without_negative_rates(table, kind)
    tracks = _csv_tracks(table, kind, interval_s, name)
    bursts = [group for track in tracks if track.purpose == "pings" for group in bursts_of(track)]
    verdicts = _verdicts(tracks, _seen(bursts, Hints((), None)))
    used, drawn = _csv_credits(table, credits_max, name, _incidents_by_host(verdicts, bursts))
    doubt = str(table.attrs.get("cannot_tell", "")) or doubts(table, kind, below_zero)
    if doubt:
        verdicts = [_doubted(each, doubt) for each in verdicts]
    if table.attrs.get("clock") == "phase":
        verdicts = [each._replace(epoch_aligned=None, epoch_hypothesis_s=None, epoch_phase_s=None) for each in verdicts]
    stamps = np.round(np.sort(table["time"].to_numpy(np.float64)) * 1e9).astype(np.int64)
    first_source = stamps if "source" not in table else np.unique(stamps)
    resets = max((track.rates.resets for track in tracks), default=0)
    quality = (quality_from(name, first_source, _cell_states(table, below_zero), resets),) if stamps.size else ()
    return _assemble(tracks, verdicts, bursts, used, drawn, quality, [])


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
    tracks = []
    for source, rows in parts:
        value = make(rows["time"].to_numpy(np.float64), rows["value"].to_numpy(np.float64), interval_s=interval_s)
        tracks.append(Track(name, "csv", "csv", str(source), "value", "throughput", "1/s", value))
    if "ping_rate" in table:
        rows = parts[0][1]
        value = rates.from_rate(rows["time"].to_numpy(np.float64), rows["ping_rate"].to_numpy(np.float64), interval_s=interval_s)
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


def _seen(bursts: list[PingBursts], hints: Hints) -> Hints:
    """Where no ping interval was recorded, take the one that was seen: ping counters before counters of all messages."""
    counted = [group for group in bursts if "ping" in group.signal] or bursts
    period_s = max((group.period_s for group in counted), default=None)
    return hints if hints.ping_interval_s else hints._replace(ping_interval_s=period_s)


def _verdicts(tracks: list[Track], hints: Hints) -> list[DeadTime]:
    """Return the verdict on every throughput signal, best first; several sources of one system are judged as a stack too."""
    throughput = [track for track in tracks if track.purpose == "throughput"]
    throughput.sort(key=lambda track: -float(track.rates.rate.sum()))
    found: list[DeadTime] = []
    groups: dict[tuple[str, str, str], list[Track]] = {}
    for track in throughput:
        groups.setdefault((track.role, track.table, track.name), []).append(track)
    for (role, table, name), members in groups.items():
        if len(members) > 1 and role != "client":
            hosts = list(dict.fromkeys(track.host for track in members))
            place = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
            label = Label(place, role, table, f"{len(members)} sources", name)
            found.append(_verdict(label, [track.rates for track in members], members[0], tracks, hints))
    stacked_only = {id(track) for members in groups.values() if len(members) > 1 and members[0].role == "csv" for track in members}
    for track in throughput[:MOST_THROUGHPUT_SIGNALS]:
        if id(track) not in stacked_only:
            label = Label(track.host, track.role, track.table, track.instance, track.name)
            found.append(_verdict(label, [track.rates], track, tracks, hints))
    found.sort(key=lambda each: (each.detected, each.recurrent, each.verdict == "none", each.score), reverse=True)
    return found


def _verdict(label: Label, sources: list[Rates], track: Track, tracks: list[Track], hints: Hints) -> DeadTime:
    messages = next((each.rates for each in tracks if each.host == track.host and each.purpose == "messages"), None)
    return dead_time(
        label,
        sources,
        _pings_for(track, tracks),
        messages,
        exact_periods_s=hints.exact_periods_s,
        ping_interval_s=hints.ping_interval_s,
    )


def _pings_for(track: Track, tracks: list[Track]) -> Rates | None:
    """Return the ping counters to compare with: the host's own, else those of the server that saw most pings."""
    counted = [each for each in tracks if each.purpose == "pings"]
    own = [each for each in counted if each.host == track.host]
    serving = own or [each for each in counted if each.role == "oss"] or counted
    best = max(serving, key=lambda each: float((each.rates.rate * each.rates.interval_s).sum()), default=None)
    return best.rates if best else None


def bursts_of(track: Track) -> list[PingBursts]:
    """Return the phase groups of bursts of a message or ping series."""
    found, base = pings.bursts_of(track.rates)
    return [
        PingBursts(
            track.host,
            track.table,
            track.instance,
            track.name,
            chain.gap_cv <= pings.PERIODIC_CV,
            chain.period_s,
            chain.gap_cv,
            float(np.median([burst.size for burst in chain.bursts])),
            max(burst.peak_rate for burst in chain.bursts),
            base,
            tuple(burst.begin_s for burst in chain.bursts),
            tuple((burst.begin_s, burst.end_s) for burst in chain.bursts),
        )
        for chain in pings.chains_of(found)
        if chain.gap_cv <= pings.RECURRENT_CV
    ]


def _incidents_by_host(verdicts: list[DeadTime], bursts: list[PingBursts]) -> dict[str, tuple[Interval, ...]]:
    found: dict[str, tuple[Interval, ...]] = {}
    for each in verdicts:
        if each.incidents:
            found.setdefault(each.host, each.incidents)
    for group in bursts:
        found.setdefault(group.host, group.incidents)
    return found


def _assemble(
    tracks: list[Track],
    verdicts: list[DeadTime],
    bursts: list[PingBursts],
    used: list[CreditUse],
    drawn: list[CreditSeries],
    quality: tuple[HostQuality, ...],
    more: list[Finding],
    cpu: tuple[CpuUse, ...] = (),
) -> Analysis:
    top = verdicts[0] if verdicts else DeadTime("", "", "", "", "throughput", "cannot_tell", NOTHING_TO_SEARCH, False, False, 0.0, 1.0)
    begin = min((host.begin_ns for host in quality), default=0)
    end = max((host.end_ns for host in quality), default=0)
    exhausted = first_exhausted.first_exhausted(used, top)
    found = (
        findings.of_dead_time(verdicts or [top], begin, end)
        + findings.of_bursts(bursts, top, begin, end)
        + findings.of_credits(used, begin, end)
    )
    found += stops.findings_of(tracks, begin, end)
    first = first_exhausted.finding_of(exhausted, begin, end, cpu)
    found += more + ([first] if first else [])
    signal_list = tuple(_signal(track, verdicts, bursts) for track in tracks)
    return Analysis(
        verdict=_verdict_words(top, len(verdicts), bursts, used, exhausted),
        dead_time=top,
        series=tuple(verdicts),
        ping_bursts=tuple(bursts),
        credits=summary(used),
        credit_use=tuple(used),
        findings=findings.in_order(found),
        quality=quality,
        signals=signal_list,
        credit_series=tuple(drawn),
    )


def _signal(track: Track, verdicts: list[DeadTime], bursts: list[PingBursts]) -> Signal:
    own: tuple[Interval, ...] = ()
    for verdict in verdicts:
        if (verdict.host, verdict.table, verdict.signal, verdict.instance) == (track.host, track.table, track.name, track.instance):
            own = verdict.incidents
    groups = [group for group in bursts if (group.host, group.table, group.signal) == (track.host, track.table, track.name)]
    if groups:
        own = tuple(sorted(interval for group in groups for interval in group.incidents))
    values = track.rates
    return Signal(*track[:7], values.time_s, values.rate, values.interval_s, own)


def _verdict_words(
    top: DeadTime, signals_searched: int, bursts: list[PingBursts], used: list[CreditUse], exhausted: first_exhausted.Exhaustion
) -> str:
    """Return the verdict in one to three sentences."""
    place = f"{top.signal} of {top.host}" if top.host else top.signal
    if top.detected:
        words = (
            f"Periodic dead time: {place} dips every {top.period_s or 0:.4g} s for {seconds(top.duration_s or 0)} and loses "
            f"{percent(top.lost_fraction or 0)} of the bytes; cause: {top.cause}."
        )
    elif top.recurrent:
        words = f"Recurrent dips of {place}, every {top.period_s or 0:.3g} s on average, too uneven to be called periodic."
    elif top.verdict == "cannot_tell":
        words = f"Cannot tell whether there is periodic dead time: {top.reason}."
    else:
        words = f"No periodic dead time found in {place}{f' or {signals_searched - 1} other signals' if signals_searched > 1 else ''}."
    if bursts and not top.detected:
        main = max(bursts, key=lambda group: (group.signal in ("obd_ping", "ping_rate"), group.size))
        words += f" Bursts of {'pings' if main.signal in ('obd_ping', 'ping_rate') else 'messages'} come every {seconds(main.period_s)}."
    if exhausted.first is not None:
        words += f" {first_exhausted.sentence(exhausted)}"
    elif used:
        words += " No credits ran out."
    return words


def joined(parts: list[Frames]) -> Frames:
    """Return the frames of several sources as one, as if one recording held all hosts."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.tables)
    tables = {name: _concat([part.tables[name] for part in parts if name in part.tables]) for name in names}
    return Frames(tables, _concat([part.facts for part in parts]), _concat([part.states for part in parts]))


def _concat(tables: list[pd.DataFrame]) -> pd.DataFrame:
    whole = [table for table in tables if not table.empty] or tables[:1]
    return pd.concat(whole, ignore_index=True) if len(whole) > 1 else whole[0]


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
