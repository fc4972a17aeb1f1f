"""The frames hold what the texts say, by the short way through a recording as by parsing every text."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from lnetstat.errors import SourceError
from lnetstat.frames import Frames, kernels, load
from lnetstat.frames.shapes import Shape
from lnetstat.model import Snapshot, Source, State
from lnetstat.recording import Recording, RecordingWriter

HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
NIS = "nid                      status alive refs peer  rtr   max    tx   min\n"


def row(nid: str, tx: int = 8, queue: int | str = 0) -> str:
    return f"{nid:<24} {1:4} {'up':>5} {-1:5} {8:5} {8:5} {8:5} {tx:5} {min(tx, 3):5} {queue}\n"


def snapshot(text: str, second: int = 0, name: str = "peers", host: str = "rtr", state: State = State.OK, flags: str = "") -> Snapshot:
    return Snapshot(name, host, second * 10**9, None, 17, state, 0 if text else 2, frozenset(flags.split()), text)


class Given:
    """A source of these snapshots."""

    def __init__(self, snapshots: list[Snapshot]) -> None:
        self._snapshots = snapshots

    def snapshots(self) -> Iterator[Snapshot]:
        return iter(self._snapshots)


def load_both_ways(snapshots: list[Snapshot]) -> Frames:
    """Load them directly and through a recording, with and without compiled code; check that all agree, return the frames."""
    plain = load(Given(snapshots))
    with TemporaryDirectory() as folder:
        with RecordingWriter(folder, free_bytes_min=0) as writer:
            for one in snapshots:
                writer.write([one])
        for is_compiled in (False, True):
            assert_same(load_short(folder, is_compiled=is_compiled), plain)
    return plain


def load_short(folder: str | Path, *, is_compiled: bool, **window: int) -> Frames:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "is_worth_it", lambda lines: is_compiled)
        return load(Recording(folder), **window)


def assert_same(first: Frames, second: Frames) -> None:
    assert first.tables.keys() == second.tables.keys()
    for name, frame in first.tables.items():
        assert_frame_equal(frame, second.tables[name])
    assert_frame_equal(first.facts, second.facts)
    assert_frame_equal(first.states, second.states)


def test_peers_become_one_line_per_row_and_sample() -> None:
    frames = load_both_ways(
        [
            snapshot(HEADER + row("1@gni", -7, 1048648) + row("10.0.0.1@o2ib"), 1),
            snapshot(HEADER + row("1@gni", -8) + row("10.0.0.1@o2ib"), 2, flags="low_water_reset"),
        ]
    )
    peers = frames.tables["peers"]
    assert peers["nid"].tolist() == ["1@gni", "10.0.0.1@o2ib"] * 2
    assert peers["tx_credits"].tolist() == [-7, 8, -8, 8]
    assert peers["queue_bytes"].tolist() == [1048648, 0, 0, 0]
    assert peers["time_ns"].tolist() == [10**9, 10**9, 2 * 10**9, 2 * 10**9]
    assert peers["low_water_reset"].tolist() == [False, False, True, True]
    assert peers["host"].tolist() == ["rtr"] * 4
    assert [str(peers[name].dtype) for name in ("nid", "host", "instance", "state")] == ["category"] * 4
    assert [str(peers[name].dtype) for name in ("time_ns", "tx_credits", "row")] == ["int64"] * 3
    assert str(peers["last_s"].dtype) == "Int64"
    assert peers.attrs["units"]["queue_bytes"] == "bytes"


def test_what_a_layout_does_not_have_is_missing_not_zero() -> None:
    old = "nid refs state max rtr min tx min queue\n1@gni 1 up 8 8 8 8 8 0\n"
    frames = load_both_ways([snapshot(old), snapshot(HEADER + row("1@gni"), 1)])
    assert frames.tables["peers"]["last_s"].isna().tolist() == [True, False]


def test_absent_failed_empty_and_torn_stay_apart() -> None:
    frames = load_both_ways(
        [
            snapshot("", 1, state=State.ABSENT),
            snapshot(HEADER, 2),
            snapshot(HEADER + row("1@gni"), 3, state=State.PARTIAL),
            snapshot("binary \x00 rubbish\n", 4),
            snapshot(HEADER + row("1@gni") + "2@gni 1 up\n", 5),
            snapshot("", 6, state=State.FAILED),
        ]
    )
    assert frames.states["state"].tolist() == ["absent", "ok", "partial", "failed", "ok", "failed"]
    assert frames.states["problems"].tolist() == [0, 0, 0, 1, 1, 0]
    assert frames.states["errno"].tolist() == [2, 0, 0, 0, 0, 2]
    assert frames.states["read_ns"].tolist() == [17] * 6
    assert frames.tables["peers"]["time_ns"].tolist() == [3 * 10**9, 5 * 10**9]


def test_facts_stand_beside_the_rows() -> None:
    stats = "snapshot_time             1510782606.986598931 secs.nsecs\nobd_ping                  2076 samples [usec] 3 75 34387 761777\n"
    frames = load_both_ways([snapshot(stats, 1, "ost.OSS.ost.stats"), snapshot(stats, 2, "ost.OSS.ost.stats")])
    assert frames.tables["counters"]["samples"].tolist() == [2076, 2076]
    assert frames.tables["counters"]["instance"].tolist() == ["ost", "ost"]
    assert frames.facts[["instance", "fact", "value"]].values.tolist()[0] == ["ost", "snapshot_time", 1510782606986598931]


def test_a_sum_of_squares_beyond_64_bits_is_missing_and_the_others_are_exact() -> None:
    line = "req_waittime 5 samples [usec] 1 2 9223372036854775807 18446744073709551615\n"
    stats = "snapshot_time 1.000000001 secs.nsecs\n" + line
    counters = load_both_ways([snapshot(stats, name="ost.OSS.ost.stats")]).tables["counters"]
    assert counters["sum"].tolist() == [9223372036854775807]
    assert counters["sumsq"].isna().tolist() == [True]


def test_only_what_was_asked_for_is_loaded(tmp_path: Path) -> None:
    snapshots = [snapshot(HEADER + row("1@gni", second), second, host=host) for second in range(40) for host in ("a", "b")]
    snapshots += [snapshot(NIS + "1@gni up 0 1 8 0 64 64 64\n", second, "nis", "a") for second in range(40)]
    with RecordingWriter(tmp_path, free_bytes_min=0) as writer:
        for one in snapshots:
            writer.write([one])
    sources: list[Source] = [Given(snapshots), Recording(tmp_path)]
    for source in sources:
        frames = load(source, tables=["peers"], begin_ns=20 * 10**9, end_ns=30 * 10**9, hosts=["b"])
        assert frames.tables.keys() == {"peers"}
        assert frames.tables["peers"]["tx_credits"].tolist() == list(range(20, 30))
        assert set(frames.tables["peers"]["host"]) == {"b"}
        assert len(frames.states) == 10


def test_nothing_gives_empty_frames_with_their_columns() -> None:
    frames = load(Given([]))
    assert frames.tables == {}
    assert list(frames.facts) == ["host", "table", "instance", "time_ns", "fact", "value"]
    assert list(frames.states) == ["host", "name", "time_ns", "read_ns", "state", "errno", "problems"]


def test_a_sample_stamped_outside_the_time_range_is_no_base_for_the_next_one(tmp_path: Path) -> None:
    seconds = [10, 11, 99, 12, 13, *range(14, 40)]
    with RecordingWriter(tmp_path, free_bytes_min=0) as writer:
        for at, second in enumerate(seconds):
            writer.write([snapshot(HEADER + row("1@gni", at) + row("2@gni", 0 if at < 2 else 5), second)])
    peers = load(Recording(tmp_path), begin_ns=10 * 10**9, end_ns=20 * 10**9).tables["peers"]
    assert peers["tx_credits"][::2].tolist() == [0, 1, 3, 4, 5, 6, 7, 8, 9, 10]
    assert peers["tx_credits"][1::2].tolist() == [0, 0, 5, 5, 5, 5, 5, 5, 5, 5]


ODD_LINES = st.sampled_from(
    [
        "\n",
        "2@gni 1 up\n",
        "-1 8 8 8 8 8 0\n",
        "peers=1\n",
        HEADER,
        "x\n",
        row("1@gni").rstrip(),
        "a b c d e f g h i j\n",
        "\r\n",
        row("é@x"),
    ]
)
LINES = st.builds(row, st.sampled_from(["1@gni", "2@gni", "3@gni", "10.0.0.1@o2ib1", "fd00::1@tcp"]), st.integers(-9, 9)) | ODD_LINES


@st.composite
def histories(draw: Callable[..., Any]) -> list[Snapshot]:
    """A table whose rows change, come, go, wrap and tear."""
    lines: list[str] = [row(f"{peer}@gni") for peer in range(draw(st.integers(0, 8)))]
    snapshots = []
    for second in range(draw(st.integers(1, 12))):
        for _ in range(draw(st.integers(0, 2))):
            if draw(st.booleans()) and lines:
                at = draw(st.integers(0, len(lines) - 1))
                lines[at] = row(lines[at].split()[0] if lines[at].split() else "9@gni", draw(st.integers(-5, 8)))
            else:
                at = draw(st.integers(0, len(lines)))
                lines[at : at + draw(st.integers(0, 1))] = draw(st.lists(LINES, max_size=1))
        header = draw(st.sampled_from([HEADER] * 9 + [""]))
        state = draw(st.sampled_from([State.OK] * 6 + [State.PARTIAL, State.ABSENT, State.FAILED]))
        snapshots.append(snapshot(f"{header}{''.join(lines)}", second, state=state))
    return snapshots


@settings(max_examples=100, deadline=None)
@given(histories())
def test_the_short_way_and_the_long_way_agree(snapshots: list[Snapshot]) -> None:
    load_both_ways(snapshots)


def test_rows_of_one_nid_keep_their_order_number_when_one_changes() -> None:
    def nis(second: int, tx: int) -> Snapshot:
        rows = "".join(f"1@gni up 0 1 8 0 64 {free} 10\n" for free in (64, tx, 63))
        return snapshot(NIS + rows, second, "nis")

    frames = load_both_ways([nis(1, 60), nis(2, 50)])
    assert frames.tables["nis"]["row"].tolist() == [0, 1, 2] * 2
    assert frames.tables["nis"]["tx_credits"].tolist() == [64, 60, 63, 64, 50, 63]


def test_of_a_large_table_only_changed_lines_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lnetstat.frames import loading as module

    parsed_bytes = []
    real = module.samples
    monkeypatch.setattr(module, "samples", lambda one: parsed_bytes.append(len(one.text)) or real(one))
    with RecordingWriter(tmp_path, free_bytes_min=0) as writer:
        for second in range(15):
            writer.write([snapshot(HEADER + "".join(row(f"{peer}@gni", second if peer == second else 8) for peer in range(500)), second)])
    frames = load(Recording(tmp_path))
    assert len(frames.tables["peers"]) == 15 * 500
    assert sum(parsed_bytes) < parsed_bytes[0] * 1.2
    assert isinstance(frames.tables["peers"], pd.DataFrame)


@pytest.mark.parametrize("field", ["time_ns", "read_ns", "errno"])
def test_a_number_beyond_64_bits_is_one_clear_line(field: str) -> None:
    one = snapshot(HEADER + row("1@gni"))._replace(**{field: 1 << 63})
    with pytest.raises(SourceError, match=r"^rtr: peers: .* 9223372036854775808.*expected numbers of 64 bits"):
        load(Given([one]))


RECORDINGS = Path(__file__).parents[2] / "sample-data/recordings"
STATS = "snapshot_time {}.000000001 secs.nsecs\nreq_waittime {} samples [usec] 1 9 {} {}\nobd_ping {} samples [usec]\n"
# What is put in the place of a word or a line: numbers that are none, words that are other words, white space, marks of the parsers.
HOSTILE: tuple[str, ...] = (
    "",
    "-1",
    "+1",
    "1_0",
    "0x1",
    "--1",
    "1-",
    "٣",
    "9" * 19,
    "9" * 21,
    "-" + "9" * 20,
    "00000000000000000000001",
    "down",
    "NA",
)
HOSTILE += ("| 1", "1 2", "\t7\t", "7\r", "\x0b7", "\x1f", "\x00", "samples", "[usec]", "<script>", "nid", "1@gni", "x" * 5000, "\udcff")


def texts_of(second: int) -> dict[str, str]:
    return {
        "peers": HEADER + "".join(row(f"{at}@gni", 8 - second * at % 11, second * at) for at in range(4)),
        "nis": NIS + f"1@gni up 0 1 8 0 64 {64 - second} {60 - second}\n",
        "buffers": "pages count credits     min\n" + "".join(f"{pages} 64 {64 - second % 5} -1\n" for pages in (0, 1, 256)),
        "stats": f"5 99 0 10 10 {second * 7} 0 5952 6096 {second * 999} 0\n",
        "ost.OSS.ost.stats": STATS.format(1000 + second, second, second * 3, second * 9, second),
    }


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 30),
            st.sampled_from(sorted(texts_of(0))),
            st.integers(0, 6),
            st.integers(0, 9),
            st.sampled_from(HOSTILE),
            st.booleans(),
        ),
        max_size=4,
    )
)
def test_hostile_words_are_found_the_same_by_the_short_way(damage: list[tuple[int, str, int, int, str, bool]]) -> None:
    snapshots = []
    for second in range(20):
        for name, text in texts_of(second).items():
            lines = text.splitlines(keepends=True)
            for when, where, line, word, hostile, stays in damage:
                if where == name and (second >= when if stays else second == when):
                    words = lines[line % len(lines)].split(" ")
                    words[word % len(words)] = hostile
                    lines[line % len(lines)] = " ".join(words)
            snapshots.append(snapshot("".join(lines), second, name))
    load_both_ways(snapshots)


@pytest.mark.parametrize("folder", sorted(path.parent for path in RECORDINGS.glob("*/00000001.lnetrec")), ids=lambda folder: folder.name)
def test_real_recordings_are_the_same_by_the_short_way(folder: Path) -> None:
    recording = Recording(folder)
    until_ns = next(islice(recording.snapshots(), 300, None)).time_ns
    plain = load(Given(list(recording.snapshots(end_ns=until_ns))))
    for is_compiled in (False, True):
        assert_same(load_short(folder, is_compiled=is_compiled, end_ns=until_ns), plain)


@pytest.mark.parametrize("number", ["0", "-7", "9" * 18, "-" + "9" * 18, "0" * 17 + "5", "9223372036854775807", "-9223372036854775809"])
def test_numbers_up_to_the_bounds_of_64_bits_are_exact_and_beyond_them_missing(number: str) -> None:
    texts = [HEADER + row("1@gni", queue=queue) + row("2@gni") for queue in ("1", number, "3")]
    column = load_both_ways([snapshot(text, second) for second, text in enumerate(texts)]).tables["peers"]["queue_bytes"]
    fits = -(1 << 63) <= int(number) < 1 << 63
    assert [None if pd.isna(value) else int(value) for value in column[::2]] == [1, int(number) if fits else None, 3]


def test_compiled_code_is_what_reads_many_lines() -> None:
    """Else the tests above would compare the same with the same."""
    lines = [b"1@gni up 5\n", b"2@gni NA -7\n"]
    shape = Shape(3, (0,), ((2, "tx_credits"),), ((1, "state"),))
    words = kernels.Words([line.split() for line in lines])
    read = words.read(shape, b"".join(lines * 3), np.array([0, 1] * 3))
    assert read is not None
    assert read[2].tolist() == [5, -7] * 3
    assert [kernels.label(number) for number in read[1].tolist()] == [b"up", b"NA"] * 3
    assert words.read(shape, b"".join(lines), np.array([1, 0])) is None, "a row of another name"
    assert kernels.is_worth_it(kernels.WORTH_LINES)
