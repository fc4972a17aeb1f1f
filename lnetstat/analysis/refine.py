"""From a box that was found to numbers with error bars: period, duration, depth, lost bytes, when, and alignment to the epoch."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis.normalise import Normalised, summed
from lnetstat.analysis.results import FloatArray, Interval
from lnetstat.analysis.vetting import Box, Prefix, incident_depths, onsets_of

MOST_SEGMENTS = 24


class Shape(NamedTuple):
    """The mean dip. `shift_s` moves the onset; `depth` is relative to the local load; `resolved`: False where samples are longer than
    the dip, so that only depth x duration is known; `caught_up`: share of the lost bytes repaid right after the dip, 0..0.9."""

    shift_s: float
    width_s: float
    depth: float
    resolved: bool
    caught_up: float


class Phases(NamedTuple):
    """When each sample was taken relative to the onset of the nearest cycle: `tau_s` in [-P/2, P/2)."""

    tau_s: FloatArray
    period_s: float


class Alignment(NamedTuple):
    """Whether onsets lie on multiples of an exact period since the epoch. `aligned` None: not testable, no exact period is near enough."""

    aligned: bool | None
    hypothesis_s: float | None
    phase_s: float | None
    chance: float | None


def phases_of(series: Normalised, onset_s: FloatArray, period_s: float) -> Phases:
    """Return the phase of every sample relative to the nearest of the given onsets."""
    nearest = np.clip(np.searchsorted(onset_s, series.time_s - period_s / 2), 0, onset_s.size - 1)
    return Phases(series.time_s - onset_s[nearest], period_s)


def refine_period(series: Normalised, box: Box, score: float) -> tuple[Box, float]:
    """Return (box with better period and onset, 1 sigma error of the period in seconds).

    The record is cut into segments, each long enough to show the dip; the shift of the best box in each segment against time gives
    slope and scatter, so a timer that wanders shows in the error.
    """
    cycles = (float(series.time_s[-1]) - float(series.time_s[0])) / box.period_s
    segments = int(np.clip((score / 3.5) ** 2, 3, min(MOST_SEGMENTS, max(3.0, cycles / 3))))
    error = box.period_s
    for _ in range(2):
        centres, shifts = _segment_shifts(series, box, segments)
        good = np.isfinite(shifts)
        if good.sum() < 3:
            return box, max(box.width_s, series.dt_s) / max(cycles, 1.0)
        floor = 0.12 * max(box.width_s, series.dt_s) / math.sqrt(max(1.0, score / segments))
        slope, offset, error = _robust_line(centres[good], shifts[good], floor)
        middle = float(centres[good].mean())
        period = box.period_s + slope * box.period_s
        origin = box.onset_s + offset - slope * (middle - box.onset_s)
        box = box._replace(period_s=period, onset_s=origin)
    return box, error * box.period_s


def at_exact_period(series: Normalised, box: Box, error_s: float, exact_s: tuple[float, ...]) -> Box:
    """Return the box with the recorded ping interval for its period, where that lies within the error, and its phase in mid-record.

    Sampled at whole seconds, a dip every 75 s looks the same with 74.96 s; but folded at that its edges blur.
    """
    period_s = min((exact for exact in exact_s if abs(exact - box.period_s) <= error_s), key=lambda p: abs(p - box.period_s), default=None)
    if period_s is None:
        return box
    middle = float(series.time_s[0] + series.time_s[-1]) / 2
    cycles = round((middle - box.onset_s) / box.period_s)
    return box._replace(period_s=period_s, onset_s=box.onset_s + cycles * (box.period_s - period_s))


def _segment_shifts(series: Normalised, box: Box, segments: int) -> tuple[FloatArray, FloatArray]:
    """Return (middle time, shift of the best box) per segment; NaN where a segment shows no dip."""
    edges = np.linspace(float(series.time_s[0]), float(series.time_s[-1]), segments + 1)
    width = max(box.width_s, series.dt_s)
    step = width / 12
    reach = min(1.3 * width, 0.3 * box.period_s)
    onsets = onsets_of(box, series)
    tau = phases_of(series, onsets, box.period_s).tau_s
    bins = max(3, 2 * int((reach + 1.5 * width) / step) + 1)
    span = bins * step / 2
    kernel = _template(box.width_s, series.dt_s, step)
    centres, shifts = (edges[1:] + edges[:-1]) / 2, np.full(segments, np.nan)
    for number in range(segments):
        inside = (series.time_s >= edges[number]) & (series.time_s < edges[number + 1]) & (np.abs(tau - box.width_s / 2) < span)
        index = ((tau[inside] - box.width_s / 2 + span) / step).astype(np.int64)
        weight = np.bincount(index, series.weight[inside], bins)[:bins]
        low = -np.bincount(index, (series.weight * series.x)[inside], bins)[:bins]
        if weight.sum() == 0:
            continue
        low = low - weight * (low.sum() / weight.sum())
        match = np.correlate(low, kernel, mode="same")
        noise = np.sqrt(np.maximum(np.correlate(weight, kernel**2, mode="same"), 1e-9))
        ratio = match / noise
        middle = bins // 2
        near = slice(max(0, middle - int(reach / step)), middle + int(reach / step) + 1)
        top = int(ratio[near].argmax()) + near.start
        if ratio[top] > 2:
            shifts[number] = (top - middle + _peak_offset(ratio, top)) * step
    return centres, shifts


def _template(width_s: float, dt_s: float, step_s: float) -> FloatArray:
    """Return the dip as samples of `dt_s` see it: a box of `width_s` averaged over the sample, on a grid of `step_s`, mean 0 not needed."""
    half = (width_s + dt_s) / 2
    grid = np.arange(-math.ceil(half / step_s), math.ceil(half / step_s) + 1, dtype=np.float64) * step_s
    return overlap(grid, -width_s / 2, width_s, dt_s)


def overlap(tau_s: FloatArray, onset_s: float, width_s: float, dt_s: float) -> FloatArray:
    """Return the share of a sample of length `dt_s` around each `tau_s` that lies inside the box [onset, onset + width]."""
    begin = np.maximum(tau_s - dt_s / 2, onset_s)
    end = np.minimum(tau_s + dt_s / 2, onset_s + width_s)
    return np.asarray(np.clip(end - begin, 0.0, None) / dt_s)


def _peak_offset(values: FloatArray, top: int) -> float:
    """Return where between its neighbours a parabola through three points peaks, in steps."""
    if not 0 < top < values.size - 1:
        return 0.0
    left, middle, right = values[top - 1], values[top], values[top + 1]
    curve = left - 2 * middle + right
    return float(np.clip(0.5 * (left - right) / curve, -0.5, 0.5)) if curve < 0 else 0.0


def _robust_line(x: FloatArray, y: FloatArray, floor: float) -> tuple[float, float, float]:
    """Fit y = offset + slope (x - mean x), far points down-weighted; return (slope, offset at the middle, 1 sigma error of the slope)."""
    weight = np.ones(x.size)
    slope = offset = 0.0
    centre = float(x.mean())
    for _ in range(5):
        mean_x = float(np.average(x, weights=weight))
        mean_y = float(np.average(y, weights=weight))
        spread = float((weight * (x - mean_x) ** 2).sum())
        slope = float((weight * (x - mean_x) * (y - mean_y)).sum()) / spread if spread > 0 else 0.0
        offset = mean_y + slope * (centre - mean_x)
        residual = y - offset - slope * (x - centre)
        scale = max(1.4826 * float(np.median(np.abs(residual))), floor, 1e-12)
        weight = 1 / np.maximum(1.0, np.abs(residual) / (2 * scale))
    free = max(1, x.size - 2)
    scatter = math.sqrt(float((weight * residual**2).sum()) / free)
    # Few segments estimate their own scatter badly: widen as Student's t asks at 1 sigma.
    widen = 1 + 1.0 / free
    error = max(scatter, floor) * widen / math.sqrt(max(float(((x - centre) ** 2).sum()), 1e-12))
    return slope, offset, error


def fit_shape(series: Normalised, onset_s: FloatArray, period_s: float, width_s: float) -> Shape:
    """Fit onset, duration and depth of the mean dip on the folded residual: least squares over a grid, baseline and depth linear.

    The model of a sample is the share of its interval inside the box. The catch-up after the dip is left out of the fit and measured
    afterwards against the baseline.
    """
    dt = series.dt_s
    tau = phases_of(series, onset_s, period_s).tau_s
    step = max(min(width_s, dt) / 8, period_s / 4000)
    used = (series.weight > 0) & (tau > -0.4 * period_s) & (tau < 0.55 * period_s)
    ceiling = max(4 * series.sigma, 0.3)
    residual = np.clip(series.residual[used], -1.05, ceiling)
    index = np.floor(tau[used] / step).astype(np.int64)
    lowest = int(index.min())
    cells = int(index.max()) - lowest + 1
    weight = summed(index - lowest, series.weight[used], cells)
    total = summed(index - lowest, series.weight[used] * residual, cells)
    grid = (np.arange(cells, dtype=np.float64) + lowest + 0.5) * step
    keep = weight > 0
    grid, weight, mean = grid[keep], weight[keep], total[keep] / weight[keep]
    widths = np.geomspace(max(0.1, 0.2 * width_s), max(0.2, min(2.2 * width_s + 0.5 * dt, 0.27 * period_s, 13.0)), 22)
    best = _best_fit(grid, weight, mean, widths, np.linspace(-1, 1, 21) * max(width_s, dt), width_s, dt)
    near = np.geomspace(best[1] / 1.14, best[1] * 1.14, 9)
    best = _best_fit(grid, weight, mean, near, best[0] + np.linspace(-0.1, 0.1, 9) * max(width_s, dt), best[1], dt)
    near = np.geomspace(best[1] / 1.03, best[1] * 1.03, 9)
    best = _best_fit(grid, weight, mean, near, best[0] + np.linspace(-0.02, 0.02, 9) * max(width_s, dt), best[1], dt)
    shift, width, baseline, amplitude = best
    depth = float(np.clip(-amplitude / (1 + baseline), 0.0, 1.0)) if baseline > -0.9 else 0.0
    return Shape(shift, width, depth, width >= dt, _caught_up(grid, weight, mean, best, dt))


def _best_fit(
    grid: FloatArray, weight: FloatArray, mean: FloatArray, widths: FloatArray, shifts: FloatArray, width_s: float, dt: float
) -> tuple[float, float, float, float]:
    """Return (shift, width, baseline, amplitude) of the least squares fit; amplitudes that mean more than all the load are bounded."""
    best, least = (0.0, width_s, 0.0, 0.0), math.inf
    for width in widths.tolist():
        for shift in shifts.tolist():
            box = overlap(grid, shift, width, dt)
            after = grid - shift
            # Catch-up is forgiven after the box, but only upwards: else the box would flee so that the dip itself is forgiven.
            repaid = (after > 1.05 * width + dt / 2) & (after < 4.5 * width + dt)
            w = np.where(repaid, 0.0, weight)
            sum_w, sum_b, sum_y = w.sum(), (w * box).sum(), (w * mean).sum()
            variance = (w * box * box).sum() - sum_b * sum_b / sum_w
            if variance <= 1e-9:
                continue
            amplitude = ((w * box * mean).sum() - sum_b * sum_y / sum_w) / variance
            amplitude = min(0.0, max(amplitude, -1.05))
            baseline = (sum_y - amplitude * sum_b) / sum_w
            off = mean - baseline - amplitude * box
            rest = float((weight * np.where(repaid, np.minimum(off, 0.0), off) ** 2).sum())
            if rest < least:
                best, least = (float(shift), float(width), float(baseline), float(amplitude)), rest
    return best


def _caught_up(grid: FloatArray, weight: FloatArray, mean: FloatArray, fit: tuple[float, float, float, float], dt: float) -> float:
    shift, width, baseline, amplitude = fit
    lost = -amplitude * width
    after = (grid > shift + width + dt / 2) & (grid < shift + 5 * width + dt)
    if lost <= 0 or not after.any():
        return 0.0
    length = 4 * width + dt / 2
    gain = float(np.average(mean[after] - baseline, weights=weight[after])) * length
    return float(np.clip(gain / lost, 0.0, 0.9))


def stretch(depths: FloatArray) -> tuple[int, int]:
    """Return [first, last) of the cycles between which dead time is present: the run that maximises the likelihood of a constant depth."""
    d = np.nan_to_num(depths)
    known = np.isfinite(depths)
    if known.sum() < 6:
        return 0, d.size
    first, last = 0, d.size
    variance = float(np.var(depths[known])) or 1.0
    for _ in range(3):
        mean = float(d[first:last][known[first:last]].mean()) if known[first:last].any() else 0.0
        gain = np.where(known, mean * (d - mean / 2) / variance, 0.0)
        total = np.concatenate(([0.0], np.cumsum(gain)))
        lowest = np.minimum.accumulate(total)
        stop = int((total - lowest).argmax())
        start = int(total[: stop + 1].argmin())
        # Cutting an end away must pay: a few unlucky cycles are no end of dead time.
        start = start if -total[start] > 4 else 0
        stop = stop if total[stop] - total[-1] > 4 else d.size
        if stop - start < 6 or (start, stop) == (first, last):
            break
        first, last = start, stop
    return first, last


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


def lost_fractions(series: Normalised, incidents: tuple[Interval, ...], shape: Shape) -> tuple[float, float]:
    """Return (net, gross) share of the bytes lost: depth x duration x local load of every incident over all bytes there would have been."""
    if not incidents:
        return 0.0, 0.0
    starts = np.array([start for start, _ in incidents])
    nearest = np.clip(np.searchsorted(series.time_s, starts), 0, series.time_s.size - 1)
    lost = float((shape.depth * shape.width_s * series.load[nearest] * (series.weight[nearest] > 0)).sum())
    moved = float((series.rate * series.interval_s).sum())
    covered = float(series.interval_s.sum()) / max(float(series.time_s[-1] - series.time_s[0]) + series.dt_s, 1e-9)
    moved = moved / max(min(covered, 1.0), 0.1)
    gross = lost / (moved + lost * (1 - shape.caught_up)) if moved + lost > 0 else 0.0
    return gross * (1 - shape.caught_up), gross


def align(box: Box, period_err_s: float, dt_s: float, length_s: float, middle_s: float, exact_s: tuple[float, ...]) -> Alignment:
    """Test epoch alignment with exact periods only (whole seconds, the recorded ping_interval) that lie within the period's error.

    A fitted period must never be folded back to 1970: an error of 1e-7 s moves the phase by seconds. The phase is taken at the middle
    of the record; `chance` is the width of the accepted window over the period, per hypothesis.
    """
    near = sorted({round(box.period_s), *exact_s} - {0}, key=lambda p: abs(p - box.period_s))
    tolerance = max(3 * period_err_s, 0.15 * max(box.width_s, dt_s) * box.period_s / length_s)
    hypotheses = [float(p) for p in near if abs(p - box.period_s) <= tolerance]
    if not hypotheses:
        return Alignment(False, None, None, None)
    exact = hypotheses[0]
    cycle = round((middle_s - box.onset_s) / box.period_s)
    onset = box.onset_s + cycle * box.period_s
    phase = (onset + exact / 2) % exact - exact / 2
    early, late = 0.4 * max(1.0, dt_s), 0.5 + 0.4 * dt_s
    chance = min(1.0, (early + late) * len(hypotheses) / exact)
    return Alignment(bool(-early <= phase <= late), exact, float(phase), chance)


def cycle_depths(series: Normalised, sums: Prefix, box: Box) -> tuple[FloatArray, FloatArray]:
    """Return (onset of every cycle, its depth in sigmas)."""
    onsets = onsets_of(box, series)
    return onsets, incident_depths(sums, onsets, box.width_s, box.period_s, series.dt_s)
