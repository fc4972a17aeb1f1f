"""Run reads on threads so that a read which hangs delays nothing but itself.

Reads wait in a queue and one thread, a *lane*, does them one after the other: reads side by side would only fight for the interpreter.
When the queue has not moved for `patience_s`, the number of lanes is doubled, so that every read that can be answered is answered soon.
A read that is not back by its deadline is given up: its thread stays with it, its key stays busy until it returns, and what it then brings
is thrown away. Where every lane that may be is stuck so, what still waits is given up too, without having begun. All threads are daemons: a
read that never returns does not keep the process from ending.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Generic, NamedTuple, TypeVar

Result = TypeVar("Result")

PATIENCE_S = 0.05
IDLE_LANES_KEPT = 2
LANES_MAX = 32


class Job(NamedTuple, Generic[Result]):
    """A read that may hang. Two jobs of one key never run at the same time. `run` must not raise."""

    key: str
    run: Callable[[], Result]


class Lanes(Generic[Result]):
    """A queue of jobs and the threads that do them, at most `lanes_max`: each that hangs keeps its thread and its open file."""

    def __init__(self, *, patience_s: float = PATIENCE_S, lanes_max: int = LANES_MAX) -> None:
        self._patience_s = patience_s
        self._lanes_max = lanes_max
        lock = threading.Lock()
        self._work = threading.Condition(lock)  # lanes wait here for jobs
        self._news = threading.Condition(lock)  # wait() waits here for the end of the last job
        self._queue: deque[Job[Result]] = deque()
        self._waiting: set[str] = set()
        self._begun_s: dict[str, float] = {}
        self._given_up: set[str] = set()
        self._done: dict[str, Result] = {}
        self._idle = 0
        self._moved_s = 0.0
        self._closed = False
        self.threads = 0

    def running_s(self, key: str) -> float | None:
        """Return how long the job of this key has been running, 0 while it waits for a lane, None when there is none."""
        with self._work:
            if key in self._begun_s:
                return time.monotonic() - self._begun_s[key]
            return 0.0 if key in self._waiting else None

    def start(self, jobs: Iterable[Job[Result]]) -> None:
        """Queue the jobs whose keys are not busy; a lane takes them up at once."""
        with self._work:
            for job in jobs:
                if job.key not in self._waiting and job.key not in self._begun_s:
                    self._queue.append(job)
                    self._waiting.add(job.key)
            self._moved_s = time.monotonic()
            if self._queue and not self._idle:
                self._add_lanes(1)
            self._work.notify()

    def wait(self, keys: Collection[str], deadline_s: float, at_most_s: float = math.inf) -> list[str]:
        """Wait until each key is done or has run for `deadline_s`, or until `at_most_s` have passed.

        Returns the keys whose jobs have run too long, and those for which no lane is left; what they bring later is thrown away.
        """
        with self._news:
            end_s = time.monotonic() + at_most_s
            late: set[str] = set()
            while True:
                now_s = time.monotonic()
                self._given_up.update(key for key in keys if now_s - self._begun_s.get(key, now_s) >= deadline_s)
                late.update(self._given_up.intersection(keys))
                if self._queue and len(self._given_up) >= self.threads and not self._add_lanes(1):
                    late.update(self._withdraw().intersection(keys))
                begun = [self._begun_s[key] for key in keys if key in self._begun_s and key not in self._given_up]
                if now_s >= end_s or not (begun or any(key in self._waiting for key in keys)):
                    return sorted(late)
                if self._queue and now_s - self._moved_s >= self._patience_s:
                    self._add_lanes(max(1, min(self.threads, len(self._queue))))
                    self._moved_s = now_s
                left_s = min(begun, default=now_s) + deadline_s - now_s
                self._news.wait(min(self._patience_s if self._queue else left_s, left_s, end_s - now_s))

    def take(self) -> dict[str, Result]:
        """Return what has been brought since the last call."""
        with self._work:
            done, self._done = self._done, {}
            return done

    def close(self) -> None:
        """Let the idle threads end; one that is stuck in a read ends when the read does."""
        with self._work:
            self._closed = True
            self._work.notify_all()

    def _add_lanes(self, count: int) -> bool:
        """Start so many lanes, or as many as may be; tell whether any."""
        before = self.threads
        for _ in range(min(count, self._lanes_max - before)):
            try:
                threading.Thread(target=self._lane, name="lnetstat-read", daemon=True).start()
            except RuntimeError:  # the system allows no more threads: the lanes there are have to do
                break
            self.threads += 1
            self._idle += 1
        return self.threads > before

    def _withdraw(self) -> set[str]:
        """Take back all jobs that wait, and return their keys."""
        withdrawn, self._waiting = self._waiting, set()
        self._queue.clear()
        return withdrawn

    def _lane(self) -> None:
        while True:
            with self._work:
                while not self._queue:
                    if self._closed or self._idle > IDLE_LANES_KEPT:
                        self._idle -= 1
                        self.threads -= 1
                        return
                    self._work.wait()
                job = self._queue.popleft()
                self._waiting.discard(job.key)
                self._idle -= 1
                self._begun_s[job.key] = self._moved_s = time.monotonic()
                if not self._queue:
                    self._news.notify_all()
            try:
                result = job.run()
            except BaseException:  # a bug: this thread ends with its traceback, the file stays readable
                with self._work:
                    self.threads -= 1
                    self._end(job.key)
                raise
            with self._work:
                self._idle += 1
                if self._end(job.key):
                    self._done[job.key] = result
            del job, result  # or a table of 10,000 lines stays in memory until the next read

    def _end(self, key: str) -> bool:
        """Free the key; False when the job was given up meanwhile."""
        del self._begun_s[key]
        self._moved_s = time.monotonic()
        wanted = key not in self._given_up
        self._given_up.discard(key)
        if not self._queue:
            self._news.notify_all()
        return wanted
