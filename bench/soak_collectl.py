"""Ten minutes of real collectl with the plug-ins, at several intervals, while Carbon dies and comes back: is a second missing or twice?

`make soak-collectl`, or `python -m bench.soak_collectl [MINUTES]`. Our export sends to a Carbon that is killed after a third of the time
and is back a tenth of it later; stock graphite, which keeps nothing, sends to one that stands. Ends with 1 when a second has no point or
two samples.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.collectors.conftest import MINUTE_FILES, Store, command, export, lnet, raw_text, samples_of

INTERVALS_S = (0.1, 0.5, 1, 2)
SERIES = "buffers.tiny.credits_worst"
PEERS = 1000
ROW = "10.2.{0}.{1}@tcp1              3    up    -1     8     8    -1     {2}    -7 4096\n"


class Run(NamedTuple):
    """One collectl: how often it samples, how many samples it exports, and where its points and its raw file are."""

    name: str
    interval_s: float
    samples: int
    process: subprocess.Popen[bytes]
    raw: Path | None
    store: Store
    host: str
    prefix: str


class Seen(NamedTuple):
    """What came of a run. `worst_s`: the longest way from one sample to the next."""

    seconds: int
    holes: int
    doubled: int
    worst_s: float


def tree(folder: Path) -> Path:
    folder.mkdir()
    for name, text in MINUTE_FILES.items():
        (folder / name).write_text(text)
    header = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
    (folder / "peers").write_text(header + "".join(ROW.format(at // 250, at % 250 + 1, at % 9 - 1) for at in range(PEERS)))
    return folder


def begin(folder: Path, name: str, interval_s: float, minutes: float, to: Store, where: Path, stock: bool = False) -> Run:
    samples = round(minutes * 60 / interval_s)
    raw = folder / f"raw-{name}"
    raw.mkdir()
    host = subprocess.run(["hostname"], capture_output=True, text=True, check=True).stdout.strip().replace(".", "_") if stock else name
    exporting = f"graphite,{to.address},b=lnet.stock.,e=_" if stock else export(to.address, f"host={name}", f"spool={folder / name}")
    files = [] if stock else ["-f", raw]
    arguments = ["--import", lnet(f"path={where}"), f"-i{interval_s}", "-c", str(samples), *files, "--export", exporting]
    log = (folder / f"{name}.log").open("wb")
    process = subprocess.Popen(command(*arguments), stdout=log, stderr=log)
    return Run(name, interval_s, samples, process, None if stock else raw, to, host, "lnet.stock" if stock else "lnet")


def look(run: Run, begin_s: int) -> Seen:
    """Read back the seconds of a run. At less than a second every second must be there; else there are as many as samples."""
    wanted = run.samples if run.interval_s >= 1 else 1
    points = run.store.settled(run.host, wanted, run.prefix, ("buffers",), begin_s)
    seconds = sorted(second for path, second in points if path == SERIES)
    step_s = max(1, round(run.interval_s))
    holes = sum((later - earlier - 1) // step_s for earlier, later in pairwise(seconds))
    doubled = run.samples - len(seconds) - holes if run.interval_s >= 1 else 0
    worst_s = 0.0
    if run.raw is not None:
        stamps = [stamp / 1000 for stamp, _ in samples_of(raw_text(run.raw))]
        worst_s = max(later - earlier for earlier, later in pairwise(stamps))
        doubled += abs(len(stamps) - run.samples - 1)  # a sample that the raw file lost
    return Seen(len(seconds), holes if seconds else run.samples, doubled, worst_s)


def soak(minutes: float, folder: Path, intervals_s: Sequence[float] = INTERVALS_S) -> int:
    killed, standing = Store(folder / "killed"), Store(folder / "standing")
    killed.start()
    standing.start()
    try:
        where = tree(folder / "tree")
        begin_s = int(time.time())
        runs = [begin(folder, f"every-{interval_s:g}s".replace(".", "-"), interval_s, minutes, killed, where) for interval_s in intervals_s]
        runs.append(begin(folder, "stock", 1, minutes, standing, where, stock=True))
        time.sleep(minutes * 60 / 3)
        killed.kill()
        print(f"after {time.time() - begin_s:.0f} s Carbon was killed", flush=True)
        time.sleep(minutes * 60 / 10)
        killed.start()
        print(f"after {time.time() - begin_s:.0f} s Carbon was started again", flush=True)
        bad = 0
        for run in runs:
            status = run.process.wait(minutes * 60 + 120)
            seen = look(run, begin_s)
            words = (folder / f"{run.name}.log").read_text(errors="replace").strip().splitlines()
            what = f"{run.samples} samples, {seen.seconds} seconds with a point, {seen.holes} holes, {seen.doubled} doubled or lost"
            print(f"{run.name}: status {status}; {what}; longest way between samples {seen.worst_s:.3f} s", flush=True)
            for word in words:
                print(f"    {word}")
            bad += (status != 0) + seen.holes + seen.doubled
        print("0 holes and 0 doubled seconds" if not bad else f"{bad} seconds are wrong")
        return 1 if bad else 0
    finally:
        killed.stop()
        standing.stop()


def main(arguments: Sequence[str]) -> int:
    minutes = float(arguments[0]) if arguments else 10.0
    with tempfile.TemporaryDirectory(prefix="lnetstat-soak-") as folder:
        return soak(minutes, Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
