"""What the data of a host look like: from when to when, how often, and which times are missing."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.analysis import listed
from lnetstat.analysis.rates import typical_interval
from lnetstat.analysis.results import HostQuality, Interval
from lnetstat.analysis.wording import Clock, counted, percent, seconds
from lnetstat.frames import Frames
from lnetstat.frames.loading import WORST
from lnetstat.model import Finding, Severity

LNET_FILES = ("peers", "nis", "buffers", "stats", "routes", "routers")
LEAST_GAP_S = 2.0  # and more than 5 typical intervals
BLOCK = 32  # steps whose median is the spacing there: no gap and no jitter moves it
OTHER_SPACING = 1.5  # times as far apart: no clock or busy node makes half of 32 steps as much longer
MOST_STRETCHES = 8  # more are no settings that somebody changed


def quality_of(frames: Frames) -> tuple[HostQuality, ...]:
    """Return what each host's data looks like: samples of the file that was read most often, times and gaps of all files together."""
    if frames.states.empty:
        return ()
    found = []
    for host, own in frames.states.groupby("host", observed=True, sort=False):
        counts = own["name"].value_counts()
        usual = own.loc[own["name"] == counts.index[0], "time_ns"].to_numpy(np.int64)
        known = own[own["name"].isin(LNET_FILES)]
        states = {str(state): int(count) for state, count in (known if len(known) else own)["state"].value_counts().items()}
        if WORST in states:
            states[listed.LABEL] = states.pop(WORST)
        quality = quality_from(str(host), usual, states, all_ns=_used(own)["time_ns"].to_numpy(np.int64))
        counts_of_peers = [_peers(frames.tables.get("peers"), str(host)), listed.most_peers(frames, str(host))]
        found.append(quality._replace(peers=max((count for count in counts_of_peers if count is not None), default=None)))
    return tuple(found)


def _peers(table: pd.DataFrame | None, host: str) -> int | None:
    """Return the most peers that one sample of a host shows; None where none shows any."""
    if table is None:
        return None
    if "most_peers" in table.attrs:  # of very many, not all rows are there
        return int(table.attrs["most_peers"])
    sizes = table.loc[(table["host"] == host).to_numpy(bool), "time_ns"].value_counts()
    return int(sizes.max()) if len(sizes) else None


def _used(own: pd.DataFrame) -> pd.DataFrame:
    """Return the reads of files that change over time; a version or a module's settings begin no record."""
    names = own["name"].astype(str)
    used = own[names.isin((*LNET_FILES, "lnetctl net show")) | names.str.endswith(".stats")]
    return used if len(used) else own


def quality_from(
    host: str, time_ns: npt.NDArray[np.int64], states: dict[str, int], resets: int = 0, *, all_ns: npt.NDArray[np.int64] | None = None
) -> HostQuality:
    """Return what samples at these times look like; `all_ns`: the times of all files, of which these are the one read most often."""
    stamps = np.sort(time_ns)
    typical = typical_interval(stamps / 1e9)
    intervals = _intervals(stamps)
    dense = stamps if intervals else _dense(stamps, typical)
    whole = stamps if all_ns is None else np.unique(all_ns)
    steps = np.diff(dense / 1e9)
    gaps: tuple[Interval, ...] = ()
    if typical > 0 and stamps.size > 2:
        at = np.flatnonzero(np.diff(whole) > _longest_step_ns(typical))
        gaps = tuple((float(whole[index] / 1e9), float(whole[index + 1] / 1e9)) for index in at)
    worst = float(np.percentile(steps, 99)) if steps.size else 0.0
    extent = (float(dense[0] / 1e9), float(dense[-1] / 1e9))
    gaps = tuple(gap for gap in gaps if gap[1] - gap[0] > _longest_step_ns(_spacing_at(gap, intervals, typical)) / 1e9)
    found = HostQuality(host, int(whole[0]), int(whole[-1]), int(stamps.size), typical, worst, gaps, resets, states, extent)
    return found._replace(intervals=intervals)


def _spacing_at(gap: Interval, intervals: tuple[tuple[float, float], ...], typical_s: float) -> float:
    """Return the spacing usual about a gap: of the two stretches at its ends the longer one, as it may lie where they meet."""
    begun = [max((begin for begin, _ in intervals if begin <= moment), default=0.0) for moment in gap]
    # A stretch is known to begin within a block; the one that a block later has begun counts too.
    later = [begin for begin, spacing in intervals if gap[1] < begin <= gap[1] + BLOCK * spacing]
    return max((spacing for begin, spacing in intervals if begin in (*begun, *later)), default=typical_s)


