"""What a number was in the last ticks: the line that is drawn behind each row, kept small for 10,000 of them."""

import math
from array import array
from collections import deque
from collections.abc import Iterable, Sequence

DEPTH = 60
_SLACK = 1000

Key = tuple[str, ...]


class Trail:
    """The levels of many rows in the last `depth` ticks: one array of floats a tick, so that 10,000 rows take 40 KB each."""

    def __init__(self, depth: int = DEPTH) -> None:
        self._index: dict[Key, int] = {}
        self._ticks: deque[array[float]] = deque(maxlen=depth)

    def push(self, levels: Iterable[tuple[Key, float | None]]) -> None:
        """Add a tick. Rows that it does not name have no level in it."""
        index = self._index
        tick = array("f", [math.nan]) * len(index)
        count = 0
        for key, level in levels:
            count += 1
            at = index.get(key)
            if at is None:
                at = index[key] = len(index)
                tick.append(math.nan)
            if level is not None:
                tick[at] = level
        self._ticks.append(tick)
        if len(index) > 2 * count + _SLACK:
            self._forget()

    def of(self, key: Key, last: int) -> list[float | None]:
        """Return the last `last` levels of a row, oldest first; None where it had none."""
        at = self._index.get(key)
        if at is None:
            return []
        ticks = list(self._ticks)[-last:] if last else []
        levels = [tick[at] if at < len(tick) else math.nan for tick in ticks]
        return [None if math.isnan(level) else level for level in levels]

    def _forget(self) -> None:
        """Drop rows that had no level in any tick that is kept: peers that went."""
        kept = {key: at for key, at in self._index.items() if any(at < len(tick) and not math.isnan(tick[at]) for tick in self._ticks)}
        self._ticks = deque(
            (array("f", (tick[at] if at < len(tick) else math.nan for at in kept.values())) for tick in self._ticks), self._ticks.maxlen
        )
        self._index = {key: at for at, key in enumerate(kept)}


BARS = "▁▂▃▄▅▆▇█"
BARS_ASCII = "_.-:=+*#"
SHORT = "!"


def spark(levels: Sequence[float | None], width: int, *, top: float | None, bars: str = BARS) -> str:
    """Return the levels as a line of `width` characters, the newest at the right.

    `top`: the level of a full bar, None for the greatest of these levels. A level below zero (credits that ran out) is "!", none a blank.
    """
    shown = list(levels[-width:]) if width > 0 else []
    known = [level for level in shown if level is not None]
    full = (max(known, default=0.0) if top is None else top) or 1.0
    line = "".join(_bar(level, full, bars) for level in shown)
    return line.rjust(max(0, width))


def _bar(level: float | None, full: float, bars: str) -> str:
    if level is None:
        return " "
    if level < 0:
        return SHORT
    return bars[max(0, min(len(bars) - 1, math.ceil(level / full * len(bars)) - 1))]
