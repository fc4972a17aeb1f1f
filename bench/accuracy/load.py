"""The traffic of a record before any dip: a workload in one of four styles, the application's own cycle, red noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

IDLE = 0.02  # share of the busy load that an idle system still carries: metadata and pings
SUBSTEPS = 4  # knots of the load within one sampling interval, so that the edges of jobs fall between samples


def workload(rng: np.random.Generator, style: str, length_s: float, knots_s: Floats) -> Floats:
    """The load at the knots, about 1 when busy.  (n,) -> (n,)."""
    if style == "jobs":
        return _steps(rng, knots_s, length_s, (60.0, 1800.0), idle_chance=0.15)
    if style == "bursts":
        return _on_off(rng, knots_s, length_s)
    if style == "trend":
        phase, turns = rng.uniform(0, 2 * np.pi), rng.uniform(0.3, 2.0)
        swing = rng.uniform(0.1, 0.35)
        return np.asarray(1 + swing * np.sin(phase + 2 * np.pi * turns * knots_s / length_s))
    return np.ones_like(knots_s)


def application(rng: np.random.Generator, cls: str, length_s: float, dt_s: float) -> dict[str, Any]:
    """The application's own cycle: period in s, duty, and whether it is strict."""
    longest_s = max(6 * dt_s, min(450.0, length_s / 12))
    period_s = float(np.exp(rng.uniform(np.log(max(20.0, 4 * dt_s)), np.log(max(longest_s, 25.0)))))
    return {"period": period_s, "duty": float(rng.uniform(0.35, 0.65)), "strict": bool(cls != "n_checkpoint" or rng.random() < 0.5)}


def application_load(rng: np.random.Generator, app: dict[str, Any], length_s: float, knots_s: Floats) -> Floats:
    """High for `duty` of each cycle and low for the rest; a loose cycle varies by 15 % from one to the next.  (n,) -> (n,)."""
    cycles = int(length_s / app["period"] * 1.6) + 4
    spread = np.zeros(cycles) if app["strict"] else 0.15 * rng.standard_normal(cycles)
    starts = -app["period"] * rng.random() + np.cumsum(app["period"] * np.clip(1 + spread, 0.4, 1.6))
    starts -= starts[0] + app["period"] * rng.random()
    stops = starts + app["duty"] * np.diff(np.append(starts, starts[-1] + app["period"]))
    high = np.searchsorted(starts, knots_s, side="right") > np.searchsorted(stops, knots_s, side="right")
    return np.where(high, 1.0, rng.uniform(0.05, 0.5))


def sine(rng: np.random.Generator, period_s: float, knots_s: Floats) -> Floats:
    """A sinusoidal load of a tenth to nine tenths of the mean, at the period that a dip would have had.  (n,) -> (n,)."""
    return np.asarray(1 + rng.uniform(0.1, 0.9) * np.sin(2 * np.pi * (knots_s / period_s + rng.random())))


def red_noise(rng: np.random.Generator, count: int, dt_s: float, sigma: float) -> Floats:
    """Noise that remembers its past for some seconds: white noise through a low-pass of first order.  -> (count,)."""
    memory_s = float(np.exp(rng.uniform(np.log(3.0), np.log(60.0))))
    padded = 1 << (count - 1).bit_length()
    frequency = np.fft.rfftfreq(padded, dt_s)
    spectrum = np.fft.rfft(rng.standard_normal(padded)) / np.sqrt(1 + (2 * np.pi * frequency * memory_s) ** 2)
    noise = np.fft.irfft(spectrum, padded)[:count]
    deviation = float(noise.std())
    return np.asarray(noise * (sigma / deviation if deviation > 0 else 0.0))


def white_noise(rng: np.random.Generator, count: int, sigma: float, heavy: bool) -> Floats:
    """Normal, or Student t with 3 degrees of freedom scaled to the same variance (which is 3 for t3).  -> (count,)."""
    if heavy:
        return np.asarray(rng.standard_t(3, count) * sigma / np.sqrt(3))
    return np.asarray(rng.standard_normal(count) * sigma)


def _steps(rng: np.random.Generator, knots_s: Floats, length_s: float, lengths_s: tuple[float, float], idle_chance: float) -> Floats:
    low, high = np.log(lengths_s)
    lengths = np.exp(rng.uniform(low, high, int(length_s / lengths_s[0]) + 2))
    edges = np.cumsum(lengths)
    levels = rng.uniform(0.25, 1.6, lengths.size)
    levels[rng.random(lengths.size) < idle_chance] = IDLE
    return np.asarray(levels[np.searchsorted(edges, knots_s)])


def _on_off(rng: np.random.Generator, knots_s: Floats, length_s: float) -> Floats:
    lengths = np.exp(rng.uniform(np.log(4.0), np.log(120.0), int(length_s / 4.0) + 2))
    levels = np.where(np.arange(lengths.size) % 2 == 0, rng.uniform(0.5, 1.5, lengths.size), IDLE * rng.uniform(0.5, 10.0, lengths.size))
    return np.asarray(levels[np.searchsorted(np.cumsum(lengths), knots_s)])
