"""What changes from one analysis of a window to the next: states that begin, get worse and end, each told once. Pure."""

import re
from typing import Any, NamedTuple

import numpy as np

from lnetstat.analysis.results import Analysis, Signal
from lnetstat.analysis.schema import plain
from lnetstat.analysis.stops import IDLE, LEAST_STOP_S
from lnetstat.model import Finding, Severity
from lnetstat.words import iso

HOLD_PERIODS = 2.5  # without a dip for so long dead time is over: one cycle may be missed, two are not by chance
HOLD_S = 60.0  # what was seen longer ago (and 2.5 periods) does not begin now, it is history
# What comes and goes again and again is one state. It ends only when its own cycle has stayed away three times, which no jitter of a cycle
# does, and not before five minutes: the longest usual intervals of pings and of cron jobs. Nothing is older than the window.
QUIET_CYCLES = 3.0
QUIET_S = 300.0
MOST_QUIET_S = 1800.0
AWAY_S = 5.0  # as far as looks are apart at least: what was not there for less came with the next sample only
SAME_PERIOD = 0.05  # two looks agree on a period: neighbouring windows share nearly all dips, chance finds jump by more than their width
PAUSED_SHARE = 0.1  # of the window's load: less cannot show dips
LASTING = frozenset(
    {"dead_time", "ping_burst", "first_exhausted", "odd_one_out", "peer_down", "route_down", "ni_unhealthy", "drops"}
    | {f"oversubscribed_{each}" for each in ("peers", "nis", "buffers", "rtr_credits")}
)
OF_A_HOST = frozenset({"ping_burst", "peer_down", "route_down", "ni_unhealthy"})  # the worst one named changes, the state does not
ONCE = frozenset({"data_gap"})
BEGIN, WORSE, END, NOTE = "begin", "worse", "end", "note"
ABOUT_A_HOST = frozenset({"data_gap", "odd_one_out", "host_silent", "host_back", "clock_step"})  # the subject may be the host


class Event(NamedTuple):
    """One change of state, told at `time_ns` of the samples. `change`: begin, worse (of higher severity), end or note.

    `begin_ns`, `end_ns`: since when, and until when, what it is about was seen, which is earlier than told; None where that is the same.
    `state`: what stays the same from a begin to its end; the worst row, and with it the subject, may become another one.
    `kind` as of findings; watching has its own too: verdict (the analysis as a whole), host_silent, host_back, clock_step, no_samples,
    no_answer (of a Graphite).
    """

    time_ns: int
    change: str
    kind: str
    severity: Severity
    subject: str
    message: str
    evidence: dict[str, Any]
    begin_ns: int | None = None
    end_ns: int | None = None
    state: str = ""

    @property
    def when_ns(self) -> int:
        """The time to be marked: of what ended its end, of what only got worse now, of all else its own begin."""
        own_ns = {END: self.end_ns, WORSE: None}.get(self.change, self.begin_ns)
        return self.time_ns if own_ns is None else own_ns

    @property
    def host(self) -> str:
        """The one host that it is about, else ""."""
        named = re.search(r"(?:^|\s)(?:of|on) (\S+)$", self.subject)
        several = re.search(r"\d hosts$", self.subject)
        alone = self.subject if self.kind in ABOUT_A_HOST and " " not in self.subject and self.subject != "data" else ""
        return str(self.evidence.get("host") or (named[1] if named and not several else alone))

    def as_json(self) -> dict[str, Any]:
        """Return the event as the object of one line of `watch --json`."""
        begin_ns, end_ns = (self.time_ns if ns is None else ns for ns in (self.begin_ns, self.end_ns))
        own = {
            "severity": self.severity.name.lower(),
            "begin_ns": begin_ns,
            "end_ns": end_ns,
            "host": self.host,
            "time": iso(self.time_ns, 3),
        }
        found: dict[str, Any] = plain({"schema": 1, **self._asdict()} | own)
        return found


class _State(NamedTuple):
    """Something that began and has not ended: when it was last seen, and for how long without it it goes on.

    `came_ns`: when it was first seen since it was `away` last; `times`: how often it came; `cycle_ns`: the longest time from one coming
    to the next; `began_ns`: its first.
    """

    finding: Finding
    seen_ns: int
    hold_ns: int
    began_ns: int
    came_ns: int
    times: int = 1
    cycle_ns: int = 0
    away: bool = False


