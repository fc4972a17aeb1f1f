"""When pings flooded, and what that cost: from the simulator's own bins, not from what a collector would have seen.

A *round* of pings lasts from the first ping sent until the last one served. It is a *flood* where at least a tenth of the interval is quiet
after it; pings that come all the time are *steady*. The *span* is made of whole periods only: from the first flood's begin to the last one
whose interval is complete. *Base* is the usual rate of windows of about a second within the span and outside floods: the mean
of those near their median.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lnetstat.simulator.follow import GroupTruth

NS = 1_000_000_000
QUIET_SHARE = 0.1
NEAR_SHARE = 0.05
RECOVERED_SHARE = 0.02  # missing: less is the jitter of the disks
WINDOW_NS = NS
WINDOWS_PER_INTERVAL = 60  # a window is never longer than this part of the ping interval
Floats = NDArray[np.float64]
Interval = tuple[int, int]


class Lost(NamedTuple):
    """What floods cost one series of bytes. Rates in bytes/s, shares of 1, times in ns; None where it cannot be told.

    `lost_fraction`: net of catch-up, over whole periods; `lost_fraction_gross`: what was missing from a flood's begin until the rate was
    back. `dead_ns`: for each whole period the integral of 1 - rate / base. `minimum_share`: lowest rate of a window of the span as a share
    of base; `flood_share`: mean rate within floods likewise. `correlation`: of pings served and bytes over the windows of the span.
    """

    base_bytes_s: float | None
    lost_fraction: float | None
    lost_fraction_gross: float | None
    dead_ns: tuple[int, ...]
    minimum_share: float | None
    flood_share: float | None
    correlation: float | None


class Rounds(NamedTuple):
    """`pattern`: none, floods or steady. `floods`: begin and end, ns. `edges`: begins of the whole periods and the end of the last, ns."""

    pattern: str
    floods: tuple[Interval, ...]
    edges: tuple[int, ...]


def rounds(truth: GroupTruth) -> Rounds:
    """Find the floods of a run."""
    pings = truth.pings.sum(axis=0)
    if not pings.any():
        return Rounds("none", (), _whole_record(truth))
    interval_ns, bin_ns = truth.plan.pings.interval_ns, truth.plan.bin_ns
    found = _aligned(truth, pings) if truth.plan.pings.aligned else _clusters(truth, pings)
    longest_ns = (1 - QUIET_SHARE) * interval_ns
    if not found or max(end - begin for begin, end in found) > max(longest_ns, bin_ns):
        return Rounds("steady", (), _whole_record(truth))
    edges = [begin for begin, _ in found]
    if edges[-1] + interval_ns <= truth.until_ns:
        edges.append(edges[-1] + interval_ns)
    return Rounds("floods", found, tuple(edges) if len(edges) > 1 else ())


def _whole_record(truth: GroupTruth) -> tuple[int, ...]:
    """Return the record without its first interval, in which I/O begins; all of it where it is shorter than two."""
    interval_ns = truth.plan.pings.interval_ns
    begin_ns = interval_ns if 0 < 2 * interval_ns <= truth.until_ns else 0
    return (begin_ns, truth.until_ns) if truth.until_ns > begin_ns else ()


def _aligned(truth: GroupTruth, pings: NDArray[np.int64]) -> tuple[Interval, ...]:
    """Return the rounds of pings that come at every multiple of the interval after the first: their begins are known exactly."""
    interval_ns, bin_ns = truth.plan.pings.interval_ns, truth.plan.bin_ns
    found = []
    for begin_ns in range(truth.first_ns, truth.until_ns, interval_ns):
        first = begin_ns // bin_ns
        served = np.flatnonzero(pings[first : (begin_ns + interval_ns) // bin_ns])
        if served.size:
            found.append((begin_ns, min((first + int(served[-1]) + 1) * bin_ns, truth.until_ns)))
    return tuple(found)


def _clusters(truth: GroupTruth, pings: NDArray[np.int64]) -> tuple[Interval, ...]:
    """Return the runs of pings with a tenth of the interval between them."""
    interval_ns, bin_ns = truth.plan.pings.interval_ns, truth.plan.bin_ns
    served = np.flatnonzero(pings)
    breaks = np.flatnonzero(np.diff(served) * bin_ns > QUIET_SHARE * interval_ns) + 1
    runs = np.split(served, breaks)
    return tuple((int(run[0]) * bin_ns, min((int(run[-1]) + 1) * bin_ns, truth.until_ns)) for run in runs)


class Windows(NamedTuple):
    """The span cut into windows of equal length. Arrays (windows,): when each begins, bytes, pings; wholly outside and within floods."""

    length_ns: int
    begin_ns: NDArray[np.int64]
    bytes: Floats
    pings: Floats
    quiet: NDArray[np.bool_]
    flooded: NDArray[np.bool_]


def lost(truth: GroupTruth, found: Rounds, servers: slice = slice(None)) -> Lost:
    """Return what the floods cost the servers chosen."""
    if len(found.edges) < 2:
        return Lost(None, None, None, (), None, None, None)
    amounts, pings = truth.bytes[servers].sum(axis=0), truth.pings[servers].sum(axis=0)
    cut = windows(truth, found, amounts, pings)
    rates = cut.bytes / cut.length_ns * NS
    base = _base(rates[cut.quiet])
    if base is None:
        return Lost(None, None, None, (), None, None, None)
    edges = np.array(found.edges) // truth.plan.bin_ns
    in_bins = np.diff(edges) * truth.plan.bin_ns
    passed = np.add.reduceat(amounts[: edges[-1]], edges[:-1]) if edges[-1] > edges[0] else np.zeros(0)
    dead_ns = in_bins - passed / base * NS
    shares = 1 - rates / base
    none = found.pattern == "none"  # what else changed the rate is not what pings cost
    net = 0.0 if none else float(dead_ns.sum() / in_bins.sum())
    missing = np.clip(shares[_until_recovered(cut, shares)], 0, 0 if none else None)
    return Lost(
        base,
        net,
        max(net, float(missing.sum() / rates.size)),
        tuple(round(each) for each in dead_ns) if found.floods else (),
        float(rates.min() / base),
        float(rates[cut.flooded].mean() / base) if cut.flooded.any() else None,
        _correlation(cut.pings, cut.bytes),
    )


def _base(quiet: Floats) -> float | None:
    """Return the mean of the rates near their median, which alone would be a whole number of RPCs; None where that is not above 0."""
    median = float(np.median(quiet)) if quiet.size else 0.0
    near = quiet[np.abs(quiet - median) <= NEAR_SHARE * median]
    usual = float(near.mean()) if near.size else median
    return usual if usual > 0 else None


def _until_recovered(cut: Windows, shares: Floats) -> NDArray[np.bool_]:
    """Return the windows that a flood touches, and those after it until the rate is back."""
    chosen = ~cut.quiet
    for at in range(1, chosen.size):
        chosen[at] |= chosen[at - 1] and shares[at] > RECOVERED_SHARE
    return chosen


def windows(truth: GroupTruth, found: Rounds, amounts: NDArray[np.int64], pings: NDArray[np.int64]) -> Windows:
    """Cut the span into windows of about a second."""
    bin_ns = truth.plan.bin_ns
    length = max(1, min(WINDOW_NS, truth.plan.pings.interval_ns // WINDOWS_PER_INTERVAL or WINDOW_NS) // bin_ns)
    first, last = found.edges[0] // bin_ns, found.edges[-1] // bin_ns
    count = (last - first) // length
    begins = (first + length * np.arange(count)) * bin_ns
    ends = begins + length * bin_ns
    overlapped = np.zeros(count, bool)
    inside = np.zeros(count, bool)
    for flood_ns, end_ns in found.floods:
        begin_ns = flood_ns // bin_ns * bin_ns  # as fine as the bins are
        overlapped |= (begins < end_ns) & (ends > begin_ns)
        inside |= (begins >= begin_ns) & (ends <= end_ns)
    cut = slice(first, first + count * length)
    return Windows(
        length * bin_ns,
        begins,
        amounts[cut].reshape(count, length).sum(axis=1).astype(np.float64),
        pings[cut].reshape(count, length).sum(axis=1).astype(np.float64),
        ~overlapped,
        inside if inside.any() else overlapped,
    )


def _correlation(pings: Floats, amounts: Floats) -> float | None:
    if pings.size < 3 or not pings.std() or not amounts.std():
        return None
    return float(np.corrcoef(pings, amounts)[0, 1])
