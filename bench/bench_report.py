"""What a report costs: one hour of 4 routers and 16 servers at 1 Hz, against the import of pandas and plotly in a process of its own.

Of every table some rows change from second to second, as on nodes of which few peers send at a time. In every cycle pings come for two
seconds, and what is routed and served falls: all those seconds must be in the page's first picture, although it is drawn of fewer points.
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter

Figure = tuple[str, float, float, str]

HOUR_S, CYCLE_S, FLOOD_S = 3600, 25, 2
ROUTERS, SERVERS = 4, 16
ROUTER_PEERS, SERVER_PEERS, SENDING = 250, 100, 20  # rows of `peers`, and how many of them change from sample to sample
LIMIT, WAITING = 8, 5
USUAL, FLOODED = 10**9, 2 * 10**8  # bytes routed in a second
MOST_MB = 6.0
TIMES_IMPORT = 30
START_NS = 1_790_000_000 * 10**9
NS = 10**9

PEERS_HEAD = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
NIS_HEAD = "nid                      status alive refs peer  rtr   max    tx   min\n"
BUFFERS_HEAD = "pages count credits     min\n"


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer nodes and less time: for tests, not for figures."""
    seconds = max(20 * CYCLE_S, round(HOUR_S * scale))
    routers, servers = max(1, round(ROUTERS * scale)), max(1, round(SERVERS * scale))
    with tempfile.TemporaryDirectory() as name:
        recording, page = str(Path(name) / "recording"), Path(name) / "report.html"
        record(recording, routers, servers, seconds)
        importing = sorted(_spent([sys.executable, "-c", "import pandas, plotly"]) for _ in range(5))[2]
        report = _spent([sys.executable, "-m", "lnetstat", "report", recording, "-o", str(page)])
        text = page.read_text(encoding="utf-8")
    count = len(floods(seconds))
    what = f"report of {routers + servers} nodes x {seconds} s at 1 Hz"
    return [
        (
            f"{what}: CPU ({report[0]:.1f} s; {report[1]:.1f} s elapsed) / import pandas, plotly",
            report[0] / importing[0],
            TIMES_IMPORT,
            "<=",
        ),
        (f"{what}: elapsed / import pandas, plotly", report[1] / importing[1], TIMES_IMPORT, "<="),
        (f"{what}: MB of the page", len(text.encode()) / 1e6, MOST_MB, "<="),
        (f"{what}: share of the {count} floods that its first picture shows", 1 - hidden_floods(text, seconds) / count, 1, ">="),
    ]


def record(folder: str, routers: int, servers: int, seconds: int) -> None:
    """Record nodes at 1 Hz, each with pings, dips and low credits in the same seconds of every cycle."""
    nodes = [_Router(number) for number in range(routers)] + [_Server(number) for number in range(servers)]
    with RecordingWriter(folder) as writer:
        for second in range(seconds):
            stamp = START_NS + second * NS
            for node in nodes:
                texts = node.texts(second, in_flood(second))
                writer.write(
                    [Snapshot(name, node.host, stamp, stamp, 10**5, State.OK, 0, frozenset(), text) for name, text in texts.items()]
                )


def in_flood(second: int) -> bool:
    """Whether the counters that are read in this second grew while pings flooded."""
    return second % CYCLE_S in range(1, FLOOD_S + 1)


def hidden_floods(page: str, seconds: int) -> int:
    """Return how many floods have no low value in the first panel of throughput of a report."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    if found is None:
        raise RuntimeError("the page holds no data")
    curve = json.loads(found[1])["axis"]["data"][0]
    time_s, rate = _numbers(curve["x"]) / 1000 - START_NS / NS, _numbers(curve["y"])
    low = time_s[rate < np.median(rate) / 2]
    # A rate stands at the sample that ends its second, or in the middle of that second.
    return sum(not np.any((low > begin) & (low <= begin + FLOOD_S)) for begin in floods(seconds))


def floods(seconds: int) -> range:
    """Return when the floods begin, seconds after the start, but for the first and the last cycle."""
    return range(CYCLE_S, seconds - CYCLE_S, CYCLE_S)


def _numbers(coded: dict[str, str] | list[float]) -> np.ndarray:
    """Return a column of plotly's JSON, which packs the bytes of arrays."""
    if isinstance(coded, list):
        return np.array(coded, dtype=np.float64)
    return np.frombuffer(base64.b64decode(coded["bdata"]), dtype=coded["dtype"]).astype(np.float64)


