"""The spool against a file system that dies at any byte, fills up, loses power, turns bits: what was stored comes back, or is counted."""

import contextlib
import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lnetstat.errors import SinkError
from lnetstat.sinks._files import DiskFiles
from lnetstat.sinks._segments import Spans
from lnetstat.sinks.spool import BYTES_MIN, SEGMENT_BYTES_MIN, Spool
from tests.sinks.simulated_files import Killed, SimulatedFiles

SMALL_SEGMENTS = 8 * SEGMENT_BYTES_MIN  # free space that makes segments as small as they get


def payload_of(number, size=10):
    return b"%d %s\n" % (number, b"x" * size)


def numbers_in(payload):
    lines = payload.splitlines()
    for line in lines:
        number, _, rest = line.partition(b" ")
        assert rest == b"x" * len(rest)
        yield int(number)


def opened(files, now=lambda: 1000.0, **options):
    return Spool("/spool", **{"max_bytes": 1 << 30, "max_age_s": 0, "clock": now, "files": files} | options)


def drained(spool):
    """Return all numbers that are handed out, and count them as delivered."""
    numbers = []
    while (batch := spool.next_batch()) is not None:
        numbers += numbers_in(batch.payload)
        spool.written(batch.id)
        spool.acknowledged(batch.id)
    return numbers


def assert_whole(spool):
    counts = spool.counts
    assert counts.found + counts.appended == counts.delivered + counts.points + counts.lost + counts.unconfirmed
    assert counts.found + counts.appended == counts.sent + counts.unsent + counts.lost
    assert min(counts) >= 0
    assert spool.unread_bytes >= 0


class Life(RuleBasedStateMachine):
    """One folder, process after process. `owed`: stored and not delivered; `safe`: of these, what a sync that returned covers."""

    @initialize(live_bytes_max=st.sampled_from([1000, 50_000, 1 << 30]))
    def begin(self, live_bytes_max):
        self.now_s = 1000.0
        self.live_bytes_max = live_bytes_max
        self.files = SimulatedFiles(free_told=SMALL_SEGMENTS)
        self.next_number = 0
        self.owed, self.safe, self.maybe = set(), set(), set()
        self.start()

    def start(self):
        self.out = {}
        self.mine = set()  # a sync is of what this process has written
        while True:
            try:
                self.spool = opened(self.files, lambda: self.now_s, live_bytes_max=self.live_bytes_max)
                return
            except Killed:
                self.files.kill()

    def restart(self):
        self.files.kill()
        self.start()

    def doing(self, call, *args):
        try:
            return call(*args), True
        except Killed:
            self.restart()
            return None, False

    @rule(size=st.sampled_from([0, 100, 20_000, 60_000]))
    def append(self, size):
        number, self.next_number = self.next_number, self.next_number + 1
        _, lived = self.doing(self.spool.append, payload_of(number, size), 1, number)
        if lived:
            self.owed.add(number)
            self.mine.add(number)
        else:
            self.maybe.add(number)

    @rule()
    def sync(self):
        stored = self.owed & self.mine
        _, lived = self.doing(self.spool.sync)
        if lived:
            self.safe |= stored

    @rule()
    def send(self):
        batch, lived = self.doing(self.spool.next_batch)
        if lived and batch is not None:
            self.out[batch.id] = set(numbers_in(batch.payload))
            assert len(self.out[batch.id]) == batch.points
            self.spool.written(batch.id)

    @rule()
    def acknowledge(self):
        if self.out:
            first = min(self.out)
            numbers = self.out.pop(first)
            self.now_s += 3
            self.owed -= numbers  # delivered, whether or not the spool lives to write that down
            self.safe -= numbers
            self.maybe |= numbers
            self.doing(self.spool.acknowledged, first)

    @rule()
    def connection_breaks(self):
        self.spool.rewind()
        self.out = {}

    @rule(steps=st.integers(0, 70_000))
    def die_soon(self, steps):
        self.files.die_in = steps

    @rule()
    def kill(self):
        self.restart()

    @rule(seed=st.integers(0, 1 << 30))
    def lose_power(self, seed):
        self.files.lose_power(Random(seed))
        self.maybe |= self.owed
        self.owed = set(self.safe)
        self.start()

    @invariant()
    def is_accounted_for(self):
        if hasattr(self, "spool"):
            assert_whole(self.spool)

    def teardown(self):
        if not hasattr(self, "spool"):
            return
        self.restart()
        back = drained(self.spool)
        assert len(back) == len(set(back))
        assert self.owed <= set(back), sorted(self.owed - set(back))
        assert set(back) <= self.owed | self.maybe
        assert_whole(self.spool)
        self.spool.append(payload_of(10**9), 1, 1)  # it goes on
        assert drained(self.spool) == [10**9]
        self.spool.close()
        assert [name for name in self.files.files if name.endswith(".spool")] == []


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from([0, 5_000, 30_000, 60_000])),
        st.tuples(st.sampled_from(["send", "acknowledge", "break"]), st.just(0)),
        st.tuples(st.just("free"), st.sampled_from([0, 10, 5_000, 100_000, 1 << 20])),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(steps=STEPS, free=st.sampled_from([0, 30_000, 300_000]), max_bytes=st.sampled_from([BYTES_MIN, 1 << 30]))
