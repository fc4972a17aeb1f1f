"""Ticks of a recording, in which one can go to and fro."""

from itertools import pairwise

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot
from lnetstat.sources.collectl import Recorded
from lnetstat.tables import table_named
from lnetstat.top.ticks import TABLES, Parser, Tick
from lnetstat.top.trail import DEPTH

NS = 1_000_000_000
CHUNK = 32
ROWS_HELD = 400_000  # of a recording's ticks around the one that is shown: some 100 MB
HISTORY_ROWS = 40_000  # parsed at once for the history of a tick: what one waits for after a jump
SPANS_GROW = 4


class _Held:
    """One tick of a recording, parsed when it is looked at."""

    def __init__(self, snapshots: list[Snapshot], parser: Parser) -> None:
        self.time_ns = snapshots[0].time_ns
        self._snapshots, self._parser = snapshots, parser
        self._tick: Tick | None = None

    def tick(self) -> Tick:
        if self._tick is None:
            self._tick = self._parser.tick(self._snapshots)
            self._snapshots = []
        return self._tick


class RecordingFeed:
    """A recording (or raw files of collectl), tick by tick: what is read from one look of the first host to its next.

    `hosts`: only these of it, empty for all. The moves return the ticks to show, oldest first: the last is the one to look at, those
    before it are its history, shorter where there are many rows. None: there is nothing further. Some ticks around the current one are
    held. Raises SourceError where nothing is recorded. `hint`: what to look at where there is nothing of LNet.
    """

    hint = "the recording holds none of it then"

    def __init__(self, recorded: Recorded, name: str, hosts: tuple[str, ...] = ()) -> None:
        self._recorded = recorded
        self._hosts = hosts or None
        self._main = next(iter(hosts or recorded.hosts), "")
        self._parser = Parser()
        self._anchor = ""
        self._ticks: list[_Held] = []
        self._at = 0
        self.step_ns = NS
        if self.first() is None:
            raise SourceError(f"{name}: no sample of LNet or Lustre in it: expected a recording of a node's tables")

    @property
    def problems(self) -> list[str]:
        """What of the recording could not be read, so far."""
        return list(self._recorded.problems)

    @property
    def begin_ns(self) -> int:
        return self._recorded.begin_ns or 0

    @property
    def end_ns(self) -> int:
        return self._recorded.end_ns or 0

    def first(self) -> list[Tick] | None:
        """Go to the first tick."""
        return self._go_to(self._after(self.begin_ns), 0)

    def last(self) -> list[Tick] | None:
        """Go to the last tick there is now."""
        return self._go_to(self._before(self.end_ns + 1), -1)

    def seek(self, time_ns: int) -> list[Tick] | None:
        """Go to the last tick that is no later than `time_ns`, or to the first where all are."""
        return self._go_to(self._before(time_ns + 1), -1) or self.first()

    def by(self, span_ns: int) -> list[Tick] | None:
        """Go on by a time, or back where it is negative: to the last tick no later than that, but at least by one tick."""
        here_ns = self._ticks[self._at].time_ns
        found = self.seek(here_ns + span_ns)
        if found and (found[-1].time_ns - here_ns) * span_ns > 0:
            return found
        if span_ns < 0:
            return self.previous()
        return self._window() if self.next() else None

    def next(self) -> list[Tick] | None:
        """Go one tick on: only that tick is returned, as the others have been before."""
        if self._at + 1 == len(self._ticks):
            self._ticks += self._after(self._ticks[-1].time_ns + 1)
        if self._at + 1 == len(self._ticks):
            return None
        self._at += 1
        self._trim()
        return [self._ticks[self._at].tick()]

    def previous(self) -> list[Tick] | None:
        """Go one tick back."""
        if self._at == 0:
            earlier = self._before(self._ticks[0].time_ns)
            if not earlier:
                return None
            self._ticks[:0] = earlier
            self._at = len(earlier)
        self._at -= 1
        return self._window()

    def _go_to(self, ticks: list[_Held], at: int) -> list[Tick] | None:
        if not ticks:
            return None
        self._ticks, self._at = ticks, at % len(ticks)
        return self._window()

    def _window(self) -> list[Tick]:
        """Return the shown tick with those before it that fill its history."""
        rows = self._ticks[self._at].tick().rows
        depth = max(2, min(DEPTH, HISTORY_ROWS // max(1, rows)))
        while self._at < depth - 1 and (earlier := self._before(self._ticks[0].time_ns)):
            self._ticks[:0] = earlier
            self._at += len(earlier)
        self._trim()
        return [held.tick() for held in self._ticks[max(0, self._at + 1 - depth) : self._at + 1]]

    def _trim(self) -> None:
        """Let go of ticks far from the shown one."""
        most = max(2 * CHUNK, min(4 * DEPTH, ROWS_HELD // max(1, self._ticks[self._at].tick().rows)))
        del self._ticks[self._at + most :]
        spare = self._at - most
        if spare > 0:
            del self._ticks[:spare]
            self._at -= spare

    def _after(self, begin_ns: int) -> list[_Held]:
        """Load the ticks from a moment on, about a chunk: looked for in ever longer spans, as a recording may have gaps."""
        span_ns = CHUNK * self.step_ns
        while True:
            end_ns = begin_ns + span_ns
            is_end = end_ns > self.end_ns
            ticks = self._between(begin_ns, end_ns)
            if is_end or len(ticks) > 1:
                return ticks if is_end else ticks[:-1]  # the last may go on behind the span
            span_ns *= SPANS_GROW

    def _before(self, end_ns: int) -> list[_Held]:
        """Load the ticks before a moment, about a chunk."""
        span_ns = CHUNK * self.step_ns
        while end_ns > self.begin_ns:
            ticks = self._between(end_ns - span_ns, end_ns)
            if ticks or end_ns - span_ns <= self.begin_ns:
                return ticks
            span_ns *= SPANS_GROW
        return []

    def _between(self, begin_ns: int, end_ns: int) -> list[_Held]:
        """Load the ticks that begin in a span, which ends at the beginning of a tick or behind the data.

        Hosts need not have been written in step, so the stamps decide. A tick begins with each look at the anchor, the first file of the
        main host; what stands before the first belongs to a tick before the span.
        """
        found = sorted(self._recorded.snapshots(begin_ns=begin_ns, end_ns=end_ns, hosts=self._hosts), key=lambda snapshot: snapshot.time_ns)
        self._anchor = self._anchor or next((s.name for s in found if s.host == self._main and _is_shown(s)), "")
        starts = [at for at, s in enumerate(found) if s.name == self._anchor and s.host == self._main]
        if len(starts) > 1:
            self.step_ns = max(1, (found[starts[-1]].time_ns - found[starts[0]].time_ns) // (len(starts) - 1))
        return [_Held(found[at:end], self._parser) for at, end in pairwise([*starts, len(found)])]


def _is_shown(snapshot: Snapshot) -> bool:
    table = table_named(snapshot.name)
    return table is not None and table.name in TABLES
