"""Ping floods as a server counts them, and the credits they use up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from accuracy.dips import Dips

Floats = npt.NDArray[np.float64]

LIMITS = (8, 16, 63, 126)  # peer credits: the default of 8, tuned systems, and what LNet halves to per CPT
DRAIN = 0.3  # of the flood's duration: how long the queue takes to empty
PING_BYTES = 256  # of one message in the peer's queue column
STEPS = 64  # per flood, to integrate the time above the limit and the percentiles


def ping_rates(rng: np.random.Generator, floods: Dips, edges_s: Floats) -> Floats:
    """Pings per second averaged over each interval: some all the time, the floods evenly over their duration.  (n+1,) -> (n,)."""
    base = np.exp(rng.uniform(np.log(5.0), np.log(50.0)))
    pings = np.exp(rng.uniform(np.log(2e3), np.log(5e5)))
    if not floods.start_s.size:
        return np.full(edges_s.size - 1, base)
    corners, shares = _corners(floods)
    counted = pings * np.interp(edges_s, corners, shares)
    return np.asarray(base + np.diff(counted) / np.diff(edges_s))


def credit_columns(rng: np.random.Generator, floods: Dips, edges_s: Floats) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """-> the limit, the columns tx, tx_min and queue_bytes at each sample (n,), and the true figures.

    Credits in use rise evenly through a flood and fall evenly for DRAIN of its duration after it.
    """
    limit = int(rng.choice(LIMITS))
    base = round(limit * rng.uniform(0.1, 0.7))
    high = limit * np.exp(rng.uniform(np.log(0.4), np.log(40.0)))
    peaks = high * np.clip(1 + 0.15 * rng.standard_normal(floods.start_s.size), 0.4, 1.6)
    now_s = edges_s[1:]
    used = base + np.round(_pulse(floods, peaks, now_s))
    crest_s = floods.start_s + floods.duration_s
    seen = np.searchsorted(crest_s, now_s, side="right")
    highest = np.concatenate([[0.0], np.maximum.accumulate(np.round(peaks))])[seen] + base
    message_bytes = rng.uniform(1e3, 5e3)
    columns = {
        "tx": (limit - used).astype(np.int64),
        "tx_min": (limit - np.maximum(np.maximum.accumulate(used), highest)).astype(np.int64),
        "queue_bytes": np.round(base * message_bytes + (used - base) * PING_BYTES).astype(np.int64),
    }
    return limit, columns, _true_figures(limit, base, floods, peaks, float(edges_s[-1] - edges_s[0]))


def _true_figures(limit: int, base: int, floods: Dips, peaks: Floats, length_s: float) -> dict[str, Any]:
    along = (np.arange(STEPS) + 0.5) / STEPS
    rising = np.minimum(along * (1 + DRAIN), 1.0) - np.maximum(along * (1 + DRAIN) - 1.0, 0.0) / DRAIN
    used = np.concatenate([[float(base)], (base + np.outer(peaks, rising)).ravel()])
    each_s = np.repeat(floods.duration_s * (1 + DRAIN) / STEPS, STEPS)
    weight_s = np.concatenate([[max(0.0, length_s - each_s.sum())], each_s])
    order = np.argsort(used)
    reached = np.cumsum(weight_s[order]) / weight_s.sum()
    waiting = np.maximum(used - limit, 0.0)
    return {
        "max": limit,
        "fraction_time_oversubscribed": float(weight_s[waiting > 0].sum() / weight_s.sum()),
        "required_peak": int(base + round(float(peaks.max()))) if peaks.size else base,
        "required_p99": float(used[order][np.searchsorted(reached, 0.99)]),
        "queued_credit_seconds": float((waiting * weight_s).sum()),
    }


def _pulse(floods: Dips, peaks: Floats, now_s: Floats) -> Floats:
    if not floods.start_s.size:
        return np.zeros_like(now_s)
    index = np.searchsorted(floods.start_s, now_s, side="right") - 1
    flood = np.maximum(index, 0)
    since = (now_s - floods.start_s[flood]) / floods.duration_s[flood]
    height = np.where(since <= 1, since, np.maximum(0.0, 1 - (since - 1) / DRAIN))
    return np.asarray(np.where(index >= 0, peaks[flood] * height, 0.0))


def _corners(floods: Dips) -> tuple[Floats, Floats]:
    """Start and stop of each flood, and how many floods' pings were sent by then.  -> (2 k,), (2 k,)."""
    stops = np.minimum(floods.start_s + floods.duration_s, np.append(floods.start_s[1:], np.inf))
    corners = np.column_stack([floods.start_s, stops]).ravel()
    shares = np.column_stack([np.arange(stops.size), np.arange(1, stops.size + 1)]).ravel().astype(float)
    return corners, shares
