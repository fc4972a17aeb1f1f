"""Columns that grow, sample by sample, until they become those of a DataFrame."""

import types
import typing
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.model import Table

ROWS_AT_FIRST = 256
Array = npt.NDArray[Any]
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


class Growing:
    """A growing array of one dtype.

    It grows by an eighth. Large arrays have pages of their own, which realloc() moves without copying: so it neither takes twice its room
    nor copies its values, as a list of arrays that is joined at the end does.
    """

    def __init__(self, dtype: type) -> None:
        self._values: Array = np.empty(ROWS_AT_FIRST, dtype)
        self._used = 0

    def extend(self, values: Array) -> None:
        """Append a copy of the values."""
        end = self._used + len(values)
        if end > len(self._values):
            self._values.resize(end + end // 8, refcheck=False)
        self._values[self._used : end] = values
        self._used = end

    def finish(self) -> Array:
        """Return all values, at their exact length, and let go of them."""
        values, self._values = self._values, np.empty(0, self._values.dtype)
        values.resize(self._used, refcheck=False)
        self._used = 0
        return values


class Values(NamedTuple):
    """One column of one sample. `missing` is None where nothing is missing; `values` are then all valid."""

    values: Array
    missing: Array | None


class Numbers:
    """A column of whole numbers: int64, or nullable Int64 where its row type allows None or a number did not fit."""

    def __init__(self, *, nullable: bool) -> None:
        self._nullable = nullable
        self._values = Growing(np.int64)
        self._missing = Growing(np.bool_) if nullable else None
        self._rows = 0

    def convert(self, values: Sequence[int | None]) -> Values:
        """Return one sample's values; None and what does not fit into 64 bits are missing."""
        try:
            return Values(np.array(values, np.int64), None)
        except (TypeError, OverflowError):
            missing = [value is None or not INT64_MIN <= value <= INT64_MAX for value in values]
            filled = [0 if gone else value for value, gone in zip(values, missing, strict=True)]
            return Values(np.array(filled, np.int64), np.array(missing, np.bool_))

    def extend(self, column: Values) -> None:
        self._values.extend(column.values)
        if column.missing is not None and self._missing is None:
            self._missing = Growing(np.bool_)
            self._missing.extend(np.zeros(self._rows, np.bool_))
        if self._missing is not None:
            self._missing.extend(np.zeros(len(column.values), np.bool_) if column.missing is None else column.missing)
        self._rows += len(column.values)

    def finish(self, places: Array | None = None) -> Any:
        """Return all values; `places`: which of them, in this order."""
        values = _chosen(self._values.finish(), places)
        return values if self._missing is None else pd.arrays.IntegerArray(values, _chosen(self._missing.finish(), places))


class Fractions:
    """A column of float64; None is NaN."""

    def __init__(self) -> None:
        self._values = Growing(np.float64)

    def convert(self, values: Sequence[float | None]) -> Values:
        return Values(np.array(values, np.float64), None)

    def extend(self, column: Values) -> None:
        self._values.extend(column.values)

    def finish(self, places: Array | None = None) -> Any:
        return _chosen(self._values.finish(), places)


class _Codes(dict[str | None, int]):
    """Words by number, a new one as soon as it is asked for; None is -1."""

    def __missing__(self, word: str | None) -> int:
        code = self[word] = -1 if word is None else len(self) - (None in self)
        return code

    def words(self) -> list[str]:
        """Return the words by their numbers."""
        return [word for word in self if word is not None]


class Labels:
    """A column of words, kept as numbers into the list of different words."""

    def __init__(self) -> None:
        self._codes = _Codes()
        self._values = Growing(np.int32)

    def code(self, word: str | None) -> int:
        return self._codes[word]

    def convert(self, words: Sequence[str | None]) -> Values:
        return Values(np.fromiter(map(self._codes.__getitem__, words), np.int32, len(words)), None)

    def extend(self, column: Values) -> None:
        self._values.extend(column.values)

    def finish(self, places: Array | None = None) -> Any:
        """Return all words; categories stand in the order in which they first come."""
        codes = _chosen(self._values.finish(), places)
        seen = pd.unique(codes)
        seen = seen[seen >= 0]
        words = self._codes.words()
        if not np.array_equal(seen, np.arange(len(words))):
            number = np.full(len(words) + 1, -1, np.int32)  # the last is that of None
            number[seen] = np.arange(len(seen))
            codes, words = number[codes], [words[at] for at in seen.tolist()]
        return pd.Categorical.from_codes(codes, categories=pd.Index(words, dtype=str))

    def categorical(self, codes: Array) -> "pd.Categorical[str]":
        """Return the words that the codes stand for."""
        return pd.Categorical.from_codes(codes, categories=pd.Index(self._codes.words(), dtype=str))


class Objects:
    """A column of anything else, such as values that are numbers or words."""

    def __init__(self) -> None:
        self._values = Growing(object)

    def convert(self, values: Sequence[Any]) -> Values:
        column = np.empty(len(values), object)
        column[:] = values
        return Values(column, None)

    def extend(self, column: Values) -> None:
        self._values.extend(column.values)

    def finish(self, places: Array | None = None) -> Any:
        return _chosen(self._values.finish(), places)


def _chosen(values: Array, places: Array | None) -> Array:
    return values if places is None else values[places]


Column = Numbers | Fractions | Labels | Objects


def columns_of(table: Table) -> dict[str, Column]:
    """Return an empty column for each field of the table's rows, by the types that the fields declare."""
    hints = typing.get_type_hints(table.row)
    return {name: _column_for(hints[name]) for name in table.row._fields if name != "extra"}


def _column_for(hint: Any) -> Column:
    options = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union else {hint}
    nullable = type(None) in options
    match options - {type(None)}:
        case kinds if kinds == {int}:
            return Numbers(nullable=nullable)
        case kinds if kinds <= {int, float}:
            return Fractions()
        case kinds if kinds == {str}:
            return Labels()
    return Objects()
