"""The inner loops of the search, as plain functions that numba compiles. `folding` holds the same in numpy, which runs without numba.

Both do the same additions in the same order and precision, so both give the same candidates, to the bit.
"""

import functools
import importlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lnetstat import compiled

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
HALF = np.float32(0.5)  # of a sample: a box with less weight than that holds nothing
BATCH_CELLS = 4096  # that the seven arrays of a batch stay in a core's cache


@functools.cache
def search_periods() -> Callable[..., None]:
    """Return `_search_periods` compiled. The first call on a machine compiles for some seconds; later ones find it on disk."""
    return compiled.kept("search", [__file__], _compiled)


@functools.cache
def fit_boxes() -> Callable[..., None]:
    """Return `_fit_boxes` compiled, as `search_periods` does."""
    return compiled.kept("search", [__file__], _compiled_fit_boxes)


def _compiled_fit_boxes(folder: Path | None) -> Callable[..., None]:
    outermost = compiled.outermost(types.FunctionType(_fit_boxes.__code__, {"np": np, "__name__": __name__}, _fit_boxes.__name__), folder)
    one = np.ones(1)
    outermost(one, one, one, one, np.ones(1, dtype=np.int64), np.ones((1, 1), dtype=np.int64), 0.2, np.zeros((1, 3)))
    return outermost


def _fit_boxes(
    time_s: Doubles,
    weight: Doubles,
    weighted: Doubles,
    period_s: Doubles,
    bins: Integers,
    widths: Integers,
    filled: float,
    found: Doubles,
) -> None:
    """Fold samples at every period to its number of bins and fill found[period] = (bin of the onset, width in bins, S/N) of its best box.

    `time_s` counts from the record's begin, not below 0. `widths`, (periods, widths), in bins: 0 is not tried. A box must hold the share
    `filled` of the weight that would be in it if all bins were alike. What is not filled stays as it was.
    """
    most = bins.max()
    over, low, value = np.empty(2 * most + 1), np.empty(2 * most + 1), np.empty(most)
    for number in range(period_s.size):
        period, count = period_s[number], bins[number]
        over[: count + 1] = 0
        low[: count + 1] = 0
        for i in range(time_s.size):
            cycles = time_s[i] / period
            at = min(int((cycles - int(cycles)) * count), count - 1)
            over[at + 1] += weight[i]
            low[at + 1] += weighted[i]
        over[count + 1 : 2 * count + 1] = over[1 : count + 1]
        low[count + 1 : 2 * count + 1] = low[1 : count + 1]
        for i in range(2 * count):
            over[i + 1] += over[i]
            low[i + 1] += low[i]
        total, sum_low = over[count], low[count]
        for width in widths[number]:
            if width == 0:
                continue
            least = filled * total * width / count
            for i in range(count):
                inside, below = over[i + width] - over[i], low[i + width] - low[i]
                outside = total - inside
                snr = (sum_low * inside - below * total) / np.sqrt(inside * outside * total)
                value[i] = snr if (inside > least) & (outside > 0) else -np.inf
            top = 0
            for i in range(1, count):
                if value[i] > value[top]:
                    top = i
            if value[top] > found[number, 2]:
                found[number, 0] = top
                found[number, 1] = width
                found[number, 2] = value[top]


def _compiled(folder: Path | None) -> Callable[..., None]:
    numba = importlib.import_module("numba")
    namespace: dict[str, Any] = {"np": np, "HALF": HALF, "BATCH_CELLS": BATCH_CELLS, "__name__": __name__}
    for function in (_add, _add_at, _fold, _side_by_side, _widen, _take_better, _best_boxes, _pick):
        copy = types.FunctionType(function.__code__, namespace, function.__name__)
        namespace[function.__name__] = numba.njit(copy, error_model="numpy", no_cpython_wrapper=True)
    outermost = compiled.outermost(types.FunctionType(_search_periods.__code__, namespace, _search_periods.__name__), folder)
    cells = np.zeros(8, dtype=np.float32)
    outermost(cells, cells, 2, 2, 1, 1.0, np.zeros((1, 1, 3)))
    return outermost


