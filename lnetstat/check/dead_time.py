"""Throughput lost to periodic dips, as the analyzer finds it. Needs the extra `analysis`."""

from collections.abc import Collection, Iterator, Sequence

from lnetstat.analysis import Analysis, analyze_series
from lnetstat.analysis.results import DeadTime
from lnetstat.check.graphite import TRAFFIC, prefix_of, targets_of
from lnetstat.check.kinds import Figure
from lnetstat.errors import SourceError
from lnetstat.series import graphite, graphite_roles

NAME = "dead_time"


def figures_of(analysis: Analysis | None, hosts: Collection[str] | None = None) -> Iterator[Figure]:
    """Yield the dead time of each host that is wanted: that of its signal which ranks first."""
    told: set[str] = set()
    for each in analysis.series if analysis else ():
        if each.host not in told and (hosts is None or each.host in hosts):
            told.add(each.host)
            yield figure_of(each)
    if not told:
        yield Figure(NAME, "", None, why="no traffic to look at")


def figure_of(found: DeadTime) -> Figure:
    """Return what one signal says. Where the analyzer cannot tell (an idle night, too short a time) there is no value, and no alarm."""
    if found.verdict == "cannot_tell":
        return Figure(NAME, found.host, None, why=f"cannot tell: {found.reason}")
    if found.verdict == "none":
        return Figure(NAME, found.host, 0.0)
    period = "" if found.period_s is None else f" every {found.period_s:.4g} s"
    words = f"{found.signal} dips{period}, cause: {found.cause}"
    if found.lost_fraction is None:
        return Figure(NAME, found.host, None, why=f"{words}; the share lost is not known")
    return Figure(NAME, found.host, 100 * found.lost_fraction, words, 100.0)


def of_graphite(location: str, hosts: Sequence[str] | None, *, begin_s: float, timeout_s: float) -> Iterator[Figure]:
    """Yield the dead time of each host that ships its traffic to this Graphite."""
    prefix = prefix_of(location)
    try:
        found = graphite.fetch(location, targets=targets_of(prefix, hosts, TRAFFIC), begin_s=begin_s, timeout_s=timeout_s)
    except SourceError as error:
        yield Figure(NAME, "", None, why=str(error))
        return
    by_host: dict[str, list[graphite.Fetched]] = {}
    for each in found:
        by_host.setdefault(each.target.removeprefix(f"{prefix}.").split(".")[0], []).append(each)
    for host, own in sorted(by_host.items()):
        try:
            table = graphite_roles.table_of(host, own)
        except SourceError as error:
            yield Figure(NAME, host, None, why=str(error))
            continue
        for figure in figures_of(analyze_series(table, kind=table.attrs.get("kind") or "counter", name=host)):
            yield figure._replace(host=host)