class States:
    """What lasts, and what was told of it. `period_s`: the longest of the dead time found last, 0.0 before any was.

    Dead time begins when two looks in a row agree on it; without `confirm` with the first.
    """

    def __init__(self, *, confirm: bool = True) -> None:
        self.period_s = 0.0
        self._confirm = confirm
        self._periods_s: dict[str, float] = {}
        self._unconfirmed = False
        self._lasting: dict[tuple[str, str], _State] = {}
        self._told: set[tuple[str, str, int]] = set()
        self._verdict = ""

    def look(self, analysis: Analysis, begin_ns: int, now_ns: int, *, with_credits: bool) -> list[Event]:
        """Take the analysis of a window from begin to now; return what changed. `with_credits`: not where `shortages` tells them."""
        self.period_s = max((each.period_s or 0.0 for each in analysis.series if each.detected), default=self.period_s)
        self._told = {each for each in self._told if each[2] >= begin_ns}
        before, self._periods_s, self._unconfirmed = self._periods_s, {}, False
        events: list[Event] = []
        for finding in analysis.findings:
            if finding.kind in ONCE:
                events += self._once(finding, now_ns, 0)
            elif finding.kind == "traffic_stopped":
                events += self._stop(finding, now_ns)
            elif finding.kind == "dead_time" and not self._agreed(finding, before, now_ns):
                self._unconfirmed = True
            elif finding.kind in LASTING and (with_credits or not finding.kind.startswith("oversubscribed")):
                events += self._seen(finding, now_ns)
        events += self._over(analysis, now_ns)
        return events + self._whole(analysis, now_ns)

    def shortages(self, found: list[Finding], now_ns: int) -> list[Event]:
        """Take the findings of credits in the samples just fed; return what changed."""
        events = [event for finding in found for event in self._seen(finding, max(now_ns, finding.end_ns))]
        return events + self._over(None, now_ns)

    def clock_went_back(self, last_ns: int) -> None:
        """Let no state have been seen later than now."""
        self._lasting = {key: state._replace(seen_ns=min(state.seen_ns, last_ns)) for key, state in self._lasting.items()}

    def _agreed(self, finding: Finding, before: dict[str, float], now_ns: int) -> bool:
        """Return False where dead time would begin now that the look before did not find, or found with another period."""
        period_s = float(finding.evidence.get("period_s") or 0.0)
        self._periods_s[finding.subject] = period_s
        lasts = (finding.kind, _subject(finding)) in self._lasting
        if not self._confirm or lasts or now_ns - finding.end_ns > self._fresh_s(finding) * 1e9:
            return True
        return abs(before.get(finding.subject, 0.0) - period_s) <= SAME_PERIOD * period_s

    def _whole(self, analysis: Analysis, now_ns: int) -> list[Event]:
        """Tell when the verdict on the whole becomes another one: cannot_tell, none, or dead time."""
        dead_time = any(kind == "dead_time" for kind, _ in self._lasting)
        top = analysis.dead_time.verdict
        if self._unconfirmed and not dead_time:
            return []  # the next look tells
        verdict = "dead_time" if dead_time else "none" if top in ("detected", "recurrent") else top
        if verdict == self._verdict:
            return []
        self._verdict = verdict
        words = analysis.verdict if not (top in ("detected", "recurrent") and not dead_time) else "No periodic dead time any more."
        return [Event(now_ns, NOTE, "verdict", Severity.INFO, "", words, {"verdict": verdict})]

    def _seen(self, finding: Finding, now_ns: int) -> list[Event]:
        """Note that something is there; tell where it was not before. What is there no more, by its end, is history."""
        key = finding.kind, _subject(finding)
        known = self._lasting.get(key)
        if known is None:
            if now_ns - finding.end_ns > self._fresh_s(finding) * 1e9:
                return []
            self._lasting[key] = _State(finding, finding.end_ns, self._hold_ns(finding, 0), finding.begin_ns, finding.end_ns)
            return [event_of(now_ns, BEGIN, finding)]
        if known.away and finding.end_ns > known.seen_ns:
            cycle_ns = max(known.cycle_ns, finding.end_ns - known.came_ns)
            known = known._replace(times=known.times + 1, cycle_ns=cycle_ns, came_ns=finding.end_ns, away=False)
        told = finding.severity <= known.finding.severity
        self._lasting[key] = known._replace(
            finding=known.finding if told else finding,
            seen_ns=max(finding.end_ns, known.seen_ns),
            hold_ns=max(known.hold_ns, self._hold_ns(finding, known.cycle_ns)),
        )
        return [] if told else [event_of(now_ns, WORSE, finding)]

    def _fresh_s(self, finding: Finding) -> float:
        """Return how long ago something may have been seen that begins now."""
        periods_s = HOLD_PERIODS * float(finding.evidence.get("period_s") or self.period_s)
        return max(periods_s, AWAY_S if finding.kind == "dead_time" else HOLD_S)

    def _hold_ns(self, finding: Finding, cycle_ns: int) -> int:
        """Return for how long something goes on without being seen."""
        fresh_ns = int(self._fresh_s(finding) * 1e9)
        if finding.kind in ("dead_time", "traffic_stopped"):
            return fresh_ns  # the one's cycle is known, the other has none
        return max(fresh_ns, int(QUIET_S * 1e9), min(int(QUIET_CYCLES * cycle_ns), int(MOST_QUIET_S * 1e9)))

    def _once(self, finding: Finding, now_ns: int, apart_ns: int) -> list[Event]:
        """Tell what is history already, once; of two that begin nearer than `apart_ns` one."""
        alike = [begin_ns for kind, subject, begin_ns in self._told if (kind, subject) == (finding.kind, finding.subject)]
        if any(abs(begin_ns - finding.begin_ns) <= apart_ns for begin_ns in alike):
            return []
        self._told.add((finding.kind, finding.subject, finding.begin_ns))
        return [event_of(now_ns, NOTE, finding)]

    def _stop(self, finding: Finding, now_ns: int) -> list[Event]:
        """Traffic that has stopped is a state, one stop that is past is told once, and not again where its beginning was told."""
        key = finding.kind, finding.subject
        apart_ns = int(LEAST_STOP_S * 1e9)  # no stop is shorter
        if finding.evidence["at_end"]:
            if key not in self._lasting:
                self._told.add((*key, finding.begin_ns))
            return self._seen(finding, now_ns)
        if self._lasting.pop(key, None) is None:
            return self._once(finding, now_ns, apart_ns)
        self._told.add((*key, finding.begin_ns))
        message = f"over: {finding.subject} moves again since {iso(finding.end_ns)}"
        return [_end(now_ns, finding, message, {"last_seen_ns": finding.end_ns}, finding.begin_ns, finding.end_ns)]

    def _over(self, analysis: Analysis | None, now_ns: int) -> list[Event]:
        """Tell what was not seen for its time; without an analysis, of credits only."""
        events = []
        for key, state in list(self._lasting.items()):
            looked_for = analysis is not None or key[0].startswith("oversubscribed")
            if looked_for and not state.away and now_ns - state.seen_ns > AWAY_S * 1e9:
                self._lasting[key] = state._replace(away=True)
            if now_ns - state.seen_ns <= state.hold_ns or _still(key[0], state, analysis):
                continue
            del self._lasting[key]
            often = f", {state.times} times since {iso(state.began_ns)}" if state.times > 1 else ""
            message = f"over: {state.finding.subject}: last seen at {iso(state.seen_ns)}{often}"
            if key[0] == "dead_time":
                message = f"dead time is over: {state.finding.subject}: the last dip was at {iso(state.seen_ns)}"
            evidence = {"last_seen_ns": state.seen_ns, "began_ns": state.began_ns, "times": state.times}
            events.append(_end(now_ns, state.finding, message, evidence, state.began_ns, state.seen_ns))
        return events


