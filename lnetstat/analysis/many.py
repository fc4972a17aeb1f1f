"""One analysis of many hosts: each host is reduced on its own, what was found is joined, and the rest is judged piece by piece.

Of a host there stays what others are compared with (rates, bursts, quality, findings: some kilobytes per hour), and, packed and out of the
way, the samples of its credits, which are measured when the dips are known. Every step is a piece of work for a crew: results do not depend
on how many do it, nor in which order.
"""

import contextlib
import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from lnetstat.analysis import credit_rows, health, listed, odd_one_out, odd_paths, signals, skew, verdicts
from lnetstat.analysis.assembly import assembled
from lnetstat.analysis.cpu import CpuUse, cpu_use
from lnetstat.analysis.credit_rows import RESOURCES
from lnetstat.analysis.credits import badness, credit_use
from lnetstat.analysis.quality import quality_of
from lnetstat.analysis.results import Analysis, CreditSeries, CreditUse, HostQuality, Interval, PingBursts
from lnetstat.analysis.signals import Hints, Track
from lnetstat.analysis.wording import Clock, clock_of
from lnetstat.frames import Frames
from lnetstat.model import Finding
from lnetstat.workers import Crew, Done, crew_of, in_order
from lnetstat.workers.spool import Kept, Spool, open_spool

CREDIT_TABLES = ("peers", "peers_by_net", "nis", "buffers", "lnet_stats", "cpu")
MOST_DRAWN_HOSTS = 16  # hosts whose credits are handed on for drawing, worst first: more panels nobody looks at
ORDER = tuple(resource.name for resource in RESOURCES)
Tell = Callable[[float, str], None]  # share of the work that is done, and what is being done


class HostPart(NamedTuple):
    """What there is of one host before it is seen together with the others.

    `dated`: `findings` with the date in each time, for records of several days. `credits`: the tables that credits are measured from, as
    they are or packed.
    """

    host: str
    tracks: list[Track]
    bursts: list[PingBursts]
    hints: Hints
    quality: tuple[HostQuality, ...]
    findings: list[Finding]
    dated: list[Finding]
    health: odd_one_out.Counts
    credits: Frames | bytes | Kept


class _Credits(NamedTuple):
    """The credits of one host."""

    used: list[CreditUse]
    drawn: list[CreditSeries]
    cpu: tuple[CpuUse, ...]


def by_host(frames: Frames) -> Iterator[tuple[str, Frames]]:
    """Yield each host with its own frames, in the order of names."""
    hosts = sorted(signals.hosts_of(frames))
    if len(hosts) == 1:
        yield hosts[0], frames
        return
    tables = {name: _split(table) for name, table in frames.tables.items()}
    facts, states = _split(frames.facts), _split(frames.states)
    for host in hosts:
        own = {name: parts[host] for name, parts in tables.items() if host in parts}
        yield host, Frames(own, facts.get(host, frames.facts.iloc[:0]), states.get(host, frames.states.iloc[:0]))


