"""Runs: a recording that every reader takes, the same for any number of processes; whole after Ctrl-C; one line where the disk is full."""

import csv
import json
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lnetstat.errors import LnetstatError, RecordingError, SimulatorError
from lnetstat.frames import load as load_frames
from lnetstat.recording import Recording
from lnetstat.simulator.background import Groups
from lnetstat.simulator.run import Progress, live, record, run_group, truth_of
from lnetstat.simulator.scenario import Scenario, load_scenario
from lnetstat.simulator.source import SimulatorSource
from lnetstat.simulator.truth import KEYS
from lnetstat.sources.live import NodeSource
from lnetstat.sources.node import Node
from lnetstat.tables import samples

NS = 10**9
THREE_GROUPS = """
groups = 3
[run]
duration = "12 s"
sample = "500 ms"
[clients]
count = 20
[routers]
count = 2
[servers]
count = 2
targets_per_server = 2
[pings]
policy = "aligned-jiffies"
interval = "4 s"
spread = "100 ms"
first = "1 s"
[observe]
hosts = ["rtr-g001-01", "oss-g001-01"]
[[io]]
processes = 3
window = 2
think = "200 ms"
"""
Load = Callable[..., Scenario]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def loaded(**settings: str) -> Scenario:
        path = tmp_path / "three-groups.toml"
        path.write_text(THREE_GROUPS)
        return load_scenario(str(path), {name.replace("__", "."): value for name, value in settings.items()})

    return loaded


def files_of(folder: Path) -> dict[str, bytes]:
    """Everything that a run wrote, by name."""
    beside = [path for path in folder.parent.glob(folder.name + ".*") if path.is_file()]
    return {path.name: path.read_bytes() for path in [*folder.iterdir(), *beside]}


def test_a_recording_holds_what_the_source_yields_and_its_truth_lies_beside_it(load: Load, tmp_path: Path) -> None:
    scenario = load()
    result = record(scenario, tmp_path / "rec", compiled=False)
    assert list(Recording(tmp_path / "rec").snapshots()) == list(SimulatorSource(scenario, compiled=False).snapshots())
    assert (result.samples, result.simulated_ns, result.interrupted) == (25, 12 * NS, False)
    truth = json.loads((tmp_path / "rec.truth.json").read_text())
    assert truth == result.truth
    assert truth["complete"]
    assert truth["merged"]["groups"] == [group["groups"][0] for group in truth["groups"]] == [0, 1, 2]
    assert truth["observed"] == ["rtr-g001-01", "oss-g001-01"]


def test_every_key_of_the_truth_is_documented(load: Load, tmp_path: Path) -> None:
    truth = record(load(groups="1", observe__hosts='["rtr01"]'), tmp_path / "rec", compiled=False).truth
    named = {name for name, _, _ in KEYS}
    assert set(truth) - {"merged", "about", "release", "seed"} <= named
    assert set(truth["merged"]) <= named
    assert named <= set(truth) | set(truth["merged"])


def test_files_are_the_same_for_one_process_and_for_two(load: Load, tmp_path: Path) -> None:
    scenario = load()
    record(scenario, tmp_path / "one" / "rec", processes=1, compiled=False)
    record(scenario, tmp_path / "two" / "rec", processes=2, compiled=False)
    one, two = files_of(tmp_path / "one" / "rec"), files_of(tmp_path / "two" / "rec")
    assert one == two
    assert set(one) >= {"00000001.lnetrec", "rec.truth.json", "rec.progress.csv"}


def test_groups_do_not_depend_on_whether_they_are_observed(load: Load, tmp_path: Path) -> None:
    alone = record(load(), tmp_path / "a", compiled=False).truth
    together = record(load(observe__hosts='["rtr-g002-02", "oss-g003-01"]'), tmp_path / "b", compiled=False)
    assert together.truth["groups"] == alone["groups"]
    assert set(Recording(tmp_path / "b").hosts) == {"rtr-g002-02", "oss-g003-01"}


def test_progress_of_the_processes_grows_to_what_the_truth_says(load: Load, tmp_path: Path) -> None:
    result = record(load(), tmp_path / "rec", compiled=False)
    with open(result.progress_path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["time_s"] for row in rows if row["process"] == "1"] == [str(second) for second in range(13)]
    done = [int(row["rpcs"]) for row in rows if row["process"] == "1"]
    assert done == sorted(done)
    last = [row for row in rows if row["time_s"] == "12"]
    assert sum(int(row["rpcs"]) for row in last) == result.truth["groups"][0]["rpcs_done"]
    assert all(int(row["bytes"]) == int(row["rpcs"]) << 20 for row in rows)


