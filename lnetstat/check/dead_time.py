"""Throughput lost to periodic dips, as the analyzer finds it. Needs the extra `analysis`."""

from collections.abc import Collection, Iterator, Sequence

from lnetstat.analysis import Analysis, analyze, analyze_series, within
from lnetstat.analysis.results import DeadTime
from lnetstat.check.graphite import TRAFFIC, prefix_of, targets_of
from lnetstat.check.kinds import Figure
from lnetstat.errors import SourceError
from lnetstat.frames import load
from lnetstat.model import Source
from lnetstat.series import graphite, graphite_roles
from lnetstat.sources.collectl import Recorded

NAME = "dead_time"
TABLES = ("lnet_stats", "counters", "buffers", "tunables")  # what tells traffic, pings and who routes: not peers, which are long
NS = 1_000_000_000


def figures_of(analysis: Analysis | None, hosts: Collection[str] | None = None) -> Iterator[Figure]:
    """Yield the dead time of each host that is wanted: that of its signal which ranks first."""
    told: set[str] = set()
    for each in analysis.series if analysis else ():
        is_stack = each.instance.endswith(" sources")  # several hosts, or several signals of one, seen as one
        if each.host not in told and not is_stack and (hosts is None or each.host in hosts):
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
    words = f"throughput by {found.signal} dips{period}, cause: {found.cause}"
    if found.lost_fraction is None:
        return Figure(NAME, found.host, None, why=f"{words}; the share lost is not known")
    return Figure(NAME, found.host, 100 * found.lost_fraction, words, 100.0)


def of_record(source: Source, hosts: Collection[str] | None, last_s: float) -> Iterator[Figure]:
    """Yield the dead time of each host that is wanted in the last `last_s` seconds of a record."""
    # of all hosts, whichever are wanted: the pings that explain a router's dips are counted by the servers
    end_ns = source.end_ns if isinstance(source, Recorded) else None
    frames = load(source, tables=TABLES, begin_ns=None if end_ns is None else end_ns - int(last_s * NS))
    if not frames.states.empty and end_ns is None:  # when an archive ends is known only when it is read
        frames = within(frames, int(frames.states["time_ns"].max()) - int(last_s * NS), None)
    yield from figures_of(None if frames.states.empty else analyze(frames), hosts)


def of_graphite(location: str, hosts: Sequence[str] | None, *, begin_s: float, timeout_s: float) -> Iterator[Figure]:
    """Yield the dead time of each host that ships its traffic to this Graphite."""
    prefix = prefix_of(location)
    # of all hosts, whichever are wanted: the pings that explain a router's dips are counted by the servers
    targets = [*targets_of(prefix, hosts, TRAFFIC), *targets_of(prefix, None, [graphite_roles.PINGS_BESIDE])]
    try:
        found = graphite.fetch(location, targets=targets, begin_s=begin_s, timeout_s=timeout_s)
        table = graphite_roles.table_of(location, found)
    except SourceError as error:
        yield Figure(NAME, "", None, why=str(error))
        return
    yield from figures_of(analyze_series(table, kind=table.attrs.get("kind") or "counter"), hosts)
