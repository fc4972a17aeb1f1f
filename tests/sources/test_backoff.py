"""Files that hang: tried ever more rarely, never waited for twice, never in the way of LNet's tables, and back as soon as they answer."""

import errno
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lnetstat.model import Snapshot, State
from lnetstat.sources import live
from lnetstat.sources.backoff import NS, Backoff
from lnetstat.sources.lanes import LANES_MAX, Job, Lanes
from lnetstat.sources.live import LiveSource
from lnetstat.sources.reading import Clocks

FOREVER_S = 60.0


class Hanging:
    """Stands in for read_file: the names in `hang` do not come back until released, and every try is counted."""

    def __init__(self) -> None:
        self.hang: set[str] = set()
        self.tries: Counter[str] = Counter()
        self.released = threading.Event()
        self.entered = threading.Semaphore(0)
        self.back = threading.Semaphore(0)
        self._read_file = live.read_file

    def __call__(self, path: str, name: str, *rest: object, **options: object) -> Snapshot:
        self.tries[name] += 1
        if name in self.hang:
            self.entered.release()
            self.released.wait(FOREVER_S)
            self.back.release()
        return self._read_file(path, name, *rest, **options)  # type: ignore[arg-type]

    def let_go(self, count: int) -> None:
        """End the reads that hang now, and wait until they have ended; later ones hang again."""
        for _ in range(count):
            assert self.entered.acquire(timeout=FOREVER_S)
        self.released.set()
        for _ in range(count):
            assert self.back.acquire(timeout=FOREVER_S)
        self.released.clear()


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    reader = Hanging()
    monkeypatch.setattr(live, "read_file", reader)
    yield reader
    reader.released.set()


def states(snapshots: list[Snapshot]) -> dict[str, tuple[State, int]]:
    return {s.name: (s.state, s.errno) for s in snapshots}


HUNG = (State.FAILED, errno.ETIMEDOUT)


def test_waits_double_up_to_a_minute_and_an_answer_ends_them() -> None:
    backoff = Backoff()
    now_ns = 5 * NS
    for wait_s in (1, 2, 4, 8, 16, 32, 60, 60, 60):
        backoff.hung("peers", now_ns)
        assert not backoff.is_due("peers", now_ns + wait_s * NS - 1)
        now_ns += wait_s * NS
        assert backoff.is_due("peers", now_ns)
    assert backoff.has_hung("peers")
    assert not backoff.has_hung("nis")
    assert backoff.is_due("nis", 0)
    backoff.answered("peers")
    assert backoff.is_due("peers", 0)
    backoff.hung("peers", 0)
    assert backoff.is_due("peers", NS), "it begins anew"


def test_a_file_that_hangs_again_and_again_is_tried_ever_more_rarely_and_comes_back_by_itself(tmp_path: Path, hanging: Hanging) -> None:
    for name in ("peers", "stats"):
        (tmp_path / name).write_text(f"{name}\n")
    now_ns = [NS]
    clocks = Clocks(lambda: now_ns[0], lambda: now_ns[0])
    source = LiveSource(str(tmp_path), names=["peers", "stats"], deadline_s=0.05, clocks=clocks)
    hanging.hang = {"peers"}
    tried_at_s = []
    for second in range(200):
        found = states(source.tick())
        if source._reads.running_s("peers") is not None:  # a try, for which nobody waits
            tried_at_s.append(second)
            while "peers" in source._trying:  # until it is given up
                assert states(source.tick())["peers"] == HUNG
            hanging.let_go(1)
            while source._reads.running_s("peers") is not None:
                pass
        assert found == {"peers": HUNG, "stats": (State.OK, 0)}
        now_ns[0] += NS
    assert hanging.tries["peers"] == len(tried_at_s)
    assert tried_at_s == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    hanging.hang = set()
    now_ns[0] += 60 * NS
    while states(source.tick())["peers"] == HUNG:
        pass
    tries = hanging.tries["peers"]
    assert states(source.tick())["peers"] == (State.OK, 0)
    assert hanging.tries["peers"] == tries + 1, "as before"
    source.close()


