"""A recording played again is what was recorded, at the pace and time asked for, and never writes outside its folder."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter
from lnetstat.sources.replay import ReplaySource, path_in_tree, write_tree

NS = 10**9
PEERS = "nid refs state last max rtr min tx min queue\n1@gni 1 up -1 8 8 8 8 -4 0\n"


def snapshot(time_ns: int = 0, name: str = "peers", text: str = PEERS, state: State = State.OK, host: str = "rtr") -> Snapshot:
    return Snapshot(name, host, time_ns, time_ns, 0, state, 0, frozenset(), text)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Five ticks of half a second, beginning at 1000.25 s."""
    with RecordingWriter(tmp_path / "rec", free_bytes_min=0) as writer:
        for tick in range(5):
            writer.write([snapshot(1_000_250_000_000 + tick * NS // 2)])
    return Recording(tmp_path / "rec")


class Clock:
    """A clock that only sleep() moves."""

    def __init__(self) -> None:
        self.now_ns = 7 * NS

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * NS)

    def monotonic_ns(self) -> int:
        return self.now_ns


def times_ns(source: ReplaySource) -> list[int]:
    return [one.time_ns for one in source.snapshots()]


def test_without_speed_it_is_the_recording(recording: Recording) -> None:
    assert list(ReplaySource(recording).snapshots()) == list(recording.snapshots())


def test_the_pace_is_the_recordings_times_speed(recording: Recording) -> None:
    clock = Clock()
    source = ReplaySource(recording, speed=4, sleep=clock.sleep, monotonic_ns=clock.monotonic_ns)
    assert [clock.now_ns - 7 * NS for _ in source.snapshots()] == [0, NS // 8, NS // 4, 3 * NS // 8, NS // 2]


def test_a_slow_taker_is_not_made_to_wait_longer(recording: Recording) -> None:
    clock = Clock()
    began = []
    for _ in ReplaySource(recording, speed=1, sleep=clock.sleep, monotonic_ns=clock.monotonic_ns).snapshots():
        began.append(clock.now_ns - 7 * NS)
        clock.sleep(0.4)
    assert began == [0, NS // 2, NS, 3 * NS // 2, 2 * NS]


def test_shifted_without_pauses_it_ends_at_that_time_to_the_second(recording: Recording) -> None:
    source = ReplaySource(recording, shift_to_ns=5_000 * NS)
    shifted = times_ns(source)
    assert 4_999 * NS < shifted[-1] <= 5_000 * NS
    assert source.shift_ns % NS == 0
    assert [b - a for a, b in itertools.pairwise(shifted)] == [NS // 2] * 4


def test_shifted_and_paced_it_begins_at_that_time(recording: Recording) -> None:
    clock = Clock()
    source = ReplaySource(recording, speed=1, shift_to_ns=5_000 * NS, sleep=clock.sleep, monotonic_ns=clock.monotonic_ns)
    assert times_ns(source)[0] == 4_999_250_000_000


def test_a_part_is_shifted_by_its_own_end(recording: Recording) -> None:
    end_ns = 1_001_000_000_000
    source = ReplaySource(recording, end_ns=end_ns, shift_to_ns=2_000 * NS)
    assert source.shift_ns == 999 * NS
    assert len(times_ns(source)) == 2


def test_a_speed_must_be_above_zero(recording: Recording) -> None:
    with pytest.raises(ValueError, match="above 0"):
        ReplaySource(recording, speed=0)


NAMES = {
    "peers": "peers",
    "stats": "stats",
    "ost.OSS.ost_io.stats": "proc/fs/lustre/ost/OSS/ost_io/stats",
    "obdfilter.FS-OST0000.stats": "proc/fs/lustre/obdfilter/FS-OST0000/stats",
    "mgc.MGC10.0.0.1@tcp.stats": "proc/fs/lustre/mgc/MGC10.0.0.1@tcp/stats",
    "proc/stat": "proc/stat",
    "timeout": "sys/fs/lustre/timeout",
    "sys/module/ksocklnd/parameters/credits": "sys/module/ksocklnd/parameters/credits",
    "ksocklnd.credits": "sys/module/ksocklnd/parameters/credits",
    "lnetctl net show": "lnetctl_net_show.yaml",
}


@pytest.mark.parametrize(("name", "path"), NAMES.items())
def test_each_name_has_its_place(name: str, path: str) -> None:
    assert path_in_tree(name) == path


def test_a_live_source_finds_in_the_tree_what_was_written(tmp_path: Path) -> None:
    live = pytest.importorskip("lnetstat.sources.live")
    stats = "snapshot_time 1.000000001 secs.nsecs\nobd_ping 5 samples [usec] 1 2 3 4\n"
    texts = dict.fromkeys(NAMES, "1\n") | {"peers": PEERS, "stats": "1 2 3 4 5 6 7 8 9 10 11\n", "ost.OSS.ost_io.stats": stats}
    wanted = set(texts) - {"mgc.MGC10.0.0.1@tcp.stats", "lnetctl net show", "sys/module/ksocklnd/parameters/credits"}
    for name, text in texts.items():
        write_tree(snapshot(name=name, text=text), tmp_path)
    source = live.LiveSource(str(tmp_path))
    try:
        read = {one.name: one.text for one in source.tick() if one.state is State.OK}
    finally:
        source.close()
    assert wanted <= read.keys()
    assert {name: read[name] for name in wanted} == {name: texts[name] for name in wanted}


def test_a_file_is_replaced_whole_and_bytes_are_kept(tmp_path: Path) -> None:
    write_tree(snapshot(), tmp_path)
    write_tree(snapshot(text="\udcff\udc80é"), tmp_path)
    assert (tmp_path / "peers").read_bytes() == b"\xff\x80" + "é".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["peers"]


@pytest.mark.parametrize("state", [State.ABSENT, State.FORBIDDEN, State.FAILED])
def test_what_could_not_be_read_is_removed_not_left_as_it_was(tmp_path: Path, state: State) -> None:
    write_tree(snapshot(), tmp_path)
    write_tree(snapshot(text="", state=state), tmp_path)
    write_tree(snapshot(text="", state=state), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../../x", "", ".", "..", "a\0b", "lnetctl ../x", "ost.OSS.../../../x.stats", "x/", "a//b"]
)
def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="cannot be a path below the folder"):
        write_tree(snapshot(name=name), tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []


PIECES = st.sampled_from([*"./-@ax*\0", "ost.OSS.", "lnet.", "lnetctl ", "proc/", ".stats", "../"])


@given(st.lists(PIECES, max_size=8).map("".join))
def test_no_name_at_all_leads_out_of_the_folder(name: str) -> None:
    try:
        path = path_in_tree(name)
    except SourceError:
        return
    assert Path("/tree", path).resolve().is_relative_to("/tree")
    assert Path(path) != Path()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match=r"file/peers: cannot be written: File exists"):
        write_tree(snapshot(), tmp_path / "file")
