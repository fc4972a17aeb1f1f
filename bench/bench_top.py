"""What `top` costs: its start against a bare interpreter's, and its share of a core with 1,000 peers at one sample a second.

Modules are compiled beforehand, as pip and the packages do at installation. A start is compared with a bare one of the same moment.
"""

import contextlib
import fcntl
import os
import pty
import resource
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

Figure = tuple[str, float, float, str]


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 watches for a shorter time: for tests, not for figures."""
    from peers_texts import texts

    runs = max(2, round(9 * scale))
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        changing = list(texts(1_000, 10))
        (tree / "peers").write_text(changing[0])
        _started(name)  # compiles what it imports
        once, first, keys = (statistics.median(ratios) for ratios in zip(*(_starts(name) for _ in range(runs)), strict=True))
        share = _share(tree, changing, max(2.0, 30 * scale))
    return [
        ("top --once of 1,000 peers: CPU / a bare interpreter's start", once, 10, "<="),
        ("top: CPU until the first screen / a bare interpreter's start", first, 10, "<="),
        ("top: CPU until it takes keys (textual is imported) / a bare interpreter's start", keys, 10, "<="),
        ("top of 1,000 peers, 5 % changing, at 1 s: percent of a core", 100 * share, 3, "<="),
    ]


def _starts(root: str) -> tuple[float, float, float]:
    """Return what three starts cost, in bare ones: --once, until the first screen, until keys are taken. Of each kind the better of two."""
    bare_s = min(_cpu_s(["-c", "pass"]) for _ in range(2))
    once_s = min(_cpu_s(["-m", "lnetstat", "top", "--once", "--root", root]) for _ in range(2))
    first_s, keys_s = map(min, zip(*(_started(root) for _ in range(2)), strict=True))
    return once_s / bare_s, first_s / bare_s, keys_s / bare_s


def _cpu_s(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=_environment(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _environment() -> dict[str, str]:
    """Return ours, in which compiled modules are kept, as where the program is installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "TERM": "xterm-256color", "PYTHONPATH": str(HERE.parent)}


class _Top:
    """The program in a terminal of 80x24. `cpu_s`: the time that all its threads have had."""

    def __init__(self, root: str) -> None:
        self._master, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, "-m", "lnetstat", "top", "--root", root]
        self._process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=_environment())
        os.close(child)
        self._drawn = b""

    def until(self, words: bytes) -> float:
        """Read what it draws until these words, and return the CPU time by then."""
        while words not in self._drawn:
            self._read(60.0)
        return self.cpu_s

    def watch(self, until_s: float) -> None:
        while (left_s := until_s - time.monotonic()) > 0:
            if select.select([self._master], [], [], left_s)[0]:
                self._read(0)

    @property
    def cpu_s(self) -> float:
        """User and system time of all threads, which the scheduler counts in nanoseconds."""
        total = 0
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9

    def end(self) -> None:
        os.write(self._master, b"q")
        with contextlib.suppress(OSError):
            while os.read(self._master, 65536):
                pass
        os.close(self._master)
        self._process.wait(30)

    def _read(self, timeout_s: float) -> None:
        if not select.select([self._master], [], [], timeout_s)[0]:
            raise TimeoutError(f"top draws nothing: {self._drawn[-200:]!r}")
        self._drawn = (self._drawn + os.read(self._master, 65536))[-200_000:]


def _started(root: str) -> tuple[float, float]:
    top = _Top(root)
    try:
        return top.until(b"rtr low"), top.until(b"? help")
    finally:
        top.end()


def _share(tree: Path, changing: list[str], seconds: float) -> float:
    """Return the share of a core that a running top takes, while the file changes each second."""
    top = _Top(str(tree))
    try:
        top.until(b"? help")
        top.watch(time.monotonic() + min(3.0, seconds))
        begun_s, begun_cpu_s = time.monotonic(), top.cpu_s
        for second in range(round(seconds)):
            (tree / "new").write_text(changing[second % len(changing)])
            (tree / "new").replace(tree / "peers")
            top.watch(begun_s + second + 1)
        return (top.cpu_s - begun_cpu_s) / (time.monotonic() - begun_s)
    finally:
        top.end()


if __name__ == "__main__":
    for figure in run():
        print(*figure)
