"""Fast folding: all trial periods of a regular grid at once, with weights, so that gaps and idle stretches count for nothing.

The fast folding algorithm (Staelin 1969) adds rows of p cells pairwise with growing drift; M rows cost M p log2 M instead of M^2 p.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.analysis.normalise import Normalised, on_grid
from lnetstat.analysis.results import FloatArray

RANGE_RATIO = 1.3  # the number of cells per period must follow the sampling within each range: wide ranges find 4 P
CELLS_PER_PERIOD = 80
LONGEST_DIP_S = 10.0
LARGEST_DUTY = 0.2
KEPT_PER_RANGE = 60


class Candidate(NamedTuple):
    """A trial period with the width of its best box, in seconds, and the box's signal to noise ratio."""

    period_s: float
    width_s: float
    snr: float


def period_range(series: Normalised) -> tuple[float, float]:
    """Return the shortest and the longest period in seconds that this series can show: 4 samples, and 6 cycles in the record."""
    length = float(series.time_s[-1] - series.time_s[0]) if series.time_s.size else 0.0
    return max(5.0, 4 * series.dt_s), min(300.0, length / 6)


def search(series: Normalised, *, keep: int = 15) -> list[Candidate]:
    """Return the best candidates for periodic dips, best first, none nearer to a better one than its width over the record."""
    shortest, longest = period_range(series)
    if longest <= shortest:
        return []
    length = float(series.time_s[-1] - series.time_s[0])
    cells = int(length / series.dt_s) + 1
    weighted, weight = on_grid(series, float(series.time_s[0]) - series.dt_s / 2, cells)
    found: list[Candidate] = []
    low = shortest
    while low < longest:
        high = min(low * RANGE_RATIO, longest)
        found += _search_range(weighted, weight, series.dt_s, low, high)
        low = high
    found.sort(key=lambda each: -each.snr)
    return thin_out(found, length, keep)


def thin_out(found: list[Candidate], length_s: float, keep: int) -> list[Candidate]:
    """Return the first `keep` candidates that are not a shifted copy of a better one."""
    kept: list[Candidate] = []
    for each in found:
        if all(abs(each.period_s / other.period_s - 1) > max(3 * other.width_s / length_s, 2e-4) for other in kept):
            kept.append(each)
            if len(kept) == keep:
                break
    return kept


def _search_range(weighted: FloatArray, weight: FloatArray, dt_s: float, low_s: float, high_s: float) -> list[Candidate]:
    # Brief dips of long periods need finer cells; growing with the square root keeps the cost of every range alike.
    factor = max(1, int(low_s / (dt_s * CELLS_PER_PERIOD * max(1.0, low_s / 20) ** 0.5)))
    step_s = factor * dt_s
    cells = _downsample(weighted, factor) + 1j * _downsample(weight, factor)
    best: list[Candidate] = []
    for period in range(max(2, int(np.ceil(low_s / step_s))), int(high_s / step_s) + 1):
        profiles = fold_all(cells.astype(np.complex64), period)
        snr, width = _best_boxes(profiles, min(LARGEST_DUTY * period, LONGEST_DIP_S / step_s))
        drifts = profiles.shape[0] - 1
        for index in np.argpartition(-snr, min(8, snr.size - 1))[:8].tolist():
            # A drift of r cells per row of p cells is a period of p / (1 - r / p): an event also moves on within its later row.
            period_s = period / (1 - index / (max(1, drifts) * period)) * step_s
            best.append(Candidate(period_s, float(width[index]) * step_s, float(snr[index])))
    best.sort(key=lambda each: -each.snr)
    return best[:KEPT_PER_RANGE]


def _downsample(values: FloatArray, factor: int) -> FloatArray:
    cells = -(-values.size // factor)
    return np.asarray(np.pad(values, (0, cells * factor - values.size)).reshape(cells, factor).sum(axis=1))


def fold_all(cells: npt.NDArray[np.complex64], period: int) -> npt.NDArray[np.complex64]:
    """Return, as rows s = 0..M-1, the profiles (M, period) of a row of cells folded with a drift of s cells over M - 1 rows.

    M is the next power of two above the number of whole or begun cycles. Real and imaginary part are folded alike.
    """
    cycles = max(2, -(-cells.size // period))
    rows = 1 << (cycles - 1).bit_length()
    padded = np.zeros(rows * period, dtype=np.complex64)
    padded[: cells.size] = cells
    folded: npt.NDArray[np.complex64] = padded.reshape(rows, period)
    half = 1
    while half < rows:
        folded = _merge(folded.reshape(rows // (2 * half), 2, half, period)).reshape(rows, period)
        half *= 2
    return folded


def _merge(blocks: npt.NDArray[np.complex64]) -> npt.NDArray[np.complex64]:
    """Join pairs of blocks (pairs, 2, half, period): row s = head[s // 2] + tail[s // 2] advanced by ceil(s / 2) cells."""
    pairs, _, half, period = blocks.shape
    drift = np.arange(2 * half)
    out = np.repeat(blocks[:, 0], 2, axis=1)
    tail = blocks[:, 1]
    if half <= 16:
        for s in drift.tolist():
            shift, row = (-(-s // 2)) % period, s // 2
            out[:, s, : period - shift] += tail[:, row, shift:]
            if shift:
                out[:, s, period - shift :] += tail[:, row, :shift]
        return out
    columns = (np.arange(period)[None, :] + ((drift + 1) // 2)[:, None]) % period
    flat = (drift // 2)[:, None] * period + columns
    out += tail.reshape(pairs, half * period)[:, flat.ravel()].reshape(pairs, 2 * half, period)
    return out


def box_widths(longest: float) -> Iterator[int]:
    """Yield box widths in cells: 1, 2, 3, 4, 6, 9, … up to `longest` (at least 1)."""
    width = 1
    while width == 1 or width <= longest:
        yield width
        width = max(width + 1, int(width * 1.5))


def _best_boxes(profiles: npt.NDArray[np.complex64], longest: float) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the best signal to noise ratio of each profile over all phases, and the width in cells of its box."""
    rows, period = profiles.shape
    reach = max(1, int(longest))
    total = np.zeros((rows, period + reach + 1), dtype=np.complex64)
    np.cumsum(np.concatenate((profiles, profiles[:, :reach]), axis=1), axis=1, out=total[:, 1:])
    best, width_of = np.full(rows, -np.inf, dtype=np.float32), np.ones(rows, dtype=np.int64)
    for width in box_widths(longest):
        box = total[:, width : width + period] - total[:, :period]
        snr = (-box.real / np.sqrt(np.maximum(box.imag, 0.5))).max(axis=1)
        better = snr > best
        best[better] = snr[better]
        width_of[better] = width
    return best, width_of
