"""One node behind one ssh process that stays for the whole run: started, asked, lost, started again after a while."""

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence

from lnetstat.model import Snapshot
from lnetstat.remote.frames import NodeClock, Stream, snapshots
from lnetstat.remote.script import script
from lnetstat.words import printable

CONNECT_S = 10
BACK_OFF_S_MIN, BACK_OFF_S_MAX = 1.0, 60.0
SILENT_S_MIN = 5.0
SILENT_LOGIN_S = CONNECT_S + 2.0  # ssh gives up a connection itself, and says better why
KILL_AFTER_S = 2.0
SAID_BYTES = 4096
PR_SET_PDEATHSIG = 1  # of linux/prctl.h
# What the user's command says already wins: ssh takes the first value of an option.
OPTIONS = (
    *("-T", "-x", "-a", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "LogLevel=ERROR"),
)


class Connection:
    """One node. `look` asks for a look, `read` takes what has come; the caller waits until there is something to read (`fd`).

    `trouble`: why the node cannot be read now, empty where it can; `failed`: whether that ever happened; `due_s`: when it is to be started
    again, on the clock that the caller goes by, which says `now_s` at first.
    """

    def __init__(self, name: str, ssh: Sequence[str], root: str, now_s: float) -> None:
        self.name = name
        self.trouble = ""
        self.failed = False
        self.due_s = 0.0
        self.asked_s: float | None = None  # when the look that has not been answered yet was asked for
        self._command = [*ssh, *OPTIONS, "--", name, "sh"]
        self._root = "" if root == "/" else root
        self._process: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - stderr of ssh: a file never fills up as a pipe does
        self._back_off_s = BACK_OFF_S_MIN
        self._unsent = b""
        self._greeted = False
        self._begun_s = now_s

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def is_ready(self) -> bool:
        """Whether the program on the node listens."""
        return self._process is not None and self._stream.is_ready

    @property
    def fd(self) -> int:
        """The descriptor to wait for, while it is running."""
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def start(self, now_s: float) -> bool:
        """Start ssh; False where even that cannot be done, which is tried again later."""
        self._mark = secrets.token_hex(16)
        self._stream, self._clock = Stream(self._mark), NodeClock()
        self._greeted, self.asked_s, self._begun_s = False, None, now_s
        self._said.seek(0)
        self._said.truncate()
        pipe = subprocess.PIPE
        try:
            # a session of its own: Ctrl-C in the terminal is for us, and we end it
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=self._said, start_new_session=True, preexec_fn=_end_with(os.getpid())
            )
        except OSError as error:
            self._lost(now_s, f"{self._command[0]}: {error.strerror}")
            return False
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        self._unsent = script().encode()
        self._send()
        return True

    def look(self, now_s: float) -> None:
        """Ask for a look, unless the one before has not been answered."""
        if self.is_ready and self.asked_s is None:
            self.asked_s = now_s
            self._unsent += b"\n"
            self._send()

    def read(self, now_s: float) -> list[list[Snapshot]]:
        """Take what has come: the snapshots of each look that is whole."""
        assert self._process is not None
        try:
            data = os.read(self.fd, 1 << 20)
        except BlockingIOError:
            return []
        except OSError as error:
            self._lost(now_s, error.strerror or "lost")
            return []
        if not data:
            self._lost(now_s, "")
            return []
        looks = []
        try:
            for look in self._stream.feed(data):
                looks.append(snapshots(look, self.name, self._root, self._clock))
                self.asked_s, self.trouble = None, ""
                self._back_off_s = BACK_OFF_S_MIN
        except ValueError as error:
            self._lost(now_s, f"what it sent is not our program's: {error}")
        if self.is_ready and not self._greeted:
            self._greeted = True
            self._unsent += f"{self._mark}\n{self._root}\n".encode("utf-8", "surrogateescape")
        if self._process is not None:
            self._send()
        return looks

    def waiting_s(self, now_s: float) -> float:
        """Return for how long we have waited: to be let in, or for the look that was asked for; 0 where nothing is waited for."""
        since_s = self.asked_s if self.is_ready else self._begun_s
        return 0.0 if since_s is None else now_s - since_s

    def check(self, now_s: float, interval_s: float) -> None:
        """Note a node that has not answered for long. It is left alone: another login or look would hang beside the first."""
        if not self.is_running:
            return
        waiting_s = self.waiting_s(now_s)
        if self.is_ready and waiting_s > max(SILENT_S_MIN, 3 * interval_s):
            self.trouble, self.failed = f"no answer for {waiting_s:.0f} s: a read hangs there, or the network", True
        elif not self.is_ready and waiting_s > SILENT_LOGIN_S:
            self.trouble, self.failed = f"no answer for {waiting_s:.0f} s: the login hangs there, or the network", True

    def close(self) -> None:
        """End ssh and with it the loop on the node, whose input ends."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        self._said.close()

    def _send(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._process.stdin.fileno(), self._unsent) :]
        except BlockingIOError:
            pass  # the next time something comes: the program is sent before anything is read
        except OSError:
            pass  # it ended: reading tells why

    def _lost(self, now_s: float, why: str) -> None:
        process, self._process = self._process, None
        status = None if process is None else _end(process)
        why = why or self._last_said() or f"ssh ended with status {status}"
        self.trouble, self.failed = printable(why), True
        self.asked_s = None
        self.due_s = now_s + self._back_off_s
        self._back_off_s = min(2 * self._back_off_s, BACK_OFF_S_MAX)

    def _last_said(self) -> str:
        """Return the last line that ssh said on stderr."""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - SAID_BYTES))
        lines = self._said.read().decode("utf-8", "replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _end_with(parent: int) -> Callable[[], None] | None:
    """Return what makes a new process end with ours, however that ends: one whose node hangs would not notice. None where Linux is not.

    The kernel goes by the thread that started it, which here lives as long as the node is read.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # before the fork, after which as little as possible is done
    if prctl is None:
        return None

    def end_with_parent() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return end_with_parent


def _end(process: "subprocess.Popen[bytes]") -> int:
    """Close the process's input, so that it ends by itself, and see that it does."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.terminate()
    try:
        return process.wait(KILL_AFTER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
