"""The words of very many lines, read by code that numba compiles. `streams` does the same without, and rules wherever this has a doubt."""

import functools
import importlib
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lnetstat import compiled
from lnetstat.frames.shapes import Shape
from lnetstat.tables import _rows

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

WORTH_LINES = 20_000  # at once: for fewer the compiled code is not loaded
FIXED, NUMBER, UNSIGNED, LABEL = range(4)
MOST_DIGITS = 18  # so many are far from the bounds of 64 bits
MOST_LABEL_BYTES = 7  # make one number
SPACE, TAB, NEWLINE, MINUS, ZERO, NINE = b" \t\n-09"
LONGEST_LINE = _rows.LONGEST_LINE
NONE = -(1 << 63)  # no number has so many digits
FIRST_BYTE, LAST_BYTE = b"!~"  # of words


class Words:
    """The words of the lines that a text had at first, by place: those that must stay are held against them."""

    def __init__(self, words: Sequence[Sequence[bytes]]) -> None:
        self._text = np.frombuffer(b"".join(b"".join(own) for own in words), np.uint8)
        self._begin = np.zeros((len(words), max(map(len, words), default=0) + 1), np.int64)
        at = 0
        for place, own in enumerate(words):
            self._begin[place] = at
            for number, word in enumerate(own, 1):
                at += len(word)
                self._begin[place, number:] = at

    def read(self, shape: Shape, text: bytes, places: Integers) -> dict[int, Integers] | None:
        """Return by place in the line what stands there in each line: numbers, and labels as `label` takes them.

        `text` is lines of one shape, `places` where they stand. None where a line is not plain: then `streams` says what it holds.
        """
        kinds = np.full(shape.width, FIXED, np.int8)
        for at, _ in shape.numbers:
            kinds[at] = UNSIGNED if at in shape.unsigned else NUMBER
        for at, _ in shape.labels:
            kinds[at] = LABEL
        found = np.zeros((shape.width, places.size), np.int64)
        if not read_words()(np.frombuffer(text, np.uint8), places, self._text, self._begin, kinds, found):
            return None
        return {at: found[at] for at in np.flatnonzero(kinds != FIXED).tolist()}


def label(number: int) -> bytes:
    """Return the word that `Words.read` gave as this number."""
    return number.to_bytes(MOST_LABEL_BYTES, "big").lstrip(b"\0")


def is_worth_it(line_count: int) -> bool:
    """Return whether so many lines repay the loading of compiled code, if it is not there yet."""
    return compiled.available() if line_count >= WORTH_LINES else bool(read_words.cache_info().currsize)


@functools.cache
def read_words() -> Callable[..., bool]:
    """Return `_read_words` compiled. The first call on a machine compiles for some seconds; later ones find it on disk."""
    return compiled.kept("words", [__file__, _rows.__file__], _compiled)


def _compiled(folder: Path | None) -> Callable[..., bool]:
    numba = importlib.import_module("numba")
    namespace: dict[str, Any] = {name: value for name, value in globals().items() if name.isupper() or name == "__name__"}
    for function in (_past_blanks, _is_usual, _label_in, _number_in):
        copy = types.FunctionType(function.__code__, namespace, function.__name__)
        namespace[function.__name__] = numba.njit(copy, error_model="numpy", no_cpython_wrapper=True)
    outermost = compiled.outermost(types.FunctionType(_read_words.__code__, namespace, _read_words.__name__), folder)
    text, usual = np.frombuffer(b"n 1\n", np.uint8), np.frombuffer(b"n0", np.uint8)
    begin, kinds = np.array([[0, 1, 2]], np.int64), np.array([FIXED, NUMBER], np.int8)
    outermost(text, np.zeros(1, np.int64), usual, begin, kinds, np.zeros((2, 1), np.int64))
    return outermost


def _read_words(text: Bytes, places: Integers, usual: Bytes, usual_begin: Integers, kinds: npt.NDArray[np.int8], found: Integers) -> bool:
    """Fill found[word, line]; return False where a line has other words than its kinds say, or a number that is not plain."""
    at = 0
    for line in range(places.size):
        line_begin, place = at, places[line]
        for word in range(kinds.size):
            begin = end = _past_blanks(text, at)
            while end < text.size and FIRST_BYTE <= text[end] <= LAST_BYTE:
                end += 1
            at = end
            if kinds[word] == FIXED:
                if not _is_usual(text[begin:end], usual[usual_begin[place, word] : usual_begin[place, word + 1]]):
                    return False
                continue
            if kinds[word] == LABEL:
                value = _label_in(text[begin:end])
            else:
                value = _number_in(text[begin:end], kinds[word] == NUMBER)
            if value == NONE:
                return False
            found[word, line] = value
        at = _past_blanks(text, at)
        if at == text.size or text[at] != NEWLINE or at - line_begin >= LONGEST_LINE:
            return False
        at += 1
    return at == text.size


def _past_blanks(text: Bytes, at: int) -> int:
    while at < text.size and (text[at] == SPACE or text[at] == TAB):
        at += 1
    return at


def _is_usual(word: Bytes, usual: Bytes) -> bool:
    if word.size != usual.size:
        return False
    for i in range(word.size):  # noqa: SIM110 (numba compiles no all())
        if word[i] != usual[i]:
            return False
    return True


def _label_in(word: Bytes) -> int:
    if word.size == 0 or word.size > MOST_LABEL_BYTES:
        return NONE
    value = 0
    for i in range(word.size):
        value = value * 256 + int(word[i])
    return value


def _number_in(word: Bytes, may_be_negative: bool) -> int:
    is_negative = may_be_negative and word.size > 0 and word[0] == MINUS
    first = 1 if is_negative else 0
    if not 1 <= word.size - first <= MOST_DIGITS:
        return NONE
    value = 0
    for i in range(first, word.size):
        if not ZERO <= word[i] <= NINE:
            return NONE
        value = value * 10 + int(word[i]) - ZERO
    return -value if is_negative else value
