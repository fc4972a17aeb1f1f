"""F20: the agent's loop for as many ticks as the time allows, a second each on a clock that jumps on, with random faults.

The agent, its threads, its recording, its spool and its sender are the real ones; simulated are the clock, what a read of a file gives
(it vanishes, is denied, fails, breaks off, hangs, is garbage, starts anew) and the Carbon at the other end of a real connection. The
oracle: every second that was offered has arrived, missed ticks are counted to the one, nothing is raised, and memory, threads and
descriptors stay level. `python -m bench.soak.node_ticks [SECONDS] [SEED] [TICKS]`.
"""

import errno
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench.soak.node_carbon import ScriptedCarbon, Seconds
from bench.soak.rows import Row
from lnetstat.agent import loop
from lnetstat.agent.loop import Agent, rss_bytes
from lnetstat.agent.outlets import Outlets
from lnetstat.agent.settings import AgentSettings
from lnetstat.model import Snapshot
from lnetstat.sinks._connection import Pacer
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.sinks.spool import Spool
from lnetstat.sources import live
from lnetstat.sources.reading import Clocks
from tests.agent_process import make_tree

NS = 10**9
FAULTS = ("F20",)
TICKS_MAX = 1_000_000
MARK = ".self.errors"  # the path whose seconds are counted
DEADLINE_S = 0.03
FAULTY = ("peers", "nis", "stats", "buffers", "routes")
ERRORS = {"denied": errno.EACCES, "failing": errno.EIO, "gone": errno.ENOENT, "changing": errno.ESTALE}
KINDS = (*ERRORS, "garbage", "anew", "hanging")
STEPS_S = (3600, -3600, -3600, 3600, 1, -1)  # their sum is 0: an hour to and fro, and a leap second
WARM_UP = 0.3  # of the run, before memory is compared
SLOPE_MB_PER_H_MAX = 1.0
CLOCK_SPEED = 100


class SoakOutlets(Outlets):
    """Outlets that come back soon, so that hundreds of outages fit into minutes, and that note which seconds were offered."""

    offered: Seconds

    def _make_carbon(self, addresses: str, settings: AgentSettings) -> CarbonSink:
        host, _, port = addresses.rpartition(":")
        spool = Spool(f"{settings.spool}/carbon", max_bytes=settings.spool_max_bytes, max_age_s=0, sync_wanted=False)
        random = Random(1)
        pacer = Pacer(random, delay_s_min=0.01, delay_s_max=0.1, tries_a_minute_max=10_000)
        sink = CarbonSink(host, int(port), spool=spool, pacer=pacer, random=random, resend_s=3.0, write_timeout_s=1.0, report=self._report)
        self._spools[sink] = spool
        return sink

    def offer(self, points: Any) -> None:
        for point in points:
            if point.path.endswith(MARK):
                self.offered.add(point.time_s)
        super().offer(points)


class Level(NamedTuple):
    """What the process takes at one moment."""

    ticks: int
    rss_bytes: int
    descriptors: int
    threads: int