def test_a_full_disk_drains_and_what_had_to_go_is_counted(steps, free, max_bytes):
    files = SimulatedFiles(free=free)
    spool = opened(files, max_bytes=max_bytes)
    stored, delivered, out = set(), set(), {}
    for number, (step, size) in enumerate(steps):
        if step == "append":
            try:
                spool.append(payload_of(number, size), 1, number)
                stored.add(number)
            except OSError as error:
                assert "space" in error.strerror  # noqa: PT017
        elif step == "send" and (batch := spool.next_batch()):
            out[batch.id] = set(numbers_in(batch.payload))
            spool.written(batch.id)
        elif step == "acknowledge" and out:
            spool.acknowledged(min(out))
            delivered |= out.pop(min(out))
        elif step == "break":
            spool.rewind()
            out.clear()
        elif step == "free":
            files.free = size
        assert_whole(spool)
        assert spool.counts.bytes <= max_bytes
    files.free = 0
    spool.rewind()
    back = drained(spool)
    counts = spool.counts
    assert counts.damaged == 0
    assert len(stored - delivered - set(back)) <= counts.lost + counts.unconfirmed == counts.appended - counts.delivered
    assert counts.points == 0
    spool.close()
    assert [name for name in files.files if name.endswith(".spool")] == []
    assert files.free >= sum(size for number, (step, size) in enumerate(steps) if number in set(back))


@settings(max_examples=1000, deadline=None)
@given(data=st.data())
def test_a_damaged_byte_costs_its_record_only(data):
    files = SimulatedFiles(free_told=SMALL_SEGMENTS)
    spool = opened(files)
    for number in range(12):
        spool.append(payload_of(number, 6_000), 1, number)
    if data.draw(st.booleans(), "complete"):
        spool.close()
    files.kill()
    path = data.draw(st.sampled_from(sorted(files.files)), "file")
    file = files.files[path]
    at = data.draw(st.integers(0, len(file.data) - 1), "byte")
    cut = data.draw(st.sampled_from([None, "truncate", "insert"]), "how")
    if cut == "truncate":
        file.data = file.data[:at]
    elif cut == "insert":
        file.data = file.data[:at] + data.draw(st.binary(min_size=1, max_size=200)) + file.data[at:]
    else:
        file.data = file.data[:at] + bytes([file.data[at] ^ data.draw(st.integers(1, 255))]) + file.data[at + 1 :]
    spool = opened(files)
    back = set(drained(spool))
    gone = set(range(12)) - back
    assert len(gone) <= (1 if cut != "truncate" else 6)
    assert_whole(spool)
    if gone and cut is None:
        assert spool.counts.damaged >= 1
    assert spool.counts.points == 0
    assert not [name for name in files.files if name.endswith(".spool")]


