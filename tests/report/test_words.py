import math

import pytest

from lnetstat.report.words import cut, iso, measure, number, percent, plural, quantity, scaled, seconds, yes_no
from lnetstat.words import printable


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (-63, "-63"),
        (4096, "4,096"),
        (4_294_967_233, "4,294,967,233"),
        (13.2871, "13.3"),
        (1234.6, "1,235"),
        (0.00123, "0.00123"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "inf"),
        (1e20, "1e+20"),
    ],
)
def test_numbers_keep_their_sign_and_three_digits(value, words):
    assert number(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.25, "0.25 s"),
        (13.3, "13.3 s"),
        (250.9, "251 s"),
        (725, "12 min 5 s"),
        (7200, "2 h"),
        (11_400, "3 h 10 min"),
        (187_200, "2 d 4 h"),
        (0, "0 s"),
        (None, "–"),
        (math.inf, "–"),
    ],
)
def test_time_spans(value, words):
    assert seconds(value) == words


def test_absent_is_never_zero():
    assert [number(None), seconds(None), percent(None), quantity(None, "bytes/s"), iso(None), yes_no(None)] == ["–"] * 6
    assert [number(0), percent(0), quantity(0, "bytes/s"), yes_no(False)] == ["0", "0 %", "0 B/s", "no"]


def test_shares_read_as_in_the_findings():
    assert [percent(0.062), percent(0.5), percent(1)] == ["6.2 %", "50 %", "100 %"]


def test_bytes_are_counted_in_powers_of_1024_and_other_units_stay():
    assert scaled("bytes/s", 5 * 2**20) == (2**20, "MiB/s")
    assert scaled("pings/s", 5e6) == (1.0, "pings/s")
    assert quantity(3 * 2**30, "bytes") == "3 GiB"
    assert quantity(-1024, "bytes") == "-1 KiB"


def test_times_are_utc_iso_and_truncated_never_rounded_up():
    assert iso(1_786_708_800_999_999_999) == "2026-08-14T12:00:00Z"
    assert iso(1_786_708_800_999_999_999, 3) == "2026-08-14T12:00:00.999Z"
    assert iso(-1, 3) == "1969-12-31T23:59:59.999Z"


def test_a_time_beyond_the_calendar_is_shown_as_its_number():
    assert iso(10**30) == f"{10**30} ns"


def test_names_cannot_act():
    assert printable("a\x1b[31mb\n\u202ec\udcff") == "a\\x1b[31mb\\n\\u202ec\\udcff"


def test_long_names_keep_both_ends():
    assert cut("10.128.100.23@o2ib1000", 11) == "10.12…b1000"
    assert cut("short", 11) == "short"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("period_s", 13.3, "period 13.3 s"),
        ("depth", 0.64, "depth 64 %"),
        ("queue_bytes", 2048, "queue 2 KiB"),
        ("gap_cv", 0.07, "gap cv 7.0 %"),
        ("aligned", True, "aligned: yes"),
        ("files", ["peers", "nis"], "files: peers, nis"),
        ("incidents", [[0, 1]] * 9, "incidents: 9"),
        ("cause", "p\x1bng", "cause p\\x1bng"),
        ("nothing", None, ""),
        ("deep", {"a": 1}, ""),
        ("seen_ns", 0, "seen 1970-01-01T00:00:00.000Z"),
    ],
)
def test_evidence_gets_its_unit_from_its_name(key, value, words):
    assert measure(key, value) == words


def test_one_is_not_plural():
    assert [plural(1, "gap"), plural(0, "gap"), plural(1200, "gap"), plural(2, "entry", "entries")] == [
        "1 gap",
        "0 gaps",
        "1,200 gaps",
        "2 entries",
    ]
