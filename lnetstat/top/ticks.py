"""One look at one or many nodes: what was read at about the same time, parsed."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lnetstat.model import Sample, Snapshot
from lnetstat.tables import samples, table_named

TABLES = frozenset({"peers", "nis", "buffers", "lnet_stats", "routes", "counters"})  # what the panes show


EARLY_SHARE = 0.01


class File(NamedTuple):
    """One file as it was read: its name, its host, the error number (0: none), and what was understood of it."""

    name: str
    host: str
    errno: int
    sample: Sample


class Tick(NamedTuple):
    """Files that were read at about the same time. `time_ns`: the stamp of the first (epoch ns), by its node's clock."""

    time_ns: int
    files: tuple[File, ...]

    @property
    def rows(self) -> int:
        """How many rows all files have together."""
        return sum(len(file.sample.rows) for file in self.files)


def seconds_to_next(interval_s: float, now_s: float) -> float:
    """Return how long it is until the next whole multiple of the interval on the wall clock, at which all nodes look together.

    A moment that lies just ahead is the one that has been waited for: a clock that is steered lets a wait end a little early.
    """
    left_s = interval_s - now_s % interval_s
    return left_s if left_s > EARLY_SHARE * interval_s else left_s + interval_s


class Parser:
    """Parses snapshots; a text that is the same as the one before it of that name is not parsed again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Snapshot, tuple[File, ...]]] = {}

    def tick(self, snapshots: Iterable[Snapshot], time_ns: int | None = None) -> Tick:
        """Return the tick of these snapshots; `time_ns` is its stamp where there is none."""
        taken = list(snapshots)
        first_ns = min((snapshot.time_ns for snapshot in taken), default=time_ns or 0)
        return Tick(first_ns, tuple(file for snapshot in taken for file in self._files(snapshot)))

    def _files(self, snapshot: Snapshot) -> tuple[File, ...]:
        table = table_named(snapshot.name)
        if table and table.name not in TABLES:
            return ()  # lnetctl's YAML takes longer to parse than all else
        key = snapshot.host, snapshot.name
        before = self._known.get(key)
        if before and before[0].text == snapshot.text and before[0].state == snapshot.state:
            files = tuple(
                file._replace(errno=snapshot.errno, sample=file.sample._replace(time_ns=snapshot.time_ns, flags=snapshot.flags))
                for file in before[1]
            )
        else:
            files = tuple(_parsed(snapshot))
        self._known[key] = snapshot, files
        return files


def _parsed(snapshot: Snapshot) -> Iterator[File]:
    for sample in samples(snapshot):
        if sample.table in TABLES:
            yield File(snapshot.name, snapshot.host, snapshot.errno, sample)
