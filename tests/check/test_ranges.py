"""Ranges as the Monitoring Plugins guidelines define them, by their own table."""

import math

import pytest

from lnetstat.check.ranges import parse_range

# The guidelines' table (Development Guidelines, "Threshold and Ranges"): range, values that alert, values that do not.
GUIDELINES = [
    ("10", (-1, -0.001, 10.001, 11), (0, 5, 10)),
    ("10:", (-1, 9.999), (10, 1e12)),
    ("~:10", (10.001, 11), (-1e12, 0, 10)),
    ("10:20", (9, 9.999, 20.001, 21), (10, 15, 20)),
    ("@10:20", (10, 15, 20), (9.999, 20.001)),
]


@pytest.mark.parametrize(("text", "alert", "well"), GUIDELINES)
def test_the_table_of_the_guidelines(text, alert, well):
    found = parse_range(text)
    assert [value for value in (*alert, *well) if found.alerts(value)] == list(alert)
    assert found.text == text


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [("0:", 0, math.inf), (":10", 0, 10), ("-5:5", -5, 5), ("~:", -math.inf, math.inf), ("-2:-1", -2, -1), (".5:1.", 0.5, 1), ("@5", 0, 5)],
)
def test_ends_may_be_left_out_negative_or_fractions(text, start, end):
    assert parse_range(text)[:2] == (start, end)


def test_the_empty_range_never_alerts():
    assert parse_range("") is None


@pytest.mark.parametrize("text", ["20:10", "a", "1:2:3", "@", ":", "10 20", "~10", "1e3", "nan", "٣:", "--5", "@~", "5:~"])
def test_what_is_no_range_says_what_was_expected(text):
    with pytest.raises(ValueError, match="expected a range such as 10"):
        parse_range(text)
