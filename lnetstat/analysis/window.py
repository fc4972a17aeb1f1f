"""The last samples of a recording that is being watched, in bounded memory: what the verdict needs, and no more."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.analysis.run import joined
from lnetstat.frames import Frames

CREDIT_TABLES = ("peers", "nis", "buffers")
COUNTERS = frozenset({"read_bytes", "write_bytes", "ost_read", "ost_write", "obd_ping"})
SETTINGS = "tunables"  # read rarely: the last value of each counts, however old
HOT_PEERS = 64  # of each host: where there are more, those that matter; the others are looked at when they are read, and not kept
MOST_ROWS = 2_000_000  # of one table, about 200 MB: beyond it the oldest samples go, and the window is shorter


class Window:
    """Frames of the last so many seconds. Of many peers only those are kept that ran out of credits, went down or came nearest to it."""

    def __init__(self) -> None:
        self._parts: list[Frames] = []
        self._tail: dict[str, pd.DataFrame] = {}
        self._hot: dict[str, dict[str, int]] = {}

    @property
    def begin_ns(self) -> int:
        """The least stamp held (epoch ns), of files read again and again; 0 where there is none."""
        return min((int(part.states["time_ns"].min()) for part in self._parts if len(part.states)), default=0)

    def frames(self) -> Frames:
        """Return all that is held, as one."""
        self._parts = [joined(self._parts)] if self._parts else []
        return self._parts[0]

    def add(self, frames: Frames, length_ns: int) -> None:
        """Take new samples; let go of those more than `length_ns` before the newest of their host."""
        tables = {name: self._reduced(name, table) for name, table in frames.tables.items()}
        self._parts.append(Frames(tables, frames.facts, frames.states))
        newest = frames.states.groupby("host", observed=True)["time_ns"].max()
        if len(self._parts) >= 16 or self.begin_ns < int(newest.max()) - length_ns:
            self._trim({str(host): int(last_ns) - length_ns for host, last_ns in newest.items()})

    def forget(self, host: str) -> None:
        """Let go of all samples of a host: its clock stepped, their order is not known."""
        self._parts = [_kept(part, lambda table: table["host"].to_numpy() != host) for part in self._parts]
        self._tail = {name: table[table["host"].to_numpy() != host] for name, table in self._tail.items()}

    def with_tail(self, frames: Frames) -> Frames:
        """Return the credits of new samples behind the last sample before them, which tells what marks stood at."""
        tables = {}
        for name in CREDIT_TABLES:
            if name in frames.tables:
                before = self._tail.get(name)
                tables[name] = frames.tables[name] if before is None or before.empty else _concat([before, frames.tables[name]])
        return Frames(tables, frames.facts, frames.states)

    def keep_tail(self, frames: Frames) -> None:
        """Keep the last sample of each host's credits."""
        for name in CREDIT_TABLES:
            table = frames.tables.get(name)
            if table is None or table.empty:
                continue
            last = table[table["time_ns"] == table.groupby("host", observed=True)["time_ns"].transform("max")]
            before = self._tail.get(name)
            if before is not None:
                others = before[~before["host"].isin(last["host"].unique())]
                last = last if others.empty else _concat([others, last])
            self._tail[name] = last

    def _reduced(self, name: str, table: pd.DataFrame) -> pd.DataFrame:
        if name == "counters":
            return table[table["counter"].isin(COUNTERS)]
        return self._hot_rows(table) if name == "peers" else table

    def _hot_rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of peers that matter, with the sample before that in which they first did.

        Those are peers below 0 or down, the latest first, and of each host the one that came nearest to 0; all where they are few.
        """
        known = self._hot_pairs()
        matters = ((table["tx_credits"] < 0) | (table["rtr_credits"] < 0) | (table["state"] == "down")).fillna(False).to_numpy(bool)
        for host, own in table.groupby("host", observed=True, sort=False):
            hot = self._hot.setdefault(str(host), {})
            names = own["nid"].unique()
            nearest = own["nid"].to_numpy()[[int(own["tx_credits_min"].to_numpy(np.float64, na_value=np.inf).argmin())]]
            for nid in names if len(names) <= HOT_PEERS else nearest:
                hot.setdefault(str(nid), 0)
        for host, nid, time_ns in zip(table["host"][matters], table["nid"][matters], table["time_ns"][matters], strict=True):
            self._hot[str(host)][str(nid)] = int(time_ns)
        for host_name, hot in self._hot.items():
            if len(hot) > HOT_PEERS:
                self._hot[host_name] = {nid: hot[nid] for nid in sorted(hot, key=lambda nid: hot[nid])[-HOT_PEERS:]}
        wanted = self._hot_pairs()
        parts = [_of_peers(table, wanted)]
        before = self._tail.get("peers")
        if before is not None and wanted - known:
            parts.insert(0, _of_peers(before, wanted - known))
        return _concat(parts)

    def _hot_pairs(self) -> set[tuple[str, str]]:
        return {(host, nid) for host, hot in self._hot.items() for nid in hot}

    def _trim(self, begin_ns: dict[str, int]) -> None:
        whole = self.frames()

        def recent(table: pd.DataFrame) -> npt.NDArray[np.bool_]:
            least = table["host"].astype(str).map(begin_ns).fillna(0).to_numpy(np.int64)
            return np.asarray(table["time_ns"].to_numpy(np.int64) >= least)

        settings = whole.tables.get(SETTINGS)
        part = _kept(whole, recent)
        if settings is not None:
            part.tables[SETTINGS] = settings.drop_duplicates(["host", "name"], keep="last")
        for name, table in part.tables.items():
            if len(table) > MOST_ROWS:
                part.tables[name] = table.iloc[-MOST_ROWS:]
        self._parts = [part]


def _kept(frames: Frames, choose: Callable[[pd.DataFrame], npt.NDArray[np.bool_]]) -> Frames:
    tables = {name: table[choose(table)] for name, table in frames.tables.items()}
    return Frames(tables, frames.facts[choose(frames.facts)], frames.states[choose(frames.states)])


def _of_peers(table: pd.DataFrame, wanted: set[tuple[str, str]]) -> pd.DataFrame:
    if not wanted:
        return table.iloc[:0]
    index = pd.MultiIndex.from_arrays([table["host"].astype(str), table["nid"].astype(str)])
    return table[index.isin(list(wanted))]


def _concat(tables: list[pd.DataFrame]) -> pd.DataFrame:
    whole = [table for table in tables if not table.empty] or tables[:1]
    return pd.concat(whole, ignore_index=True) if len(whole) > 1 else whole[0]
