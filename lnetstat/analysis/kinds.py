"""Is `value` of a table what --kind says? A counter taken for a rate, or a rate for a counter, gives a sure and wrong "none"."""

import numpy as np
import pandas as pd

from lnetstat.analysis.wording import KIND_ADVICE, percent

LEAST_STEPS = 20
GROWING = 0.95  # of the steps of a rate that go up: no real rate does that
FALLING = 0.2  # of the steps of a counter that go down: resets are rare
FEW_BELOW_ZERO = 0.01  # collectors that take differences make one where a counter began anew: rare; more are another quantity


def without_negative_rates(table: pd.DataFrame, kind: str) -> tuple[pd.DataFrame, int]:
    """Return (the table with rates below zero as missing, how many there were in `value`); counters and credits stay as they are."""
    columns = [name for name in ("value", "ping_rate") if name in table and (name == "ping_rate" or kind == "rate")]
    below = {name: table[name] < 0 for name in columns}
    if not any(mask.any() for mask in below.values()):
        return table, 0
    sifted = table.assign(**{name: table[name].mask(mask) for name, mask in below.items()})
    sifted.attrs = dict(table.attrs)
    return sifted, int(below["value"].sum()) if "value" in below else 0


def doubts(table: pd.DataFrame, kind: str, below_zero: int = 0) -> str:
    """Return why the values do not look like the given kind, with what to do; empty where they do.

    `below_zero`: how many rates below zero were taken out.
    """
    if below_zero > FEW_BELOW_ZERO * len(table):
        share = percent(below_zero / len(table))
        return f"values lie below zero in {share} of the rows, and no rate does: is it a counter? {KIND_ADVICE} counter"
    groups = [rows for _, rows in table.groupby("source", sort=False)] if "source" in table else [table]
    parts = [np.diff(rows.dropna(subset=["value"]).sort_values("time")["value"].to_numpy(np.float64)) for rows in groups]
    steps = np.concatenate(parts) if parts else np.empty(0)
    moving = steps[steps != 0]
    if moving.size < LEAST_STEPS:
        return ""
    falling = float((moving < 0).mean())
    if kind == "rate" and 1 - falling >= GROWING and moving.size >= steps.size / 2:
        return f"values only grow (in {percent(1 - falling)} of their steps): is it a counter? {KIND_ADVICE} counter"
    if kind == "counter" and falling > FALLING:
        return f"values fall in {percent(falling)} of their steps: is it a rate? {KIND_ADVICE} rate"
    return ""
