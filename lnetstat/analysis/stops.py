"""A total stop of traffic that had been steady: for how long nothing was carried, at the end of the record or inside it.

Loads that come and go stop all the time and are no finding: traffic must have been there in nearly all of the record but for one stop.
"""

import numpy as np

from lnetstat.analysis.results import Interval
from lnetstat.analysis.signals import Track
from lnetstat.analysis.wording import clock_of, counted, seconds
from lnetstat.model import Finding, Severity

LEAST_STOP_S = 20.0
LEAST_STOP_SHARE = 0.1  # of the record
STEADY_SHARE = 0.95  # of the cells outside the stop must carry traffic
LEAST_BUSY_SHARE = 0.5  # of the record
IDLE = 0.01  # of the usual rate: less is nothing
CELL_S = 5.0


def findings_of(tracks: list[Track], begin_ns: int, end_ns: int) -> list[Finding]:
    """Return one finding per throughput signal that was steady and then stopped."""
    clock = clock_of(begin_ns, end_ns)
    found = []
    for track in tracks:
        stop = stop_of(track) if track.purpose == "throughput" else None
        if stop is None:
            continue
        place = f"{track.name} of {track.host}" if track.host else track.name
        first, last = (round(second * 1e9) for second in stop)
        at_end = stop[1] >= float(track.rates.time_s[-1])
        when = f"at {clock(first)} UTC and did not come back" if at_end else f"from {clock(first)} to {clock(last)} UTC"
        found.append(
            Finding(
                "traffic_stopped",
                Severity.INFO if at_end else Severity.WARNING,
                place,
                first,
                last,
                {"host": track.host, "signal": track.name, "stop_s": stop[1] - stop[0], "at_end": at_end},
                f"{place} was steady and stopped {when}: nothing for {seconds(stop[1] - stop[0])}",
                "The end of a job looks like this too. Else look at what else happened then: routes, interfaces, peers, the kernel log.",
                f"less than {IDLE:.0%} of the usual rate for over {counted(LEAST_STOP_S, 'second')} and a tenth of the record",
            )
        )
    return found


def stop_of(track: Track) -> Interval | None:
    """Return [begin, end] in epoch seconds of the one stop of a steady signal, None where there is none or it was not steady."""
    rates = track.rates
    if rates.rate.size < 30:
        return None
    edges = rates.time_s - rates.interval_s / 2
    length = float(rates.time_s[-1] - rates.time_s[0])
    busy = rates.rate[rates.rate > 0]
    if busy.size < 10:
        return None
    carried = np.flatnonzero(rates.rate > IDLE * float(np.median(busy)))
    # Idle stretches between samples that carried something; a gap in the data is none, so only sampled time counts.
    ends = np.append(carried, rates.rate.size)
    sampled_s = np.concatenate(([0.0], np.cumsum(rates.interval_s)))
    idle_s = sampled_s[ends[1:]] - sampled_s[ends[:-1] + 1]
    longest = int(idle_s.argmax())
    if idle_s[longest] <= max(LEAST_STOP_S, LEAST_STOP_SHARE * length):
        return None
    first, after = int(ends[longest]) + 1, int(ends[longest + 1])
    outside = np.ones(rates.rate.size, dtype=bool)
    outside[first:after] = False
    outside[: int(carried[0])] = False  # before the load began
    cells = np.floor((rates.time_s[outside] - rates.time_s[0]) / max(CELL_S, 3 * rates.dt_s)).astype(np.int64)
    _, cell = np.unique(cells, return_inverse=True)
    carrying = np.bincount(cell, rates.rate[outside] > IDLE * float(np.median(busy))) > 0
    if carrying.mean() < STEADY_SHARE or float(rates.interval_s[outside].sum()) < LEAST_BUSY_SHARE * length:
        return None
    stop = float(edges[after]) if after < rates.rate.size else float(rates.time_s[-1] + rates.interval_s[-1] / 2)
    return float(edges[first]), stop
