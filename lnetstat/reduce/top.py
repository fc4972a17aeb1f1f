"""Which peers get series of their own: the worst K, kept a while after leaving, so that series do not flap."""

from collections.abc import Iterable

from lnetstat.reduce.metrics import TOP_PEERS

STAY_S = 60
NEW_PER_DAY_MAX = 200
DAY_S = 86_400


class TopPeers:
    """The NIDs with series of their own: at most twice `count` at a time, at most 200 new ones a day (each costs files in Carbon)."""

    def __init__(self, count: int = TOP_PEERS) -> None:
        self.count = count
        self._last_s: dict[str, int] = {}  # NID -> when it was last among the worst, oldest first
        self._day = -1
        self._seen_today: set[str] = set()

    def update(self, worst: Iterable[str], time_s: int) -> None:
        """Take the NIDs of the worst peers at `time_s`, worst first."""
        if time_s // DAY_S != self._day:
            self._day, self._seen_today = time_s // DAY_S, set(self._last_s)
        for nid in worst:
            if nid not in self._seen_today and len(self._seen_today) >= NEW_PER_DAY_MAX:
                continue
            self._seen_today.add(nid)
            self._last_s.pop(nid, None)
            self._last_s[nid] = time_s
        for nid in [nid for nid, last_s in self._last_s.items() if time_s - last_s > STAY_S or time_s < last_s]:
            del self._last_s[nid]
        while len(self._last_s) > 2 * self.count:
            del self._last_s[next(iter(self._last_s))]

    @property
    def nids(self) -> frozenset[str]:
        return frozenset(self._last_s)
