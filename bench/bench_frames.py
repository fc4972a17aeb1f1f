"""What it costs to load a recording into a DataFrame: 10 million rows of `peers`, against pandas.read_csv of the same rows."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from peers_texts import snapshot, texts

from lnetstat.recording import RecordingWriter

Figure = tuple[str, float, float, str]
CSV_PART = 5  # read_csv reads this part of the rows: its time grows with the rows, and the CSV of all would take minutes to write

LOAD = """
import json, resource, sys, time
from lnetstat.frames import load
from lnetstat.recording import Recording
began = time.process_time()
frame = load(Recording(sys.argv[1])).tables["peers"]
spent = time.process_time() - began
peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
with open(sys.argv[2], "w") as out:
    frame.iloc[: len(frame) // int(sys.argv[3])].to_csv(out, index=False)
print(json.dumps([len(frame), spent, peak_mib]))
"""
READ_CSV = """
import json, sys, time
import pandas
began = time.process_time()
frame = pandas.read_csv(sys.argv[1])
print(json.dumps([len(frame), time.process_time() - began]))
"""


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer peers and ticks: for tests, not for figures."""
    count, ticks = max(200, round(10_000 * scale)), max(20, round(1000 * scale))
    with tempfile.TemporaryDirectory() as folder:
        recording, csv = f"{folder}/rec", f"{folder}/peers.csv"
        with RecordingWriter(recording) as writer:
            for tick, text in enumerate(texts(count, ticks)):
                writer.write([snapshot(text, tick)])
        rows, load_s, peak_mib = _child(LOAD, recording, csv, str(CSV_PART))
        csv_rows, csv_s = _child(READ_CSV, csv)
    return [
        (f"frames {rows:,} rows: CPU of load / CPU of read_csv", (load_s / rows) / (csv_s / csv_rows), 3, "<="),
        (f"frames {rows:,} rows: peak memory in MiB", peak_mib, 2000, "<="),
    ]


def _child(code: str, *arguments: str) -> list[float]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, check=True)
    figures: list[float] = json.loads(done.stdout)
    return figures


if __name__ == "__main__":
    for figure in run():
        print(*figure)
