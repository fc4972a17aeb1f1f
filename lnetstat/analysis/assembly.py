"""What was found, put together: ranked, with its findings, and the verdict in plain words."""

from lnetstat.analysis import findings, first_exhausted, stops
from lnetstat.analysis.cpu import CpuUse
from lnetstat.analysis.credits import summary
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
from lnetstat.analysis.signals import Track
from lnetstat.analysis.wording import percent, seconds
from lnetstat.model import Finding

NOTHING_TO_SEARCH = "no throughput signal (lnet stats, ost_io or obdfilter counters over time)"


def assembled(
    tracks: list[Track],
    verdicts: list[DeadTime],
    bursts: list[PingBursts],
    used: list[CreditUse],
    drawn: list[CreditSeries],
    quality: tuple[HostQuality, ...],
    more: list[Finding],
    cpu: tuple[CpuUse, ...] = (),
) -> Analysis:
    """Return the analysis made of its parts; `verdicts` are ranked, best first, `more` holds findings that were made already."""
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
