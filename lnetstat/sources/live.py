"""Read a node, tick by tick: LNet's tables, service statistics, tunables, lnetctl."""

import errno
import fnmatch
import os
import time
from collections.abc import Collection, Iterator, Sequence

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot, State
from lnetstat.sources.backoff import Backoff
from lnetstat.sources.commands import run_command
from lnetstat.sources.lanes import PATIENCE_S, Job, Lanes
from lnetstat.sources.low_water import LOCK_PATH, RESET_TABLES, LowWaterReset
from lnetstat.sources.node import LNET_TABLES, MADE_ANEW_AT_EACH_READ, Found, Node, Target, look, look_for_lnet, this_node
from lnetstat.sources.reading import Clocks, read_file, unread
from lnetstat.tables import builtin_tables

SECOND_NS = 1_000_000_000
LOOK_EVERY_NS = 60 * SECOND_NS
LOOK_FOR_LNET_EVERY_NS = SECOND_NS // 2  # so that ticks of a second, which are never exact, all look
TUNABLES_EVERY_NS = 600 * SECOND_NS
COMMANDS_EVERY_NS = 30 * SECOND_NS
COMMAND_TIMEOUT_S = 10.0
FORGET_ABSENT_NS = 600 * SECOND_NS
ALONE_S = PATIENCE_S  # how long LNet's tables are read with nothing beside them


