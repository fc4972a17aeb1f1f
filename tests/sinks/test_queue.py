"""Whatever happens to the queue, every point is in exactly one place, and what is kept is the newest, in order."""

from hypothesis import given
from hypothesis import strategies as st

from lnetstat.sinks._queue import PointQueue

STEPS = st.lists(st.one_of(st.integers(0, 12).map(lambda n: ("add", n)), st.sampled_from([("take", 0), ("written", 0), ("lost", 0)])))


@given(steps=STEPS, points_max=st.integers(1, 20), resend_s=st.sampled_from([0.0, 5.0, 1e9]))
def test_offered_is_sent_plus_queued_plus_dropped(steps, points_max, resend_s):
    queue = PointQueue(points_max, resend_s)
    offered = 0
    delivered: set[bytes] = set()
    in_flight = None
    for now_s, (step, count) in enumerate(steps):
        if step == "add":
            queue.add(b"%d\n" % n for n in range(offered, offered + count))
            offered += count
        elif step == "take" and in_flight is None:
            in_flight = queue.next_batch()
        elif step == "written" and in_flight is not None:
            delivered |= set(in_flight.payload.splitlines())
            queue.written(float(now_s))
            in_flight = None
        elif step == "lost":
            queue.lost(float(now_s))
            in_flight = None
        assert queue.sent + queue.queued + queue.dropped == offered
        assert queue.sent == len(delivered)
        assert queue.queued <= points_max + (in_flight.points if in_flight else 0)
    if in_flight is not None:
        queue.lost(float(len(steps)))
    while (batch := queue.next_batch()) is not None:
        delivered |= set(batch.payload.splitlines())
        queue.written(float(len(steps)))
    assert len(delivered) == queue.sent == offered - queue.dropped
    assert queue.is_idle
    assert {b"%d" % n for n in range(offered - min(offered, points_max), offered)} <= delivered


def test_what_was_written_within_the_window_comes_again_first():
    queue = PointQueue(100, 60.0)
    for now_s, line in ((0.0, b"old\n"), (50.0, b"lately\n")):
        queue.add([line])
        queue.next_batch()
        queue.written(now_s)
    queue.add([b"new\n"])
    queue.lost(100.0)
    batches = []
    while (batch := queue.next_batch()) is not None:
        batches.append(batch.payload)
        queue.written(101.0)
    assert batches == [b"lately\n", b"new\n"]
    assert (queue.sent, queue.resent) == (3, 1)
