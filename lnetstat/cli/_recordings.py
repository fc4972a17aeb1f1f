"""Recordings, raw files of collectl and archives as `analyze`, `report` and their like read them: one or many, as one."""

import functools
import glob
import itertools
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

from lnetstat.analysis import Analysis, analyze, joined, within
from lnetstat.analysis.many import Chunk, Read, analyze_recordings
from lnetstat.cli._nodes import chosen, missing, name_for, only_name
from lnetstat.cli._progress import Bar, working
from lnetstat.cli._scenario import processes_here
from lnetstat.cli._times import Moment, window_ns
from lnetstat.errors import LnetstatError, SourceError
from lnetstat.frames import Frames, load
from lnetstat.frames.thinning import load_thinned
from lnetstat.model import Source
from lnetstat.recording import is_recording
from lnetstat.sources import open_recorded, open_source
from lnetstat.sources.collectl import Recorded
from lnetstat.words import iso, printable
from lnetstat.workers import crew_of

TABLES = ("peers", "peers_by_net", "nis", "buffers", "lnet_stats", "routes", "counters", "tunables", "lnetctl_net", "cpu")
ROWS_AT_ONCE = 1_000_000  # of `peers`, some 100 bytes each: what a process holds of the hosts it reads at once
ROWS_TOGETHER = 200_000  # of several hosts: larger ones are read one by one, so that nobody has to tell their rows apart
SCANS_LOOKED_AT = 300
MOST_HOSTS_AT_ONCE = 32
NOTHING = "{}: no snapshots of LNet or Lustre files: expected a recording, an archive, or a CSV file"
BYTES_A_PROCESS = 2_000_000  # of recordings: with less than that to do, a process takes longer to start than to work


class Window(NamedTuple):
    """What is read of recordings and archives: begin_ns <= time_ns < end_ns, and the hosts as typed, or the name that an archive gets."""

    begin_ns: int | None
    end_ns: int | None
    host: str | None


def analysis_of(
    paths: Sequence[str],
    begin: Moment | None,
    end: Moment | None,
    host: str | None,
    failed: list[str],
    *,
    processes: int | None = None,
    scheduler: str | None = None,
) -> Analysis | None:
    """Analyze recordings and archives as one, host by host. What cannot be read is told in `failed`; None where that is everything.

    `processes`: None is as many as are worth it. `scheduler`: address of a Dask scheduler whose workers see the same files.
    """
    paths = [os.path.abspath(path) for path in paths] if scheduler else list(paths)
    chunks, last_ns = _chunks(paths, host, failed, processes or processes_here(None))
    if not chunks:
        return None
    if any(moment is not None and moment.before_end for moment in (begin, end)) and any(chunk.hosts is None for chunk in chunks):
        frames = frames_of(paths, begin, end, host, failed)  # when archives end is known only when they are read
        if frames is None:
            return None
        with working("analyzing"):
            return analyze(frames)
    read = functools.partial(read_chunk, window=Window(*window_ns(begin, end, last_ns), host))
    with Bar() as bar, crew_of(processes=processes or _worth_it(paths, len(chunks)), scheduler=scheduler) as crew:
        bar.show(0, "reading")
        found = analyze_recordings(chunks, read, crew, tell=bar.show)
    tell(found.notes)
    failed += found.failed
    if found.analysis is None and not failed:
        if begin or end:
            raise SourceError(f"{paths[0]}: no samples between --begin and --end{_ending(last_ns)}")
        failed.append(NOTHING.format(paths[0]))
    return found.analysis


def _ending(last_ns: int | None) -> str:
    return "" if last_ns is None else f": the data end at {iso(last_ns)}"


