"""One minute at one sample a second: every second has its point, none has two. It passes beside the other tests of this folder."""

import subprocess
from itertools import pairwise

import pytest

from tests.collectors.conftest import Minute, Store, raw_text, samples_of

FREE_COUNT = "buffers.tiny.credits_worst"
STALL_S = 1.5  # samples further apart than this: the machine stood still, and no export could fill the second


def ended(process: subprocess.Popen[str]) -> None:
    out, _ = process.communicate(timeout=150)
    assert process.returncode == 0, out


def stalls_of(minute: Minute) -> int:
    stamps_s = [time_ms / 1000 for time_ms, _ in samples_of(raw_text(minute.raw))]
    assert len(stamps_s) == minute.samples + 1  # the first is collectl's baseline, which it never exports
    return sum(later - earlier > STALL_S for earlier, later in pairwise(stamps_s))


def seconds_of(store: Store, host: str, prefix: str, samples: int) -> dict[str, list[int]]:
    """Return the seconds of every series of a host."""
    found: dict[str, list[int]] = {}
    points = store.settled(host, samples, prefix)
    for path, second in sorted(points):
        found.setdefault(path, []).append(second)
    assert FREE_COUNT in found
    assert {value for (path, _), value in points.items() if path == FREE_COUNT} == {-12.0}
    return found


@pytest.fixture(scope="module")
def unstalled(minute: Minute) -> Minute:
    """The minute once it has passed; skips where the machine itself stood still, so that nobody could have filled the second."""
    ended(minute.ours)
    ended(minute.stock)
    if stalls := stalls_of(minute):
        pytest.skip(f"the machine stood still {stalls} times for more than {STALL_S} s")
    return minute


def test_every_second_has_one_point(store: Store, unstalled: Minute) -> None:
    for path, seconds in seconds_of(store, "seconds", "lnet", unstalled.samples).items():
        assert seconds == list(range(seconds[0], seconds[0] + unstalled.samples)), path


def test_every_second_has_one_point_with_stock_graphite_too(store: Store, unstalled: Minute) -> None:
    """Its own clock is a tick late, which costs every fifth second; lnet.ph brings the exact one."""
    for path, seconds in seconds_of(store, unstalled.stock_host, "lnet.stock", unstalled.samples).items():
        assert seconds == list(range(seconds[0], seconds[0] + unstalled.samples)), path
