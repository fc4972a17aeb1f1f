"""Short forms of the faults of `python -m bench.soak`: a real carbon-cache, a real sender, and whisper read back afterwards."""

import pytest

from bench.soak.faults import carbon_hangs, carbon_killed
from bench.soak.half_open import half_open
from bench.soak.random_faults import random_faults
from bench.soak.storm import storm

FAST = {"interval_s": 0.1, "series": 50, "seconds_per_tick": 10, "jitter_s_max": 0.2}
SLOW_STREAM = {"interval_s": 0.1, "series": 10, "seconds_per_tick": 1, "jitter_s_max": 0.2}


def is_whole(row):
    """Everything acknowledged was read back, and nothing else is to be complained about."""
    assert row.lost == 0, row
    assert row.stored == row.sent > 0, row
    assert "MISSED" not in row.remark, row
    return True


def test_carbon_is_killed_with_points_in_its_cache(tmp_path):
    row = carbon_killed(1, tmp_path, restarts=2, **FAST)
    assert is_whole(row)
    assert row.duplicates > 0  # what it had in memory was sent again


@pytest.mark.parametrize("stream", [FAST, SLOW_STREAM])
def test_carbon_hangs_for_longer_than_the_resend_window_and_is_killed(tmp_path, stream):
    row = carbon_hangs(1, tmp_path, killed=True, hang_ticks=20, resend_s=0.5, **stream)
    assert is_whole(row)
    assert row.duplicates > 0


def test_a_path_that_swallows_packets_is_noticed_and_nothing_is_lost(tmp_path):
    try:
        row = half_open(1, tmp_path, series=50, seconds_per_tick=10, interval_s=0.1)
    except PermissionError as error:
        pytest.skip(str(error))
    assert is_whole(row)
    assert row.notice_s is not None
    assert row.duplicates > 0


def test_three_hundred_senders_come_back_at_once(tmp_path):
    assert is_whole(storm(1, tmp_path, senders=300, jitter_s_max=3))


def test_one_fault_after_the_other(tmp_path):
    rows = random_faults(1, tmp_path, 8, interval_s=0.25, scale=0.1)
    assert [is_whole(row) for row in rows] == [True, True]
