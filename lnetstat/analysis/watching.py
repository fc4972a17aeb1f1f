"""Verdicts as they come: frames are fed as they are read, events are what changed. Pure: time is that of the samples.

A sliding window of the samples is analyzed again and again, by the same `analyze` as everywhere; credits below 0 are told at once, from the
samples just fed. A window of max(30 min, 20 periods) holds what the verdict needs; analyses are a tenth of the shortest period apart that
the window can show (six cycles: a sixtieth of it), but at least 5 s and at most 30 s. So dead time is told within one such step of
the cycle with which it can be told from chance.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lnetstat.analysis import findings
from lnetstat.analysis.credits import credit_use
from lnetstat.analysis.results import Analysis
from lnetstat.analysis.run import analyze
from lnetstat.analysis.schema import plain
from lnetstat.analysis.window import Window
from lnetstat.analysis.wording import seconds
from lnetstat.frames import Frames
from lnetstat.model import Finding, Severity
from lnetstat.words import iso

WINDOW_S = 1800.0
WINDOW_PERIODS = 20  # three times the least that tells a period, so that one bad stretch does not end a verdict
STEP_SHARE = 60  # of the window: a tenth of its six cycles
LEAST_STEP_S, MOST_STEP_S = 5.0, 30.0
HOLD_PERIODS = 2.5  # without a dip for so long dead time is over: one cycle may be missed, two are not by chance
HOLD_S = 60.0  # without credits below 0 for so long the shortage is over, where no period is known
SILENT_S = 30.0  # and ten of its intervals: a host of which others' samples hear nothing
STEP_BACK_S = 2.0  # a clock that goes back by less is one that is being disciplined
PAUSED_SHARE = 0.1  # of the window's load: less cannot show dips
# What the events are made of. Other findings (ping_burst, odd_one_out, …) describe a record and are for `analyze`.
LASTING = frozenset({"dead_time", "peer_down", "route_down", "ni_unhealthy", "drops"})
ONCE = frozenset({"data_gap"})
BEGIN, WORSE, END, NOTE = "begin", "worse", "end", "note"


class Event(NamedTuple):
    """One change of state, told at `time_ns` of the samples. `change`: begin, worse (of higher severity), end or note.

    `kind` as of findings; watching has its own too: verdict (the analysis as a whole), host_silent, host_back, clock_step, no_samples.
    """

    time_ns: int
    change: str
    kind: str
    severity: Severity
    subject: str
    message: str
    evidence: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the event as the object of one line of `watch --json`."""
        found: dict[str, Any] = plain(
            {"schema": 1, **self._asdict(), "time": iso(self.time_ns, 3)} | {"severity": self.severity.name.lower()}
        )
        return found


class _State(NamedTuple):
    """Something that began and has not ended: when it was last seen, and for how long without it it goes on."""

    finding: Finding
    seen_ns: int
    hold_ns: int


