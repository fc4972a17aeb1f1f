"""Real collectl with the three files of collectors/collectl, and one real carbon-cache for all tests of this folder.

What the tests share: `run` starts collectl and waits for its end, `Plan` writes what advance.ph shall put in place sample by sample,
`Store` reads back what carbon holds, `expected` says what the Python agent would have sent.
"""

import contextlib
import functools
import gzip
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import whisper

from bench.soak.carbon import Carbon
from lnetstat.model import Snapshot
from lnetstat.reduce import Reducer
from lnetstat.sources.replay import path_in_tree

REPO = Path(__file__).parents[2]
MODULES = REPO / "collectors" / "collectl"
ADVANCE = Path(__file__).with_name("advance.ph")
FAMILIES = ("peers", "nis", "buffers", "lnet_stats", "routes", "counters")
COMPARED = (*FAMILIES, "self.errors")
NS = 1_000_000_000
END_S = 120
SETTLED_S = 60
PERL_COMPLAINS = re.compile(r" at /?[^ \n]+ line [0-9]+")
MARKER = re.compile(r">>> ([0-9]+\.[0-9]+) <<<\n", re.ASCII)

MINUTE_FILES = {
    "stats": "0 0 0 7 8 9 0 10 11 12 0\n",
    "buffers": "pages   count credits     min\n    0     512     -12    -480\n    1     256     256     200\n  256    32    32    30\n",
}

Points = dict[tuple[str, int], float]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip every test of this folder where collectl is not installed; let the minute of test_seconds.py pass beside the others."""
    here = Path(__file__).parent
    ours = [item for item in items if here in item.path.parents]
    if not shutil.which("collectl"):
        for item in ours:
            item.add_marker(pytest.mark.skip(reason="collectl is missing (apt-get install collectl)"))
    last = [item for item in ours if item.path.name == "test_seconds.py"]
    if last:
        end = items.index(ours[-1]) + 1
        items[:] = [*(item for item in items[:end] if item not in last), *last, *items[end:]]


def lnet(*options: str) -> str:
    return ",".join([str(MODULES / "lnet.ph"), *options])


def oss(*options: str) -> str:
    return ",".join([str(MODULES / "lustre_oss.ph"), *options])


def export(address: str, *options: str) -> str:
    return ",".join([str(MODULES / "lnetcarbon.ph"), address, *options])


def command(*arguments: str | Path) -> list[str]:
    return ["collectl", *map(str, arguments)]


def run(*arguments: str | Path, status: int = 0, as_user: int | None = None) -> str:
    """Run collectl to its end and return what it printed, our words on stderr at the end; perl may not have complained."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, errors="surrogateescape", timeout=END_S, user=as_user, check=False
    )
    assert done.returncode == status, done.stdout[-2000:] + done.stderr
    assert not PERL_COMPLAINS.search(done.stderr), done.stderr
    return done.stdout + done.stderr


