"""A recording read as it grows: everything once, in order, past rotation, removed segments, and clocks that go back."""

import os
from pathlib import Path

import pytest

from lnetstat.errors import RecordingError
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter, follow
from lnetstat.recording import format as layout
from lnetstat.recording.follow import Follower


def tick(number, host="rtr1", time_ns=None):
    stamp = number * 10**9 if time_ns is None else time_ns
    return [Snapshot("stats", host, stamp, None, 0, State.OK, 0, frozenset(), f"line {number}\n" * 20)]


def texts(follower):
    return [(change.snapshot.host, change.text().splitlines()[0]) for change in follower.changes()]


def test_each_tick_comes_once_also_across_key_frames_and_segments(tmp_path):
    follower, seen = None, []
    with RecordingWriter(str(tmp_path), max_age_s=80) as writer:  # a new segment every 10 s
        for number in range(60):
            writer.write(tick(number))
            follower = follower or Follower(str(tmp_path))
            if number % 7 == 0:
                seen += texts(follower)
    seen += texts(follower)
    assert len(layout.segments(str(tmp_path))) > 3
    assert seen == [("rtr1", f"line {number}") for number in range(60)]
    assert texts(follower) == []
    assert follower.problems == []


def test_a_clock_that_goes_back_hides_nothing(tmp_path):
    with RecordingWriter(str(tmp_path)) as writer:
        writer.write(tick(1, time_ns=10**18))
        follower = Follower(str(tmp_path))
        assert len(texts(follower)) == 1
        writer.write(tick(2, time_ns=10**17))
        assert texts(follower) == [("rtr1", "line 2")]


def test_removed_segments_and_a_recording_begun_anew_are_survived(tmp_path):
    with RecordingWriter(str(tmp_path), max_age_s=80) as writer:
        for number in range(25):
            writer.write(tick(number))
        follower = Follower(str(tmp_path))
        assert len(texts(follower)) == 25
        os.unlink(layout.segments(str(tmp_path))[0])
        writer.write(tick(25))
        assert texts(follower) == [("rtr1", "line 25")]
    for path in layout.segments(str(tmp_path)):
        os.unlink(path)
    assert texts(follower) == []
    with RecordingWriter(str(tmp_path)) as writer:
        writer.write(tick(100))
        assert texts(follower) == [("rtr1", "line 100")]


def test_a_frame_that_is_not_whole_yet_is_waited_for(tmp_path):
    with RecordingWriter(str(tmp_path)) as writer:
        for number in range(3):
            writer.write(tick(number))
        path = layout.segments(str(tmp_path))[0]
        whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:40])
    follower, seen = Follower(str(tmp_path)), []
    for end in (*range(40, len(whole), 11), len(whole)):
        Path(path).write_bytes(whole[:end])
        seen += texts(follower)
    assert seen == [("rtr1", f"line {number}") for number in range(3)]
    assert follower.problems == []


def test_damage_costs_the_ticks_up_to_the_next_key_frame_and_is_told_once(tmp_path):
    with RecordingWriter(str(tmp_path)) as writer:
        for number in range(40):
            writer.write(tick(number))
    path = layout.segments(str(tmp_path))[0]
    data = bytearray(Path(path).read_bytes())
    at = data.index(layout.MARKER, data.index(layout.MARKER, data.index(layout.MARKER) + 1) + 1)
    data[at - 3] ^= 0xFF
    Path(path).write_bytes(data)
    follower = Follower(str(tmp_path))
    numbers = [int(text.split()[1]) for _, text in texts(follower)]
    assert numbers == [0, *range(16, 40)]
    assert len(follower.problems) == 1


def test_much_comes_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "MOST_LINES", 100)
    with RecordingWriter(str(tmp_path)) as writer:
        for number in range(12):
            writer.write(tick(number))
    follower = Follower(str(tmp_path))
    assert [len(texts(follower)) for _ in range(4)] == [5, 5, 2, 0]


def test_segments_that_end_before_the_beginning_are_passed_over(tmp_path):
    with RecordingWriter(str(tmp_path), max_age_s=80) as writer:
        for number in range(40):
            writer.write(tick(number))
    first = texts(Follower(str(tmp_path), begin_ns=35 * 10**9))[0][1]
    assert 25 <= int(first.split()[1]) <= 35


def test_no_recording_is_an_error(tmp_path):
    with pytest.raises(RecordingError, match="no recording"):
        Follower(str(tmp_path))


def test_a_recording_begun_anew_under_the_same_number_is_read_from_its_start(tmp_path):
    with RecordingWriter(str(tmp_path)) as writer:
        for number in range(20):
            writer.write(tick(number))
    follower = Follower(str(tmp_path))
    assert len(texts(follower)) == 20
    os.unlink(layout.segments(str(tmp_path))[0])
    with RecordingWriter(str(tmp_path)) as writer:
        writer.write(tick(100))
        assert texts(follower) == [("rtr1", "line 100")]
