"""What the agent itself takes: descriptors, room for its spool, a clock that is right."""

import ctypes
import errno
import os
import resource
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lnetstat.agent.settings import SPOOL_BYTES_MAX
from lnetstat.doctor.checks import Check, Level
from lnetstat.reduce.metrics import SERIES_MAX

DESCRIPTORS_BESIDE = 64  # sinks, recording, spool, status, clients of the Prometheus page
LINE_BYTES = 80  # path, value, second: a line of Carbon, as it stands in the spool
MEMORY_FILESYSTEMS = frozenset({"tmpfs", "ramfs"})
STA_UNSYNC = 0x40


class ClockState(NamedTuple):
    """What the kernel says of its clock: kept by a time service or not, and by how much it may be wrong."""

    synchronised: bool
    error_max_s: float


class _Timex(ctypes.Structure):
    # struct timex of adjtimex(2), as far as it is needed; the rest is room.
    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 512),
    )


def kernel_clock() -> ClockState:
    """Ask the kernel whether a time service keeps its clock; changes nothing. Raises OSError."""
    timex = _Timex()  # modes 0: only asks
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.adjtimex(ctypes.byref(timex)) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return ClockState(not timex.status & STA_UNSYNC, timex.maxerror / 1e6)


def clock_check(ask: Callable[[], ClockState] = kernel_clock) -> Check:
    """Say whether a time service keeps this node's clock: Carbon files every point by its second."""
    try:
        state = ask()
    except (OSError, AttributeError) as error:
        return Check(Level.UNKNOWN, "clock", f"the kernel does not tell whether it is kept: {error}", "chronyc tracking")
    if not state.synchronised:
        remedy = "start chronyd or ntpd: points of a wrong clock are filed at wrong seconds"
        return Check(Level.WARNING, "clock", "no time service keeps it", remedy)
    return Check(Level.OK, "clock", f"kept by a time service, at most {state.error_max_s:.3g} s wrong")


def descriptors_check(files: int, limit: Callable[[], int] = lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0]) -> Check:
    """Say whether all files of a node may be open at once: when each of them hangs, they are."""
    needed, allowed = files + DESCRIPTORS_BESIDE, limit()
    words = "no limit" if allowed == resource.RLIM_INFINITY else f"{allowed} allowed"
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        remedy = f"LimitNOFILE={max(1024, 2 * needed)} in the unit, or ulimit -n"
        return Check(Level.WARNING, "descriptors", f"up to {needed} needed, {words}", remedy)
    return Check(Level.OK, "descriptors", f"up to {needed} needed, {words}")


def spool_checks(folder: str | None, series: int = SERIES_MAX, bytes_max: int = SPOOL_BYTES_MAX) -> Iterator[Check]:
    """Yield whether the spool's folder has the room that it is allowed to take, and for how long an outage that lasts."""
    hours = bytes_max / (series * LINE_BYTES) / 3600
    lasts = f"{_size(bytes_max)} hold about {hours:.1f} h of {series} series a second"
    if folder is None:
        yield Check(Level.OK, "spool", f"not looked at; {lasts}", "--spool DIR or --config FILE have its disk checked")
        return
    place = folder
    while not os.path.lexists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(os.path.abspath(place))
    if not os.path.isdir(place):
        yield Check(Level.CRITICAL, "spool", f"{place} is no folder", "name a folder")
        return
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        yield Check(Level.CRITICAL, "spool", f"{place}: cannot be written: {os.strerror(errno.EROFS)}", "another folder")
        return
    if not os.access(place, os.W_OK | os.X_OK, effective_ids=True):
        why = os.strerror(errno.EACCES)
        yield Check(Level.CRITICAL, "spool", f"{place}: cannot be written: {why}", "run the agent as root, or give it a folder of its own")
        return
    yield from _room(folder, place, bytes_max, lasts)


def _room(folder: str, place: str, bytes_max: int, lasts: str) -> Iterator[Check]:
    try:
        room = os.statvfs(place)
    except OSError as error:
        yield Check(Level.UNKNOWN, "spool", f"{place}: {error.strerror}", "name another folder")
        return
    free, files = room.f_bavail * room.f_frsize, room.f_favail
    if free < bytes_max or (room.f_files and files < 1000):
        what = f"{folder}: {_size(free)} and {files} files free, {_size(bytes_max)} allowed"
        yield Check(Level.WARNING, "spool", what, "a lower bound, or another disk: what does not fit drops the oldest points")
    else:
        yield Check(Level.OK, "spool", f"{folder}: {_size(free)} free; {lasts}")
    if filesystem_of(place) in MEMORY_FILESYSTEMS:
        yield Check(Level.WARNING, "spool", f"{folder} lies in memory: a restart of the node loses it", "a folder on a disk")


def filesystem_of(path: str, mounts: str = "/proc/self/mounts") -> str:
    """Return the type of the file system that a path is on, empty where that cannot be told."""
    real = os.path.realpath(path)
    longest, kind = "", ""
    try:
        with open(mounts, encoding="utf-8", errors="replace") as file:
            for line in file:
                words = line.split()
                if len(words) > 2 and os.path.commonpath([real, words[1]]) == words[1] and len(words[1]) >= len(longest):
                    longest, kind = words[1], words[2]
    except (OSError, ValueError):
        return ""
    return kind


def _size(size_bytes: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while size_bytes >= 1024 and len(units) > 1:
        size_bytes /= 1024
        units.pop(0)
    return f"{size_bytes:.3g} {units[0]}"
