"""Hosts with very many peers: of `peers` only the rows that matter are kept, chosen by reading the recording twice, stretch by stretch.

Peers that never ran short are alike; what is said of credits is about the rows that were lowest, and of health about those that were down
or whose low-water marks rose. So the memory is that of one stretch and of the rows kept, however long the record.
"""

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pandas as pd

from lnetstat.frames.loading import Frames, from_changes, load
from lnetstat.sources.collectl import Recorded

KEY = ["nid", "row"]
MARKS = (("tx_credits", "tx_credits_min"), ("rtr_credits", "rtr_credits_min"))
MOST_LOWEST = 400  # rows of each credit; as many as are measured one by one
MOST_OTHERS = 1000  # rows that were down or whose marks rose, lowest first


class Thinned(NamedTuple):
    """The frames of one host, and how many rows of `peers` that were down or reset were left out."""

    frames: Frames
    left_out: int


def load_thinned(
    recording: Recorded, host: str, *, tables: Collection[str], begin_ns: int | None, end_ns: int | None, stretch_ns: int
) -> Thinned:
    """Return what `load` returns for one host, but of `peers` only the rows that matter. `stretch_ns`: how much to read at once."""
    others = load(recording, tables=set(tables) - {"peers"}, begin_ns=begin_ns, end_ns=end_ns, hosts=[host])
    kept, left_out = _rows_kept(part.tables.get("peers") for part in _stretches(recording, host, begin_ns, end_ns, stretch_ns))
    parts, states, most = [], [others.states], 0
    for frames in _stretches(recording, host, begin_ns, end_ns, stretch_ns):
        states.append(frames.states)
        table = frames.tables.get("peers")
        if table is not None and len(table):
            most = max(most, int(table["time_ns"].value_counts().max()))
            parts.append(table[pd.MultiIndex.from_frame(table[KEY]).isin(kept)].astype(dict.fromkeys(("nid", "state"), object)))
    peers = {}
    if parts:
        whole = pd.concat(parts, ignore_index=True)
        peers["peers"] = whole.astype(dict.fromkeys(("host", "instance", "nid", "state"), "category"))
        peers["peers"].attrs["most_peers"] = most  # in a sample, of which these are some
    every = pd.concat([each.astype({"host": object, "name": object}) for each in states if len(each)] or states[:1], ignore_index=True)
    every = every.astype({"host": "category", "name": "category"})
    return Thinned(Frames(others.tables | peers, others.facts, every), left_out)


def _stretches(recording: Recorded, host: str, begin_ns: int | None, end_ns: int | None, stretch_ns: int) -> Iterator[Frames]:
    """Yield the peers of one stretch of time after the other, in one pass: a compressed file can be read from its beginning only."""
    changes = recording.changes(begin_ns=begin_ns, end_ns=end_ns, hosts=[host])
    for _, part in groupby(changes, lambda change: change.snapshot.time_ns // stretch_ns):
        yield from_changes(part, tables=["peers"])


def _rows_kept(stretches: Iterator[pd.DataFrame | None]) -> tuple[pd.MultiIndex, int]:
    """Return the rows to keep, and how many of those that were down or reset are not among them."""
    lowest = [pd.Series(dtype=np.int64) for _ in MARKS]
    noted: pd.Index = pd.MultiIndex.from_arrays([[], []], names=KEY)
    marks = pd.Series(dtype=np.int64)
    for table in stretches:
        if table is None:
            continue
        table = table.astype({"nid": object})
        limited = table[table["tx_credits_max"] > 0]
        for at, pair in enumerate(MARKS):
            here = limited.groupby(KEY, sort=False)[list(pair)].min().min(axis=1)
            lowest[at] = pd.concat([lowest[at], here]).groupby(level=[0, 1], sort=False).min() if len(lowest[at]) else here
        groups = table[~table["low_water_reset"]].groupby(KEY, sort=False)["tx_credits_min"]
        risen = table.loc[(groups.diff() > 0).reindex(table.index, fill_value=False)]
        first, last = groups.first(), groups.last()
        again = (first.reindex(marks.index) > marks) if len(marks) else pd.Series(dtype=bool)
        down = table[table["state"] == "down"]
        for rows in (risen, down):
            noted = noted.union(pd.MultiIndex.from_frame(rows[KEY].drop_duplicates()), sort=False)
        noted = noted.union(again.index[again.to_numpy(bool)], sort=False) if len(again) else noted
        marks = last.combine_first(marks) if len(marks) else last
    worst = [each.nsmallest(MOST_LOWEST).index for each in lowest if len(each)]
    kept: pd.Index = worst[0] if worst else noted[:0]
    for each in worst[1:]:
        kept = kept.union(each, sort=False)
    depth = lowest[0].reindex(noted).sort_values(kind="stable").index if len(lowest[0]) else noted
    others = depth.difference(kept, sort=False)
    return pd.MultiIndex.from_tuples([*kept, *others[:MOST_OTHERS]], names=KEY), max(0, len(others) - MOST_OTHERS)
