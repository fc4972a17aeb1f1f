"""Records that are empty nearly all the time: their fullest stretch is judged, at the cost of its samples."""

import numpy as np
import pandas as pd
import pytest

from lnetstat.analysis import analyze_series, rates, stretches

BEGIN = 1.7e9


def load(begin_s: float, seconds: int, *, period_s: float = 25.0) -> pd.DataFrame:
    time = begin_s + np.arange(1, seconds + 1)
    noise = np.random.default_rng(seconds).standard_normal(seconds)
    return pd.DataFrame({"time": time, "value": np.where((time - begin_s) % period_s < 2, 0.4, 1.0) * (1 + 0.1 * noise)})


@pytest.mark.parametrize("away_s", [86_400.0, 30 * 86_400.0, -BEGIN])  # the last: before its clock was set a host lives in 1970
def test_runs_far_apart_are_judged_by_the_longer_one_which_is_told(away_s):
    other = load(BEGIN + away_s, 300)
    verdict = analyze_series(pd.concat([load(BEGIN, 600), other])).dead_time
    assert verdict.verdict == "detected"
    assert verdict.period_s == pytest.approx(25.0, rel=0.002)
    assert "of 900 samples" in verdict.reason
    assert all(BEGIN - 5 <= begin_s <= BEGIN + 600 for begin_s, _ in verdict.incidents)


def test_sources_far_apart_are_no_stack():
    table = pd.concat([load(BEGIN, 600).assign(source="a"), load(BEGIN + 86_400 * 10, 500).assign(source="b")])
    verdict = analyze_series(table).dead_time
    assert verdict.verdict == "detected"
    assert "600 of 1100 samples" in verdict.reason


def test_stretches_too_short_for_an_answer_cannot_tell_and_say_which():
    table = pd.concat([load(BEGIN + 86_400 * day, 40) for day in range(5)])
    verdict = analyze_series(table).dead_time
    assert verdict.verdict == "cannot_tell"
    assert "of 200 samples" in verdict.reason


def test_pings_of_other_days_do_not_count():
    table = load(BEGIN, 900)
    table["ping_rate"] = np.where((table["time"] - BEGIN) % 25 < 2, 100.0, 1.0)
    lone = table.tail(1).assign(time=BEGIN + 20 * 86_400, value=np.nan)
    verdict = analyze_series(pd.concat([table, lone])).dead_time
    assert verdict.verdict == "detected"
    assert verdict.cause == "ping"


def test_a_record_with_gaps_is_judged_whole():
    one, other = (rates.from_rate(each["time"], each["value"]) for each in (load(BEGIN, 600), load(BEGIN + 5000, 600)))
    assert stretches.fullest([one, other]) is None
    assert stretches.fullest([]) is None
    assert stretches.fullest([one, rates.nothing()]) is None
