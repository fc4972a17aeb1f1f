"""F16: thousands of senders that come back to one Carbon at the same moment, with the jitter of the agent and, to compare, without."""

import contextlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.soak import kernel
from bench.soak.carbon import Carbon
from bench.soak.judge import read_back
from bench.soak.points import Plan
from bench.soak.rows import Row
from bench.soak.storm_senders import StormSettings
from bench.soak.trial import AGE_S, PACKAGE_PARENT, PATIENCE_S

PROCESS = Path(__file__).with_name("storm_senders.py")
SENDERS_PER_PROCESS = 500
ROUNDS = 4
JITTER_S = 30.0  # the agent's own


class Herd:
    """The processes of the senders; every method acts on all of them at the same moment and returns when the last is done."""

    def __init__(self, carbon: Carbon, folder: Path, plan: Plan, seed: int, jitter_s_max: float) -> None:
        self.resent = 0
        self._processes: list[subprocess.Popen[str]] = []
        for begin in range(0, plan.series, SENDERS_PER_PROCESS):
            numbers = [begin, min(begin + SENDERS_PER_PROCESS, plan.series)]
            settings = StormSettings(carbon.address, carbon.port, str(folder / "spools"), list(plan), numbers, jitter_s_max, seed)
            command = [sys.executable, "-I", "-S", str(PROCESS), str(PACKAGE_PARENT), json.dumps(settings._asdict())]
            self._processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for process in self._processes:
            self._answer(process)

    def tell(self, word: str) -> int:
        """Return how many senders could not."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f"{word}\n")
            process.stdin.flush()
        answers = [self._answer(process) for process in self._processes]
        self.resent = sum(int(answer[1]) for answer in answers)
        return sum(int(answer[0]) for answer in answers)

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()

    def _answer(self, process: subprocess.Popen[str]) -> list[str]:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        if not words:
            raise RuntimeError(f"F16: a process of senders ended with {process.wait()}")
        return words


@contextlib.contextmanager
def many_files(wanted: int) -> Iterator[None]:
    """Allow so many open files, to us and to what we start. Raises PermissionError where that is too many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise PermissionError(f"{wanted} open files are needed, {hard} are allowed (ulimit -Hn)")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def storm(seed: int, folder: Path, *, senders: int = 3000, jitter_s_max: float = JITTER_S) -> Row:
    """F16: all are connected, Carbon is killed and comes back, and all have something to send at that moment."""
    plan = Plan(f"f16-{seed}", (int(time.time()) - AGE_S) // 60 * 60, senders, 1)
    carbon = Carbon(folder / "carbon")
    with many_files(2 * senders + 100):
        carbon.start()
        try:
            herd = Herd(carbon, folder, plan, seed, jitter_s_max)
            try:
                late = _rounds(herd, carbon, plan)
            finally:
                herd.end()
        finally:
            carbon.stop()
    judged = read_back(carbon, plan, ROUNDS, ROUNDS)
    missed = f"MISSED: {late.not_sent} senders could not send; " if late.not_sent else ""
    missed += "".join(f"{complaint}; " for complaint in judged.complaints)
    how = f"each waits up to {jitter_s_max:g} s" if jitter_s_max else "WITHOUT jitter"
    words = f"{missed}{senders} senders come back, {how}: all have after {late.back_s:.0f} s; {late.counted}"
    return Row("F16", seed, judged.sent, judged.stored, judged.missing, herd.resent, None, None, None, None, words)


class _Late(NamedTuple):
    back_s: float
    not_sent: int
    counted: str


def _rounds(herd: Herd, carbon: Carbon, plan: Plan) -> _Late:
    not_sent = herd.tell("offer")
    not_sent += herd.tell("flush")
    deadline_s = time.monotonic() + PATIENCE_S
    while not carbon.has_files(plan.paths):  # one that it was killed over would stay damaged for ever
        if time.monotonic() > deadline_s:
            raise RuntimeError("F16: Carbon does not make its files")
        time.sleep(0.1)
    carbon.kill()
    carbon.start()
    before = kernel.tcp_counters()
    began_s = time.monotonic()
    not_sent += herd.tell("offer")  # all see only now that the connection has ended
    not_sent += herd.tell("flush")
    back_s = time.monotonic() - began_s
    counted = kernel.grown(before, kernel.tcp_counters()) or "no counter of the kernel moved"
    for _ in range(ROUNDS - 2):
        not_sent += herd.tell("offer")
        not_sent += herd.tell("flush")
    herd.tell("close")
    return _Late(back_s, not_sent, counted)
