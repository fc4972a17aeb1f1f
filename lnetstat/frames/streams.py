"""Many samples of one regular text taken apart at once: of each only the lines that changed, and what they hold is laid into columns.

Every doubt (a line of another shape, a number that is none) is left to the table's own parser, sample by sample, which is the reference
for what is found here.
"""

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lnetstat.frames import kernels
from lnetstat.frames.columns import Array, Column, Labels, Numbers, Values
from lnetstat.frames.shapes import MOST_DIGITS, NO_ROW, STATES, Shape, ShapedLine, shaped
from lnetstat.model import Snapshot
from lnetstat.recording import Change
from lnetstat.tables._rows import LONGEST_LINE
from lnetstat.tables._times import nanoseconds

MOST_LINES = 200_000  # changed lines that wait, some 100 bytes each
MOST_ROWS = 1_000_000  # of all samples that wait
# What a table's parser takes for white space or leaves out of numbers, and this one does not look at.
_MARKS = (b"|", b"\r", b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e", b"\x1f")
_DIGITS, _NUMBERS = b"0123456789 ", b"0123456789- "
_NEGATIVE = re.compile(rb"(?:^| )-[0-9]")
SAFE_NUMBER = 10**18

Places = npt.NDArray[np.int64]


class UnfitError(Exception):
    """The lines do not say what their shapes do."""


class Waiting(NamedTuple):
    """One sample of which only the changed lines are known, and its place among all samples."""

    order: int
    snapshot: Snapshot
    positions: list[int]
    lines: list[bytes]


class Block(NamedTuple):
    """Samples of one text, laid out. `columns`: by name the values of all rows of all samples, sample by sample; `facts` of each sample."""

    columns: dict[str, Values]
    facts: list[dict[str, int]]


class Stream:
    """The samples of one regular text that wait to be taken apart."""

    def __init__(self, lines: list[bytes], shapes: list[ShapedLine | None], columns: dict[str, Column], base: dict[str, Values]) -> None:
        self.lines = lines  # of the sample before those that wait
        self.waiting: list[Waiting] = []
        self.is_lost = False  # the sample before was of another kind
        self._columns, self._base = columns, base
        self._words = [() if each is None else each.words for each in shapes]
        self._row_count = len(next(iter(base.values())).values)
        self._line_count = 0
        self._rows = np.array([NO_ROW if each is None else each.row for each in shapes], np.int64)
        self._kinds = list(dict.fromkeys(each.shape for each in shapes if each is not None))
        number = {shape: at for at, shape in enumerate(self._kinds)}
        self._kind = np.array([NO_ROW if each is None else number[each.shape] for each in shapes], np.int64)
        self._facts: dict[str, int] = {}
        self._usual: kernels.Words | None = None

    @classmethod
    def begun(
        cls, table: str, lines: list[bytes], columns: dict[str, Column], base: list[Values], facts: Mapping[str, object]
    ) -> "Stream | None":
        """Return the stream of a text that was parsed to `base` and `facts`; None where taking it apart here does not give the same."""
        shapes = shaped(table, lines)
        if shapes is None or not base or sum(each is not None and each.row != NO_ROW for each in shapes) != len(base[0].values):
            return None
        stream = cls(lines, shapes, columns, dict(zip(columns, base, strict=True)))
        at = [place for place, each in enumerate(shapes) if each is not None]
        try:
            found, told = stream._taken_apart(np.array(at, np.int64), [lines[place] for place in at])
        except UnfitError:
            return None
        is_row = stream._rows[at] != NO_ROW
        if not all(_same(stream._base[name], _at(values, is_row)) for name, values in found.items()):
            return None
        stream._facts = {fact: value for fact, value in told if fact != "elapsed_time"}
        return stream if stream._facts == facts else None

    @property
    def is_full(self) -> bool:
        return self._line_count > MOST_LINES or len(self.waiting) * self._row_count > MOST_ROWS

    def put(self, order: int, change: Change) -> None:
        """Have a sample wait, of which `change.changed` is known."""
        snapshot, lines, changed = change
        positions = changed or []
        # As Waiting() does, in half the time.
        self.waiting.append(tuple.__new__(Waiting, (order, snapshot, positions, [lines[at] for at in positions])))
        self._line_count += len(positions)

    def block(self, count: int) -> Block:
        """Return the first samples that wait, laid out; they wait no longer. Raises UnfitError: then nothing has changed."""
        if self.is_lost:
            raise UnfitError
        waiting = self.waiting[:count]
        positions = list(chain.from_iterable(each.positions for each in waiting))
        lines = list(chain.from_iterable(each.lines for each in waiting))
        places = np.array(positions, np.int64)
        found, told = self._taken_apart(places, lines)
        sample = np.repeat(np.arange(count), [len(each.positions) for each in waiting])
        rows = self._rows[places]
        is_row = rows != NO_ROW
        grid = _Grid(count, self._row_count, sample[is_row], rows[is_row])
        columns = {}
        for name, base in self._base.items():
            columns[name] = grid.laid_out(base, None if name not in found else _at(found[name], is_row))
            self._base[name] = _at(columns[name], np.arange(-self._row_count, 0))  # a copy, which keeps nothing else alive
        facts = self._facts_of(sample[~is_row], told, count)
        for at, line in dict(zip(positions, lines, strict=True)).items():  # the last one of each place
            self.lines[at] = line
        del self.waiting[:count]
        self._line_count -= len(lines)
        return Block(columns, facts)

    def take_over(self, other: "Stream") -> None:
        """Have the samples wait here that waited there."""
        self.waiting, self._line_count = other.waiting, other._line_count

    def text_of_next(self) -> tuple[Waiting, str]:
        """Return the first sample that waits, and its whole text; it waits no longer."""
        first = self.waiting.pop(0)
        for at, line in zip(first.positions, first.lines, strict=True):
            self.lines[at] = line
        self._line_count -= len(first.lines)
        return first, b"".join(self.lines).decode("utf-8", "surrogateescape")

    def _facts_of(self, sample: Places, told: list[tuple[str, int]], count: int) -> list[dict[str, int]]:
        """Return the facts of each sample; `told`: what the lines that are no rows say, `sample`: of which sample they are."""
        if not told:
            return [dict(self._facts)] * count
        facts, number = [], 0
        for at, (fact, value) in zip(sample.tolist(), told, strict=True):
            facts += [dict(self._facts)] * (at - number)
            number = at
            if fact != "elapsed_time":
                self._facts[fact] = value
        return facts + [dict(self._facts)] * (count - number)

    def _taken_apart(self, places: Places, lines: list[bytes]) -> tuple[dict[str, Values], list[tuple[str, int]]]:
        """Return by column what the lines at these places hold, one value for each, and (fact, value) of those that are no rows.

        A column that a line does not have has there the value that it always had in that row.
        """
        kinds = self._kind[places]
        if (kinds < 0).any():
            raise UnfitError
        _check_text(lines)
        found: dict[str, Values] = {}
        told: list[tuple[int, str, int]] = []
        for number in np.unique(kinds).tolist():
            shape = self._kinds[number]
            chosen = np.flatnonzero(kinds == number)
            own_lines = lines if len(chosen) == len(lines) else [lines[at] for at in chosen.tolist()]
            own = places[chosen]
            if shape.fact:
                words = self._words_of(shape, own_lines, own.tolist())
                told += zip(chosen.tolist(), [shape.fact] * len(own), words.times(self._words[own[0]][-1]), strict=True)
                continue
            for name, values in self._columns_of(shape, own_lines, own).items():
                if name not in found:
                    found[name] = _at(self._base[name], self._rows[places])  # where there is no row, that of any
                found[name] = _put(found[name], chosen, values)
        return found, [(fact, value) for _, fact, value in sorted(told)]

    def _columns_of(self, shape: Shape, lines: list[bytes], places: Places) -> dict[str, Values]:
        """Return by column what lines of one shape hold."""
        quick = self._read_quickly(shape, lines, places)
        if quick is not None:
            return quick
        words = self._words_of(shape, lines, places.tolist())
        return {name: self._values(words, at, name) for at, name in (*shape.numbers, *shape.labels)}

    def _read_quickly(self, shape: Shape, lines: list[bytes], places: Places) -> dict[str, Values] | None:
        """Return the same by compiled code; None where there is none, or where a line is not plain."""
        if not kernels.is_worth_it(len(lines)) or not all(isinstance(self._columns[name], Numbers) for _, name in shape.numbers):
            return None
        if self._usual is None:
            self._usual = kernels.Words(self._words)
        read = self._usual.read(shape, b"".join(lines), places)
        if read is None:
            return None
        found = {name: Values(read[at], None) for at, name in shape.numbers}
        for at, name in shape.labels:
            column, (numbers, places_of) = self._columns[name], np.unique(read[at], return_inverse=True)
            words = [kernels.label(number) for number in numbers.tolist()]
            if not isinstance(column, Labels) or not STATES[name].issuperset(words):
                return None
            found[name] = _at(column.convert([word.decode() for word in words]), places_of)
        return found

    def _words_of(self, shape: Shape, lines: list[bytes], places: list[int]) -> "_Words":
        words = _Words(shape, lines)
        if not all(words.are(at, [self._words[place][at] for place in places]) for at in shape.fixed):
            raise UnfitError
        return words

    def _values(self, words: "_Words", at: int, name: str) -> Values:
        column = self._columns[name]
        if isinstance(column, Labels):
            return column.convert(words.labels(at, STATES[name]))
        if not isinstance(column, Numbers):
            raise UnfitError
        numbers, text = words.numbers(at)
        found = _parsed(text, len(numbers))
        if found is not None:
            return Values(found, None)
        try:
            return column.convert(list(map(int, numbers)))
        except ValueError as error:
            raise UnfitError from error


def _parsed(text: bytes, count: int) -> Places | None:
    """Return so many numbers, parted by spaces; None where not all of them are plain and far from the bounds of 64 bits."""
    if b"-" in text and text.count(b"-") != len(_NEGATIVE.findall(text)):
        return None
    found = np.fromstring(text, np.int64, sep=" ")  # which stops at the bounds, in place of an error
    is_plain = found.size == count and count > 0 and found.min() > -SAFE_NUMBER and found.max() < SAFE_NUMBER
    return found if is_plain else None


def _check_text(lines: list[bytes]) -> None:
    text = b"".join(lines)
    if not text.isascii() or text.count(b"\n") != len(lines) or any(mark in text for mark in _MARKS):
        raise UnfitError
    if max(map(len, lines), default=0) > LONGEST_LINE:
        raise UnfitError


class _Words:
    """The words of lines of one shape."""

    def __init__(self, shape: Shape, lines: list[bytes]) -> None:
        self._shape, self._count, self._step = shape, len(lines), shape.width + 1
        self._all = b"| ".join(lines).split()  # every line is one word longer, so that none can lend another one its words
        if len(self._all) != self._count * self._step - 1 or self._all[shape.width :: self._step].count(b"|") != self._count - 1:
            raise UnfitError

    def are(self, at: int, usual: list[bytes]) -> bool:
        """Whether the words at this place of each line are these."""
        return self._all[at :: self._step] == usual

    def numbers(self, at: int) -> tuple[list[bytes], bytes]:
        """Return the words at this place of each line, of which none holds anything but digits and signs, and all in one."""
        words = self._all[at :: self._step]
        joined = b" ".join(words)
        if joined.translate(None, _DIGITS if at in self._shape.unsigned else _NUMBERS):
            raise UnfitError
        if self._shape.short and max(map(len, words)) > MOST_DIGITS:  # a sign and as many digits is left to the table's parser
            raise UnfitError
        return words, joined

    def labels(self, at: int, known: frozenset[bytes]) -> list[str]:
        words = self._all[at :: self._step]
        different = {word: word.decode() for word in dict.fromkeys(words)}
        if not different.keys() <= known:
            raise UnfitError
        return list(map(different.__getitem__, words))

    def times(self, unit: bytes) -> list[int]:
        try:
            return [nanoseconds(word.decode(), unit.decode()) for word in self._all[1 :: self._step]]
        except ValueError as error:
            raise UnfitError from error


class _Grid:
    """Which of the changed values stands where, in `count` samples of `row_count` rows: each until it changes again."""

    def __init__(self, count: int, row_count: int, sample: Places, rows: Places) -> None:
        self._count, self._rows = count, rows
        latest = np.zeros((count, row_count), np.intp)
        latest[0] = np.arange(row_count)
        latest[sample, rows] = row_count + np.arange(rows.size)
        self._latest = np.maximum.accumulate(latest, axis=0).ravel()

    def laid_out(self, base: Values, changed: Values | None) -> Values:
        """Return a column; `base`: its values in all rows before the first sample, `changed`: those at the changes."""
        if changed is None or _same(_at(base, self._rows), changed):
            return Values(np.tile(base.values, self._count), None if base.missing is None else np.tile(base.missing, self._count))
        values = np.concatenate((base.values, changed.values)).take(self._latest)
        if base.missing is None and changed.missing is None:
            return Values(values, None)
        return Values(values, np.concatenate((_missing(base), _missing(changed))).take(self._latest))


def _at(column: Values, places: Any) -> Values:
    return Values(column.values[places], None if column.missing is None else column.missing[places])


def _missing(column: Values) -> Array:
    return np.zeros(len(column.values), np.bool_) if column.missing is None else column.missing


def _same(one: Values, other: Values) -> bool:
    if not np.array_equal(one.values, other.values):
        return False
    return (one.missing is None and other.missing is None) or np.array_equal(_missing(one), _missing(other))


def _put(column: Values, places: Places, fresh: Values) -> Values:
    """Put fresh values at these places of a column of our own; return it."""
    if len(fresh.values) == len(column.values):
        return fresh
    missing = column.missing if fresh.missing is None and column.missing is None else _missing(column)
    column.values[places] = fresh.values
    if missing is not None:
        missing[places] = _missing(fresh)
    return Values(column.values, missing)
