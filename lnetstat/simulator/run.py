"""Runs of a scenario: into a recording, or live into a tree; beside it the ground truth and the progress of the I/O processes."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from lnetstat.errors import RecordingError, SimulatorError
from lnetstat.recording import RecordingWriter, is_recording, lock
from lnetstat.simulator.background import Groups, last_sample_ns, run_group
from lnetstat.simulator.engine import Stop
from lnetstat.simulator.follow import NS, GroupTruth, side_by_side
from lnetstat.simulator.scenario import Scenario
from lnetstat.simulator.source import SimulatorSource, Tick
from lnetstat.simulator.truth import SCHEMA, summary
from lnetstat.sources.replay import write_tree
from lnetstat.workers.stopping import ctrl_c

__all__ = ["Progress", "Result", "live", "record", "run_group", "truth_of"]

PROGRESS_COLUMNS = ("time_s", "group", "process", "rpcs", "bytes")
PROGRESS_EVERY_NS = NS
NAP_S = 0.2


class Progress(NamedTuple):
    """How far a run is: simulated time of the observed groups, and the other groups, which run beside or after them."""

    time_ns: int
    duration_ns: int
    groups_done: int
    groups: int

    @property
    def share(self) -> float:
        """How much of the work is done, 0 to 1."""
        observed = self.time_ns / self.duration_ns if self.duration_ns else 1.0
        return (observed + self.groups_done) / (1 + self.groups)


class Result(NamedTuple):
    """What a run left: the folder and the two files beside it, the truth as written, and how it went.

    `samples`: taken of each host; `simulated_ns`: up to where; `interrupted`: Ctrl-C or SIGTERM came first, `signal_number` says which
    (else 0); `late_ns`: how late the last sample of a live tree came.
    """

    folder: str
    truth_path: str
    progress_path: str
    truth: dict[str, Any]
    samples: int
    simulated_ns: int
    bytes_written: int
    text_bytes: int
    interrupted: bool
    signal_number: int
    late_ns: int


Report = Callable[[Progress], None]


def record(
    scenario: Scenario,
    folder: str | os.PathLike[str],
    *,
    processes: int = 1,
    progress: Report | None = None,
    compiled: bool | None = None,
) -> Result:
    """Simulate all groups and record the observed nodes in `folder`; FOLDER.truth.json and FOLDER.progress.csv come to lie beside it.

    The files are the same for any number of processes. Ctrl-C or SIGTERM end the run at the last sample taken: what is there is a whole
    recording, and the truth holds up to that time, of the groups that were simulated so far (result.interrupted). Raises SimulatorError and
    RecordingError, for one where the disk is full.
    """
    path = _name_of(folder)
    if is_recording(path):
        raise SimulatorError(f"{path}: holds a recording already: choose another folder, or remove it")
    _check_beside(path)
    report = progress or _no_report
    with ctrl_c() as stop, RecordingWriter(path) as writer, _ProgressFile(path) as rows:
        source = SimulatorSource(scenario, compiled=compiled)
        rest = [group for group in range(scenario.groups) if group not in source.groups]
        with Groups(scenario, rest, processes, stop, compiled=compiled) as others:
            samples = time_ns = 0
            for tick in source.ticks(stop):
                _write(writer, tick)
                samples, time_ns = samples + 1, tick.time_ns
                rows.take(source, time_ns)
                report(Progress(time_ns, scenario.duration_ns, others.done, len(rest)))
                if stop.is_set():
                    break
                if samples == 1:  # only now: the engine is compiled, and other processes find it in the cache
                    others.start()
            while not (stop.is_set() or others.finished):
                others.work()
                report(Progress(time_ns, scenario.duration_ns, others.done, len(rest)))
            complete = samples == _sample_count(scenario)
            truths = [*source.truths(), *(others.truths() if complete else ())]
        truth = truth_of(scenario, truths, time_ns, complete=complete and others.finished)
        _write_truth(path, truth)
    interrupted = stop.is_set() and not truth["complete"]
    number = stop.number if interrupted else 0
    files = path, _truth_path(path), rows.path
    return Result(*files, truth, samples, time_ns, writer.bytes_written, writer.text_bytes, interrupted, number, 0)


def live(
    scenario: Scenario,
    folder: str | os.PathLike[str],
    *,
    speed: float = 1.0,
    progress: Report | None = None,
    compiled: bool | None = None,
) -> Result:
    """Write the observed nodes' files as a tree for `--root FOLDER` (FOLDER/HOST where there are several), at `speed` times the wall clock.

    Every file is replaced whole (rename). Stamps are the wall clock's. Only the groups with observed nodes are simulated; their truth and
    progress come to lie beside the folder, and a lock as long as it runs. Ctrl-C or SIGTERM end it (result.interrupted). Raises
    SimulatorError, RecordingError and SourceError.
    """
    path = _name_of(folder)
    if not 0 < speed < float("inf"):
        raise SimulatorError(f"speed {speed}: expected a finite number above 0")
    _check_beside(path)
    report = progress or _no_report
    with ctrl_c() as stop, _only_one(path), _ProgressFile(path) as rows:
        source = SimulatorSource(scenario, compiled=compiled)
        trees = {host: os.path.join(path, host) if len(source.hosts) > 1 else path for host in source.hosts}
        pace = _Pace(speed)
        samples = written = simulated_ns = 0
        for time_ns in range(0, scenario.duration_ns + 1, scenario.sample_ns):
            if not source.advance(time_ns, stop):
                break
            pace.wait(time_ns, stop)
            if stop.is_set():
                source.go_back()
                break
            for snapshot in source.read(time.time_ns(), pace.start_ns):
                write_tree(snapshot, trees[snapshot.host])
                written += len(snapshot.text)
            samples, simulated_ns = samples + 1, time_ns
            rows.take(source, time_ns)
            report(Progress(time_ns, scenario.duration_ns, 0, 0))
        complete = samples == _sample_count(scenario)
        truths = source.truths() if samples else []
        truth = truth_of(scenario, truths, simulated_ns, complete=complete and len(source.groups) == scenario.groups)
        _write_truth(path, truth | {"start_ns": pace.start_ns})
    number = 0 if complete else stop.number
    files = path, _truth_path(path), rows.path
    return Result(*files, truth, samples, simulated_ns, written, written, not complete, number, pace.late_ns)


def truth_of(scenario: Scenario, truths: list[GroupTruth], time_ns: int, *, complete: bool) -> dict[str, Any]:
    """Return the ground truth of a run as its file holds it; lnetstat.simulator.truth says what the keys mean."""
    in_order = sorted(truths, key=lambda truth: truth.groups)
    observed = [scenario.hosts(group)[node] for group in range(scenario.groups) for node in scenario.observed(group)]
    return {
        "schema": SCHEMA,
        "scenario": scenario.name,
        "about": scenario.about,
        "release": scenario.release,
        "seed": scenario.seed,
        "start_ns": scenario.start_ns,
        "simulated_s": time_ns / NS,
        "complete": complete,
        "observed": observed,
        "notes": list(scenario.notes),
        "merged": summary(side_by_side(in_order)) if in_order else None,
        "groups": [summary(truth) for truth in in_order],
    }


class _Pace:
    """Simulated time against the wall clock: `wait` until a simulated time is due."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._began_ns = 0
        self.start_ns = self.late_ns = 0

    def wait(self, time_ns: int, stop: Stop) -> None:
        """Sleep until `time_ns` is due, or `stop` is set; the clock starts with the first call. `late_ns` then says how late it is."""
        if not self._began_ns:
            self._began_ns, self.start_ns = time.monotonic_ns(), time.time_ns()
        due_ns = self._began_ns + int(time_ns / self._speed)
        while (ahead_ns := due_ns - time.monotonic_ns()) > 0 and not stop.is_set():
            time.sleep(min(ahead_ns / NS, NAP_S))
        self.late_ns = max(0, -ahead_ns)


