"""Groups that nobody observes, simulated for their ground truth only: here one after the other, or on several processes."""

import contextlib
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from lnetstat.errors import SimulatorError
from lnetstat.simulator.engine import Stop
from lnetstat.simulator.follow import Follower, GroupTruth, step_ns
from lnetstat.simulator.plan import Plan
from lnetstat.simulator.scenario import Scenario
from lnetstat.simulator.truth import summary
from lnetstat.workers.pool import pool_of
from lnetstat.workers.stopping import no_ctrl_c

POLL_S = 0.1


def run_group(plan: Plan, *, compiled: bool | None = None) -> dict[str, Any]:
    """Simulate one group to its end and return the summary that lnetstat.simulator.truth describes. Without texts: for sweeps."""
    truth = follow(plan, 0, plan.end_ns, step_ns(plan), compiled=compiled)
    assert truth is not None  # nothing stops it
    return summary(truth)


def follow(
    plan: Plan, group: int, until_ns: int, every_ns: int, *, stop: Stop | None = None, compiled: bool | None = None
) -> GroupTruth | None:
    """Simulate one group up to `until_ns` and return what happened; None where `stop` was set before."""
    follower = Follower(plan, group, every_ns, compiled=compiled)
    for time_ns in (*range(0, until_ns, every_ns), until_ns):
        if (stop is not None and stop.is_set()) or not follower.advance(time_ns, stop):
            return None
    return follower.truth()


class Groups:
    """Simulates groups of a scenario: on `processes` processes in the background, or with one process here, when `work` is called.

    A context manager: at its end no process is left. `stop` ends a group that is being simulated here.
    """

    def __init__(self, scenario: Scenario, groups: Sequence[int], processes: int, stop: Stop, *, compiled: bool | None = None) -> None:
        self._scenario, self._groups, self._processes, self._compiled = scenario, tuple(groups), processes, compiled
        self._stop = stop
        self._pool: ProcessPoolExecutor | None = None
        self._ending = contextlib.ExitStack()
        self._futures: dict[Future[GroupTruth], int] = {}
        self._found: dict[int, GroupTruth] = {}

    def __enter__(self) -> "Groups":
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def start(self) -> None:
        """Start the processes, where there are to be any."""
        if self._processes < 2 or not self._groups:
            return
        self._pool = self._ending.enter_context(pool_of(min(self._processes, len(self._groups))))
        with no_ctrl_c():  # the first submit starts them all
            self._futures = {self._pool.submit(_in_worker, self._scenario, group, self._compiled): group for group in self._groups}

    @property
    def done(self) -> int:
        """How many groups are finished."""
        return sum(future.done() for future in self._futures) if self._pool else len(self._found)

    @property
    def finished(self) -> bool:
        """Whether all groups are finished."""
        return self.done == len(self._groups)

    def work(self) -> None:
        """Simulate the next group, or wait a moment for those that are being simulated elsewhere."""
        if self._pool:
            wait([future for future in self._futures if not future.done()], timeout=POLL_S, return_when=FIRST_COMPLETED)
            return
        group = next(group for group in self._groups if group not in self._found)
        truth = _simulate(self._scenario, group, self._compiled, self._stop)
        if truth is not None:
            self._found[group] = truth

    def truths(self) -> list[GroupTruth]:
        """Return what happened in each finished group, in the order of the groups. Raises SimulatorError where a process died."""
        for future, group in self._futures.items():
            if future.done():
                try:
                    self._found[group] = future.result()
                except BrokenProcessPool as error:
                    if self._stop.is_set():
                        continue  # who stops a job may end its processes one by one
                    message = f"group {group}: a process that simulated groups is gone (out of memory?): use fewer processes"
                    raise SimulatorError(message) from error
        return [self._found[group] for group in self._groups if group in self._found]


def last_sample_ns(scenario: Scenario) -> int:
    """Return the simulated time of the last sample."""
    return scenario.duration_ns // scenario.sample_ns * scenario.sample_ns


def _in_worker(scenario: Scenario, group: int, compiled: bool | None) -> GroupTruth:
    truth = _simulate(scenario, group, compiled)
    assert truth is not None  # nothing stops it: a worker is killed
    return truth


def _simulate(scenario: Scenario, group: int, compiled: bool | None, stop: Stop | None = None) -> GroupTruth | None:
    plan = scenario.plan(group)
    return follow(plan, group, last_sample_ns(scenario), step_ns(plan, scenario.sample_ns), stop=stop, compiled=compiled)
