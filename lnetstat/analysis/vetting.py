"""Is a candidate period real? A box fit, the depth of every single incident, the shape over the period, and its harmonics.

The raw signal to noise ratio of a fold proves nothing (noise and application phases reach 19); these tests decide.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat import compiled
from lnetstat.analysis import kernels
from lnetstat.analysis.folding import LONGEST_DIP_S, Candidate, period_range
from lnetstat.analysis.normalise import Normalised, summed
from lnetstat.analysis.results import FloatArray

LARGEST_FIT_DUTY = 0.22
LEAST_FILLED = 0.2  # of the usual weight: a box that falls into gaps holds a few samples by chance
SCATTER_FLOOR = 0.35  # of the mean depth: without it 2 P, 3 P, 4 P win, as significant with fewer incidents
LEAST_INCIDENTS = 6
MANY_INCIDENTS = 300  # so many tell their scatter to 4 % themselves
NOISE_PHASES = 12
MOST_ABOVE = 0.1  # share of the cycle: what is higher for longer is no catching up but the application at work
ALIKE_SIGMA = 2.5  # of a correlation of independent incidents, 1 / sqrt(n): less is chance
LARGEST_STRETCH = 0.9  # of the cycles: a longer stretch with dips is the whole record
CHOICE_COST = 1.0  # sigma: about what the best of all stretches gains by chance
BOX_WEIGHT = 1.1
MOST_CLASSES = 12  # the shortest period that is searched for is that fraction of an application's minute
UNEVEN_SIGMA = 5.0  # as for everything that is looked at in many places


class Box(NamedTuple):
    """A box fitted to the fold: dips last `width_s` from `onset_s` (epoch seconds, the first in the record) every `period_s`."""

    period_s: float
    onset_s: float
    width_s: float
    stat: float


class Vetted(NamedTuple):
    """A box with its verdict. `passed`: the shape is a dip's.

    `score`: the least of the mean-based and the median-based significance over incidents and of the box's own.
    """

    box: Box
    score: float
    passed: bool
    depths: FloatArray  # (cycles,), in sigmas; NaN where nothing was sampled


class Prefix(NamedTuple):
    """Running sums for means over time windows: total weight and weighted x up to each sample."""

    time_s: FloatArray
    weight: FloatArray
    weighted: FloatArray


def prefix_sums(series: Normalised) -> Prefix:
    """Return the running sums of a series."""
    return Prefix(
        series.time_s,
        np.concatenate(([0.0], np.cumsum(series.weight))),
        np.concatenate(([0.0], np.cumsum(series.weight * series.x))),
    )


def window_sums(sums: Prefix, begin_s: FloatArray, end_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (weight, weighted x) of the samples whose middle lies in [begin, end)."""
    first, last = np.searchsorted(sums.time_s, begin_s), np.searchsorted(sums.time_s, end_s)
    return sums.weight[last] - sums.weight[first], sums.weighted[last] - sums.weighted[first]


def fit_box(series: Normalised, candidate: Candidate, *, wide: bool = True) -> Box:
    """Fit period, onset and width of the box near a candidate: a wide grid over the period, then a fine one about the best."""
    length = float(series.time_s[-1] - series.time_s[0])
    start = max(candidate.width_s, 0.7 * series.dt_s)
    reach = 1.5 * max(start, series.dt_s) * candidate.period_s / length
    widths = [w for w in start * np.array([0.35, 0.5, 0.7, 1, 1.4, 2, 2.8]) if w >= series.dt_s / 2] or [start]
    used = series.weight > 0
    origin = float(series.time_s[0])
    samples = (series.time_s[used] - origin, series.weight[used], (series.weight * series.x)[used])
    periods = candidate.period_s + np.linspace(-reach, reach, 31) if wide else np.array([candidate.period_s])
    best = _best_fit(samples, periods, np.array(widths), series.dt_s)
    fine = _best_fit(samples, best.period_s + np.linspace(-0.3 * reach, 0.3 * reach, 21), np.array(widths), series.dt_s)
    best = max(best, fine, key=lambda box: box.stat)
    return best._replace(onset_s=origin + best.onset_s)


