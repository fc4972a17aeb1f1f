"""The loop on a node: read what is due, record it, reduce it, ship it; tell each change of state once.

The command line checks what the user said and becomes this loop in a process of its own, without click and without site-packages, so
that a router carries the standard library only.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lnetstat.agent import status
from lnetstat.agent.outlets import Outlets
from lnetstat.agent.roles import Roles
from lnetstat.agent.service import Service
from lnetstat.agent.settings import RESTART_ONLY, AgentSettings, read_again
from lnetstat.agent.ticks import NS, READ_NS_MAX, Ticks, WallClock
from lnetstat.agent.waiting import Waiter
from lnetstat.errors import LnetstatError
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter
from lnetstat.reduce import Reducer
from lnetstat.sources.live import LiveSource
from lnetstat.sources.node import LNET_TABLES
from lnetstat.sources.reading import Clocks

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
FAR_BACK_NS = 60 * NS
CLOSE_S = 5.0  # for the destinations to take the rest when the agent ends by itself
STOP_CLOSE_S = 0.6  # and when it was told to stop: two seconds for everything, the reads under way included
LNET = frozenset(LNET_TABLES)
READS_SHARE = 0.75  # of the interval: what a tick waits for reads at most, so that one that hangs makes no other tick late
WHOLE_AGAIN_S = 60  # a table on the verge changes in one scan and not in the next: no lines for each


class GivenUp(Exception):  # noqa: N818 - no error: the time for a read under way is over
    """Raised into `reading` by whoever stops the agent, when a read hangs."""


class Agent:
    """One node's loop. `stop` ends it after the tick under way; nothing that was read is lost. `stop`, `reload` may come from handlers."""

    def __init__(
        self,
        settings: AgentSettings,
        report: Callable[[str], None],
        *,
        service: Service | None = None,
        clocks: Clocks = Clocks(),  # noqa: B008 - immutable
        waiter: Waiter | None = None,
    ) -> None:
        def say(line: str) -> None:
            if not line.isprintable():  # names of files come from whoever made them
                from lnetstat.words import printable  # with a calendar, which takes memory: only where it is needed

                line = printable(line)
            report(line)

        self._settings = settings
        self._report = say
        self._service = service or Service({})
        self._clocks = clocks
        self._waiter = waiter or Waiter()
        self._source = LiveSource(
            settings.root,
            deadline_s=settings.deadline_s,
            reset_low_water=settings.reset_low_water,
            host=settings.host,
            clocks=clocks,
        )
        self._recording = self._new_recording(settings)
        self._outlets = Outlets(settings, say)
        self._reducer = self._new_reducer(settings)
        self._next_reducer: Reducer | None = None
        self._roles = Roles()
        self._standing = status.Standing(clocks.time_ns() // NS)
        self._told: dict[str, str] = {}
        self._seen: set[str] = set()
        self._partial_s: dict[str, int] = {}
        self._second = 0
        self._stopping = self._reloading = False
        self._late_before = 0  # of the intervals before a reload
        self.reading = False  # in a read that `GivenUp` may end
        self.failed = False

    def stop(self) -> None:
        self._stopping = True
        self._waiter.wake()

    def reload(self) -> None:
        self._reloading = True
        self._waiter.wake()

    def run(self) -> bool:
        """Read until told to stop or until `samples`; return whether all could be read and written."""
        mono_ns, wall_ns = self._now()
        self._ticks = Ticks(self._settings.interval_s, mono_ns, wall_ns)
        self._wall = WallClock(mono_ns, wall_ns)
        samples = 0
        self._service.ready()
        try:
            while self._wait_for_tick():
                self._ticks.begun(self._clocks.monotonic_ns())
                self._tick()
                samples += 1
                if samples == self._settings.samples:
                    break
                self._ticks.advance(self._clocks.monotonic_ns())
        finally:
            self._close()
        return not self.failed

    # ---- waiting ----

    def _wait_for_tick(self) -> bool:
        """Sleep until the next tick is due; False when told to stop. Signals and the watchdog have their turn meanwhile."""
        while not self._stopping:
            self._look_at_clock()
            if self._reloading:
                self._reloading = False
                self._reload()
            now_ns = self._clocks.monotonic_ns()
            self._service.alive(now_ns / NS)
            left_s = (self._ticks.due_ns - now_ns) / NS
            if left_s <= 0:
                return True
            self._waiter.wait(min(left_s, self._service.alive_every_s or left_s))
        return False

    def _look_at_clock(self) -> None:
        """When somebody has set the wall clock: say so, and stay on whole multiples of the new time."""
        mono_ns, wall_ns = self._now()
        step_ns = self._wall.step_ns(mono_ns, wall_ns)
        if step_ns:
            self._report(f"the clock was set by {step_ns / NS:+.1f} s: stamps follow it, intervals do not")
            if step_ns <= -FAR_BACK_NS:  # else the second under way comes again soon, or is over
                self._ship(None)
            self._ticks.align(mono_ns, wall_ns)

    def _now(self) -> tuple[int, int]:
        """Return both clocks at one moment, so far as the kernel lets us run."""
        for _ in range(3):
            mono_ns, wall_ns = self._clocks.monotonic_ns(), self._clocks.time_ns()
            if self._clocks.monotonic_ns() - mono_ns <= READ_NS_MAX:
                break
        return mono_ns, wall_ns

    # ---- settings ----

    def _reload(self) -> None:
        """Take the file's new settings where that loses nothing; where they are wrong, all of the old ones stay."""
        self._service.reloading(self._clocks.monotonic_ns())
        path = self._settings.config
        try:
            if path:
                self._adopt(read_again(self._settings))
            else:
                self._report("SIGHUP: there is no configuration file to read again (--config FILE)")
        except LnetstatError as error:
            self._report(f"{error}; the old settings stay")
        self._service.ready()

    def _adopt(self, new: AgentSettings) -> None:
        old = self._settings
        stay = {name: getattr(old, name) for name in RESTART_ONLY if getattr(new, name) != getattr(old, name)}
        new = new._replace(**stay)
        made = self._outlets.prepare(new)
        self._outlets.adopt(made, new)
        if (new.recording, new.max_bytes, new.max_age_s) != (old.recording, old.max_bytes, old.max_age_s):
            new = self._change_recording(old, new)
        if new.interval_s != old.interval_s:
            self._late_before += self._ticks.missed
            self._ticks = Ticks(new.interval_s, *self._now())
        if new.series_max != old.series_max or (self._reducer is None) != (not self._outlets):
            self._next_reducer = self._new_reducer(new)
        self._settings = new
        changed = [name for name in new._fields if name != "given" and getattr(new, name) != getattr(old, name)]
        words = f"{new.config}: read again: {', '.join(changed) + ' changed' if changed else 'nothing changed'}"
        self._report(words + (f"; takes a restart: {', '.join(stay)}" if stay else ""))

    def _change_recording(self, old: AgentSettings, new: AgentSettings) -> AgentSettings:
        """Go on in the other folder or within the other bounds; where that cannot be written, as before."""
        if self._recording:
            self._recording.close()
        try:
            self._recording = self._new_recording(new)
        except LnetstatError as error:
            self._report(f"{error}; the old recording goes on")
            self._recording = self._new_recording(old)
            return new._replace(recording=old.recording, max_bytes=old.max_bytes, max_age_s=old.max_age_s)
        return new

    def _new_recording(self, settings: AgentSettings) -> RecordingWriter | None:
        if not settings.recording:
            return None
        return RecordingWriter(settings.recording, max_bytes=settings.max_bytes, max_age_s=settings.max_age_s)

    def _new_reducer(self, settings: AgentSettings) -> Reducer | None:
        if not self._outlets:
            return None
        return Reducer(self._source.host, prefix=settings.prefix, series_max=settings.series_max)

    def _change_reducer(self) -> None:
        """Change over between two seconds, so that each second is reduced as a whole."""
        self._ship(None)
        self._reducer, self._next_reducer = self._next_reducer, None

    # ---- a tick ----

    def _tick(self) -> None:
        began_ns = self._clocks.monotonic_ns()
        second = self._clocks.time_ns() // NS
        if self._next_reducer and second != self._second:
            self._change_reducer()
        snapshots = self._read()
        self._tell_states(snapshots)
        if self._recording:
            self._recording.write(snapshots)
            self._tell("recording", self._recording.last_error, "recording: writing again")
        if self._reducer:
            for snapshot in snapshots:
                self._reducer.add(snapshot)
                problem = self._reducer.problems.get(snapshot.name, "")
                self._tell(f"{snapshot.name} text", problem and f"{snapshot.name}: {problem}", f"{snapshot.name}: whole again")
            now_ns = self._clocks.time_ns()
            self._reducer.put(now_ns, self._self_values(self._clocks.monotonic_ns() - began_ns))
            self._ship(now_ns // NS if self._settings.interval_s < 1 else None)  # of a second with more samples to come the rest waits
        if second != self._second:
            self._second = second
            self._publish("running")

    def _read(self) -> list[Snapshot]:
        """Read what is due. Told to stop while a read hangs: go with what has been read by then."""
        self.reading = True
        try:
            return self._source.tick(READS_SHARE * self._settings.interval_s)
        except GivenUp:
            self.reading = False
            return self._source.tick(0.0)
        finally:
            self.reading = False

    def _ship(self, before_s: int | None) -> None:
        if not self._reducer:
            return
        self._outlets.offer(self._reducer.points(before_s))
        for what, words in self._outlets.troubles:
            self._standing.trouble(what, words, self._clocks.time_ns() // NS)
        refused = self._reducer.refused
        self._tell("series", f"more than {self._settings.series_max} series: {refused} are not sent (--series-max)" if refused else "", "")

    def _self_values(self, took_ns: int) -> Iterable[tuple[str, float]]:
        assert self._reducer
        totals = self._outlets.totals
        yield "self.duration_ms", took_ns / 1e6
        yield "self.late", self._late
        yield "self.errors", self._reducer.errors
        yield "self.series", self._reducer.series
        yield "self.spooled", totals.spooled
        yield "self.sent", totals.sent
        yield "self.resent", totals.resent
        yield "self.lost", totals.lost
        with contextlib.suppress(OSError):  # hidden by the kernel's settings: a gap, and no reason to stop
            yield "self.rss_bytes", rss_bytes()

    @property
    def _late(self) -> int:
        return self._late_before + self._ticks.missed

    # ---- telling ----

    def _tell_states(self, snapshots: Sequence[Snapshot]) -> None:
        """Say once per file and cause why it cannot be read, and once that it can be again."""
        self._standing.read(snapshots)
        for snapshot in snapshots:
            if snapshot.state is State.OK:
                self._seen.add(snapshot.name)
            self._tell(snapshot.name, self._why(snapshot), f"{snapshot.name}: readable again")
            self._tell_partial(snapshot)
        tables = [snapshot for snapshot in snapshots if snapshot.name in LNET]
        if tables or self._source.lacks_lnet:  # else their reads are still under way
            where = "" if self._settings.root == "/" else f" under {self._settings.root}"
            words = f"no table of LNet{where}: is LNet loaded, is debugfs mounted, are you root? going on"
            nothing = all(snapshot.state is State.ABSENT for snapshot in tables)
            self._tell("*", words if nothing else "", "LNet is there")
        for problem in self._source.problems:
            self._tell(problem, problem, "")
        had_roles = bool(self._roles.names)
        if self._roles.update(snapshots) and (had_roles or self._settings.config):  # by hand, what a node was at first is no news
            self._report(f"this node is now: {', '.join(self._roles.names) or 'nothing of Lustre'}")

    def _why(self, snapshot: Snapshot) -> str:
        """Return in one line why a file could not be read, with its path and what to do; empty where it could."""
        name, number = snapshot.name, snapshot.errno
        if snapshot.state is State.ABSENT:
            return f"{name}: gone" if name in self._seen else ""
        if snapshot.state not in (State.FORBIDDEN, State.FAILED):
            return ""
        where = self._source.where(name)
        if number == errno.ETIMEDOUT:
            return f"{name}: hangs: {where}: no answer within {self._settings.deadline_s:g} s (see dmesg); tried again, ever more rarely"
        remedy = " (run as root, or have debugfs readable)" if snapshot.state is State.FORBIDDEN else ""
        return f"{name}: {snapshot.state.value}: {os.strerror(number)}{remedy}: {where} (errno {number})"

    def _tell_partial(self, snapshot: Snapshot) -> None:
        """Say that only a part of a table could be read, and that it is whole again once it has been for a minute."""
        name, now_s = snapshot.name, self._clocks.monotonic_ns() // NS
        if snapshot.state is State.PARTIAL:
            self._partial_s[name] = now_s
            words = f"{name}: the table changes in each of several reads: what was read is used, numbers and sums of rows are not sent"
            self._tell(f"{name} part", words, "")
        elif name in self._partial_s:
            is_well = snapshot.state is State.OK and now_s - self._partial_s[name] >= WHOLE_AGAIN_S
            if is_well or snapshot.state is State.ABSENT:
                del self._partial_s[name]
                self._tell(f"{name} part", "", f"{name}: whole again" if is_well else "")

    def _tell(self, what: str, now: str, well: str) -> None:
        before = self._told.get(what, "")
        if now == before:
            return
        self._told[what] = now
        self._standing.trouble(what, now, self._clocks.time_ns() // NS)
        if now or well:
            self._report(now or well)
        self.failed |= bool(now)

    def _publish(self, state: str) -> None:
        """Replace the status file, and tell the service manager the same in one line."""
        if not self._settings.status and not self._service.is_there:
            return
        document = status.document(
            self._standing,
            self._settings,
            self._source.host,
            self._roles.names,
            self._outlets,
            self._clocks.time_ns() // NS,
            state=state,
            late=self._late,
            late_ms_worst=round(self._ticks.late_ns_worst / 1e6, 3),
            **self._numbers(),
        )
        self._service.status(status.summary(document))
        if not self._settings.status:
            return
        try:
            status.write(self._settings.status, document)
        except OSError as error:
            self._tell("status", f"status file {self._settings.status}: cannot be written: {error.strerror}; going on", "")
        else:
            self._tell("status", "", f"status file {self._settings.status}: written again")

    def _numbers(self) -> dict[str, Any]:
        numbers: dict[str, Any] = {"series": 0, "errors": 0, **self._outlets.totals._asdict()}
        if self._reducer:
            numbers |= {"series": self._reducer.series, "errors": self._reducer.errors}
        with contextlib.suppress(OSError):
            numbers["rss_bytes"] = rss_bytes()
        return numbers

    # ---- the end ----

    def _close(self) -> None:
        self._service.stopping()
        self._source.close()
        self._ship(None)
        self._outlets.close(STOP_CLOSE_S if self._stopping else CLOSE_S)
        self.failed |= self._outlets.totals.lost > 0 or any(words for _, words in self._outlets.troubles)
        if self._recording:
            self._recording.close()
            dropped, lost = self._recording.segments_dropped, self._recording.frames_lost
            if dropped:
                self._report(f"recording {self._settings.recording}: {dropped} oldest segments dropped to stay within the bounds")
            if lost:
                self._report(f"recording {self._settings.recording}: {lost} ticks could not be written")
                self.failed = True
        self._publish("stopped")
        self._waiter.close()


def rss_bytes() -> int:
    """Return this process's resident memory."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * PAGE_BYTES
