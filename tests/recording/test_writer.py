"""The writer among others: one per folder, within its bounds, past a full disk, with readers at its side."""

import errno
import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from lnetstat.errors import RecordingError
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter


def snapshot(tick: int, text: str = "") -> Snapshot:
    return Snapshot("peers", "rtr", tick * 10**9, tick, 0, State.OK, 0, frozenset(), text or f"{tick}\n")


def noise(tick: int, length: int = 20_000) -> str:
    """Text that does not compress well and is another one each tick."""
    import random

    return random.Random(tick).randbytes(length).hex() + "\n"


def recorded_ticks(folder: Path) -> list[int]:
    recording = Recording(folder)
    ticks = [s.time_ns // 10**9 for s in recording.snapshots()]
    assert recording.problems == []
    return ticks


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_a_second_writer_is_refused_until_the_first_one_closes(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path):
        with pytest.raises(RecordingError, match="another process is recording here"):
            RecordingWriter(tmp_path)
        code = "import sys; from lnetstat.recording import RecordingWriter; RecordingWriter(sys.argv[1])"
        other = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
        assert "another process is recording here" in other.stderr
    RecordingWriter(tmp_path).close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=r"file.*cannot record here.*choose a folder"):
        RecordingWriter(tmp_path / "file")


def test_each_frame_can_be_read_as_soon_as_it_is_written(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path) as writer:
        for tick in range(20):
            writer.write([snapshot(tick)])
            assert recorded_ticks(tmp_path) == list(range(tick + 1))


def test_a_reader_goes_on_while_segments_are_written_and_dropped(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path, max_bytes=1 << 20) as writer:
        for tick in range(30):
            writer.write([snapshot(tick, noise(tick))])
        reading = Recording(tmp_path).snapshots()
        first = next(reading)
        for tick in range(30, 120):
            writer.write([snapshot(tick, noise(tick))])
        rest = list(reading)
    assert writer.segments_dropped > 0
    assert [s.time_ns for s in (first, *rest)] == sorted(s.time_ns for s in [*rest, first])


def test_max_bytes_is_never_exceeded_and_the_newest_ticks_are_kept(tmp_path: Path) -> None:
    bound = 600_000
    with RecordingWriter(tmp_path, max_bytes=bound) as writer:
        for tick in range(60):
            writer.write([snapshot(tick, noise(tick))])
            assert folder_bytes(tmp_path) <= bound
    ticks = recorded_ticks(tmp_path)
    assert ticks == list(range(ticks[0], 60))
    assert folder_bytes(tmp_path) > bound / 2
    assert writer.segments_dropped > 0
    assert writer.bytes_dropped > 0
    assert writer.frames_lost == 0


def test_bounds_hold_across_restarts_of_the_writer(tmp_path: Path) -> None:
    for start in range(0, 60, 10):
        with RecordingWriter(tmp_path, max_bytes=600_000) as writer:
            for tick in range(start, start + 10):
                writer.write([snapshot(tick, noise(tick))])
    assert folder_bytes(tmp_path) <= 600_000
    assert recorded_ticks(tmp_path)[-1] == 59


def test_a_tick_larger_than_the_bound_is_counted_not_written(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path, max_bytes=10_000) as writer:
        writer.write([snapshot(1, noise(1))])
        assert (writer.frames_lost, writer.frames_written) == (1, 0)
        assert "--max-bytes" in writer.last_error


def test_old_segments_are_dropped_by_the_age_of_their_stamps(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path, max_age_s=80) as writer:
        for tick in range(0, 1000, 5):
            writer.write([snapshot(tick)])
    ticks = recorded_ticks(tmp_path)
    assert 995 - 80 - 80 / 8 - 5 <= ticks[0] <= 995 - 80
    assert ticks[-1] == 995


def test_free_space_is_kept(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    with RecordingWriter(tmp_path, free_bytes_min=free * 2) as writer:
        writer.write([snapshot(1)])
        assert writer.frames_lost == 1
        assert "are free" in writer.last_error


class SmallDisk:
    """Files that take `room` bytes together, then only a part of a write, then ENOSPC."""

    def __init__(self) -> None:
        self.room = 50_000

    def open(self, path: Path) -> BinaryIO:
        disk = self

        class File(io.FileIO):
            def write(self, data: bytes) -> int:  # type: ignore[override]
                if not disk.room:
                    raise OSError(errno.ENOSPC, "No space left on device")
                part = super().write(data[: disk.room])
                disk.room -= part
                return part

        return File(path, "x")  # type: ignore[return-value]


def test_a_full_disk_costs_ticks_that_are_counted_and_recording_goes_on_with_a_key_frame(tmp_path: Path) -> None:
    disk = SmallDisk()
    with RecordingWriter(tmp_path, free_bytes_min=0, open_segment=disk.open) as writer:
        for tick in range(10):
            writer.write([snapshot(tick, noise(tick))])
        written = writer.frames_written
        assert 0 < written < 10
        assert writer.frames_lost == 10 - written
        assert "No space left" in writer.last_error
        assert recorded_ticks(tmp_path) == list(range(written))
        disk.room = 10**6
        for tick in range(10, 20):
            writer.write([snapshot(tick, noise(tick))])
        assert writer.last_error == ""
    assert recorded_ticks(tmp_path) == [*range(written), *range(10, 20)]


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", tmp_path]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def test_a_really_full_file_system(tmpfs: Path) -> None:
    ballast = tmpfs / "ballast"
    ballast.write_bytes(bytes(120_000))
    with RecordingWriter(tmpfs / "rec", free_bytes_min=0) as writer:
        for tick in range(20):
            writer.write([snapshot(tick, noise(tick))])
        written = writer.frames_written
        assert 0 < written < 20
        assert "No space left" in writer.last_error
        ballast.unlink()
        writer.write([snapshot(20, noise(20))])
        assert writer.last_error == ""
    assert recorded_ticks(tmpfs / "rec") == [*range(written), 20]


def test_the_disk_is_asked_to_keep_what_was_written_at_most_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[float] = []
    now_s = 0.0
    really_sync = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: (synced.append(now_s), really_sync(fd)))
    with RecordingWriter(tmp_path, clock=lambda: now_s) as writer:
        for tick in range(100):
            now_s = tick * 0.05
            writer.write([snapshot(tick)])
            for thread in threading.enumerate():
                if thread.name == "lnetstat-sync":
                    thread.join()
        assert len(synced) == 4


def test_a_disk_that_is_slow_to_sync_does_not_hold_up_the_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    really_sync = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: (go_on.wait(30), really_sync(fd)))
    now_s = 0.0
    with RecordingWriter(tmp_path, clock=lambda: now_s) as writer:
        for tick in range(10):
            now_s = float(tick)
            writer.write([snapshot(tick)])
        assert not go_on.is_set()
        assert recorded_ticks(tmp_path) == list(range(10))
        go_on.set()
