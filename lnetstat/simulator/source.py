"""A simulated system as a Source: after it, nothing can tell its snapshots from those of a live node."""

from collections.abc import Iterator
from typing import NamedTuple

from lnetstat.model import Snapshot, State
from lnetstat.simulator.engine import Stop
from lnetstat.simulator.follow import Follower, GroupTruth, step_ns
from lnetstat.simulator.scenario import Scenario
from lnetstat.simulator.text import BOOTED_S, NS, Clock, NodeText

TUNABLES_EVERY_NS = 600 * NS


class Tick(NamedTuple):
    """One sample: simulated time, and the snapshots of all observed hosts, host by host."""

    time_ns: int
    snapshots: tuple[Snapshot, ...]


class SimulatorSource:
    """The observed nodes of a scenario, sample by sample, from simulated time 0 to its end.

    Runs the groups that have observed nodes, in step, in this process. Stamps are the scenario's start plus simulated time, which is also
    what the texts hold. `compiled` as for Engine. After some or all of `ticks`, `truths` tells what happened up to there.
    """

    def __init__(self, scenario: Scenario, *, compiled: bool | None = None) -> None:
        self.scenario = scenario
        self.groups = tuple(group for group in range(scenario.groups) if scenario.observed(group))
        self._followers: list[Follower] = []
        self._nodes: list[tuple[Follower, str, NodeText]] = []
        for group in self.groups:
            plan = scenario.plan(group)
            follower = Follower(plan, group, step_ns(plan, scenario.sample_ns), compiled=compiled)
            self._followers.append(follower)
            hosts, nids = scenario.hosts(group), scenario.nids(group)
            for node in scenario.observed(group):
                text = NodeText(plan, node, nids, scenario.release, scenario.tunables(node))
                self._nodes.append((follower, hosts[node], text))
        self._tunables_due_ns = 0

    @property
    def hosts(self) -> tuple[str, ...]:
        """The observed hosts, in the order of their snapshots."""
        return tuple(host for _, host, _ in self._nodes)

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield the snapshots of the whole scenario in time order."""
        for tick in self.ticks():
            yield from tick.snapshots

    def ticks(self, stop: Stop | None = None) -> Iterator[Tick]:
        """Yield sample after sample, until `stop` is set."""
        for time_ns in range(0, self.scenario.duration_ns + 1, self.scenario.sample_ns):
            if not self.advance(time_ns, stop):
                return
            yield Tick(time_ns, self.read(self.scenario.start_ns + time_ns, self.scenario.start_ns))

    def advance(self, time_ns: int, stop: Stop | None = None) -> bool:
        """Simulate up to and including `time_ns`: the next multiple of the scenario's sample_ns.

        False where `stop` was set before: then there is nothing to read, and `truths` tells what happened up to the sample before.
        """
        if stop is not None:
            for follower in self._followers:
                follower.hold()
            if stop.is_set() or not all(follower.advance(time_ns, stop) for follower in self._followers):
                self.go_back()
                return False
        else:
            for follower in self._followers:
                follower.advance(time_ns)
        return True

    def go_back(self) -> None:
        """Have `truths` tell what happened up to the sample before the one that `advance` was called for; nothing is simulated after it."""
        for follower in self._followers:
            follower.go_back()

    def read(self, epoch_ns: int, start_ns: int) -> tuple[Snapshot, ...]:
        """Return what the files of the observed nodes say now, stamped `epoch_ns`, where the start was at `start_ns`."""
        time_ns = max((follower.time_ns for follower in self._followers), default=0)
        with_tunables = time_ns >= self._tunables_due_ns
        if with_tunables:
            self._tunables_due_ns += TUNABLES_EVERY_NS
        clock = Clock(time_ns, epoch_ns, start_ns)
        snapshots: list[Snapshot] = []
        for follower, host, node in self._nodes:
            texts = [*node.texts(follower.engine, clock), *(node.tunables() if with_tunables else ())]
            snapshots += [_snapshot(name, host, clock, text) for name, text in texts]
        return tuple(snapshots)

    def truths(self) -> list[GroupTruth]:
        """Return what happened so far in each of `groups`; nothing where not even the first sample was reached."""
        return [follower.truth() for follower in self._followers if follower.began]

    def rpcs_done(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield (group, process, RPCs done, bytes) of every I/O process of the observed groups."""
        for follower in self._followers:
            yield from ((follower.group, *each) for each in follower.rpcs_done())


def _snapshot(name: str, host: str, clock: Clock, text: str) -> Snapshot:
    return Snapshot(name, host, clock.epoch_ns, BOOTED_S * NS + clock.time_ns, 0, State.OK, 0, frozenset(), text)
