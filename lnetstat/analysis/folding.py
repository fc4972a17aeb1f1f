"""Fast folding: all trial periods of a regular grid at once, with weights, so that gaps and idle stretches count for nothing.

The fast folding algorithm (Staelin 1969) adds rows of p cells pairwise with growing drift; M rows cost M p log2 M instead of M^2 p.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat import compiled
from lnetstat.analysis import kernels
from lnetstat.analysis.normalise import Normalised, on_grid
from lnetstat.analysis.results import FloatArray

RANGE_RATIO = 1.3  # the number of cells per period must follow the sampling within each range: wide ranges find 4 P
CELLS_PER_PERIOD = 80
CELLS_PER_SAMPLE = 3  # dips of a fifth of a sample lose 40 % of their S/N in cells as long as a sample, 15 % in halves, 10 % in thirds
CELLS_PER_RANGE = 1_000_000  # may be folded in any case: some 20 ms for each of 16 ranges
LONGEST_DIP_S = 10.0
LARGEST_DUTY = 0.2
KEPT_PER_PERIOD = 8
KEPT_PER_RANGE = 60
LEAST_APART = 2e-4  # of the period: nearer candidates are shifted copies of a better one

Cells = npt.NDArray[np.float32]
Searched = Callable[[Cells, Cells, int, int, int, float, FloatArray], None]


class Candidate(NamedTuple):
    """A trial period with the width of its best box, in seconds, and the box's signal to noise ratio."""

    period_s: float
    width_s: float
    snr: float


def period_range(series: Normalised) -> tuple[float, float]:
    """Return the shortest and the longest period in seconds that this series can show: 4 samples, and 6 cycles in the record."""
    length = float(series.time_s[-1] - series.time_s[0]) if series.time_s.size else 0.0
    return max(5.0, 4 * series.dt_s), min(300.0, length / 6)


def search(series: Normalised, *, keep: int = 15, fine: bool = True) -> list[Candidate]:
    """Return the best candidates for periodic dips, best first, none nearer to a better one than its width over the record.

    Not `fine`: with the fewest cells, several times as fast; dips shorter than a sample or far below the noise may be missed.
    """
    shortest, longest = period_range(series)
    if longest <= shortest:
        return []
    weighted, weight = grid_of(series)
    length = float(series.time_s[-1] - series.time_s[0])
    return search_grid(
        weighted,
        weight,
        series.dt_s,
        length,
        shortest_s=shortest,
        longest_s=longest,
        cells_per_sample=CELLS_PER_SAMPLE,
        keep=keep,
        most_cells=CELLS_PER_RANGE if fine else 0,
    )


def grid_of(series: Normalised) -> tuple[FloatArray, FloatArray]:
    """Return (sums of weight * x, sums of weight) on a grid of CELLS_PER_SAMPLE cells per sample, arrays of (cells,) each."""
    step_s = series.dt_s / CELLS_PER_SAMPLE
    begin_s = float(series.time_s[0]) - step_s / 2  # samples lie in the middle of cells, where they do not jump to the next one
    cells = int((float(series.time_s[-1]) - begin_s) / step_s) + 1
    return on_grid(series._replace(dt_s=step_s), begin_s, cells)


def search_grid(
    weighted: FloatArray,
    weight: FloatArray,
    dt_s: float,
    length_s: float,
    *,
    shortest_s: float,
    longest_s: float,
    cells_per_sample: int = 1,
    keep: int = 15,
    most_cells: int = CELLS_PER_RANGE,
) -> list[Candidate]:
    """Return the best candidates among periods of shortest..longest seconds, best first.

    `weighted` and `weight`, (n,) each: sums of weight * x and of weight per cell of `dt_s / cells_per_sample` seconds, as `grid_of` makes
    them of a series of `length_s` seconds sampled every `dt_s`. `most_cells`: how many may be folded in each range of periods to see
    brief dips of long periods better; 0 is the coarsest search. The same grid gives the same candidates, with numba and without.
    """
    searched = kernels.search_periods() if compiled.available() else search_periods
    found: list[Candidate] = []
    low, step_s = shortest_s, dt_s / cells_per_sample
    while low < longest_s:
        high = min(low * RANGE_RATIO, longest_s)
        factor = max(1, int(_cell_s(dt_s, length_s, low, high, most_cells) / step_s * 1.001))
        found += _search_range(_downsample(weighted, factor), _downsample(weight, factor), factor * step_s, low, high, searched)
        low = high
    found.sort(key=lambda each: -each.snr)
    return thin_out(found, length_s, keep)


def _cell_s(dt_s: float, length_s: float, low_s: float, high_s: float, most_cells: int) -> float:
    """Return the longest cell for a range of periods: brief dips need short ones, which cost their inverse square."""
    # Growing with the square root keeps the cost of every range alike.
    coarse_s = max(dt_s, low_s / (CELLS_PER_PERIOD * max(1.0, math.sqrt(low_s / 20))))
    return min(coarse_s, math.sqrt((high_s - low_s) * length_s / most_cells)) if most_cells else coarse_s


def thin_out(found: list[Candidate], length_s: float, keep: int) -> list[Candidate]:
    """Return the first `keep` candidates that are not a shifted copy of a better one."""
    kept: list[Candidate] = []
    for each in found:
        if all(abs(each.period_s / other.period_s - 1) > max(3 * other.width_s / length_s, LEAST_APART) for other in kept):
            kept.append(each)
            if len(kept) == keep:
                break
    return kept