def _best_fit(samples: tuple[FloatArray, FloatArray, FloatArray], periods_s: FloatArray, widths_s: FloatArray, dt_s: float) -> Box:
    """Return the best box of all periods and widths. Samples are (seconds since the first, weight, weight * x), (n,) each."""
    bin_s = np.maximum(max(min(8.0, float(widths_s.min())) / 3, dt_s / 6), periods_s / 3000)
    bins = np.maximum(8, np.round(periods_s / bin_s)).astype(np.int64)
    longest_s = np.minimum(LARGEST_FIT_DUTY * periods_s, 1.3 * LONGEST_DIP_S + dt_s)
    widths = np.maximum(1, np.round(widths_s / periods_s[:, None] * bins[:, None])).astype(np.int64)
    widths[widths_s > longest_s[:, None]] = 0
    found = np.full((periods_s.size, 3), -math.inf)
    fit = kernels.fit_boxes() if compiled.available() else fit_boxes
    fit(*samples, periods_s, bins, widths, LEAST_FILLED, found)
    best = int(found[:, 2].argmax())
    onset, width, stat = found[best].tolist()
    period_s, fraction = float(periods_s[best]), float(periods_s[best] / bins[best])
    return Box(period_s, onset * fraction, width * fraction, stat) if stat > -math.inf else Box(period_s, 0.0, float(widths_s[0]), stat)


def fit_boxes(
    time_s: FloatArray,
    weight: FloatArray,
    weighted: FloatArray,
    period_s: FloatArray,
    bins: npt.NDArray[np.int64],
    widths: npt.NDArray[np.int64],
    filled: float,
    found: FloatArray,
) -> None:
    """Do what `kernels._fit_boxes` says, in numpy: slower, with the same results to the bit."""
    for number, (period, count) in enumerate(zip(period_s.tolist(), bins.tolist(), strict=True)):
        at = np.minimum(((time_s / period) % 1.0 * count).astype(np.int64), count - 1)
        over, low = (np.concatenate(([0.0], np.cumsum(np.tile(summed(at, each, count), 2)))) for each in (weight, weighted))
        total, sum_low = over[count], low[count]
        for width in widths[number].tolist():
            if width == 0:
                continue
            inside, below = over[width : width + count] - over[:count], low[width : width + count] - low[:count]
            outside = total - inside
            good = (inside > filled * total * width / count) & (outside > 0)
            square = np.where(good, inside * outside * total, 1.0)
            snr = np.where(good, (sum_low * inside - below * total) / np.sqrt(square), -math.inf)
            top = int(snr.argmax())
            if snr[top] > found[number, 2]:
                found[number] = top, width, snr[top]


def onsets_of(box: Box, series: Normalised) -> FloatArray:
    """Return the expected onset (epoch seconds) of every cycle of the box that touches the record."""
    first = math.ceil((float(series.time_s[0]) - box.onset_s - box.width_s) / box.period_s)
    last = math.floor((float(series.time_s[-1]) - box.onset_s) / box.period_s)
    return np.asarray(box.onset_s + box.period_s * np.arange(first, last + 1, dtype=np.float64))


def incident_depths(sums: Prefix, onset_s: FloatArray, width_s: float, spacing_s: float, dt_s: float) -> FloatArray:
    """Return for every onset the depth (sigmas) of the samples inside against those on both sides; NaN where one is missing.

    The inside is at least 1.02 samples long, else P/2 "wins" on whole-second sampling: every other window would be empty.
    """
    inside_s = max(width_s, 1.02 * dt_s)
    begin = onset_s + width_s / 2 - inside_s / 2
    end = begin + inside_s
    reference_s = min(max(2 * width_s, 3 * dt_s, 0.1 * spacing_s), 0.4 * spacing_s)
    distance_s = max(0.5 * width_s, 0.6 * dt_s)
    in_w, in_a = window_sums(sums, begin, end)
    left_w, left_a = window_sums(sums, begin - distance_s - reference_s, begin - distance_s)
    after = end + distance_s + 0.3 * width_s
    right_w, right_a = window_sums(sums, after, after + reference_s)
    out_w = left_w + right_w
    good = (in_w > 0) & (left_w > 0) & (right_w > 0)  # beside idle times a load that begins or ends looks like a dip
    inside = in_a / np.where(good, in_w, 1.0)
    outside = (left_a + right_a) / np.where(good, out_w, 1.0)
    return np.where(good, outside - inside, np.nan)


