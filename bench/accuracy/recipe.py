"""What one synthetic record is made of: the numbers drawn before anything is simulated.

The ranges are those stated in the practice sets' description (periods of 5..300 s, dips of 0.2..10 s and at most a fifth of the
period, depth 0.1..1, white noise 0.03..0.5 of the load, 3,000..36,000 samples, at least 12 periods and at most 25 hours). They are
assumptions, not measurements of a real system. A level is a range of the signal-to-noise ratio that an ideal matched filter of known
period reaches in white noise; the numbers are drawn again until the ratio falls into it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Class -> how many of 55 records: the make-up of the sets that are used in practice.
PROPORTIONS = {
    "p_aligned": 10,
    "p_free": 5,
    "p_masked": 3,
    "p_mixed": 3,
    "p_partial": 2,
    "p_other": 2,
    "p_stack": 2,
    "n_noise": 5,
    "n_aperiodic": 5,
    "n_checkpoint": 6,
    "n_sine": 2,
    "n_jittered": 4,
    "n_pings_only": 2,
    "n_collector": 2,
    "n_stack": 2,
}
# Of our own, drawn only when they are asked for: what real nodes did (uneven cycles, several phases) and what clocks and failovers do.
OWN_CLASSES = ("x_uneven", "x_failover", "x_clock_step", "x_two_intervals", "x_two_phases")
CLASSES = (*PROPORTIONS, *OWN_CLASSES)

LEVEL_SNR = {1: (60.0, 400.0), 2: (30.0, 60.0), 3: (16.0, 30.0), 4: (9.0, 16.0), 5: (16.0, 30.0)}
STACK_LEVEL = 5

INTERVALS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
INTERVAL_SHARES = (0.15, 0.11, 0.13, 0.44, 0.11, 0.02, 0.04)
PING_INTERVALS_S = (25.0, 75.0)  # obd_timeout / 4 for the timeouts of 100 s and 300 s
FREE_TIMER = ("p_free",)  # each cycle starts when the last one ended: any phase, drift
WITH_PINGS = ("p_free", "p_other", "n_pings_only", *OWN_CLASSES)
STACKS = ("p_stack", "n_stack")
LONGEST_S = 25 * 3600.0
FEWEST_PERIODS = 12
MOST_SAMPLES = 36_000
FEWEST_SAMPLES = 3_000


@dataclass(frozen=True)
class Recipe:
    """One record's drawn numbers; times in seconds, noise and depth as shares of the load."""

    cls: str
    level: int
    dt_s: float
    samples: int
    period_s: float
    duration_s: float
    depth: float
    sigma: float
    snr_ideal: float
    sources: int
    counter: bool
    pings: bool
    credits: bool
    style: str
    heavy: bool
    jitter_s: float
    catch_up: float

    @property
    def positive(self) -> bool:
        return self.cls.startswith(("p_", "x_"))

    @property
    def length_s(self) -> float:
        return self.samples * self.dt_s


def draw(rng: np.random.Generator, cls: str, level: int) -> Recipe:
    """A recipe of this class whose ideal signal-to-noise ratio lies within the level."""
    low, high = LEVEL_SNR[level]
    sources = int(rng.choice((8, 16))) if cls in STACKS else 1
    while True:
        dt_s = float(rng.choice(INTERVALS_S, p=np.array(INTERVAL_SHARES)))
        period_s = _period(rng, cls)
        samples = int(_loguniform(rng, FEWEST_SAMPLES, MOST_SAMPLES))
        duration_s = _loguniform(rng, 0.2, min(10.0, 0.2 * period_s))
        depth = float(rng.uniform(0.1, 1.0))
        sigma = _loguniform(rng, 0.03, 0.5)
        length_s = samples * dt_s
        if period_s < 5 * dt_s or not FEWEST_PERIODS * period_s <= length_s <= LONGEST_S:
            continue
        snr = ideal_snr(length_s / period_s, duration_s, dt_s, depth / sigma) * np.sqrt(sources)
        if low <= snr <= high:
            break
    pings = cls not in STACKS and (cls in WITH_PINGS or bool(rng.random() < 0.45))
    return Recipe(
        cls=cls,
        level=level,
        dt_s=dt_s,
        samples=samples,
        period_s=period_s,
        duration_s=duration_s,
        depth=depth,
        sigma=sigma,
        snr_ideal=float(snr),
        sources=sources,
        counter=bool(rng.random() < 0.45),
        pings=pings,
        credits=pings and bool(rng.random() < 0.55),
        style=_style(rng, cls, level),
        heavy=level > 1 and bool(rng.random() < 0.5),
        jitter_s=_loguniform(rng, 0.02, 0.12) if level > 2 else _loguniform(rng, 0.01, 0.07),
        catch_up=0.0 if level == 1 or rng.random() < 0.15 else float(rng.uniform(0.0, 0.8)),
    )


def ideal_snr(cycles: float, duration_s: float, dt_s: float, depth_over_sigma: float) -> float:
    """Signal-to-noise ratio of a matched filter that knows the period, in white noise.

    Each dip fills duration/dt samples wholly, or one sample by the share duration/dt when it is shorter than a sample.
    """
    filled = duration_s / dt_s
    return float(depth_over_sigma * np.sqrt(cycles) * (np.sqrt(filled) if filled >= 1 else filled))


def _loguniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _period(rng: np.random.Generator, cls: str) -> float:
    if cls in FREE_TIMER:
        return _loguniform(rng, 5.0, 300.0)
    if rng.random() < 0.4:
        return float(rng.choice(PING_INTERVALS_S))
    return float(round(_loguniform(rng, 5.0, 300.0)))


def _style(rng: np.random.Generator, cls: str, level: int) -> str:
    """The workload's style: harder levels have restless workloads; checkpoints come on top of it."""
    styles = {1: ("flat", "trend"), 2: ("flat", "trend", "jobs"), 5: ("flat", "flat", "jobs")}
    return str(rng.choice(styles.get(level, ("flat", "trend", "jobs", "bursts"))))
