"""A damaged or torn recording costs ticks, never the recording, and never a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnetstat.errors import RecordingError
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter, body
from lnetstat.recording import format as layout
from lnetstat.recording.format import KEY_EVERY

TICKS = 40
HOSTS = ("a", "b")


def snapshot(tick: int, host: str) -> Snapshot:
    text = "".join(f"{peer}@gni {tick if peer == tick % 50 else 0}\n" for peer in range(50))
    return Snapshot("peers", host, tick * 10**9, tick, 0, State.OK, 0, frozenset(), text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a segment of TICKS ticks of two hosts."""
    folder = tmp_path_factory.mktemp("whole")
    with RecordingWriter(folder, free_bytes_min=0) as writer:
        for tick in range(TICKS):
            writer.write([snapshot(tick, host) for host in HOSTS])
    return (folder / "00000001.lnetrec").read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


def read(scratch: Path, data: bytes) -> tuple[dict[str, list[int]], list[str]]:
    """Read a segment with these bytes; return each host's ticks, each compared with what was written, and the problems."""
    (scratch / "00000001.lnetrec").write_bytes(data)
    recording = Recording(scratch)
    ticks: dict[str, list[int]] = {host: [] for host in HOSTS}
    for found in recording.snapshots():
        tick = found.time_ns // 10**9
        assert found == snapshot(tick, found.host)
        ticks[found.host].append(tick)
    list(recording.snapshots())
    assert len(recording.problems) == len(set(recording.problems))
    return ticks, recording.problems


def lost(ticks: list[int]) -> list[int]:
    return sorted(set(range(TICKS)) - set(ticks))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_flipped_byte_costs_at_most_one_host_up_to_its_next_key_frame(whole: bytes, scratch: Path, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[at] ^= data.draw(st.integers(1, 255))
    ticks, problems = read(scratch, bytes(damaged))
    losses = {host: lost(ticks[host]) for host in HOSTS if lost(ticks[host])}
    assert len(losses) <= 1
    for missing in losses.values():
        assert missing == list(range(missing[0], missing[-1] + 1))
        assert missing[0] // KEY_EVERY == missing[-1] // KEY_EVERY
        assert missing[-1] % KEY_EVERY == KEY_EVERY - 1 or missing[-1] == TICKS - 1
        assert len(problems) == 1


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_text_cut_anywhere_loses_only_what_is_cut_off(whole: bytes, scratch: Path, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(whole)))
    ticks, problems = read(scratch, whole[:cut])
    assert problems == [] if ticks["a"] else [problem for problem in problems if "holds no snapshot" in problem]
    assert all(ticks[host] == list(range(len(ticks[host]))) for host in HOSTS)
    assert cut < len(whole) * 0.9 or len(ticks["a"]) > TICKS * 0.8


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_several_wounds_are_survived(whole: bytes, scratch: Path, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(damaged)))
        damaged[at : at + data.draw(st.integers(0, 400))] = data.draw(st.binary(max_size=400))
    read(scratch, bytes(damaged))


def test_damage_that_swallows_a_whole_chain_never_joins_two_chains(whole: bytes, scratch: Path) -> None:
    ticks, _ = read(scratch, whole)
    assert lost(ticks["a"]) == []
    starts = [at for at in range(len(whole)) if whole.startswith(b"\xabLNF", at)]
    first, behind = starts[2 * 3], starts[2 * (KEY_EVERY + 3)]  # the same place in the next chain
    ticks, problems = read(scratch, whole[:first] + bytes(behind - first) + whole[behind:])
    assert lost(ticks["a"]) == list(range(3, 2 * KEY_EVERY))
    assert len(problems) == 1


