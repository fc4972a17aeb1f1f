"""Verdicts as they come: frames are fed as they are read, events are what changed. Pure: time is that of the samples.

A sliding window of the samples is analyzed again and again, by the same `analyze` as everywhere; credits below 0 are told at once, from the
samples just fed. A window of max(30 min, 20 periods) holds what the verdict needs; analyses are a tenth of the shortest period apart that
the window can show (six cycles: a sixtieth of it), but at least 5 s and at most 30 s. Dead time is told when two looks in a row agree:
within two such steps of the cycle with which it can be told from chance.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from lnetstat.analysis import findings
from lnetstat.analysis.changes import BEGIN, END, NOTE, Event, States
from lnetstat.analysis.credits import credit_use
from lnetstat.analysis.results import Analysis
from lnetstat.analysis.run import analyze
from lnetstat.analysis.window import Window
from lnetstat.analysis.wording import seconds
from lnetstat.frames import Frames
from lnetstat.model import Severity
from lnetstat.words import iso

WINDOW_S = 1800.0
WINDOW_PERIODS = 20  # three times the least that tells a period, so that one bad stretch does not end a verdict
STEP_SHARE = 60  # of the window: a tenth of its six cycles
LEAST_STEP_S, MOST_STEP_S = 5.0, 30.0
SILENT_S = 30.0  # and ten of its intervals: a host of which others' samples hear nothing
STEP_BACK_S = 2.0  # a clock that goes back by less is one that is being disciplined


class Watcher:
    """Turns stretches of samples into events. `analysis`: what looks at the window (a test may count its calls)."""

    def __init__(self, *, analysis: Callable[[Frames], Analysis] = analyze) -> None:
        self.least_step_s = LEAST_STEP_S
        self._analyze = analysis
        self._window = Window()
        self._states = States()
        self._hosts: dict[str, _Host] = {}
        self._elapsed_s = 0.0
        self._due_ns: int | None = None

    def feed(self, frames: Frames) -> list[Event]:
        """Take samples that are newer than those fed before (or the first); return what they change, in order."""
        if frames.states.empty:
            return []
        events = self._clocks(frames)
        now_ns = self._now_ns
        self._window.add(frames, int(window_s(self._states.period_s) * 1e9))
        events += self._credits(frames, now_ns)
        if self._due_ns is None:
            self._due_ns = self._window.begin_ns + int(LEAST_STEP_S * 1e9)
        if now_ns >= self._due_ns:
            events += self._look(now_ns)
        return events

    def no_samples(self, for_s: float) -> Event:
        """Return what to tell when nothing was fed for so long."""
        return _no_samples(self._now_ns, for_s)

    @property
    def interval_s(self) -> float:
        """The time between the samples of the slowest host, in seconds; 0.0 where it is not known yet."""
        return max((host.interval_s for host in self._hosts.values()), default=0.0)

    @property
    def _now_ns(self) -> int:
        return max((host.last_ns for host in self._hosts.values() if not host.silent), default=0)

    def _look(self, now_ns: int) -> list[Event]:
        """Analyze the window and tell what changed."""
        step_s = step_of((now_ns - self._window.begin_ns) / 1e9)
        self._due_ns = now_ns + int(max(step_s, self.least_step_s) * 1e9)
        analysis = self._analyze(self._window.frames())
        return self._states.look(analysis, self._window.begin_ns, now_ns, with_credits=False)

    def _credits(self, frames: Frames, now_ns: int) -> list[Event]:
        """Tell rows below 0 in the samples just fed, and marks that fell since the samples before."""
        used, _ = credit_use(self._window.with_tail(frames), {})
        fresh = [use for use in used if use.first_low_ns is not None and use.waiting]
        self._window.keep_tail(frames)
        return self._states.shortages(findings.of_credits(fresh, self._window.begin_ns, now_ns), now_ns)

    def _clocks(self, frames: Frames) -> list[Event]:
        """Note when each host was heard of; tell clocks that went back, hosts that fell silent and that are back."""
        events: list[Event] = []
        advances = []
        for host, own in frames.states.groupby("host", observed=True, sort=False):
            stamps = own["time_ns"].to_numpy(np.int64)
            known = self._hosts.get(str(host))
            begin_ns, last_ns = int(stamps[0]), int(stamps[-1])
            if known is None:
                self._hosts[str(host)] = _Host(last_ns, self._elapsed_s, _interval_s(own), False)
                continue
            if known.silent:
                events.append(Event(last_ns, NOTE, "host_back", Severity.INFO, str(host), f"{host}: samples again", {}))
            if begin_ns < known.last_ns - STEP_BACK_S * 1e9 or int(np.diff(stamps).min(initial=0)) < -STEP_BACK_S * 1e9:
                back_s = (known.last_ns - int(stamps.min())) / 1e9
                words = f"{host}: its clock went back by {seconds(back_s)}: what was seen before counts no more"
                events.append(Event(last_ns, NOTE, "clock_step", Severity.WARNING, str(host), words, {"back_s": back_s}))
                self._window.forget(str(host))
                self._due_ns = None
                self._states.clock_went_back(last_ns)
            else:
                advances.append((last_ns - known.last_ns) / 1e9)
            self._hosts[str(host)] = _Host(last_ns, self._elapsed_s, _interval_s(own) or known.interval_s, False)
        self._elapsed_s += min(float(np.median(advances)), 2 * SILENT_S) if advances else 0.0
        heard = {str(host) for host in frames.states["host"].unique()}
        return events + self._silent(heard)

    def _silent(self, heard: set[str]) -> list[Event]:
        """Tell hosts that say nothing while others go on: counted in the others' time, for a clock that steps ahead is no silence."""
        events = []
        for name, one in list(self._hosts.items()):
            if name in heard:
                self._hosts[name] = one._replace(heard_s=self._elapsed_s)
            elif not one.silent and self._elapsed_s - one.heard_s > max(SILENT_S, 10 * one.interval_s):
                words = f"{name}: no samples since {iso(one.last_ns)}, while other hosts go on"
                events.append(Event(one.last_ns, NOTE, "host_silent", Severity.WARNING, name, words, {}))
                self._hosts[name] = one._replace(silent=True)
        return events


