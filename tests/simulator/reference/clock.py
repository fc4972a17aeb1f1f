"""The heap of events and the trace."""

import heapq
from abc import abstractmethod
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from lnetstat.simulator.plan import Plan

from .world import Entry, Interface, Job, Rpc, World

EVENTS_AT_MOST = 2_000_000  # more means that a plan goes round in circles


class Kind(IntEnum):
    """Kinds of events, in the order of the page's section "Trace"."""

    DELIVER = 0
    RECEIVED = 1
    ACK = 2
    SERVED = 3
    DISK = 4
    RETRY = 5
    RESEND = 6
    NOOP = 7
    REPOST = 8
    PINGER = 9
    START = 10
    THINK = 11
    FAULT = 12
    RECOVER_NI = 13
    RECOVER_ENTRY = 14


class Clock(World):
    """Time in integer nanoseconds; of two events at the same time the one scheduled earlier comes first."""

    def __init__(self, plan: Plan, *, trace: bool, debug: bool) -> None:
        super().__init__(plan)
        self.now = self.scheduled = self.processed = 0
        self.events: list[tuple[int, int, Kind, Any, Any]] = []
        self.keep_trace, self.debug, self.draining = trace, debug, False
        self.trace: list[tuple[int, int, int]] = []
        self.handlers: dict[Kind, Callable[..., None]] = {kind: getattr(self, "on_" + kind.name.lower()) for kind in Kind}

    def schedule(self, time: int, kind: Kind, what: Any, more: Any = None) -> None:
        """Let `kind` happen to `what` at `time`."""
        heapq.heappush(self.events, (time, self.scheduled, kind, what, more))
        self.scheduled += 1

    def advance(self, until: int) -> None:
        """Process all events with time <= `until`."""
        while self.events and self.events[0][0] <= until:
            self.now, _, kind, what, more = heapq.heappop(self.events)
            self.processed += 1
            assert self.processed <= EVENTS_AT_MOST, "the plan goes round in circles"
            if self.keep_trace:
                self.trace.append((self.now, int(kind), self.traced(kind, what)))
            self.handlers[kind](what) if more is None else self.handlers[kind](what, more)
            if self.debug:
                self.check()

    @abstractmethod
    def check(self) -> None:
        """Assert what must hold at every instant."""

    def traced(self, kind: Kind, what: Any) -> int:
        """The number that the trace shows for an event."""
        if kind is Kind.RECEIVED:
            return int(what.rxq[0][0].serial)
        if isinstance(what, Rpc):
            return what.serial
        if isinstance(what, Entry):
            return what.ni.number if kind is Kind.RECOVER_ENTRY else what.node.number
        if isinstance(what, tuple):
            return int(what[0].index)
        if isinstance(what, Job):
            return what.index
        return what.number if isinstance(what, Interface) else int(what)
