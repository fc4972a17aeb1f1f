"""Where ticks come from: a node that is alive. `recorded` has those of a recording, whose readers a node does not need."""

import time
from typing import Protocol, runtime_checkable

from lnetstat.sources.live import LiveSource
from lnetstat.tables import builtin_tables
from lnetstat.top.model import NO_LNET
from lnetstat.top.ticks import TABLES, Parser, Tick


@runtime_checkable
class Feed(Protocol):
    """Something that is alive: `read` may take its time, it is called from a thread of its own. `problems`: what cannot be read now.

    `hint`: what to look at where there is nothing of LNet to read.
    """

    @property
    def problems(self) -> list[str]: ...

    @property
    def hint(self) -> str: ...

    def read(self) -> Tick: ...


def hint_of(root: str) -> str:
    """Return what to look at where nothing of LNet is found below a root."""
    return NO_LNET if root == "/" else f"is {root} a tree with proc/ and sys/, or a folder with peers, nis, …?"


class LiveFeed:
    """This node, or a tree. `read` takes what is there now; `problems`: lines that stand above the panes."""

    def __init__(self, root: str, host: str | None) -> None:
        wanted = [pattern for table in builtin_tables().values() if table.name in TABLES for pattern in table.names]
        self._source = LiveSource(root, host=host, names=wanted)
        self._parser = Parser()
        self.problems: list[str] = []
        self.hint = hint_of(root)

    def read(self) -> Tick:
        """Read once. What does not answer within a second is told as a file that failed."""
        return self._parser.tick(self._source.tick(), time.time_ns())

    def close(self) -> None:
        self._source.close()
