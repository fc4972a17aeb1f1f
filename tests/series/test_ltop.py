"""Logs of `ltop -r`: bytes of OSTs as counters, each sample once, in the layout of old and new releases."""

import numpy as np
import pytest

from lnetstat import series
from lnetstat.analysis import analyze_series
from lnetstat.errors import LnetstatError

BEGIN = 1_700_000_000


def new(name, read, written):
    return f"{name};10;20;30;40;{read};{written};7;8;9;1;2;3;4;COMPLETE 8/8 0s remaining;"


def old(name, read, written):
    return f"{name};10;20;30;40;{read};{written};8;COMPLETE;"


def line(now, received, osts, node="oss1"):
    return f"{now} {received} {node} lmt_ost 2;{node};1.5;40.0;{''.join(osts)}\n"


@pytest.mark.parametrize("layout", [new, old])
def test_bytes_are_counters_by_ost_and_each_sample_counts_once(written, layout):
    text = f"{BEGIN} {BEGIN} mds1 lmt_mdt 1;mds1;1.0;2.0;fs-MDT0000;1;2;3;4;open;1;2;3;\n"
    for step in range(4):
        osts = [
            layout("fs-OST0000_UUID", 100 * step, 5),
            layout("fs-OST0001", 10 * step, 0),
            *[layout(f"fs-OST{n:04x}", 0, 0) for n in (2, 3, 4)],
        ]
        for again in range(2):
            text += line(BEGIN + 5 * step + 2 * again, BEGIN + 5 * step, osts)
    table = series.load(written(text, "ltop.log"))
    assert table.attrs["kind"] == "counter"
    assert table.attrs["problems"] == []
    assert "every 5 s" in table.attrs["notes"][0]
    first = table[table["source"] == "fs-OST0000"]
    assert first["time"].tolist() == [BEGIN + 5 * step for step in range(4)]
    assert first["value"].tolist() == [5, 105, 205, 305]
    assert table["source"].nunique() == 5


def test_dips_of_all_osts_are_found(written):
    random = np.random.default_rng(2)
    totals = np.zeros(6)
    text = ""
    for step in range(900):
        share = 0.2 if step % 20 < 2 else 1.0
        totals += 5e9 * share * (1 + 0.05 * random.standard_normal(6))
        stamp = BEGIN + 5 * step
        text += line(stamp, stamp, [new(f"fs-OST{n:04x}", int(total), 0) for n, total in enumerate(totals)])
    table = series.load(written(text, "ltop.log"))
    found = analyze_series(table, kind=table.attrs["kind"]).dead_time
    assert found.detected
    assert found.period_s == pytest.approx(100, abs=0.5)
    assert found.instance == "6 sources"


def test_torn_lines_are_told_with_the_first(written):
    good = line(BEGIN, BEGIN, [new("fs-OST0000", 1, 2)])
    text = good + line(BEGIN + 5, BEGIN + 5, [new("fs-OST0000", 1, 2)[:-9]]) + "garbage\n" + line(BEGIN + 9, BEGIN + 9, [new("a", "x", 2)])
    table = series.load(written(text, "ltop.log"))
    assert len(table) == 1
    assert "line 2: " in table.attrs["problems"][0]
    assert table.attrs["problems"][0].endswith("3 lines like this were skipped")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{BEGIN} {BEGIN} mds1 lmt_mdt 1;mds1;1;2;x;\n", "no lmt_ost records"),
        (f"{BEGIN} {BEGIN} oss1 lmt_ost 1;oss1;fs-OST0000;1;2;3;4;5;6\n", "version 2"),
        (f"{BEGIN} {BEGIN} oss1 lmt_ost 2;oss1;1;2;\n", "for each OST, found 0"),
    ],
)
def test_logs_without_bytes_are_one_line(written, text, told):
    with pytest.raises(LnetstatError, match=told):
        series.load(written(text, "ltop.log"))
