"""How soon the command line answers: --help against a bare interpreter, an hour of one router against the import of pandas."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter

Figure = tuple[str, float, float, str]
HEADERS = {
    "peers": "nid                      refs state  last   max   rtr   min    tx   min queue\n",
    "nis": "nid                      status alive refs peer  rtr   max    tx   min\n",
    "buffers": "pages count credits     min\n",
}


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes a shorter recording: for tests, not for figures."""
    runs = max(2, round(9 * scale))
    bare = _cpu_s([sys.executable, "-c", "pass"], runs)
    help_s = _cpu_s([sys.executable, "-m", "lnetstat", "--help"], runs)
    pandas_s = _cpu_s([sys.executable, "-c", "import pandas"], runs)
    with tempfile.TemporaryDirectory() as folder:
        _record(folder, max(400, round(3600 * scale)))
        analyze_s = _cpu_s([sys.executable, "-m", "lnetstat", "analyze", "--json", folder], max(1, runs // 3))
    return [
        ("--help: CPU / a bare interpreter's start", help_s / bare, 8, "<="),
        ("analyze of one hour at 1 Hz of a router with 100 peers: CPU / import pandas", analyze_s / pandas_s, 25, "<="),
    ]


def _cpu_s(command: list[str], runs: int) -> float:
    """Return the median of user and system time of the whole process."""
    times = []
    for _ in range(runs):
        before = os.times()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return statistics.median(times)


def _record(folder: str, seconds: int) -> None:
    """Record a router with 100 peers whose traffic stops for two seconds every 25 s while pings flood it."""
    start_ns = int(time.time()) * 10**9
    length = count = 0
    low = 8
    with RecordingWriter(Path(folder)) as writer:
        for second in range(seconds):
            flood = second % 25 < 2
            length += 10**6 if flood else 10**9
            count += 4000 if flood else 1000
            tx = -5 if flood else 6
            low = min(low, tx)
            peers = HEADERS["peers"] + "".join(
                "%-24s %4d %5s %5d %5d %5d %5d %5d %5d %d\n" % (f"10.0.0.{n}@o2ib", 3, "up", -1, 8, 8, 2, tx, low, (8 - tx) * 72)
                for n in range(100)
            )
            texts = {
                "peers": peers,
                "nis": HEADERS["nis"] + "%-24s %6s %5d %4d %4d %4d %5d %5d %5d\n" % ("10.0.0.200@o2ib", "up", 0, 101, 8, 0, 256, 200, 120),
                "buffers": HEADERS["buffers"]
                + "".join(f"{p:5} {c:5} {c - 9:7} {c - 99:7}\n" for p, c in ((0, 512), (1, 4096), (256, 256))),
                "stats": f"5 99 0 10 10 {count} 0 5952 6096 {length} 0\n",
            }
            stamp = start_ns + second * 10**9
            writer.write([Snapshot(name, "r1", stamp, stamp, 10**5, State.OK, 0, frozenset(), text) for name, text in texts.items()])


if __name__ == "__main__":
    for figure in run():
        print(json.dumps(figure))
