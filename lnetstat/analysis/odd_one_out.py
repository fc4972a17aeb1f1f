"""A host unlike its peers: among hosts of one role on the same networks, one that carries, wants, waits for or drops much more or less.

Each figure is compared with the median of the group, in units of 1.4826 MAD. A host is odd where it differs by more than the quantile of a
normal law at CHANCE over the number of comparisons (Bonferroni), widened for small groups (FEW_HOSTS), and by more than a share of the
median that matters; so equal hosts give nothing, and one group of hosts that scatter widely neither.
"""

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from lnetstat.analysis.results import CreditUse
from lnetstat.analysis.signals import Track, router_hosts
from lnetstat.analysis.wording import and_others, counted, percent
from lnetstat.frames import Frames
from lnetstat.model import Finding, Severity

LEAST_HOSTS = 4  # of three, one far away may as well be two that are near each other
CHANCE = 0.001  # that chance alone names a host of one analysis
# The MAD of few values scatters: quantiles count 1 + FEW_HOSTS / n times. Of 20,000 groups of normal values 0.7 % then have an odd host
# where n is 4 or 5, 0.2 % from 6 on, before `least_share` is asked too (13 % and 8 % without it).
FEW_HOSTS = 20.0
MOST_ODD = 0.25  # of a group: where more differ there is no usual host


class Counts(NamedTuple):
    """What a host counted that is compared beside rates and credits. `nets`: the networks of its interfaces."""

    host: str
    role: str
    nets: tuple[str, ...]
    dropped: float


class Figure(NamedTuple):
    """One thing that is compared. Differences up to `least`, or that share of the median, do not matter."""

    name: str
    least: float
    least_share: float
    words: Callable[[float], str]
    low_matters: bool


# A third of the load more or less is what makes one router the slowest of its group; credits differ by the chance of a flood, so a half.
FIGURES = (
    Figure("throughput", 0.0, 0.33, lambda value: f"{value:,.3g} a second", True),
    Figure("credits_wanted", 8.0, 0.5, lambda value: counted(value, "credit"), False),
    Figure("oversubscribed", 0.05, 0.5, percent, False),
    Figure("messages_waiting", 16.0, 0.5, lambda value: counted(value, "message"), False),
    Figure("dropped", 100.0, 1.0, lambda value: counted(value, "message"), False),
)
_TITLES = {
    "throughput": "carried",
    "credits_wanted": "wanted at the peak",
    "oversubscribed": "peer credits below 0 of the time",
    "messages_waiting": "waited at once",
    "dropped": "dropped",
}


class Odd(NamedTuple):
    """One figure of one host that is unlike its peers'."""

    host: str
    figure: Figure
    value: float
    median: float
    sigmas: float


def counts_of(host: str, frames: Frames) -> Counts:
    """Return what a host counted, from its own frames."""
    nis, stats = frames.tables.get("nis"), frames.tables.get("lnet_stats")
    nets: tuple[str, ...] = ()
    if nis is not None and len(nis):
        nets = tuple(sorted({str(nid).rpartition("@")[2] for nid in nis["nid"].unique()} - {"lo"}))
    dropped = 0.0
    if stats is not None and "drop_count" in stats:
        steps = np.diff(stats.sort_values("time_ns", kind="stable")["drop_count"].to_numpy(np.float64, na_value=np.nan))
        dropped = float(np.nansum(steps[steps > 0]))
    return Counts(host, "router" if host in router_hosts(frames) else "", nets, dropped)


