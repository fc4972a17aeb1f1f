"""A damaged or torn recording costs ticks, never the recording, and never a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter
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