def raw_text(folder: Path) -> str:
    """Return the text of the one raw file in a folder."""
    (file,) = (file for file in folder.iterdir() if ".raw" in file.name)
    data = file.read_bytes()
    return (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8", "surrogateescape")


def samples_of(text: str) -> list[tuple[int, list[str]]]:
    """Return (marker in ms, record lines) of each sample in a raw file; the marker that only ends the last sample is left out."""
    parts = MARKER.split(text)[1:]
    return [(round(float(parts[at]) * 1000), parts[at + 1].splitlines()) for at in range(0, len(parts) - 2, 2)]


class Store(Carbon):
    """The carbon-cache of the session. Each run sends for a host (or a prefix) of its own."""

    @property
    def destination(self) -> str:
        return f"127.0.0.1:{self.port}"

    def points(self, host: str, prefix: str = "lnet", families: Sequence[str] = FAMILIES, begin_s: int | None = None) -> Points:
        """Return what is on disk for a host since `begin_s`, by default an hour: (path below PREFIX.HOST, second) -> value."""
        base = self.folder / "storage" / "whisper" / prefix.replace(".", "/") / host
        begin_s = int(time.time()) - 3600 if begin_s is None else begin_s
        found: Points = {}
        for family in families:
            place = base / family.replace(".", "/")
            for file in (*place.rglob("*.wsp"), *place.parent.glob(f"{place.name}.wsp")):
                path = str(file.relative_to(base).with_suffix("")).replace("/", ".")
                (first_s, end_s, step_s), values = whisper.fetch(str(file), begin_s - 1)
                assert step_s == 1
                seconds = zip(range(first_s, end_s), values, strict=True)
                found.update({(path, second): value for second, value in seconds if value is not None})
        return found

    def settled(
        self, host: str, count: int, prefix: str = "lnet", families: Sequence[str] = FAMILIES, begin_s: int | None = None
    ) -> Points:
        """Return a host's points once carbon has written all that it has taken and at least `count` are there; 1: as many as there are.

        Its writer goes round by round through all that it holds, longest series first: where a lone point of now is written, all series
        with more points are, and in the next round the others.
        """
        deadline_s = time.monotonic() + SETTLED_S
        while True:
            for _ in range(2 if count == 1 else 1):
                self._wait_for_a_round()
            found = {}
            with contextlib.suppress(whisper.CorruptWhisperFile):
                found = self.points(host, prefix, families, begin_s)
            if len(found) >= count or time.monotonic() > deadline_s:
                return found

    def _wait_for_a_round(self) -> None:
        deadline_s = time.monotonic() + SETTLED_S
        stamp = time.time_ns()
        second = stamp // NS
        name = f"test.round.r{stamp}"
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as line:
            line.sendall(f"{name} 1 {second}\n".encode())
        while True:
            with contextlib.suppress(whisper.CorruptWhisperFile):  # carbon is about to make it
                if self.stored(name).get(second) is not None:
                    return
            assert time.monotonic() < deadline_s, "carbon wrote nothing for a minute"
            time.sleep(0.02)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One running carbon-cache for all tests that only send to it."""
    made = Store(tmp_path_factory.mktemp("carbon") / "carbon")
    made.start()
    try:
        yield made
    finally:
        made.kill()


class Plan:
    """Steps for advance.ph: before each sample the files that changed are put in place, and with `clock` the sample is given its time.

    `tree` is what path= of the modules gets. Each step is a mapping of paths in the tree to bytes, None for a file that is not there;
    a path that a step leaves out keeps what it had.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        self.tree.mkdir(parents=True)
        self._steps = folder / "steps"
        self._steps.mkdir()
        self._lines: list[str] = []
        self._now: dict[str, bytes | None] = {}
        self.count = 0

    def step(self, files: Mapping[str, bytes | None], time_ns: int = 0) -> None:
        seconds, rest = divmod(time_ns // 1000, 1_000_000)
        self._lines.append(f"at {seconds} {rest}\n")
        for path, data in files.items():
            if path in self._now and self._now[path] == data:
                continue
            if path not in self._now:
                (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
            self._now[path] = data
            if data is None:
                self._lines.append(f"cut {self.tree / path}\n")
            else:
                new = self._steps / f"{len(self._lines)}"
                new.write_bytes(data)
                self._lines.append(f"put {new} {self.tree / path}\n")
        self.count += 1

    def advance(self) -> str:
        """Return the first part of --import, once all steps are known."""
        (self.folder / "plan").write_text("".join(self._lines))
        return f"{ADVANCE},plan={self.folder / 'plan'}"


def ticks_of(snapshots: Iterable[Snapshot], within_ns: int = 80_000_000) -> Iterator[list[Snapshot]]:
    """Put the snapshots of one host that were read together into ticks."""
    tick: list[Snapshot] = []
    for snapshot in snapshots:
        if tick and (snapshot.time_ns - tick[0].time_ns >= within_ns or any(snapshot.name == other.name for other in tick)):
            yield tick
            tick = []
        tick.append(snapshot)
    if tick:
        yield tick


def tree_path(name: str) -> str | None:
    """Return where in a tree the file of a snapshot belongs, None for what is no file of it: lnetctl's answers."""
    if name.startswith("lnetctl "):
        return None
    with contextlib.suppress(Exception):
        return path_in_tree(name)
    return None


def expected(host: str, samples: Sequence[tuple[int, Sequence[Snapshot]]], series_max: int | None = None) -> Points:
    """Return what the agent's own Reducer makes of the samples, (time in ns, snapshots): collectl's first sample is never exported.

    With self.errors: the reads and lines that failed, since the start and that first sample on.
    """
    reducer = Reducer(host) if series_max is None else Reducer(host, series_max=series_max)
    found: Points = {}
    for at, (time_ns, snapshots) in enumerate(samples):
        for snapshot in snapshots:
            reducer.add(snapshot._replace(host=host, time_ns=time_ns))
        if at == 0:
            reducer.points(None)
        else:
            found["self.errors", time_ns // NS] = reducer.errors
    for point in reducer.points(None):
        path = point.path.split(".", 2)[2]
        if path.partition(".")[0] in FAMILIES:
            found[path, point.time_s] = float(point.value)
    return found


def difference(found: Points, wanted: Points) -> str:
    """Return the first few points that differ, or nothing: pytest would print ten thousands."""
    lines = [f"missing {key}: {wanted[key]}" for key in sorted(wanted.keys() - found.keys())[:10]]
    lines += [f"more {key}: {found[key]}" for key in sorted(found.keys() - wanted.keys())[:10]]
    wrong = [key for key in sorted(wanted.keys() & found.keys()) if found[key] != wanted[key]]
    lines += [f"{key}: {found[key]} instead of {wanted[key]}" for key in wrong[:10]]
    counts = f"{len(wanted.keys() - found.keys())} missing, {len(found.keys() - wanted.keys())} more, {len(wrong)} other values"
    return "\n".join([counts, *lines]) if lines else ""


def shifted_to_now(last_ns: int) -> int:
    """Return by how much to move stamps, in whole seconds, so that the last lies a minute ago: carbon files a point by its age."""
    return ((time.time_ns() - 60 * NS - last_ns) // NS) * NS


def free_user() -> int:
    """Return an unprivileged user to drop to; skips where this process is not root and cannot."""
    if os.geteuid():
        pytest.skip("needs root to drop privileges")
    return 65534


class Minute(NamedTuple):
    """Collectl running for a minute at one sample a second, with our export and with stock graphite; how many samples each exports."""

    ours: subprocess.Popen[str]
    stock: subprocess.Popen[str]
    raw: Path
    stock_host: str
    samples: int


@pytest.fixture(scope="session", autouse=True)
def minute(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minute | None]:
    """Begin the minute at the start of the session, where test_seconds.py is asked for."""
    wanted = any(item.path.name == "test_seconds.py" and item.path.parent == Path(__file__).parent for item in request.session.items)
    if not wanted or not shutil.which("collectl"):
        yield None
        return
    store: Store = request.getfixturevalue("store")
    folder = tmp_path_factory.mktemp("minute")
    raw = folder / "raw"
    raw.mkdir()
    for name, text in MINUTE_FILES.items():
        (folder / name).write_text(text)
    samples = 60
    arguments = ("--import", lnet(f"path={folder}"), "-i1", "-c", str(samples))
    begin = functools.partial(subprocess.Popen, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ours = begin(command(*arguments, "-f", raw, "--export", export(store.destination, "host=seconds")))
    stock = begin(command(*arguments, "--export", f"graphite,{store.destination},b=lnet.stock.,e=_"))
    host = subprocess.run(["hostname"], capture_output=True, text=True, check=True).stdout.strip().replace(".", "_")
    yield Minute(ours, stock, raw, host, samples)
    for process in (ours, stock):
        if process.poll() is None:
            process.terminate()
        process.wait(30)
        if process.stdout:
            process.stdout.close()
