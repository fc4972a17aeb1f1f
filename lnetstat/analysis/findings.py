"""From results to findings: one sentence each, with numbers, what to do, and where to read on. Worst first; the worst row is named."""

from collections.abc import Iterable

from lnetstat.analysis import message_path
from lnetstat.analysis.credits import badness
from lnetstat.analysis.listed import UNLISTED
from lnetstat.analysis.results import CreditUse, DeadTime, PingBursts
from lnetstat.analysis.wording import (
    CREDITS,
    KIND_ADVICE,
    PING_ADVICE,
    PING_REFERENCE,
    Clock,
    clock_of,
    counted,
    credit_advice,
    percent,
    place_of,
    seconds,
    stamp,
)
from lnetstat.model import Finding, Severity

SEVERE_LOSS = 0.01
BURST_ADVICE = (
    "Bursts of messages come with the dips: see what ran out first, and record the servers (obd_ping of ost, mdt, mgs) to tell whether "
    "the messages are pings."
)
LONG_FRACTION = 0.05
_SEVERITY = {"touched": Severity.INFO, "intermittent": Severity.WARNING, "sustained": Severity.CRITICAL}


def of_dead_time(verdicts: Iterable[DeadTime], begin_ns: int, end_ns: int) -> list[Finding]:
    """Return a finding per signal with dips, and one for all signals that were too short or too coarse to tell."""
    found = [_dips(each, begin_ns, end_ns) for each in verdicts if each.detected or each.recurrent]
    unsure = [each for each in verdicts if each.verdict == "cannot_tell"]
    if unsure:
        first = unsure[0]
        rest = f" ({counted(len(unsure) - 1, 'other signal')} likewise)" if len(unsure) > 1 else ""
        found.append(
            Finding(
                "cannot_tell",
                Severity.INFO,
                _where(first),
                begin_ns,
                end_ns,
                {"signals": [[each.host, each.signal, each.reason] for each in unsure[:50]]},
                f"cannot tell whether {_where(first)} has periodic dead time: {first.reason}{rest}",
                KIND_ADVICE
                if KIND_ADVICE in first.reason
                else "Record longer (at least 6 ping intervals, better 20), sample faster than a fifth of a dip, while there is load.",
                "six cycles are the least that can be told from chance",
            )
        )
    return found


def _where(each: DeadTime) -> str:
    return f"{each.signal} of {each.host}" if each.host else each.signal


def _dips(each: DeadTime, begin_ns: int, end_ns: int) -> Finding:
    period, duration, depth = each.period_s or 0.0, each.duration_s or 0.0, each.depth or 0.0
    lost, gross = each.lost_fraction or 0.0, each.lost_fraction_gross or 0.0
    how_deep = (
        f"by {percent(depth)}" if each.depth_resolved else f"by {percent(depth)} if they last that long (samples are longer than dips)"
    )
    word = "dips" if each.detected else "dips again and again, not quite periodically,"
    again = (
        f"every {period:.4g} s" if each.gap_cv is None else f"every {seconds(period)} on average (spacing varies by {percent(each.gap_cv)})"
    )
    because = {
        "ping": f"; made by pings: {each.cause_words}",
        "other": f"; not made by pings: {each.cause_words}",
        "unknown": f"; cause unknown: {each.cause_words}",
    }.get(each.cause, "")
    jumps = "".join(f"; the phase jumped by {seconds(abs(jump))} at {stamp(time * 1e9)}" for time, jump in each.phase_jumps[:3])
    if each.reason:
        because = f"; it {each.reason}" + because
    aligned = (
        f"; in step with the clock at multiples of {each.epoch_hypothesis_s:g} s" if each.epoch_aligned and each.epoch_hypothesis_s else ""
    )
    first, last = (begin_ns, end_ns)
    if each.incidents:  # the first may have begun before the first sample
        first, last = max(begin_ns, round(each.incidents[0][0] * 1e9)), min(end_ns, round(each.incidents[-1][1] * 1e9))
    severe = each.detected and max(lost, gross / 2) >= SEVERE_LOSS
    return Finding(
        "dead_time",
        Severity.CRITICAL if severe else Severity.WARNING,
        _where(each),
        first,
        last,
        {
            "period_s": each.period_s,
            "period_err_s": each.period_err_s,
            "duration_s": each.duration_s,
            "depth": each.depth,
            "lost_fraction": each.lost_fraction,
            "lost_fraction_gross": each.lost_fraction_gross,
            "cause": each.cause,
            "ping_z": each.ping_z,
            "chance": each.chance,
            "score": each.score,
            "incidents": len(each.incidents),
        },
        f"{_where(each)} {word} {again} for {seconds(duration)}, {how_deep}: {percent(lost)} of the bytes lost "
        f"({percent(gross)} before catching up), {counted(len(each.incidents), 'incident')} from {stamp(first)} "
        f"to {clock_of(first, last)(last)}"
        f"{because}{aligned}{jumps}",
        PING_ADVICE
        if each.cause == "ping"
        else BURST_ADVICE
        if "bursts of messages" in each.reason
        else "Find what runs at this period: compare the incidents' times with cron, flushers, monitoring, pings.",
        PING_REFERENCE,
    )