def _split(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {str(host): own for host, own in table.groupby("host", observed=True, sort=False)} if len(table) else {}


def part_of(host: str, frames: Frames) -> HostPart:
    """Return what there is of a host, from its own frames."""
    tracks = signals.tracks_of(frames)
    quality = quality_of(frames)
    found = health.findings_of(frames, quality)
    odd = odd_paths.findings_of(host, frames)
    one_day = bool(quality) and clock_of(quality[0].begin_ns, quality[0].end_ns).day
    return HostPart(
        host,
        tracks,
        [group for track in tracks if track.purpose != "throughput" for group in verdicts.bursts_of(track)],
        signals.hints_of(frames),
        quality,
        found + odd,
        (health.findings_of(frames, quality, Clock("")) if one_day and found else found) + odd,
        odd_one_out.counts_of(host, frames),
        Frames(
            {name: frames.tables[name] for name in CREDIT_TABLES if name in frames.tables},
            frames.facts.iloc[:0],
            listed.states_of_scans(frames),
        ),
    )


class Chunk(NamedTuple):
    """Some hosts to read at once. `paths`: where they are recorded; `hosts`: which of those there, None for all."""

    paths: tuple[str, ...]
    hosts: tuple[str, ...] | None


class Read(NamedTuple):
    """What was read: frames without a line where there was nothing. `failed`: what could not be read; `notes`: what else is to be told."""

    frames: Frames | None
    failed: tuple[str, ...]
    notes: tuple[str, ...]


class Outcome(NamedTuple):
    """The analysis of what could be read, None where that is nothing, and what is to be told."""

    analysis: Analysis | None
    failed: list[str]
    notes: list[str]


class _Reduced(NamedTuple):
    parts: list[HostPart]
    failed: tuple[str, ...]
    notes: tuple[str, ...]


def analyze_recordings(
    chunks: Sequence[Chunk], read: Callable[[Chunk], Read], crew: Crew | None = None, *, tell: Tell | None = None
) -> Outcome:
    """Read and analyze many hosts, chunk by chunk: what `run.analyze` gives for all of them, in the memory that one chunk takes.

    `read` is called by the crew and must be picklable. Chunks that turn out to hold the same host are read again, as one.
    """
    say = tell or (lambda share, words: None)
    with contextlib.ExitStack() as stack:
        crew = crew or stack.enter_context(crew_of())
        kept = stack.enter_context(open_spool())
        found: dict[Chunk, _Reduced] = {}
        waiting = list(chunks)
        while waiting:
            with contextlib.closing(crew.work(_reduced, ((read, chunk) for chunk in waiting))) as done:
                for count, (place, each) in enumerate(done, 1):
                    parts = [part._replace(credits=kept.put(part.credits)) for part in each.parts if isinstance(part.credits, bytes)]
                    found[waiting[place]] = each._replace(parts=parts)
                    say(count / len(waiting), f"read {count} of {len(waiting)} parts")
            waiting = _merged(found)
        order = [found[chunk] for chunk in sorted(found, key=lambda chunk: (chunk.paths, chunk.hosts or ()))]
        failed = list(dict.fromkeys(line for each in order for line in each.failed))
        notes = list(dict.fromkeys(line for each in order for line in each.notes))
        parts = [part for each in order for part in each.parts]
        return Outcome(whole(parts, crew, spool=kept, tell=tell) if parts else None, failed, notes)


def _reduced(task: tuple[Callable[[Chunk], Read], Chunk]) -> _Reduced:
    read, chunk = task
    found = read(chunk)
    parts = [] if found.frames is None else [packed(part_of(host, own)) for host, own in by_host(found.frames)]
    return _Reduced(parts, found.failed, found.notes)


def _merged(found: dict[Chunk, _Reduced]) -> list[Chunk]:
    """Take out the chunks that hold a host that another one holds too; return what is to be read in their place."""
    together: list[tuple[set[str], list[Chunk]]] = []
    for chunk, each in found.items():
        hosts, chunks = {part.host for part in each.parts}, [chunk]
        for other in [other for other in together if other[0] & hosts]:
            together.remove(other)
            hosts, chunks = hosts | other[0], other[1] + chunks
        together.append((hosts, chunks))
    again = []
    for _, chunks in together:
        if len(chunks) > 1:
            for chunk in chunks:
                del found[chunk]
            paths = tuple(dict.fromkeys(path for chunk in chunks for path in chunk.paths))
            every = None if any(chunk.hosts is None for chunk in chunks) else tuple(sorted({h for c in chunks for h in c.hosts or ()}))
            again.append(Chunk(paths, every))
    return again


def packed(part: HostPart) -> HostPart:
    """Return the part with its credits packed, to be sent or kept."""
    if isinstance(part.credits, Frames) and "peers" in part.credits.tables:
        peers = credit_rows.slim(part.credits.tables["peers"])
        part = part._replace(credits=part.credits._replace(tables=part.credits.tables | {"peers": peers}))
    return part._replace(credits=zlib.compress(pickle.dumps(part.credits, pickle.HIGHEST_PROTOCOL), 1))


def whole(parts: Sequence[HostPart], crew: Crew | None = None, *, spool: Spool | None = None, tell: Tell | None = None) -> Analysis:
    """Return the analysis of all parts together. `spool`: where credits were put that are `Kept`; without a crew this process works."""
    with contextlib.ExitStack() as stack:
        crew = crew or stack.enter_context(crew_of())
        say = tell or (lambda share, words: None)
        parts = sorted(parts, key=lambda part: part.host)
        bursts = [group for part in parts for group in part.bursts]
        clocks = skew.clocks_of([track for part in parts for track in part.tracks])
        tracks = [skew.aligned(track, clocks) for part in parts for track in part.tracks]
        cases = verdicts.cases_of(tracks, verdicts.seen(bursts, _hints(parts)))
        judged = in_order(crew, verdicts.judged, cases, lambda done, count: say(done / count, f"{done} of {count} signals"))
        found = verdicts.ranked(judged)
        incidents = skew.on_own_clocks(verdicts.incidents_by_host(found, bursts), clocks, found)
        tasks = ((_taken_out(part.credits, spool), incidents.get(part.host, ()), part.host) for part in parts)
        used, drawn, cpu = _credits(crew.work(_credits_of, tasks), len(parts), say)
    quality = tuple(each._replace(**clocks.told(each.host)) for part in parts for each in part.quality)
    begin, end = min((each.begin_ns for each in quality), default=0), max((each.end_ns for each in quality), default=0)
    one_day = bool(clock_of(begin, end).day)
    more = [finding for part in parts for finding in (part.findings if one_day else part.dated)]
    more += odd_one_out.findings_of(tracks, used, [part.health for part in parts], begin, end)
    return assembled(tracks, found, bursts, used, drawn, quality, more, cpu)


def _hints(parts: Sequence[HostPart]) -> Hints:
    periods = sorted({period for part in parts for period in part.hints.exact_periods_s})
    return Hints(tuple(periods), next((part.hints.ping_interval_s for part in parts if part.hints.ping_interval_s), None))


def _taken_out(held: Frames | bytes | Kept, spool: Spool | None) -> Frames | bytes:
    if isinstance(held, Kept):
        assert spool is not None
        return spool.get(held)
    return held


def _credits_of(task: tuple[Frames | bytes, tuple[Interval, ...], str]) -> _Credits:
    """Measure the credits of one host, whose dips are known now."""
    held, own, host = task
    frames: Frames = pickle.loads(zlib.decompress(held)) if isinstance(held, bytes) else held  # noqa: S301  # what we packed ourselves
    used, drawn = credit_use(frames, {host: own})
    return _Credits(used, drawn, cpu_use(frames, {host: own}))


def _credits(done: Done[_Credits], count: int, say: Tell) -> tuple[list[CreditUse], list[CreditSeries], tuple[CpuUse, ...]]:
    """Collect the credits of all hosts: rows worst first, series of the worst hosts only."""
    found: dict[int, _Credits] = {}
    with contextlib.closing(done):
        for place, each in done:
            found[place] = each
            say(len(found) / count, f"credits of {len(found)} of {count} hosts")
            drawn = [place for place in found if found[place].drawn]
            if len(drawn) > MOST_DRAWN_HOSTS:
                least = min(drawn, key=lambda place: (*_worst(found[place]), -place))
                found[least] = found[least]._replace(drawn=[])
    every = [found[place] for place in sorted(found)]
    used = sorted((use for each in every for use in each.used), key=_place)
    used.sort(key=badness, reverse=True)
    return used, sorted((series for each in every for series in each.drawn), key=_place), tuple(use for each in every for use in each.cpu)


def _place(row: CreditUse | CreditSeries) -> int:
    """Return the place of a row's resource, as one host's rows stand."""
    return ORDER.index(row.resource)


def _worst(own: _Credits) -> tuple[int, float, float, float]:
    return max((badness(use) for use in own.used), default=(-1, 0.0, 0.0, 0.0))
