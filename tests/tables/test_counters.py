"""`stats` files: every form of snapshot_time, the units of all releases, cut lines, and render as the inverse of parse."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.errors import ParseError
from lnetstat.model import Parsed
from lnetstat.tables import counters
from lnetstat.tables.counters import BARE, MICRO, NANO, START, CountersRow, parse, render

OST = """\
snapshot_time             1704924117.040584137 secs.nsecs
start_time                1704403917.045921397 secs.nsecs
elapsed_time              520199.994662740 secs.nsecs
req_waittime              7250 samples [usecs] 18 57890 20260638 208130000000
req_timeout               7250 samples [secs] 5 10 36250 181325
reqbuf_avail              14490 samples [bufs] 61 64 918430 58214371
connect                   3 samples [reqs]
read_bytes                2 samples [bytes] 4096 1048576 1052672
obd_ping                  6664 samples [usecs] 9 160186 746368 1000000001
"""


def test_a_file_of_today_is_read_whole() -> None:
    parsed = parse(OST)
    assert parsed.layout == START
    assert parsed.problems == ()
    assert parsed.facts == {"snapshot_time": 1704924117_040584137, "start_time": 1704403917_045921397}
    assert [row.counter for row in parsed.rows] == ["req_waittime", "req_timeout", "reqbuf_avail", "connect", "read_bytes", "obd_ping"]
    assert parsed.rows[-1] == CountersRow("obd_ping", 6664, "usec", 9, 160186, 746368, 1000000001)
    assert parsed.rows[1].unit == "sec"  # of `secs`, so that releases can be compared
    assert parsed.rows[3] == CountersRow("connect", 3, "reqs", None, None, None, None)  # no values printed is not 0
    assert parsed.rows[4].sum == 1052672
    assert parsed.rows[4].sumsq is None


@pytest.mark.parametrize(
    ("line", "expected_ns", "layout"),
    [
        ("snapshot_time             1420750934.57342 secs.usecs", 1420750934_057342_000, MICRO),  # not .57342: the padding is missing
        ("snapshot_time             1284241188.775657 secs.usecs", 1284241188_775657_000, MICRO),
        ("snapshot_time             1510782606.986598931 secs.nsecs", 1510782606_986598931, NANO),
        ("snapshot_time             1510782606.     5678 secs.nsecs", 1510782606_000005678, NANO),  # %9lu of mdc and osc, 2.10-2.14
        ("snapshot_time             1181074093.276072", 1181074093_276072_000, NANO),
    ],
)
def test_every_form_of_snapshot_time(line: str, expected_ns: int, layout: str) -> None:
    parsed = parse(line + "\n")
    assert parsed.facts == {"snapshot_time": expected_ns}
    assert parsed.problems == ()
    assert parsed.rows == ()
    assert parsed.layout == layout


@pytest.mark.parametrize("line", ["snapshot_time x", "snapshot_time 1.1234567 secs.usecs", "snapshot_time 12 secs.", "snapshot_time"])
def test_a_time_that_is_none_is_no_fact(line: str) -> None:
    parsed = parse(line + "\nobd_ping 1 samples [usec] 1 1 1 1\n")
    assert "snapshot_time" not in parsed.facts
    assert any(problem.line == 1 and "SECONDS.FRACTION" in problem.expected for problem in parsed.problems)


def test_a_sum_of_squares_may_be_negative_or_beyond_63_bits() -> None:
    parsed = parse(
        "snapshot_time 1.000000 secs.usecs\na 2 samples [usec] 1 2 3 -8223372036854775808\nb 2 samples [bytes] 1 2 3 18446744073709551615\n"
    )
    assert [row.sumsq for row in parsed.rows] == [-8223372036854775808, 18446744073709551615]
    assert parsed.problems == ()


def test_a_counter_without_samples_is_zero_and_not_absent() -> None:
    parsed = parse("snapshot_time 1.000000001 secs.nsecs\ncache_hit                 0 samples [pages] 0 0 0\n")
    assert parsed.rows == (CountersRow("cache_hit", 0, "pages", 0, 0, 0, None),)


def test_names_with_blanks_and_names_that_stand_twice() -> None:
    parsed = parse(
        "snapshot_time 1.000000001 secs.nsecs\nthandle starting 5 samples [usec] 1 2 3\nstatfs 7 samples [reqs]\nstatfs 9 samples [reqs]\n"
    )
    assert [(row.counter, row.samples) for row in parsed.rows] == [("thandle starting", 5), ("statfs", 7), ("statfs_2", 9)]


def test_numbers_after_the_known_ones_are_kept() -> None:
    parsed = parse("snapshot_time 1.000000001 secs.nsecs\nx 1 samples [usec] 1 2 3 4 55\n")
    assert parsed.rows[0].extra == {"column_6": "55"}


@pytest.mark.parametrize(
    "line",
    [
        "obd_ping 1 samples",
        "obd_ping 1 samples usec 1 2 3",
        "obd_ping 1 samples [usec] 1",
        "obd_ping 1 samples [usec] 1 2",
        "obd_ping 1_0 samples [usec]",
    ],
)
def test_a_broken_row_is_a_problem_and_the_others_stand(line: str) -> None:
    parsed = parse(OST + line + "\n")
    assert len(parsed.rows) == 6
    assert [problem.line for problem in parsed.problems] == [10]


@pytest.mark.parametrize("cut", range(1, len(OST)))
def test_a_cut_text_never_gives_a_wrong_number_without_a_word(cut: int) -> None:
    whole = parse(OST)
    try:
        parsed = parse(OST[:cut])
    except ParseError:
        return
    sound = [row for row in parsed.rows if row in whole.rows]
    told = any(problem.line == OST[:cut].count("\n") + 1 for problem in parsed.problems)
    assert len(sound) >= len(parsed.rows) - told
    assert told or OST[:cut].endswith(("\n", "secs.nsecs"))
    assert all(whole.facts[name] == value for name, value in parsed.facts.items())


def test_carriage_returns_and_a_missing_header() -> None:
    assert parse(OST.replace("\n", "\r\n")) == parse(OST)
    headless = parse("\n".join(OST.split("\n")[3:]))
    assert headless.layout == BARE
    assert len(headless.rows) == 6
    assert headless.facts == {}
    assert "snapshot_time" in headless.problems[0].expected


@pytest.mark.parametrize("text", ["", "\n\n", "hello\n", "\x00\x01\x02", "x" * 1_000_000, "nid refs state\n"])
def test_what_is_no_stats_file_is_one_clear_error(text: str) -> None:
    with pytest.raises(ParseError, match="snapshot_time") as caught:
        parse(text)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


def test_other_formats_are_left_alone() -> None:
    assert counters.looks_like(OST)
    assert counters.looks_like(OST.split("\n", 3)[3])
    for text in (
        "snapshot_time:         1284151749.963667 (secs.usecs)\n",
        "job_stats:\n",
        "nid refs state last\n",
        "",
        "samples samples samples",
    ):
        assert not counters.looks_like(text)


_names = st.text(string.ascii_lowercase + string.digits + "_", min_size=1, max_size=30).filter(lambda name: name not in ("samples",))
_wide = st.integers(0, 2**64 - 1)
_values = st.one_of(
    st.just((None, None, None, None)),
    st.tuples(_wide, _wide, _wide, st.none()),
    st.tuples(_wide, _wide, _wide, st.integers(-(2**63), 2**64 - 1)),
)
_rows = st.lists(
    st.builds(
        lambda name, n, unit, v: CountersRow(name, n, unit, *v), _names, _wide, st.sampled_from(["usec", "sec", "reqs", "bytes"]), _values
    ),
    unique_by=lambda row: row.counter,
    max_size=12,
)


@given(_rows, st.integers(0, 2**61), st.integers(0, 2**61), st.sampled_from([MICRO, NANO, START]))
def test_render_is_the_inverse_of_parse(rows: list[CountersRow], snapshot_ns: int, start_ns: int, layout: str) -> None:
    text = render(Parsed(tuple(rows), layout, {"snapshot_time": snapshot_ns, "start_time": start_ns}, ()), layout)
    parsed = parse(text)
    assert parsed.rows == tuple(rows)
    assert parsed.problems == ()
    assert parsed.layout == layout
    assert parsed.facts["snapshot_time"] == (snapshot_ns if layout != MICRO else snapshot_ns // 1000 * 1000)


def test_render_writes_what_lustre_writes() -> None:
    assert render(parse(OST), START) == OST
