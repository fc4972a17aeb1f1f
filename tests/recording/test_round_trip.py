"""What was read is what comes back: byte for byte, whatever the texts, states and hosts."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnetstat.errors import RecordingError
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter, is_recording
from lnetstat.recording.delta import hunks_between

WORDS = st.sampled_from(
    ["10.1.0.1@tcp", "10.1.0.2@tcp", "7@gni", "fd00::1@tcp", "", " ", "nid", "-3", "8", "\r", "\t", "é", "\udcff", "\x00"]
)
LINES = st.lists(WORDS, max_size=4).map(" ".join)


@st.composite
def texts(draw: Callable[..., Any]) -> list[str]:
    """A text and what becomes of it through random edits of its lines."""
    lines = draw(st.lists(LINES, max_size=12))
    versions = []
    for _ in range(draw(st.integers(1, 20))):
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(lines)))
            lines[at : at + draw(st.integers(0, 2))] = draw(st.lists(LINES, max_size=2))
        versions.append("\n".join(lines) + draw(st.sampled_from(["", "\n"])))
    return versions


def snapshot_strategy(text: str) -> st.SearchStrategy[Snapshot]:
    return st.builds(
        Snapshot,
        name=st.sampled_from(["peers", "ost.OSS.ost_io.stats", "lnetctl net show", "ü/\ud800"]),
        host=st.sampled_from(["rtr1", "oss é", ""]),
        time_ns=st.integers(-(2**63), 2**63 - 1),
        mono_ns=st.none() | st.integers(),
        read_ns=st.integers(0, 2**70),
        state=st.sampled_from(State),
        errno=st.integers(0, 200),
        flags=st.frozensets(st.sampled_from(["low_water_reset", "retried", "torn"])),
        text=st.just(text),
    )


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_snapshot_comes_back_as_it_was(data: st.DataObject) -> None:
    snapshots = [data.draw(snapshot_strategy(text)) for text in data.draw(texts())]
    with TemporaryDirectory() as folder:
        with RecordingWriter(folder, free_bytes_min=0) as writer:
            for at in range(0, len(snapshots), 2):
                writer.write(snapshots[at : at + 2])
        recording = Recording(folder)
        read = list(recording.snapshots())
        assert recording.problems == []
    assert [_as_bytes(s) for s in sorted(read, key=_by_host)] == [_as_bytes(s) for s in sorted(snapshots, key=_by_host)]


def _by_host(snapshot: Snapshot) -> str:
    return snapshot.host


def _as_bytes(snapshot: Snapshot) -> tuple[object, ...]:
    return (*snapshot[:-1], snapshot.text.encode("utf-8", "surrogateescape"))


def peers(count: int, tx: int = 8, first: int = 0) -> bytes:
    return b"nid refs state last max rtr min tx min queue\n" + b"".join(
        b"%d@gni 1 up -1 8 8 8 %d -4 0\n" % (i, tx) for i in range(first, first + count)
    )


def test_one_more_peer_costs_one_line_not_the_table() -> None:
    old = peers(20_000)
    new = old.replace(b"5@gni 1 up", b"5@gni 1 up -1 8 8 8 8 -4 0\n99999@gni 1 up", 1)
    hunks = hunks_between(old, new)
    assert hunks
    assert len(hunks.lines) == 1


def test_peers_that_come_and_go_together_cost_only_their_lines() -> None:
    lines = peers(20_000).splitlines(keepends=True)
    newer = [b"99999@gni 1 up\n", *lines[1:100], *lines[101:15_000], b"88888@gni 1 up\n", *lines[15_001:]]
    hunks = hunks_between(b"".join(lines), b"".join(newer))
    assert hunks
    assert len(hunks.lines) == 2


def test_a_recording_is_many_times_smaller_than_its_text(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path) as writer:
        for tick in range(32):
            writer.write([snapshot(tick, peers(2000, tx=8).decode().replace(f"{tick}@gni 1", f"{tick}@gni 2"))])
    assert writer.text_bytes / writer.bytes_written > 40


def snapshot(tick: int, text: str = "text\n", host: str = "rtr", name: str = "peers") -> Snapshot:
    return Snapshot(name, host, 1_000_000_000 * tick, None, 0, State.OK, 0, frozenset(), text)


def test_time_ranges_names_and_hosts_choose(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path) as writer:
        for tick in range(100):
            hosts = ("a", "b")
            writer.write([snapshot(tick, f"{tick}\n", host, name) for host in hosts for name in ("peers", "nis")])
    recording = Recording(tmp_path)
    assert recording.hosts == ("a", "b")
    assert (recording.begin_ns, recording.end_ns) == (0, 99 * 10**9)
    chosen = list(recording.snapshots(begin_ns=40 * 10**9, end_ns=60 * 10**9, names=["nis"], hosts=["b"]))
    assert [s.text for s in chosen] == [f"{tick}\n" for tick in range(40, 60)]
    assert {(s.host, s.name) for s in chosen} == {("b", "nis")}


def test_segments_outside_the_time_range_are_not_read(tmp_path: Path) -> None:
    for first in (0, 100):
        with RecordingWriter(tmp_path) as writer:
            for tick in range(first, first + 20):
                writer.write([snapshot(tick, f"{tick}\n")])
    frames = tmp_path / "00000001.lnetrec"
    whole = frames.read_bytes()
    frames.write_bytes(whole[:200] + bytes(100) + whole[300:])
    recording = Recording(tmp_path)
    assert [s.text for s in recording.snapshots(begin_ns=110 * 10**9)] == [f"{tick}\n" for tick in range(110, 120)]
    assert recording.problems == []


def test_a_text_that_no_bytes_decode_to_is_refused_and_the_next_tick_is_whole(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path) as writer:
        writer.write([snapshot(1)])
        with pytest.raises(RecordingError, match="peers"):
            writer.write([snapshot(2, "\ud800")])
        writer.write([snapshot(3)])
    assert [s.time_ns for s in Recording(tmp_path).snapshots()] == [10**9, 3 * 10**9]


def test_an_empty_recording_is_a_recording_and_another_folder_is_none(tmp_path: Path) -> None:
    RecordingWriter(tmp_path / "rec").close()
    assert is_recording(tmp_path / "rec")
    recording = Recording(tmp_path / "rec")
    assert (recording.hosts, recording.begin_ns, list(recording.snapshots())) == ((), None, [])
    assert not is_recording(tmp_path)
    with pytest.raises(RecordingError, match="no recording"):
        Recording(tmp_path)


def test_a_newer_version_is_named_with_what_to_do(tmp_path: Path) -> None:
    import zlib

    words = b"lnetstat-recording 9"
    (tmp_path / "00000001.lnetrec").write_bytes(b"%s %08x\n" % (words, zlib.crc32(words)))
    with pytest.raises(RecordingError, match=r"00000001\.lnetrec: written in version 9 .* use a newer lnetstat"):
        list(Recording(tmp_path).snapshots())