def _worth_it(paths: Sequence[str], chunks: int) -> int:
    """Return how many processes to use where nobody said."""
    files = [file for path in paths for file in glob.glob(os.path.join(glob.escape(path), "*")) or [path]]
    size = sum(os.path.getsize(file) for file in files if os.path.exists(file))
    return max(1, min(processes_here(None), chunks, size // BYTES_A_PROCESS))


def _chunks(paths: Sequence[str], host: str | None, failed: list[str], workers: int) -> tuple[list[Chunk], int | None]:
    """Return what to read at once, and when the recordings among it end. An archive is one chunk: only reading tells its hosts."""
    recorded: dict[str, list[str]] = {}
    sizes: dict[str, float] = {}
    chunks, last_ns = [], None
    for path in paths:
        try:
            recording = open_recorded(path)
            if recording is None:
                chunks.append(Chunk((path,), None))
                continue
            if not recording.hosts and not host:
                chunks.append(Chunk((path,), None))  # reading it tells why
            for each in chosen(host, recording.hosts, path) if host else recording.hosts:
                recorded.setdefault(each, []).append(path)
                sizes[each] = sizes.get(each, 0.0) + _rows(recording, each)
            last_ns = max(last_ns or 0, recording.end_ns or 0)
        except LnetstatError as error:
            failed.append(str(error))
    failed += missing(host, recorded)
    at_most = max(1, min(MOST_HOSTS_AT_ONCE, -(-len(recorded) // workers)))
    groups: list[tuple[tuple[str, ...], list[str]]] = []
    rows = 0.0
    for each in sorted(recorded, key=lambda name: (recorded[name], name)):
        rows += sizes[each]
        if not groups or groups[-1][0] != tuple(recorded[each]) or len(groups[-1][1]) >= at_most or rows > ROWS_TOGETHER:
            groups.append((tuple(recorded[each]), []))
            rows = sizes[each]
        groups[-1][1].append(each)
    return chunks + [Chunk(where, tuple(hosts)) for where, hosts in groups], last_ns


def _rows(recording: Recorded, host: str) -> float:
    """Return about how many rows of `peers` a host has in all, from its first two samples; of whole and worst ones from some hundred."""
    stamps, lines, some_worst = [], 0, False
    for change in itertools.islice(recording.changes(names=("peers",), hosts=(host,)), SCANS_LOOKED_AT):
        stamps.append(change.snapshot.time_ns)
        lines += len(change.lines)
        some_worst = some_worst or "worst" in change.snapshot.flags
        if len(stamps) == 2 and not some_worst:
            break
    if len(stamps) < 2 or recording.end_ns is None:
        return 0.0
    return lines / len(stamps) * (recording.end_ns - stamps[0]) / max(1, (stamps[-1] - stamps[0]) / (len(stamps) - 1))


def read_chunk(chunk: Chunk, window: Window) -> Read:
    """Read some hosts, in whatever process."""
    parts: list[Frames] = []
    failed: list[str] = []
    notes: list[str] = []
    for path in chunk.paths:
        try:
            source = open_source(path, host=only_name(window.host))
            hosts = chunk.hosts or _hosts_of(source, path, window.host)
            parts.append(_loaded(path, source, hosts, window.begin_ns, window.end_ns, failed, notes))
        except LnetstatError as error:
            failed.append(str(error))
    parts = [part for part in parts if not part.states.empty]
    return Read(joined(parts) if parts else None, tuple(failed), tuple(notes))


def _hosts_of(source: Source, path: str, host: str | None) -> tuple[str, ...] | None:
    if host is None:
        return None
    if isinstance(source, Recorded):
        return chosen(host, source.hosts, path)
    name = name_for(path, host)
    return (name,) if name else None


def _loaded(
    path: str,
    source: Source,
    hosts: Sequence[str] | None,
    begin_ns: int | None,
    end_ns: int | None,
    failed: list[str],
    notes: list[str],
) -> Frames:
    part = _frames(source, hosts, begin_ns, end_ns, notes)
    if len(part.states) and (part.states["state"] == "failed").all():
        raise SourceError(f"{path}: nothing in it could be read as a file of LNet or Lustre")
    failed += _unread(path, part)
    failed += [str(problem) for problem in getattr(source, "problems", ())]
    notes += [str(note) for note in getattr(source, "notes", ())]
    return part


def _frames(source: Source, hosts: Sequence[str] | None, begin_ns: int | None, end_ns: int | None, notes: list[str]) -> Frames:
    """Load hosts; one that has too many peers to hold at once, thinned."""
    if not isinstance(source, Recorded) or hosts is None or len(hosts) != 1 or _rows(source, hosts[0]) <= ROWS_AT_ONCE:
        return load(source, tables=TABLES, hosts=hosts, begin_ns=begin_ns, end_ns=end_ns)
    length_ns = (source.end_ns or 0) - (source.begin_ns or 0)
    stretch_ns = max(1, round(length_ns * ROWS_AT_ONCE / _rows(source, hosts[0])))
    thinned = load_thinned(source, hosts[0], tables=TABLES, begin_ns=begin_ns, end_ns=end_ns, stretch_ns=stretch_ns)
    if thinned.left_out:
        notes.append(f"{hosts[0]}: {thinned.left_out:,} more peers were down or had their marks reset: not looked at one by one")
    return thinned.frames


def frames_of(paths: Sequence[str], begin: Moment | None, end: Moment | None, host: str | None, failed: list[str]) -> Frames | None:
    """Load recordings and archives as one. What cannot be read is told in `failed`."""
    with working("reading"):
        whole = read_chunk(Chunk(tuple(paths), None), Window(None, None, host))
    failed += whole.failed
    tell(whole.notes)
    if whole.frames is None:
        if not failed:
            failed.append(NOTHING.format(paths[0]))
        return None
    last_ns = int(whole.frames.states["time_ns"].max())
    frames = within(whole.frames, *window_ns(begin, end, last_ns))
    if frames.states.empty:
        raise SourceError(f"{paths[0]}: no samples between --begin and --end{_ending(last_ns)}")
    return frames


def _unread(path: str, part: Frames) -> list[str]:
    """Tell each file of which no snapshot was whole. One that is torn now and then is a matter of data quality, and told there."""
    states = part.states
    whole = (states["problems"] == 0) & ~states["state"].isin(["failed", "forbidden"])
    worst = states.assign(whole=whole).groupby(["host", "name"], observed=True)["whole"].any()
    return [f"{path}: {name} of {host}: could not be read whole: `lnetstat dump {path}` says why" for host, name in worst.index[~worst]]


def refuse_folder_of_recordings(paths: Sequence[str]) -> None:
    """Say what would be read wrongly: a folder of recordings as an archive."""
    for path in paths:
        if os.path.isdir(path) and not is_recording(path):
            inside = [folder for pattern in ("*", "*/*") for folder in glob.glob(os.path.join(glob.escape(path), pattern))]
            found = sorted(filter(is_recording, inside))
            if found:
                raise SourceError(f"{path}: holds {len(found)} recordings: name those to read, as in {found[0]}")


def tell(lines: Iterable[str]) -> None:
    """Say on standard error what could not be read."""
    for line in lines:
        click.echo(f"lnetstat: {printable(line)}", err=True)
