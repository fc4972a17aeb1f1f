"""What recording 10,000 peers costs, 5 % of the rows changing each second: size, CPU time against parsing, memory."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from peers_texts import snapshot, texts

from lnetstat.recording import RecordingWriter
from lnetstat.tables import peers

Figure = tuple[str, float, float, str]

# The texts are made in the parent and sent through a pipe, so that only what a recording node would hold is counted.
CHILD = """
import sys
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter
def rss_mib():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
with RecordingWriter(sys.argv[1]) as writer:
    for tick, length in enumerate(iter(lambda: sys.stdin.buffer.readline(), b"")):
        text = sys.stdin.buffer.read(int(length)).decode()
        writer.write([Snapshot("peers", "rtr", tick * 10**9, 0, 0, State.OK, 0, frozenset(), text)])
        del text
print(rss_mib())
"""


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer peers and ticks: for tests, not for figures."""
    count, ticks = max(200, round(10_000 * scale)), max(17, round(48 * scale))
    write_s, smaller = _write(count, ticks)
    parse_s = _parse(count)
    return [
        (f"recording {count:,} peers: text bytes / recorded bytes", smaller, 40, ">="),
        (f"recording {count:,} peers: CPU of write() / CPU of peers.parse", write_s / parse_s, 1.5, "<="),
        (f"recording {10 * count:,} peers: MiB of a process that only records", _child_rss_mib(10 * count), 60, "<="),
    ]


def _write(count: int, ticks: int) -> tuple[float, float]:
    """Return CPU seconds per write() and how many times smaller the recording is than its text."""
    spent_s = 0.0
    with tempfile.TemporaryDirectory() as folder, RecordingWriter(folder) as writer:
        for tick, text in enumerate(texts(count, ticks)):
            tick_of = [snapshot(text, tick)]
            began_s = time.process_time()
            writer.write(tick_of)
            spent_s += time.process_time() - began_s
        return spent_s / ticks, writer.text_bytes / writer.bytes_written


def _parse(count: int, times: int = 5) -> float:
    """Return the median CPU seconds of parsing one text to rows."""
    spent_s = []
    for text in texts(count, times):
        began_s = time.process_time()
        peers.parse(text)
        spent_s.append(time.process_time() - began_s)
    return sorted(spent_s)[times // 2]


def _child_rss_mib(count: int, ticks: int = 4) -> float:
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen([sys.executable, "-c", CHILD, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        sent = b"".join(b"%d\n" % len(text) + text.encode() for text in texts(count, ticks))
        out, _ = child.communicate(sent)
    if child.returncode:
        raise RuntimeError(f"the recording process ended with status {child.returncode}")
    return float(out)


if __name__ == "__main__":
    for figure in run():
        print(*figure)
