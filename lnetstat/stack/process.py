"""One process that outlives us: started in a session of its own, known again by its pid and its start, never mistaken for another."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from lnetstat.stack.errors import StackError

POLL_S = 0.05
TELL_EVERY_S = 10.0


class Process:
    """A process called `name` with `name`.pid and `name`.log in the folder `run`."""

    def __init__(self, name: str, run: Path) -> None:
        self.name = name
        self.log = run / f"{name}.log"
        self._pid_file = run / f"{name}.pid"

    @property
    def pid(self) -> int | None:
        """The pid while the very process that was started runs; None also where the pid now belongs to another process."""
        number = self._number()
        return None if number is None or _look(number).ended else number

    def _number(self) -> int | None:
        """Return the pid while anything is left of the process that was started: it runs, or its threads are still ending."""
        try:
            text = self._pid_file.read_text()
        except FileNotFoundError:
            return None
        number, _, begin = text.strip().partition(" ")
        if not number.isdigit() or not begin:
            return None
        seen = _look(int(number))
        if seen.begin != begin:
            return None
        if seen.ended and not seen.threads:
            with contextlib.suppress(ChildProcessError):  # not our child, but of one who will see to it
                os.waitpid(int(number), os.WNOHANG)
            return None
        return int(number)

    def start(self, arguments: list[str], environment: Mapping[str, str]) -> None:
        """Start it in the background, its output in the log; the log before goes to NAME.log.1."""
        if self.log.exists():
            self.log.replace(self.log.with_name(self.log.name + ".1"))
        output = (os.POSIX_SPAWN_OPEN, 1, str(self.log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), output, (os.POSIX_SPAWN_DUP2, 1, 2)]
        # Not subprocess: it wants its children to end before it does.
        pid = os.posix_spawn(arguments[0], arguments, environment, file_actions=files, setsid=True)
        self._pid_file.write_text(f"{pid} {_look(pid).begin}\n")

    def stop(self, timeout_s: float, *, kill: bool, tell: Callable[[str], None]) -> None:
        """Send SIGTERM and wait for the end. After `timeout_s`: SIGKILL with `kill`, else StackError."""
        pid = self._number()
        if pid is not None:
            self._signal(pid, signal.SIGTERM)
            if not self._ended(timeout_s, tell):
                if not kill:
                    raise StackError(
                        f"{self.name} (process {pid}) has not ended {timeout_s:g} s after SIGTERM: wait and try again, "
                        f"or give up what it still holds: kill -9 {pid}"
                    )
                self._signal(pid, signal.SIGKILL)
                self._ended(timeout_s, tell)
        self.forget()

    def forget(self) -> None:
        """Remove the pid file of a process that is gone."""
        self._pid_file.unlink(missing_ok=True)

    def last_words(self) -> str:
        """Return the last line of the log that says something, for an error message."""
        try:
            lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        except OSError as error:
            return f"its log cannot be read: {error.strerror}"
        return lines[-1] if lines else "its log is empty"

    def _signal(self, pid: int, number: signal.Signals) -> None:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return  # it ended by itself just now
        except PermissionError:
            raise StackError(f"{self.name} (process {pid}) belongs to another user: stop the stack as the user who started it") from None

    def _ended(self, timeout_s: float, tell: Callable[[str], None]) -> bool:
        begin_s = told_s = time.monotonic()
        while (pid := self._number()) is not None:
            now_s = time.monotonic()
            if now_s - begin_s > timeout_s:
                return False
            if now_s - told_s > TELL_EVERY_S:
                told_s = now_s
                tell(f"{self.name} (process {pid}) is still writing what it holds: waiting for it")
            time.sleep(POLL_S)
        return True


class _Seen(NamedTuple):
    """What /proc says of a pid. `begin` tells a process from a later one with its pid: this boot, and its start in clock ticks since."""

    begin: str
    ended: bool
    threads: bool  # of a process that has ended: not all of its threads have, and its ports are not free yet


def _look(pid: int) -> _Seen:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return _Seen("", ended=True, threads=False)
    # Field 2 is the name in parentheses and may hold anything; state is field 3, num_threads field 20, starttime field 22 (proc(5)).
    fields = text.rpartition(")")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return _Seen(f"{boot} {fields[19]}", ended=fields[0] in ("Z", "X"), threads=int(fields[17]) > 1)