class _Host(NamedTuple):
    """When a host was heard of: its last stamp, how long the watching had lasted then, and the time between its samples."""

    last_ns: int
    heard_s: float
    interval_s: float
    silent: bool


def _interval_s(own: pd.DataFrame) -> float:
    stamps = own.loc[own["name"] == own["name"].iloc[-1], "time_ns"].to_numpy(np.int64)
    return float(np.median(np.diff(stamps))) / 1e9 if stamps.size > 1 else 0.0


class SeriesWatcher:
    """Turns the tables of lnetstat.series, each the whole window as it stands now, into events. `analysis`: what looks at a table.

    Each table is the whole window anew, so that dead time counts at once.
    """

    def __init__(self, analysis: Callable[[pd.DataFrame], Analysis]) -> None:
        self._analyze = analysis
        self._states = States(confirm=False)
        self._begin_ns = self._now_ns = 0
        self.interval_s = 0.0

    @property
    def window_s(self) -> float:
        """For how long back a table is wanted."""
        return window_s(self._states.period_s)

    @property
    def step_s(self) -> float:
        """How long after this table the next one is wanted."""
        return step_of((self._now_ns - self._begin_ns) / 1e9)

    def feed(self, table: pd.DataFrame) -> list[Event] | None:
        """Take the window as it stands now; return what changed, None where nothing has come since the table before.

        Rows without a value at the end have not been sent yet: they are no gap.
        """
        known = table.loc[table["value"].notna(), "time"]
        now_ns = round(float(known.max()) * 1e9) if len(known) else 0
        if now_ns <= self._now_ns:
            return None
        self._begin_ns, self._now_ns = round(float(known.min()) * 1e9), now_ns
        analysis = self._analyze(table[table["time"] <= known.max()])
        self.interval_s = max((each.interval_s for each in analysis.quality), default=0.0)
        return self._states.look(analysis, self._begin_ns, now_ns, with_credits=True)

    def no_samples(self, for_s: float) -> Event:
        """Return what to tell when tables held nothing new for so long."""
        return _no_samples(self._now_ns, for_s)

    def no_answer(self, reason: str) -> Event:
        """Return what to tell when no table could be had."""
        return Event(self._now_ns, BEGIN, "no_answer", Severity.WARNING, "", f"{reason}; it is asked again and again", {})

    def answers_again(self) -> Event:
        """Return what to tell when there is a table again."""
        return Event(self._now_ns, END, "no_answer", Severity.INFO, "", "over: answers again", {})


def window_s(period_s: float) -> float:
    """Return how long a window must be, in seconds, where dead time of this period was found last (0: none yet)."""
    return max(WINDOW_S, WINDOW_PERIODS * period_s)


def step_of(length_s: float) -> float:
    """Return how many seconds after the look at a window of this length the next one is due."""
    return min(max(length_s / STEP_SHARE, LEAST_STEP_S), MOST_STEP_S)


def _no_samples(now_ns: int, for_s: float) -> Event:
    words = f"no new samples for {seconds(for_s)}: has the writer stopped?"
    return Event(now_ns, NOTE, "no_samples", Severity.WARNING, "", words, {})
