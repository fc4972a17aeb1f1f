"""Is `value` of a CSV file what --kind says? A counter taken for a rate, or a rate for a counter, gives a sure and wrong "none"."""

import numpy as np
import pandas as pd

from lnetstat.analysis.wording import KIND_ADVICE, percent

LEAST_STEPS = 20
GROWING = 0.95  # of the steps of a rate that go up: no real rate does that
FALLING = 0.2  # of the steps of a counter that go down: resets are rare


def doubts(table: pd.DataFrame, kind: str) -> str:
    """Return why the values do not look like the given kind, with what to do; empty where they do."""
    groups = [rows for _, rows in table.groupby("source", sort=False)] if "source" in table else [table]
    parts = [np.diff(rows.dropna(subset=["value"]).sort_values("time")["value"].to_numpy(np.float64)) for rows in groups]
    steps = np.concatenate(parts)
    moving = steps[steps != 0]
    if moving.size < LEAST_STEPS:
        return ""
    falling = float((moving < 0).mean())
    if kind == "rate" and 1 - falling >= GROWING and moving.size >= steps.size / 2:
        return f"values only grow (in {percent(1 - falling)} of their steps): is it a counter? {KIND_ADVICE} counter"
    if kind == "counter" and falling > FALLING:
        return f"values fall in {percent(falling)} of their steps: is it a rate? {KIND_ADVICE} rate"
    return ""