def noise_depth(sums: Prefix, onset_s: FloatArray, width_s: float, period_s: float, dt_s: float) -> float:
    """Return the scatter (standard deviation, sigmas) of the depth of one incident where no dip is: at other phases of the cycle.

    A dozen dips agree by chance now and then, so that their own scatter says too little (Student's t of few degrees of freedom); away
    from them it is told from many more windows.
    """
    aside_s = max(2 * width_s, 2 * dt_s) + width_s
    if 2 * aside_s >= period_s or onset_s.size > MANY_INCIDENTS:
        return 0.0
    count = min(NOISE_PHASES, max(2, int((period_s - 2 * aside_s) / max(width_s, dt_s))))
    shifts = np.linspace(aside_s, period_s - aside_s, count)
    depths = incident_depths(sums, (onset_s[:, None] + shifts[None, :]).ravel(), width_s, period_s, dt_s)
    depths = depths[np.isfinite(depths)]
    return float(depths.std()) if depths.size > LEAST_INCIDENTS else 0.0


def significance(depths: FloatArray, noise: float = 0.0) -> float:
    """Return min(t, 1.3 u) of the depths of single incidents: t from mean and scatter, u from median and robust scatter.

    `noise`: the scatter of an incident without a dip; the incidents' own counts only where it is larger.
    """
    d = depths[np.isfinite(depths)]
    if d.size < LEAST_INCIDENTS:
        return 0.0
    root = math.sqrt(d.size)
    mean, middle = float(d.mean()), float(np.median(d))
    robust = 1.4826 * float(np.median(np.abs(d - middle)))
    t = mean / max(float(d.std(ddof=1)), noise, SCATTER_FLOOR * abs(mean), 1e-9) * root
    u = middle / max(1.2533 * robust, noise, SCATTER_FLOOR * abs(middle), 1e-9) * root
    return min(t, 1.3 * u) * _independence(d)


def _independence(depths: FloatArray) -> float:
    """Return by how much less incidents tell because neighbours are alike: sqrt((1 - r) / (1 + r)), r their correlation; 1 at most.

    A beat of two regular things, as of requests and samples, waxes and wanes over many cycles; dips that floods make do not.
    """
    d = depths - depths.mean()
    power = float((d * d).sum())
    if power <= 0:
        return 1.0
    r = float((d[1:] * d[:-1]).sum()) / power
    return math.sqrt((1 - r) / (1 + r)) if r > ALIKE_SIGMA / math.sqrt(d.size) else 1.0


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


def significance_of_stretch(depths: FloatArray, noise: float) -> float:
    """Return the significance of the incidents of the record, or of the stretch of it that has dips; choosing the stretch costs."""
    first, last = stretch(depths)
    whole = significance(depths, noise)
    if last - first >= LARGEST_STRETCH * depths.size:
        return whole
    return max(whole, significance(depths[first:last], noise) - CHOICE_COST)


def is_even(depths: FloatArray) -> bool:
    """Return False where every m-th cycle dips and others do not: then the period is a fraction of an application's own, whose edges
    look like dips at some phases only.

    The means of the m classes of cycles are compared by their variance over what the scatter within the classes allows (an F test), in
    the whole record and in its halves: where phases jump in between, the classes change places.
    """
    half = depths.size // 2
    return _classes_alike(depths) and _classes_alike(depths[:half]) and _classes_alike(depths[half:])


