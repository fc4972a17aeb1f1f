"""Faults against real processes, and a table of what was lost.

`python -m bench.soak [--minutes 30] [--only F3,F5] [--seed N] [--json FILE]`

Each fault of Carbon's side runs five times with seeds that are printed, at durations that fit into half an hour, then those of the node's
side, and random faults for the rest of the time. Fewer minutes: fewer runs. Ends with 1 where a point is lost or a bound is missed.
"""

import argparse
import importlib
import json
import pkgutil
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import bench.soak
from bench.soak import faults, half_open, random_faults, storm
from bench.soak.rows import Row

MINUTES = 30.0
RUNS = 5
NODE_SIDE_S = 60.0  # for each module of the node's side, of half an hour
REST_S_MIN = 30.0
LATENESS_PERCENT_MAX = 10.0
NOTICE_S_MAX = 20.0
SLOW_STREAM = {"series": 10, "seconds_per_tick": 1, "hang_ticks": 40}

Run = Callable[[int, Path], Row]


class Kind(NamedTuple):
    """A fault: its name in the table and its run of each number, so that a fault with two ends has both."""

    name: str
    run: Callable[[int], Run]


def hang(number: int) -> Run:
    if number % 3 == 2:
        return lambda seed, folder: faults.carbon_hangs(seed, folder, killed=True, **SLOW_STREAM)
    return lambda seed, folder: faults.carbon_hangs(seed, folder, killed=number % 3 == 0)


def storm_of(number: int) -> Run:
    return lambda seed, folder: storm.storm(seed, folder, jitter_s_max=storm.JITTER_S if number < RUNS else 0.0)


KINDS = (
    Kind("none", lambda number: faults.no_fault),
    Kind("F1", lambda number: faults.carbon_restarts),
    Kind("F2", lambda number: faults.carbon_killed),
    Kind("F3", hang),
    Kind("F4", lambda number: faults.carbon_is_slow),
    Kind("F5", lambda number: half_open.half_open),
    Kind("F6", lambda number: faults.refused),
    Kind("F7", lambda number: faults.disk_full),
    Kind("F8", lambda number: lambda seed, folder: faults.sender_killed(seed, folder, kills=200 // RUNS)),
    Kind("F16", storm_of),
    Kind("F19", lambda number: lambda seed, folder: faults.stopped_in_mid_flush(seed, folder, hung=number % 2 == 1)),
)
ONCE = ("none", "F6")


def soak(minutes: float, only: set[str], seed: int) -> Iterator[Row]:
    """Yield the rows as they come."""
    began_s = time.monotonic()
    runs = max(1, round(RUNS * min(1.0, minutes / MINUTES)))
    for kind in KINDS:
        if only and kind.name not in only:
            continue
        count = 1 if kind.name in ONCE else runs + (kind.name == "F16")
        for number in range(count):
            is_last_storm = kind.name == "F16" and number == count - 1
            yield from _run(kind.name, seed + number, kind.run(RUNS if is_last_storm else number))
    for module in _node_side():
        names = {module.__name__.rpartition(".")[2], *getattr(module, "FAULTS", ())}
        if not only or only & names:
            yield from _several(min(names), seed, lambda module=module: module.run(NODE_SIDE_S * minutes / MINUTES, seed))
    if not only or "F20" in only:
        left_s = min(max(REST_S_MIN, minutes * 60 - (time.monotonic() - began_s)), random_faults.SECONDS_MAX)
        with tempfile.TemporaryDirectory(prefix="lnetstat-soak-") as folder:
            yield from _several("F20", seed, lambda: random_faults.random_faults(seed, Path(folder), left_s))


def _run(name: str, seed: int, run: Run) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="lnetstat-soak-") as folder:
        yield from _several(name, seed, lambda: [run(seed, Path(folder))])


def _several(name: str, seed: int, run: Callable[[], list[Row]]) -> list[Row]:
    """Return the rows; of a fault that could not be had here, or that did not end as it should, one that says so."""
    nothing = Row(name, seed, None, None, None, None, None, None, None, None, "")
    try:
        return run()
    except PermissionError as error:
        return [nothing._replace(remark=f"not run: {error}")]
    except (RuntimeError, OSError) as error:
        return [nothing._replace(remark=f"MISSED: {error}")]


def _node_side() -> list[ModuleType]:
    names = [module.name for module in pkgutil.iter_modules(bench.soak.__path__) if module.name.startswith("node_")]
    modules = [importlib.import_module(f"bench.soak.{name}") for name in names]
    return [module for module in modules if hasattr(module, "run")]


def failures(row: Row) -> list[str]:
    """Return which columns are not as they should be."""
    checks = {
        "lost": bool(row.lost),
        "lateness": (row.lateness_p99_percent or 0) >= LATENESS_PERCENT_MAX,
        "seconds to notice": (row.notice_s or 0) > NOTICE_S_MAX and "no write blocks" not in row.remark,
        "remark": "MISSED" in row.remark,
    }
    return [name for name, is_wrong in checks.items() if is_wrong]


HEAD = ("fault", "seed", "sent", "stored", "lost", "dupl.", "late p99 %", "late max ms", "RSS +MB", "notice s", "remark")
WIDTHS = (5, 8, 8, 8, 6, 8, 10, 11, 7, 8, 0)


def line(cells: tuple[object, ...]) -> str:
    texts = ["-" if cell is None else str(round(cell, 2)) if isinstance(cell, float) else str(cell) for cell in cells]
    padded = [text.rjust(width) for text, width in zip(texts, WIDTHS, strict=True)]
    return "  ".join((texts[0].ljust(WIDTHS[0]), *padded[1:]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, help="how long, about (default %(default)g); fewer means fewer runs of each"
    )
    parser.add_argument("--only", default="", help="faults, as F3,F5 or none or the name of a module of the node's side")
    parser.add_argument("--seed", type=int, help="of the first run of each fault; the others follow it (default: by chance)")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))  # Carbons, senders and devices go, too
    seed = random.randrange(10_000) if asked.seed is None else asked.seed
    rows = []
    print(line(HEAD), flush=True)
    for row in soak(asked.minutes, set(filter(None, asked.only.split(","))), seed):
        rows.append(row)
        print(line(row), flush=True)
        if asked.json:
            asked.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")
    wrong = [(row, columns) for row in rows if (columns := failures(row))]
    for row, columns in wrong:
        print(f"{row.fault} seed {row.seed}: {', '.join(columns)}", file=sys.stderr)
    lost = sum(row.lost or 0 for row in rows)
    print(f"{len(rows)} rows, {lost} points lost, {len(wrong)} rows that are not as they should be")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
