"""Recordings and archives as `analyze`, `report` and their like read them: one or many, as one."""

import glob
import os
from collections.abc import Sequence

import click

from lnetstat.analysis import joined, within
from lnetstat.cli._times import Moment, window_ns
from lnetstat.errors import LnetstatError, SourceError
from lnetstat.frames import Frames, load
from lnetstat.recording import Recording, is_recording
from lnetstat.sources import open_source
from lnetstat.words import iso, printable

TABLES = ("peers", "nis", "buffers", "lnet_stats", "routes", "counters", "tunables", "lnetctl_net", "cpu")


def frames_of(paths: Sequence[str], begin: Moment | None, end: Moment | None, host: str | None, failed: list[str]) -> Frames | None:
    """Load recordings and archives as one. What cannot be read is told in `failed`."""
    parts: list[Frames] = []
    for path in paths:
        try:
            source = open_source(path, host=host)
            if host and isinstance(source, Recording) and host not in source.hosts:
                raise SourceError(f"{path}: no host {host}: it holds {', '.join(source.hosts) or 'nothing yet'}")
            part = load(source, tables=TABLES, hosts=[host] if host else None)
            if len(part.states) and (part.states["state"] == "failed").all():
                raise SourceError(f"{path}: nothing in it could be read as a file of LNet or Lustre")
            parts.append(part)
            failed += _unread(path, part)
            failed += [str(problem) for problem in getattr(source, "problems", ())]
            tell([str(note) for note in getattr(source, "notes", ())])
        except LnetstatError as error:
            failed.append(str(error))
    parts = [part for part in parts if not part.states.empty]
    if not parts:
        if not failed:
            failed.append(f"{paths[0]}: no snapshots of LNet or Lustre files: expected a recording, an archive, or a CSV file")
        return None
    frames = joined(parts)
    last_ns = int(frames.states["time_ns"].max())
    begin_ns, end_ns = window_ns(begin, end, last_ns)
    frames = within(frames, begin_ns, end_ns)
    if frames.states.empty:
        raise SourceError(f"{paths[0]}: no samples between --begin and --end: the data end at {iso(last_ns)}")
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


def tell(lines: list[str]) -> None:
    """Say on standard error what could not be read."""
    for line in lines:
        click.echo(f"lnetstat: {printable(line)}", err=True)
