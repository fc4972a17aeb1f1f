"""A path unlike its siblings: of the next hops, interfaces or buffer pools of one host, one that holds much more or less than the others.

Siblings are gateways of one network, interfaces of one network, or the CPTs of one buffer pool: LNet spreads messages evenly over them, so
that each holds as many credits as the others. Servers that a host talks to directly are none: their load is a matter of stripes and jobs.
The statistic is that of odd_one_out, across siblings in place of hosts.
"""

import numpy as np
import pandas as pd

from lnetstat.analysis import listed
from lnetstat.analysis.credit_rows import RESOURCES, Resource
from lnetstat.analysis.credits import net_of
from lnetstat.analysis.odd_one_out import LEAST_HOSTS, Figure, Odd, odd_among
from lnetstat.analysis.wording import and_others
from lnetstat.frames import Frames
from lnetstat.model import Finding, Severity

MOST_SIBLINGS = 64  # next hops; a router's thousands of clients do what their jobs do
LEAST_SAMPLES = 30  # a mean of fewer is a matter of chance where messages come in bursts


# Twice as much or half is more than routing by turns or by queues makes; below 2 credits in use there is hardly any traffic to spread.
FIGURES = (
    Figure("credits_in_use", 2.0, 0.5, lambda value: f"{value:,.3g} credits in use on average", True),
    Figure("queue_bytes", 4.0 * 2**20, 1.0, lambda value: f"{value / 2**20:,.3g} MiB queued on average", False),
)


def findings_of(host: str, frames: Frames) -> list[Finding]:
    """Return one finding per path of a host that is unlike its siblings, from the host's own frames."""
    routes = frames.tables.get("routes")
    gateways = set() if routes is None else set(routes["router"].astype(str))
    tables = {resource.table: frames.tables.get(resource.table) for resource in RESOURCES} | {"peers": listed.whole_scans(frames)}
    groups = [group for resource in RESOURCES for group in _siblings(resource, tables[resource.table], gateways)]
    comparisons = sum(len(group) for _, _, group in groups) * len(FIGURES)
    found = []
    for resource, name, group in groups:
        odd = [
            each
            for figure in FIGURES
            if figure.name in group
            for each in odd_among({str(path): float(value) for path, value in group[figure.name].items()}, figure, comparisons)
        ]
        span = int(group["begin_ns"].min()), int(group["end_ns"].max())
        for path in dict.fromkeys(each.host for each in odd):
            found.append(_finding(host, resource, name, path, [each for each in odd if each.host == path], len(group), span))
    return found


def _siblings(resource: Resource, table: pd.DataFrame | None, gateways: set[str]) -> list[tuple[Resource, str, pd.DataFrame]]:
    """Return (resource, what they share, a line of means per path) of each group of at least four."""
    if table is None or table.empty or resource.name == "peer_router_credits":  # `peers` does not print the limit of rtr
        return []
    if resource.name == "peer_credits":  # of many rows few are gateways', if any
        if not gateways:
            return []
        table = table[table[resource.key].isin(gateways)]
    table = table[table[resource.limit] > 0].dropna(subset=[resource.credits, resource.limit])
    keys = table[resource.key].astype(str)
    shared = keys if resource.name == "router_buffers" else keys.map(net_of)
    path = keys + " CPT " + table["row"].astype(str) if resource.name != "peer_credits" else keys
    held = pd.DataFrame(
        {
            "shared": shared,
            "path": path,
            "time_ns": table["time_ns"].astype(np.int64),
            "credits_in_use": (table[resource.limit] - table[resource.credits]).astype(np.float64),
        }
    )
    if resource.name == "peer_credits" and "queue_bytes" in table:
        held["queue_bytes"] = table["queue_bytes"].astype(np.float64)
    groups = []
    for name, own in held.groupby("shared", sort=True):
        paths = own.groupby("path", sort=True)
        if not LEAST_HOSTS <= paths.ngroups <= MOST_SIBLINGS:
            continue
        means = paths[[figure.name for figure in FIGURES if figure.name in own]].mean()
        means["begin_ns"], means["end_ns"], means["samples"] = paths["time_ns"].min(), paths["time_ns"].max(), paths.size()
        if int(means["samples"].min()) >= LEAST_SAMPLES:
            groups.append((resource, str(name), means))
    return groups


def _finding(host: str, resource: Resource, shared: str, path: str, odd: list[Odd], siblings: int, span: tuple[int, int]) -> Finding:
    told = [f"{each.figure.words(each.value)} against {each.figure.words(each.median)}" for each in odd]
    figures = {
        each.figure.name: {"value": each.value, "median": each.median, "sigmas": None if np.isinf(each.sigmas) else each.sigmas}
        for each in odd
    }
    return Finding(
        "odd_one_out",
        Severity.WARNING,
        f"{path} on {host}",
        *span,
        {"host": host, "resource": resource.name, "shared": shared, "path": path, "paths": siblings, "figures": figures},
        f"{path} on {host} is unlike its siblings: {'; '.join(told[:3])}{and_others(len(told) - 3, 'figure')} "
        f"(the median of {siblings} of {shared})",
        "Look at that path: its link, the node at its other end, and routes that leave it out or lead too much over it.",
        "median and MAD across siblings, Bonferroni over all comparisons; lnet/lnet/lib-move.c: lnet_compare_gw_lpnis()",
    )
