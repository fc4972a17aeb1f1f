"""Where ticks come from: a node that is alive. `recorded` has those of a recording, whose readers a node does not need."""

from typing import Protocol, runtime_checkable

from lnetstat.sources.live import LiveSource
from lnetstat.tables import builtin_tables
from lnetstat.top.ticks import TABLES, Parser, Tick


@runtime_checkable
class Feed(Protocol):
    """Something that is alive: `read` may take its time, it is called from a thread of its own. `problems`: what cannot be read now."""

    @property
    def problems(self) -> list[str]: ...

    def read(self) -> Tick: ...


class LiveFeed:
    """This node, or a tree. `read` takes what is there now; `problems`: lines that stand above the panes."""

    def __init__(self, root: str, host: str | None) -> None:
        wanted = [pattern for table in builtin_tables().values() if table.name in TABLES for pattern in table.names]
        self._source = LiveSource(root, host=host, names=wanted)
        self._parser = Parser()
        self.problems: list[str] = []

    def read(self) -> Tick:
        """Read once. What does not answer within a second is told as a file that failed."""
        return self._parser.tick(self._source.tick())

    def close(self) -> None:
        self._source.close()
