"""The two sides of a comparison: the same signal of both, and its dips measured cycle by cycle."""

import math
from typing import NamedTuple

import numpy as np

from lnetstat.analysis import cycles
from lnetstat.analysis.comparison import SYSTEMATIC
from lnetstat.analysis.cycles import CycleShares, Estimate, Seen
from lnetstat.analysis.normalise import Normalised, normalise, stack
from lnetstat.analysis.rates import Rates, smoothed, typical_interval
from lnetstat.analysis.results import Analysis, DeadTime, Signal


class Side(NamedTuple):
    """One analysis, prepared: its verdict on the signal compared, the sources of that signal, and dips measured cycle by cycle."""

    analysis: Analysis
    verdict: DeadTime | None
    sources: list[Signal]
    shares: CycleShares | None

    @property
    def dips(self) -> bool:
        """Whether dead time (or recurrent dips) was found."""
        return self.verdict is not None and (self.verdict.detected or self.verdict.recurrent)


def sides_of(before: Analysis, after: Analysis) -> tuple[Side, Side]:
    """Pair the worst signal of one side with the same signal of the other: same host where it is there, else the worst of that name."""
    ranked = [*(each for each in before.series if each.detected), *(each for each in after.series if each.detected), *before.series]
    for each in ranked:
        pair = _likest(each, before.series), _likest(each, after.series)
        if pair[0] is not None and pair[1] is not None:
            return _side(before, pair[0], pair[1]), _side(after, pair[1], pair[0])
    return Side(before, None, [], None), Side(after, None, [], None)


def _likest(wanted: DeadTime, series: tuple[DeadTime, ...]) -> DeadTime | None:
    alike = [each for each in series if (each.role, each.table, each.signal) == (wanted.role, wanted.table, wanted.signal)]
    stacked = "sources" in wanted.instance
    alike = [each for each in alike if ("sources" in each.instance) == stacked] or alike
    exact = [each for each in alike if (each.host, each.instance) == (wanted.host, wanted.instance)]
    return next(iter(exact or alike), None)


def _side(analysis: Analysis, own: DeadTime, other: DeadTime) -> Side:
    throughput = [each for each in analysis.signals if each.purpose == "throughput" and each.time_s.size]
    alike = [each for each in throughput if (each.role, each.table, each.name) == (own.role, own.table, own.signal)]
    sources = [each for each in alike if (each.host, each.instance) == (own.host, own.instance)] or alike
    period_s, duration_s = own.period_s or other.period_s, own.duration_s or other.duration_s
    shares = None
    if own.incidents and own.period_s and own.duration_s:
        onsets = cycles.onsets_from(own.incidents, own.period_s)
        shares = cycles.shares(sources, onsets, own.period_s, own.duration_s)
    elif period_s and duration_s and sources:
        begin, end = float(sources[0].time_s[0]), float(sources[0].time_s[-1])
        shares = cycles.shares(sources, np.arange(begin + period_s / 2, end, period_s), period_s, duration_s)
    return Side(analysis, own, sources, shares)


def name_of(sides: tuple[Side, Side]) -> str:
    """Return whose dips are compared; "" where both hold no throughput signal of one kind."""
    own = sides[0].verdict
    if own is None:
        return ""
    return f"{own.signal} of {own.host}" if own.host else own.signal


def _rates(signal: Signal) -> Rates:
    return Rates(signal.time_s, signal.rate, signal.interval_s, typical_interval(signal.time_s), 0, ())


def _normalised(side: Side) -> Normalised | None:
    parts = [normalise(smoothed(_rates(each))) for each in side.sources if each.time_s.size > 60]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else stack(parts)


def sensitivity(sides: tuple[Side, Side]) -> Seen | None:
    """Test the side without dips at the period and duration of the other."""
    with_dips = [side for side in sides if side.dips]
    if len(with_dips) != 1:
        return None
    without = sides[1] if sides[0].dips else sides[0]
    known = with_dips[0].verdict
    series = _normalised(without)
    if known is None or known.period_s is None or known.duration_s is None or series is None:
        return None
    return cycles.known_period_test(series, known.period_s, known.duration_s, known.depth or 1.0)


def estimate(side: Side, name: str) -> Estimate | None:
    """Return what analyze says, with the relative error of the same figure measured over cycles and what cycles do not see."""
    value = getattr(side.verdict, name)
    if value is None or side.shares is None:
        return None if value is None else Estimate(float(value), None, 0)
    over_cycles = {
        "lost_fraction": side.shares.net_s,
        "lost_fraction_gross": side.shares.lost_s,
        "duration_s": side.shares.duration_s,
        "depth": side.shares.depth,
    }[name]
    per_unit = value / side.shares.lost_s.value if name.startswith("lost") and side.shares.lost_s.value > 0 else None
    own = (over_cycles.err or 0.0) * per_unit if per_unit is not None else over_cycles.err or 0.0
    return Estimate(float(value), math.hypot(own, SYSTEMATIC[name] * value, _locked_err(side, name, value)), over_cycles.blocks)


def _locked_err(side: Side, name: str, value: float) -> float:
    """Return the 1 sigma error of duration and depth where samples keep their phase to the dips, as whole seconds do to 75 s.

    Edges of dips are known to a sample only: 1 / sqrt(6) of one for the duration (see compare.py); their product with the depth stays.
    """
    duration_s = side.verdict.duration_s if side.verdict else None
    if name not in ("duration_s", "depth") or not duration_s:
        return 0.0
    return value * typical_interval(side.sources[0].time_s) / math.sqrt(6) / duration_s
