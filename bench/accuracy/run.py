"""`make bench-accuracy`: lnetstat and other methods on labelled cases, and the tables of docs/analysis.md that come of it.

    python bench/accuracy/run.py [--sets own,practice] [--cases 150] [--seed 11] [--ftio PYTHON] [--answers DIR] [--quick]

The own set comes from generator.py with the stated seed, the practice set from ../shared/challenge where that exists. `--quick` runs a
dozen small cases and prints the tables without writing them anywhere.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from accuracy import generator, page, recipe, rivals, score  # noqa: E402

Case = tuple[dict[str, Any], dict[str, Any], pd.DataFrame]
Answers = dict[str, list[dict[str, Any]]]

PRACTICE = ROOT.parent / "shared" / "challenge" / "practice"
PAGE = ROOT / "docs" / "analysis.md"
FTIO_NAMES = {"raw": "FTIO, raw rates", "dips": "FTIO, detrended dips"}
QUICK_CAP = 1e7  # of BLS's samples x periods, where only the machinery is looked at
WARM_UP = (3, 1, ["p_aligned"], [1])  # one easy case, so that no method is charged for imports and compilation


def read_set(folder: Path) -> Iterator[Case]:
    """The cases of a stored set, in its order."""
    truths = {truth["case_id"]: truth for truth in score.read_lines(folder / "truth.jsonl")}
    for case in score.read_lines(folder / "cases.jsonl"):
        yield case, truths[case["case_id"]], pd.read_csv(folder / "cases" / f"{case['case_id']}.csv.gz")


def warm_up(cap: float) -> None:
    """Set the cap of BLS and let every method do its imports and compilation before anything is timed."""
    rivals.BLS_POINT_OPERATIONS = cap
    for case, _, table in generator.cases(*WARM_UP):
        for method in rivals.METHODS.values():
            method(case, table)


def answer_all(given: tuple[Case, tuple[str, ...], str]) -> tuple[dict[str, Any], Answers]:
    """Truth and the answers of the named methods for one case; for FTIO its signal is stored in a folder, "" when not wanted."""
    (case, truth, table), names, folder = given
    found: Answers = {}
    for name in names:
        began = time.process_time()
        answer = rivals.METHODS[name](case, table)
        found[name] = [answer | {"case_id": case["case_id"], "cpu_s": time.process_time() - began}]
    if folder:
        series = rivals.detrended(case, table)
        np.savez(
            Path(folder) / f"{case['case_id']}.npz",
            time_s=series.time_s,
            rate=series.rate,
            dips=np.maximum(0.0, -series.x),
            dt_s=series.dt_s,
        )
    return truth, found


def run_set(cases: Iterator[Case], names: tuple[str, ...], jobs: int, cap: float, ftio: str | None) -> tuple[list[dict[str, Any]], Answers]:
    """Truths and answers of every case, worked on by `jobs` processes."""
    warm_up(cap)  # what fails at all fails here; a pool would start anew for ever
    truths, answers = [], {name: [] for name in names}  # type: tuple[list[dict[str, Any]], Answers]
    with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(jobs, warm_up, (cap,)) as pool:
        tasks = ((case, names, folder if ftio else "") for case in cases)
        for truth, found in pool.imap(answer_all, tasks):
            truths.append(truth)
            for name, own in found.items():
                answers[name] += own
        if ftio:
            answers |= ftio_answers(ftio, Path(folder))
    return truths, answers


def ftio_answers(python: str, folder: Path) -> Answers:
    """What FTIO says to the stored signals, run by the Python that has it."""
    script = Path(__file__).with_name("ftio_answers.py")
    done = subprocess.run([python, str(script), str(folder)], stdout=subprocess.PIPE, text=True, check=True)
    found: Answers = {name: [] for name in FTIO_NAMES.values()}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        found[FTIO_NAMES[answer.pop("signal")]].append(answer)
    return found


def own_set(given: argparse.Namespace) -> tuple[str, Iterator[Case]]:
    title = f"Own set: {given.cases} cases of bench/accuracy/generator.py, seed {given.seed}"
    return title, generator.cases(given.seed, given.cases)


def sections(given: argparse.Namespace) -> Iterator[tuple[str, str, Iterator[Case], tuple[str, ...]]]:
    """(short name, title, cases, methods) of what is run."""
    everything = tuple(rivals.METHODS)
    if "own" in given.sets:
        yield "own", *own_set(given), everything
    if "practice" in given.sets and PRACTICE.exists():
        yield (
            "practice",
            "Practice set: 149 cases of another generator, not tuned on for dips; "
            "the rules of cause and the error bars of credits were mended after looking at it",
            read_set(PRACTICE),
            everything,
        )
    if "real" in given.sets:
        count = given.cases // 3
        title = f"What real nodes, clocks and failovers do: {count} cases, seed {given.seed}"
        yield "real", title, generator.cases(given.seed, count, recipe.OWN_CLASSES), everything[:1]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sets", type=lambda words: words.split(","), default=["own", "practice", "real"], help="default own,practice,real"
    )
    parser.add_argument("--seed", type=int, default=11, help="of the own set")
    parser.add_argument("--cases", type=int, default=150, help="of the own set")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ftio", metavar="PYTHON", help="a Python that has ftio-hpc installed")
    parser.add_argument("--answers", type=Path, help="folder to keep all answers in")
    parser.add_argument("--quick", action="store_true", help="a dozen cases; nothing is written")
    given = parser.parse_args(arguments)
    if given.quick:
        given.cases, given.sets, given.jobs = 12, ["own"], 1
    cap = QUICK_CAP if given.quick else rivals.BLS_POINT_OPERATIONS
    parts = []
    for short, title, cases, names in sections(given):
        truths, answers = run_set(cases, names, given.jobs, cap, given.ftio if len(names) > 1 else None)
        scored = {name: score.scored(truths, own) for name, own in answers.items()}
        parts.append(page.by_class(title, truths, answers["lnetstat"]) if short == "real" else page.section(title, scored))
        if given.answers:
            given.answers.mkdir(parents=True, exist_ok=True)
            keep = {"truths": truths, "answers": answers}
            (given.answers / f"{short}.json").write_text(json.dumps(keep))
    text = page.block(parts, ftio=bool(given.ftio), cap=cap)
    print(text)
    if not given.quick:
        page.write(PAGE, text)


if __name__ == "__main__":
    main()