def of_bursts(bursts: list[PingBursts], dead_time: DeadTime, begin_ns: int, end_ns: int) -> list[Finding]:
    """Return one finding per host: its best ping or message series with all phase groups. Never a verdict on dead time."""
    found = []
    clock = clock_of(begin_ns, end_ns)
    for host in dict.fromkeys(each.host for each in bursts):
        own = [each for each in bursts if each.host == host]
        # obd_ping counts pings and nothing else; message counters hold the same bursts.
        exact = [each for each in own if each.signal == "obd_ping" or each.signal == "ping_rate"]
        groups = [each for each in exact or own if each.signal == (exact or own)[0].signal]
        groups.sort(key=lambda each: each.size, reverse=True)
        main = groups[0]
        noun = "ping" if exact else "message"
        others = f"; {counted(len(groups) - 1, 'smaller group')} with a phase of their own" if len(groups) > 1 else ""
        follow = "" if dead_time.detected else "; throughput was not seen to dip with them"
        place = f"{main.signal} of {host}" if host else main.signal
        found.append(
            Finding(
                "ping_burst",
                Severity.INFO,
                place,
                max(begin_ns, round(main.incidents[0][0] * 1e9)),
                min(end_ns, round(main.incidents[-1][1] * 1e9)),
                {
                    "host": host,
                    "signal": main.signal,
                    "period_s": main.period_s,
                    "gap_cv": main.gap_cv,
                    "periodic": main.periodic,
                    "bursts": len(main.onsets_s),
                    "size": main.size,
                    "peak_rate": main.peak_rate,
                    "base_rate": main.base_rate,
                    "groups": len(groups),
                },
                f"{place}: {len(main.onsets_s)} bursts of about {counted(main.size, noun)}, every {seconds(main.period_s)} on average "
                f"(spacing varies by {percent(main.gap_cv)}), up to {main.peak_rate:,.0f}/s against {main.base_rate:,.0f}/s between them, "
                f"first at {clock(max(begin_ns, main.onsets_s[0] * 1e9))} UTC{others}{follow}",
                PING_ADVICE,
                PING_REFERENCE,
            )
        )
    return found


def of_credits(used: list[CreditUse], begin_ns: int, end_ns: int) -> list[Finding]:
    """Return one finding per host and resource that ran out: the worst row named, the others counted by grade.

    What only follows something else on the way of messages is no more than a warning, and points to that.
    """
    found = []
    clock = clock_of(begin_ns, end_ns)
    links = message_path.followers(used)
    ran_out = [use for use in used if use.grade != "never"]
    for host, resource in dict.fromkeys((use.host, use.resource) for use in ran_out):
        own = sorted((use for use in ran_out if (use.host, use.resource) == (host, resource)), key=badness, reverse=True)
        worst, guide = own[0], CREDITS[resource]
        root = message_path.root_of(worst, links)
        follows = None if root is worst else root
        found.append(
            Finding(
                guide.kind,
                _severity(worst) if follows is None else min(_severity(worst), Severity.WARNING),
                f"{guide.holder} {worst.subject}{' on ' + host if host else ''}",
                worst.first_low_ns or begin_ns,
                worst.last_low_ns or end_ns,
                _evidence(worst, own) | {"follows": None if follows is None else [follows.host, follows.resource, follows.subject]},
                _credit_message(worst, own, clock) + _only_follows(follows),
                credit_advice(root),
                guide.reference,
            )
        )
    return found


def _only_follows(root: CreditUse | None) -> str:
    if root is None:
        return ""
    return f"; it only follows the {CREDITS[root.resource].noun} of {root.subject}{' on ' + root.host if root.host else ''}"


def _severity(worst: CreditUse) -> Severity:
    brief = worst.fraction_time_oversubscribed < LONG_FRACTION and worst.spell_max_s < 1
    if worst.grade == "sustained" and (brief or worst.few):
        return Severity.WARNING
    if worst.grade == "touched" and worst.waiting_max > worst.limit:
        return Severity.WARNING  # samples are blind to short queues: a mark this low is no detail
    return _SEVERITY[worst.grade]


def _evidence(worst: CreditUse, own: list[CreditUse]) -> dict[str, object]:
    evidence: dict[str, object] = {
        name: value for name, value in worst._asdict().items() if name not in ("first_low_ns", "last_low_ns", "spells", "rows_short")
    }
    return evidence | {
        "waiting": worst.waiting,
        "wanted_peak": worst.wanted_peak,
        "rows": max(len(own), worst.rows_short or 0),
        "subjects": list(dict.fromkeys(use.subject for use in own))[:20],
    }


