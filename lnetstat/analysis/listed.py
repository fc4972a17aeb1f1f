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


UNLISTED = "?@"  # NID of a peer that only the sums of its network tell of: ?@tcp1


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
    """Return `peers` of one host, and rows that say `up` of peers that were down, at scans that do not list them and count none down.

    Of a network whose peers were down while none of them was listed: rows of ?@NET, down where one of them was.
    """
    table, sums = frames.tables.get("peers"), frames.tables.get("peers_by_net")
    if table is None or sums is None or sums.empty:
        return table
    nids = _down(table)
    none_down = sums[sums["down"] == 0]
    added = []
    for nid in nids:
        known = table.loc[table["nid"] == nid, "time_ns"]
        stamps = none_down.loc[none_down["net"] == nid.rpartition("@")[2], "time_ns"]
        stamps = stamps[~stamps.isin(known)]
        added.append(pd.DataFrame({"host": str(table["host"].iloc[0]), "time_ns": stamps, "nid": nid, "state": "up"}))
    for net, own in sums.groupby("net", observed=True):
        if (own["down"] > 0).any() and not any(nid.endswith(f"@{net}") for nid in nids):
            state = np.where(own["down"] > 0, "down", "up")
            added.append(own[["host", "time_ns"]].astype({"host": object}).assign(nid=f"{UNLISTED}{net}", state=state))
    if not added:
        return table
    names = ["host", "time_ns", "nid", "state"]
    return pd.concat([table[names].astype({"host": object, "nid": object, "state": object}), *added], ignore_index=True)


def _down(table: pd.DataFrame) -> list[str]:
    return [str(nid) for nid in table.loc[table["state"] == "down", "nid"].unique()]


def most_down(frames: Frames) -> dict[str, int]:
    """Return by network of one host how many peers were down: those listed, or the most at one time where that is more."""
    table, sums = frames.tables.get("peers"), frames.tables.get("peers_by_net")
    if table is None or sums is None:
        return {}
    nets = [nid.rpartition("@")[2] for nid in _down(table)]
    most = {str(net): int(count) for net, count in sums.groupby("net", observed=True)["down"].max().items()}
    return {net: max(nets.count(net), most.get(net, 0)) for net in {*nets, *most}}


def of_sums(frames: Frames, host: str) -> pd.DataFrame | None:
    """Return the sums of all peers of a host, None where there are none."""
    sums = frames.tables.get("peers_by_net")
    own = None if sums is None else sums[sums["host"] == host]
    return None if own is None or own.empty else own


def most_short(frames: Frames, host: str) -> int | None:
    """Return the most peers of a host whose low-water mark was below 0 at one time; None where there are no sums."""
    own = of_sums(frames, host)
    return None if own is None else int(own.groupby("time_ns")["oversubscribed_low"].sum().max())


def worst_of_nets(frames: Frames, host: str, free: str, low_water: str) -> dict[str, pd.DataFrame]:
    """Return by network what the sums say of its worst peer as a table like `peers`: credits and mark are those of the worst at the time.

    The limit is what a peer of the network has on average; most networks give all peers the same.
    """
    own = of_sums(frames, host)
    if own is None:
        return {}
    names = {f"{free}_worst": free, f"{free}_low": low_water}
    own = own.dropna(subset=list(names))
    holders = own[[name for name in own.columns if name.startswith("share_")]].sum(axis=1).clip(lower=1)
    table = own[["net", "time_ns", "low_water_reset", *names]].rename(columns=names)
    table = table.assign(tx_credits_max=(own["limit"] / holders).round().clip(lower=1), queue_bytes=np.nan)
    return {str(net): rows for net, rows in table.groupby("net", observed=True)}


def most_peers(frames: Frames, host: str) -> int | None:
    """Return the most peers that the sums of a host count; None where there are none."""
    own = of_sums(frames, host)
    return None if own is None else int(own.groupby("time_ns")["count"].sum().max())


def _worst_ns(frames: Frames) -> npt.NDArray[np.int64]:
    states = states_of_scans(frames)
    return np.empty(0, np.int64) if states.empty else states.loc[states["state"] == WORST, "time_ns"].to_numpy(np.int64)
