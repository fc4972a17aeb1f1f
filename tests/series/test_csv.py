"""CSV series are read, plain or compressed; what is wrong is told with file and line."""

import gzip

import pytest

from lnetstat import series
from lnetstat.errors import LnetstatError


def test_columns_come_back_as_numbers_and_empty_cells_as_missing(written):
    table = series.load(written("time,value,ping_rate,source,comment\n1.5,10,,a,x\n2.5,-3,4,b,y\n"))
    assert list(table) == ["time", "value", "ping_rate", "source"]
    assert table["value"].tolist() == [10, -3]
    assert table["ping_rate"].isna().tolist() == [True, False]


@pytest.mark.parametrize("text", ["time,value\r\n1,2\r\n3,4\r\n", "time, value\n1, 2\n3, 4", "\ufefftime,value\n1,2\n3,4\n"])
def test_other_line_ends_spaces_and_marks_are_fine(written, text):
    assert series.load(written(text))["value"].tolist() == [2, 4]


def test_gzip_is_read_whatever_the_name(written):
    assert len(series.load(written(gzip.compress(b"time,value\n1,2\n"), "x.csv"))) == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,b\n1,2\n", "line 1: 'a,b': expected column names with time and value"),
        ("time,time,value\n1,2,3\n", "time stands there twice"),
        ("time,value\n", "no samples"),
        ("time,value\n2,x\n", "line 2: value is 'x': expected a number"),
        ("time,value\n2,3,4\n", "line 2: '2,3,4': expected 2 columns, found 3"),
        ("time,value\n,2\n", "line 2: no time"),
        ("time,value\n1700000000000000000,2\n", "milli- or nanoseconds"),
        (b"\x00\x01\x02time,value\n", "binary data"),
        (gzip.compress(b"time,value\n1,2\n", mtime=0)[:-9], "damaged gzip"),
    ],
)
def test_bad_files_are_told_in_one_line(written, data, told):
    path = written(data)
    with pytest.raises(LnetstatError) as caught:
        series.load(path)
    message = str(caught.value)
    assert told in message
    assert path in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("body", "kept", "told"),
    [
        ("1,2\n2\n3,4\n", 2, "line 3: '2': expected 2 columns, found 1; 1 of 3 rows"),
        ("1,2\n2,x\n3,4\n4,y\n", 2, "line 3: value is 'x': expected a number; 2 of 4 rows"),
        ("1,2\n2,3,4\n3,4\n", 2, "line 3: '2,3,4': expected 2 columns, found 3; 1 of 3 rows"),
        ("5,1\n" * 3000, 1, "line 3: time 5 stands there already; 2,999 of 3,000 rows"),
        (
            "1,2\n1700000000000,3\n3,4\n",
            2,
            "line 3: time 1700000000000: expected seconds since the epoch, not milli- or nanoseconds (--time-unit names others); 1 of 3",
        ),
        ("1700000000,2\n0,3\n1700000001,4\n", 2, "line 3: time 0: ten years and more from the other rows; 1 of 3"),
        ("1,2\n2,1e308\n3,inf\n4,4\n", 2, "line 3: value is 1e+308: no such number is real; 2 of 4 rows"),
        ("1,2\n20000000000,3\n3,4\n", 2, "line 3: time 20000000000: expected seconds"),
        ("1,2\n\n,5\n4,4\n", 2, "line 4: no time"),
    ],
)
def test_bad_rows_are_skipped_and_told_in_one_line(written, body, kept, told):
    path = written("time,value\n" + body)
    table = series.load(path)
    (problem,) = table.attrs["problems"]
    assert told in problem
    assert problem.startswith(f"{path}: line ")
    assert "\n" not in problem
    assert len(table) == kept
    assert table.index.tolist() == list(range(kept))


def test_credits_that_fit_no_integer_are_skipped(written):
    (problem,) = series.load(written("time,value,tx\n1,2,8\n2,3,1e25\n")).attrs["problems"]
    assert "line 3: tx is 1e+25" in problem


def test_good_files_have_no_problems_and_sources_may_share_a_time(written):
    assert series.load(written("time,value,source\n1,2,a\n1,,b\n2,2,a\n2,3,b\n")).attrs["problems"] == []


def test_a_file_without_a_good_row_is_an_error(written):
    with pytest.raises(LnetstatError, match=r"line 2: value is 'x': expected a number"):
        series.load(written("time,value\n1,x\n2\n"))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(LnetstatError, match="No such file"):
        series.load(str(tmp_path / "none.csv"))


def test_a_series_is_known_by_name_or_first_line(tmp_path, written):
    assert series.is_series("x.csv.gz")
    assert series.is_series(written("time,value\n1,2\n", "series"))
    assert not series.is_series(written("nid refs state\n", "peers"))
    assert not series.is_series(str(tmp_path))


def rows(times):
    return "time,value\n" + "".join(f"{time:.2f},1\n" for time in times)


def test_rows_in_another_order_are_only_sorted_later(written):
    newest_first = [1000 - n for n in range(500)]
    pieces = [*range(500, 1000), *range(500)]
    for times in (newest_first, pieces):
        assert "cannot_tell" not in series.load(written(rows(times))).attrs


def test_a_clock_that_was_set_back_cannot_tell(written):
    table = series.load(written(rows([*range(1000), *(500.5 + n for n in range(1000))])))
    assert "times step back at line 1002 and run through the same stretch again" in table.attrs["cannot_tell"]


def stepped(again_value, count=60):
    """A clock that is set back by `count` whole seconds: the stamps of the stretch before come again."""
    times = [*range(1000), *range(1000 - count, 2000)]
    return "time,value\n" + "".join(f"{time},{again_value(row) if row >= 1000 else time % 7}\n" for row, time in enumerate(times))


def test_a_clock_set_back_by_whole_samples_throws_no_row_away(written):
    table = series.load(written(stepped(lambda row: row % 5)))
    assert "times step back at line 1002 and run through the same stretch again" in table.attrs["cannot_tell"]
    assert table.attrs["problems"] == []
    assert len(table) == 2060


def test_copies_of_rows_are_skipped_and_no_clock_that_was_set_back(written):
    """Two exports of one series put together: the rows in which they overlap stand there twice, the last perhaps corrected."""
    for corrected in (0, 1):
        table = series.load(written(stepped(lambda row, bad=corrected: (row - 60) % 7 + (bad if row == 1059 else 0))))
        assert "cannot_tell" not in table.attrs
        assert "line 1002: time 940 stands there already; 60 of 2,060 rows" in table.attrs["problems"][0]
        assert table["time"].tolist() == list(range(2000))


def test_a_row_that_is_bad_does_not_hide_the_good_one_of_its_time(written):
    assert series.load(written("time,value\n1,2\n2,1e308\n2,3\n"))["value"].tolist() == [2, 3]


def test_a_series_that_cannot_tell_is_not_put_beside_others_and_says_why(written):
    paths = [written(stepped(lambda row: row % 5), "back.csv"), written(rows(range(100)), "good.csv")]
    with pytest.raises(LnetstatError, match=r"back.csv: times step back at line 1002 .* give it alone"):
        series.load_all(paths, series.Clock(), [])
