"""What the text of a simulated router with 25,000 clients costs: changed lines against all of them, and ten samples a second."""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lnetstat.model import Parsed
from lnetstat.simulator.scenario import load_scenario
from lnetstat.simulator.source import SimulatorSource
from lnetstat.simulator.text.peers import PeersText
from lnetstat.sources.replay import write_tree
from lnetstat.tables import peers

Figure = tuple[str, float, float, str]
CLIENTS = 25_000
CHANGING = 0.1
TIMES = 7
NS = 10**9
SAMPLE_NS = NS // 10
FLOOD_NS = 10 * NS  # when the first pings of the preset come


class Columns(NamedTuple):
    refs: NDArray[np.int64]
    rtr_max: NDArray[np.int64]
    rtr: NDArray[np.int64]
    rtr_min: NDArray[np.int64]
    tx_max: NDArray[np.int64]
    tx: NDArray[np.int64]
    tx_min: NDArray[np.int64]
    queue_bytes: NDArray[np.int64]


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer clients and samples: for tests, not for figures."""
    count = max(400, round(CLIENTS * scale))
    plain_s, full_s, changed_s, writing_s = _texts(count)
    share = _share_of_a_core(count, max(3, round(20 * scale)))
    written = (changed_s + writing_s) / (plain_s + writing_s)
    return [
        (f"peers of {count:,} rows: {CHANGING:.0%} changed / lnetstat.tables' own render, both with write and rename", written, 0.25, "<="),
        (f"peers of {count:,} rows: all changed / lnetstat.tables' own render", full_s / plain_s, 0.8, "<="),
        ("1 router and 1 OSS at 10 Hz in a flood, text and tree: share of a core", share, 0.25, "<="),
    ]


def _texts(count: int) -> tuple[float, float, float, float]:
    """Return CPU seconds: the table's render, all lines, changed lines, write and rename. The best of several, taken in turn."""
    nids = [f"{number}@gni" for number in range(1, count + 1)]
    states = ["NA"] * count
    chance = np.random.default_rng(1)
    text = PeersText(nids, states, peers.NINE.name)
    columns = _columns(count, chance)
    best = [float("inf")] * 4
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TIMES):
            columns = _changed(columns, chance)
            now = columns
            fresh = PeersText(nids, states, peers.NINE.name)
            printed = text.text(now, 0)
            changed = _changed(now, chance)
            rows = _rows(nids, now)
            tasks: list[Callable[[], object]] = [
                lambda rows=rows: peers.render(Parsed(rows, peers.NINE.name, {}, ()), peers.NINE.name),  # type: ignore[misc]
                lambda fresh=fresh, now=now: fresh.text(now, 0),  # type: ignore[misc]
                lambda changed=changed: text.text(changed, 0),  # type: ignore[misc]
                lambda printed=printed: _write(folder, printed),  # type: ignore[misc]
            ]
            best = [min(known, _cpu_s(task)) for known, task in zip(best, tasks, strict=True)]
            columns = changed
    return best[0], best[1], best[2], best[3]


def _columns(count: int, chance: np.random.Generator) -> Columns:
    limit = np.full(count, 16, np.int64)
    used = chance.integers(0, 40, count)
    return Columns(1 + used, limit, limit - used // 2, limit - used, limit, limit - used, limit - 2 * used, used * 272)


def _changed(columns: Columns, chance: np.random.Generator) -> Columns:
    rows = chance.choice(columns.tx.size, round(columns.tx.size * CHANGING), replace=False)
    tx, refs, queue = columns.tx.copy(), columns.refs.copy(), columns.queue_bytes.copy()
    tx[rows] -= 1
    refs[rows] += 1
    queue[rows] += 272
    return columns._replace(tx=tx, refs=refs, queue_bytes=queue)


def _rows(nids: list[str], columns: Columns) -> tuple[peers.PeersRow, ...]:
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(
        peers.PeersRow(nid, 0, refs, "NA", None, tx_max, rtr, rtr_min, tx, tx_min, queue)
        for nid, (refs, _, rtr, rtr_min, tx_max, tx, tx_min, queue) in zip(nids, numbers, strict=True)
    )


def _write(folder: str, text: str) -> None:
    temporary = os.path.join(folder, "peers.tmp")
    with open(temporary, "wb") as file:
        file.write(text.encode())
    os.replace(temporary, os.path.join(folder, "peers"))


def _share_of_a_core(clients: int, samples: int) -> float:
    """Return CPU time over simulated time of reading and writing all files of both nodes while the first flood comes in."""
    source = SimulatorSource(load_scenario("paper-untuned", {"clients.count": str(clients), "run.sample": "100 ms"}))
    source.advance(FLOOD_NS - SAMPLE_NS)
    source.read(0, 0)
    spent_s = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for sample in range(samples):
            time_ns = FLOOD_NS + sample * SAMPLE_NS
            source.advance(time_ns)
            spent_s += _cpu_s(lambda time_ns=time_ns: _put(source, time_ns, folder))  # type: ignore[misc]
    return spent_s / (samples * SAMPLE_NS / NS)


def _put(source: SimulatorSource, time_ns: int, folder: str) -> None:
    for snapshot in source.read(time_ns, 0):
        write_tree(snapshot, Path(folder) / snapshot.host)


def _cpu_s(task: Callable[[], object]) -> float:
    began_s = time.process_time()
    task()
    return time.process_time() - began_s


if __name__ == "__main__":
    for figure in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(*figure)