class _ProgressFile:
    """FOLDER.progress.csv: what each I/O process has done so far, once a second of simulated time."""

    def __init__(self, folder: str) -> None:
        self.path = f"{folder}.progress.csv"
        self._due_ns = 0

    def __enter__(self) -> "_ProgressFile":
        with _telling(self.path):
            self._file = open(self.path, "w", encoding="ascii", newline="")
            self._file.write(",".join(PROGRESS_COLUMNS) + "\n")
        return self

    def __exit__(self, *_: object) -> None:
        with _telling(self.path):
            self._file.close()

    def take(self, source: SimulatorSource, time_ns: int) -> None:
        """Write a row for every process of the observed groups, where a second has passed."""
        if time_ns < self._due_ns:
            return
        self._due_ns += PROGRESS_EVERY_NS
        time_s = f"{time_ns / NS:g}"
        rows = [f"{time_s},{group},{process},{rpcs},{amount}\n" for group, process, rpcs, amount in source.rpcs_done()]
        with _telling(self.path):
            self._file.write("".join(rows))


@contextlib.contextmanager
def _telling(path: str) -> Iterator[None]:
    """Turn what the system says about a file that cannot be written into one line."""
    try:
        yield
    except OSError as error:
        raise SimulatorError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write(writer: RecordingWriter, tick: Tick) -> None:
    writer.write(tick.snapshots)
    if writer.last_error:
        reason = writer.last_error.partition(": ticks are being lost")[0]
        raise RecordingError(f"{reason}: the recording ends before {tick.time_ns / NS:g} s: make room and simulate anew")


def _write_truth(folder: str, truth: dict[str, Any]) -> None:
    path = _truth_path(folder)
    temporary = f"{path}.tmp"
    with _telling(path):
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(truth, file, indent=1, allow_nan=False)
            file.write("\n")
        os.replace(temporary, path)


def _name_of(folder: str | os.PathLike[str]) -> str:
    """Return a name of the folder that ends in a name of its own: not in a slash or dots, with which files beside it would lie within."""
    name = os.fspath(folder)
    if os.path.realpath(name) == "/":
        raise SimulatorError("/: a simulation would pass for this node's own files: choose a folder")
    name = name.rstrip("/")
    return os.path.realpath(name) if os.path.basename(name) in (os.curdir, os.pardir) else name


def _check_beside(folder: str) -> None:
    """Say that a file beside the folder cannot be written, or that the folder is none, before anything is left there."""
    with _telling(folder):
        os.makedirs(os.path.dirname(folder) or os.curdir, exist_ok=True)
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise SimulatorError(f"{folder}: is no folder: choose another name")
    for path in (_truth_path(folder), f"{folder}.progress.csv"):
        new = not os.path.lexists(path)
        with _telling(path):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o666))
            if new:
                os.unlink(path)


@contextlib.contextmanager
def _only_one(folder: str) -> Iterator[None]:
    """Hold FOLDER.lock, so that no second simulation writes into the same tree."""
    path = f"{folder}.lock"
    with lock(path, folder, "is simulating") as held:
        if not (os.path.exists(path) and os.path.samestat(os.fstat(held.fileno()), os.stat(path))):
            raise RecordingError(f"{folder}: another process simulated here until now: try again")
        try:
            yield
        finally:
            os.unlink(path)


def _sample_count(scenario: Scenario) -> int:
    return last_sample_ns(scenario) // scenario.sample_ns + 1


def _truth_path(folder: str) -> str:
    return f"{folder}.truth.json"


def _no_report(progress: Progress) -> None:
    return