def test_rubbish_in_the_folder_is_no_reason_to_stop():
    files = SimulatedFiles()
    spool = opened(files)
    spool.append(payload_of(1), 1, 1)
    files.kill()
    for name in ("0000000007.spool", "x.spool", "progress", "notes.txt", "²³.spool"):
        handle = files.create(f"/spool/{name}")
        files.write(handle, Random(7).randbytes(5000))
    spool = opened(files)
    assert drained(spool) == [1]
    spool.append(payload_of(2), 1, 1)
    assert drained(spool) == [2]


def test_new_points_do_not_wait_behind_the_backlog():
    files = SimulatedFiles(free_told=SMALL_SEGMENTS)
    spool = opened(files, live_bytes_max=100_000)
    for number in range(40):
        spool.append(payload_of(number, 10_000), 1, number)
    first = []
    for number in range(100, 103):
        batch = spool.next_batch()
        first += numbers_in(batch.payload)
        spool.append(payload_of(number, 10_000), 1, number)
        batch = spool.next_batch()
        assert list(numbers_in(batch.payload)) == [number]
    assert first == sorted(first)
    assert first[0] == 0
    rest = drained(spool)
    assert sorted(first + rest) == list(range(40))
    assert rest == sorted(rest)


def test_what_is_too_old_goes_and_a_clock_that_jumps_ahead_makes_nothing_old():
    now = [1000.0]
    spool = opened(SimulatedFiles(), lambda: now[0], max_age_s=80)
    for second in range(1000, 1050):
        now[0] = second
        spool.append(payload_of(second), 1, second)
    now[0] = 10_000_000
    spool.append(payload_of(1050), 1, 1050)
    assert spool.counts.lost == 0
    now[0] = 1100
    spool.append(payload_of(1100), 1, 1100)
    assert 10 <= spool.counts.lost <= 30
    assert drained(spool)[-1] == 1100
    assert_whole(spool)


def test_sent_and_dropped_before_it_was_confirmed_is_counted_apart():
    spool = opened(SimulatedFiles(), max_bytes=BYTES_MIN)
    spool.append(payload_of(0, 30_000), 1, 0)
    spool.written(spool.next_batch().id)
    for number in range(1, 20):
        spool.append(payload_of(number, 30_000), 1, number)
    assert spool.counts.unconfirmed == 1
    assert spool.counts.lost > 0
    assert_whole(spool)


def test_after_a_restart_only_what_was_not_delivered_comes_again(tmp_path):
    spool = Spool(str(tmp_path), max_bytes=1 << 20, max_age_s=0)
    spool.append(payload_of(1, 50_000), 1, 1)
    spool.append(payload_of(2, 50_000), 1, 2)
    first = spool.next_batch()
    spool.written(first.id)
    spool.acknowledged(first.id)
    spool.close()
    spool = Spool(str(tmp_path), max_bytes=1 << 20, max_age_s=0)
    assert spool.counts.found == 1
    assert drained(spool) == [2]
    spool.close()
    assert sorted(os.listdir(tmp_path)) == ["lock", "progress"]


def test_a_gibibyte_is_opened_without_reading_it():
    files = SimulatedFiles()
    spool = opened(files, max_bytes=1 << 34)
    for number in range(2_000):
        spool.append(payload_of(number, 60_000), 1, number)
    files.kill()
    files.bytes_read = files.reads = 0
    spool = opened(files, max_bytes=1 << 34)
    assert spool.counts.found == 2_000
    segments = len([name for name in files.files if name.endswith(".spool")])
    assert segments > 20
    assert files.bytes_read < 9 << 20  # the last segment, in pieces that overlap, and a footer of each other
    assert files.reads < 2 * segments + 200


def test_two_processes_cannot_share_a_folder(tmp_path):
    spool = Spool(str(tmp_path), max_bytes=1 << 20, max_age_s=0)
    with pytest.raises(SinkError, match="another process uses it"):
        Spool(str(tmp_path), max_bytes=1 << 20, max_age_s=0)
    spool.close()
    spool.close()
    with pytest.raises(OSError, match="it is closed"):
        spool.append(b"late\n", 1, 1)
    Spool(str(tmp_path), max_bytes=1 << 20, max_age_s=0).close()


def test_too_few_bytes(tmp_path):
    with pytest.raises(SinkError, match="too few"):
        Spool(str(tmp_path), max_bytes=1000, max_age_s=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match="choose a folder"):
        Spool(str(tmp_path / "file"), max_bytes=1 << 20, max_age_s=0)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), max_size=20), st.integers(0, 40))