def _search_periods(weighted: Floats, weight: Floats, first: int, last: int, longest: int, apart: float, found: Doubles) -> None:
    """Fold at every period of first..last cells and fill found[period - first, rank] = (S/N squared, width in cells, row).

    `longest`: the widest box in cells. Rows nearer than 3 widths, or `apart` of the period, to a better one are its shifted copies.
    What is not filled stays as it was. S/N squared keeps its sign: high throughput is negative.
    """
    room = np.empty((2, 2 * (weight.size + last)), dtype=np.float32)
    batches = np.empty((7, max(BATCH_CELLS, 8 * (last + longest))), dtype=np.float32)
    for period in range(first, last + 1):
        rows = max(2, -(-weight.size // period))
        at = _fold(weighted, weight, room, rows, period)
        best = np.empty(rows, dtype=np.float32)
        width = np.empty(rows, dtype=np.int64)
        _best_boxes(room[at, : 2 * rows * period], batches, longest, best, width)
        _pick(best, width, apart * (rows - 1) * period, found[period - first])


def _fold(weighted: Floats, weight: Floats, room: Floats, rows: int, period: int) -> int:
    """Fold into room[at] and return `at`: row s holds both sums, cell by cell, at a drift of s cells over all rows.

    Level by level two neighbouring blocks of rows become one. In it row s is row s of the first block scaled to its size, and such a
    row of the second, advanced by what is missing to s.
    """
    room[0] = 0
    for i in range(weight.size):
        room[0, 2 * i] = weighted[i]
        room[0, 2 * i + 1] = weight[i]
    level = 0
    while 2 << level < rows:
        level += 1
    at = 0
    long = 2 * period
    while level >= 0:
        values, to = room[at], room[1 - at]
        for block in range(1 << level):
            begin, middle, end = rows * block >> level, rows * (2 * block + 1) >> (level + 1), rows * (block + 1) >> level
            if end - begin < 2:  # nothing to add
                to[begin * long : end * long] = values[begin * long : end * long]
                continue
            last = end - begin - 1
            for drift in range(last + 1):
                head = (begin + (2 * drift * (middle - begin - 1) + last) // (2 * last)) * long
                of_tail = (2 * drift * (end - middle - 1) + last) // (2 * last)
                tail = (middle + of_tail) * long
                out = (begin + drift) * long
                cut = (drift - of_tail) % period * 2
                _add_at(values, head, tail + cut, to, out, long - cut)
                _add_at(values, head + long - cut, tail, to, out + long - cut, cut)
        at = 1 - at
        level -= 1
    return at


def _add_at(values: Floats, left: int, right: int, to: Floats, out: int, count: int) -> None:
    """Add two pieces of `values`. Unsigned places cannot count from the end: without that doubt the loop works on many at a time."""
    left_at, right_at, out_at = np.uint64(left), np.uint64(right), np.uint64(out)
    for i in range(np.uint64(count)):
        to[out_at + i] = values[left_at + i] + values[right_at + i]


def _add(left: Floats, right: Floats, to: Floats) -> None:
    for i in range(right.size):
        to[i] = left[i] + right[i]


def _best_boxes(profiles: Floats, room: Floats, longest: int, best: Floats, width: Integers) -> None:
    """Fill (S/N squared, width) of the best box of each profile; they lie one after another, both sums of a cell side by side.

    A batch of profiles is searched at once, cell i of all of them side by side: then every loop is long, however short the period.
    Boxes are sums of two narrower ones, so that no rounding adds up.
    """
    rows = best.size
    period = profiles.size // (2 * rows)
    most = room.shape[1] // (period + longest)
    for first in range(0, rows, most):
        batch = min(most, rows - first)
        size = (period + longest) * batch
        boxes, narrower, other, value = room[0:2], room[2:4], room[4:6], room[6]
        _side_by_side(profiles[2 * first * period : 2 * (first + batch) * period], batch, longest, boxes)
        best[first : first + batch] = -np.inf
        _take_better(boxes, period, batch, 1, value, best[first : first + batch], width[first : first + batch])
        k = 2
        while k <= longest:
            # A box of 2 m cells is two of m; one of 3 m is that and one of m.
            _widen(boxes, boxes, k // 2 * batch, size - (k - 1) * batch, other)
            boxes, narrower, other = other, boxes, narrower
            _take_better(boxes, period, batch, k, value, best[first : first + batch], width[first : first + batch])
            if k // 2 * 3 <= longest:
                _widen(boxes, narrower, k * batch, size - (k // 2 * 3 - 1) * batch, other)
                _take_better(other, period, batch, k // 2 * 3, value, best[first : first + batch], width[first : first + batch])
            k *= 2


def _side_by_side(profiles: Floats, batch: int, longest: int, boxes: Floats) -> None:
    """Write cell i of profile r to place i * batch + r of either sum, and the first `longest` cells once more at the end."""
    period = profiles.size // (2 * batch)
    for row in range(batch):
        profile = profiles[2 * row * period : 2 * (row + 1) * period]
        for i in range(period):
            boxes[0, i * batch + row] = profile[2 * i]
            boxes[1, i * batch + row] = profile[2 * i + 1]
    for part in range(2):
        boxes[part, period * batch : (period + longest) * batch] = boxes[part, : longest * batch]


def _widen(boxes: Floats, more: Floats, by: int, size: int, to: Floats) -> None:
    for part in range(2):
        _add(boxes[part, :size], more[part, by : by + size], to[part, :size])


def _take_better(boxes: Floats, period: int, batch: int, of_width: int, value: Floats, best: Floats, width: Integers) -> None:
    """Compare the boxes of one width at all phases with the best so far."""
    weighted, weight = boxes[0, : period * batch], boxes[1, : period * batch]
    for i in range(period * batch):
        value[i] = -weighted[i] * abs(weighted[i]) / max(weight[i], HALF)
    phases = period
    while phases > 1:  # by halves, as then many are compared at a time
        half = phases // 2
        left, right = value[: half * batch], value[(phases - half) * batch : phases * batch]
        for i in range(half * batch):
            left[i] = max(left[i], right[i])
        phases -= half
    for row in range(batch):
        if value[row] > best[row]:
            best[row] = value[row]
            width[row] = of_width


def _pick(best: Floats, width: Integers, apart: float, found: Doubles) -> None:
    """Take the best rows in turn; each hides its neighbours, which are shifted copies of it. `best` is used up."""
    for rank in range(found.shape[0]):
        row = int(np.argmax(best))
        if best[row] == -np.inf:
            return
        found[rank, 0] = best[row]
        found[rank, 1] = width[row]
        found[rank, 2] = row
        reach = int(max(3.0 * width[row], apart))
        best[max(0, row - reach) : row + reach + 1] = -np.inf