def _credit_message(worst: CreditUse, own: list[CreditUse], clock: Clock) -> str:
    guide = CREDITS[worst.resource]
    place = place_of(worst, guide.holder)
    if worst.table == "nis":
        place += f" (row {worst.row})"
    if worst.subject.startswith(UNLISTED):
        place += " (which is not known: only the worst were recorded)"
    beyond = f"beyond its {worst.limit} {guide.noun}"
    if not worst.waiting:
        whole = f"{place}: its low-water mark, {worst.low_water}, is older than the record: {counted(worst.waiting_max, 'message')} waited "
        return f"{whole}{beyond} at some time before; no sample of the record is below 0{_others(own, guide.holder)}"
    parts = [f"{place}: {counted(worst.waiting, 'message')} waited {beyond}{_when_worst(worst, clock)}"]
    if worst.first_low_ns is not None and worst.last_low_ns is not None and worst.last_low_ns > worst.first_low_ns:
        parts.append(f"below 0 from {clock(worst.first_low_ns)} to {clock(worst.last_low_ns)} UTC")
    if worst.low_water_before_record and worst.low_water < -worst.waiting:
        parts.append(f"its low-water mark, {worst.low_water}, is older than the record")
    elif worst.low_water_before_record:
        parts.append(f"its low-water mark was {worst.low_water} already before the record began")
    elif worst.low_at_start:
        parts.append("its low-water mark was below 0 already before the record began")
    if worst.fraction_windows is not None:
        parts.append(f"below 0 in {percent(worst.fraction_windows)} of the intervals")
    return ", ".join([*parts, *_how_long(worst)]) + _others(own, guide.holder)


def _when_worst(worst: CreditUse, clock: Clock) -> str:
    """Say when so many waited: at a sample, or between the two samples between which the mark fell."""
    if worst.low_water_fell_ns is None:
        return "" if worst.worst_sampled_ns is None else f", sampled at {clock(worst.worst_sampled_ns)} UTC"
    after, by = (clock(time_ns) for time_ns in worst.low_water_fell_ns)
    return f", at {by} UTC" if after == by else f", between {after} and {by} UTC"


def _how_long(worst: CreditUse) -> list[str]:
    if worst.few:
        samples = "the one sample" if worst.samples == 1 else f"{worst.samples} samples"
        seen = worst.samples_below
        if worst.samples == 1:
            return [f"below 0 in {samples}" if seen else "not below 0 in the one sample"]
        return [f"below 0 in {seen} of {samples}"]
    wanted = f"wanted {worst.wanted_peak} at the peak, {worst.required_p99:.0f} for 99 % of the time"
    return [_share_below(worst), wanted, *([f"messages waited {seconds(worst.mean_wait_s)} on average"] if worst.mean_wait_s else [])]


def _share_below(worst: CreditUse) -> str:
    """Return for how much of the time samples saw it below 0, give or take, and how that was inside and outside dips or bursts."""
    share = worst.fraction_time_oversubscribed
    if share <= 0:
        return "never caught below 0 by a sample"
    if worst.is_chance:
        if worst.samples_below == worst.samples:
            return f"below 0 in all {worst.samples:,} samples"
        return f"below 0 in {worst.samples_below:,} of {worst.samples:,} samples, too few spells to tell the share of the time"
    error = f" (± {percent(worst.fraction_error)})" if worst.fraction_error else ""
    below = f"sampled below 0 {percent(share)} of the time{error}"
    if worst.fraction_inside is None or worst.fraction_outside is None:
        return below
    return f"{below}, {percent(worst.fraction_inside)} inside dips or bursts and {percent(worst.fraction_outside)} outside"


def _others(own: list[CreditUse], holder: str) -> str:
    """Say how many others ran out: all, or at least so many; their grades as far as they were looked at."""
    rest = max(len(own), own[0].rows_short or 0) - 1
    if not rest:
        return "; others may have run out too: only the worst were recorded" if own[0].rows_at_least else ""
    grades = [use.grade for use in own[1:]]
    told = ", ".join(f"{grades.count(grade)} {grade}" for grade in ("sustained", "intermittent", "touched") if grade in grades)
    if rest > len(grades):
        told = f"of the {len(grades)} worst of them: {told}" if grades else "not known which"
    return f"; {'at least ' if own[0].rows_at_least else ''}{counted(rest, f'other {holder}')} ran out too ({told})"


def in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings without repetitions, worst first; of equal severity causes stand before symptoms."""
    rank = {
        kind: place
        for place, kind in enumerate(
            (
                "dead_time",
                "traffic_stopped",
                "first_exhausted",
                "oversubscribed_peers",
                "oversubscribed_rtr_credits",
                "oversubscribed_buffers",
                "oversubscribed_nis",
                "route_down",
                "ni_unhealthy",
                "peer_down",
                "odd_one_out",
                "drops",
                "ping_burst",
                "data_gap",
                "cannot_tell",
            )
        )
    }
    unique = {(each.kind, each.subject, each.message): each for each in found}
    return tuple(sorted(unique.values(), key=lambda each: (-each.severity, rank.get(each.kind, 99), each.begin_ns)))
