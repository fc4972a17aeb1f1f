"""Records in which `peers` holds the worst rows only, as lnet.ph of collectl writes them between its whole scans.

A peer that is not listed was there, and was not among the worst: it is neither gone nor known to have been short of credits. Shares of time
are those of all scans, a scan that does not list a peer counts as time in which it was not short; so they are the least that can be meant
where more peers were short at once than are listed.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.analysis import spells
from lnetstat.analysis.results import FloatArray
from lnetstat.frames import Frames
from lnetstat.frames.loading import WORST

LABEL = "of the worst peers only"  # "1,080 reads of the worst peers only"


class Scans(NamedTuple):
    """When a table was read, sorted, and how long each scan stands, in seconds; arrays of shape (n,)."""

    time_s: FloatArray
    span_s: FloatArray


def scans_at(time_s: FloatArray) -> Scans:
    return Scans(time_s, spells.durations(time_s))


def span_of(time_s: FloatArray, scans: Scans) -> FloatArray:
    """Return how long each sample of a row stands among all scans; a stamp may stand twice."""
    before_s = np.arange(time_s.size) - np.searchsorted(time_s, time_s)
    return scans.span_s[np.minimum(np.searchsorted(scans.time_s, time_s) + before_s, scans.span_s.size - 1)]


def states_of_scans(frames: Frames) -> pd.DataFrame:
    """Return the lines of `states` that tell of the scans of `peers`, none where all of them are whole."""
    states = frames.states
    if states.empty:
        return states
    of_peers = states[(states["name"] == "peers") & states["state"].isin(["ok", "partial", WORST])]
    return of_peers if (of_peers["state"] == WORST).any() else of_peers.iloc[:0]


def scans_of(frames: Frames) -> dict[str, Scans]:
    """Return by host the scans of `peers` where some list the worst rows only; whole scans need none."""
    own = states_of_scans(frames)
    if own.empty:
        return {}
    return {
        str(host): scans_at(np.sort(lines["time_ns"].to_numpy(np.int64)) / 1e9)
        for host, lines in own.groupby("host", observed=True)
        if (lines["state"] == WORST).any()
    }


def whole_scans(frames: Frames) -> pd.DataFrame | None:
    """Return the rows of `peers` of one host's whole scans: those that means may be taken of."""
    table = frames.tables.get("peers")
    worst_ns = _worst_ns(frames)
    return table if table is None or not worst_ns.size else table[~table["time_ns"].isin(worst_ns)]


def with_peers_known_up(frames: Frames) -> pd.DataFrame | None:
    """Return `peers` of one host, and rows that say `up` of peers that were down, at scans that do not list them and count none down."""
    table, sums = frames.tables.get("peers"), frames.tables.get("peers_by_net")
    if table is None or sums is None or sums.empty:
        return table
    nids = table.loc[table["state"] == "down", "nid"].astype(str).unique()
    none_down = sums[sums["down"] == 0]
    added = []
    for nid in nids:
        known = table.loc[table["nid"] == nid, "time_ns"]
        stamps = none_down.loc[none_down["net"] == nid.rpartition("@")[2], "time_ns"]
        stamps = stamps[~stamps.isin(known)]
        added.append(pd.DataFrame({"host": str(table["host"].iloc[0]), "time_ns": stamps, "nid": nid, "state": "up"}))
    if not added:
        return table
    names = ["host", "time_ns", "nid", "state"]
    return pd.concat([table[names].astype({"host": object, "nid": object, "state": object}), *added], ignore_index=True)


def most_peers(frames: Frames, host: str) -> int | None:
    """Return the most peers that the sums of a host count; None where there are none."""
    sums = frames.tables.get("peers_by_net")
    own = None if sums is None else sums[sums["host"] == host]
    return None if own is None or own.empty else int(own.groupby("time_ns")["count"].sum().max())


def _worst_ns(frames: Frames) -> npt.NDArray[np.int64]:
    states = states_of_scans(frames)
    return np.empty(0, np.int64) if states.empty else states.loc[states["state"] == WORST, "time_ns"].to_numpy(np.int64)