@pytest.mark.parametrize("processes", [1, 2])
def test_ctrl_c_leaves_a_whole_recording_and_its_truth_up_to_there(load: Load, tmp_path: Path, processes: int) -> None:
    def press(progress: Progress) -> None:
        if progress.time_ns == 5 * NS:
            os.kill(os.getpid(), signal.SIGINT)

    result = record(load(), tmp_path / "rec", processes=processes, progress=press, compiled=False)
    assert (result.interrupted, result.simulated_ns, result.samples) == (True, 5 * NS, 11)
    recording = Recording(tmp_path / "rec")
    assert len({snapshot.time_ns for snapshot in recording.snapshots()}) == 11
    assert recording.problems == []
    truth = json.loads((tmp_path / "rec.truth.json").read_text())
    assert (truth["complete"], truth["simulated_s"], truth["merged"]["groups"]) == (False, 5.0, [0])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_after_the_observed_group_keeps_the_groups_that_are_finished(load: Load, tmp_path: Path) -> None:
    def press(progress: Progress) -> None:
        if progress.groups_done == 1:
            os.kill(os.getpid(), signal.SIGINT)

    result = record(load(), tmp_path / "rec", progress=press, compiled=False)
    assert (result.interrupted, result.samples, result.truth["merged"]["groups"]) == (True, 25, [0, 1])
    assert not result.truth["complete"]


def test_a_group_that_was_stopped_midway_is_not_taken_for_finished(load: Load) -> None:
    stop = threading.Event()
    stop.set()
    with Groups(load(), [1, 2], 1, stop, compiled=False) as groups:
        groups.work()
        assert (groups.done, groups.finished, groups.truths()) == (0, False, [])
        stop.clear()
        groups.work()
        assert (groups.done, groups.finished, [truth.groups for truth in groups.truths()]) == (1, False, [(1,)])


class StopAt:
    """Says to stop from the given time on that it is asked."""

    def __init__(self, times: int) -> None:
        self.times_left = times

    def is_set(self) -> bool:
        self.times_left -= 1
        return self.times_left <= 0


def test_a_stop_between_two_samples_leaves_the_truth_of_the_first(load: Load) -> None:
    scenario = load(run__sample="4 s", io__0__think="0 s", io__0__window="8", observe__hosts='["rtr-g001-01", "oss-g002-01"]')
    whole, stopped = (SimulatorSource(scenario, compiled=False) for _ in range(2))
    for source in (whole, stopped):
        assert source.advance(0)
        assert source.advance(4 * NS)
    stop = StopAt(3)  # before the first group, and at its first pauses
    assert not stopped.advance(8 * NS, stop)
    assert stop.times_left == 0
    first, second = (truth_of(scenario, source.truths(), 4 * NS, complete=False) for source in (whole, stopped))
    assert first == second
    assert second["merged"]["rpcs_done"] > 0


def test_a_group_in_the_background_is_stopped_in_the_middle(load: Load) -> None:
    stop = StopAt(3)
    with Groups(load(io__0__think="0 s", io__0__window="8", run__sample="12 s"), [1], 1, stop, compiled=False) as groups:
        groups.work()
        assert (groups.finished, stop.times_left) == (False, 0)


def test_stopped_before_the_first_sample_there_is_no_truth(load: Load, tmp_path: Path) -> None:
    source = SimulatorSource(load(), compiled=False)
    assert list(source.ticks(StopAt(1))) == []
    assert source.truths() == []


