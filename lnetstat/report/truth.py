"""The ground truth of a simulation in three lines: dead time, load, credits."""

from collections.abc import Mapping
from typing import Any

from lnetstat.report.words import NOT_KNOWN, number, percent, plural, quantity, seconds

Merged = Mapping[str, Any]


def lines(merged: Merged) -> tuple[str, str, str]:
    """Return what is true of all groups together; `merged` as lnetstat/simulator/truth.py describes it."""
    return _dead_time(merged), _load(merged), _credits(merged)


def _dead_time(merged: Merged) -> str:
    lost = merged["lost_fraction"]
    told = f"{percent(max(lost, 0.0))} of the bytes lost" if lost is not None else "too short to tell what was lost"
    if merged["ping_pattern"] == "none":
        return f"Dead time: no pings; {told}."
    if merged["ping_pattern"] == "steady":
        return f"Dead time: pings come all the time, without floods; {told}."
    floods = f"{plural(len(merged['floods']), 'flood')} of pings, {seconds(merged['flood_s'])} long"
    if merged["dead_mean_s"] is None:
        return f"Dead time: {floods}; {told}."
    dead = seconds(max(merged["dead_mean_s"], 0.0))
    return f"Dead time: {dead} of every {seconds(merged['period_s'])}, {told}; {floods}."


def _load(merged: Merged) -> str:
    least = merged["write_minimum_share"]
    low = f", at the lowest {percent(max(least, 0.0))} of that" if least is not None else ""
    servers, routers = (_whole(merged[key]["mean"]) for key in ("pings_per_server", "pings_per_router"))
    rate = quantity(merged["base_rate"], "bytes/s")
    return f"Load: {rate} at the disks{low}; pings of one interval: {servers} a server, {routers} a router."


def _credits(merged: Merged) -> str:
    wanted, buffers = merged["credits_wanted_peak"], merged["buffers_wanted_peak"]
    peers = " and ".join(f"{number(wanted[role])} by {role}" for role in ("routers", "servers") if wanted[role] is not None)
    pools = ", ".join(f"{number(peak)} {pool}" for pool, peak in buffers.items() if peak is not None)
    return f"Wanted at once: peer credits {peers or NOT_KNOWN}; router buffers {pools or NOT_KNOWN}."


def _whole(value: float | None) -> str:
    return number(None if value is None else round(value))
