"""From a find to numbers: period with error, duration, depth, lost bytes, when, phase jumps, alignment to the epoch."""

import itertools
import math
from typing import NamedTuple

from lnetstat.analysis import refine, shape, vetting
from lnetstat.analysis.folding import Candidate
from lnetstat.analysis.normalise import Normalised, beside, part_of
from lnetstat.analysis.results import FloatArray, Interval
from lnetstat.analysis.shape import Shape
from lnetstat.analysis.strict import Found
from lnetstat.analysis.vetting import Box

JUMPED_SCORE = 5.5  # one period is tested at P / D phases on each side: chance stays below 4.5
LEAST_CYCLES_ASIDE = 8  # a stretch without dips shorter than that says nothing of another phase


class Dips(NamedTuple):
    """Measured dips: the box and the series they were measured with, the cycles, [first, last) of those with a dip, the mean dip."""

    box: Box
    series: Normalised
    onsets_s: FloatArray
    depths: FloatArray
    present: tuple[int, int]
    dip: Shape


def _at_cycles(series: Normalised, box: Box) -> Dips:
    """Measure the dips of a strict period."""
    onsets, depths = refine.cycle_depths(series, vetting.prefix_sums(series), box)
    return _dips(series, box, onsets, depths)


def _dips(series: Normalised, box: Box, onsets_s: FloatArray, depths: FloatArray) -> Dips:
    """Measure the mean dip twice: the second time against the load taken beside the dips that the first one found."""
    first, last = vetting.stretch(depths)
    onsets = onsets_s[first:last]
    rough = shape.fit_shape(series, onsets, box.period_s, box.width_s)
    tau_s = shape.phases_of(series, onsets, box.period_s) - rough.shift_s
    series = beside(series, (tau_s > -series.dt_s / 2) & (tau_s < rough.width_s + series.dt_s / 2))
    return Dips(box, series, onsets_s, depths, (first, last), shape.fit_shape(series, onsets, box.period_s, rough.width_s))


def _aligned(dips: Dips, score: float) -> refine.Alignment:
    """Test epoch alignment: the middle of a dip is known to its width over the significance, its ends as far as its duration is."""
    dip = dips.dip
    slack = 2 * max(dip.width_s, dips.series.dt_s) / max(score, 1.0)
    onset_err_s = slack + max(0.0, dip.shift_s - dip.earliest_s), slack + max(0.0, dip.latest_s - dip.shift_s)
    return refine.align(dips.series, dips.box._replace(onset_s=dips.box.onset_s + dip.shift_s), onset_err_s)


class Measured(NamedTuple):
    """The numbers of dead time: see results.DeadTime, whose fields of these names they become."""

    period_s: float
    period_err_s: float
    dip: Shape
    incidents: tuple[Interval, ...]
    lost_fraction: float
    lost_fraction_gross: float
    alignment: refine.Alignment
    present_s: Interval
    phase_jumps: tuple[tuple[float, float], ...]


def measured(found: Found, exact_periods_s: tuple[float, ...]) -> Measured:
    """Measure dips that are there; `exact_periods_s`: those that tunables give."""
    if found.gap_cv is not None:
        dips = _dips(found.series, found.box, found.onsets_s, found.depths)
        error = found.box.period_s * found.gap_cv / math.sqrt(max(1, found.onsets_s.size - 1))
        return _numbers([dips], error, refine.Alignment(None, None, None, None))
    series = found.series
    box, error = refine.refine_period(series, found.box, found.score)
    dips = _at_cycles(series, box)
    first, last = dips.present
    if LEAST_CYCLES_ASIDE <= last - first < vetting.LARGEST_STRETCH * dips.onsets_s.size:  # noise of the rest has no say in the period
        with_dips = (series.time_s > dips.onsets_s[first] - box.period_s / 2) & (series.time_s < dips.onsets_s[last - 1] + box.period_s / 2)
        box, error = refine.refine_period(part_of(series, with_dips), box, found.score)
        dips = _at_cycles(series, box)
    exact = refine.exact_near(box, error, series.dt_s, float(series.time_s[-1] - series.time_s[0]), exact_periods_s)
    alignment = refine.Alignment(False, None, None, None)
    if exact is not None:
        at_exact = _at_cycles(series, refine.with_period(series, box, exact))
        alignment = _aligned(at_exact, found.score)
        if alignment.aligned or (exact in exact_periods_s and abs(exact - box.period_s) <= error):
            dips = at_exact
    return _numbers([dips, *_elsewhere(dips)], error, alignment)


def _elsewhere(dips: Dips) -> list[Dips]:
    """Return dips of the same period at another phase, before or after the stretch that was found: a failover makes phases jump."""
    series, box = dips.series, dips.box
    first, last = dips.present
    begin, end = float(dips.onsets_s[first]), float(dips.onsets_s[last - 1]) + box.period_s
    found = []
    for aside in (series.time_s < begin - box.period_s / 2, series.time_s > end - box.period_s / 2):
        time_s = series.time_s[aside]
        if time_s.size < 2 or time_s[-1] - time_s[0] < LEAST_CYCLES_ASIDE * box.period_s:
            continue
        part = part_of(series, aside)
        other = vetting.fit_box(part, Candidate(box.period_s, dips.dip.width_s, 0.0), wide=False)
        vetted = vetting.vet(part, vetting.prefix_sums(part), other)
        if vetted.passed and vetted.score > JUMPED_SCORE:
            found.append(_at_cycles(part, vetted.box))
    return found


def _numbers(stretches: list[Dips], period_err_s: float, alignment: refine.Alignment) -> Measured:
    """Put the numbers of one or more stretches together; the first one is the best, and its mean dip stands for all."""
    best = stretches[0]
    period_s = best.box.period_s
    each = [shape.incidents_of(dips.series, dips.onsets_s, dips.dip, dips.depths, dips.present) for dips in stretches]
    lost = [shape.lost_bytes(dips.series, incidents, dips.dip) for dips, incidents in zip(stretches, each, strict=True)]
    net, gross = shape.shares(best.series, sum(net for net, _ in lost), sum(gross for _, gross in lost))
    incidents = tuple(sorted(incident for group in each for incident in group))
    in_order = sorted((group for group in each if group), key=lambda group: group[0])
    jumps = tuple(
        (after[0][0], (after[0][0] - before[-1][0] + period_s / 2) % period_s - period_s / 2)
        for before, after in itertools.pairwise(in_order)
    )
    present = (incidents[0][0], incidents[-1][1]) if incidents else (float(best.series.time_s[0]), float(best.series.time_s[-1]))
    return Measured(period_s, period_err_s, best.dip, incidents, net, gross, alignment, present, jumps)
