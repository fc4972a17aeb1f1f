"""All nodes together: asked at the same moments, each answering in its own time."""

import selectors
import time
from collections.abc import Callable, Iterable, Sequence

from lnetstat.model import Snapshot
from lnetstat.remote.connection import Connection

CONNECTING_MAX = 64  # ssh processes that are on their way in at once
TOLD_S = 2.0  # so long a node is waited for without a word
SLICE_S = 0.25  # how soon a signal is noticed


class Crew:
    """Nodes that are read through ssh. `ask` asks all that are ready, `wait` brings looks as they come.

    `report` is told each change of a node's state, once. `clock` is monotonic. Not for several threads.
    """

    def __init__(
        self,
        names: Iterable[str],
        report: Callable[[str], None],
        *,
        ssh: Sequence[str] = ("ssh",),
        root: str = "/",
        interval_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report, self._clock, self._interval_s = report, clock, interval_s
        self._nodes = [Connection(name, ssh, root, clock()) for name in names]
        self._told: dict[str, str] = {}
        self._selector = selectors.DefaultSelector()

    @property
    def failed(self) -> list[str]:
        """The nodes that could not be read, if only for a while, and those that never answered."""
        return [node.name for node in self._nodes if node.failed or not self._has_answered(node)]

    @property
    def troubles(self) -> dict[str, str]:
        """Why nodes cannot be read now, those included that are waited for: nothing is wrong with them yet, but they are not there."""
        whys = {}
        for node in self._nodes:
            waiting_s = node.waiting_s(self._clock())
            if node.trouble or waiting_s >= TOLD_S:
                whys[node.name] = node.trouble or f"no answer for {waiting_s:.0f} s"
        return whys

    def ask(self) -> None:
        """Ask each node for a look that has answered the one before."""
        for node in self._nodes:
            node.look(self._clock())

    def wait(self, until_s: float, stopped: Callable[[], bool] = lambda: False) -> Iterable[list[Snapshot]]:
        """Yield looks as they come, until the clock says `until_s` or `stopped`; nodes that were lost are started again meanwhile."""
        while True:
            self._start_those_due()
            is_over = stopped() or self._clock() >= until_s
            for key, _ in self._selector.select(0 if is_over else min(SLICE_S, until_s - self._clock())):
                yield from self._read(key.data)
            for node in self._nodes:
                node.check(self._clock(), self._interval_s)
                self._tell(node)
            if is_over:
                return

    def all_known(self) -> bool:
        """Whether each node has connected or failed."""
        return all(node.is_ready or node.trouble for node in self._nodes)

    def any_ready(self) -> bool:
        """Whether a node has connected."""
        return any(node.is_ready for node in self._nodes)

    def all_answered(self) -> bool:
        """Whether no look is outstanding, but of nodes that are in trouble."""
        return all(node.asked_s is None or node.trouble for node in self._nodes)

    def close(self) -> None:
        """End every ssh."""
        self._selector.close()
        for node in self._nodes:
            node.close()

    def _read(self, node: Connection) -> Iterable[list[Snapshot]]:
        fd = node.fd
        looks = node.read(self._clock())
        if not node.is_running:
            self._selector.unregister(fd)
        if looks:
            self._told.setdefault(node.name, "")
        self._tell(node)
        return looks

    def _start_those_due(self) -> None:
        connecting = sum(node.is_running and not node.is_ready and not node.trouble for node in self._nodes)
        for node in self._nodes:
            if connecting >= CONNECTING_MAX:
                return
            if not node.is_running and self._clock() >= node.due_s:
                if node.start(self._clock()):
                    self._selector.register(node.fd, selectors.EVENT_READ, node)
                    connecting += 1
                self._tell(node)

    def _has_answered(self, node: Connection) -> bool:
        return node.name in self._told

    def _tell(self, node: Connection) -> None:
        before = self._told.get(node.name, "")
        if node.trouble == before or (node.trouble and before):  # another reason for the same state is no news
            return
        self._told[node.name] = node.trouble
        self._report(f"{node.name}: {node.trouble or 'answers again'}")
