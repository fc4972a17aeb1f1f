"""CPU time inside dips and outside: shares that are known by construction, and what is said of them."""

import pandas as pd
import pytest

from lnetstat.analysis.cpu import cpu_use, sentence
from lnetstat.frames import Frames

BEGIN_S = 1_795_176_000
DIPS = tuple((BEGIN_S + 20.0 * k + 0.5, BEGIN_S + 20.0 * k + 2.5) for k in range(1, 9))


def frames_of(inside, outside, *, host="rtr", step_s=0.5, softirq=0.25):
    """Return frames of `cpu` with two CPUs that are busy for the shares (cpu0, cpu1) given inside and outside the dips."""
    rows = []
    busy = [0.0, 0.0]
    for tick in range(int(180 / step_s)):
        time_s = BEGIN_S + tick * step_s
        within = any(begin < time_s <= end for begin, end in DIPS)
        busy = [total + 100 * step_s * share for total, share in zip(busy, inside if within else outside, strict=True)]
        for cpu, value in (("cpu", sum(busy)), ("cpu0", busy[0]), ("cpu1", busy[1])):
            rows.append((host, int(time_s * 1e9), cpu, round(value), round(softirq * value), 0))
    table = pd.DataFrame(rows, columns=["host", "time_ns", "cpu", "busy", "softirq", "iowait"])
    return Frames({"cpu": table}, pd.DataFrame(), pd.DataFrame())


def test_busy_shares_inside_and_outside_dips():
    (use,) = cpu_use(frames_of((0.3, 0.1), (0.1, 0.1)), {"rtr": DIPS})
    assert use.cpus == 2
    assert use.busy_inside == pytest.approx(0.2, abs=0.02)
    assert use.busy_outside == pytest.approx(0.1, abs=0.01)
    assert use.busiest_inside == pytest.approx(0.3, abs=0.02)
    assert use.softirq_inside == pytest.approx(0.05, abs=0.02)
    assert not use.bound
    assert sentence([use]) == "CPU not bound (rtr: busy 20 % inside dips or bursts, 10 % outside; paper IV.A: same)"


def test_one_cpu_without_idle_time_inside_dips_is_bound():
    used = cpu_use(frames_of((0.99, 0.1), (0.1, 0.1)), {"rtr": DIPS})
    assert used[0].bound
    assert "CPU bound on rtr: busy 55 % inside" in sentence(used)
    assert "one of its 2 99 %" in sentence(used)


def test_without_dips_the_whole_record_counts():
    (use,) = cpu_use(frames_of((0.5, 0.5), (0.5, 0.5)), {})
    assert use.busy_inside is None
    assert use.busy_outside == pytest.approx(0.5, abs=0.01)
    assert "busy 50 % of the time" in sentence([use])


def test_nothing_recorded_is_nothing_told():
    assert cpu_use(Frames({}, pd.DataFrame(), pd.DataFrame()), {}) == ()
    one = frames_of((0.5, 0.5), (0.5, 0.5)).tables["cpu"].iloc[:3]
    assert cpu_use(Frames({"cpu": one}, pd.DataFrame(), pd.DataFrame()), {}) == ()
