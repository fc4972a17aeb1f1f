"""F20 in short: 2,000 ticks of the agent's loop at a simulated clock under random faults. The long form is bench/soak/node_ticks.py."""

from bench.soak.node_ticks import Level, row_of, slope_mb_per_h, soak


def test_two_thousand_ticks_under_random_faults_lose_nothing_and_leave_nothing_behind(tmp_path):
    done = soak(tmp_path, 7, ticks=2_000)
    assert done.raised == []
    assert done.ticks >= 2_000
    assert done.faults > 30, "it was no fair weather"
    assert done.offered >= 1_900
    assert (done.arrived, done.dropped) == (done.offered, 0)
    assert done.late == done.missed > 0
    assert done.lines < 10 * done.faults, "one line for each change, none while nothing changes"
    first, last = done.levels[1], done.levels[-1]
    assert last.descriptors <= first.descriptors + 6
    assert last.threads <= first.threads + 6
    assert not row_of(done, 7).remark.startswith("MISSED")


def test_growth_of_memory_is_told_by_the_hour():
    levels = [Level(ticks, 20_000_000 + 10 * ticks, 9, 5) for ticks in range(0, 360_000, 1000)]
    assert round(slope_mb_per_h(levels), 3) == 3.6
