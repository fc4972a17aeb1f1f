"""Simulate every preset, let `analyze` look at it, hold both against the papers, and write docs/simulator-validation.md.

`python bench/validate.py [PRESET …]` looks at some presets only, and writes nothing. Exit status 1 where a preset is not found as it must
be, or a claim lies outside its band without a reason in bench/validation/. Takes some minutes.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from validation import claims, papers
from validation.claims import Claim, Runs
from validation.expected import EXPECTED, failures, found
from validation.figures import Figure
from validation.page import page
from validation.runs import Run, run_of

TARGET = Path(__file__).parents[1] / "docs" / "simulator-validation.md"


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in EXPECTED]
    if unknown:
        print(f"{unknown[0]} is no preset: one of {', '.join(EXPECTED)}", file=sys.stderr)
        return 2
    runs = simulated(names or list(EXPECTED))
    figures = [(claim, _figure(claim, runs)) for claim in (*claims.CLAIMS, *papers.CLAIMS) if not names]
    if not names:
        TARGET.write_text(page(list(runs.values()), figures), encoding="utf-8")
    wrong = sum(bool(failures(run)) for run in runs.values())
    unexplained = [claim.name for claim, figure in figures if not figure.inside and not claim.outside]
    for name in unexplained:
        print(f"{name}: outside its band, and no reason is given", file=sys.stderr)
    return 1 if wrong or unexplained else 0


def simulated(names: list[str]) -> dict[str, Run]:
    """Return the runs of these presets, each at its full length, saying how each went."""
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            runs[name] = run_of(name, Path(folder), processes=len(os.sched_getaffinity(0)))
            wrong = failures(runs[name])
            print(
                f"{'MISSED' if wrong else 'ok    '}  {name}: {found(runs[name])}{'; WRONG: ' + '; '.join(wrong) if wrong else ''}",
                flush=True,
            )
    return runs


def _figure(claim: Claim, runs: Runs) -> Figure:
    figure = claim.figure(runs)
    print(f"{'ok    ' if figure.inside else 'OUTSIDE'}  {claim.name}: {figure.shown}  [{claim.band}]", flush=True)
    return figure


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
