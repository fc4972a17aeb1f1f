"""When dips happen in a record, and what they take from the bytes: exact integrals, so that no fine grid is needed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from accuracy.recipe import Recipe

Floats = npt.NDArray[np.float64]

DEPTH_SPREAD = 0.15
DURATION_SPREAD = 0.12
MISSING = 0.05  # share of incidents that do not happen, from level 3 on
OPEN_DIPS = 10  # a dip and its catch-up are over long before ten more have begun
RAMP = 0.2  # of the duration: traffic neither stops nor resumes at once
UNEVEN_CV = 0.07  # coefficient of variation of the cycles that real nodes showed
RANDOM_WALK_S = 0.004  # of a timer that is set anew each cycle


@dataclass(frozen=True)
class Dips:
    """Incidents in time order.  All arrays (k,): start_s of the half-depth point, duration_s, depth as a share of the load."""

    start_s: Floats
    duration_s: Floats
    depth: Floats

    def those(self, keep: npt.NDArray[np.bool_]) -> Dips:
        return Dips(self.start_s[keep], self.duration_s[keep], self.depth[keep])


@dataclass(frozen=True)
class Schedule:
    """What a record's dips are: the periodic ones (the truth), others that only disturb, and the times of ping floods.

    period_s is the slope of the onsets, offset_s the onset within the period where onsets keep to the epoch, cover_s the epoch
    range with dead time.
    """

    periodic: Dips
    others: Dips
    floods: Dips
    period_s: float
    offset_s: float | None
    cover_s: tuple[float, float]


NONE = Dips(np.empty(0), np.empty(0), np.empty(0))


def schedule(rng: np.random.Generator, recipe: Recipe, begin_s: float) -> Schedule:
    """Onsets of the class, within begin_s .. begin_s + length."""
    end_s = begin_s + recipe.length_s
    cover_s = _cover(rng, recipe, begin_s, end_s)
    if not recipe.positive:
        return _negative(rng, recipe, begin_s, end_s)
    onsets, slope_s, offset_s = _onsets(rng, recipe, begin_s, end_s)
    if recipe.level > 2:
        onsets = onsets[rng.random(onsets.size) >= MISSING]
    onsets = onsets[(onsets >= cover_s[0]) & (onsets < cover_s[1])]
    periodic = _dips(rng, recipe, onsets)
    if recipe.cls == "x_two_intervals":  # a third of the clients ping three times as seldom: every third dip is deeper
        third = np.round((periodic.start_s - periodic.start_s[0]) / recipe.period_s) % 3 == 0
        periodic = replace(periodic, depth=np.where(third, periodic.depth, 0.6 * periodic.depth))
    others = _random(rng, recipe, begin_s, end_s, 2.5 * recipe.period_s) if recipe.cls == "p_mixed" else NONE
    if recipe.cls == "p_other":
        floods = _floods_elsewhere(rng, recipe, begin_s, end_s)
    else:
        floods = Dips(periodic.start_s, periodic.duration_s, np.ones(periodic.start_s.size))
    return Schedule(periodic, others, floods, slope_s, offset_s, cover_s)


def lost_bytes(dips: Dips, load: Floats, edges_s: Floats, catch_up: float) -> Floats:
    """Bytes lost until each edge, less what was caught up by then, in units of load x second.

    dips (k,), load (k,) at the dips, edges_s (n,) -> (n,). A dip is a trapezoid of area depth x duration; a share `catch_up` of it
    comes back exponentially after the dip with a time constant of 1.3 durations.
    """
    if not dips.start_s.size:
        return np.zeros_like(edges_s)
    area = dips.depth * dips.duration_s * load
    done = np.concatenate([[0.0], np.cumsum(area * (1 - catch_up))])
    last = np.searchsorted(dips.start_s - 0.5 * RAMP * dips.duration_s, edges_s, side="right")
    total = done[np.maximum(last - OPEN_DIPS, 0)]
    for back in range(1, OPEN_DIPS + 1):
        index = last - back
        dip = np.maximum(index, 0)
        since = (edges_s - dips.start_s[dip]) / dips.duration_s[dip]
        total = total + np.where(index >= 0, area[dip] * (_filled(since) - catch_up * _repaid(since)), 0.0)
    return np.asarray(total)


def _filled(since: Floats) -> Floats:
    """Share of a dip's area that lies before `since` durations after its onset: a trapezoid's integral."""
    return np.asarray(_ramped(since) - _ramped(since - 1.0))


def _ramped(since: Floats) -> Floats:
    inside = np.clip(since + RAMP / 2, 0.0, RAMP)
    return np.asarray(inside**2 / (2 * RAMP) + np.maximum(since - RAMP / 2, 0.0))


def _repaid(since: Floats) -> Floats:
    return np.asarray(-np.expm1(-np.maximum(since - 1.0 - RAMP / 2, 0.0) / 1.3))


def _dips(rng: np.random.Generator, recipe: Recipe, onsets: Floats) -> Dips:
    duration_s = recipe.duration_s * np.clip(1 + DURATION_SPREAD * rng.standard_normal(onsets.size), 0.5, 1.6)
    depth = np.minimum(1.0, recipe.depth * np.clip(1 + DEPTH_SPREAD * rng.standard_normal(onsets.size), 0.3, 1.7))
    return Dips(onsets, duration_s, depth)


def _cover(rng: np.random.Generator, recipe: Recipe, begin_s: float, end_s: float) -> tuple[float, float]:
    if recipe.cls != "p_partial":
        return begin_s, end_s
    length_s = recipe.length_s * rng.uniform(0.45, 0.8)
    start_s = begin_s + rng.uniform(0, recipe.length_s - length_s)
    return float(start_s), float(start_s + length_s)


def _onsets(rng: np.random.Generator, recipe: Recipe, begin_s: float, end_s: float) -> tuple[Floats, float, float | None]:
    """-> onsets (k,), their slope in s per cycle, the offset to whole periods of the epoch where they keep to it."""
    count = int(recipe.length_s / recipe.period_s) + 3
    period_s = recipe.period_s
    if recipe.cls in ("p_free", "p_other"):
        period_s += rng.uniform(0.001, 0.020) if recipe.cls == "p_free" else rng.uniform(0.0, 0.5)
        walk = np.cumsum(rng.normal(0, RANDOM_WALK_S, count)) if recipe.cls == "p_free" else np.zeros(count)
        onsets = begin_s + period_s * (rng.random() - 1) + period_s * np.arange(count) + walk
        return _jittered(rng, recipe, onsets, begin_s, end_s), _slope(onsets), None
    if recipe.cls.startswith("x_"):
        onsets = _own_onsets(rng, recipe, begin_s, count)
        return _jittered(rng, recipe, onsets, begin_s, end_s), _own_slope(recipe, onsets), None
    offset_s = float(rng.uniform(0.0, 0.3))
    onsets = (np.floor(begin_s / period_s) + np.arange(count)) * period_s + offset_s
    return _jittered(rng, recipe, onsets, begin_s, end_s), period_s, offset_s


def _own_onsets(rng: np.random.Generator, recipe: Recipe, begin_s: float, count: int) -> Floats:
    regular = begin_s - recipe.period_s * rng.random() + recipe.period_s * np.arange(count)
    if recipe.cls == "x_uneven":
        gaps = recipe.period_s * (1 + UNEVEN_CV * rng.standard_normal(count + count // 8 + 4))
        return np.asarray(begin_s - recipe.period_s * rng.random() + np.cumsum(gaps))
    if recipe.cls == "x_failover":  # servers came back at another phase, once or twice in the record
        for cut in np.sort(rng.uniform(0.25, 0.75, rng.integers(1, 3))):
            regular[int(cut * count) :] += recipe.period_s * rng.uniform(0.15, 0.85)
    if recipe.cls == "x_two_phases":
        second = regular + recipe.period_s * rng.uniform(0.25, 0.42)
        return np.asarray(np.sort(np.concatenate([regular, second])))
    return regular


def _own_slope(recipe: Recipe, onsets: Floats) -> float:
    return _slope(onsets) if recipe.cls == "x_uneven" else recipe.period_s


def _jittered(rng: np.random.Generator, recipe: Recipe, onsets: Floats, begin_s: float, end_s: float) -> Floats:
    onsets = np.sort(onsets + rng.normal(0, recipe.jitter_s, onsets.size))
    return np.asarray(onsets[(onsets > begin_s) & (onsets < end_s - recipe.duration_s)])


def _slope(onsets: Floats) -> float:
    return float(np.polyfit(np.arange(onsets.size), onsets - onsets[0], 1)[0])


def _negative(rng: np.random.Generator, recipe: Recipe, begin_s: float, end_s: float) -> Schedule:
    others = NONE
    if recipe.cls == "n_aperiodic":
        others = _random(rng, recipe, begin_s, end_s, recipe.period_s)
    if recipe.cls == "n_jittered":
        cv = rng.uniform(0.3, 0.6)
        gaps = recipe.period_s * rng.gamma(1 / cv**2, cv**2, int(1.5 * recipe.length_s / recipe.period_s) + 10)
        onsets = begin_s + np.cumsum(gaps)
        others = _dips(rng, recipe, onsets[onsets < end_s - recipe.duration_s])
    return Schedule(NONE, others, _floods_elsewhere(rng, recipe, begin_s, end_s), recipe.period_s, None, (begin_s, end_s))


def _random(rng: np.random.Generator, recipe: Recipe, begin_s: float, end_s: float, mean_gap_s: float) -> Dips:
    count = rng.poisson((end_s - begin_s) / mean_gap_s)
    return _dips(rng, recipe, np.sort(rng.uniform(begin_s, end_s - recipe.duration_s, count)))


def _floods_elsewhere(rng: np.random.Generator, recipe: Recipe, begin_s: float, end_s: float) -> Dips:
    """Ping floods at an interval of 25 s or 75 s that is not the period of the dips, any phase."""
    fits = [interval for interval in (25.0, 75.0) if abs(interval - recipe.period_s) > 1.0]
    interval_s = float(rng.choice(fits))
    count = int(recipe.length_s / interval_s) + 2
    onsets = begin_s + interval_s * (rng.random() + np.arange(count)) + rng.normal(0, 0.02, count)
    onsets = onsets[onsets < end_s]
    return Dips(onsets, np.full(onsets.size, np.exp(rng.uniform(np.log(0.2), np.log(5.0)))), np.ones(onsets.size))
