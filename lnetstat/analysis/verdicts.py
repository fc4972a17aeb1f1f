"""Which signals are judged, alone and stacked, each as a piece of work of its own; and how verdicts are ranked."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lnetstat.analysis import pings, stretches
from lnetstat.analysis.deadtime import Label, dead_time
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.results import DeadTime, Interval, PingBursts
from lnetstat.analysis.signals import Hints, Track

MOST_THROUGHPUT_SIGNALS = 64  # searched one by one, busiest first; the others only in the stack


class Case(NamedTuple):
    """One question for `judged`: the arguments of deadtime.dead_time."""

    label: Label
    sources: list[Rates]
    ping_rates: Rates | None
    message_rates: Rates | None
    hints: Hints


def cases_of(tracks: Sequence[Track], hints: Hints) -> list[Case]:
    """Return what is to be judged: several sources of one system as a stack first, then every throughput signal, busiest first."""
    throughput = [track for track in tracks if track.purpose == "throughput"]
    throughput.sort(key=lambda track: -float(track.rates.rate.sum()))
    cases: list[Case] = []
    groups: dict[tuple[str, str, str], list[Track]] = {}
    for track in throughput:
        groups.setdefault((track.role, track.table, track.name), []).append(track)
    for (role, table, name), members in groups.items():
        if len(members) > 1 and role != "client":
            hosts = list(dict.fromkeys(track.host for track in members))
            place = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
            label = Label(place, role, table, f"{len(members)} sources", name)
            cases.append(_case(label, [track.rates for track in members], members[0], tracks, hints))
    stacked_only = {id(track) for members in groups.values() if len(members) > 1 and members[0].role == "csv" for track in members}
    for track in throughput[:MOST_THROUGHPUT_SIGNALS]:
        if id(track) not in stacked_only:
            label = Label(track.host, track.role, track.table, track.instance, track.name)
            cases.append(_case(label, [track.rates], track, tracks, hints))
    return cases


def _case(label: Label, sources: list[Rates], track: Track, tracks: Sequence[Track], hints: Hints) -> Case:
    messages = next((each.rates for each in tracks if each.host == track.host and each.purpose == "messages"), None)
    return Case(label, sources, _pings_for(track, tracks), messages, hints)


def judged(case: Case) -> DeadTime:
    """Return the verdict. Of a record that is empty nearly all the time it is that on its fullest stretch, and says so."""
    stretch = stretches.fullest(case.sources)
    sources = case.sources if stretch is None else [part for part in _within(case.sources, stretch) if part.time_s.size]
    verdict = dead_time(
        case.label,
        sources,
        _beside(case.ping_rates, sources),
        _beside(case.message_rates, sources),
        exact_periods_s=case.hints.exact_periods_s,
        ping_interval_s=case.hints.ping_interval_s,
    )
    if stretch is None:
        return verdict
    samples, of_all = (sum(rates.time_s.size for rates in each) for each in (sources, case.sources))
    told = f"is judged by {samples} of {of_all} samples, which lie within {stretch[1] - stretch[0]:.0f} s, as the rest is far away"
    return verdict._replace(reason=f"{verdict.reason}; {told}" if verdict.reason else told)


def _within(rates: list[Rates], stretch: Interval) -> list[Rates]:
    return [stretches.within(each, stretch) for each in rates]


def _beside(rates: Rates | None, sources: list[Rates]) -> Rates | None:
    """Return what was counted while the sources were sampled, where all that was counted is empty nearly all the time."""
    if rates is None or stretches.fullest([rates]) is None:
        return rates
    sampled = [each.time_s for each in sources if each.time_s.size]
    return (
        stretches.within(rates, (min(float(each[0]) for each in sampled), max(float(each[-1]) for each in sampled))) if sampled else rates
    )


def ranked(verdicts: Sequence[DeadTime]) -> list[DeadTime]:
    """Return verdicts worst first: dead time before what recurs, before what has none, before what cannot be told; then by score."""
    return sorted(verdicts, key=lambda each: (each.detected, each.recurrent, each.verdict == "none", each.score), reverse=True)


def _pings_for(track: Track, tracks: Sequence[Track]) -> Rates | None:
    """Return the ping counters to compare with: the host's own, else those of the server that saw most pings."""
    counted = [each for each in tracks if each.purpose == "pings"]
    own = [each for each in counted if each.host == track.host]
    serving = own or [each for each in counted if each.role == "oss"] or counted
    best = max(serving, key=lambda each: float((each.rates.rate * each.rates.interval_s).sum()), default=None)
    return best.rates if best else None


def bursts_of(track: Track) -> list[PingBursts]:
    """Return the phase groups of bursts of a message or ping series."""
    found, base = pings.bursts_of(track.rates, exact=track.purpose == "pings")
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


def incidents_by_host(verdicts: list[DeadTime], bursts: list[PingBursts]) -> dict[str, tuple[Interval, ...]]:
    found: dict[str, tuple[Interval, ...]] = {}
    for each in verdicts:
        if each.incidents:
            found.setdefault(each.host, each.incidents)
    for group in bursts:
        found.setdefault(group.host, group.incidents)
    return found


def seen(bursts: list[PingBursts], hints: Hints) -> Hints:
    """Where no ping interval was recorded, take the one that was seen: ping counters before counters of all messages."""
    counted = [group for group in bursts if "ping" in group.signal] or bursts
    period_s = max((group.period_s for group in counted), default=None)
    return hints if hints.ping_interval_s else hints._replace(ping_interval_s=period_s)
