"""One run of one fault: a sender, a Carbon, what happens to them, and the judge, who reads back what is on disk.

Every point that the sender's spool acknowledged is an obligation. After the fault the sender ends, another process delivers what the spool
still holds, Carbon ends in order, and then whisper has to have each obligation with its value in its second.
"""

import json
import math
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.soak.carbon import Carbon
from bench.soak.judge import read_back
from bench.soak.points import Plan
from bench.soak.relay import Relay
from bench.soak.rows import Row
from bench.soak.sender import Settings

PACKAGE_PARENT = Path(__file__).parents[2]
SENDER = Path(__file__).with_name("sender.py")
PATIENCE_S = 120.0
LOOK_EVERY_S = 0.01
AGE_S = 5 * 3600  # how far back the first point lies: within the six hours that whisper keeps every second
STOP_S_MAX = 2.0
WARM_TICKS = 3


class Trial:
    """Start, hurt and judge. `folder` is empty and goes with the trial; options are those of the sender.

    `via`: what stands before Carbon. `prefix`: a command that the sender is run by. `jitter_s_max`: short, so that a trial
    is; None is the agent's own pace. `outage_s`: of a simulated clock, see sender.py.
    """

    def __init__(
        self,
        fault: str,
        seed: int,
        folder: Path,
        *,
        series: int = 500,
        seconds_per_tick: int = 10,
        interval_s: float = 1.0,
        resend_s: float = 15.0,
        jitter_s_max: float | None = 1.0,
        max_bytes: int = 512 << 20,
        outage_s: float = 0.0,
        spool: Path | None = None,
        carbon: Carbon | None = None,
        via: Relay | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        self.fault, self.seed, self.folder = fault, seed, folder
        folder.mkdir(exist_ok=True)
        self.carbon = carbon or Carbon(folder / "carbon")
        # Whole minutes: a tick then touches few of whisper's coarser slots.
        begin_s = (int(time.time()) - AGE_S) // 60 * 60
        self.plan = Plan(f"{fault.lower().replace(' ', '-')}-{seed}", begin_s, series, seconds_per_tick)
        self.via = via
        self._interval_s, self._resend_s, self._jitter_s_max, self._max_bytes = interval_s, resend_s, jitter_s_max, max_bytes
        self._outage_s = outage_s
        self._spool = spool or folder / "spool"
        self._prefix = list(prefix)
        self._log = folder / f"{self.plan.name}.log"
        self._log.touch()
        self._read_to = 0
        self._judges_sender = 0
        self._events: list[dict[str, Any]] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._fault_s = self._recovered_s = self._ended_s = math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._process is not None:
            self.kill_sender()
        self.carbon.stop()

    # ---- the sender ----

    def start_sender(self, *, drain: bool = False) -> None:
        settings = Settings(
            log=str(self._log),
            spool=str(self._spool),
            host=(self.via or self.carbon).address,
            port=(self.via or self.carbon).port,
            plan=list(self.plan),
            first_tick=self.acked + 1,
            interval_s=self._interval_s,
            resend_s=self._resend_s,
            jitter_s_max=0.0 if drain else self._jitter_s_max,
            seed=self.seed,
            max_bytes=self._max_bytes,
            outage_s=0.0 if drain else self._outage_s,
            drain=drain,
        )
        python = [sys.executable, "-I", "-S", str(SENDER), str(PACKAGE_PARENT), json.dumps(settings._asdict())]
        self._process = subprocess.Popen([*self._prefix, *python], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def kill_sender(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()
        self._process = None

    def end_sender(self) -> float:
        """End it as a service manager does; return how many seconds that took."""
        assert self._process is not None
        self._ended_s = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        self._wait_for_end()
        return time.monotonic() - self._ended_s

    def _wait_for_end(self) -> None:
        assert self._process is not None
        process, self._process = self._process, None
        words = process.communicate(timeout=3 * PATIENCE_S)[1].decode(errors="replace").strip()
        if process.returncode:
            raise RuntimeError(f"{self.fault} seed {self.seed}: the sender ended with {process.returncode}: {words}")

    # ---- what it said ----

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return what the sender noted so far under that name, whole lines only: the last may be half written when it was killed."""
        with self._log.open("rb") as file:
            file.seek(self._read_to)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read_to += len(whole)
        self._events += [json.loads(line) for line in whole.splitlines()]
        return [event for event in self._events if event["event"] == name]

    @property
    def acked(self) -> int:
        """The last tick that is safe; -1 before the first."""
        return max((event["value"] for event in self.events("acked")), default=-1)

    @property
    def last_counts(self) -> dict[str, Any]:
        return self.events("tick")[-1]

    def wait_until(self, true: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        deadline_s = time.monotonic() + patience_s
        while not true():
            if self._process is not None and self._process.poll() is not None:
                self._wait_for_end()
                raise RuntimeError(f"{self.fault} seed {self.seed}: the sender ended by itself")
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"{self.fault} seed {self.seed}: {what}: not within {patience_s:g} s")
            time.sleep(LOOK_EVERY_S)

    def ticks(self, count: int) -> None:
        """Let so many further ticks pass."""
        until = len(self.events("tick")) + count
        self.wait_until(lambda: len(self.events("tick")) >= until, f"{count} ticks", PATIENCE_S + 2 * count * self._interval_s)

    def warmed_up(self) -> None:
        """Wait until Carbon has made every file: one that it was killed over stays damaged for ever, whatever is sent again."""
        self.ticks(WARM_TICKS)
        self.wait_until(lambda: self.carbon.has_files(self.plan.paths), "Carbon makes its files")

    def caught_up(self) -> None:
        """Wait until no more than the last ticks wait to be sent."""
        self.wait_until(lambda: self.last_counts["queued"] <= 2 * self.plan.points_per_tick, "catching up", 3 * PATIENCE_S)

    # ---- the fault ----

    def fault_begins(self) -> None:
        self._fault_s = min(self._fault_s, time.monotonic())

    def fault_ends(self) -> None:
        self._recovered_s = time.monotonic()

    def noticed(self) -> None:
        """Wait until the sender has said something since the fault began."""
        self.wait_until(lambda: self.notice_s is not None, "noticing the fault")

    @property
    def notice_s(self) -> float | None:
        told = [event["at"] - self._fault_s for event in self.events("told") if self._fault_s < event["at"] < self._ended_s]
        return min(told, default=None)

    # ---- the judge ----

    def judge(self, remark: str = "", *, dropped_by_policy: bool = False, with_lateness: bool = True) -> Row:
        """Deliver the rest, read back, compare."""
        if self._process is not None:
            self.end_sender()
        self.start_sender(drain=True)
        self._judges_sender = self._process.pid if self._process else 0
        self._wait_for_end()
        self.carbon.stop()
        offered = max(event["value"] for event in self.events("tick")) + 1
        judged = read_back(self.carbon, self.plan, self.acked + 1, offered)
        ends = self.events("end")
        dropped = sum(event["dropped"] + event["unconfirmed"] for event in ends)
        lost = judged.missing
        remarks = [remark]
        if dropped_by_policy:
            lost = max(0, judged.missing - dropped)
            remarks.append(f"{dropped} dropped by policy and counted, {judged.missing} of them missing")
            remarks += ["MISSED: nothing was dropped"] if not dropped else []
        elif dropped:
            remarks.append(f"MISSED: {dropped} dropped")
        if not any(event["value"] for event in self.events("drained")):
            remarks.append("MISSED: not all could be delivered")
        remarks += judged.complaints
        if self._recovered_s < math.inf and not any(event["at"] > self._recovered_s for event in self.events("acked")):
            remarks.append("MISSED: no fresh point after the fault")
        if damaged := sum(event["damaged"] for event in ends):
            remarks.append(f"MISSED: {damaged} records of the spool damaged")
        p99_percent, max_ms = self._lateness() if with_lateness else (None, None)
        words = "; ".join(word for word in remarks if word)
        seconds = None if self.notice_s is None else round(self.notice_s, 1)
        return Row(
            self.fault, self.seed, judged.sent, judged.stored, lost, self._duplicates(), p99_percent, max_ms, self._rss_mb(), seconds, words
        )

    def _duplicates(self) -> int:
        """Return how many points were written more than once before the judge came: as far as the senders lived to count them."""
        last: dict[int, dict[str, Any]] = {}
        offered = run = 0
        for event in self._events:
            if event["event"] == "begin":
                run = event["value"]
            if event["event"] == "tick":
                offered = max(offered, (event["value"] + 1) * self.plan.points_per_tick)
            if "sent" in event and run != self._judges_sender:
                last[run] = event
        written = sum(counts["sent"] + counts["resent"] for counts in last.values())
        final = list(last.values())[-1]
        return max(0, written - (offered - final["queued"] - final["dropped"]))

    def _lateness(self) -> tuple[float, float]:
        """Return the 99th percentile of the ticks' lateness in per cent of the interval, and the most in ms."""
        late_ms = sorted(event["late_ms"] for event in self.events("tick"))
        p99_ms = late_ms[math.ceil(0.99 * len(late_ms)) - 1]
        return round(p99_ms / (self._interval_s * 1000) * 100, 2), round(late_ms[-1], 1)

    def _rss_mb(self) -> float | None:
        """Return the most that memory rose above what it was before the fault."""
        before = [event["rss_mb"] for event in self.events("tick") if event["at"] < self._fault_s]
        after = [event["rss_mb"] for event in self.events("tick") if event["at"] >= self._fault_s]
        return round(max(after) - statistics.median(before), 1) if before and after else None
