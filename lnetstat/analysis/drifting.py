"""Dips that drift, as real pings do: followed onset by onset, at the bursts of pings or messages, or where they are visible themselves."""

import numpy as np
import numpy.typing as npt

from lnetstat.analysis import folding, pings, shape, vetting
from lnetstat.analysis.normalise import Normalised
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.results import FloatArray
from lnetstat.analysis.strict import DECLARED_SCORE, Found
from lnetstat.analysis.vetting import Box, Prefix

TRIGGERED_SCORE = 5.0  # where the onsets are those of the pings nothing was searched, so less is needed
LUMPY_SCORE = 7.5  # a load in lumps (smoothed) is no random noise: few cycles may coincide with the lumps


def followed(series: Normalised, raw_dt_s: float, ping_rates: Rates | None, message_rates: Rates | None) -> Found | None:
    """Return dips that drift: at the onsets of bursts of pings or messages followed one by one, else dips visible one by one."""
    sums = vetting.prefix_sums(series)
    found: list[Found] = []
    needed = TRIGGERED_SCORE if series.dt_s <= raw_dt_s else LUMPY_SCORE
    for name, bursts in (("pings", ping_rates), ("messages", message_rates)):
        if bursts is not None and bursts.rate.size:
            chains = pings.chains_of(pings.bursts_of(bursts)[0])[:2]
            found += [_triggered(series, sums, chain, needed)._replace(trigger=name) for chain in chains]
    shown = Rates(series.time_s, np.where(series.weight > 0, -series.residual, 0.0), series.interval_s, series.dt_s, 0, ())
    dips = pings.bursts_of(shown)[0]
    for chain in pings.chains_of(dips, most_phases=1)[:1]:
        if len(chain.bursts) >= max(8, 0.8 * len(dips)):
            dips_shown = _at_onsets(series, sums, chain, np.arange(-1, 3))
            if wanders(dips_shown):  # what does not is strict, and the search for strict periods has judged its shape
                found.append(dips_shown)
    return max((each for each in found if each.passed), key=lambda each: each.score, default=None)


def wanders(found: Found) -> bool:
    """Return True when onsets stray from every fixed period by more than a dip: then a fold only finds a smeared share of them."""
    cycles = np.concatenate(([0.0], np.cumsum(np.maximum(1.0, np.round(np.diff(found.onsets_s) / found.box.period_s)))))
    slope, offset = np.polyfit(cycles, found.onsets_s - found.onsets_s[0], 1)
    stray = found.onsets_s - found.onsets_s[0] - offset - slope * cycles
    return float(stray.std()) > max(found.box.width_s, found.series.dt_s)


def _triggered(series: Normalised, sums: Prefix, chain: pings.Chain, needed: float) -> Found:
    """Return the dip at the onsets of bursts; it passes when it stands out from the same test at all other lags within the cycle.

    That comparison is the null: it needs no law for the noise of few cycles.
    """
    found = _at_onsets(series, sums, chain, np.arange(-1, 3))
    width, period = found.box.width_s, chain.period_s
    step = max(0.5 * width, series.dt_s)
    away = np.arange(max(2 * width, 2.0), period / 2, step)
    elsewhere = [
        vetting.significance(vetting.incident_depths(sums, chain.onsets_s + lag, width, period, series.dt_s))
        for lag in (*away.tolist(), *(-away).tolist())
    ]
    stands_out = found.score > needed and len(elsewhere) >= 6 and found.score > 1.3 * max(elsewhere)
    return found._replace(score=found.score * DECLARED_SCORE / needed, passed=found.passed and stands_out)


def _at_onsets(series: Normalised, sums: Prefix, chain: pings.Chain, lags: npt.NDArray[np.int64]) -> Found:
    """Return the dip of the width and lag (in half widths) that stand out most at given onsets."""
    period, dt = chain.period_s, series.dt_s
    best: tuple[float, float, float, FloatArray] = (0.0, dt, 0.0, np.empty(0))
    for width in np.geomspace(max(0.7 * dt, 0.2), max(0.8 * dt, min(0.2 * period, folding.LONGEST_DIP_S)), 7).tolist():
        for lag in (lags * max(0.5 * width, dt)).tolist():
            depths = vetting.incident_depths(sums, chain.onsets_s + lag, width, period, dt)
            score = vetting.significance(depths)
            if score > best[0]:
                best = (score, width, lag, depths)
    score, width, lag, depths = best
    onsets = chain.onsets_s + lag
    box = Box(period, float(onsets[0]), width, score)
    phase = shape.phases_of(series, onsets, period) - width / 2
    passed = score > 0 and vetting.is_plateau_with_lows(series, phase, box)
    return Found(series, box, score, passed, onsets, depths, chain.gap_cv)
