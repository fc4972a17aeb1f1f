"""A recording played again: as snapshots at the old or another pace and time, or as files that every reader of a live node can read."""

import os
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from lnetstat.errors import SourceError, shown
from lnetstat.model import Snapshot, State
from lnetstat.sources.collectl import Recorded
from lnetstat.tables import table_named

NS = 1_000_000_000
_MODULES = frozenset({"lnet", "ksocklnd", "ko2iblnd", "kgnilnd"})
_LNET_FILES = {"peers": "peers", "nis": "nis", "buffers": "buffers", "lnet_stats": "stats", "routes": "routes", "routers": "routers"}
_TUNABLES = {
    "timeout": "sys/fs/lustre/timeout",
    "ping_interval": "sys/fs/lustre/ping_interval",
    "evict_multiplier": "sys/fs/lustre/evict_multiplier",
    "version": "sys/fs/lustre/version",
    "suppress_pings": "sys/module/ptlrpc/parameters/suppress_pings",
    "cpu_partition_table": "sys/kernel/debug/lnet/cpu_partition_table",
    "kgnilnd/stats": "proc/kgnilnd/stats",
}
_SERVICES = ("ost.OSS.", "mds.MDS.", "mdt.MDS.", "mgs.MGS.", "ldlm.services.")


class ReplaySource:
    """The snapshots of a recording (or of raw files of collectl) with begin_ns <= time_ns < end_ns, of all `hosts` or some.

    `speed`: 1 as it was, 10 ten times as fast, None without pauses. `shift_to_ns` moves every stamp by the same whole number of seconds,
    `shift_ns`, so that sub-second phases stay: a paced replay begins at that time, one without pauses ends at it, so that no stamp lies in
    the future. `mono_ns` stays as recorded. `sleep` takes seconds. Raises ValueError for a speed that is not above 0.
    """

    def __init__(
        self,
        recording: Recorded,
        *,
        begin_ns: int | None = None,
        end_ns: int | None = None,
        hosts: Collection[str] | None = None,
        speed: float | None = None,
        shift_to_ns: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        if speed is not None and not speed > 0:
            raise ValueError(f"speed {speed}: expected a number above 0")
        self._recording = recording
        self._begin_ns, self._end_ns, self._hosts = begin_ns, end_ns, hosts
        self._speed, self._sleep, self._monotonic_ns = speed, sleep, monotonic_ns
        self.shift_ns = 0 if shift_to_ns is None else self._shift_ns(shift_to_ns)

    @property
    def problems(self) -> list[str]:
        """What of the recording could not be read, so far."""
        return self._recording.problems

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield the snapshots, each no earlier than the pace allows."""
        first_ns: int | None = None
        start_ns = self._monotonic_ns()
        for snapshot in self._recording.snapshots(begin_ns=self._begin_ns, end_ns=self._end_ns, hosts=self._hosts):
            if first_ns is None:
                first_ns = snapshot.time_ns
            if self._speed is not None:
                due_ns = start_ns + (snapshot.time_ns - first_ns) / self._speed
                wait_ns = due_ns - self._monotonic_ns()
                if wait_ns > 0:
                    self._sleep(wait_ns / NS)
            yield snapshot._replace(time_ns=snapshot.time_ns + self.shift_ns)

    def _shift_ns(self, to_ns: int) -> int:
        first_ns, last_ns = self._recording.begin_ns, self._recording.end_ns
        if first_ns is None or last_ns is None:
            return 0
        if self._speed is not None:
            anchor_ns = first_ns if self._begin_ns is None else max(first_ns, self._begin_ns)
        else:
            anchor_ns = last_ns if self._end_ns is None else min(last_ns, self._end_ns)
        return (to_ns - anchor_ns) // NS * NS


def path_in_tree(name: str) -> str:
    """Return where a tree for `--root` has the file of a snapshot's name, relative to the tree: LNet's tables lie at its top.

    Raises SourceError for a name that would leave the tree: a recording may come from anybody.
    """
    parts = _parts_in_tree(name)
    if not parts or any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts):
        raise SourceError(f"snapshot {shown(name)}: its name cannot be a path below the folder: left out")
    return os.path.join(*parts)


def _parts_in_tree(name: str) -> list[str]:
    table = table_named(name)
    if table is not None and table.name in _LNET_FILES:
        return [_LNET_FILES[table.name]]
    if name in _TUNABLES:
        return _TUNABLES[name].split("/")
    if name.startswith("lnetctl "):
        return [name.replace(" ", "_") + ".yaml"]
    module, _, parameter = name.partition(".")
    if module in _MODULES and "/" not in name:
        return ["sys", "module", module, "parameters", parameter]
    if "/" in name:
        return name.split("/")
    if "." in name:
        return ["proc", "fs", "lustre", *_lustre_parts(name)]
    return [name]


def _lustre_parts(name: str) -> list[str]:
    """Return type, device and file of a Lustre parameter; a device's name may hold dots itself: mgc.MGC10.0.0.1@tcp.stats."""
    device, _, file = name.rpartition(".")
    for prefix in _SERVICES:
        if name.startswith(prefix) and len(device) > len(prefix):
            return [*prefix.rstrip(".").split("."), device.removeprefix(prefix), file]
    kind, dot, device = device.partition(".")
    return [kind, device, file] if dot else [kind, file]


def write_tree(snapshot: Snapshot, folder: str | Path) -> None:
    """Put the snapshot's text where a live source with `--root folder` finds it, whole or not at all (rename).

    Where the snapshot has no text to give (absent, forbidden, failed) the file is removed: an old text must not pass for a new one.
    Raises SourceError where the name is not one that may be written, or the file cannot be.
    """
    path = os.path.join(folder, path_in_tree(snapshot.name))
    try:
        if snapshot.state in (State.OK, State.PARTIAL):
            _write(path, snapshot.text.encode("utf-8", "surrogateescape"))
        else:
            _remove(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = os.path.join(os.path.dirname(path), f".lnetstat-{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return
