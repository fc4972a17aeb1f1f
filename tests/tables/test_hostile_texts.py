"""Arbitrary and damaged texts: a table parses or raises ParseError in one line, and nothing else ever comes out."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lnetstat.errors import ParseError
from lnetstat.model import Parsed, Snapshot, State, Table
from lnetstat.tables import builtin_tables, samples, split, table_looking_like
from lnetstat.tables._known import expected_instead

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
OWN = (
    "snapshot_time  1704924117.040584137 secs.nsecs\nstart_time  1704403917.04 secs.nsecs\nobd_ping   664 samples [usecs] 9 16 74 1\n",
    "cpu  200 10 50 1000 30 3 7 2 60 1\ncpu0 100 5 25 500 15 1 4 1 30 0\nintr 1 2 3\nbtime 1795171200\n",
    "time: 1554894618.8921\nnpeers: 15\nnconns: 7\nRDMAQ nstalls: 12\ndev n_schedule: -1609036116\n",
    "timeout=100\nosc.a.stats=\nsnapshot_time 1.5 secs.usecs\nx 1 samples [usec]\nerror: get_param: param_path 'nis': no\n",
    'net:\n    - net type: tcp\n      local NI(s):\n        - nid: 1@tcp\n          status: up\n          CPT: "[0,1]"\n',
    "peer:\n-     primary nid: 1@tcp\n      peer ni:\n      -     nid: 1@tcp\n            min_tx_credits: 4294967233\nglobal:\n    a: 0\n",
    "routing:\n    - cpt[0]:\n          tiny:\n              credits: 5\n    - enable: 1\nbuffers:\n    tiny: 5\nstatistics:\n    x: 0\n",
    'show:\n    - net:\n          errno: -100\n          descr: "cannot get networks: Network is down"\n',
    "llstat: STATS on 1/1/26 p on n\nsnapshot_time 17.25\nx 1\np @ 27.25\n"
    "Name Cur.Count Cur.Rate #Events Unit last min avg max stddev\nx 1 0 2 [usec] 3 1 1.50 2 0.50\n",
    "Timestamp [Name Count Rate Total Unit]...\n---\n0       x_rq 11 1 22 [reqs]   x 31 35 660 [usecs]\n",
    "nid refs state last max rtr min tx min queue\n10.2.0.21@tcp1 3 up -1 2 2 -1 0 -7 2097296\n",
    "lnet.stats = 0 28 0 1 2 3 4 5 6 7 8\nlnet.debug_mb = 5\n",
)
SHARED = [path.read_bytes().decode("utf-8", "surrogateescape")[:3000] for path in sorted(CORPUS.glob("*/*"))]
TABLES = list(builtin_tables().values())

_junk = st.text(st.characters(codec=None, exclude_categories=[]), max_size=20)
_marks = ["\n", "\r\n", "\t", "\x00", "\ufeff", " ", "-", "=", ":", "[", "{", "&a", "*a", "9" * 30, "-1", "@", "\x1c", "\u0663", "\udc80"]
_snippets = st.one_of(_junk, st.sampled_from(_marks))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A good text, cut, doubled, overwritten in one to five places."""
    text = draw(st.sampled_from([*OWN, *SHARED]))
    for _ in range(draw(st.integers(1, 5))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 40)))
        middle = draw(st.one_of(_snippets, st.just(text[begin:end] * 2)))
        text = text[:begin] + middle + text[end:]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


def outcome(table: Table, text: str) -> Parsed | ParseError:
    try:
        return table.parse(text)
    except ParseError as error:
        return error


def check(table: Table, text: str) -> None:
    table.looks_like(text)
    result = outcome(table, text)
    if isinstance(result, ParseError):
        assert result.table == table.name
        assert result.line_number >= 1
        assert "\n" not in str(result)
        assert len(str(result)) < 1000
        return
    assert all(isinstance(row, table.row) for row in result.rows)
    assert all(problem.line >= 1 and "\n" not in problem.text for problem in result.problems)


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_a_damaged_text_is_parsed_or_refused_by_every_table(text: str) -> None:
    for table in TABLES:
        check(table, text)


@settings(max_examples=800, deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=[]), max_size=300))
def test_an_arbitrary_text_is_parsed_or_refused_by_every_table(text: str) -> None:
    for table in TABLES:
        check(table, text)
    table_looking_like(text)
    expected_instead("", text)


@settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged(), st.sampled_from(["", "peers", "dump", "osc.X.stats", "lnetctl_export.yaml", "proc/stat", "timeout"]))
def test_the_way_from_snapshot_to_samples_never_raises(text: str, name: str) -> None:
    for sample in samples(Snapshot(name, "h", 0, None, 0, State.OK, 0, frozenset(), text)):
        assert (sample.state is State.FAILED) <= bool(sample.problems)
    assert sum(len(part) for _, part in split(name, text)) <= len(text) + 1


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize(
    "text",
    ["", "\x00" * 100, "x" * 1_000_000, "1 " * 500_000, "\n" * 100_000, "=" * 100_000, "a:\n " * 5],
    ids=["empty", "zeros", "one long word", "one long line", "no words", "equals signs", "levels"],
)
def test_extreme_texts(table: Table, text: str) -> None:
    check(table, text)


def test_a_good_text_of_one_table_is_not_taken_by_another() -> None:
    for text in OWN:
        for _, part in split("", text):
            takers = [table.name for table in TABLES if table.looks_like(part)]
            assert len(takers) <= 1, (takers, part)
