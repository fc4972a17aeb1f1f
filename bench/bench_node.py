"""What a router pays: one sample read and reduced by the agent, against the smallest C program that does the same (collect/agg.c).

On a real router every read of `peers` returns one line (collect/onerecord.c makes ordinary files behave so); the figure for plain files
is what a benchmark without that would show. The agent's check numbers must be the C program's.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
COLLECT = HERE / "collect"
sys.path.insert(0, str(HERE))

PAIRS = 5
Figure = tuple[str, float, float, str]

# The agent's own way: its source with threads and deadlines, its reducer, its points. CPU time of the whole process, all threads.
AGENT = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from lnetstat.reduce import Reducer
from lnetstat.sources.live import LiveSource
source, reducer = LiveSource(sys.argv[2], host="r"), Reducer("r")
times, changing = [], sys.argv[4:]
for tick in range(int(sys.argv[3])):
    if changing:
        import shutil
        shutil.copy(changing[tick % len(changing)], sys.argv[2] + "/peers")
    began = time.process_time()
    for snapshot in source.tick():
        reducer.add(snapshot)
    points = reducer.points()
    times.append(time.process_time() - began)
totals = reducer._stream.totals().values()
check = [sum(t.count for t in totals), sum(t.oversubscribed_low for t in totals), sum(t.oversubscribed for t in totals),
         sum(t.queue_bytes for t in totals), min(t.tx_credits_low for t in totals)]
print(json.dumps([sorted(times)[len(times) // 2] * 1e6, check]))
"""
PARSE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from lnetstat.tables.peers import parse
text, times = open(sys.argv[2] + "/peers").read(), []
for _ in range(int(sys.argv[3])):
    began = time.process_time()
    rows = parse(text).rows
    times.append(time.process_time() - began)
print(json.dumps([sorted(times)[len(times) // 2] * 1e6, [len(rows)]]))
"""


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer peers and samples: for tests, not for figures."""
    count, samples = max(100, round(10_000 * scale)), max(5, round(40 * scale))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _build(folder)
        tree = _tree(folder, count)
        changing = _changing(folder, count)
        shim = {"LD_PRELOAD": str(folder / "onerecord.so"), "ONERECORD": "74"}
        one_agent = _ratio(folder, tree, samples, shim)
        one_changing = _ratio(folder, tree, samples, shim, *changing)
        _tree(folder, count)
        plain_agent = _ratio(folder, tree, samples, {})
        plain_c, _ = _c(folder, tree, samples, {})
        parse, _ = _python(PARSE, tree, samples, {})
        ticks = max(2, round(8 * scale))
        small, large = _rss_mb(folder, count, ticks), _rss_mb(folder, 10 * count, ticks)
    return [
        (f"agent {count:,} peers, one record a read: CPU / C", one_agent, 2.5, "<="),
        (f"agent {count:,} peers, one record a read, 5 % of rows changing: CPU / C", one_changing, 5.0, "<="),
        (f"agent {count:,} peers, plain files: CPU / C", plain_agent, 20, "<="),
        (f"peers.parse {count:,} rows: CPU / C on plain files", parse / plain_c, 45, "<="),
        (f"agent with recording, {count:,} peers: resident MB", small, 20, "<="),
        (f"agent with recording, {10 * count:,} peers: resident MB", large, 60, "<="),
    ]


def _ratio(folder: Path, tree: Path, samples: int, shim: dict[str, str], *changing: str) -> float:
    """Return the median of some ratios agent / C, each of two runs side by side: the machine's speed drifts."""
    ratios = []
    for _ in range(PAIRS):
        of_c, check = _c(folder, tree, samples, shim)
        of_agent, agent_check = _python(AGENT, tree, samples, shim, *changing)
        if not changing and agent_check != check:
            raise SystemExit(f"the agent's check numbers {agent_check} are not the C program's {check}")
        ratios.append(of_agent / of_c)
    return statistics.median(ratios)


def _build(folder: Path) -> None:
    subprocess.run(["cc", "-O2", "-o", folder / "agg", COLLECT / "agg.c"], check=True)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", folder / "onerecord.so", COLLECT / "onerecord.c", "-ldl"], check=True)


def _tree(folder: Path, count: int) -> Path:
    subprocess.run([sys.executable, COLLECT / "gen.py", folder / "fake", str(count)], check=True)
    return folder / "fake" / str(count)


def _changing(folder: Path, count: int) -> list[str]:
    from peers_texts import texts

    paths = []
    for number, text in enumerate(texts(count, 12)):
        paths.append(str(folder / f"peers.{number}"))
        Path(paths[-1]).write_text(text)
    return paths


def _c(folder: Path, tree: Path, samples: int, shim: dict[str, str]) -> tuple[float, list[int]]:
    done = subprocess.run([folder / "agg", tree, str(2 * samples)], env=shim, stdout=subprocess.PIPE, text=True, check=True)
    words = done.stdout.split()
    return float(words[words.index("med_us") + 1]), [int(word) for word in words[words.index("chk") + 1 :]]


def _python(code: str, tree: Path, samples: int, shim: dict[str, str], *more: str) -> tuple[float, list[int]]:
    command = [sys.executable, "-I", "-S", "-c", code, str(HERE.parent), str(tree), str(samples), *more]
    from lnetstat.agent import MALLOC

    median_us, check = json.loads(subprocess.run(command, env=MALLOC | shim, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return median_us, check


def _rss_mb(folder: Path, count: int, ticks: int) -> float:
    """Return the agent's resident memory after recording and reducing some seconds, as it says itself."""
    from lnetstat.agent import MALLOC, AgentSettings, agent_command

    tree = _tree(folder, count)
    settings = AgentSettings(root=str(tree), recording=str(folder / f"rec{count}"), stdout=True, samples=ticks, interval_s=1.0)
    done = subprocess.run(agent_command(settings), env=MALLOC, stdout=subprocess.PIPE, text=True, check=True)
    return max(float(line.split()[1]) for line in done.stdout.splitlines() if ".self.rss_bytes" in line) / 1e6


if __name__ == "__main__":
    for figure in run():
        print(*figure)
