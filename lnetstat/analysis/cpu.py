"""How busy the CPUs of a host were inside dips or bursts and outside: where they are not, what is scarce is credits or time on the wire."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lnetstat.analysis import rates, spells
from lnetstat.analysis.rates import Rates
from lnetstat.analysis.results import FloatArray, Interval
from lnetstat.analysis.wording import percent
from lnetstat.frames import Frames

JIFFIES_PER_S = 100.0  # USER_HZ, in which /proc/stat counts
BOUND = 0.9  # of the time: a queue in front of one server at 90 % waits for five services on average (M/D/1), and jiffies are coarse
SUM = "cpu"  # the row of all CPUs together


class CpuUse(NamedTuple):
    """Shares 0..1 of all CPUs of a host. `busiest_*`: of the busiest single CPU; `softirq_*`: where the network stack works.

    Inside and outside dips or bursts of that host; where none are known all is outside, and inside is None.
    """

    host: str
    cpus: int
    busy_inside: float | None
    busy_outside: float | None
    busiest_inside: float | None
    busiest_outside: float | None
    softirq_inside: float | None
    softirq_outside: float | None

    @property
    def bound(self) -> bool:
        """Whether a CPU left no room: inside the dips, or all the time where none are known."""
        worst = self.busiest_inside if self.busiest_inside is not None else self.busiest_outside
        return worst is not None and worst >= BOUND


def cpu_use(frames: Frames, incidents: dict[str, tuple[Interval, ...]]) -> tuple[CpuUse, ...]:
    """Return the use of each host's CPUs, the busiest first; empty where /proc/stat was not recorded. `incidents`: by host."""
    table = frames.tables.get("cpu")
    if table is None or table.empty:
        return ()
    found = [_of_host(str(host), own, incidents.get(str(host), ())) for host, own in table.groupby("host", observed=True, sort=False)]
    whole = [each for each in found if each is not None]
    return tuple(sorted(whole, key=lambda each: (each.bound, each.busiest_inside or 0.0, each.busiest_outside or 0.0), reverse=True))


def _of_host(host: str, own: pd.DataFrame, incidents: Sequence[Interval]) -> CpuUse | None:
    busy = {str(cpu): _rates(rows, "busy") for cpu, rows in own.groupby("cpu", observed=True, sort=False)}
    if SUM not in busy or not busy[SUM].rate.size:
        return None
    cpus = max(1, len(busy) - 1)
    soft = _rates(own[own["cpu"] == SUM], "softirq")
    within, without = _shares(busy[SUM], incidents)
    single = [_shares(each, incidents) for cpu, each in busy.items() if cpu != SUM] or [(within, without)]
    soft_within, soft_without = _shares(soft, incidents)
    return CpuUse(
        host,
        cpus,
        None if within is None else within / cpus,
        None if without is None else without / cpus,
        max((each[0] for each in single if each[0] is not None), default=None),
        max((each[1] for each in single if each[1] is not None), default=None),
        None if soft_within is None else soft_within / cpus,
        None if soft_without is None else soft_without / cpus,
    )


def _rates(rows: pd.DataFrame, column: str) -> Rates:
    return rates.from_counter(rows["time_ns"].to_numpy(np.float64) / 1e9, rows[column].to_numpy(np.float64) / JIFFIES_PER_S)


def _shares(busy: Rates, incidents: Sequence[Interval]) -> tuple[float | None, float | None]:
    """Return the mean rate inside and outside the incidents; samples count by how much of their interval lies within."""
    within = spells.covered(busy.time_s + busy.interval_s / 2, incidents) - spells.covered(busy.time_s - busy.interval_s / 2, incidents)
    return _mean(busy.rate, within), _mean(busy.rate, busy.interval_s - within)


def _mean(rate: FloatArray, weight_s: FloatArray) -> float | None:
    whole = float(weight_s.sum())
    return float((rate * weight_s).sum()) / whole if whole > 1e-9 else None


def sentence(used: Sequence[CpuUse]) -> str:
    """Return one clause on the busiest host's CPUs: whether they could be what limits."""
    worst = used[0]
    inside, outside = worst.busy_inside, worst.busy_outside
    if inside is None:
        words = f"busy {percent(outside or 0.0)} of the time"
    elif outside is None:
        words = f"busy {percent(inside)} inside dips or bursts"
    else:
        words = f"busy {percent(inside)} inside dips or bursts, {percent(outside)} outside"
    if worst.bound:
        busiest = worst.busiest_inside if worst.busiest_inside is not None else worst.busiest_outside
        one = f", one of its {worst.cpus} {percent(busiest or 0.0)}" if worst.cpus > 1 else ""
        return f"CPU bound on {worst.host}: {words}{one}"
    return f"CPU not bound ({worst.host}: {words}; paper IV.A: same)"