def test_spans_are_a_set_of_positions(stretches, below):
    spans, plain = Spans(), set()
    for begin, size in stretches:
        spans.add(begin, begin + size)
        plain |= set(range(begin, begin + size))
    assert {at for begin, end in spans for at in range(begin, end)} == plain
    assert all(end < begin for (_, end), (begin, _) in zip(list(spans), list(spans)[1:], strict=False))
    for at in range(60):
        assert spans.next_free(at) == min(x for x in range(at, 80) if x not in plain)
        assert spans.covers(at, at + 3) == ({at, at + 1, at + 2} <= plain)
        assert spans.size_within(at, at + 5) == len(plain & set(range(at, at + 5)))
    spans.forget_below(below)
    assert {at for begin, end in spans for at in range(begin, end)} == {at for at in plain if at >= below}


def test_real_files_do_what_simulated_ones_do(tmp_path):
    files = DiskFiles()
    path = str(tmp_path / "a")
    handle = files.create(path)
    assert files.write(handle, b"abcdef") == 6
    files.truncate(handle, 3)
    files.write(handle, b"X")
    files.sync(handle)
    files.close(handle)
    files.sync_folder(str(tmp_path))
    assert files.read(path, 1, 10) == b"bcX"
    files.replace(path, b"new")
    assert (files.read(path, 0, 10), files.size(path), files.names(str(tmp_path))) == (b"new", 3, ["a"])
    with pytest.raises(FileExistsError):
        files.create(path)
    assert files.free_bytes(str(tmp_path)) > 0


def test_a_record_of_which_only_a_part_fitted_leaves_nothing_behind():
    files = SimulatedFiles(free=4 * SEGMENT_BYTES_MIN)
    spool = opened(files, max_bytes=1 << 20)
    number = 0
    while spool.counts.lost == 0:
        spool.append(payload_of(number, 5_000), 1, number)
        number += 1
    spool.append(payload_of(number, 10), 1, number)
    assert drained(spool) == list(range(spool.counts.lost, number + 1))
    assert spool.counts.damaged == 0


def test_a_number_of_which_the_progress_file_speaks_is_not_used_again():
    now = [1000.0]
    files = SimulatedFiles(free_told=SMALL_SEGMENTS)
    spool = opened(files, lambda: now[0])
    batches = []
    for number in range(2):
        spool.append(payload_of(number, 30_000), 1, number)  # a segment each
        batches.append(spool.next_batch())
        spool.written(batches[-1].id)
    spool.append(payload_of(2, 10), 1, 2)
    now[0] += 10
    spool.acknowledged(batches[1].id)  # the progress is saved here, and not after that
    spool.append(payload_of(3, 30_000), 1, 3)
    assert drained(spool) == [2, 3]
    spool.acknowledged(batches[0].id)
    files.kill()
    for path in [path for path in files.files if path.endswith(".spool")]:
        del files.files[path]
    spool = opened(files)
    for number in (4, 5):
        spool.append(payload_of(number, 30_000), 1, number)
    files.kill()
    assert drained(opened(files)) == [4, 5]


def test_a_clock_that_is_set_ahead_makes_nothing_old(tmp_path):
    now_s, mono_s = [1_700_000_000.0], [0.0]
    options = {"max_bytes": 1 << 20, "max_age_s": 6 * 3600}
    with contextlib.closing(Spool(str(tmp_path / "spool"), clock=lambda: now_s[0], monotonic=lambda: mono_s[0], **options)) as spool:
        spool.append(b"a.b 1 1\n", 1, int(now_s[0]))
        mono_s[0] += 10
        now_s[0] += 7 * 3600 + 10
        spool.append(b"a.b 2 2\n", 1, int(now_s[0]))
        assert (spool.counts.points, spool.counts.lost) == (2, 0)
        mono_s[0] += 6 * 3600
        now_s[0] += 6 * 3600
        spool.append(b"a.b 3 3\n", 1, int(now_s[0]))
        assert spool.counts.lost >= 1, "but time that has passed does"