class World:
    """The clock, the files and the Carbon of one run, and what befalls them: it moves on whenever the agent waits for its next tick."""

    def __init__(self, tree: Path, carbon: ScriptedCarbon, seed: int, end_s: float) -> None:
        self.random = Random(seed)
        self.tree, self.carbon, self.end_s = tree, carbon, end_s
        self.mono_ns = 1_000 * NS
        self.ahead_ns = time.time_ns() - self.mono_ns
        self.clocks = Clocks(lambda: self.mono_ns + self.ahead_ns, lambda: self.mono_ns)
        self.ticks = self.missed = self.faults = 0
        self.levels: list[Level] = []
        self.agent: Agent | None = None
        self._faults: dict[str, tuple[str, int]] = {}
        self._released = {name: threading.Event() for name in FAULTY}
        self._disk_full_until = self._carbon_until = 0
        self._steps = 0
        self._read_file = live.read_file

    # ---- what stands in for the world: a wait, and a read ----

    def wait(self, timeout_s: float) -> None:
        self.mono_ns += round(timeout_s * NS)
        self.ticks += 1
        self._befall()
        if self.ticks % 200 == 0:
            self.levels.append(Level(self.ticks, rss_bytes(), len(os.listdir("/proc/self/fd")), threading.active_count()))
        if self.ticks % 50 == 0:
            self._let_the_sender_keep_up()
        if time.monotonic() > self.end_s and self.agent:
            self.agent.stop()

    def wake(self) -> None:
        """Nobody sleeps."""

    def close(self) -> None:
        """Nothing is open."""

    def read(self, path: str, name: str, host: str, **options: Any) -> Snapshot:
        kind, _ = self._faults.get(name, ("", 0))
        if kind == "hanging":
            self._released[name].wait(60)
        if kind in ERRORS:
            options["open_file"] = _refusing(ERRORS[kind])
        snapshot = self._read_file(path, name, host, **options)
        if kind == "garbage":
            return snapshot._replace(text=snapshot.text[: len(snapshot.text) // 2] + "\0<script>\udc80" * 3)
        return snapshot._replace(text="0 0 0 0 0 0 0 0 0 0 0\n") if kind == "anew" and name == "stats" else snapshot

    # ---- what befalls it ----

    def _befall(self) -> None:
        for name, (kind, until) in list(self._faults.items()):
            if self.ticks >= until:
                del self._faults[name]
                if kind == "hanging":
                    self._released[name].set()
        if self.random.random() < 0.02:
            name = self.random.choice(FAULTY)
            if name not in self._faults:
                self.faults += 1
                self._released[name].clear()
                self._faults[name] = self.random.choice(KINDS), self.ticks + self.random.randint(1, 60)
        if self.random.random() < 0.003:  # the process is stopped for some ticks
            ticks = self.random.randint(1, 20)
            self.mono_ns += ticks * NS
            self.missed += ticks
            self.faults += 1
        if self.random.random() < 0.002:
            self.ahead_ns += STEPS_S[self._steps % len(STEPS_S)] * NS
            self._steps += 1
            self.faults += 1
        self._befall_disk()
        self._befall_carbon()

    def _befall_disk(self) -> None:
        recording = self.agent and self.agent._recording
        if recording and self.ticks == self._disk_full_until:
            recording.free_bytes_min = 0
        if recording and self.ticks > self._disk_full_until and self.random.random() < 0.003:
            self._disk_full_until = self.ticks + self.random.randint(1, 60)
            recording.free_bytes_min = 1 << 60
            self.faults += 1

    def _befall_carbon(self) -> None:
        if self.ticks == self._carbon_until:
            self.carbon.come_back()
        if self.ticks > self._carbon_until and self.random.random() < 0.002:
            self._carbon_until = self.ticks + self.random.randint(5, 300)
            self.random.choice((self.carbon.die, self.carbon.hang))()
            self.faults += 1

    def _let_the_sender_keep_up(self) -> None:
        """A thousand seconds in one: what would have hours must not wait in memory."""
        for sink in self.agent._outlets.carbons if self.agent else ():
            sink.commit(60)

    def calm(self) -> None:
        """End all faults."""
        self._faults.clear()
        for event in self._released.values():
            event.set()
        self.carbon.come_back()


class _Refusal(NamedTuple):
    number: int

    def __call__(self, path: str) -> int:
        raise OSError(self.number, os.strerror(self.number), path)


def _refusing(number: int) -> Callable[[str], int]:
    return _Refusal(number)


class Outcome(NamedTuple):
    """What came of a run. `missed`: ticks that the world kept from the agent, `late`: those that it counted."""

    ticks: int
    faults: int
    offered: Seconds
    arrived: set[int]
    dropped: int
    missed: int
    late: int
    lines: int
    troubles: dict[str, Any]
    raised: list[str]
    levels: list[Level]


@contextmanager
def _standing_in(world: World) -> Iterator[list[str]]:
    """Put the world's reads and outlets in place; yield what threads raise meanwhile."""
    raised: list[str] = []
    outlets, read_file, hook = loop.Outlets, live.read_file, threading.excepthook
    SoakOutlets.offered = Seconds(world.clocks.time_ns() // NS)
    loop.Outlets = SoakOutlets  # type: ignore[misc]
    live.read_file = world.read
    threading.excepthook = lambda args: raised.append(f"{args.exc_type.__name__}: {args.exc_value}")
    try:
        yield raised
    finally:
        loop.Outlets, live.read_file, threading.excepthook = outlets, read_file, hook  # type: ignore[misc]


def soak(folder: Path, seed: int, *, seconds: float = 1e9, ticks: int = TICKS_MAX) -> Outcome:
    """Run an agent until its ticks or the time are over, then calm the world, let it end and return what came of it."""
    lines = 0

    def report(line: str) -> None:
        nonlocal lines
        lines += 1

    with ScriptedCarbon(MARK, int(time.time())) as carbon:
        world = World(make_tree(folder / "tree"), carbon, seed, time.monotonic() + seconds)
        settings = AgentSettings(
            root=str(world.tree),
            host="soak",
            deadline_s=DEADLINE_S,
            samples=ticks,
            recording=str(folder / "rec"),
            max_bytes=4 << 20,
            carbon=(carbon.address,),
            spool=str(folder / "spool"),
            status=str(folder / "status"),
            config="soak",  # a service: what changes is told
        )
        with _standing_in(world) as raised:
            agent = world.agent = Agent(settings, report, clocks=world.clocks, waiter=world)  # type: ignore[arg-type]
            close = agent._close
            agent._close = lambda: (world.calm(), _arrive(agent, carbon), close())  # type: ignore[assignment, method-assign, func-returns-value]
            agent.run()
            carbon.finish()
        late, dropped = agent._late, agent._outlets.totals.lost
        troubles, offered = dict(agent._standing.troubles), SoakOutlets.offered
    counted = len(offered), offered.both(carbon.seconds)
    return Outcome(world.ticks, world.faults, *counted, dropped, world.missed, late, lines, troubles, raised, world.levels)


def _arrive(agent: Agent, carbon: ScriptedCarbon) -> None:
    """Let everything that waits reach its Carbon."""
    agent._ship(None)
    for sink in agent._outlets.carbons:
        sink.flush(120)


def slope_mb_per_h(levels: list[Level]) -> float:
    """Return how fast memory grows after the warm-up, at a clock that runs CLOCK_SPEED times as fast: least squares."""
    late = levels[int(len(levels) * WARM_UP) :]
    if len(late) < 3:
        return 0.0
    hours = [level.ticks / CLOCK_SPEED / 3600 for level in late]
    sizes = [level.rss_bytes / 1e6 for level in late]
    mean_h, mean_mb = sum(hours) / len(hours), sum(sizes) / len(sizes)
    spread = sum((hour - mean_h) ** 2 for hour in hours)
    return sum((hour - mean_h) * (size - mean_mb) for hour, size in zip(hours, sizes, strict=True)) / spread


def run(seconds: float, seed: int) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="lnetstat-ticks-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        return [row_of(soak(Path(name), seed, seconds=seconds), seed)]


def row_of(done: Outcome, seed: int) -> Row:
    slope = slope_mb_per_h(done.levels)
    half = done.levels[len(done.levels) // 2 :]
    first = done.levels[: len(done.levels) // 2]
    lost = done.offered - done.arrived + done.dropped
    complaints = [
        *([f"{lost} lost"] if lost else []),
        *([f"{done.late} ticks counted as missed, {done.missed} were"] if done.late != done.missed else []),
        *done.raised[:3],
        *([f"memory grows by {slope:.2f} MB/h"] if slope >= SLOPE_MB_PER_H_MAX and done.ticks >= 20_000 else []),
        *(["descriptors grow"] if first and max(x.descriptors for x in half) > max(x.descriptors for x in first) + 3 else []),
        *(["threads grow"] if first and max(x.threads for x in half) > max(x.threads for x in first) + 3 else []),
    ]
    words = (
        f"{done.ticks:,} ticks of 1 s, {done.faults} faults, {done.lines} log lines, {done.missed} missed and counted, {slope:+.2f} MB/h"
    )
    remark = f"MISSED: {'; '.join(complaints)}: {words}" if complaints else words
    rss = (max(level.rss_bytes for level in done.levels) - done.levels[0].rss_bytes) / 1e6 if done.levels else None
    return Row("F20 ticks", seed, done.offered, done.arrived, lost, None, None, None, rss, None, remark)


if __name__ == "__main__":
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as where:
        limit = int(words[2]) if len(words) > 2 else TICKS_MAX
        print(row_of(soak(Path(where), int((words[1:2] or ["1"])[0]), seconds=float((words or ["60"])[0]), ticks=limit), 1))
