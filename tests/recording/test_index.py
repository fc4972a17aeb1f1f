"""Host after host, a segment is walked over once: what is read is what a reader of everything sees, damage included."""

from pathlib import Path

import pytest

from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter, index

HOSTS = ("a", "b" * 300, "ü \x1b[31m<script>")


def recorded(folder: Path, seconds: int) -> Path:
    with RecordingWriter(folder, free_bytes_min=0) as writer:
        for second in range(seconds):
            for at, host in enumerate(HOSTS):
                text = f"{at} {second}\n"
                writer.write([Snapshot("peers", host, second * 10**9, None, 0, State.OK, 0, frozenset(), text)])
    return folder / "00000001.lnetrec"


def test_each_host_alone_is_what_all_together_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "FRAMES_AT_ONCE", 7)  # walked over in many pieces, by readers that take turns
    segment = recorded(tmp_path, 60)
    whole = bytearray(segment.read_bytes())
    for share in (0.3, 0.7):
        at = int(len(whole) * share)
        whole[at : at + 40] = b"?" * 40
    segment.write_bytes(whole)
    together = Recording(tmp_path)
    every = list(together.snapshots())
    assert 0 < len(every) < 60 * len(HOSTS)
    readers = [Recording(tmp_path) for _ in HOSTS]
    apart = [reader.snapshots(hosts=[host]) for reader, host in zip(readers, HOSTS, strict=True)]
    turns = [[next(one, None) for one in apart] for _ in range(61)]
    for host, column, reader in zip(HOSTS, zip(*turns, strict=True), readers, strict=True):
        assert [one for one in column if one is not None] == [one for one in every if one.host == host]
        assert set(reader.problems) <= set(together.problems)
    assert together.problems
    assert set(together.problems) == {problem for reader in readers for problem in reader.problems}
    pair = Recording(tmp_path)
    assert list(pair.snapshots(hosts=HOSTS[:2])) == [one for one in every if one.host in HOSTS[:2]]


def test_what_was_added_since_is_read(tmp_path: Path) -> None:
    segment = recorded(tmp_path, 20)
    whole = segment.read_bytes()
    segment.write_bytes(whole[: len(whole) // 2])
    recording = Recording(tmp_path)
    first = len(list(recording.snapshots(hosts=["a"])))
    segment.write_bytes(whole)
    assert first < 20 == len(list(recording.snapshots(hosts=["a"])))