class _Node:
    """What all nodes have: the table of peers, of which some rows change."""

    def __init__(self, host: str, peers: int, seed: int) -> None:
        self.host = host
        self._chance = np.random.default_rng(seed)
        self._nids = [f"10.{seed}.{number // 250}.{number % 250}@o2ib" for number in range(peers)]
        self._low = np.full(peers, LIMIT)
        self._rows = [self._row(number, LIMIT) for number in range(peers)]
        self._sending: list[int] = []

    def peers(self, flood: bool) -> str:
        """Return the table of this second: those that sent before are idle again, others send."""
        for number in self._sending:
            self._rows[number] = self._row(number, LIMIT)
        self._sending = [int(number) for number in self._chance.choice(len(self._nids), SENDING, replace=False)]
        for number in self._sending:
            self._rows[number] = self._row(number, -WAITING if flood else LIMIT - int(self._chance.integers(1, LIMIT)))
        return PEERS_HEAD + "".join(self._rows)

    def _row(self, number: int, tx: int) -> str:
        self._low[number] = min(self._low[number], tx)
        queue_bytes = (LIMIT - tx) * 72
        return f"{self._nids[number]:<24} {3:4} {'up':>5} {-1:5} {LIMIT:5} {LIMIT:5} {2:5} {tx:5} {self._low[number]:5} {queue_bytes}\n"

    def nis(self, free: int) -> str:
        return f"{NIS_HEAD}{'10.0.0.1@o2ib':<24} {'up':>6} {0:5} {101:4} {LIMIT:4} {0:4} {256:5} {free:5} {120:5}\n"


class _Router(_Node):
    def __init__(self, number: int) -> None:
        super().__init__(f"rtr{number + 1:02}", ROUTER_PEERS, 10 + number)
        self._messages = self._length = 0

    def texts(self, second: int, flood: bool) -> dict[str, str]:
        self._messages += 4000 if flood else 1000
        self._length += round((FLOODED if flood else USUAL) * self._chance.normal(1, 0.03))
        used = 40 if flood else int(self._chance.integers(0, 9))
        pools = ((0, 512), (1, 4096), (256, 256))
        buffers = BUFFERS_HEAD + "".join(f"{pages:5} {count:5} {count - used:7} {count - 40:7}\n" for pages, count in pools)
        stats = f"5 99 0 10 10 {self._messages} 0 5952 6096 {self._length} 0\n"
        return {"peers": self.peers(flood), "nis": self.nis(200 - used), "buffers": buffers, "stats": stats}


class _Server(_Node):
    def __init__(self, number: int) -> None:
        super().__init__(f"oss{number + 1:02}", SERVER_PEERS, 100 + number)
        self._served = self._pinged = 0

    def texts(self, second: int, flood: bool) -> dict[str, str]:
        self._served += round((100 if flood else 500) * self._chance.normal(1, 0.03))
        self._pinged += 2000 if flood else 0
        return {
            "peers": self.peers(flood),
            "nis": self.nis(190 if flood else 200),
            "ost.OSS.ost_io.stats": _service(second, "ost_write", self._served),
            "ost.OSS.ost.stats": _service(second, "obd_ping", self._pinged),
        }


def _service(second: int, request: str, count: int) -> str:
    """Return the counters of a service as one file of `stats`."""
    now_s = START_NS // NS + second
    rows = [(f"req_{what}", unit) for what, unit in (("waittime", "usecs"), ("qdepth", "reqs"), ("active", "reqs"), ("timeout", "secs"))]
    lines = [f"{name:<25} {count} samples [{unit}] 1 9 {count * 3} {count * 9}\n" for name, unit in [*rows, (request, "usecs")] if count]
    return f"snapshot_time             {now_s}.000000000 secs.nsecs\n" + "".join(lines)


def _spent(command: list[str]) -> tuple[float, float]:
    """Return (CPU seconds, elapsed seconds) of a process and its children."""
    began_s, before = time.perf_counter(), os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    after = os.times()
    spent_s = after.children_user + after.children_system - before.children_user - before.children_system
    return spent_s, time.perf_counter() - began_s


if __name__ == "__main__":
    for figure in run():
        print(*figure)
