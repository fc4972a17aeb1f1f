"""Times as files write them become seconds since the epoch: numbers of a known unit, or ISO 8601 with a zone or in a zone that was named.

Nothing is guessed: a number is in seconds unless another unit was said, and a calendar time without a zone needs the zone's name. An hour
that a clock shows twice (the end of summer time) is told apart by the order of the rows, where the order shows it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.errors import shown

UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_ZONED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].*(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)", re.ASCII)
NO_ZONE = "names no zone: give --tz, as in --tz Europe/Berlin or --tz UTC"
Floats = npt.NDArray[np.float64]


class Clock(NamedTuple):
    """What the user said of the times in a file: the zone of those that name none, and the unit of those that are numbers."""

    zone: str = ""
    unit: str = ""


AS_IT_STANDS = Clock()


class Times(NamedTuple):
    """`time_s`: seconds since the epoch, shape (n,), NaN where there is no time; `faults`: by position, what is wrong there."""

    time_s: Floats
    faults: dict[int, str]


def is_calendar(word: str) -> bool:
    """Return True where the word begins with a date such as 2026-08-14."""
    return _DATE.match(word.strip()) is not None


def from_numbers(time: npt.ArrayLike, clock: Clock) -> Floats:
    """Return numbers of the unit that was said as seconds since the epoch."""
    return np.asarray(time, dtype=np.float64) * UNITS_S[clock.unit or "s"]


def from_calendar(words: Sequence[str], clock: Clock) -> Times:
    """Return ISO 8601 times of shape (n,) as seconds since the epoch."""
    texts = [str(word).strip() for word in words]
    dated = np.array([is_calendar(text) for text in texts], dtype=bool)
    zoned = np.array([_ZONED.fullmatch(text) is not None for text in texts], dtype=bool)
    time_s = np.full(len(texts), np.nan)
    with_zone = [text for text, is_zoned in zip(texts, zoned, strict=True) if is_zoned]
    time_s[zoned] = _seconds(pd.to_datetime(with_zone, format="ISO8601", errors="coerce", utc=True))
    faults: dict[int, str] = {}
    naive = np.flatnonzero(dated & ~zoned)
    if naive.size and clock.zone:
        time_s[naive], faults = _in_zone(naive, [texts[at] for at in naive.tolist()], clock.zone)
    elif naive.size:
        faults = {at: f"time {shown(texts[at])} {NO_ZONE}" for at in naive.tolist()}
    for at in np.flatnonzero(np.isnan(time_s)).tolist():
        faults.setdefault(at, f"time is {shown(texts[at])}: expected ISO 8601 such as 2026-08-14T12:00:00Z")
    return Times(time_s, faults)


def _in_zone(places: npt.NDArray[np.int64], texts: list[str], zone: str) -> tuple[Floats, dict[int, str]]:
    """Return local times of a zone as seconds since the epoch, and by place what is wrong with those that are none or two."""
    local = pd.to_datetime(texts, format="ISO8601", errors="coerce")
    there = ~np.asarray(local.isna(), dtype=bool)
    early = _localized(local, zone, first=True)
    late = _localized(local, zone, first=False)
    twice = there & (early != late) & ~np.isnan(early)
    known, use_late = _told_apart(np.asarray(local.to_numpy("datetime64[us]").astype(np.int64)), twice)
    faults = {int(places[at]): f"time {shown(texts[at])} did not come in {zone}" for at in np.flatnonzero(there & np.isnan(early))}
    unknown = twice & ~known
    faults |= {int(places[at]): f"time {shown(texts[at])} came twice in {zone}: write it with its offset" for at in np.flatnonzero(unknown)}
    return np.where(unknown, np.nan, np.where(use_late, late, early)), faults


def _localized(local: pd.DatetimeIndex, zone: str, *, first: bool) -> Floats:
    """Return seconds since the epoch, an ambiguous hour taken as its first or second pass; NaN for times that did not come."""
    return _seconds(local.tz_localize(ZoneInfo(zone), ambiguous=np.full(local.size, first), nonexistent="NaT").tz_convert("UTC"))


def _told_apart(local_us: npt.NDArray[np.int64], twice: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return (rows of an ambiguous hour whose pass is certain, rows of the second pass).

    Where the times of a run of such rows step back exactly once, the clock was set back there; without a step nobody knows.
    """
    known, second = np.zeros(twice.size, dtype=bool), np.zeros(twice.size, dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], twice, [False])).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        back = np.flatnonzero(np.diff(local_us[start:stop]) < 0)
        if back.size == 1:
            known[start:stop] = True
            second[start + int(back[0]) + 1 : stop] = True
    return known, second


def _seconds(times: pd.DatetimeIndex) -> Floats:
    index = pd.DatetimeIndex(times)
    micros = index.tz_localize(None).to_numpy("datetime64[us]").astype(np.int64)
    return np.where(index.isna(), np.nan, micros / 1e6)
