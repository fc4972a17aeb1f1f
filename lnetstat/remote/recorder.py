"""Recording many nodes: all are asked at whole multiples of the interval, and each look is written as it comes."""

import time
from collections.abc import Callable

from lnetstat.agent.ticks import NS, Ticks
from lnetstat.recording import RecordingWriter
from lnetstat.remote.crew import Crew

FIRST_S = 3.0  # for nodes to connect before the first look; those that take longer are asked later
LAST_S = 5.0  # for the last look's answers


def record(
    crew: Crew,
    writer: RecordingWriter,
    report: Callable[[str], None],
    *,
    interval_s: float,
    samples: int = 0,
    stopped: Callable[[], bool] = lambda: False,
) -> None:
    """Record until `stopped` or until so many `samples` (0: no end). What cannot be written is told once, and that it can be again."""
    told = ""

    def write_until(until_s: float, enough: Callable[[], bool]) -> None:
        nonlocal told
        for look in crew.wait(until_s, enough):
            writer.write(look)
            if writer.last_error != told:
                told = writer.last_error
                report(told or f"{writer.folder}: can be written again")

    write_until(time.monotonic() + FIRST_S, lambda: stopped() or crew.all_known())
    ticks = Ticks(interval_s, time.monotonic_ns(), time.time_ns())
    asked = 0
    while not stopped() and not (samples and asked == samples):
        write_until(ticks.due_ns / NS, stopped)
        if stopped():
            break
        crew.ask()
        asked += 1
        ticks.advance(time.monotonic_ns())
    write_until(time.monotonic() + LAST_S, crew.all_answered)
