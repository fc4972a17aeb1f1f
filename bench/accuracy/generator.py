"""Labelled synthetic records in the format of the practice sets: cases.jsonl, truth.jsonl, cases/ID.csv.gz.

    python bench/accuracy/generator.py --set DIR --seed 7 --cases 150 [--classes p_free,n_sine] [--levels 3,4]

`cases` yields the same records without writing them. A record depends on the seed and its number alone, and on the list of classes
and levels asked for.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from accuracy import load as traffic
from accuracy.dips import Dips, Schedule, lost_bytes, schedule
from accuracy.pings import credit_columns, ping_rates
from accuracy.recipe import CLASSES, LEVEL_SNR, PROPORTIONS, STACK_LEVEL, STACKS, Recipe, draw

Floats = npt.NDArray[np.float64]

EARLIEST_S, LATEST_S = 1_700_000_000, 1_720_000_000
BUSY = 0.05  # of the usual load: below it there is no traffic that a dip could take away


def cases(
    seed: int, count: int, classes: Sequence[str] | None = None, levels: Sequence[int] | None = None
) -> Iterator[tuple[dict[str, Any], dict[str, Any], pd.DataFrame]]:
    """(case, truth, table) of `count` records; the default classes come in the proportions of the practice sets."""
    makeup = _makeup(count, classes, levels)
    order = np.random.default_rng(seed).permutation(len(makeup))
    for number, which in enumerate(order):
        cls, level = makeup[which]
        rng = np.random.default_rng([seed, number])
        yield _record(rng, draw(rng, cls, level), f"{number:04d}")


def write_set(folder: Path, seed: int, count: int, classes: Sequence[str] | None = None, levels: Sequence[int] | None = None) -> None:
    """Write the records below `folder`, which is made when it does not exist."""
    (folder / "cases").mkdir(parents=True, exist_ok=True)
    with (folder / "cases.jsonl").open("w") as case_lines, (folder / "truth.jsonl").open("w") as truth_lines:
        for case, truth, table in cases(seed, count, classes, levels):
            path = folder / "cases" / f"{case['case_id']}.csv.gz"
            table.assign(time=table["time"].map("{:.3f}".format)).to_csv(
                path, index=False, float_format="%.6g", compression={"method": "gzip", "compresslevel": 4, "mtime": 0}
            )
            print(json.dumps(case), file=case_lines)
            print(json.dumps(truth), file=truth_lines)


def summary(truths: Sequence[dict[str, Any]]) -> str:
    """Percentiles 10, 50 and 90 of what describes a set, by level: for a comparison of two sets."""
    lines = [f"{'level':5} {'cases':>5}  n / dt_s / period_s / duration_s / depth / sigma / snr_ideal: percentiles 10, 50, 90"]
    for level in sorted({truth["level"] for truth in truths}):
        of_level = [truth for truth in truths if truth["level"] == level]
        parts = []
        for key in ("n", "dt", "period_nominal", "duration_s", "depth", "sigma", "snr_ideal"):
            values = [truth[key] for truth in of_level if key in truth]
            parts.append("/".join(f"{value:.3g}" for value in np.percentile(values, (10, 50, 90))) if values else "-")
        lines.append(f"{level:5} {len(of_level):5}  " + "  ".join(f"{part:>16}" for part in parts))
    return "\n".join(lines)


def _makeup(count: int, classes: Sequence[str] | None, levels: Sequence[int] | None) -> list[tuple[str, int]]:
    """(class, level) of every record: classes by largest remainder, each class through the levels in turn."""
    shares = PROPORTIONS if classes is None else dict.fromkeys(classes, 1)
    exact = {cls: count * share / sum(shares.values()) for cls, share in shares.items()}
    numbers = {cls: int(value) for cls, value in exact.items()}
    for cls in sorted(exact, key=lambda cls: numbers[cls] - exact[cls])[: count - sum(numbers.values())]:
        numbers[cls] += 1
    single = [level for level in (levels or (1, 2, 3, 4)) if level != STACK_LEVEL] or [1, 2, 3, 4]
    return [(cls, STACK_LEVEL if cls in STACKS else single[i % len(single)]) for cls, number in numbers.items() for i in range(number)]


def _record(rng: np.random.Generator, recipe: Recipe, case_id: str) -> tuple[dict[str, Any], dict[str, Any], pd.DataFrame]:
    begin_s = float(rng.integers(EARLIEST_S, LATEST_S)) + rng.random()
    knots_s = np.arange(recipe.samples * traffic.SUBSTEPS + traffic.SUBSTEPS) * (recipe.dt_s / traffic.SUBSTEPS)
    app = None
    load = traffic.workload(rng, recipe.style, recipe.length_s, knots_s)
    if recipe.cls in ("p_masked", "n_checkpoint"):
        app = traffic.application(rng, recipe.cls, recipe.length_s, recipe.dt_s)
        load = load * traffic.application_load(rng, app, recipe.length_s, knots_s)
    if recipe.cls == "n_sine":
        load = load * traffic.sine(rng, recipe.period_s, knots_s)
    plan = schedule(rng, recipe, begin_s)
    busy = _at(load, plan.periodic.start_s - begin_s, recipe) > BUSY
    plan = replace(plan, periodic=plan.periodic.those(busy))

    edges_s = _sample_times(rng, recipe, begin_s)
    table = pd.concat([_source(rng, recipe, plan, load, edges_s, begin_s, number) for number in range(recipe.sources)], ignore_index=True)
    case = {"case_id": case_id, "kind": "counter" if recipe.counter else "rate", "dt_nominal": recipe.dt_s, "sources": recipe.sources}
    truth = _truth(recipe, plan, load, begin_s, case_id, app)
    if recipe.credits:
        limit, columns, figures = credit_columns(rng, plan.floods, edges_s)
        table[list(columns)] = pd.DataFrame(columns)
        case["credits_max"], truth["credits"] = limit, figures
    if recipe.sources == 1:
        if recipe.pings:
            table.insert(2, "ping_rate", ping_rates(rng, plan.floods, edges_s))
        table = table.drop(columns="source")[_kept(rng, recipe)]
    case["columns"] = list(table.columns)
    if recipe.cls == "x_clock_step":
        _step_clock(rng, table, truth)
    return case, truth, table.reset_index(drop=True)


def _sample_times(rng: np.random.Generator, recipe: Recipe, begin_s: float) -> Floats:
    """Ends of the sampling intervals, the start of the first before them.  -> (samples + 1,)."""
    edges_s = begin_s + np.arange(recipe.samples + 1) * recipe.dt_s
    if recipe.level > 1:
        jitter = np.exp(rng.uniform(np.log(0.01), np.log(0.08)))
        edges_s += recipe.dt_s * np.clip(jitter * rng.standard_normal(edges_s.size), -0.4, 0.4)
    if recipe.cls == "n_collector":  # late at each multiple of a cron interval, by up to nearly one sampling interval
        cron_s = float(rng.choice((30.0, 60.0)))
        first = np.diff(np.floor(edges_s / cron_s), prepend=np.floor(edges_s[0] / cron_s)) > 0
        late = np.where(first, recipe.dt_s * (rng.uniform(0.4, 0.8) + 0.02 * rng.standard_normal(edges_s.size)), 0.0)
        edges_s = np.sort(edges_s + np.maximum(late, 0.0))
    return np.round(edges_s, 3)


def _source(
    rng: np.random.Generator, recipe: Recipe, plan: Schedule, load: Floats, edges_s: Floats, begin_s: float, number: int
) -> pd.DataFrame:
    """Columns time, value and source of one server."""
    step_s = recipe.dt_s / traffic.SUBSTEPS
    so_far = np.concatenate([[0.0], np.cumsum(load) * step_s])
    passed = np.interp(edges_s - begin_s, np.arange(so_far.size) * step_s, so_far)
    for dips in (plan.periodic, plan.others):
        passed -= lost_bytes(dips, _at(load, dips.start_s - begin_s, recipe), edges_s, recipe.catch_up)
    interval_s = np.diff(edges_s)
    rate = np.diff(passed) / interval_s
    red = traffic.red_noise(rng, rate.size, recipe.dt_s, recipe.sigma * rng.uniform(0.1, 0.5))
    noise = red + traffic.white_noise(rng, rate.size, recipe.sigma, recipe.heavy)
    busy_rate = np.exp(rng.uniform(np.log(4e8), np.log(3e10)))
    rate = busy_rate * np.maximum(0.0, rate * (1 + noise))
    value = _counted(rng, recipe, rate * interval_s) if recipe.counter else rate
    return pd.DataFrame({"time": edges_s[1:], "value": np.round(value).astype(np.int64), "source": f"oss{number:02d}"})


def _counted(rng: np.random.Generator, recipe: Recipe, volume: Floats) -> Floats:
    """A cumulative counter that begins anywhere and, from level 2 on, starts again from 0 up to three times."""
    total = np.cumsum(volume) + rng.uniform(0, 1e13)
    if recipe.level > 1:
        for reset in np.sort(rng.integers(1, volume.size, rng.integers(0, 4))):
            total[reset:] -= total[reset] - volume[reset]
    return np.asarray(total)


def _kept(rng: np.random.Generator, recipe: Recipe) -> npt.NDArray[np.bool_]:
    """Rows that were not lost: up to 5 % single ones, and up to three gaps of 5 rows to 2.5 % of the record; none at level 1."""
    keep = np.ones(recipe.samples, dtype=bool)
    if recipe.level > 1:
        keep &= rng.random(recipe.samples) >= rng.uniform(0, 0.05)
        for _ in range(rng.integers(0, 4)):
            rows = int(rng.integers(5, max(6, recipe.samples // 40)))
            start = int(rng.integers(0, recipe.samples - rows))
            keep[start : start + rows] = False
    return keep


def _truth(recipe: Recipe, plan: Schedule, load: Floats, begin_s: float, case_id: str, app: dict[str, Any] | None) -> dict[str, Any]:
    truth: dict[str, Any] = {
        "case_id": case_id,
        "cls": recipe.cls,
        "level": recipe.level,
        "detected": recipe.positive,
        "style": recipe.style,
        "app": app,
        "heavy": recipe.heavy,
        "snr_ideal": recipe.snr_ideal,
        "n": recipe.samples,
        "dt": recipe.dt_s,
        "period_nominal": recipe.period_s,
        "sigma": recipe.sigma,
    }
    if not recipe.positive:
        return truth
    end = np.array([begin_s + recipe.length_s])
    at_dips = _at(load, plan.periodic.start_s - begin_s, recipe)
    offered = load[: recipe.samples * traffic.SUBSTEPS].sum() * recipe.dt_s / traffic.SUBSTEPS
    return truth | {
        "period_s": plan.period_s,
        "duration_s": recipe.duration_s,
        "depth": recipe.depth,
        "cause": "other" if recipe.cls == "p_other" else "ping",
        "epoch_aligned": plan.offset_s is not None,
        **({} if plan.offset_s is None else {"onset_offset_s": plan.offset_s}),
        "lost_fraction": float(lost_bytes(plan.periodic, at_dips, end, recipe.catch_up)[0] / offered),
        "lost_fraction_gross": float(lost_bytes(plan.periodic, at_dips, end, 0.0)[0] / offered),
        "catch_up": recipe.catch_up,
        "jitter_s": recipe.jitter_s,
        "cover": list(plan.cover_s),
        "incidents": [[round(start, 3), round(start + lasts, 3)] for start, lasts in _pairs(plan.periodic)],
    }


def _pairs(dips: Dips) -> list[tuple[float, float]]:
    return list(zip(dips.start_s.tolist(), dips.duration_s.tolist(), strict=True))


def _at(load: Floats, since_s: Floats, recipe: Recipe) -> Floats:
    """The load at times since the record's begin."""
    index = np.clip((since_s / (recipe.dt_s / traffic.SUBSTEPS)).astype(int), 0, load.size - 1)
    return np.asarray(load[index])