def test_however_many_files_hang_threads_are_bounded_and_the_tables_are_read(tmp_path: Path, hanging: Hanging) -> None:
    for number in range(3 * LANES_MAX):
        folder = tmp_path / f"proc/fs/lustre/osc/fs-OST{number:04x}-osc-ffff"
        folder.mkdir(parents=True)
        (folder / "stats").write_text("snapshot_time 1.0 secs.usecs\n")
    (tmp_path / "peers").write_text("peers\n")
    source = LiveSource(str(tmp_path), names=["peers", "osc.*"], deadline_s=0.3)
    hanging.hang = {f"osc.fs-OST{number:04x}-osc-ffff.stats" for number in range(3 * LANES_MAX)}
    found = states(source.tick())
    while len(found) <= len(hanging.hang):  # it takes more than one deadline until so many lanes are stuck
        found = states(source.tick())
        assert found["peers"] == (State.OK, 0)
    threads = threading.active_count()
    for _ in range(3):
        assert states(source.tick()) == dict.fromkeys(hanging.hang, HUNG) | {"peers": (State.OK, 0)}
    assert source._other_reads.threads == LANES_MAX
    assert threading.active_count() == threads, "no more after the first tick"
    assert sum(hanging.tries[name] for name in hanging.hang) == LANES_MAX
    hanging.hang = set()
    hanging.let_go(LANES_MAX)
    while set(states(source.tick()).values()) != {(State.OK, 0)}:
        pass
    source.close()


def test_what_hung_the_last_time_is_not_waited_for(tmp_path: Path, hanging: Hanging) -> None:
    (tmp_path / "peers").write_text("peers\n")
    now_ns = [NS]
    clocks = Clocks(lambda: now_ns[0], lambda: now_ns[0])
    source = LiveSource(str(tmp_path), names=["peers"], deadline_s=0.05, clocks=clocks)
    hanging.hang = {"peers"}
    assert states(source.tick()) == {"peers": HUNG}
    hanging.let_go(1)
    while source._reads.running_s("peers") is not None:
        pass
    now_ns[0] += NS
    source._deadline_s = FOREVER_S  # for which the tick would wait
    assert states(source.tick()) == {"peers": HUNG}
    hanging.let_go(1)
    hanging.hang = set()
    assert hanging.tries["peers"] == 2
    hanging.released.set()
    while states(source.tick()) != {"peers": (State.OK, 0)}:
        pass
    source.close()


def test_where_every_lane_is_stuck_what_waits_is_given_up_and_none_is_left_over() -> None:
    lanes: Lanes[str] = Lanes(patience_s=0.01, lanes_max=2)
    release = threading.Event()
    jobs = [Job(f"hang{i}", lambda: str(release.wait(FOREVER_S))) for i in range(2)] + [Job("after", lambda: "done")]
    lanes.start(jobs)
    assert lanes.wait([job.key for job in jobs], 0.1) == ["after", "hang0", "hang1"]
    assert (lanes.threads, lanes.running_s("after")) == (2, None)
    release.set()
    while lanes.running_s("hang0") is not None or lanes.running_s("hang1") is not None:
        pass
    lanes.start([Job("after", lambda: "done")])
    assert lanes.wait(["after"], FOREVER_S) == []
    assert lanes.take() == {"after": "done"}
    lanes.close()


def test_a_system_that_allows_no_thread_at_all_is_borne_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lanes: Lanes[str] = Lanes()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        lanes.start([Job("peers", lambda: "peers")])
        assert lanes.wait(["peers"], FOREVER_S) == ["peers"]
    lanes.start([Job("peers", lambda: "peers")])
    assert lanes.wait(["peers"], FOREVER_S) == []
    assert lanes.take() == {"peers": "peers"}
    lanes.close()