class Watcher:
    """Turns stretches of samples into events. `analysis`: what looks at the window (a test may count its calls)."""

    def __init__(self, *, analysis: Callable[[Frames], Analysis] = analyze) -> None:
        self.least_step_s = LEAST_STEP_S
        self._analyze = analysis
        self._window = Window()
        self._states: dict[tuple[str, str], _State] = {}
        self._told: set[tuple[str, str, int]] = set()
        self._hosts: dict[str, _Host] = {}
        self._elapsed_s = 0.0
        self._verdict = ""
        self._due_ns: int | None = None
        self._period_s = 0.0

    def feed(self, frames: Frames) -> list[Event]:
        """Take samples that are newer than those fed before (or the first); return what they change, in order."""
        if frames.states.empty:
            return []
        events = self._clocks(frames)
        now_ns = self._now_ns
        self._window.add(frames, int(self._window_s * 1e9))
        events += self._credits(frames, now_ns)
        if self._due_ns is None:
            self._due_ns = self._window.begin_ns + int(LEAST_STEP_S * 1e9)
        if now_ns >= self._due_ns:
            events += self._look(now_ns)
        return events

    def no_samples(self, for_s: float) -> Event:
        """Return what to tell when nothing was fed for so long."""
        return Event(
            self._now_ns, NOTE, "no_samples", Severity.WARNING, "", f"no new samples for {seconds(for_s)}: has the writer stopped?", {}
        )

    @property
    def interval_s(self) -> float:
        """The time between the samples of the slowest host, in seconds; 0.0 where it is not known yet."""
        return max((host.interval_s for host in self._hosts.values()), default=0.0)

    @property
    def _now_ns(self) -> int:
        return max((host.last_ns for host in self._hosts.values() if not host.silent), default=0)

    @property
    def _window_s(self) -> float:
        return max(WINDOW_S, WINDOW_PERIODS * self._period_s)

    def _look(self, now_ns: int) -> list[Event]:
        """Analyze the window and tell what changed."""
        analysis = self._analyze(self._window.frames())
        length_s = (now_ns - self._window.begin_ns) / 1e9
        step_s = min(max(length_s / STEP_SHARE, LEAST_STEP_S), MOST_STEP_S)
        self._due_ns = now_ns + int(max(step_s, self.least_step_s) * 1e9)
        self._period_s = max((each.period_s or 0.0 for each in analysis.series if each.detected), default=self._period_s)
        events: list[Event] = []
        for finding in analysis.findings:
            if finding.kind in ONCE:
                events += self._once(finding, now_ns)
            elif finding.kind in LASTING:
                events += self._seen(finding, now_ns)
        events += self._over(analysis, now_ns)
        return events + self._whole(analysis, now_ns)

    def _whole(self, analysis: Analysis, now_ns: int) -> list[Event]:
        """Tell when the verdict on the whole becomes another one: cannot_tell, none, or dead time."""
        dead_time = any(kind == "dead_time" for kind, _ in self._states)
        top = analysis.dead_time.verdict
        verdict = "dead_time" if dead_time else "none" if top in ("detected", "recurrent") else top
        if verdict == self._verdict:
            return []
        self._verdict = verdict
        words = analysis.verdict if not (top in ("detected", "recurrent") and not dead_time) else "No periodic dead time any more."
        return [Event(now_ns, NOTE, "verdict", Severity.INFO, "", words, {"verdict": verdict})]

    def _seen(self, finding: Finding, now_ns: int) -> list[Event]:
        """Note that something is there; tell where it was not before. What is there no more, by its end, is history."""
        period_s = float(finding.evidence.get("period_s") or self._period_s)
        hold_ns = int(max(HOLD_PERIODS * period_s if finding.kind == "dead_time" else max(HOLD_S, HOLD_PERIODS * period_s), 5.0) * 1e9)
        if now_ns - finding.end_ns > hold_ns:
            return []
        key = finding.kind, _subject(finding)
        known = self._states.get(key)
        told = known is not None and finding.severity <= known.finding.severity
        worst = known.finding if known is not None and told else finding
        self._states[key] = _State(worst, max(finding.end_ns, known.seen_ns if known else 0), hold_ns)
        if told:
            return []
        return [_event(now_ns, BEGIN if known is None else WORSE, finding)]

    def _once(self, finding: Finding, now_ns: int) -> list[Event]:
        key = finding.kind, finding.subject, finding.begin_ns
        if key in self._told:
            return []
        self._told = {each for each in self._told if each[2] >= self._window.begin_ns} | {key}
        return [_event(now_ns, NOTE, finding)]

    def _over(self, analysis: Analysis | None, now_ns: int) -> list[Event]:
        """Tell what was not seen for its time. Dips that a pause of the load hides are not over: that cannot be told."""
        events = []
        for key, state in list(self._states.items()):
            if now_ns - state.seen_ns <= state.hold_ns or (key[0] == "dead_time" and analysis and _paused(analysis, state)):
                continue
            del self._states[key]
            message = f"over: {state.finding.subject}: last seen at {iso(state.seen_ns)}"
            if key[0] == "dead_time":
                message = f"dead time is over: {state.finding.subject}: the last dip was at {iso(state.seen_ns)}"
            evidence = {"last_seen_ns": state.seen_ns}
            events.append(Event(now_ns, END, key[0], Severity.INFO, state.finding.subject, message, evidence))
        return events

    def _credits(self, frames: Frames, now_ns: int) -> list[Event]:
        """Tell rows below 0 in the samples just fed, and marks that fell since the samples before."""
        used, _ = credit_use(self._window.with_tail(frames), {})
        fresh = [use for use in used if use.first_low_ns is not None and use.waiting]
        events = []
        for finding in findings.of_credits(fresh, self._window.begin_ns, now_ns):
            events += self._seen(finding, max(now_ns, finding.end_ns))
        self._window.keep_tail(frames)
        return events + self._over_credits(now_ns)

    def _over_credits(self, now_ns: int) -> list[Event]:
        lasting = {key: state for key, state in self._states.items() if key[0].startswith("oversubscribed")}
        rest = {key: state for key, state in self._states.items() if key not in lasting}
        self._states = lasting
        events = self._over(None, now_ns)
        self._states |= rest
        return events

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
                self._states = {key: state._replace(seen_ns=min(state.seen_ns, last_ns)) for key, state in self._states.items()}
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


def _subject(finding: Finding) -> str:
    """Return what stays the same while something lasts: of credits the host, for the worst row changes."""
    return str(finding.evidence.get("host", finding.subject)) if finding.kind.startswith("oversubscribed") else finding.subject


def _event(now_ns: int, change: str, finding: Finding) -> Event:
    return Event(now_ns, change, finding.kind, finding.severity, finding.subject, finding.message, dict(finding.evidence))


def _paused(analysis: Analysis, state: _State) -> bool:
    """Return True when there was load for less than the hold since the dips were last seen: pauses and gaps show no dips."""
    names = {(each.host, each.signal) for each in analysis.series if state.finding.subject.startswith(each.signal)}
    loaded_s = [
        float(signal.interval_s[since & (signal.rate > PAUSED_SHARE * np.percentile(signal.rate, 90))].sum())
        for signal in analysis.signals
        if signal.purpose == "throughput" and (signal.host, signal.name) in names and signal.time_s.size
        for since in [signal.time_s > state.seen_ns / 1e9]
    ]
    return bool(loaded_s) and max(loaded_s) < 0.9 * state.hold_ns / 1e9