def _step_clock(rng: np.random.Generator, table: pd.DataFrame, truth: dict[str, Any]) -> None:
    """The node's clock is set in the middle of the record: by 1 to 20 s, forward or back."""
    at_s = float(table["time"].quantile(rng.uniform(0.3, 0.7)))
    step_s = round(float(rng.uniform(1, 20) * rng.choice((-1, 1))), 3)
    table.loc[table["time"] > at_s, "time"] += step_s
    truth["incidents"] = [[start + step_s * (start > at_s), stop + step_s * (start > at_s)] for start, stop in truth["incidents"]]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=Path, required=True, help="folder to write the set to")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--classes", help=f"comma list of {', '.join(CLASSES)}; default: the practice sets' make-up")
    parser.add_argument("--levels", help=f"comma list of {', '.join(map(str, LEVEL_SNR))}")
    given = parser.parse_args(arguments)
    classes = given.classes.split(",") if given.classes else None
    if unknown := set(classes or ()) - set(CLASSES):
        parser.error(f"unknown class {', '.join(sorted(unknown))}: expected some of {', '.join(CLASSES)}")
    levels = [int(level) for level in given.levels.split(",")] if given.levels else None
    if unknown_levels := set(levels or ()) - set(LEVEL_SNR):
        parser.error(f"unknown level {sorted(unknown_levels)}: expected some of {list(LEVEL_SNR)}")
    write_set(given.set, given.seed, given.cases, classes, levels)
    truths = [json.loads(line) for line in (given.set / "truth.jsonl").read_text().splitlines()]
    print(summary(truths))


if __name__ == "__main__":
    main()
