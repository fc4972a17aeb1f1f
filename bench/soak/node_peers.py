"""F15: an agent beside 100,000 peers, 5 % of whose rows change each second and the worst of which are others every time.

Told are its memory, its CPU time and that of a loop that only reads the same file in the same seconds (an ordinary file: on LNet's, which
give one record a read, such a loop takes far longer; bench/bench_node.py compares with that), and how many names it gave to Carbon.
`python -m bench.soak.node_peers [SECONDS] [SEED] [PEERS]`.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random

from bench.soak.rows import Row
from lnetstat.agent import agent_command
from lnetstat.agent.process import MALLOC
from lnetstat.agent.settings import AgentSettings

FAULTS = ("F15",)
PEERS = 100_000
CHANGING = 0.05
RSS_MB_MAX, CPU_SHARE_MAX, SERIES_MAX, NAMES_MAX = 200.0, 0.5, 500, 1_000
HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
BARE = """
import os, sys, time
while True:
    descriptor = os.open(sys.argv[1], os.O_RDONLY)
    while os.read(descriptor, 65536):
        pass
    os.close(descriptor)
    time.sleep(1 - time.time() % 1)
"""


class Table:
    """A `peers` whose rows change; each text is written whole."""

    def __init__(self, path: Path, peers: int, random: Random) -> None:
        self._path, self._random = path, random
        self._rows = [self._row(at, 8) for at in range(peers)]
        self.write()

    def _row(self, at: int, tx: int) -> str:
        nid = f"10.{at // 65536}.{at // 256 % 256}.{at % 256}@o2ib{at % 4}"
        return f"{nid:<24} {1:>4} up {-1:>5} {8:>5} {8:>5} {8:>5} {tx:>5} {min(tx, 0):>5} {max(0, -tx) * 1000}\n"

    def change(self) -> None:
        for at in self._random.sample(range(len(self._rows)), int(len(self._rows) * CHANGING)):
            self._rows[at] = self._row(at, self._random.randint(-40, 8))
        self.write()

    def write(self) -> None:
        fresh = self._path.with_name("new")
        fresh.write_text(HEADER + "".join(self._rows))
        fresh.rename(self._path)


class Names(threading.Thread):
    """Reads what an agent prints: the paths, and the most memory that it said it takes."""

    def __init__(self, agent: "subprocess.Popen[str]") -> None:
        super().__init__(daemon=True)
        self._out = agent.stdout
        self.paths: set[str] = set()
        self.of_second: dict[str, int] = {}
        self.rss_bytes = 0.0

    def run(self) -> None:
        for line in self._out or ():
            path, value, second = line.split()
            self.paths.add(path)
            self.of_second[second] = self.of_second.get(second, 0) + 1
            if path.endswith(".self.rss_bytes"):
                self.rss_bytes = max(self.rss_bytes, float(value))


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process so far, all threads, user and kernel."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def run(seconds: float, seed: int, peers: int = PEERS) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="lnetstat-peers-") as name:
        folder = Path(name)
        (folder / "tree").mkdir()
        table = Table(folder / "tree/peers", peers, Random(seed))
        settings = AgentSettings(
            root=str(folder / "tree"),
            host="soak",
            stdout=True,
            recording=str(folder / "rec"),
            max_bytes=512 << 20,
            status=str(folder / "status"),
        )
        with (
            subprocess.Popen(agent_command(settings), stdout=subprocess.PIPE, text=True, env=os.environ | MALLOC) as agent,
            subprocess.Popen([sys.executable, "-I", "-S", "-c", BARE, str(folder / "tree/peers")]) as bare,
        ):
            names = Names(agent)
            names.start()
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                time.sleep(1 - time.time() % 1 + 0.5)  # between two ticks
                table.change()
            share, bare_share = cpu_s(agent.pid) / seconds, cpu_s(bare.pid) / seconds
            agent.terminate()
            bare.terminate()
            names.join(60)
    series, rss_mb = max(names.of_second.values(), default=0), names.rss_bytes / 1e6
    bounds = {
        f"RSS {rss_mb:.0f} MB": rss_mb <= RSS_MB_MAX,
        f"CPU {share:.1%} of a core": share <= CPU_SHARE_MAX,
        f"{series} series": 0 < series <= SERIES_MAX,
        f"{len(names.paths)} names": 0 < len(names.paths) <= NAMES_MAX,
    }
    ratio = f"{share / bare_share:.1f} times a bare read loop" if bare_share else "the read loop took no time to speak of"
    missed = "" if all(bounds.values()) else f"MISSED: {', '.join(words for words, is_met in bounds.items() if not is_met)}: "
    remark = f"{missed}{peers:,} peers, {', '.join(bounds)}, {ratio}"
    return [Row("F15 peers", seed, None, None, None, None, None, None, rss_mb, None, remark)]


if __name__ == "__main__":
    words = [*sys.argv[1:], *("60", "1", str(PEERS))[len(sys.argv) - 1 :]]
    for row in run(float(words[0]), int(words[1]), int(words[2])):
        print(row)
