"""Run a plan: the group's state at any simulated time, message by message."""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lnetstat.errors import SimulatorError
from lnetstat.simulator.kernel import beginning, build, checks, jit, loop
from lnetstat.simulator.kernel.layout import *
from lnetstat.simulator.plan import Plan
from lnetstat.simulator.views import (
    BuffersView,
    NisView,
    NodeCounts,
    PeersView,
    ServicesView,
    Truth,
    Watched,
    buffers_view,
    nis_view,
    node_counts,
    peers_view,
    rpcs_done,
    services_view,
    truth_of,
    watched_entries,
)

Array = npt.NDArray[np.int64]
FIRST_EVENTS = 4096
PAUSE_COMPILED, PAUSE_PLAIN = 1 << 20, 1 << 13  # a tenth of a second or so
TRACE_ROOM = 3 * 65_536


class Event(NamedTuple):
    """One event of a trace: when, its kind (kernel/layout.py), and whose it was (docs/simulator-model.md, Trace)."""

    time_ns: int
    kind: int
    number: int


class Stop(Protocol):
    """What can be asked whether to stop: a threading or multiprocessing Event."""

    def is_set(self) -> bool:
        """Whether to stop."""


class Engine:
    """One group of a simulation.

    `compiled`: None uses numba where it is installed; the results are the same without it, only slower. `trace` keeps every event.
    """

    def __init__(self, plan: Plan, *, compiled: bool | None = None, trace: bool = False) -> None:
        if compiled and not jit.available():
            raise SimulatorError("numba is not installed: install lnetstat[analysis], or simulate without it (slower)")
        self.plan = plan
        self.compiled = jit.available() if compiled is None else compiled
        margin = beginning.margin(plan)
        memory, self._places = build.build(plan, beginning.message_count(plan) if self.compiled else margin)
        memory[MARGIN] = margin
        memory[PAUSE_EVENTS] = PAUSE_COMPILED if self.compiled else PAUSE_PLAIN
        events = beginning.first_events(memory, plan, self._places)
        self._room = max(FIRST_EVENTS, 2 * len(events) // EVENT) + margin
        heap = np.zeros(self._room * EVENT, dtype=np.int64)
        heap[: len(events)] = events
        trace_memory = np.zeros(TRACE_ROOM if trace else 0, dtype=np.int64)
        memory[TRACE_SIZE] = len(trace_memory)
        self._memory: Any = memory if self.compiled else memory.tolist()
        self._heap: Any = heap if self.compiled else heap.tolist()
        self._trace: Any = trace_memory if self.compiled else trace_memory.tolist()
        self._copy: Array | None = None
        self._watched: list[Watched] | None = None
        self._advance = jit.advance() if self.compiled else loop.advance

    @property
    def now_ns(self) -> int:
        """The simulated time up to which everything has happened."""
        return int(self._memory[NOW])

    @property
    def event_count(self) -> int:
        """How many events have been processed."""
        return int(self._memory[EVENT_COUNT])

    @property
    def message_count(self) -> int:
        """How many LNet messages have been sent, hop by hop."""
        return int(self._memory[MESSAGE_COUNT])

    @property
    def trace(self) -> list[Event]:
        """All events so far, where `trace` was asked for."""
        flat = np.asarray(self._trace[: self._memory[TRACE_COUNT]], dtype=np.int64).reshape(-1, 3)
        return [Event(*row) for row in flat.tolist()]

    def advance(self, until_ns: int, stop: Stop | None = None) -> bool:
        """Process all events with time <= until_ns; False where `stop` was set before: the state is then that of some time before."""
        if until_ns < self.now_ns:
            raise SimulatorError(f"cannot go back from {self.now_ns} ns to {until_ns} ns")
        while True:
            outcome = self._advance(self._memory, self._heap, self._room, self._trace, until_ns)
            self._copy = None
            if outcome == FINISHED:
                return True
            if outcome != PAUSED:
                self._grow(outcome)
            elif stop is not None and stop.is_set():
                return False

    def _grow(self, outcome: int) -> None:
        if outcome == MORE_MESSAGES:
            memory = self.memory()
            room = (len(memory) - self._places.messages) // MESSAGE
            memory = beginning.more_messages(memory, max(room, int(memory[MARGIN])))
            self._memory, self._copy = memory if self.compiled else memory.tolist(), None
        elif outcome == MORE_EVENTS:
            self._heap = _longer(self._heap, self._room * EVENT)
            self._room *= 2
        else:
            self._trace = _longer(self._trace, len(self._trace))
            self._memory[TRACE_SIZE] = len(self._trace)

    def memory(self) -> Array:
        """The kernel's memory as an array; where it is a list, a copy that the views of one moment share."""
        if self._copy is None:
            self._copy = np.asarray(self._memory, dtype=np.int64)
        return self._copy

    def peers(self, node: int) -> PeersView:
        """The peer entries of a node."""
        return peers_view(self.memory(), self._places, self.plan, node)

    def nis(self, node: int) -> NisView:
        """The interfaces of a node, one element per NI and CPT."""
        return nis_view(self.memory(), self._places, self.plan, node)

    def buffers(self, router_node: int) -> BuffersView:
        """The buffer pools of a router, one element per CPT and pool."""
        return buffers_view(self.memory(), self._places, self.plan, router_node)

    def node_counts(self, node: int) -> NodeCounts:
        """What LNet counts on a node."""
        return node_counts(self.memory(), self._places, self.plan, node)

    def services(self, server_node: int) -> ServicesView:
        """The statistics of a server's ost and ost_io."""
        return services_view(self.memory(), self._places, self.plan, server_node)

    def rpcs_done(self) -> Array:
        """How many RPCs each process has finished: truth().done at less cost."""
        return rpcs_done(self.memory(), self._places, self.plan)

    def truth(self) -> Truth:
        """What really happened: bandwidth and pings by time, credits wanted, waits."""
        if self._watched is None:
            self._watched = watched_entries(self.memory(), self._places, self.plan)
        return truth_of(self.memory(), self._places, self.plan, self._watched)

    def check(self) -> None:
        """The kernel's own assertions and conservation; AssertionError says what does not hold."""
        checks.check(self.memory(), self._places, self.plan)


def _longer(array: Any, by: int) -> Any:
    if isinstance(array, list):
        return array + [0] * by
    return np.concatenate([array, np.zeros(by, dtype=np.int64)])
