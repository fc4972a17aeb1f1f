"""One-value parameters: NAME=VALUE lines, bare values named by their snapshot, values of several lines."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.errors import ParseError
from lnetstat.model import Parsed
from lnetstat.tables import parse as parse_named
from lnetstat.tables import tunables
from lnetstat.tables.tunables import BARE, LINES, TunablesRow, named, parse, render


def test_lines_give_numbers_and_words() -> None:
    parsed = parse("timeout=100\nversion=2.17.0_dirty\nhealth_check=NOT HEALTHY\nforwarding=\nfail_loc=-2147483648\nnid=007\n")
    assert parsed.layout == LINES
    assert parsed.problems == ()
    assert [(row.name, row.value) for row in parsed.rows] == [
        ("timeout", 100),
        ("version", "2.17.0_dirty"),
        ("health_check", "NOT HEALTHY"),
        ("forwarding", ""),  # set to nothing, which is not the same as not there
        ("fail_loc", -2147483648),
        ("nid", "007"),  # not 7: what is written back must be what was read
    ]


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("timeout", "100\n", TunablesRow("timeout", 100)),
        ("ksocklnd.peer_credits", "8\n", TunablesRow("ksocklnd.peer_credits", 8)),
        ("lnet.networks", "o2ib(ib0),tcp(eth0)\n", TunablesRow("lnet.networks", "o2ib(ib0),tcp(eth0)")),
        ("suppress_pings", "N\r\n", TunablesRow("suppress_pings", "N")),
        ("debugfs.lnet.lnet_lnd_timeout", "49\n", TunablesRow("lnet_lnd_timeout", 49)),
        ("debugfs.lnet.daemon_file", "", TunablesRow("daemon_file", "")),
        ("cpu_partition_table", "0\t: 0 1\n1\t: 2 3\n", TunablesRow("cpu_partition_table", "0\t: 0 1\n1\t: 2 3")),
        ("params.ksocklnd", "credits=4\n", TunablesRow("ksocklnd.credits", 4)),
    ],
)
def test_a_bare_value_takes_the_snapshots_name(name: str, text: str, row: TunablesRow) -> None:
    table, parsed = parse_named(name, text)
    assert table.name == "tunables"
    assert parsed.rows == (row,)
    assert parsed.problems == ()


def test_a_bare_value_without_a_name_is_no_tunable() -> None:
    assert not tunables.looks_like("100\n")
    assert tunables.looks_like("timeout=100\nping_interval=25\n")
    with pytest.raises(ParseError, match="name it with --table"):
        parse_named("", "100\n")


def test_a_cut_number_is_told() -> None:
    assert "cut" in parse("timeout=1").problems[0].expected
    assert "cut" in parse("10").problems[0].expected


@pytest.mark.parametrize(
    "text",
    [
        "error: get_param: param_path 'version': No such file or directory\n",
        "cat: /sys/fs/lustre/version: No such file or directory\n",
        "\x00\x01\x02",
        "x" * 1_000_000,
    ],
)
def test_what_is_no_value_is_one_clear_error(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert len(str(caught.value)) < 300


def test_a_bad_line_is_a_problem() -> None:
    parsed = parse("timeout=100\nwhat is this\nat_max=600\n")
    assert len(parsed.rows) == 2
    assert [(p.line, p.expected) for p in parsed.problems] == [(2, "NAME=VALUE")]


_names = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=20).filter(lambda name: not name[0].isdigit())
_word = st.text(st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="=:"), min_size=1, max_size=30)
_words = _word.map(str.strip).filter(lambda word: word and not tunables._NUMBER.match(word))
_values = st.one_of(st.integers(-(2**63), 2**64), _words, st.lists(_words, min_size=2, max_size=4).map("\n".join))
_rows = st.lists(st.builds(lambda name, value: TunablesRow(name, value), _names, _values), min_size=1, max_size=10)


@given(_rows)
def test_render_is_the_inverse_of_parse(rows: list[TunablesRow]) -> None:
    parsed = parse(render(Parsed(tuple(rows), LINES, {}, ()), LINES))
    assert parsed.rows == tuple(rows)
    assert parsed.problems == ()


@given(_values)
def test_a_bare_value_comes_back(value: int | str) -> None:
    parsed = parse(render(Parsed((TunablesRow("", value),), BARE, {}, ()), BARE))
    assert named(parsed, "x").rows == (TunablesRow("x", value),)