def findings_of(tracks: Sequence[Track], used: Sequence[CreditUse], counts: Sequence[Counts], begin_ns: int, end_ns: int) -> list[Finding]:
    """Return one finding per host that is unlike its peers."""
    roles = {track.host: track.role for track in tracks}
    groups: dict[tuple[str, tuple[str, ...]], list[Counts]] = {}
    for each in counts:
        role = roles.get(each.host, each.role)
        if role in ("router", "oss"):  # clients carry what their jobs do
            groups.setdefault((role, each.nets), []).append(each)
    groups = {key: members for key, members in groups.items() if len(members) >= LEAST_HOSTS}
    comparisons = sum(len(members) for members in groups.values()) * len(FIGURES)
    found = []
    for (role, _), members in groups.items():
        odd = [each for figure in FIGURES for each in odd_among(_values(figure.name, members, tracks, used), figure, comparisons)]
        for host in dict.fromkeys(each.host for each in odd):
            found.append(_finding(host, role, [each for each in odd if each.host == host], len(members), begin_ns, end_ns))
    return found


def odd_among(values: dict[str, float], figure: Figure, comparisons: int) -> list[Odd]:
    """Return the hosts whose value is unlike the others'; `comparisons`: how many are made in all."""
    if len(values) < LEAST_HOSTS:
        return []
    numbers = np.array(list(values.values()))
    median = float(np.median(numbers))
    scale = 1.4826 * float(np.median(np.abs(numbers - median)))
    quantile = NormalDist().inv_cdf(1 - CHANCE / (2 * max(1, comparisons))) * (1 + FEW_HOSTS / len(values))
    least = max(figure.least, figure.least_share * abs(median), quantile * scale)
    odd = [
        Odd(host, figure, value, median, abs(value - median) / scale if scale > 0 else float("inf"))
        for host, value in values.items()
        if (value - median if not figure.low_matters else abs(value - median)) > least
    ]
    return odd if len(odd) <= max(1, int(MOST_ODD * len(values))) else []


def _values(name: str, members: Sequence[Counts], tracks: Sequence[Track], used: Sequence[CreditUse]) -> dict[str, float]:
    """Return one figure of all hosts of a group that have it."""
    hosts = [each.host for each in members]
    if name == "dropped":
        return {each.host: each.dropped for each in members}
    if name == "throughput":
        carried = {track.host: track for track in reversed(tracks) if track.purpose == "throughput"}
        names = [carried[host].name for host in hosts if host in carried]
        usual = max(set(names), key=lambda each: (names.count(each), each), default="")
        return {host: _mean(carried[host]) for host in hosts if host in carried and carried[host].name == usual}
    own = {host: [use for use in used if use.host == host and use.resource == "peer_credits"] for host in hosts}
    of_use: dict[str, Callable[[CreditUse], float]] = {
        "credits_wanted": lambda use: float(use.wanted_peak),
        "oversubscribed": lambda use: use.fraction_time_oversubscribed,
        "messages_waiting": lambda use: float(use.waiting),
    }
    return {host: max(of_use[name](use) for use in uses) for host, uses in own.items() if uses}


def _mean(track: Track) -> float:
    return float((track.rates.rate * track.rates.interval_s).sum() / track.rates.interval_s.sum())


def _finding(host: str, role: str, odd: list[Odd], hosts: int, begin_ns: int, end_ns: int) -> Finding:
    peers = f"the median of {hosts} {'routers' if role == 'router' else 'servers'} on the same networks"
    told = [f"{each.figure.words(each.value)} {_TITLES[each.figure.name]} against {each.figure.words(each.median)}" for each in odd]
    return Finding(
        "odd_one_out",
        Severity.WARNING,
        host,
        begin_ns,
        end_ns,
        {
            "host": host,
            "role": role,
            "hosts": hosts,
            "figures": {
                each.figure.name: {"value": each.value, "median": each.median, "sigmas": None if np.isinf(each.sigmas) else each.sigmas}
                for each in odd
            },
        },
        f"{host} is unlike its peers: {'; '.join(told[:3])}{and_others(len(told) - 3, 'figure')} ({peers})",
        "Compare its links, tunables and routes with a peer's. In fine-grained routing uneven groups make one router the slowest of all.",
        "median and MAD across hosts, Bonferroni over all comparisons; Laifer, LAD 2016: the slowest link sets the pace",
    )
