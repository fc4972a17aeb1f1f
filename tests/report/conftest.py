"""Analyses made by hand: their truth is known, and hostile names can stand wherever a name may stand."""

from collections.abc import Callable

import numpy as np
import pytest

from lnetstat.analysis.results import (
    Analysis,
    CreditSeries,
    CreditSummary,
    CreditUse,
    DeadTime,
    HostQuality,
    Interval,
    PingBursts,
    Signal,
)
from lnetstat.model import Finding, Severity

BEGIN_S = 1_786_708_800.0  # 2026-08-14T12:00:00Z
PERIOD_S, DIP_S, STEP_S = 25.0, 1.0, 0.5

Factory = Callable[..., Analysis]


def finding(kind: str, severity: Severity, subject: str, message: str, **evidence: object) -> Finding:
    begin_ns = round((BEGIN_S + 5) * 1e9)
    return Finding(kind, severity, subject, begin_ns, begin_ns + 10**9, evidence, message, "raise peer_credits", "CUG 2012, IV.B")


def build(length_s: float = 600.0, host: str = "rtr", nid: str = "10.1.0.1@tcp", dips: bool = True, title: str = "") -> Analysis:
    """Return an analysis with dips, pings, messages, a starved peer and used buffers; `title` is added to what messages say."""
    time_s = BEGIN_S + np.arange(0, length_s, STEP_S)
    onsets = np.arange(BEGIN_S + 5, BEGIN_S + max(length_s, 11.0) - 5, PERIOD_S)
    incidents: tuple[Interval, ...] = tuple((float(onset), float(onset) + DIP_S) for onset in onsets)
    since_onset = time_s - (BEGIN_S + 5)
    down = (since_onset >= 0) & (since_onset % PERIOD_S < DIP_S) & (time_s < onsets[-1] + PERIOD_S)
    interval = np.full(time_s.size, STEP_S)
    found = incidents if dips else ()

    def signal(name: str, purpose: str, unit: str, rate: np.ndarray, instance: str = "") -> Signal:
        return Signal(host, "oss", "counters", instance, name, purpose, unit, time_s, rate, interval, found)

    free = np.where(down, -63.0, 6.0)
    common = (host, "router", "lnet_stats", "", "route_length")
    verdict = DeadTime(*common, "none", "", False, False, 1.0, 0.5)
    if dips:
        verdict = DeadTime(
            *common,
            "detected",
            "",
            True,
            False,
            30.0,
            1e-12,
            PERIOD_S,
            0.01,
            DIP_S,
            0.9,
            True,
            0.036,
            0.04,
            False,
            cause="ping",
            ping_z=20.0,
            chance=1e-6,
            gap_cv=0.01,
            incidents=incidents,
        )
    main = Signal(
        host, "router", "lnet_stats", "", "route_length", "throughput", "bytes/s", time_s, np.where(down, 1e5, 5e8), interval, found
    )
    use = CreditUse(
        host,
        "peer_credits",
        "peers",
        nid,
        0,
        "sustained",
        8,
        -63,
        71,
        12.0,
        0.04,
        None,
        63,
        1.0,
        round(incidents[0][0] * 1e9),
        round(incidents[-1][0] * 1e9),
        0,
        0.9,
        False,
        worst_sampled=-63,
        worst_sampled_ns=round(incidents[0][0] * 1e9),
        worst_in_record=-63,
        samples=time_s.size,
    )
    return Analysis(
        verdict=f"Periodic dead time: route_length of {host} dips every 25 s.{title}",
        dead_time=verdict,
        series=(verdict,),
        ping_bursts=(
            PingBursts(host, "counters", "", "obd_ping", True, PERIOD_S, 0.01, 295.0, 600.0, 0.0, tuple(onsets.tolist()), incidents),
        ),
        credits=CreditSummary(f"{nid} on {host}", 0.04, 71.0, 12.0),
        credit_use=(use,),
        findings=(
            finding("dead_time", Severity.CRITICAL, host, f"route_length of {host} dips{title}", period_s=PERIOD_S, incidents=len(onsets)),
            finding("oversubscribed_peers", Severity.WARNING, nid, f"63 messages waited for {nid}", waiting=63, limit=8),
            finding("odd_one_out", Severity.INFO, host, f"{host} differs", share=0.25, hosts=[host]),
        ),
        quality=(
            HostQuality(host, round(BEGIN_S * 1e9), round(time_s[-1] * 1e9), time_s.size, STEP_S, STEP_S, (), 0, {"ok": time_s.size}),
        ),
        signals=(
            main,
            signal("ost_read+ost_write", "throughput", "requests/s", np.where(down, 2.0, 900.0), "ost_io"),
            signal("obd_ping", "pings", "pings/s", np.where(down, 600.0, 0.0), "ost"),
            signal("route_count", "messages", "messages/s", np.where(down, 900.0, 40.0)),
        ),
        credit_series=(
            CreditSeries(host, "peer_credits", "peers", nid, 0, 8, time_s, free, np.minimum.accumulate(free), np.zeros(time_s.size)),
            CreditSeries(host, "router_buffers", "buffers", "small", 0, 512, time_s, np.where(down, 300.0, 510.0), free, None),
        ),
    )


@pytest.fixture
def analysis_of() -> Factory:
    """Return the maker of an analysis; see `build`."""
    return build


@pytest.fixture
def nothing() -> Analysis:
    """Return an analysis of a recording that holds nothing."""
    verdict = DeadTime("", "", "", "", "throughput", "cannot_tell", "no throughput signal", False, False, 0.0, 1.0)
    return Analysis("Cannot tell: no throughput signal.", verdict, (), (), None, (), (), (), (), ())
