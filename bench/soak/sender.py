"""The process that the faults are about: the agent's clock and its sink with a spool, and points whose value is their number.

`python -I -S sender.py PACKAGE_PARENT SETTINGS`, settings as JSON (the keys of `Settings`). Appends to its log one JSON object a line:

- `begin`: it runs now. `tick`: offered; with how late, memory, open files and the sink's counts. `acked`: all ticks up to this one are
  in the spool. `told`: a line of the sink's. `end`: it closed. Every line has `at`, monotonic seconds.

SIGTERM ends it as it ends the agent. With `drain` it offers nothing and ends when everything is delivered.
"""

import gc
import json
import os
import signal
import sys
import time
from bisect import bisect_left
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

sys.path += sys.argv[1:2] if __name__ == "__main__" else []

from bench.soak.points import Plan
from lnetstat.agent.ticks import NS, Ticks
from lnetstat.agent.waiting import Waiter
from lnetstat.sinks._connection import Pacer
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.sinks.spool import Spool

DRAIN_S = 300.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Settings(NamedTuple):
    """What a sender is told. `jitter_s_max`: None for the agent's own pace of reconnects, else at most so long between tries.
    `outage_s`: a Carbon that is away for so long, on a clock that runs as fast as the tries do: noted as `outage` when it is over."""

    log: str
    spool: str
    host: str
    port: int
    plan: list[Any]
    first_tick: int
    interval_s: float
    resend_s: float
    jitter_s_max: float | None
    seed: int
    max_bytes: int
    outage_s: float
    drain: bool


class SimulatedOutage(Pacer):
    """The agent's own pace on a clock of its own, where no try waits; after `outage_s` of it at a pace for tests, on the real clock."""

    def __init__(self, random: Random, outage_s: float, over: Callable[..., None]) -> None:
        super().__init__(random)
        self._now_s, self._outage_s, self._over = 0.0, outage_s, over
        self._tries_at_s: list[float] = []

    def delay_s(self, now_s: float) -> float:
        if self._now_s >= self._outage_s:
            return 0.1
        self._now_s += super().delay_s(self._now_s)
        if self._now_s >= self._outage_s:
            minutes = [bisect_left(self._tries_at_s, at_s + 60) - number for number, at_s in enumerate(self._tries_at_s)]
            self._over(tries=len(self._tries_at_s), tries_a_minute=max(minutes))
        return 0.0

    def tried(self, now_s: float) -> None:
        super().tried(self._now_s)
        self._tries_at_s.append(self._now_s)


class Sender:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._log = os.open(settings.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._stopping = False
        self._waiter = Waiter()
        self._spool = Spool(settings.spool, max_bytes=settings.max_bytes, max_age_s=0)
        self._sink = CarbonSink(
            settings.host,
            settings.port,
            spool=self._spool,
            resend_s=settings.resend_s,
            random=Random(settings.seed),
            pacer=self._pacer(),
            report=lambda line: self._note("told", line),
        )

    def _pacer(self) -> Pacer | None:
        longest_s = self._settings.jitter_s_max
        if self._settings.outage_s:
            return SimulatedOutage(Random(self._settings.seed), self._settings.outage_s, lambda **more: self._note("outage", True, **more))
        if longest_s is None:
            return None
        return Pacer(Random(self._settings.seed), delay_s_min=min(0.05, longest_s), delay_s_max=longest_s, tries_a_minute_max=100_000)

    def stop(self) -> None:
        self._stopping = True
        self._waiter.wake()

    def run(self) -> None:
        self._note("begin", os.getpid())
        if self._settings.drain:
            self._note("drained", self._sink.flush(DRAIN_S))
        else:
            self._tick_until_stopped()
        began_s = time.monotonic()
        self._sink.close(DRAIN_S if self._settings.drain else None)
        self._note("end", time.monotonic() - began_s, **self._counts())

    def _tick_until_stopped(self) -> None:
        settings = self._settings
        plan = Plan(*settings.plan)
        paths = plan.paths
        ticks = Ticks(settings.interval_s, time.monotonic_ns(), time.time_ns())
        number = settings.first_tick
        while self._wait_until(ticks.due_ns):
            late_ms = (time.monotonic_ns() - ticks.due_ns) / 1e6
            self._sink.offer(plan.points(number, paths))
            self._note("tick", number, late_ms=late_ms, missed=ticks.missed, **self._usage(), **self._counts())
            number += 1
            ticks.advance(time.monotonic_ns())
            left_s = (ticks.due_ns - time.monotonic_ns()) / NS
            wanted = (number - settings.first_tick) * plan.points_per_tick
            # What the disk did not take waits in memory and is not acknowledged.
            if self._sink.commit(max(0.0, left_s)) and self._spool.counts.appended == wanted:
                self._note("acked", number - 1)

    def _wait_until(self, due_ns: int) -> bool:
        while not self._stopping and (left_ns := due_ns - time.monotonic_ns()) > 0:
            self._waiter.wait(left_ns / NS)
        return not self._stopping

    def _usage(self) -> dict[str, float]:
        with open("/proc/self/statm", "rb") as file:
            rss_mb = int(file.read().split()[1]) * PAGE_BYTES / 1e6
        return {"rss_mb": rss_mb, "files": len(os.listdir("/proc/self/fd"))}

    def _counts(self) -> dict[str, int]:
        counts = self._sink.counts
        on_disk = self._spool.counts
        return {
            "sent": counts.sent,
            "resent": counts.resent,
            "queued": counts.queued,
            "dropped": counts.dropped,
            "delivered": on_disk.delivered,
            "unconfirmed": on_disk.unconfirmed,
            "damaged": on_disk.damaged,
        }

    def _note(self, event: str, value: Any, **more: float) -> None:
        os.write(self._log, json.dumps({"event": event, "value": value, "at": time.monotonic(), **more}).encode() + b"\n")


def main() -> None:
    sender = Sender(Settings(**json.loads(sys.argv[2])))
    signal.signal(signal.SIGTERM, lambda _number, _frame: sender.stop())
    gc.freeze()
    sender.run()


if __name__ == "__main__":
    main()
