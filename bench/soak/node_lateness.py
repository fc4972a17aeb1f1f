"""Does any fault make samples late? Real agents as processes, at half a second, while something is wrong around them.

A file that hangs (FUSE), a recording whose disk is full (a tmpfs of 1 MiB), a Carbon that takes connections and never reads, a log whose
reader has gone and is replaced, and nothing at all, to compare with. The lateness of a sample is the distance of the stamp of its first
read (in the recording) from the whole multiple of the interval before it; what the agent itself says (`late_ms_worst`) is told beside it.
Needs root for FUSE and tmpfs. `python -m bench.soak.node_lateness [SECONDS]`.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from bench.soak.rows import Row
from lnetstat.recording import Recording
from tests.agent_process import make_tree, running

FAULTS = ("lateness",)
INTERVAL_S = 0.5
LATE_PERCENT_MAX = 10.0
WARM_UP = 2  # samples: the first one looks for what there is
HANGING = Path(__file__).parents[2] / "tests" / "hanging_file.py"
NS = 10**9


class Place(NamedTuple):
    """Where an agent works: the tree that it reads, and a folder for what it writes."""

    tree: Path
    folder: Path


class Lateness(NamedTuple):
    """How late samples began. `said_ms`: the worst by the agent's own count; `missed`: ticks without a sample."""

    samples: int
    p50_percent: float
    p99_percent: float
    max_ms: float
    said_ms: float
    missed: int
    lines: list[str]


@contextmanager
def nothing(place: Place) -> Iterator[dict[str, Any]]:
    yield {}


@contextmanager
def hanging_file(place: Place) -> Iterator[dict[str, Any]]:
    folder = place.folder / "hanging"
    folder.mkdir()
    with subprocess.Popen([sys.executable, str(HANGING), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout
        if server.stdout.readline() != "mounted\n":
            raise PermissionError("no FUSE here")
        (place.tree / "peers").unlink()
        (place.tree / "peers").symlink_to(folder / "peers")
        try:
            yield {}
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
            server.kill()


@contextmanager
def full_disk(place: Place) -> Iterator[dict[str, Any]]:
    """The disk of the recording is full from the start: nothing is recorded, so only the agent's own word counts."""
    folder = place.folder / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    try:
        with open(folder / "filler", "wb", buffering=0) as filler, suppress(OSError):
            while filler.write(bytes(4096)):
                pass
        yield {"recording": str(folder / "rec"), "stdout": True}
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def hung_carbon(place: Place) -> Iterator[dict[str, Any]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield {"carbon": ("{}:{}".format(*listener.getsockname()),), "spool": str(place.folder / "spool")}


@contextmanager
def rotated_log(place: Place) -> Iterator[dict[str, Any]]:
    """Whoever reads the log goes away, while there is something to say at every moment: a table that turns bad and good."""
    good, end = (place.tree / "nis").read_text(), threading.Event()

    def spoil() -> None:
        text = "garbage\n"
        while not end.wait(INTERVAL_S):
            (place.tree / "new").write_text(text)
            (place.tree / "new").rename(place.tree / "nis")
            text = "garbage\n" if text == good else good

    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        yield {"log_goes": True}
    finally:
        end.set()
        thread.join()


CASES: dict[str, Callable[[Place], Any]] = {
    "none": nothing,
    "a file hangs": hanging_file,
    "the recording's disk is full": full_disk,
    "Carbon hangs": hung_carbon,
    "the log's reader goes": rotated_log,
}


def measure(fault: str, folder: Path, samples: int) -> Lateness:
    """Run an agent for so many samples under a fault. Raises PermissionError where the fault needs rights that are not there."""
    place = Place(make_tree(folder / "tree"), folder)
    with ExitStack() as stack:
        given = stack.enter_context(CASES[fault](place))
        log_goes = given.pop("log_goes", False)
        settings = {"recording": str(folder / "rec"), **given, "status": str(folder / "status")}
        with running(root=str(place.tree), host="rtr", interval_s=INTERVAL_S, samples=samples, **settings) as agent:
            if log_goes:
                agent.stderr.readline()
                agent.stderr.close()
                agent.wait(samples * INTERVAL_S + 60)
                lines = []
            else:
                _, words = agent.communicate(timeout=samples * INTERVAL_S + 60)
                lines = words.splitlines()
    said = json.loads((folder / "status").read_text())
    late_ns = _late_ns(folder / "rec") if "rec" in os.listdir(folder) else []
    late_ns.sort()
    p50, p99 = (late_ns[int(len(late_ns) * share)] if late_ns else 0 for share in (0.5, 0.99))
    percent = 100 / (INTERVAL_S * NS)
    return Lateness(len(late_ns), p50 * percent, p99 * percent, max(late_ns, default=0) / 1e6, said["late_ms_worst"], said["late"], lines)


def _late_ns(recording: Path) -> list[int]:
    """Return for each tick how far behind its whole multiple of the interval its first read began."""
    first: dict[int, int] = {}
    interval_ns = round(INTERVAL_S * NS)
    for snapshot in Recording(str(recording)).snapshots():
        tick, late_ns = divmod(snapshot.time_ns, interval_ns)
        first[tick] = min(late_ns, first.get(tick, late_ns))
    return [first[tick] for tick in sorted(first)[WARM_UP:]]


def run(seconds: float, seed: int) -> list[Row]:
    """Measure each fault for its part of the time."""
    rows = []
    for fault in CASES:
        with tempfile.TemporaryDirectory(prefix="lnetstat-late-") as name:
            try:
                rows.append(_row(fault, seed, measure(fault, Path(name), max(20, int(seconds / len(CASES) / INTERVAL_S)))))
            except (PermissionError, subprocess.CalledProcessError) as error:
                rows.append(Row(f"late: {fault}", seed, None, None, None, None, None, None, None, None, f"not run: {error}"))
    return rows


def _row(fault: str, seed: int, seen: Lateness) -> Row:
    remark = f"{seen.samples} samples at {INTERVAL_S:g} s, {seen.missed} missed; the agent itself says at worst {seen.said_ms:.1f} ms"
    if fault != "the recording's disk is full":
        remark = ("MISSED: " if seen.p99_percent >= LATE_PERCENT_MAX else "") + f"p50 {seen.p50_percent:.1f} %; {remark}"
        return Row(f"late: {fault}", seed, None, None, None, None, seen.p99_percent, seen.max_ms, None, None, remark)
    remark = ("MISSED: " if seen.said_ms >= LATE_PERCENT_MAX * INTERVAL_S * 10 else "") + remark
    return Row(f"late: {fault}", seed, None, None, None, None, None, seen.said_ms, None, None, remark)


if __name__ == "__main__":
    for row in run(float((sys.argv[1:] or ["50"])[0]), 1):
        print(row)
