"""Runs of a real collectl for bench_collectl.py: what a sample costs it, what memory it takes, how long it keeps a CPU from others.

Every cost is taken beside the C program of the same second (collect/agg.c); collect/meter.ph, an import of its own, says what collectl's
process spent from one sample to the next.
"""

import gzip
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
COLLECT = HERE / "collect"
MODULES = HERE.parent / "collectors" / "collectl"
METER = COLLECT / "meter.ph"
TABLES = ("nis", "buffers", "stats")


class Cost(NamedTuple):
    """What meter.ph says at the end of a run."""

    sample_us: float
    samples: int
    peak_kb: int
    resident_kb: int


class Noise(NamedTuple):
    """Medians over some seconds, in microseconds: time stolen from a probe around the whole second, and the longest single theft."""

    stolen_us: float
    longest_us: float


class Bench:
    """A folder with the C programs and the tables of some numbers of peers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, more in (("agg", ()), ("win", ()), ("onerecord.so", ("-shared", "-fPIC", "-ldl"))):
            source = COLLECT / name.replace(".so", "")
            subprocess.run(["cc", "-O2", "-o", folder / name, source.with_suffix(".c"), *more], check=True)
        self.shim = {"LD_PRELOAD": str(folder / "onerecord.so"), "ONERECORD": "74"}

    def tree(self, peers: int) -> Path:
        tree = self.folder / "fake" / str(peers)
        if not tree.exists():
            subprocess.run([sys.executable, COLLECT / "gen.py", self.folder / "fake", str(peers)], check=True)
        return tree

    def changing(self, peers: int) -> Path:
        """Return a tree whose `peers` is a link that meter.ph turns: 5 % of its rows change from sample to sample."""
        from peers_texts import texts

        tree = self.folder / "changing" / str(peers)
        if not tree.exists():
            tree.mkdir(parents=True)
            for name in TABLES:
                shutil.copy(self.tree(peers) / name, tree / name)
            for number, text in enumerate(texts(peers, 12)):
                (tree / f"peers.{number}").write_text(text)
            (tree / "peers").symlink_to("peers.0")
        return tree

    def agg(self, tree: Path, samples: int, shim: dict[str, str]) -> tuple[float, list[int]]:
        """Return the C program's median microseconds of a sample, and its check numbers."""
        done = subprocess.run([self.folder / "agg", tree, str(samples)], env=shim, stdout=subprocess.PIPE, text=True, check=True)
        words = done.stdout.split()
        return float(words[words.index("med_us") + 1]), [int(word) for word in words[words.index("chk") + 1 :]]

    def collectl(
        self,
        samples: int,
        *imports: str,
        meter: Sequence[str] = (),
        arguments: Sequence[str | Path] = ("-i0",),
        shim: dict[str, str] | None = None,
    ) -> Cost:
        """Run collectl with these imports, as fast as it can unless `arguments` say otherwise."""
        answer, met = self.folder / "cost", self.folder / "met"
        for file in (answer, met):
            file.unlink(missing_ok=True)
        modules = ":".join([",".join([str(METER), f"to={answer}", *meter]), *imports])
        count = {"ONERECORD_COUNT": str(met)} if shim else {}
        done = subprocess.run(
            ["collectl", *map(str, arguments), f"-c{samples}", "--import", modules],
            env={"PATH": os.environ["PATH"]} | (shim or {}) | count,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode or not answer.exists():
            raise SystemExit(f"collectl ended with status {done.returncode}: {done.stderr}")
        if shim and not met.exists():
            raise SystemExit("onerecord.so met no read of collectl's")
        words = answer.read_text().split()
        return Cost(float(words[0]), *map(int, words[1:]))

    def reads(self) -> int:
        """Return how many reads of the latest run with the shim were cut down to one record."""
        return int((self.folder / "met").read_text())

    @contextmanager
    def raw_folder(self) -> Iterator[Path]:
        folder = self.folder / "raw"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield folder

    def noise(self, seconds: int, window_ms: int, collector: Sequence[str | Path] = ()) -> tuple[Noise, float]:
        """Return the probe's medians beside a collector on the same CPU, and what the collector was on it per second, in microseconds."""
        cpu = max(os.sched_getaffinity(0))
        probe: list[str | Path] = [self.folder / "win", str(cpu), str(seconds), "2", str(window_ms)]
        running = None
        if collector:
            command: list[str | Path] = ["chrt", "-f", "20", "taskset", "-c", str(cpu), *collector]
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(min(3, seconds))  # its start is no part of the figure
        try:
            before_ns = _on_cpu_ns(running.pid) if running else 0
            began_s = time.monotonic()
            done = subprocess.run(probe, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
            spent_us = (_on_cpu_ns(running.pid) - before_ns) / 1000 / (time.monotonic() - began_s) if running else 0.0
        finally:
            if running:
                running.terminate()
                running.wait()
        words = done.stderr.split()
        return Noise(float(words[words.index("stolen_us") + 1]), float(words[words.index("longest_us") + 1])), spent_us


def _on_cpu_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def lnet(tree: Path, *options: str) -> str:
    return ",".join([str(MODULES / "lnet.ph"), f"path={tree}", *options])


def counted(folder: Path) -> list[int]:
    """Return the check numbers of the last sample in a raw file, in the order of agg.c."""
    (file,) = (file for file in folder.iterdir() if ".raw" in file.name)
    data = file.read_bytes()
    text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
    last = {line.split()[0]: line.split()[1:] for line in text.splitlines() if re.match(r"lnt:[a-z]", line)}
    of = {
        name: [int(words[at]) for words in last.values()] for name, at in (("n", 0), ("over", 2), ("over_low", 3), ("low", 6), ("queue", 9))
    }
    return [sum(of["n"]), sum(of["over_low"]), sum(of["over"]), sum(of["queue"]), min(of["low"])]


class Sink:
    """A Carbon that takes everything and keeps only the number of lines."""

    def __init__(self) -> None:
        self.lines = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._ended = threading.Semaphore(0)
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            line, _ = self._listener.accept()
            with line:
                while data := line.recv(1 << 20):
                    self.lines += data.count(b"\n")
            self._ended.release()

    def received(self) -> int:
        """Return the lines of a connection that has ended, or is about to."""
        self._ended.acquire(timeout=60)
        lines, self.lines = self.lines, 0
        return lines


def export_us(bench: Bench, metrics: int, samples: int, pairs: int) -> tuple[float, float]:
    """Return what a metric costs with lnetcarbon.ph and with graphite.ph: microseconds, the same run without export taken off."""
    meter, sink = (f"metrics={metrics}", "clock"), Sink()
    exports = (f"{MODULES / 'lnetcarbon.ph'},{sink.address},series_max={metrics + 500}", f"graphite,{sink.address}")
    costs: dict[str, list[float]] = {export: [] for export in exports}
    for _ in range(pairs):
        without = bench.collectl(samples, meter=meter, arguments=("-i1",)).sample_us
        for export in exports:
            cost = bench.collectl(samples, meter=meter, arguments=("-i1", "--export", export))
            costs[export].append((cost.sample_us - without) / metrics)
            if (lines := sink.received()) < metrics * (samples - 1):  # of the first sample nothing is exported
                raise SystemExit(f"{export}: {lines} lines came, fewer than {samples - 1} samples of {metrics} metrics")
    ours, theirs = (statistics.median(costs[export]) for export in exports)
    return ours, theirs