def _intervals(stamps: npt.NDArray[np.int64]) -> tuple[tuple[float, float], ...]:
    """Return the stretches of one spacing, as (begin, spacing) in seconds; () where there is only one."""
    count = (stamps.size - 1) // BLOCK
    if count < 2:
        return ()
    spacing = np.median(np.diff(stamps[: count * BLOCK + 1]).reshape(count, BLOCK), axis=1) / 1e9
    found: list[tuple[float, float]] = []
    for block in range(count - 1):
        # A block in which the spacing changes is of neither; a stretch is at least two blocks alike.
        alike = max(spacing[block], spacing[block + 1]) < OTHER_SPACING * min(spacing[block], spacing[block + 1])
        known = found and max(found[-1][1], spacing[block]) < OTHER_SPACING * min(found[-1][1], spacing[block])
        if alike and not known:
            found.append((float(stamps[block * BLOCK] / 1e9), float(spacing[block])))
    return tuple(found) if 1 < len(found) <= MOST_STRETCHES else ()


def gap_from_ns(stamps: npt.NDArray[np.int64], time_ns: int) -> int | None:
    """Return the last of sorted stamps before a time when a gap lies between them, else None."""
    place = int(np.searchsorted(stamps, time_ns))
    if place == 0 or stamps.size < 3:
        return None
    before = int(stamps[place - 1])
    return before if time_ns - before > _longest_step_ns(typical_interval(stamps / 1e9)) else None


def _longest_step_ns(typical_s: float) -> float:
    return max(5 * typical_s, LEAST_GAP_S) * 1e9


def _dense(stamps: npt.NDArray[np.int64], typical_s: float) -> npt.NDArray[np.int64]:
    """Leave out single snapshots long before and after the series proper, as archives hold them."""
    breaks = np.flatnonzero(np.diff(stamps) > _longest_step_ns(typical_s))
    few = max(3, stamps.size // 50)
    while breaks.size and breaks[0] + 1 <= few < stamps.size // 2:
        stamps, breaks = stamps[breaks[0] + 1 :], breaks[1:] - breaks[0] - 1
    while breaks.size and stamps.size - breaks[-1] - 1 <= few < stamps.size // 2:
        stamps, breaks = stamps[: breaks[-1] + 1], breaks[:-1]
    return stamps


def gaps_findings(quality: tuple[HostQuality, ...], clock: Clock) -> list[Finding]:
    """Return a finding per host with gaps in its samples; single snapshots before and after a series make none."""
    found = []
    for host in quality:
        missing = sum(stop - start for start, stop in host.gaps)
        length = (host.end_ns - host.begin_ns) / 1e9
        inside = sum(stop - start for start, stop in host.gaps if start >= host.dense_s[0] and stop <= host.dense_s[1])
        if inside <= 0 or length <= 0:
            continue
        longest = max(host.gaps, key=lambda gap: gap[1] - gap[0])
        found.append(
            Finding(
                "data_gap",
                Severity.WARNING if inside > 0.1 * length else Severity.INFO,
                host.host or "data",
                round(longest[0] * 1e9),
                round(longest[1] * 1e9),
                {"host": host.host, "gaps": len(host.gaps), "missing_s": missing},
                f"{counted(len(host.gaps), 'gap')} in the samples{' of ' + host.host if host.host else ''}: {seconds(missing)} of "
                f"{seconds(length)} ({percent(missing / length)}) missing, the longest from {clock(longest[0] * 1e9)} to "
                f"{clock(longest[1] * 1e9)} UTC",
                "Nothing is said about what happened inside gaps.",
                "steps over more than 5 typical intervals",
            )
        )
    return found


def mixed_findings(quality: tuple[HostQuality, ...], clock: Clock) -> list[Finding]:
    """Return a finding per host whose samples changed their spacing."""
    return [_mixed(host, clock) for host in quality if host.intervals]


def _mixed(host: HostQuality, clock: Clock) -> Finding:
    """Return the finding of samples whose spacing changed: what the longer ones leave open is no gap."""
    begin_s = [begin for begin, _ in host.intervals]
    ends_s = [*begin_s[1:], host.end_ns / 1e9]
    parts = [f"every {step:.3g} s from {clock(b * 1e9)} to {clock(e * 1e9)}" for (b, step), e in zip(host.intervals, ends_s, strict=True)]
    return Finding(
        "data_gap",
        Severity.WARNING,
        host.host or "data",
        host.begin_ns,
        host.end_ns,
        {"host": host.host, "intervals": [list(each) for each in host.intervals]},
        f"samples{' of ' + host.host if host.host else ''} of mixed intervals: {', then '.join(parts)} UTC",
        "Analyze each stretch by itself (--begin, --end): dips shorter than the longest interval do not show in all of the record.",
        f"medians of {BLOCK} steps that differ by more than a factor of {OTHER_SPACING}",
    )