def _subject(finding: Finding) -> str:
    """Return what stays the same while something lasts: of credits the host, as the worst row changes; of what ran out first its kind."""
    host = str(finding.evidence.get("host", finding.subject))
    if finding.kind == "first_exhausted":
        return f"{finding.evidence['resource']} of {host}"
    return host if finding.kind in OF_A_HOST or finding.kind.startswith("oversubscribed") else finding.subject


def event_of(now_ns: int, change: str, finding: Finding) -> Event:
    own = finding.begin_ns, finding.end_ns, _subject(finding)
    return Event(now_ns, change, finding.kind, finding.severity, finding.subject, finding.message, dict(finding.evidence), *own)


def _end(now_ns: int, finding: Finding, message: str, evidence: dict[str, Any], begin_ns: int, end_ns: int) -> Event:
    host = {name: value for name, value in finding.evidence.items() if name == "host"}
    return Event(now_ns, END, finding.kind, Severity.INFO, finding.subject, message, evidence | host, begin_ns, end_ns, _subject(finding))


def _still(kind: str, state: _State, analysis: Analysis | None) -> bool:
    """Return True where something that was not seen goes on: dips that a pause hides, a stop that fills the window."""
    if analysis is None:
        return not kind.startswith("oversubscribed")
    if kind == "dead_time":
        return _paused(analysis, state)
    return kind == "traffic_stopped" and not _carries(analysis, state)


def _paused(analysis: Analysis, state: _State) -> bool:
    """Return True when there was load for less than the hold since the dips were last seen: pauses and gaps show no dips."""
    loaded_s = [
        float(signal.interval_s[since & (signal.rate > PAUSED_SHARE * np.percentile(signal.rate, 90))].sum())
        for signal in _signals(analysis, state)
        for since in [signal.time_s > state.seen_ns / 1e9]
    ]
    return bool(loaded_s) and max(loaded_s) < 0.9 * state.hold_ns / 1e9


def _carries(analysis: Analysis, state: _State) -> bool:
    """Return True when a signal that had stopped moves again; one without any rate in the window does not."""
    for signal in _signals(analysis, state):
        busy = signal.rate[signal.rate > 0]
        if busy.size and bool((signal.rate[signal.time_s > state.seen_ns / 1e9] > IDLE * float(np.median(busy))).any()):
            return True
    return False


def _signals(analysis: Analysis, state: _State) -> list[Signal]:
    """Return the throughput that a finding is about: that of one host, or of several where they are one system."""
    subject = state.finding.subject
    throughput = [each for each in analysis.signals if each.purpose == "throughput" and each.time_s.size]
    own = [each for each in throughput if subject in (each.name, f"{each.name} of {each.host}")]
    return own or [each for each in throughput if subject.endswith(" hosts") and subject.startswith(f"{each.name} of ")]
