"""Some of the many senders of F16 in one process: each a sink with a spool of its own, and one metric.

`python -I -S storm_senders.py PACKAGE_PARENT SETTINGS`. Reads words from stdin, answers each with a line: `offer` (one more second for
every sender, in its spool), `flush` (all written; how many are not), `close`.
"""

import json
import os
import sys
import threading
import time
from random import Random
from typing import Any, NamedTuple

sys.path += sys.argv[1:2] if __name__ == "__main__" else []

from bench.soak.points import Plan
from lnetstat.model import Point
from lnetstat.sinks._connection import Pacer
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.sinks.spool import Spool

FLUSH_S = 240.0
CLOSE_S = 60.0
STACK_BYTES = 262_144


class StormSettings(NamedTuple):
    """The senders `numbers[0]` up to `numbers[1]` of a plan. `jitter_s_max` 0: each comes back at once."""

    host: str
    port: int
    folder: str
    plan: list[Any]
    numbers: list[int]
    jitter_s_max: float
    seed: int


def sink_of(settings: StormSettings, number: int) -> CarbonSink:
    longest_s = settings.jitter_s_max
    pacer = Pacer(Random(settings.seed * 1_000_003 + number), delay_s_min=min(1.0, longest_s), delay_s_max=longest_s)
    # Of a machine's death no sender has to be protected here, and thousands of fsyncs would spread the storm.
    spool = Spool(f"{settings.folder}/{number}", max_bytes=1 << 20, max_age_s=0, sync_wanted=False)
    return CarbonSink(settings.host, settings.port, spool=spool, pacer=pacer)


def main() -> None:
    settings = StormSettings(**json.loads(sys.argv[2]))
    plan = Plan(*settings.plan)
    os.makedirs(settings.folder, exist_ok=True)
    threading.stack_size(STACK_BYTES)
    numbers = range(*settings.numbers)
    paths = plan.paths
    sinks = [sink_of(settings, number) for number in numbers]
    second = plan.begin_s
    print("ready", flush=True)
    for line in sys.stdin:
        word = line.strip()
        answer = 0
        if word == "offer":
            for sink, number in zip(sinks, numbers, strict=True):
                sink.offer([Point(paths[number], plan.value(number, second), second)])
            second += 1
            answer = sum(not sink.commit(FLUSH_S) for sink in sinks)
        if word == "flush":
            deadline_s = time.monotonic() + FLUSH_S
            answer = sum(not sink.flush(max(0.0, deadline_s - time.monotonic())) for sink in sinks)
        if word == "close":
            closing = [threading.Thread(target=sink.close, args=(CLOSE_S,)) for sink in sinks]
            for thread in closing:
                thread.start()
            for thread in closing:
                thread.join()
        print(answer, sum(sink.resent for sink in sinks), flush=True)


if __name__ == "__main__":
    main()