class NodeSource:
    """Reads what a Node has. `tick()` reads everything that is due now; the caller decides when that is.

    Each read has `deadline_s` seconds; one that takes longer is FAILED with ETIMEDOUT in this tick and the following ones until it comes
    back, and delays nothing else. The file is tried again 1, 2, 4 … 60 s after each try in a row that hung, and until it answers no tick
    waits for it. LNet's tables have threads of their own: however many other files hang, they are read.

    LNet's tables, service statistics and proc/stat are read at every tick, tunables every 10 minutes, lnetctl every 30 s (its answer comes
    with a later tick). What appears or vanishes is noticed within 60 s; LNet's tables that are not there are looked for twice a second. A
    file that vanished is reported ABSENT: LNet's tables always, others for 10 minutes.
    """

    def __init__(
        self,
        node: Node,
        host: str,
        *,
        names: Collection[str] | None = None,
        deadline_s: float = 1.0,
        low_water: LowWaterReset | None = None,
        clocks: Clocks = Clocks(),  # noqa: B008 - immutable
    ) -> None:
        """`names`: fnmatch patterns of the snapshots wanted, None for all."""
        builtin_tables()  # imports them here, not within the first read's deadline
        self.host = host
        self._node = node
        self._names = names
        self._deadline_s = deadline_s
        self._low_water = low_water
        self._clocks = clocks
        self._looks: Lanes[Found] = Lanes()
        self._lnet_looks: Lanes[tuple[Target, ...]] = Lanes()
        self._wanted_tables = frozenset(name for name in LNET_TABLES if self._is_wanted(name))
        self._reads: Lanes[Snapshot | None] = Lanes()  # of LNet's tables
        self._other_reads: Lanes[Snapshot | None] = Lanes()
        self._backoff = Backoff()
        self._trying: set[str] = set()  # names whose reads have begun and not come back, nor been given up
        self._lnet: dict[str, Target] = {}
        self._services: dict[str, Target] = {}
        self._tunables: tuple[Target, ...] = ()
        self._commands: tuple[Target, ...] = ()
        self._sizes: dict[str, int] = {}
        self._absent_since_ns: dict[str, int] = {}
        self._seen: set[str] = set()
        self._has_looked = False
        self._due_ns: dict[str, int] = {}

    @property
    def problems(self) -> list[str]:
        """Lines that the user should see, each once."""
        return list(self._low_water.problems) if self._low_water else []

    @property
    def lacks_lnet(self) -> bool:
        """Whether the node has been looked at and has no LNet at all: then nothing of it is read."""
        return self._has_looked and not self._lnet

    def tick(self, wait_s: float | None = None) -> list[Snapshot]:
        """Read everything that is due, and return it in the order of its stamps, with what lnetctl answered since the last tick.

        Waits until all is read or failed, but no longer than `wait_s`: what comes later, but by its deadline, comes with a later tick.
        """
        end_s = time.monotonic() + (self._deadline_s * 2 if wait_s is None else wait_s)
        if self._is_due("look", LOOK_EVERY_NS):
            self._look(end_s)
        elif self._is_due("lnet", LOOK_FOR_LNET_EVERY_NS) and self._has_lnet_come(end_s):
            self._due_ns.pop("tunables", None)  # modules have been loaded
            self._look(end_s)
        others = list(self._services.values())
        if self._is_due("tunables", TUNABLES_EVERY_NS):
            others += self._tunables
        commands = self._commands if self._is_due("commands", COMMANDS_EVERY_NS) else ()
        brought = self._take()
        tables = list(self._lnet.values())
        hanging = self._start(self._reads, tables)
        hanging |= self._wait(self._reads, tables, min(end_s, time.monotonic() + ALONE_S))  # most often they are all back by then
        hanging |= self._start(self._other_reads, [*others, *commands])
        hanging |= self._wait(self._reads, tables, end_s)
        hanging |= self._wait(self._other_reads, others, end_s)
        brought += self._take()
        return self._collect(brought, hanging | self._on_trial([*tables, *others]))

    def snapshots(self) -> Iterator[Snapshot]:
        """Yield one look at everything, lnetctl's answers included."""
        yield from self.tick()
        running = [target.name for target in self._commands if self._other_reads.running_s(target.name) is not None]
        late = self._other_reads.wait(running, COMMAND_TIMEOUT_S)
        yield from self._collect(self._take(), late)

    def where(self, name: str) -> str:
        """Return the path behind a snapshot's name, or the command; the name itself where it is not known any more."""
        for targets in (self._lnet.values(), self._services.values(), self._tunables, self._commands):
            for target in targets:
                if target.name == name:
                    return " ".join(target.command) or target.path
        return name

    def _start(self, lanes: Lanes[Snapshot | None], targets: Sequence[Target]) -> set[str]:
        """Begin the reads that are due, and return the names that hang: not back from the last time, or not to be tried yet."""
        now_ns = self._clocks.monotonic_ns()
        hanging, jobs = set(), []
        for target in targets:
            running_s = lanes.running_s(target.name)
            if running_s is not None:
                hanging.update([target.name] if running_s >= self._deadline_s else [])
            elif self._backoff.is_due(target.name, now_ns):
                jobs.append(self._job(target))
            else:
                hanging.add(target.name)
        self._trying.update(job.key for job in jobs)
        lanes.start(jobs)
        return hanging

    def _wait(self, lanes: Lanes[Snapshot | None], targets: Sequence[Target], end_s: float) -> set[str]:
        """Wait for the reads until the deadline of each, and return the names that hang. What hung the last time is not waited for."""
        names = [target.name for target in targets]
        expected = [name for name in names if not self._backoff.has_hung(name)]
        late = set(lanes.wait(expected, self._deadline_s, end_s - time.monotonic()))
        late.update(lanes.wait(names, self._deadline_s, 0.0))
        for name in late & self._trying:
            self._trying.discard(name)
            self._backoff.hung(name, self._clocks.monotonic_ns())
        return late

    def _on_trial(self, targets: Sequence[Target]) -> set[str]:
        """Return the names that are tried again just now: until they answer, they hang."""
        tried = (target.name for target in targets if self._backoff.has_hung(target.name))
        return {name for name in tried if self._reads.running_s(name) is not None or self._other_reads.running_s(name) is not None}

    def _take(self) -> list[Snapshot]:
        """Return what has come back, and note who answers again."""
        brought = [*self._reads.take().items(), *self._other_reads.take().items()]
        for name, snapshot in brought:
            self._trying.discard(name)
            if snapshot is not None and snapshot.errno == errno.ETIMEDOUT:  # a command that was killed
                self._backoff.hung(name, self._clocks.monotonic_ns())
            else:
                self._backoff.answered(name)
        return [snapshot for _, snapshot in brought if snapshot is not None]

    def close(self) -> None:
        """Let the threads end and give the right to reset low-water marks back."""
        self._reads.close()
        self._other_reads.close()
        self._looks.close()
        self._lnet_looks.close()
        if self._low_water:
            self._low_water.close()
            self._low_water = None

    def _is_due(self, group: str, every_ns: int) -> bool:
        now_ns = self._clocks.monotonic_ns()
        if now_ns < self._due_ns.get(group, now_ns):
            return False
        self._due_ns[group] = now_ns + every_ns
        return True

    def _has_lnet_come(self, end_s: float) -> bool:
        """Whether tables of LNet that could not be read are to be had from where they were not looked for."""
        missing = self._wanted_tables - self._seen
        if not missing:
            return False
        self._lnet_looks.start([Job("lnet", lambda: look_for_lnet(self._node))])
        self._lnet_looks.wait(["lnet"], self._deadline_s, end_s - time.monotonic())
        found = self._lnet_looks.take().get("lnet", ())
        return any(target.name in missing and self._lnet.get(target.name) != target for target in self._wanted(found))

    def _look(self, end_s: float) -> None:
        """Find what the node has now. Where even that hangs, go on with what is known."""
        self._looks.start([Job("look", lambda: look(self._node))])
        self._looks.wait(["look"], self._deadline_s, end_s - time.monotonic())
        found = self._looks.take().get("look")
        if found is None:
            return
        self._has_looked = True
        self._lnet.update({target.name: target for target in self._wanted(found.lnet)})
        self._tunables = self._wanted(found.tunables)
        self._commands = self._wanted(found.commands)
        self._adopt_services({target.name: target for target in self._wanted(found.services)})

    def _wanted(self, targets: Sequence[Target]) -> tuple[Target, ...]:
        return tuple(target for target in targets if self._is_wanted(target.name))

    def _is_wanted(self, name: str) -> bool:
        names = self._names  # most are no patterns, which need not be compiled
        return names is None or name in names or any(fnmatch.fnmatchcase(name, pattern) for pattern in names)

    def _adopt_services(self, found: dict[str, Target]) -> None:
        now_ns = self._clocks.monotonic_ns()
        for name, target in self._services.items():
            if name not in found and now_ns - self._absent_since_ns.setdefault(name, now_ns) < FORGET_ABSENT_NS:
                found[name] = target
            elif name in found:
                self._absent_since_ns.pop(name, None)
        self._services = found

    def _job(self, target: Target) -> Job[Snapshot | None]:
        return Job(target.name, lambda: self._read(target))

    def _read(self, target: Target) -> Snapshot | None:
        if target.command:
            timeout_s = COMMAND_TIMEOUT_S if target in self._commands else self._deadline_s
            snapshot = run_command(target.command, target.name, self.host, timeout_s=timeout_s, clocks=self._clocks)
        else:
            anew = target.name in MADE_ANEW_AT_EACH_READ
            hint = self._sizes.get(target.name, 0)
            snapshot = read_file(target.path, target.name, self.host, in_one_read=anew, size_hint=hint, clocks=self._clocks)
            self._sizes[target.name] = len(snapshot.text)
        if self._low_water and target.name in RESET_TABLES:
            return self._low_water.after_read(snapshot, target.path)
        return snapshot

    def _collect(self, brought: Sequence[Snapshot], hanging: Collection[str]) -> list[Snapshot]:
        """Return what was read, and a snapshot that says so for each name that did not answer in time."""
        snapshots = [*brought, *(unread(name, self.host, errno.ETIMEDOUT, self._clocks) for name in sorted(hanging))]
        self._notice_vanished(snapshots)
        return sorted(snapshots, key=lambda snapshot: snapshot.time_ns)

    def _notice_vanished(self, snapshots: Sequence[Snapshot]) -> None:
        """Look again at the next tick when a file is gone that was there before: its successor may have another path."""
        absent = {snapshot.name for snapshot in snapshots if snapshot.state is State.ABSENT}
        if absent & self._seen:
            self._due_ns.pop("look", None)
        self._seen -= absent
        self._seen |= {snapshot.name for snapshot in snapshots if snapshot.state is State.OK}


