"""kgnilnd's totals: keys with blanks, wrapped counters, the unpadded time, unknown keys."""

import pytest

from lnetstat.errors import ParseError
from lnetstat.tables import table_looking_like
from lnetstat.tables.kgnilnd import parse

TEXT = """\
time: 1554894618.8921
ntx: 0
npeers: 15
nconns: 7
ndgrams: 4
RDMAQ bytes_left: 9223372029833786911
RDMAQ nstalls: 12
dev n_schedule: -1609036116
SMSG tx_bytes: 75792495969
VMAP short: 3
"""


def test_the_keys_become_columns() -> None:
    parsed = parse(TEXT)
    (row,) = parsed.rows
    assert parsed.problems == ()
    assert parsed.facts == {"time": 1554894618_008921_000}
    assert (row.ntx, row.npeers, row.rdmaq_bytes_left, row.rdmaq_nstalls) == (0, 15, 9223372029833786911, 12)
    assert row.dev_n_schedule == -1609036116
    assert row.smsg_tx_bytes == 75792495969
    assert row.smsg_nrx is None  # not printed is not 0
    assert row.extra == {"VMAP short": "3"}


def test_it_is_known_by_its_words() -> None:
    found = table_looking_like(TEXT)
    assert found is not None
    assert found.name == "kgnilnd"


def test_bad_and_cut_lines_are_told() -> None:
    parsed = parse(TEXT + "rubbish\nRDMA ntx: 18")
    assert [problem.line for problem in parsed.problems] == [11, 12]
    assert "cut" in parsed.problems[1].expected
    assert parsed.rows[0].rdma_ntx == 18


@pytest.mark.parametrize("text", ["", "a: b\n", "ntx 1\n", "x" * 1_000_000])
def test_what_is_something_else_is_one_clear_error(text: str) -> None:
    with pytest.raises(ParseError, match="npeers"):
        parse(text)
