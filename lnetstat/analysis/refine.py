"""From a box that was found to numbers with error bars: period, duration, depth, lost bytes, when, and alignment to the epoch."""

import math
from typing import NamedTuple

import numpy as np

from lnetstat.analysis.normalise import Normalised
from lnetstat.analysis.results import FloatArray
from lnetstat.analysis.shape import overlap, phases_of
from lnetstat.analysis.vetting import Box, Prefix, incident_depths, onsets_of

MOST_SEGMENTS = 24
LATEST_ALIGNED_S = 0.3  # pings of a multiple of P are on the wire by then: timers wake late, messages queue
ALIGNED_SLACK_S = 0.15  # of clocks (NTP) and of the jitter of single onsets


class Alignment(NamedTuple):
    """Whether onsets lie on multiples of an exact period since the epoch. `aligned` None: not testable, no exact period is near enough."""

    aligned: bool | None
    hypothesis_s: float | None
    phase_s: float | None
    chance: float | None


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


def exact_near(box: Box, period_err_s: float, dt_s: float, length_s: float, exact_s: tuple[float, ...]) -> float | None:
    """Return the exact period (a recorded ping_interval, else whole seconds) within three errors of the fitted one, None without.

    A dip that moves by less than a third of itself or of a sample over the record is not told from one that stays.
    """
    tolerance = max(3 * period_err_s, 0.3 * max(box.width_s, dt_s) * box.period_s / length_s)
    near = [float(exact) for exact in (*exact_s, round(box.period_s)) if exact > 0 and abs(exact - box.period_s) <= tolerance]
    return near[0] if near else None


def with_period(series: Normalised, box: Box, period_s: float) -> Box:
    """Return the box with another period and its phase of mid-record, where errors of the period weigh least."""
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
    tau = phases_of(series, onsets, box.period_s)
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
    return overlap(grid - dt_s / 2, grid + dt_s / 2, -width_s / 2, width_s)


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


def align(series: Normalised, box: Box, onset_err_s: tuple[float, float]) -> Alignment:
    """Test with the exact period of the box whether its onsets lie on multiples of that period since the epoch.

    A fitted period must never be folded back to 1970: an error of 1e-7 s moves the phase by seconds. The phase is taken at the middle
    of the record. `onset_err_s`: how much earlier and later the onset may be, where samples longer than the dip leave its ends open.
    `chance` is the width of the accepted window over the period.
    """
    middle = float(series.time_s[0] + series.time_s[-1]) / 2
    onset = box.onset_s + round((middle - box.onset_s) / box.period_s) * box.period_s
    phase = (onset + box.period_s / 2) % box.period_s - box.period_s / 2
    early, late = onset_err_s[1] + ALIGNED_SLACK_S, LATEST_ALIGNED_S + onset_err_s[0] + ALIGNED_SLACK_S
    return Alignment(bool(-early <= phase <= late), box.period_s, float(phase), min(1.0, (early + late) / box.period_s))


def cycle_depths(series: Normalised, sums: Prefix, box: Box) -> tuple[FloatArray, FloatArray]:
    """Return (onset of every cycle, its depth in sigmas)."""
    onsets = onsets_of(box, series)
    return onsets, incident_depths(sums, onsets, box.width_s, box.period_s, series.dt_s)
