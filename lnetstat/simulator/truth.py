"""The ground truth of a run as JSON: what the simulator knows and no file of a node shows. `KEYS` says what every key means.

A truth file is {"schema": 1, "scenario": …, "merged": {…}, "groups": [{…}, …]}: `merged` sees all groups as one system, each of `groups`
one of them, with the same keys. Times are simulated seconds from the start; add `start_ns` for the time of the stamps. null: cannot be
told.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lnetstat.simulator import floods
from lnetstat.simulator.follow import SERVICES, GroupTruth

SCHEMA = 1
NS = 1_000_000_000
DIGITS = 6

KEYS = (
    ("schema", "", "version of this file: 1"),
    ("scenario", "", "name of the scenario; with `about`, `release` and `seed` of it"),
    ("start_ns", "ns", "epoch time of simulated time 0"),
    ("simulated_s", "s", "how long was simulated"),
    ("complete", "", "false: stopped before the scenario's end"),
    ("observed", "", "hosts whose files were written"),
    ("notes", "", "what the drivers clamped, and why"),
    ("groups", "", "numbers of the groups seen here"),
    ("ping_pattern", "", "none, floods or steady (pings without a pause of a tenth of the interval)"),
    ("period_s", "s", "mean time from one flood's begin to the next"),
    (
        "periods",
        "",
        "whole periods in the span that everything below refers to: from the first flood's begin to the last complete interval",
    ),
    ("floods", "s", "[begin, end] of each: from the first ping sent of a round until the last one served"),
    ("flood_s", "s", "mean length of the floods within the span"),
    ("base_rate", "bytes/s", "usual rate at the disks in windows of about a second outside floods: mean of those within 5 % of the median"),
    ("mean_rate", "bytes/s", "mean rate at the disks over the span"),
    ("lost_fraction", "share", "bytes that floods cost, net of catch-up; with steady pings 1 - mean_rate / base_rate, without pings 0"),
    ("lost_fraction_gross", "share", "the same without catch-up: what was missing from a flood's begin until the rate was back"),
    ("dead_s", "s", "for each whole period: integral of 1 - rate / base_rate"),
    ("dead_mean_s", "s", "mean of dead_s"),
    ("write_minimum_share", "share", "lowest rate of a window, of base_rate"),
    ("write_flood_share", "share", "mean rate within floods, of base_rate"),
    ("correlation", "", "of pings served and bytes through the disks, over the windows of the span"),
    ("pings_sent", "", "ping requests sent since the start"),
    ("pings_served", "", "pings served since the start"),
    ("pings_per_server", "", "pings served in one whole period by one server: min, mean, max"),
    ("pings_per_router", "", "ping requests that one router received in one round of all imports: min, mean, max"),
    ("rpcs_done", "", "I/O RPCs finished by all processes since the start"),
    ("bulk_bytes", "bytes", "bulk data through the disks since the start"),
    ("servers", "", "for each server: lost_fraction and base_rate of its own, in the order of its group's hosts"),
    (
        "utilisation",
        "share",
        "busy share of the send and the receive servers of routers and servers and of service threads, all the time and in floods",
    ),
    ("req_waittime_s", "s", "mean wait of a request for a thread of ost and ost_io, outside and in floods"),
    ("credits_wanted_peak", "credits", "most peer credits wanted at once: of routers towards servers, and of servers"),
    ("buffers_wanted_peak", "buffers", "most router buffers of each pool wanted at once on one CPT"),
    (
        "entries",
        "",
        "peer credits between routers and servers: wanted_peak, short_ns (time below zero), waits (messages that waited) and wait_ns",
    ),
    ("pools", "", "router buffers, likewise; pool 0 tiny, 1 small, 2 large"),
    ("ni_queues", "", "NI credits of routers and servers, likewise"),
)


def keys_markdown() -> str:
    """Return the table of all keys for the documentation."""
    rows = "".join(f"| `{name}` | {unit} | {meaning} |\n" for name, unit, meaning in KEYS)
    return f"| key | unit | meaning |\n|---|---|---|\n{rows}"


def summary(truth: GroupTruth) -> dict[str, Any]:
    """Return what is to be said of one group, or of several laid side by side: plain numbers, lists and texts."""
    found = floods.rounds(truth)
    cost = floods.lost(truth, found)
    routers = truth.plan.clients, truth.plan.clients + truth.plan.routers
    span_s = (found.edges[-1] - found.edges[0]) / NS if found.edges else 0.0
    whole = [flood for flood in found.floods if found.edges and flood[0] < found.edges[-1]]
    return {
        "groups": list(truth.groups),
        "ping_pattern": found.pattern,
        "period_s": _rounded(span_s / (len(found.edges) - 1)) if found.floods and span_s else None,
        "periods": len(found.edges) - 1 if found.floods and found.edges else 0,
        "floods": [[_rounded(begin / NS), _rounded(end / NS)] for begin, end in found.floods],
        "flood_s": _mean([(end - begin) / NS for begin, end in whole]),
        "base_rate": _rounded(cost.base_bytes_s),
        "mean_rate": _mean_rate(truth, found),
        "lost_fraction": _rounded(cost.lost_fraction),
        "lost_fraction_gross": _rounded(cost.lost_fraction_gross),
        "dead_s": [_rounded(each / NS) for each in cost.dead_ns],
        "dead_mean_s": _mean([each / NS for each in cost.dead_ns]),
        "write_minimum_share": _rounded(cost.minimum_share),
        "write_flood_share": _rounded(cost.flood_share),
        "correlation": _rounded(cost.correlation),
        "pings_sent": int(truth.pings_sent.sum()),
        "pings_served": int(truth.pings.sum()),
        "pings_per_server": _per_server(truth, found),
        "pings_per_router": _per_router(truth),
        "rpcs_done": int(truth.done.sum()),
        "bulk_bytes": int(truth.bytes.sum()),
        "servers": [_server(truth, found, number) for number in range(len(truth.bytes))],
        "utilisation": _utilisation(truth, found),
        "req_waittime_s": _waits(truth, found),
        "credits_wanted_peak": {
            "routers": _peak([entry for entry in truth.entries if routers[0] <= entry["node"] < routers[1]]),
            "servers": _peak([entry for entry in truth.entries if entry["node"] >= routers[1]]),
        },
        "buffers_wanted_peak": {
            name: _peak([pool for pool in truth.pools if pool["pool"] == number]) for number, name in enumerate(("tiny", "small", "large"))
        },
        "entries": truth.entries,
        "pools": truth.pools,
        "ni_queues": truth.ni_queues,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else round(float(value), DIGITS)


def _mean(values: list[float]) -> float | None:
    return _rounded(sum(values) / len(values)) if values else None


def _peak(shortages: list[dict[str, int]]) -> int | None:
    return max((each["wanted_peak"] for each in shortages), default=None)


def _mean_rate(truth: GroupTruth, found: floods.Rounds) -> float | None:
    if len(found.edges) < 2:
        return None
    first, last = found.edges[0] // truth.plan.bin_ns, found.edges[-1] // truth.plan.bin_ns
    return _rounded(float(truth.bytes[:, first:last].sum()) / ((last - first) * truth.plan.bin_ns) * NS) if last > first else None


def _server(truth: GroupTruth, found: floods.Rounds, number: int) -> dict[str, Any]:
    cost = floods.lost(truth, found, slice(number, number + 1))
    return {"lost_fraction": _rounded(cost.lost_fraction), "base_rate": _rounded(cost.base_bytes_s)}


def _spread(values: NDArray[Any]) -> dict[str, float | int | None]:
    """Return the extremes and the mean; whole numbers stay whole."""
    if not values.size:
        return {"min": None, "mean": None, "max": None}
    low, high = values.min().item(), values.max().item()
    if isinstance(low, int):
        return {"min": low, "mean": _rounded(float(values.mean())), "max": high}
    return {"min": _rounded(low), "mean": _rounded(float(values.mean())), "max": _rounded(high)}


def _per_server(truth: GroupTruth, found: floods.Rounds) -> dict[str, float | int | None]:
    if not found.floods or len(found.edges) < 2:
        return _spread(np.zeros(0, np.int64))
    edges = np.array(found.edges) // truth.plan.bin_ns
    periods = [truth.pings[:, begin:end].sum(axis=1) for begin, end in itertools.pairwise(edges)]
    return _spread(np.array(periods))


def _per_router(truth: GroupTruth) -> dict[str, float | int | None]:
    """Return pings by router, of one round: all rounds together divided by how many there were."""
    sent = int(truth.pings_sent.sum())
    if not truth.pinging or not sent:
        return _spread(np.zeros(0))
    return _spread(truth.pings_by_router * (truth.pinging / sent))


def _in_floods(truth: GroupTruth, found: floods.Rounds) -> NDArray[np.bool_]:
    """Return for each step whether the time since the step before overlaps a flood."""
    ends = truth.steps.time_ns[1:]
    begins = truth.steps.time_ns[:-1]
    flooded = np.zeros(ends.size, bool)
    for begin_ns, end_ns in found.floods:
        flooded |= (begins < end_ns) & (ends > begin_ns)
    return flooded


def _utilisation(truth: GroupTruth, found: floods.Rounds) -> dict[str, Any]:
    plan, steps = truth.plan, truth.steps
    in_floods = _in_floods(truth, found)
    everywhere = np.ones(in_floods.size, bool)
    passed_ns = np.diff(steps.time_ns)
    busy = {
        "router_send": (steps.router_busy_ns[:, :, 0], 2),
        "router_receive": (steps.router_busy_ns[:, :, 1], 2),
        "server_send": (steps.server_busy_ns[:, :, 0], plan.rails),
        "server_receive": (steps.server_busy_ns[:, :, 1], plan.rails),
        "ost_threads": (steps.handling_usec[:, :, 0] * 1000, plan.ost.threads),
        "ost_io_threads": (steps.handling_usec[:, :, 1] * 1000, plan.ost_io.threads),
    }
    return {
        name: {
            "mean": _share(busy_ns, passed_ns, everywhere, count),
            "floods": _share(busy_ns, passed_ns, in_floods, count),
        }
        for name, (busy_ns, count) in busy.items()
    }


def _share(busy_ns: NDArray[np.int64], passed_ns: NDArray[np.int64], chosen: NDArray[np.bool_], servers: int) -> float | None:
    """Return how busy `servers` serial servers of the busiest node were in the steps chosen."""
    total_ns = int(passed_ns[chosen].sum())
    if not total_ns or not busy_ns.shape[1]:
        return None
    return _rounded(float(np.diff(busy_ns, axis=0)[chosen].sum(axis=0).max()) / total_ns / servers)


def _waits(truth: GroupTruth, found: floods.Rounds) -> dict[str, Any]:
    in_floods = _in_floods(truth, found)
    per_step = np.diff(truth.steps.waits, axis=0).sum(axis=1)
    waits = {}
    for number, service in enumerate(SERVICES):
        waits[service] = {
            where: _mean_wait(per_step[chosen, number].sum(axis=0)) for where, chosen in (("quiet", ~in_floods), ("floods", in_floods))
        }
    return waits


def _mean_wait(samples_and_usec: NDArray[np.int64]) -> float | None:
    samples, usec = samples_and_usec.tolist()
    return _rounded(usec / samples / 1e6) if samples else None
