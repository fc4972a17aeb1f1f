"""The text of a `peers` table of many thousand rows, of which only the lines that changed are formatted again.

A router with 25,000 clients prints 1.9 MB, ten times a second where somebody looks that often. So the lines of the sample before are kept,
beside the columns they were made from; what the whole text looks like is a matter of lnetstat.tables.peers, and a test compares with it.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lnetstat.model import Parsed
from lnetstat.simulator.text.releases import LAST_MOST_S
from lnetstat.tables import peers

Column = NDArray[np.int64]
NS = 1_000_000_000
NOT_KEPT = -1


class PeersColumns(Protocol):
    """What is printed of each entry: columns of one length that nobody changes afterwards. The engine's PeersView is one."""

    @property
    def refs(self) -> Column: ...
    @property
    def rtr_max(self) -> Column: ...
    @property
    def rtr(self) -> Column: ...
    @property
    def rtr_min(self) -> Column: ...
    @property
    def tx_max(self) -> Column: ...
    @property
    def tx(self) -> Column: ...
    @property
    def tx_min(self) -> Column: ...
    @property
    def queue_bytes(self) -> Column: ...


class _Padded(dict[int, str]):
    """Numbers as a table prints them, right-aligned and with a blank behind: made once each, since credits repeat from row to row."""

    def __init__(self, width: int) -> None:
        self._width = width

    def __missing__(self, number: int) -> str:
        text = self[number] = f"{number:{self._width}d} "
        return text


class PeersText:
    """The `peers` of one node, sample after sample.

    `nids` and `states` (up, NA): one for each row. `layout`: a layout of lnetstat.tables.peers. `lasts`: for which rows the seconds since
    the last sign of life are printed (as the model has it: since the row last changed); the others, and all of them where it is None,
    print -1.
    """

    def __init__(self, nids: Sequence[str], states: Sequence[str], layout: str, lasts: NDArray[np.bool_] | None = None) -> None:
        self._header = peers.render(Parsed((), layout, {}, ()), layout)
        self._before = [f"{nid:<24} " for nid in nids]
        self._between = [f"{state:>5} " for state in states]
        self._refs, self._numbers = _Padded(4), _Padded(5)
        self._lines = [self._header, *([""] * len(nids))]
        self._with_last = layout == peers.TEN.name
        self._lasts = np.zeros(len(nids), bool) if lasts is None else lasts
        self._columns: list[Column] | None = None
        self._last_s: Column = np.full(len(nids), NOT_KEPT, np.int64)
        self._changed_ns: Column = np.zeros(len(nids), np.int64)
        self._text = self._header

    def text(self, view: PeersColumns, time_ns: int) -> str:
        """Return the whole table as it stands at `time_ns` (simulated)."""
        columns = [view.refs, view.tx_max, view.rtr, view.rtr_min, view.tx, view.tx_min, _as_int32(view.queue_bytes)]
        changed = self._changed(columns)
        self._columns = columns
        if self._with_last:
            changed = changed | self._grow_older(changed, time_ns)
        rows = np.flatnonzero(changed)
        if rows.size:
            self._format(columns, rows)
            self._text = "".join(self._lines)
        return self._text

    def _changed(self, columns: list[Column]) -> NDArray[np.bool_]:
        """Return which rows differ from the sample before."""
        if self._columns is None:
            return np.ones(len(self._before), bool)
        changed = np.zeros(len(self._before), bool)
        for old, new in zip(self._columns, columns, strict=True):
            changed |= old != new
        return changed

    def _grow_older(self, changed: NDArray[np.bool_], time_ns: int) -> NDArray[np.bool_]:
        """Bring the column `last` up to the time; return the rows where it differs from the sample before."""
        before = self._last_s
        self._changed_ns[changed] = time_ns
        age_s = np.minimum((time_ns - self._changed_ns) // NS, LAST_MOST_S)
        self._last_s = np.where(self._lasts, age_s, NOT_KEPT)
        older: NDArray[np.bool_] = self._last_s != before
        return older

    def _format(self, columns: list[Column], rows: NDArray[np.intp]) -> None:
        """Make the lines of these rows anew."""
        lines, before, between, refs, padded = self._lines, self._before, self._between, self._refs, self._numbers
        last = [padded[number] for number in self._last_s[rows].tolist()] if self._with_last else [""] * rows.size
        numbers = [column[rows].tolist() for column in columns]
        for row, old, ref, limit, rtr, rtr_min, tx, tx_min, queue in zip(rows.tolist(), last, *numbers, strict=True):
            lines[row + 1] = (
                f"{before[row]}{refs[ref]}{between[row]}{old}{padded[limit]}"
                f"{padded[rtr]}{padded[rtr_min]}{padded[tx]}{padded[tx_min]}{queue}\n"
            )


def _as_int32(numbers: Column) -> Column:
    """Return the numbers as the kernel prints them, which keeps them in a C int: 2 GiB and more wrap below zero."""
    return numbers.astype(np.int32).astype(np.int64)
