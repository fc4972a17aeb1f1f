"""Times of files become epoch seconds: zones, the hour that comes twice, units that were said, and nothing guessed."""

import pytest

from lnetstat import series
from lnetstat.errors import LnetstatError
from lnetstat.series import Clock
from lnetstat.series.times import from_calendar

NOON = 1786708800.0  # 2026-08-14T12:00:00Z


@pytest.mark.parametrize(
    "word", ["2026-08-14T12:00:00Z", "2026-08-14 14:00:00+02:00", "2026-08-14T14:00:00+0200", "2026-08-14T07:00:00-05", "2026-08-14T12:00Z"]
)
def test_a_zone_in_the_time_itself_needs_no_option(word):
    assert from_calendar([word], Clock()).time_s.tolist() == [NOON]


def test_times_without_a_zone_need_its_name(written):
    path = written("time,value\n2026-08-14 14:00:00.5,1\n2026-08-14T14:00:01,2\n")
    with pytest.raises(LnetstatError, match=r"line 2: time '2026-08-14 14:00:00.5' names no zone: give --tz"):
        series.load(path)
    assert series.load(path, Clock("Europe/Berlin"))["time"].tolist() == [NOON + 0.5, NOON + 1]


def test_the_hour_that_comes_twice_is_told_apart_where_the_clock_is_seen_to_step_back():
    night = ["2026-10-25 01:59:00", "2026-10-25 02:30:00", "2026-10-25 02:50:00", "2026-10-25 02:10:00", "2026-10-25 03:00:00"]
    found = from_calendar(night, Clock("Europe/Berlin"))
    assert found.faults == {}
    steps = [after - before for before, after in zip(found.time_s, found.time_s[1:], strict=False)]
    assert steps == [31 * 60, 20 * 60, 20 * 60, 50 * 60]


def test_the_hour_that_comes_twice_is_left_out_where_nobody_knows_which_it_was(written):
    path = written("time,value\n2026-10-25 01:59:00,1\n2026-10-25 02:30:00,2\n2026-10-25 03:00:00,3\n")
    table = series.load(path, Clock("Europe/Berlin"))
    assert table["value"].tolist() == [1, 3]
    assert "line 3: time '2026-10-25 02:30:00' came twice in Europe/Berlin: write it with its offset" in table.attrs["problems"][0]


def test_an_hour_that_did_not_come_is_told(written):
    table = series.load(written("time,value\n2026-03-29 01:59:59,1\n2026-03-29 02:30:00,2\n"), Clock("Europe/Berlin"))
    assert table["value"].tolist() == [1]
    assert "did not come in Europe/Berlin" in table.attrs["problems"][0]


@pytest.mark.parametrize(("unit", "factor"), [("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_units_of_times_are_taken_when_said_and_refused_else(written, unit, factor):
    path = written(f"time,value\n{1786708800 * factor},1\n{1786708801 * factor},2\n")
    assert series.load(path, Clock(unit=unit))["time"].tolist() == [NOON, NOON + 1]
    with pytest.raises(LnetstatError, match="--time-unit"):
        series.load(path)


@pytest.mark.parametrize("word", ["yesterday", "", "2026-13-01T00:00:00Z", "2026-08-14T25:00:00Z", "20260814"])
def test_what_is_no_time_is_told_with_its_line(written, word):
    table = series.load(written(f"time,value\n2026-08-14T12:00:00Z,1\n{word},2\n"))
    assert table["value"].tolist() == [1]
    assert "line 3: time is " in table.attrs["problems"][0]
