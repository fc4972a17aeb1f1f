"""What changed between two texts of one file: hunks of lines, found in one pass and in little memory.

Lines are compared by position first, which is all that is needed while rows only change their numbers. Where rows came or went, the
lines of that block are aligned by their first word (the NID, the counter's name), so that one new peer costs one line, not the rest of
the table.
"""

import io
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, islice
from operator import add
from typing import NamedTuple

BLOCK_LINES = 4096
ITEM_BYTES = {"B": 1, "H": 2, "I": 4}
ONE = {typecode: (1).to_bytes(size, "little") for typecode, size in ITEM_BYTES.items()}


class Hunks(NamedTuple):
    """Changes from an old list of lines to a new one. Three arrays of equal length, and the new lines themselves (ends kept), in order."""

    kept: list[int]  # old lines kept as they are before this hunk
    removed: list[int]  # old lines left out here
    added: list[int]  # new lines put in their place
    lines: list[bytes]


def hunks_between(old: bytes, new: bytes) -> Hunks | None:
    """Return what turns the lines of `old` into those of `new`, or None where more than three quarters of `new` would be in it.

    Only blocks of lines, and the changed ones, are held besides the two texts.
    """
    bytes_left = len(new) * 3 // 4
    old_lines, new_lines = io.BytesIO(old), io.BytesIO(new)
    found = Hunks([], [], [], [])
    before: list[bytes] = []
    after: list[bytes] = []
    kept = 0
    while True:
        before += islice(old_lines, BLOCK_LINES - len(before))
        after += islice(new_lines, BLOCK_LINES - len(after))
        if not before and not after:
            return found
        added_before = len(found.lines)
        changed = _changed_in_place(before, after)
        if changed is not None:
            kept = _add_changed(found, after, changed, kept)
            before, after = [], []
        else:
            kept = _align(found, before, after, kept)
        bytes_left -= sum(map(len, islice(found.lines, added_before, None)))
        if bytes_left < 0:
            return None


def _align(found: Hunks, before: list[bytes], after: list[bytes], kept: int) -> int:
    """Add the hunks of two blocks and take out of them what is done with; return the number of lines kept since the last hunk."""
    last = len(before) < BLOCK_LINES and len(after) < BLOCK_LINES
    pairs = _pairs(before, after)
    if not last and pairs:  # what follows the last pair may find its partner in the next block
        end_before, end_after = pairs[-1][0] + 1, pairs[-1][1] + 1
    else:
        end_before, end_after = len(before), len(after)
    kept = _add_aligned(found, before[:end_before], after[:end_after], pairs, kept)
    del before[:end_before], after[:end_after]
    return kept


def _changed_in_place(before: list[bytes], after: list[bytes]) -> list[int] | None:
    """Return the positions of the lines that differ, or None where lines came or went: another number of lines or other first words."""
    if len(before) != len(after):
        return None
    changed = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    if all(before[i].split(None, 1)[:1] == after[i].split(None, 1)[:1] for i in changed):
        return changed
    return None


def _add_changed(found: Hunks, after: list[bytes], changed: list[int], kept: int) -> int:
    """Add one hunk per changed line; return the number of lines kept since the last hunk."""
    position = -kept
    for i in changed:
        found.kept.append(i - position)
        position = i + 1
    found.removed.extend([1] * len(changed))
    found.added.extend([1] * len(changed))
    found.lines.extend([after[i] for i in changed])
    return len(after) - position


def _pairs(before: list[bytes], after: list[bytes]) -> list[tuple[int, int]]:
    """Return the pairs of positions of lines that begin with the same word, both rising."""
    position = {key: j for j, key in enumerate(_keys(after))}
    return _longest_rising([(i, position[key]) for i, key in enumerate(_keys(before)) if key in position])


