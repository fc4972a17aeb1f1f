"""The rows of a series, whatever file they came from: which columns there are, and which rows cannot be meant."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.errors import SourceError

NUMBERS = ("time", "value", "ping_rate", "tx", "tx_min", "queue_bytes")
COLUMNS = (*NUMBERS, "source")
LATEST_S = 9e9  # year 2255, the end of 64-bit nanoseconds: larger numbers are milliseconds or nanoseconds
LONGEST_S = 3.2e8  # ten years: a stamp further from the middle one than this is a slip
MOST_CREDITS = 1e15  # larger ones fit no integer
FEW_CORRECTED = 0.01  # of the rows that come again: an export may correct its last ones; more other values are no copies
FEW_STEPS_BACK = 0.01  # of the rows: a clock that was set back; more are rows in no order, each with a stamp of its own
LARGEST = 1e30  # no rate, counter or credit is larger, and sums of squares stay far from the end of float64


class Skipped(NamedTuple):
    """Rows that are left out: how many, and the first one's line with what was wrong with it."""

    rows: int
    line: int
    why: str


def sifted(table: pd.DataFrame) -> tuple[pd.DataFrame, Skipped | None]:
    """Return (rows with a usable time and numbers of a usable size, what was left out). The index is the line."""
    if table.empty:
        return table, None
    time = table["time"]
    middle = float(time[time.abs() <= LATEST_S].median())
    tests = [
        (~np.isfinite(time), "no time: expected seconds since the epoch"),
        (time.abs() > LATEST_S, "time {time:.0f}: expected seconds since the epoch, not milli- or nanoseconds (--time-unit names others)"),
        ((time - middle).abs() > LONGEST_S, "time {time:.14g}: ten years and more from the other rows"),
        *(
            (
                table[name].abs() > (MOST_CREDITS if name in ("tx", "tx_min") else LARGEST),
                name + " is {" + name + ":g}: no such number is real",
            )
            for name in NUMBERS[1:]
            if name in table
        ),
    ]
    usable = ~np.logical_or.reduce([mask.to_numpy(bool) for mask, _ in tests])
    tests.append((_again(table[usable]).reindex(table.index, fill_value=False), "time {time:.14g} stands there already"))
    bad = np.logical_or.reduce([mask.to_numpy(bool) for mask, _ in tests])
    if not bad.any():
        return table, None
    first = int(bad.argmax())
    why = next(words for mask, words in tests if mask.iloc[first])
    return table[~bad], Skipped(
        int(bad.sum()), int(table.index[first]), why.format(**{str(name): field for name, field in table.iloc[first].items()})
    )


def without(table: pd.DataFrame, faults: dict[int, str]) -> tuple[pd.DataFrame, Skipped | None]:
    """Return (the rows whose position has no fault, what was left out)."""
    if not faults:
        return table, None
    first = min(faults)
    kept: npt.NDArray[np.bool_] = np.ones(len(table), dtype=bool)
    kept[list(faults)] = False
    return table[kept], Skipped(len(faults), int(table.index[first]), faults[first])


def finished(path: str, table: pd.DataFrame, left_out: list[Skipped | None], *, place: str = "line") -> pd.DataFrame:
    """Return the table with rows counted from 0 and what was skipped told in `attrs["problems"]`: one line of text or none.

    Where times overlap so that no order of the rows is right, `attrs["cannot_tell"]` says why.
    `place`: what the index counts, as a file's reader calls it. Raises SourceError where no row is good.
    """
    found = [each for each in left_out if each is not None]
    if table.empty and not found:
        names = ",".join(name for name in COLUMNS if name in table)
        raise SourceError(f"{path}: no samples after the header: expected rows of {names}")
    problems = []
    if found:
        first, skipped = min(found, key=lambda each: each.line), sum(each.rows for each in found)
        if table.empty:
            raise SourceError(f"{path}: {place} {first.line}: {first.why}")
        total = skipped + len(table)
        rest = f"{skipped:,} of {total:,} rows like this or otherwise bad were skipped"
        problems = [f"{path}: {place} {first.line}: {first.why}; {rest}"]
    line = None if table.empty else _set_back(table)
    table = table.reset_index(drop=True)
    table.attrs["problems"] = problems
    if line is not None:
        table.attrs["cannot_tell"] = (
            f"times step back at {place} {line} and run through the same stretch again: a clock that was set back, or two series "
            "in one: tell them apart by a column source, or cut the file there"
        )
    return table


def _set_back(table: pd.DataFrame) -> int | None:
    """Return the line at which the times step back to run through the same stretch again; None where they do not.

    Rows in another order, or pieces of a record in the wrong order, are only sorted: their stretches do not lie over each other.
    """
    for _, rows in table.groupby("source", sort=False) if "source" in table else [("", table)]:
        time = rows["time"].to_numpy(np.float64)
        back = np.flatnonzero(np.diff(time) < 0) + 1
        if not 0 < back.size <= FEW_STEPS_BACK * time.size:
            continue
        stretch = np.searchsorted(back, np.arange(time.size), side="right")
        changes = int(np.count_nonzero(np.diff(stretch[np.argsort(time, kind="stable")])))
        if changes > 10 * (back.size + 1):  # pieces that only touch at their ends change once or twice each
            return int(rows.index[back[0]])
    return None


def _again(table: pd.DataFrame) -> "pd.Series[bool]":
    """Mark rows whose source has a row of the same time before; none where a whole stretch comes again with other values.

    Such rows are no copies but what was measured after a clock was set back: `finished` tells so, and none of them is thrown away.
    """
    again = table.duplicated(["time", "source"] if "source" in table else ["time"])
    others = int((again & ~table.duplicated()).sum())
    if others > max(1, FEW_CORRECTED * int(again.sum())) and _set_back(table) is not None:
        return pd.Series(False, index=table.index)
    return again