class LiveSource(NodeSource):
    """Reads this node (root "/"), or a tree with proc/ and sys/, or a folder that holds peers, nis, … itself.

    `reset_low_water`: write to peers and nis after each read, so that `min` is the interval's minimum; this node only, one process per
    node (`lock_path`). `host`: by default the short host name of the node or of the tree. Raises SourceError where `root` is no folder or
    the reset is refused.
    """

    def __init__(
        self,
        root: str = "/",
        *,
        names: Collection[str] | None = None,
        deadline_s: float = 1.0,
        reset_low_water: bool = False,
        host: str | None = None,
        lock_path: str = LOCK_PATH,
        clocks: Clocks = Clocks(),  # noqa: B008 - immutable
    ) -> None:
        here = os.path.realpath(root) == "/"
        if reset_low_water and not here:
            raise SourceError(f"low-water marks are reset on the node itself, not in {root}: leave out the reset or the other root")
        if not os.path.isdir(root):
            raise SourceError(f"{root}: not a folder: a tree with proc/ and sys/, or a folder with peers, nis, … was expected")
        low_water = LowWaterReset(lock_path) if reset_low_water else None
        node = this_node() if here else Node(os.path.abspath(root))
        super().__init__(node, host or _host_of(node.root), names=names, deadline_s=deadline_s, low_water=low_water, clocks=clocks)


def _host_of(root: str) -> str:
    """Return the short host name of a tree, or of this machine where the tree does not tell."""
    if root != "/":
        for path in ("proc/sys/kernel/hostname", "etc/hostname"):
            found = read_file(os.path.join(root, path), path, "").text.strip()
            if found:
                return found.split(".")[0]
    return os.uname().nodename.split(".")[0]
