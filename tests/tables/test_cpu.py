"""/proc/stat: what counts as busy, old kernels, other lines, cuts."""

from pathlib import Path

import pytest

from lnetstat.errors import ParseError
from lnetstat.tables import table_looking_like
from lnetstat.tables.cpu import CpuRow, parse

TEXT = """\
cpu  200 10 50 1000 30 3 7 2 60 1
cpu0 100 5 25 500 15 1 4 1 30 0
cpu1 100 5 25 500 15 2 3 1 30 1
intr 1 2 3
btime 1795171200
softirq 5 6 7
"""


def test_busy_is_what_is_neither_idle_nor_waiting() -> None:
    parsed = parse(TEXT)
    assert parsed.problems == ()
    assert parsed.facts == {"btime": 1795171200}
    assert parsed.rows[0] == CpuRow("cpu", 200 + 10 + 50 + 3 + 7 + 2, 7, 30, {"guest": "60", "guest_nice": "1"})
    assert [row.cpu for row in parsed.rows] == ["cpu", "cpu0", "cpu1"]
    assert sum(row.busy for row in parsed.rows[1:]) == parsed.rows[0].busy


def test_kernels_without_steal_time() -> None:
    assert parse("cpu 1 2 3 4 5 6 7\n").rows == (CpuRow("cpu", 19, 7, 5, {}),)


def test_a_cut_line_is_told() -> None:
    assert "cut" in parse(TEXT[:30]).problems[0].expected
    assert parse(TEXT[:45]).problems[0].line == 2


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu 1 2 3\n", "cpus 1 2 3 4 5 6 7\n", "x" * 1_000_000])
def test_what_is_no_stat_is_one_clear_error(text: str) -> None:
    with pytest.raises(ParseError, match="jiffies"):
        parse(text)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="no /proc/stat here")
def test_this_machine() -> None:
    text = Path("/proc/stat").read_text()
    found = table_looking_like(text)
    assert found is not None
    assert found.name == "cpu"
    assert parse(text).problems == ()
    assert parse(text).rows[0].busy > 0
