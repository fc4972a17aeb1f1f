"""Where snapshots come from: a live node, an archive, a recording, raw files of collectl, one captured file."""

import os
import stat
from typing import TYPE_CHECKING

from lnetstat.errors import SourceError
from lnetstat.model import Source

if TYPE_CHECKING:
    from lnetstat.sources.collectl import Recorded


def open_source(path: str, *, host: str | None = None) -> Source:
    """Return the source that a path stands for: recording folder, raw file of collectl or a folder of them, archive
    folder, tar file, one captured file, "-" for standard input.

    `host` replaces what an archive or a file says about its host; a recording and raw files keep their own.
    Raises SourceError when nothing can be read.
    """
    from lnetstat.recording import is_segment

    # a node's agent imports this package too: what it does not need (tarfile and its compressors) is imported where it is used
    from lnetstat.sources._members import is_tar
    from lnetstat.sources.file import open_file, open_stdin

    if path == "-":
        return open_stdin(host)
    if is_segment(path):
        raise SourceError(f"{path}: a segment of a recording: give its folder: {os.path.dirname(path) or '.'}")
    try:
        mode = os.stat(path).st_mode
        if recorded := open_recorded(path):
            return recorded
        if stat.S_ISDIR(mode):
            return _open_folder(path, host)
        if stat.S_ISREG(mode) and is_tar(path):
            return _open_archive(path, host)
        if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
            return open_file(path, host)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SourceError(f"{path}: {reason}: expected a recording, an archive, or a captured file") from None
    raise SourceError(f"{path}: neither a file nor a folder: expected a recording, an archive, or a captured file")


def open_recorded(path: str) -> "Recorded | None":
    """Return what can be read by time and host: the recording, or the raw files of collectl; None for anything else."""
    from lnetstat.recording import Recording, is_recording
    from lnetstat.sources.collectl import CollectlSource, is_collectl

    if is_recording(path):
        return Recording(path)
    return CollectlSource(path) if is_collectl(path) else None


def _open_folder(path: str, host: str | None) -> Source:
    if os.path.realpath(path) == "/":
        raise SourceError("/ is this node, not an archive: dump or record it live, without a path")
    return _open_archive(path, host)


def _open_archive(path: str, host: str | None) -> Source:
    from lnetstat.sources.archive import ArchiveSource

    return ArchiveSource(path, host)