def _keys(lines: list[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield each line's first word and how often it came before: a NID has one row per CPT."""
    seen: dict[bytes, int] = {}
    for line in lines:
        word = b"".join(line.split(None, 1)[:1])
        count = seen[word] = seen.get(word, -1) + 1
        yield word, count


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of the pairs whose second numbers rise as well (patience sorting): rows that kept their order."""
    ends: list[int] = []  # least last second number of a rising part of each length
    last_of: list[int] = []  # index of the pair that ends there
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        previous.append(last_of[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        last_of[length : length + 1] = [index]
    chosen: list[tuple[int, int]] = []
    index = last_of[-1] if last_of else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = previous[index]
    return chosen[::-1]


def _add_aligned(found: Hunks, before: list[bytes], after: list[bytes], pairs: list[tuple[int, int]], kept: int) -> int:
    """Add the hunks between and at the pairs; return the number of lines kept since the last hunk."""
    i = j = 0
    for pair_i, pair_j in pairs:
        if pair_i > i or pair_j > j:
            _add_hunk(found, kept, pair_i - i, after[j:pair_j])
            kept = 0
        if before[pair_i] == after[pair_j]:
            kept += 1
        else:
            _add_hunk(found, kept, 1, [after[pair_j]])
            kept = 0
        i, j = pair_i + 1, pair_j + 1
    if i < len(before) or j < len(after):
        _add_hunk(found, kept, len(before) - i, after[j:])
        kept = 0
    return kept


def _add_hunk(found: Hunks, kept: int, removed: int, lines: list[bytes]) -> None:
    found.kept.append(kept)
    found.removed.append(removed)
    found.added.append(len(lines))
    found.lines.extend(lines)


def pack_numbers(numbers: list[int], typecode: str) -> bytes:
    """Return the numbers as little-endian unsigned integers of 1 (B), 2 (H) or 4 (I) bytes."""
    packed = array(typecode, numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack_numbers(data: bytes, typecode: str) -> list[int]:
    """Return the numbers that pack_numbers() wrote."""
    packed = array(typecode, data)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tolist()


def typecode_for(hunks: Hunks) -> str:
    """Return the narrowest type that holds every number of the hunks."""
    largest = max(map(max, hunks[:3]), default=0) if hunks.kept else 0
    return "B" if largest < 1 << 8 else "H" if largest < 1 << 16 else "I"


def apply(lines: list[bytes], hunks: Hunks) -> list[int] | None:
    """Change `lines` in place; return the positions of the lines that changed, or None where lines came or went.

    Raises ValueError where the hunks do not fit the lines.
    """
    if sum(hunks.added) != len(hunks.lines) or sum(hunks.kept) + sum(hunks.removed) > len(lines):
        raise ValueError("the changes do not fit the text")
    if hunks.removed == hunks.added:
        return _replace(lines, hunks)
    fresh: list[bytes] = []
    position = taken = 0
    for kept, removed, added in zip(*hunks[:3], strict=True):
        fresh += lines[position : position + kept]
        fresh += hunks.lines[taken : taken + added]
        position += kept + removed
        taken += added
    lines[:] = fresh + lines[position:]
    return None


def replace_each(lines: list[bytes], kept: list[int], fresh: list[bytes]) -> list[int]:
    """Change `lines` in place by hunks of one line each; `kept`: lines before each hunk. Return their positions.

    Raises ValueError where the hunks do not fit the lines.
    """
    changed = list(map(add, accumulate(kept), range(len(kept))))
    if len(fresh) != len(changed) or (changed and changed[-1] >= len(lines)):
        raise ValueError("the changes do not fit the text")
    for position, line in zip(changed, fresh, strict=True):
        lines[position] = line
    return changed


def _replace(lines: list[bytes], hunks: Hunks) -> list[int]:
    if hunks.added.count(1) == len(hunks.added):
        return replace_each(lines, hunks.kept, hunks.lines)
    changed: list[int] = []
    position = 0
    for kept, count in zip(hunks.kept, hunks.added, strict=True):
        position += kept
        changed += range(position, position + count)
        position += count
    for position, line in zip(changed, hunks.lines, strict=True):
        lines[position] = line
    return changed
