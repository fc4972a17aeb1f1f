"""llstat: two meanings of `last`, told apart by header words; every width; the graph form; broken differences after a reset."""

import pytest

from lnetstat.errors import ParseError
from lnetstat.tables.llstat import GRAPH, MEAN, SUM, LlstatRow, looks_like, parse

OLD = """\
/usr/bin/llstat: STATS on 11/20/26 /proc/fs/lustre/ost/OSS/ost/stats on 10.10.0.21@o2ib
snapshot_time             1700000000.250000
req_waittime              11
obd_ping                  3
/proc/fs/lustre/ost/OSS/ost/stats @ 1700000010.254000
Name                      Cur.Count  Cur.Rate   #Events   Unit           last        min          avg        max    stddev
req_waittime              11         1          22        [usec]          351          8        30.00         57     15.91
obd_ping                  3          0          6         [usec]           88         19        45.00         77     21.23
"""
NEW = """\
/usr/bin/llstat: ost.OSS.ost.stats
 at Fri Nov 20 12:05:18 UTC 2026
 on 10.2.0.21@tcp1
snapshot_time             1795176318.088623410
start_time                1795175888.602053160
elapsed_time              429.486570250
req_waittime              7010

ost.OSS.ost.stats
 @ 1795176320.144649930
Name                    Count  Rate   #Events   Unit        last    min      avg        max   stddev
start_time              0      0      1795175888
req_waittime            240    120    7250      [usecs]     1510     18     2794      57890      500
"""
NARROW = """\
ost.OSS.ost.stats
 @ 1700000010.254000
Name                 Rate   #Events  Unit        last    min      avg        max
obd_ping             90     906      [usecs]       41      3       41         80
connect              0      5        [reqs]
"""
OLDEST = """\
/proc/fs/lustre/ost/OSS/ost_io/stats @ 1181074103.284895
Name        Cur.  Cur. #
            Count Rate Events Unit  last   min    avg       max    stddev
ost_write    8    0    8    [bytes] 169767 72914  212209.62 387579 91874.29
"""
GRAPHED = """\
Timestamp [Name Count Rate Total Unit]...
--------------------------------------------------------------------
0       req_waittime_rq 11 1 22 [reqs]   req_waittime 31 35 660 [usecs]   obd_ping_rq 3 0 6 [reqs]   obd_ping 29 8 270 [usecs]
10      req_waittime_rq 908 90 930 [reqs]   req_waittime 1962 178177 1782439 [usecs]
"""


def test_up_to_2_14_last_is_the_sum_of_the_interval() -> None:
    parsed = parse(OLD)
    assert parsed.layout == SUM
    assert parsed.facts == {"last": "sum"}
    assert parsed.problems == ()
    first, _, waited, pinged = parsed.rows
    assert first == LlstatRow("req_waittime", 1700000000_250000000, None, None, 11, None, None, None, None, None, None)
    assert waited == LlstatRow("req_waittime", 1700000010_254000000, 11, 1, 22, "usec", 351, 8, 30.0, 57, 15.91)
    assert (pinged.counter, pinged.count, pinged.events) == ("obd_ping", 3, 6)


def test_since_2_15_last_is_the_mean_of_the_interval() -> None:
    parsed = parse(NEW)
    assert parsed.layout == MEAN
    assert parsed.facts == {"last": "mean"}
    assert parsed.problems == ()
    assert [row.counter for row in parsed.rows] == ["req_waittime", "req_waittime"]  # start_time is no counter
    assert parsed.rows[1] == LlstatRow("req_waittime", 1795176320_144649930, 240, 120, 7250, "usec", 1510, 18, 2794.0, 57890, 500.0)


def test_narrow_windows_print_neither_count_nor_stddev() -> None:
    parsed = parse(NARROW)
    assert parsed.facts == {"last": "mean"}
    assert parsed.problems == ()
    assert parsed.rows[0] == LlstatRow("obd_ping", 1700000010_254000000, None, 90, 906, "usec", 41, 3, 41.0, 80, None)
    assert parsed.rows[1] == LlstatRow("connect", 1700000010_254000000, None, 0, 5, "reqs", None, None, None, None, None)


def test_the_header_of_1_6_is_broken_over_two_lines() -> None:
    parsed = parse(OLDEST)
    assert parsed.facts == {"last": "sum"}
    assert parsed.problems == ()
    assert parsed.rows == (LlstatRow("ost_write", 1181074103_284895000, 8, 0, 8, "bytes", 169767, 72914, 212209.62, 387579, 91874.29),)


def test_the_graph_form() -> None:
    parsed = parse("llstat: ost.OSS.ost.stats\n at noon\nsnapshot_time 1700000000.25\n" + GRAPHED)
    assert parsed.layout == GRAPH
    assert parsed.facts == {"last": "mean"}
    assert parsed.problems == ()
    assert [(row.counter, row.count, row.events, row.last, row.extra["seconds"]) for row in parsed.rows] == [
        ("req_waittime", 11, 22, 31, "0"),
        ("obd_ping", 3, 6, 29, "0"),
        ("req_waittime", 908, 930, 1962, "10"),
    ]
    assert parse("llstat: STATS on 06/06/07 PATH on NID\nsnapshot_time 1700000000.25\n" + GRAPHED).facts == {"last": "sum"}


def test_the_graph_form_without_its_title_does_not_say_what_last_is() -> None:
    parsed = parse(GRAPHED)
    assert parsed.facts == {}
    assert "sum or a mean" in parsed.problems[0].expected
    assert len(parsed.rows) == 3


def test_a_reset_between_two_samples_is_negative_and_not_huge() -> None:
    row = "req_waittime   18446744073709551605   1   22        [usec]          351          8        30.00         57     15.91\n"
    assert parse(OLD + row).rows[-1].count == -11


@pytest.mark.parametrize("cut", range(len(OLD) - 120, len(OLD)))
def test_a_cut_last_row_is_told(cut: int) -> None:
    parsed = parse(OLD[:cut])
    assert parsed.problems or OLD[cut - 1] == "\n"


@pytest.mark.parametrize("text", ["", "hello", "\x00", "Name of something\n", "x" * 1_000_000])
def test_what_is_no_llstat_is_one_clear_error(text: str) -> None:
    assert not looks_like(text)
    with pytest.raises(ParseError, match="llstat"):
        parse(text)