def test_sigterm_is_as_ctrl_c(load: Load, tmp_path: Path) -> None:
    def end(progress: Progress) -> None:
        if progress.time_ns == 5 * NS:
            os.kill(os.getpid(), signal.SIGTERM)

    result = record(load(), tmp_path / "rec", progress=end, compiled=False)
    assert (result.interrupted, result.signal_number, result.samples) == (True, signal.SIGTERM, 11)
    assert result.truth["simulated_s"] == 5.0
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.fixture
def short_of_space() -> Iterator[None]:
    """No file of this process may grow beyond 6,000 bytes: write() fails as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("short_of_space")
def test_a_full_disk_is_one_line_and_what_was_written_can_be_read(load: Load, tmp_path: Path) -> None:
    with pytest.raises(RecordingError) as caught:
        record(load(), tmp_path / "rec", compiled=False)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'rec'}: File too large: the recording ends before ")
    assert "\n" not in message
    assert len(list(Recording(tmp_path / "rec").snapshots())) > 0


def test_an_old_recording_is_not_continued(load: Load, tmp_path: Path) -> None:
    record(load(groups="1", observe__hosts='["rtr01"]', run__duration="1 s"), tmp_path / "rec", compiled=False)
    before = files_of(tmp_path / "rec")
    with pytest.raises(SimulatorError, match="rec: holds a recording already"):
        record(load(), f"{tmp_path}/rec/", compiled=False)
    assert files_of(tmp_path / "rec") == before


def test_a_folder_that_cannot_be_made_is_one_line(load: Load, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LnetstatError, match="file/rec: cannot"):
        record(load(), tmp_path / "file" / "rec", compiled=False)


def test_frames_of_a_recording_have_the_hosts_and_tables_of_a_real_one(load: Load, tmp_path: Path) -> None:
    record(load(), tmp_path / "rec", compiled=False)
    tables = load_frames(Recording(tmp_path / "rec")).tables
    assert {"peers", "nis", "buffers", "lnet_stats", "routes", "routers", "counters", "tunables", "cpu"} <= set(tables)
    assert len(tables["buffers"]) == 25 * 3
    assert set(tables["peers"]["host"]) == {"rtr-g001-01", "oss-g001-01"}
    assert not tables["peers"].isna().any(axis=None)


def test_a_live_tree_is_what_an_agent_reads_from_a_root(load: Load, tmp_path: Path) -> None:
    result = live(load(run__duration="3 s"), tmp_path / "tree", speed=1e6, compiled=False)
    assert (result.samples, result.interrupted) == (7, False)
    assert sorted(path.name for path in (tmp_path / "tree").iterdir()) == ["oss-g001-01", "rtr-g001-01"]
    read = NodeSource(Node(str(tmp_path / "tree" / "oss-g001-01")), "oss").tick()
    rows = {snapshot.name: [row for sample in samples(snapshot) for row in sample.rows] for snapshot in read}
    assert {"stats", "nis", "peers", "routes", "routers", "buffers", "ost.OSS.ost.stats", "ost.OSS.ost_io.stats", "timeout"} <= set(rows)
    assert any(row.counter == "obd_ping" for row in rows["ost.OSS.ost.stats"])
    assert not list((tmp_path / "tree").rglob("*.tmp"))
    assert json.loads((tmp_path / "tree.truth.json").read_text())["start_ns"] > 1.7e18


def test_a_live_tree_of_one_host_is_the_folder_itself_and_keeps_pace(load: Load, tmp_path: Path) -> None:
    scenario = load(groups="1", observe__hosts='["rtr01"]', run__duration="1 s")
    result = live(scenario, tmp_path / "tree", speed=4, compiled=False)
    assert (tmp_path / "tree" / "peers").read_text().startswith("nid ")
    assert result.samples == 3


def test_ctrl_c_ends_a_live_tree(load: Load, tmp_path: Path) -> None:
    result = live(load(), tmp_path / "tree", progress=lambda _: os.kill(os.getpid(), signal.SIGINT), compiled=False)
    assert (result.interrupted, result.samples, result.truth["complete"]) == (True, 1, False)


@pytest.mark.parametrize("speed", [0.0, -1.0, float("inf"), float("nan")])
def test_a_speed_that_is_none_is_refused(load: Load, tmp_path: Path, speed: float) -> None:
    with pytest.raises(SimulatorError, match="expected a finite number above 0"):
        live(load(), tmp_path / "tree", speed=speed)


def test_a_live_tree_never_passes_for_this_nodes_own_files(load: Load) -> None:
    with pytest.raises(SimulatorError, match="choose a folder"):
        live(load(), "/")


def test_two_simulations_never_share_a_tree(load: Load, tmp_path: Path) -> None:
    scenario = load(run__duration="1 s")
    said = []

    def again(progress: Progress) -> None:
        with pytest.raises(RecordingError) as caught:
            live(scenario, tmp_path / "tree", speed=1e6, compiled=False)
        said.append(str(caught.value))

    assert live(scenario, tmp_path / "tree", speed=1e6, progress=again, compiled=False).samples == 3
    assert said == [f"{tmp_path / 'tree'}: another process is simulating here: stop it, or choose another folder"] * 3
    assert not (tmp_path / "tree.lock").exists()
    assert live(scenario, tmp_path / "tree", speed=1e6, compiled=False).samples == 3


@pytest.mark.parametrize("start", [record, live])
def test_a_start_that_fails_leaves_nothing(load: Load, tmp_path: Path, start: Callable[[Scenario, Path], object]) -> None:
    scenario = load()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "file").write_text("")
    with pytest.raises(SimulatorError, match="file: is no folder"):
        start(scenario, tmp_path / "here" / "file")
    (tmp_path / "here" / "rec.truth.json").mkdir()
    with pytest.raises(SimulatorError, match=r"rec\.truth\.json: cannot be written"):
        start(scenario, tmp_path / "here" / "rec")
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["file", "rec.truth.json"]


@pytest.mark.parametrize("name", [".", "./", "sub/.."])
def test_files_beside_the_folder_we_are_in_lie_beside_it(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "above" / "here" / "sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "above" / "here")
    record(load(run__duration="1 s"), name, compiled=False)
    assert sorted(path.name for path in (tmp_path / "above").iterdir()) == ["here", "here.progress.csv", "here.truth.json"]


@pytest.mark.parametrize("name", ["/", "//", "/tmp/.."])
def test_nothing_is_recorded_into_the_root(load: Load, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("lnetstat.simulator.run.RecordingWriter", lambda path: pytest.fail(f"records into {path}"))
    with pytest.raises(SimulatorError, match="choose a folder"):
        record(load(), name)


def test_run_group_says_what_a_recording_of_that_group_says(load: Load, tmp_path: Path) -> None:
    scenario = load()
    plan = scenario.plan(1)
    recorded = record(scenario, tmp_path / "rec", compiled=False).truth["groups"][1]
    summary = run_group(plan, compiled=False)
    for key in ("floods", "pings_served", "lost_fraction", "bulk_bytes", "pings_per_server", "credits_wanted_peak"):
        assert summary[key] == recorded[key]
