"""The mean dip: onset, duration, depth, and what is repaid afterwards, by least squares on the folded residual.

A sample sees the share of its interval that lies in the dip, so the model is a box averaged over the interval, and after it an
exponential surplus, averaged alike. Where samples are longer than the dip its duration and depth can hardly be told apart: then many
durations fit alike, and their median under a scale-free prior is said.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis.normalise import Normalised, summed
from lnetstat.analysis.results import FloatArray, Interval

SHORTEST_DIP_S = 0.1  # shorter ones are the noise of single RPCs
LONGEST_DIP_S = 13.0
LARGEST_DUTY = 0.27  # what is low for longer is a phase of the application
CATCH_UP_SPANS = (0.5, 0.9, 1.5, 2.5)  # of the duration: how fast the surplus after a dip fades
SMEAR = 0.2  # of the duration: dips of one kind differ by some 12 % in length, so that the ends of their mean are blurred
SHRINKAGE = 3.0  # degrees of freedom of what is repaid: how much, how fast, and that it cannot be negative
MOST_REPAID = 0.9  # of the loss: more is not told apart from an application's own burst
RESOLVED_DIP = 1.5  # samples: the ends of shorter dips are lost in the samples that they share
RESOLVED = 3.0  # samples: over longer dips it makes no difference that samples are not equally long
FINEST_CELLS = 4000  # of a period


class Shape(NamedTuple):
    """The mean dip. `shift_s` moves the onset; `depth` is relative to the local load; `resolved`: False where samples are longer than
    the dip, so that only depth x duration is known; `caught_up`: share of the lost bytes repaid right after the dip, 0..0.9.
    `earliest_s` and `latest_s` hold 90 % of the shifts that fit: samples longer than the dip leave open where in them it lies.
    """

    shift_s: float
    width_s: float
    depth: float
    resolved: bool
    caught_up: float
    earliest_s: float
    latest_s: float


class Cells(NamedTuple):
    """The folded residual near the dip, (cells,) each, and sums over all that is far from it: `far` = weight, weighted mean, squares.

    A cell holds the samples that begin and end alike, `begin_s` and `end_s` after the onset.
    """

    begin_s: FloatArray
    end_s: FloatArray
    weight: FloatArray
    mean: FloatArray
    far: tuple[float, float, float]


class Fits(NamedTuple):
    """Least squares fits of a grid of shapes, (fits,) each: the sum of squares that each leaves, and its linear parameters."""

    width_s: FloatArray
    middle_s: FloatArray
    rest: FloatArray
    baseline: FloatArray
    amplitude: FloatArray
    repaid: FloatArray


def phases_of(series: Normalised, onset_s: FloatArray, period_s: float) -> FloatArray:
    """Return the time of every sample after the nearest of the given onsets, (n,) seconds, mostly in [-P/2, P/2)."""
    nearest = np.clip(np.searchsorted(onset_s, series.time_s - period_s / 2), 0, onset_s.size - 1)
    return np.asarray(series.time_s - onset_s[nearest])


def overlap(begin_s: FloatArray, end_s: FloatArray, onset_s: FloatArray | float, width_s: FloatArray | float) -> FloatArray:
    """Return the share of each sample, from its begin to its end, that lies inside the box [onset, onset + width]."""
    inside = np.minimum(end_s, onset_s + width_s) - np.maximum(begin_s, onset_s)
    return np.asarray(np.clip(inside, 0.0, None) / (end_s - begin_s))


def fit_shape(series: Normalised, onset_s: FloatArray, period_s: float, width_s: float) -> Shape:
    """Return the mean dip near given onsets; `width_s` is the width of the box that was found."""
    cells = _folded(series, phases_of(series, onset_s, period_s), period_s, width_s)
    sharp, blurred = (_fit_shape(cells, period_s, width_s, series.dt_s, smear) for smear in (0.0, SMEAR))
    return sharp[0] if sharp[1] < blurred[1] else blurred[0]


def _fit_shape(cells: Cells, period_s: float, width_s: float, dt: float, smear: float) -> tuple[Shape, float]:
    """Return the mean dip whose ends are blurred by a share of its duration, and the sum of squares that it leaves."""
    longest = max(0.2, min(2.2 * width_s + 0.5 * dt, LARGEST_DUTY * period_s, LONGEST_DIP_S))
    widths = np.geomspace(min(max(SHORTEST_DIP_S, 0.1 * width_s), 0.5 * longest), longest, 24)
    reach = max(width_s, dt)
    coarse = _fit_grid(cells, widths, width_s / 2 + np.linspace(-1, 1, 17) * reach, dt, smear)
    best = int(coarse.rest.argmin())
    fine = _fit_grid(cells, widths, coarse.middle_s[best] + np.linspace(-0.12, 0.12, 13) * reach, dt, smear)
    fits = Fits(*(np.concatenate(pair) for pair in zip(coarse, fine, strict=True)))
    width = _likely_width(cells, fits, widths)
    alike = fits.width_s == widths[int(np.abs(np.log(widths / width)).argmin())]
    middles = fits.middle_s[alike][int(fits.rest[alike].argmin())] + np.linspace(-0.1, 0.1, 21) * reach
    last = _fit_grid(cells, np.array([width]), middles, dt, smear)
    bare = _fit_grid(cells, np.array([width]), middles, dt, smear, (0.0,))
    best = int(last.rest.argmin())
    baseline, amplitude = float(last.baseline[best]), float(last.amplitude[best])
    depth = float(np.clip(-amplitude / (1 + baseline), 0.0, 1.0)) if baseline > -0.9 else 0.0
    lost = -amplitude * width
    # What is repaid cannot be negative, so noise makes it too large: shrunk as James and Stein do.
    gain = (float(bare.rest.min()) - float(last.rest[best])) / _noise(cells, last)
    repaid = float(np.clip(last.repaid[best] * max(0.0, 1 - SHRINKAGE / max(gain, 1e-9)) / lost, 0.0, MOST_REPAID)) if lost > 0 else 0.0
    found = Shape(
        float(last.middle_s[best]) - width / 2, width, depth, width >= RESOLVED_DIP * dt, repaid, *_likely_onsets(cells, coarse, fine)
    )
    return found, float(last.rest[best])


def _folded(series: Normalised, tau_s: FloatArray, period_s: float, width_s: float) -> Cells:
    """Fold the residual into cells of an eighth of the dip or the sample, whichever is shorter."""
    dt = series.dt_s
    step = max(min(width_s, dt) / 8, period_s / FINEST_CELLS)
    used = (series.weight > 0) & (tau_s > -0.4 * period_s) & (tau_s < 0.55 * period_s)
    # Heavy tails upwards are bursts of the application; downwards nothing is lower than no load.
    residual = np.clip(series.residual[used], -1.05, max(4 * series.sigma, 0.3))
    half = series.interval_s[used] / 2 if width_s < RESOLVED * dt else np.full(int(used.sum()), dt / 2)
    first = np.round((tau_s[used] - half) / step).astype(np.int64)
    length = np.maximum(1, np.round(2 * half / step)).astype(np.int64)
    most = int(length.max(initial=0)) + 1
    lowest = int(first.min(initial=0))
    key, cell = np.unique((first - lowest) * most + length, return_inverse=True)
    weight = summed(cell, series.weight[used], key.size)
    mean = summed(cell, series.weight[used] * residual, key.size) / weight
    begin = (key // most + lowest) * step
    end = begin + (key % most) * step
    near = (end > -2.5 * width_s - 2.5 * dt) & (begin < 9 * width_s + 2.5 * dt)
    w, y = weight[~near], mean[~near]
    return Cells(begin[near], end[near], weight[near], mean[near], (float(w.sum()), float((w * y).sum()), float((w * y * y).sum())))


def _fit_grid(
    cells: Cells, widths: FloatArray, middles: FloatArray, dt: float, smear: float, spans: tuple[float, ...] = CATCH_UP_SPANS
) -> Fits:
    """Fit baseline, box and surplus for every width, middle and span of the surplus; amplitudes beyond all of the load are bounded."""
    width, middle, span = (np.ravel(each) for each in np.meshgrid(widths, middles, np.array(spans), indexing="ij"))
    blur = (smear * width / 2)[:, None]
    box = overlap(cells.begin_s - blur, cells.end_s + blur, (middle - width / 2)[:, None], width[:, None])
    fade_s = np.where(span > 0, np.maximum(span * width, dt / 4), 1e-9)  # a span of 0: nothing is repaid
    after = _faded(cells, (middle + width / 2)[:, None], fade_s[:, None])
    w, y = cells.weight, cells.mean
    far_w, far_y, far_yy = cells.far
    sum_w, sum_y, sum_yy = w.sum() + far_w, (w * y).sum() + far_y, float((w * y * y).sum()) + far_yy
    box_w, after_w = box @ w, after @ w
    bb, ee, be = (box * box) @ w - box_w**2 / sum_w, (after * after) @ w - after_w**2 / sum_w, (box * after) @ w - box_w * after_w / sum_w
    by, ey = box @ (w * y) - box_w * sum_y / sum_w, after @ (w * y) - after_w * sum_y / sum_w
    yy = sum_yy - sum_y**2 / sum_w
    bb = np.maximum(bb, 1e-12)
    both = bb * ee - be * be
    solvable = both > 1e-9 * bb * ee
    surplus = np.where(solvable, (bb * ey - be * by) / np.where(solvable, both, 1.0), 0.0)
    surplus = np.maximum(surplus, 0.0)  # what follows a dip can repay, never take more
    amplitude = np.clip((by - be * surplus) / bb, -1.05, 0.0)
    surplus = np.where(ee > 1e-12, np.maximum((ey - be * amplitude) / np.maximum(ee, 1e-12), 0.0), 0.0)
    surplus = np.minimum(surplus, MOST_REPAID * -amplitude * width / fade_s)
    rest = yy - 2 * (amplitude * by + surplus * ey) + amplitude**2 * bb + surplus**2 * ee + 2 * amplitude * surplus * be
    baseline = (sum_y - amplitude * box_w - surplus * after_w) / sum_w
    return Fits(width, middle, rest, baseline, amplitude, surplus * fade_s)


def _faded(cells: Cells, after_s: FloatArray, fade_s: FloatArray) -> FloatArray:
    """Return the mean over each cell of exp(-(t - after) / fade) from `after_s` on, 0 before."""

    def amount(until: FloatArray) -> FloatArray:
        return np.asarray(fade_s * -np.expm1(-np.maximum(until - after_s, 0.0) / fade_s))

    return np.asarray((amount(cells.end_s) - amount(cells.begin_s)) / (cells.end_s - cells.begin_s))


def _likely_width(cells: Cells, fits: Fits, widths: FloatArray) -> float:
    """Return the median of the durations under a prior uniform in their logarithm: no scale is likelier.

    The noise is what the best fit leaves, per cell: red noise and jitter of the onsets count as well.
    """
    least = np.full(widths.size, math.inf)
    np.minimum.at(least, np.searchsorted(widths, fits.width_s), fits.rest)
    chance = np.exp(-(least - least.min()) / (2 * _noise(cells, fits)))
    # Between the grid's widths the chance is interpolated, so that a sharp peak is not pinned to the grid.
    fine = np.linspace(math.log(widths[0]), math.log(widths[-1]), 40 * widths.size)
    density = np.exp(np.interp(fine, np.log(widths), np.log(np.maximum(chance, 1e-300))))
    return float(np.exp(fine[int(np.searchsorted(np.cumsum(density), density.sum() / 2))]))


def _likely_onsets(cells: Cells, coarse: Fits, fine: Fits) -> tuple[float, float]:
    """Return (5th, 95th percentile) of the onsets that fit: of the coarse grid where they spread over it, else of the fine one."""
    noise = min(_noise(cells, coarse), _noise(cells, fine))
    for fits in (coarse, fine):
        chance = np.exp(-(fits.rest - fits.rest.min()) / (2 * noise))
        onset_s = fits.middle_s - fits.width_s / 2
        order = np.argsort(onset_s)
        share = np.cumsum(chance[order]) / chance.sum()
        low, high = (float(onset_s[order][min(int(np.searchsorted(share, q)), order.size - 1)]) for q in (0.05, 0.95))
        if high > low:
            break
    return low, high


def _noise(cells: Cells, fits: Fits) -> float:
    """Return what the best fit leaves per cell near the dip: red noise and the jitter of onsets count as well."""
    far_w, far_y, far_yy = cells.far
    far = far_yy - far_y**2 / max(far_w, 1e-9)
    return max(float(fits.rest.min()) - far, 1e-12) / max(cells.mean.size - 5, 1)


def idle_at(series: Normalised, time_s: FloatArray) -> npt.NDArray[np.bool_]:
    """Mark the times around which samples exist but nothing runs: no load, no dip. A gap between samples is not idle."""
    first = np.searchsorted(series.time_s, time_s - series.dt_s)
    last = np.searchsorted(series.time_s, time_s + series.dt_s, side="right")
    total = np.concatenate(([0.0], np.cumsum(series.weight)))
    idle: npt.NDArray[np.bool_] = (last > first) & (total[last] - total[first] <= 0)
    return idle


def incidents_of(
    series: Normalised, onsets: FloatArray, shape: Shape, depths: FloatArray, present: tuple[int, int]
) -> tuple[Interval, ...]:
    """Return [start, stop] per cycle in the stretch; cycles without a dip are left out where single incidents can be told apart."""
    first, last = present
    inside = depths[first:last]
    known = inside[np.isfinite(inside)]
    middle = float(np.median(known)) if known.size else 0.0
    scatter = 1.4826 * float(np.median(np.abs(known - middle))) if known.size else 0.0
    single = scatter > 0 and middle / scatter > 2.5
    starts = onsets[first:last] + shape.shift_s
    keep = ~idle_at(series, starts + shape.width_s / 2)
    if single:
        keep &= ~(inside < 0.35 * middle)
    starts = starts[keep]
    return tuple((float(start), float(start) + shape.width_s) for start in starts)


def lost_bytes(series: Normalised, incidents: tuple[Interval, ...], shape: Shape) -> tuple[float, float]:
    """Return what incidents take, (net, gross) in the rate's unit times seconds: depth x duration x local load of each."""
    if not incidents:
        return 0.0, 0.0
    starts = np.array([start for start, _ in incidents])
    nearest = np.clip(np.searchsorted(series.time_s, starts), 0, series.time_s.size - 1)
    gross = float((shape.depth * shape.width_s * series.load[nearest] * (series.weight[nearest] > 0)).sum())
    return gross * (1 - shape.caught_up), gross


def shares(series: Normalised, net: float, gross: float) -> tuple[float, float]:
    """Return (net, gross) loss as shares of what would have been moved without it; gaps are taken to be like the rest."""
    moved = float((series.rate * series.interval_s).sum())
    covered = float(series.interval_s.sum()) / max(float(series.time_s[-1] - series.time_s[0]) + series.dt_s, 1e-9)
    wanted = moved / max(min(covered, 1.0), 0.1) + net
    return (net / wanted, gross / wanted) if wanted > 0 else (0.0, 0.0)
