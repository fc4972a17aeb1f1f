"""What it costs to ship 5,000 points a second through the spool: CPU, memory in an outage, catching up, opening."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lnetstat.sinks.spool import Spool

Figure = tuple[str, float, float, str]

POINTS = 5_000
LIVE_POINTS_PER_S = 5_000

# A process of its own for what is measured, and another that reads what it sends. `away`: Carbon is not there until all is offered.
RECEIVER = """
import socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    while True:
        connection = listener.accept()[0]
        while connection.recv(1 << 20):
            pass
        connection.close()
"""
SENDER = """
import socket, sys, time
from random import Random
from lnetstat.model import Point
from lnetstat.sinks._connection import Pacer
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.sinks.spool import Spool
what, folder, port, ticks, points = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
def rss_mib():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024
def tick(second):
    return [Point(f"lnet.rtr01.peers.o2ib{n % 50}.top.n{n}.tx_credits", float(n % 129 - 64 + second % 7), second) for n in range(points)]
all_ticks = [tick(second) for second in range(1_700_000_000, 1_700_000_010)]
def sink_to(port):
    pacer = Pacer(Random(1), delay_s_min=0.05, delay_s_max=0.05, tries_a_minute_max=10_000)
    return CarbonSink("127.0.0.1", port, spool=Spool(folder, max_bytes=1 << 30, max_age_s=0), pacer=pacer)
if what == "file":
    from lnetstat.sinks.lines import plaintext_line
    began_s = time.process_time()
    with open(folder + "/lines", "w") as file:
        for number in range(ticks):
            for point in all_ticks[number % 10]:
                file.write(plaintext_line(point) + "\\n")
    print(time.process_time() - began_s)
elif what == "ship":
    sink = sink_to(port)
    began_s = time.process_time()
    for number in range(ticks):
        sink.offer(all_ticks[number % 10])
        assert sink.flush(60)
    print(time.process_time() - began_s)
else:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        sink = sink_to(nobody.getsockname()[1])
        for number in range(10):
            sink.offer(all_ticks[number])
            assert sink.commit(60)
        normal_mib = rss_mib()
        most_mib = normal_mib
        for number in range(ticks):
            sink.offer(all_ticks[number % 10])
            assert sink.commit(60)
            most_mib = max(most_mib, rss_mib())
        sink.close(0)
    sink = sink_to(port)
    began_s = time.perf_counter()
    assert sink.flush(600)
    print(most_mib - normal_mib, sink.sent / (time.perf_counter() - began_s), max(most_mib, rss_mib()) - normal_mib)
    sink.close(60)
"""


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer ticks: for tests, not for figures."""
    ticks = max(5, round(60 * scale))
    receiver = subprocess.Popen([sys.executable, "-c", RECEIVER], stdout=subprocess.PIPE, text=True)
    try:
        assert receiver.stdout is not None
        port = receiver.stdout.readline().strip()
        (file_s,) = _measured("file", port, ticks)
        (ship_s,) = _measured("ship", port, ticks)
        away_mib, caught_up, catching_up_mib = _measured("away", port, 10 * ticks)
    finally:
        receiver.kill()
        receiver.wait()
    return [
        (
            f"shipping {POINTS:,} points a tick through the spool: CPU / CPU of formatting and writing them to a file",
            ship_s / file_s,
            4,
            "<=",
        ),
        (f"outage of {10 * ticks} ticks of {POINTS:,} points: MiB more than before it", away_mib, 10, "<="),
        ("the same while it catches up: MiB more than before the outage", catching_up_mib, 10, "<="),
        (f"catching up: points a second / {LIVE_POINTS_PER_S:,} live", caught_up / LIVE_POINTS_PER_S, 5, ">="),
        _opening(max(8, round(1024 * scale))),
    ]


def _measured(what: str, port: str, ticks: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SENDER, what, folder, port, str(ticks), str(POINTS)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{what}: {done.stderr}")
    return [float(word) for word in done.stdout.split()]


def _opening(mib: int) -> Figure:
    """Return what opening a spool costs against reading its files."""
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(folder, max_bytes=2 << 30, max_age_s=0, sync_wanted=False)
        payload = b"lnet.rtr01.peers.o2ib.top.n1.tx_credits -12 1700000000\n" * 600
        for number in range((mib << 20) // len(payload)):
            spool.append(payload, 600, 1_700_000_000 + number)
        spool.close()
        began_s = time.perf_counter()
        for path in Path(folder).iterdir():
            path.read_bytes()
        read_s = time.perf_counter() - began_s
        began_s = time.perf_counter()
        Spool(folder, max_bytes=2 << 30, max_age_s=0).close()
        opened_s = time.perf_counter() - began_s
    return f"opening a spool of {mib} MiB ({opened_s * 1000:.0f} ms) / reading its files", opened_s / read_s, 0.5, "<="


if __name__ == "__main__":
    for figure in run():
        print(*figure)
