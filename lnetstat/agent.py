"""The loop on a node: read what is due, record it, reduce it, ship it; tell each change of state once.

The command line checks what the user said and becomes this loop in a process of its own, without click and without site-packages, so
that a router carries the standard library only.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from lnetstat.errors import LnetstatError, SinkError, bug_line
from lnetstat.model import Sink, Snapshot, State
from lnetstat.recording import RecordingWriter
from lnetstat.reduce import Reducer
from lnetstat.reduce.metrics import PREFIX, SERIES_MAX
from lnetstat.sinks.carbon import CarbonSink, parse_address
from lnetstat.sinks.stdout import StdoutSink
from lnetstat.sources.live import LiveSource

NS = 1_000_000_000
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
INTERVAL_MIN_S = 0.05
LNET_TABLES = ("peers", "nis", "buffers", "stats", "routes", "routers")


class AgentSettings(NamedTuple):
    """What to read, how often, and where it goes. `samples`: end after so many ticks, 0 never."""

    root: str = "/"
    host: str | None = None
    interval_s: float = 1.0
    deadline_s: float = 1.0
    samples: int = 0
    reset_low_water: bool = False
    recording: str | None = None
    max_bytes: int = 0
    max_age_s: float = 0.0
    carbon: Sequence[str] = ()
    stdout: bool = False
    prefix: str = PREFIX
    series_max: int = SERIES_MAX


class Agent:
    """One node's loop. `stop` ends it after the tick under way; nothing that was read is lost."""

    def __init__(self, settings: AgentSettings, report: Callable[[str], None]) -> None:
        self._settings = settings
        self._report = report
        self.stop = threading.Event()
        self._source = LiveSource(
            settings.root, deadline_s=settings.deadline_s, reset_low_water=settings.reset_low_water, host=settings.host
        )
        self._recording: RecordingWriter | None = None
        self._sinks: list[Sink] = []
        if settings.recording:
            self._recording = RecordingWriter(settings.recording, max_bytes=settings.max_bytes, max_age_s=settings.max_age_s)
        for address in settings.carbon:
            self._sinks.append(CarbonSink(*parse_address(address), report=report))
        if settings.stdout:
            if sys.stdout is None:
                raise SinkError("standard output is closed: nothing can be printed")
            self._sinks.append(StdoutSink(sys.stdout))
        self._reducer = Reducer(self._source.host, prefix=settings.prefix, series_max=settings.series_max) if self._sinks else None
        self._late = 0
        self._told: dict[str, str] = {}
        self._seen: set[str] = set()
        self.failed = False

    def run(self) -> bool:
        """Read until told to stop or until `samples`; return whether all could be read and written."""
        interval_ns = round(self._settings.interval_s * NS)
        # The first tick falls on a whole multiple of the interval, so that several nodes look at the same moments.
        start_ns = time.monotonic_ns() + interval_ns - time.time_ns() % interval_ns
        tick = 0
        try:
            while not self.stop.wait(max(0, start_ns + tick * interval_ns - time.monotonic_ns()) / NS):
                self._tick()
                tick += 1
                if tick == self._settings.samples:
                    break
                missed = (time.monotonic_ns() - start_ns) // interval_ns - tick + 1
                if missed > 0:
                    self._late += missed
                    tick += missed
        finally:
            self._close()
        return not self.failed

    def _tick(self) -> None:
        began_ns = time.monotonic_ns()
        snapshots = self._source.tick(self._settings.interval_s)
        self._tell_states(snapshots)
        if self._recording:
            self._recording.write(snapshots)
            self._tell("recording", self._recording.last_error, "recording: writing again")
        if self._reducer:
            for snapshot in snapshots:
                self._reducer.add(snapshot)
                problem = self._reducer.problems.get(snapshot.name, "")
                self._tell(f"{snapshot.name} text", problem and f"{snapshot.name}: {problem}", f"{snapshot.name}: whole again")
            now_ns = time.time_ns()
            self._reducer.put(now_ns, self._self_values(time.monotonic_ns() - began_ns))
            self._ship(now_ns // NS)

    def _ship(self, before_s: int | None) -> None:
        assert self._reducer
        points = self._reducer.points(before_s)
        for sink in self._sinks:
            sink.offer(points)
        refused = self._reducer.refused
        self._tell("series", f"more than {self._settings.series_max} series: {refused} are not sent (--series-max)" if refused else "", "")

    def _self_values(self, took_ns: int) -> Iterable[tuple[str, float]]:
        assert self._reducer
        counts = [sink.counts for sink in self._sinks if isinstance(sink, CarbonSink)]
        yield "self.duration_ms", took_ns / 1e6
        yield "self.late", self._late
        yield "self.errors", self._reducer.errors
        yield "self.series", self._reducer.series
        yield "self.spooled", sum(count.queued for count in counts)
        yield "self.sent", sum(count.sent for count in counts)
        yield "self.resent", sum(count.resent for count in counts)
        yield "self.lost", sum(count.dropped + count.refused for count in counts)
        with contextlib.suppress(OSError):  # hidden by the kernel's settings: a gap, and no reason to stop
            yield "self.rss_bytes", rss_bytes()

    def _tell_states(self, snapshots: Sequence[Snapshot]) -> None:
        """Say once per file and cause why it cannot be read, and once that it can be again."""
        for snapshot in snapshots:
            why = ""
            if snapshot.state in (State.FORBIDDEN, State.FAILED):
                why = f"{snapshot.name}: {snapshot.state.value}: {os.strerror(snapshot.errno)}"
                why += " (run as root, or have debugfs readable)" if snapshot.state is State.FORBIDDEN else ""
            elif snapshot.state is State.ABSENT and snapshot.name in self._seen:
                why = f"{snapshot.name}: gone"
            elif snapshot.state is State.OK:
                self._seen.add(snapshot.name)
            self._tell(snapshot.name, why, f"{snapshot.name}: readable again")
        lnet = [snapshot for snapshot in snapshots if snapshot.name in LNET_TABLES]
        nothing = all(snapshot.state is State.ABSENT for snapshot in lnet)
        where = "" if self._settings.root == "/" else f" under {self._settings.root}"
        words = f"no table of LNet{where}: is LNet loaded, is debugfs mounted, are you root? going on"
        self._tell("*", words if nothing else "", "LNet is there")
        for problem in self._source.problems:
            self._tell(problem, problem, "")

    def _tell(self, what: str, now: str, well: str) -> None:
        before = self._told.get(what, "")
        if now == before:
            return
        self._told[what] = now
        if now or well:
            self._report(now or well)
        self.failed |= bool(now)

    def _close(self) -> None:
        self._source.close()
        if self._reducer:
            self._ship(None)
        for sink in self._sinks:
            sink.close()
            self.failed |= isinstance(sink, CarbonSink) and sink.dropped + sink.refused > 0
        if self._recording:
            self._recording.close()
            dropped, lost = self._recording.segments_dropped, self._recording.frames_lost
            if dropped:
                self._report(f"recording {self._settings.recording}: {dropped} oldest segments dropped to stay within the bounds")
            if lost:
                self._report(f"recording {self._settings.recording}: {lost} ticks could not be written")
                self.failed = True


def rss_bytes() -> int:
    """Return this process's resident memory."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * PAGE_BYTES


# Behind the standard library, so that nothing beside us in site-packages passes for a part of it.
_BOOT = "import sys; sys.path.append(sys.argv[1]); from lnetstat.agent import main; sys.exit(main(sys.argv[2]))"
# One heap for all reader threads, and large texts given back to the kernel: half the memory at 100,000 peers.
MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "1000000", "MALLOC_MMAP_THRESHOLD_": "500000"}


def agent_command(settings: AgentSettings) -> list[str]:
    """Return the command line of an agent's own process: isolated from the environment and from site-packages."""
    package_parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [sys.executable, "-I", "-S", "-c", _BOOT, package_parent, json.dumps(settings._asdict())]


def become(settings: AgentSettings) -> None:
    """Replace this process by the agent: click and all else that checked the settings is gone from memory."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by who started us
            stream.flush()
    command = agent_command(settings)
    os.execve(command[0], command, os.environ | MALLOC)  # noqa: S606


def main(text: str) -> int:
    """Run the agent with settings in JSON; return the exit status."""

    def report(line: str) -> None:
        print(f"lnetstat: {line}", file=sys.stderr, flush=True)  # noqa: T201

    try:
        agent = Agent(AgentSettings(**json.loads(text)), report)
    except LnetstatError as error:
        report(str(error))
        return 3
    interrupted: list[int] = []

    def end(number: int, frame: object) -> None:
        interrupted.append(number)
        agent.stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    try:
        done = agent.run()
    except LnetstatError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader went away (`| head`): no error
            return 0
        report(str(error))
        return 3
    except Exception as error:
        report(bug_line(error))
        return 4
    if signal.SIGINT in interrupted:
        return 130
    return 0 if done else 3
