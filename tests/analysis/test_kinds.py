"""A wrong --kind gives no sure answer; dates and begins of CSV findings; values beyond all reason."""

import numpy as np
import pandas as pd
import pytest

from lnetstat import series
from lnetstat.analysis import analyze_series

TIME = 1_700_000_000 + np.arange(1.0, 601)


def table(value):
    return pd.DataFrame({"time": TIME, "value": value})


def noisy_rate():
    return 1e9 * (1 + 0.05 * np.random.default_rng(1).standard_normal(TIME.size))


@pytest.mark.parametrize(
    ("value", "wrong", "right", "words"),
    [(noisy_rate(), "counter", "rate", "is it a rate? Give --kind rate"), (noisy_rate().cumsum(), "rate", "counter", "is it a counter?")],
)
def test_a_wrong_kind_is_no_sure_negative(value, wrong, right, words):
    doubted = analyze_series(table(value), kind=wrong)
    assert doubted.dead_time.verdict == "cannot_tell"
    assert words in doubted.verdict
    assert [each.kind for each in doubted.findings] == ["cannot_tell"]
    assert analyze_series(table(value), kind=right).dead_time.verdict == "none"


def test_a_steady_rate_and_a_counter_that_was_reset_are_believed():
    assert "--kind" not in analyze_series(table(np.full(TIME.size, 5.0)), kind="rate").verdict
    counted = noisy_rate().cumsum()
    counted[300:] -= counted[300]
    assert "--kind" not in analyze_series(table(counted), kind="counter").verdict


def test_dips_begin_no_earlier_than_the_data_and_end_on_their_own_date():
    time = 1_700_000_000 + np.arange(0, 90_000.0, 5)
    value = noisy_rate()[0] * np.where((time - time[0]) % 100 < 10, 0.2, 1.0)
    found = analyze_series(pd.DataFrame({"time": time, "value": value}), kind="rate", interval_s=5).findings
    (dips,) = [each for each in found if each.kind == "dead_time"]
    assert dips.begin_ns >= int(time[0] * 1e9)
    assert "from 2023-11-14 22:13:2" in dips.message
    assert "to 2023-11-15 23:1" in dips.message


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["rate", "counter"])
def test_values_beyond_all_reason_make_no_warnings(tmp_path, kind):
    path = tmp_path / "a.csv"
    path.write_text("time,value,tx\n" + "".join(f"{t:.0f},{'1e308' if t % 7 == 0 else 9e29},{1e14:.0f}\n" for t in TIME))
    data = series.load(str(path))
    assert data.attrs["problems"]
    analyze_series(data, kind=kind)
