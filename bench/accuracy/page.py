"""The tables of docs/analysis.md: figures with intervals of 95 %, between two markers."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lnetstat
from accuracy import score
from accuracy.score import Figure, Outcome

BEGIN = "<!-- made by `make bench-accuracy`: do not edit -->"
END = "<!-- end of what `make bench-accuracy` made -->"
PACKAGES = ("numpy", "pandas", "numba", "astropy")

FOUND = ("false_alarms", "right", "wrong_period", "right_at_far", "auc", "total")
FOUND_HEADS = ("method", "false alarms, %", "right period, %", "wrong period, %", "right at 5 % false alarms, %", "AUC", "total", "CPU")
MEASURED = ("period_ppm", "duration_resolved", "lost_net", "incidents_f1")
MEASURED_HEADS = ("method", "period error, ppm", "duration error, %", "net loss error, %", "incidents, F1", "cases")
OWN_ERRORS = {
    "within_1_sigma": "period within 1 sigma of its error bar (68 wanted)",
    "within_2_sigma": "period within 2 sigma (95 wanted)",
    "fap_low": "negatives with a false-alarm probability below 0.01 (1 wanted)",
    "aligned": "epoch alignment right",
    "ping_named": "pings named where they are the cause; without a ping column, in over half of the cases, it stays unknown",
    "blamed": "pings blamed for what has another cause (0 wanted)",
}


def section(title: str, scored: dict[str, list[Outcome]]) -> str:
    """Both tables of one set, and what only lnetstat states."""
    found = {name: score.figures(outcomes) for name, outcomes in scored.items()}
    outcomes = next(iter(scored.values()))
    positives = sum(each.positive for each in outcomes)
    unit = found.get("threshold and gap statistics", {}).get("cpu_s")
    lines = [f"### {title}", "", f"{positives} cases with dead time, {len(outcomes) - positives} without.", ""]
    lines += _table(
        FOUND_HEADS,
        [[name, *(_cell(own[key], key) for key in FOUND), _ratio(own["cpu_s"], unit)] for name, own in found.items()],
    )
    levels = sorted({each.level for each in outcomes if each.positive})
    lines += ["", "Right period at 5 % false alarms, by level (5: several sources stacked), %:", ""]
    lines += _table(
        ("method", *(f"level {level}" for level in levels)),
        [[name, *(_cell(own[f"right_at_far_level_{level}"], "share") for level in levels)] for name, own in found.items()],
    )
    lines += ["", "Medians over the cases declared with the right period; durations only of dips of two samples or more:", ""]
    lines += _table(
        MEASURED_HEADS,
        [[name, *(_cell(own[key], key) for key in MEASURED), str(own["period_ppm"].cases)] for name, own in found.items()],
    )
    ours = found["lnetstat"]
    lines += ["", "What lnetstat says about itself, %:", ""]
    lines += _table(("", "share", "cases"), [[words, _cell(ours[key], "share"), str(ours[key].cases)] for key, words in OWN_ERRORS.items()])
    return "\n".join(lines)


def by_class(title: str, truths: Sequence[dict[str, Any]], answers: Sequence[dict[str, Any]]) -> str:
    """How often lnetstat sees the dips of each class (as detected, or as recurrent where cycles are uneven)."""
    own = {answer["case_id"]: answer for answer in answers}
    rows = []
    for cls in sorted({truth["cls"] for truth in truths}):
        chosen = [truth for truth in truths if truth["cls"] == cls]
        said = [own[truth["case_id"]]["verdict"] in ("detected", "recurrent") for truth in chosen]
        right = [
            seen and abs(own[truth["case_id"]]["period_s"] / truth["period_s"] - 1) < score.RIGHT
            for seen, truth in zip(said, chosen, strict=True)
        ]
        rows.append([cls, str(len(chosen)), *(_cell(score.wilson(sum(hits), len(chosen)), "share") for hits in (said, right))])
    return "\n".join([f"### {title}", "", *_table(("class", "cases", "dips seen, %", "with the right period, %"), rows)])


def block(parts: Sequence[str], *, ftio: bool, cap: float) -> str:
    """All sections with the terms they were made on."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    terms = (
        f"Made on {today} with lnetstat {lnetstat.__version__}, Python {platform.python_version()}, {versions}. In brackets: intervals of "
        "95 % (shares: Wilson; others: bootstrap over the cases). CPU: median case, threshold method = 1. lnetstat's CPU is that of the "
        f"whole analysis. BLS has a grid capped at {cap:.0e} samples x periods a case: a complete one needs up to 50 times as many. "
        "All but the threshold method and FTIO on raw rates work on lnetstat's detrended series; none of them takes the ping column, "
        "which lnetstat does."
    )
    left_out = "" if ftio else "\n\nFTIO was left out: no Python with ftio-hpc was given (`--ftio PYTHON`)."
    return "\n\n".join([terms + left_out, *parts])


def write(path: Path, text: str) -> None:
    """Put the text between the markers of a page that has them, at its end otherwise."""
    whole = path.read_text() if path.exists() else "# Analysis\n\n"
    if BEGIN not in whole:
        whole += f"\n{BEGIN}\n{END}\n"
    head, rest = whole.split(BEGIN, 1)
    path.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END, 1)[1]}")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _cell(figure: Figure, key: str) -> str:
    if figure.cases == 0 or figure.value != figure.value:
        return "–"
    scale, form = {"auc": (1, ".3f"), "total": (1, ".1f"), "period_ppm": (1, ".3g"), "incidents_f1": (1, ".3f")}.get(key, (100, ".3g"))
    low, value, high = (format(scale * number + 0.0, form) for number in (figure.low, figure.value, figure.high))
    return f"{value} ({low}–{high})"


def _ratio(cpu: Figure, unit: Figure | None) -> str:
    if unit is None or not unit.value > 0:
        return "–"
    return f"{cpu.value / unit.value:.3g}"
