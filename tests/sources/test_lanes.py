"""Reads on threads: one that hangs delays nothing but itself."""

import subprocess
import sys
import threading
import time

from lnetstat.sources.lanes import IDLE_LANES_KEPT, Job, Lanes

FOREVER_S = 60.0


def done_within(lanes: Lanes[str], jobs: list[Job[str]], deadline_s: float = FOREVER_S) -> dict[str, str]:
    lanes.start(jobs)
    late = lanes.wait([job.key for job in jobs], deadline_s)
    done = lanes.take()
    assert {*late, *done} == {job.key for job in jobs}
    return done


def test_all_jobs_are_done_by_few_threads() -> None:
    lanes: Lanes[str] = Lanes()
    for _ in range(5):
        done = done_within(lanes, [Job(f"{i}", lambda i=i: f"result {i}") for i in range(200)])
        assert done == {f"{i}": f"result {i}" for i in range(200)}
    assert lanes.threads <= 1 + IDLE_LANES_KEPT
    lanes.close()


def test_jobs_that_hang_are_given_up_and_the_others_are_done() -> None:
    lanes: Lanes[str] = Lanes(patience_s=0.01)
    release = threading.Event()
    jobs = [Job(f"hang{i}", lambda: str(release.wait())) for i in range(20)] + [Job("after", lambda: "done")]
    assert done_within(lanes, jobs, 0.3) == {"after": "done"}
    assert all((lanes.running_s(f"hang{i}") or 0) >= 0.3 for i in range(20))
    assert done_within(lanes, [Job("after", lambda: "again")]) == {"after": "again"}
    release.set()
    lanes.close()


def test_a_job_that_comes_back_late_is_thrown_away_and_may_run_again() -> None:
    lanes: Lanes[str] = Lanes()
    release = threading.Event()
    returned = threading.Event()

    def late() -> str:
        release.wait()
        returned.set()
        return "late"

    assert done_within(lanes, [Job("peers", late)], 0.05) == {}
    lanes.start([Job("peers", lambda: "not started, the first one is still there")])
    release.set()
    returned.wait()
    while lanes.running_s("peers") is not None:
        time.sleep(0)
    assert lanes.take() == {}
    assert done_within(lanes, [Job("peers", lambda: "new")]) == {"peers": "new"}
    lanes.close()


def test_a_caller_in_a_hurry_gets_the_result_later() -> None:
    lanes: Lanes[str] = Lanes()
    release = threading.Event()
    lanes.start([Job("peers", lambda: str(release.wait()))])
    assert lanes.wait(["peers"], FOREVER_S, 0.01) == []
    assert lanes.take() == {}
    release.set()
    assert lanes.wait(["peers"], FOREVER_S) == []
    assert lanes.take() == {"peers": "True"}
    lanes.close()


def test_a_deadline_that_passed_between_two_waits_counts() -> None:
    lanes: Lanes[str] = Lanes()
    release = threading.Event()
    lanes.start([Job("peers", lambda: str(release.wait()))])
    assert lanes.wait(["peers"], FOREVER_S, 0.01) == []
    assert lanes.wait(["peers"], 0.01, 0.0) == ["peers"]
    release.set()
    lanes.close()


def test_a_long_job_within_its_deadline_does_not_hold_up_the_short_ones() -> None:
    lanes: Lanes[str] = Lanes(patience_s=0.01)
    short_done = threading.Event()

    def short() -> str:
        short_done.set()
        return "short"

    jobs = [Job("long", lambda: str(short_done.wait(FOREVER_S))), Job("short", short)]
    assert done_within(lanes, jobs) == {"long": "True", "short": "short"}
    lanes.close()


def test_the_process_ends_although_a_read_hangs() -> None:
    program = """
import os
from lnetstat.sources.lanes import Job, Lanes
end, _ = os.pipe()
lanes = Lanes()
lanes.start([Job("peers", lambda: os.read(end, 1))])
lanes.wait(["peers"], 0.05)
print(lanes.running_s("peers") > 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=FOREVER_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