def _search_range(weighted: Cells, weight: Cells, step_s: float, low_s: float, high_s: float, searched: Searched) -> list[Candidate]:
    first, last = max(2, int(np.ceil(low_s / step_s))), int(high_s / step_s)
    if last < first:
        return []
    widest = max(1, int(min(LARGEST_DUTY * first, LONGEST_DIP_S / step_s)))
    found = np.full((last - first + 1, KEPT_PER_PERIOD, 3), -np.inf)
    searched(weighted, weight, first, last, widest, LEAST_APART, found)
    # A drift of r cells per row of p cells is a period of p / (1 - r / p): an event also moves on within its later row.
    periods = np.arange(first, last + 1, dtype=np.float64)
    drifts = np.maximum(2, -(-weight.size // periods)) - 1  # as many as rows_of tells, less one
    square, width, row = (np.ravel(found[:, :, part]) for part in range(3))
    period_s = np.repeat(periods, KEPT_PER_PERIOD) / (1 - row / np.repeat(drifts * periods, KEPT_PER_PERIOD)) * step_s
    snr = np.copysign(np.sqrt(np.abs(square)), square)
    best = np.argsort(-snr, kind="stable")[: min(KEPT_PER_RANGE, int((row >= 0).sum()))]
    return [Candidate(*each) for each in zip(period_s[best].tolist(), (width[best] * step_s).tolist(), snr[best].tolist(), strict=True)]


def _downsample(values: FloatArray, factor: int) -> Cells:
    cells = -(-values.size // factor)
    return np.asarray(np.pad(values, (0, cells * factor - values.size)).reshape(cells, factor).sum(axis=1), dtype=np.float32)


def rows_of(cells: int, period: int) -> int:
    """Return how many rows a grid of cells is folded to: the number of whole or begun cycles, at least 2."""
    return max(2, -(-cells // period))


def search_periods(weighted: Cells, weight: Cells, first: int, last: int, longest: int, apart: float, found: FloatArray) -> None:
    """Do what `kernels._search_periods` says, in numpy: slower, with the same results to the bit."""
    cells = weighted + 1j * weight
    for period in range(first, last + 1):
        profiles = fold_all(cells, period)
        best, width = _best_boxes(profiles, longest)
        drifts = profiles.shape[0] - 1
        for rank in range(found.shape[1]):
            row = int(best.argmax())
            if best[row] == -np.inf:
                break
            found[period - first, rank] = best[row], width[row], row
            reach = int(max(3.0 * width[row], apart * drifts * period))
            best[max(0, row - reach) : row + reach + 1] = -np.inf


def fold_all(cells: npt.NDArray[np.complex64], period: int) -> npt.NDArray[np.complex64]:
    """Return, as rows s = 0..M-1, the profiles (M, period) of a row of cells folded with a drift of s cells over M - 1 rows.

    M is that of `rows_of`. Real and imaginary part are folded alike.
    """
    rows = rows_of(cells.size, period)
    padded = np.zeros(rows * period, dtype=np.complex64)
    padded[: cells.size] = cells
    folded: npt.NDArray[np.complex64] = padded.reshape(rows, period)
    for level in range((rows - 1).bit_length() - 1, -1, -1):
        folded = _merge(folded, level)
    return folded


def _merge(folded: npt.NDArray[np.complex64], level: int) -> npt.NDArray[np.complex64]:
    """Join the 2^(level + 1) blocks of rows pairwise to 2^level, of which each holds the profiles of as many drifts as it has rows.

    In a block row s is row s of the first block scaled to its size, and such a row of the second, advanced by what is missing to s.
    """
    rows, period = folded.shape
    bounds = np.arange((2 << level) + 1) * rows >> (level + 1)
    block = np.repeat(np.arange(1 << level), np.diff(bounds[::2]))
    begin, middle, end = bounds[2 * block], bounds[2 * block + 1], bounds[2 * block + 2]
    alone = end - begin < 2
    drift, last = np.arange(rows) - begin, np.maximum(end - begin - 1, 1)
    head = np.where(alone, 0, (2 * drift * (middle - begin - 1) + last) // (2 * last))
    tail = np.where(alone, 0, (2 * drift * (end - middle - 1) + last) // (2 * last))
    columns = (np.arange(period) + (drift - tail)[:, None]) % period
    later = folded[np.minimum(middle + tail, rows - 1)[:, None], columns]
    later[alone] = 0
    return np.asarray(folded[begin + head] + later)


def box_widths(longest: int) -> Iterator[int]:
    """Yield box widths in cells: 1, 2, 3, 4, 6, 8, 12, … up to `longest` (at least 1)."""
    yield 1
    width = 2
    while width <= longest:
        yield width
        if width // 2 * 3 <= longest:
            yield width // 2 * 3
        width *= 2


def _best_boxes(profiles: npt.NDArray[np.complex64], longest: int) -> tuple[Cells, npt.NDArray[np.int64]]:
    """Return the best S/N squared of each profile over all phases, and the width in cells of its box. Its sign is that of the S/N."""
    rows, period = profiles.shape
    box = {1: np.concatenate((profiles, profiles[:, :longest]), axis=1)}
    best, width_of = np.full(rows, -np.inf, dtype=np.float32), np.ones(rows, dtype=np.int64)
    for width in box_widths(longest):
        if width > 1:  # a sum of two narrower boxes, so that no rounding adds up
            left = 1 << (width.bit_length() - 2 + (width & (width - 1) > 0))
            box[width] = box[left][:, : period + longest - width + 1] + box[width - left][:, left : left + period + longest - width + 1]
        low, over = box[width].real[:, :period], box[width].imag[:, :period]
        square = (-low * np.abs(low) / np.maximum(over, np.float32(0.5))).max(axis=1)
        better = square > best
        best[better] = square[better]
        width_of[better] = width
    return best, width_of
