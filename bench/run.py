"""Run every bench and say each figure as a ratio to its reference in the same run. Exit status 1 where a target is missed.

`python bench/run.py [NAME …]` runs only those: analysis, collectl, frames, node, page, recording, replay, report, shipping, simulator,
simulator_text, start, top.
"""

import importlib
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(names: list[str]) -> int:
    sys.path.insert(0, str(HERE))
    wanted = names or sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    missed = 0
    for name in wanted:
        for words, value, target, better in importlib.import_module(f"bench_{name}").run():
            met = value <= target if better == "<=" else value >= target
            missed += not met
            print(f"{'ok    ' if met else 'MISSED'}  {value:9.2f}  {better} {target:<6g}  {words}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
