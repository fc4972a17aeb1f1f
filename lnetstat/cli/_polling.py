"""Asking a Graphite again and again, whole window by whole window, and what to do while nothing comes."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lnetstat.cli._recordings import tell
from lnetstat.errors import LnetstatError
from lnetstat.workers.stopping import Asked

if TYPE_CHECKING:
    import pandas as pd

    from lnetstat.analysis.changes import Event
    from lnetstat.analysis.results import Analysis

QUIET_S = 30.0  # without a new sample for so long (and ten intervals) the writer seems to have stopped
TIMEOUT_S = 20.0  # of one answer: it is asked again, so it need not be waited for as long as by `analyze`
SHARE = 4  # at least three quarters of the time Graphite and this machine are left to others


class Silence:
    """For how long nothing has come, told once each time. Of the machine's own time: samples that do not come have none."""

    def __init__(self) -> None:
        self.heard_s = time.monotonic()
        self._told = False

    def heard(self) -> None:
        """Note that something came."""
        self.heard_s, self._told = time.monotonic(), False

    def broken_after(self, interval_s: float) -> float:
        """Return for how long nothing came where that is to be told now, else 0.0."""
        silent_s = time.monotonic() - self.heard_s
        if self._told or silent_s <= max(QUIET_S, 10 * interval_s):
            return 0.0
        self._told = True
        return silent_s


def polled(
    location: str, asked: Asked, problems: list[str], *, history_s: float, once: bool, kind: str, credits_max: int | None
) -> Iterator["Event"]:
    """Yield what changes at a Graphite until asked to end; `once`: after one answer, and without one raise SourceError.

    The whole window is asked for each time: values that came late, or while the network was gone, are in it. The first rows that
    could not be meant are added to `problems`.
    """
    from lnetstat.analysis import analyze_series
    from lnetstat.analysis.watching import SeriesWatcher
    from lnetstat.series import graphite

    def analysis(table: "pd.DataFrame") -> "Analysis":
        name = str(table.attrs.get("name", ""))
        return analyze_series(table, kind=table.attrs.get("kind") or kind, credits_max=credits_max or None, name=name)

    graphite.checked(location)
    watcher, silence, failing = SeriesWatcher(analysis), Silence(), False
    noted: set[str] = set()
    begin_s = time.time() - history_s
    while not asked.is_set():
        asked_s = time.monotonic()
        try:
            table = graphite.load(location, begin_s=max(begin_s, time.time() - watcher.window_s), timeout_s=TIMEOUT_S)
        except LnetstatError as error:
            if once:
                raise
            if not failing:
                yield watcher.no_answer(str(error))
            failing = True
            asked.wait(watcher.step_s)
            continue
        if failing:
            yield watcher.answers_again()
            failing = False
        tell(line for line in table.attrs.get("notes", []) if line not in noted)
        noted.update(table.attrs.get("notes", []))
        problems += [] if problems else table.attrs.get("problems", [])
        found = watcher.feed(table)
        if found is None:
            silent_s = silence.broken_after(watcher.interval_s)
            found = [watcher.no_samples(silent_s)] if silent_s else []
        else:
            silence.heard()
        yield from found
        if once:
            return
        asked.wait(max(watcher.step_s, SHARE * (time.monotonic() - asked_s)))