def _classes_alike(depths: FloatArray) -> bool:
    number = np.arange(depths.size)
    known = np.isfinite(depths)
    for count in range(2, min(MOST_CLASSES, int(known.sum()) // LEAST_INCIDENTS) + 1):
        group = number[known] % count
        d = depths[known]
        size = np.bincount(group, minlength=count)
        if size.min() < 3:
            continue
        mean = np.bincount(group, d, count) / size
        within = float(((d - mean[group]) ** 2).sum()) / (d.size - count)
        between = float((size * (mean - d.mean()) ** 2).sum()) / (count - 1)
        surprise = (between / max(within, 1e-12) - 1) * math.sqrt((count - 1) / 2)
        if surprise > UNEVEN_SIGMA and mean.min() < 0.4 * d.mean():
            return False
    return True


def vet(series: Normalised, sums: Prefix, box: Box) -> Vetted:
    """Score a box by its incidents; one whose shape is no dip's keeps a small score, so that the ranking stays defined."""
    onsets = onsets_of(box, series)
    depths = incident_depths(sums, onsets, box.width_s, box.period_s, series.dt_s)
    noise = noise_depth(sums, onsets, box.width_s, box.period_s, series.dt_s)
    # A dozen cycles may agree by chance where so many phases were tried: the box as a whole must stand out of the noise as well.
    score = min(significance_of_stretch(depths, noise), BOX_WEIGHT * box.stat)
    length = float(series.time_s[-1] - series.time_s[0])
    passed = (
        score > 0
        and is_even(depths)
        and all(is_dip_profile(series, box, times) for times in (1, 2, 3) if times == 1 or times * box.period_s < length / 4)
    )
    return Vetted(box, score if passed else min(score / 4, 4.0), passed, depths)


def is_dip_profile(series: Normalised, box: Box, times: int = 1) -> bool:
    """Return True when the load folded at `times` periods is a high plateau with short lows: no application phase, no sine."""
    period_s = box.period_s * times
    phase_s = (series.time_s - box.onset_s - box.width_s / 2 + period_s / 2) % period_s - period_s / 2
    return is_plateau_with_lows(series, phase_s, box, times)


def is_plateau_with_lows(series: Normalised, phase_s: FloatArray, box: Box, times: int = 1) -> bool:
    """Return True when the load against its phase (seconds from the middle of the dip) is high but for a short low."""
    period_s, dt = box.period_s * times, series.dt_s
    relative = relative_to_mean(series, period_s)
    used = (series.weight > 0) & np.isfinite(relative) & (np.abs(phase_s) <= period_s / 2)
    # An odd number, so that the dip lies in the middle of a bin, and fine enough that a straddling edge costs little.
    bins = int(np.clip(2.5 * period_s / max(box.width_s, dt), 9, 150 * times)) | 1
    index = np.clip(((phase_s[used] / period_s + 0.5) * bins).astype(np.int64), 0, bins - 1)
    count = np.bincount(index, minlength=bins)
    profile = np.bincount(index, relative[used], bins) / np.maximum(count, 1)
    profile = profile[count > 0]
    if profile.size < 4:
        return False
    inside = np.abs(phase_s[used]) <= max(box.width_s, dt) / 2
    low = float(relative[used][inside].mean()) if inside.any() else float(profile.min())
    base = float(np.percentile(profile, 60))
    if low >= base:
        return False
    below = profile < (base + low) / 2
    if below.mean() > max(0.3, 2.6 * dt / box.period_s):
        return False
    if times == 1 and (profile > 2 * base - low).mean() > MOST_ABOVE:  # a phase as far above the plateau as the dip is below it
        return False
    return times > 1 or box.period_s <= 5 * dt or _first_harmonic(profile) <= 0.8


def relative_to_mean(series: Normalised, window_s: float) -> FloatArray:
    """Return the rate over its moving average of `window_s` seconds, within 0..3; NaN where there is no load."""
    total = np.concatenate(([0.0], np.cumsum(series.rate * series.weight)))
    weight = np.concatenate(([0.0], np.cumsum(series.weight)))
    first = np.searchsorted(series.time_s, series.time_s - window_s / 2)
    last = np.searchsorted(series.time_s, series.time_s + window_s / 2)
    amount, over = total[last] - total[first], weight[last] - weight[first]
    good = (over > 0) & (amount > 0)
    mean = np.where(good, amount, 1.0) / np.where(good, over, 1.0)
    return np.where(good, np.clip(series.rate / mean, 0.0, 3.0), np.nan)


def _first_harmonic(profile: FloatArray) -> float:
    """Return the share of a profile's variance that its first harmonic holds."""
    power: npt.NDArray[np.float64] = np.abs(np.fft.rfft(profile)[1:]) ** 2
    return float(power[0] / power.sum()) if power.sum() > 0 else 0.0


def shorter_period(series: Normalised, sums: Prefix, vetted: Vetted) -> Vetted:
    """Return the box at P/2 or P/3 where every one of its 2 or 3 phases dips alike and significantly, else the box itself.

    Where the box is too long for the shorter period nothing brief is left: then it did not pass.
    """
    shortest, _ = period_range(series)
    for parts in (3, 2):
        period_s = vetted.box.period_s / parts
        if period_s < shortest:
            continue
        means, certain = [], True
        for part in range(parts):
            shifted = vetted.box._replace(onset_s=vetted.box.onset_s + part * period_s)
            d = incident_depths(sums, onsets_of(shifted, series), vetted.box.width_s, period_s, series.dt_s)
            means.append(float(np.nanmean(d)) if np.isfinite(d).any() else 0.0)
            certain = certain and significance(d) > 4
        if certain and min(means) > 0.6 * max(means):
            if vetted.box.width_s > LARGEST_FIT_DUTY * period_s:  # low for so long that it is a phase of the application
                return vetted._replace(score=min(vetted.score / 4, 4.0), passed=False)
            return vet(series, sums, vetted.box._replace(period_s=period_s))
    return vetted