def test_zeros_that_a_power_cut_left_are_a_torn_tail(whole: bytes, scratch: Path) -> None:
    ticks, problems = read(scratch, whole[: len(whole) // 2] + bytes(5000))
    assert ticks["a"]
    assert all("damaged" in problem for problem in problems)
    frames_end = whole.rindex(b"\xabLNF")
    ticks, problems = read(scratch, whole[:frames_end] + bytes(5000))
    assert (lost(ticks["a"]), problems) == ([], [])


WRITER = """
import sys
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter
writer = RecordingWriter(sys.argv[1], free_bytes_min=0)
tick = 0
while True:
    text = "".join(f"{peer}@gni {tick if peer == tick % 50 else 0}\\n" for peer in range(50))
    writer.write([Snapshot("peers", "a", tick * 10**9, tick, 0, State.OK, 0, frozenset(), text)])
    tick += 1
    print(tick, flush=True)
"""


def test_a_killed_writer_loses_nothing_that_it_wrote_and_lets_the_next_one_in(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for line in process.stdout:
        if int(line) == 25:
            break
    os.kill(process.pid, signal.SIGKILL)
    written = 25 + len(process.stdout.read().splitlines())
    process.wait()
    process.stdout.close()
    recording = Recording(tmp_path)
    found = [s.time_ns // 10**9 for s in recording.snapshots()]
    assert found == list(range(len(found)))
    assert len(found) >= written - 1  # the last number may be cut off in the pipe
    assert recording.problems == []
    with RecordingWriter(tmp_path, free_bytes_min=0) as writer:
        writer.write([snapshot(100_000, "a")])
    assert [s.time_ns // 10**9 for s in Recording(tmp_path).snapshots()] == [*found, 100_000]


def two_segments(folder: Path, first: bytes) -> Recording:
    """A recording whose first segment has these bytes and whose second one is whole and of later ticks."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.lnetrec"):
        old.unlink()
    (folder / "00000001.lnetrec").write_bytes(first)
    with RecordingWriter(folder, free_bytes_min=0) as writer:
        writer.write([snapshot(1000, "a")])
    return Recording(folder)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_segment_cut_short_is_told_when_others_follow(whole: bytes, scratch: Path, data: st.DataObject) -> None:
    ends = [at for at in range(len(whole)) if whole.startswith(b"\xabLNF", at)]
    cut = data.draw(st.integers(0, ends[-1] - 1))
    recording = two_segments(scratch / "two", whole[:cut])
    ticks = [s.time_ns // 10**9 for s in recording.snapshots() if s.host == "a"]
    assert ticks == [*range(len(ticks) - 1), 1000]
    if cut in ends:
        assert recording.problems == [], "nothing tells this from a writer that was killed between two ticks"
    else:
        assert len(recording.problems) == 1
        assert recording.problems[0].startswith("00000001.lnetrec: cut short in ")


def test_zeros_at_the_end_are_told_when_other_segments_follow(whole: bytes, tmp_path: Path) -> None:
    at = whole.rindex(b"\xabLNF")
    assert two_segments(tmp_path / "two", whole[:at] + bytes(5000)).problems == []
    recording = two_segments(tmp_path / "two", whole[:at] + bytes(5000))
    assert len(list(recording.snapshots())) == 2 * TICKS + 1
    assert len(recording.problems) == 1
    assert f"cut short in the frame at byte {at}" in recording.problems[0]


@pytest.mark.parametrize("sizes", [(), (0,), (29,), (37,), (100,), (0, 0), (37, 37), (50, 100)])
def test_a_recording_that_holds_nothing_says_so(whole: bytes, tmp_path: Path, sizes: tuple[int, ...]) -> None:
    (tmp_path / "recording.lock").touch()
    for number, size in enumerate(sizes, 1):
        (tmp_path / f"{number:08}.lnetrec").write_bytes(whole[:size])
    recording = Recording(tmp_path)
    assert list(recording.snapshots()) == []
    assert recording.problems
    if len(sizes) < 2:
        assert recording.problems == [f"{tmp_path}: holds no snapshot: nothing was recorded here yet, or its segments lost what they held"]


def test_a_time_without_snapshots_is_no_problem_of_the_recording(whole: bytes, scratch: Path) -> None:
    (scratch / "00000001.lnetrec").write_bytes(whole)
    recording = Recording(scratch)
    assert list(recording.snapshots(begin_ns=10**18)) == []
    assert list(recording.snapshots(hosts=["nobody"])) == []
    assert recording.problems == []


def test_segments_that_are_no_files_are_told_and_never_waited_for(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "00000001.lnetrec").write_bytes(whole)
    os.mkfifo(tmp_path / "00000002.lnetrec")
    (tmp_path / "00000003.lnetrec").mkdir()
    with RecordingWriter(tmp_path, free_bytes_min=0) as writer:
        writer.write([snapshot(1000, "a")])
    recording = Recording(tmp_path)
    assert len(list(recording.snapshots())) == 2 * TICKS + 1
    assert recording.problems == [f"0000000{number}.lnetrec: cannot be read: not a regular file" for number in (2, 3)]


def test_a_lock_that_is_a_fifo_is_no_trap(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "recording.lock")
    with pytest.raises(RecordingError, match="cannot record here"):
        RecordingWriter(tmp_path)


def test_a_stamp_beyond_64_bits_in_a_frame_costs_this_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingWriter(tmp_path, free_bytes_min=0) as writer:
        writer.write([snapshot(1, "b")])
        with monkeypatch.context() as patch:
            origin = body._origin
            patch.setattr(body, "_origin", lambda s: [s.name, 1 << 70, *origin(s)[2:]])
            writer.write([snapshot(1, "a")])
    recording = Recording(tmp_path)
    assert [s.host for s in recording.snapshots()] == ["b"]
    assert len(recording.problems) == 1
    assert "does not fit 64 bits" in recording.problems[0]


def test_a_coding_that_nobody_writes_is_said_and_costs_the_ticks_up_to_the_next_key_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RecordingWriter(tmp_path, free_bytes_min=0) as writer:
        for tick in range(KEY_EVERY + 2):
            monkeypatch.setattr(layout, "LINES", 9 if tick == 3 else 2)
            writer.write([snapshot(tick, "a")])
    recording = Recording(tmp_path)
    ticks = [found.time_ns // 10**9 for found in recording.snapshots()]
    assert ticks == [0, 1, 2, KEY_EVERY, KEY_EVERY + 1]
    assert [problem for problem in recording.problems if "a coding 9 that nobody writes" in problem]
