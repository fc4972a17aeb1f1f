"""lnetctl's YAML of 2.7 to 2.17: columns, credits below zero, error documents, and indentation that was lost."""

import pytest

from lnetstat.errors import ParseError
from lnetstat.tables import builtin_tables, lnetctl, table_looking_like, table_named
from lnetstat.tables.lnetctl import parse_global, parse_net, parse_peer, parse_route, parse_routing, parse_stats

NET_2_15 = """\
net:
    - net type: lo
      local NI(s):
        - nid: 0@lo
          status: up
          lnd tunables:
    - net type: tcp
      local NI(s):
        - nid: 10.1.0.1@tcp
          status: down
          interfaces:
              0: eth1
              1: eth2
          statistics:
              send_count: 22
              recv_count: 21
              drop_count: 0
          sent_stats:
              put: 20
          health stats:
              fatal_error: 1
              health value: 900
              no route: 0
              timeouts: 4
              error: 3
          tunables:
              peer_credits: 8
              credits: 256
          dev cpt: -1
          CPT: "[0,1]"
"""
NET_2_17 = """\
net:
-     net type: tcp
      local NI(s):
      -     nid: fd00::1@tcp
            status: up
            health stats:
                  health value: 1000
"""
PEER_2_17 = """\
peer:
-     primary nid: 10.1.0.11@tcp
      Multi-Rail: true
      peer state: 273
      peer ni:
      -     nid: 10.1.0.11@tcp
            state: up
            max_ni_tx_credits: 2
            available_tx_credits: 4294967295
            min_tx_credits: 4294967233
            tx_q_num_of_buf: 1048648
            available_rtr_credits: 2
            min_rtr_credits: -3
            refcount: 1
            statistics:
                  send_count: 4294967290
      -     nid: 10.1.11.1@tcp
            state: NA
"""
DOWN = 'show:\n    - net:\n          errno: -100\n          descr: "cannot get networks: Network is down"\n'


def test_one_row_per_interface_with_nested_keys_flattened() -> None:
    parsed = parse_net(NET_2_15)
    assert parsed.problems == ()
    lo, tcp = parsed.rows
    assert (lo.nid, lo.net, lo.status, lo.health_value, lo.send_count) == ("0@lo", "lo", "up", None, None)
    assert (tcp.nid, tcp.status, tcp.interfaces, tcp.send_count, tcp.dev_cpt, tcp.cpt) == (
        "10.1.0.1@tcp",
        "down",
        "eth1,eth2",
        22,
        -1,
        "[0,1]",
    )
    assert (tcp.health_value, tcp.fatal_error, tcp.no_route, tcp.timeouts, tcp.errors) == (900, 1, 0, 4, 3)
    assert (tcp.peer_credits, tcp.credits, tcp.peer_buffer_credits) == (8, 256, None)
    assert tcp.extra == {"sent_stats.put": "20"}


def test_the_indentation_of_2_17_and_an_ipv6_nid() -> None:
    (row,) = parse_net(NET_2_17).rows
    assert (row.nid, row.net, row.health_value) == ("fd00::1@tcp", "tcp", 1000)


def test_the_flat_form_of_2_7() -> None:
    parsed = parse_net("net:\n    - net: tcp\n      nid: 10.0.0.1@tcp\n      status: up\n      tunables:\n          credits: 256\n")
    assert [(row.nid, row.net, row.credits) for row in parsed.rows] == [("10.0.0.1@tcp", "tcp", 256)]
    assert "2.7" in parsed.layout


def test_credits_printed_unsigned_are_negative_and_counts_are_not() -> None:
    first, second = parse_peer(PEER_2_17).rows
    assert (first.tx_credits_max, first.tx_credits, first.tx_credits_min) == (2, -1, -63)
    assert (first.rtr_credits, first.rtr_credits_min, first.queue_bytes) == (2, -3, 1048648)
    assert first.send_count == 4294967290  # a count of 32 bits may be that large
    assert (first.multi_rail, first.peer_state, second.primary_nid, second.tx_credits) == (1, 273, "10.1.0.11@tcp", None)


def test_routes_and_routing() -> None:
    (route,) = parse_route(
        "route:\n    - net: o2ib18\n      gateway: 10.1.0.1@tcp\n      hop: -1\n      priority: 0\n      state: up\n"
    ).rows
    assert (route.net, route.gateway, route.hops, route.priority, route.state, route.type) == ("o2ib18", "10.1.0.1@tcp", -1, 0, "up", None)
    parsed = parse_routing(
        "routing:\n    - cpt[1]:\n          small:\n              npages: 1\n              nbuffers: 4096\n"
        "              credits: 4294967294\n              mincredits: -5\n    - enable: 1\nbuffers:\n    tiny: 512\n"
    )
    assert [(row.pool, row.cpt, row.count, row.credits, row.credits_min) for row in parsed.rows] == [("small", 1, 4096, -2, -5)]
    assert parsed.facts == {"enable": 1, "buffers_tiny": 512}
    assert parsed.problems == ()
    assert parse_routing("routing:\n    enable: 0\n").facts == {"enable": 0}


def test_stats_and_global() -> None:
    (row,) = parse_stats("statistics:\n    msgs_alloc: 0\n    send_count: 5\n    local_timeout_count: 2\n    brand_new: 7\n").rows
    assert (row.msgs_alloc, row.send_count, row.local_timeout_count, row.rst_alloc) == (0, 5, 2, None)
    assert row.extra == {"brand_new": "7"}
    parsed = parse_global("global:\n    numa_range: 0\n    transaction_timeout: 150\n    discovery: off\n")
    assert [(row.name, row.value) for row in parsed.rows] == [("numa_range", 0), ("transaction_timeout", 150), ("discovery", "off")]


@pytest.mark.parametrize(
    ("parse", "expected"), [(parse_net, "net"), (parse_peer, "peer"), (parse_stats, "statistics"), (parse_global, "global")]
)
def test_an_error_document_says_that_lnet_is_down(parse: object, expected: str) -> None:
    with pytest.raises(ParseError, match=f"'{expected}:', but LNet is down.*Network is down") as caught:
        parse(DOWN)  # type: ignore[operator]
    assert caught.value.line_number == 3
    found = table_looking_like(DOWN)
    assert found is not None
    assert found.name == "lnetctl_net"


def test_another_error_is_not_called_down() -> None:
    with pytest.raises(ParseError, match="lnetctl failed: Invalid argument"):
        parse_net('add:\n    - net:\n          errno: -22\n          descr: "Invalid argument"\n')


@pytest.mark.parametrize("parse", [parse_net, parse_stats, parse_global])
def test_silence_of_lnetctl_is_an_error_where_it_always_prints(parse: object) -> None:
    with pytest.raises(ParseError, match="the text is empty"):
        parse("")  # type: ignore[operator]


@pytest.mark.parametrize("parse", [parse_peer, parse_route, parse_routing])
def test_silence_of_lnetctl_is_an_empty_table_where_there_may_be_nothing(parse: object) -> None:
    parsed = parse("")  # type: ignore[operator]
    assert parsed.rows == ()
    assert "nothing" in parsed.layout


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("net:\n\t- net type: tcp\n", 2, "TAB"),
        ("net:\n- net type: tcp\nlocal NI(s):\n- nid: 1@tcp\n", 3, "left margin"),
        ("net:\n    - net type: tcp\n        nid: 1@tcp\n", 3, "YAML"),
        ("net:\n    - net type: [tcp\n", 2, "brackets"),
        ("net:\n    - net type: &x tcp\n", 2, "references"),
        ("net:\n    - net type: " + "x" * 1_000_000 + "\n", 2, "characters"),
    ],
)
def test_broken_indentation_is_one_clear_error_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(ParseError, match=words) as caught:
        parse_net(text)
    assert caught.value.line_number == line


@pytest.mark.parametrize(
    "text",
    [
        "net:\n" + "".join(" " * depth + "- a:\n" for depth in range(1, 900)),
        "net:\n " + "- " * 400 + "a\n",
        "net: " + "[" * 100_000,
        "net:\n" + " [\n" * 100_000,
    ],
    ids=["levels", "dashes", "one line", "many lines"],
)
def test_nesting_that_would_overflow_the_stack_of_libyaml_does_no_harm(text: str) -> None:
    try:
        parsed = parse_net(text)
    except ParseError:
        return
    assert parsed.rows == ()
    assert parsed.problems


def test_a_key_that_stands_twice_is_told() -> None:
    parsed = parse_stats("statistics:\n    send_count: 5\n    send_count: 6\n")
    assert "written over" in parsed.problems[0].expected


def test_an_entry_without_its_key_or_with_words_for_numbers_is_a_problem() -> None:
    parsed = parse_net(
        "net:\n    - nid: 1@tcp\n    - net type: tcp\n      local NI(s):\n"
        "        - nid: 2@tcp\n          dev cpt: x\n        - nid: 3@tcp\n"
    )
    assert [row.nid for row in parsed.rows] == ["3@tcp"]
    assert len(parsed.problems) == 2


@pytest.mark.parametrize("cut", range(6, len(PEER_2_17)))
def test_a_cut_document_never_gives_a_wrong_number_without_a_word(cut: int) -> None:
    whole = {row.nid: row for row in parse_peer(PEER_2_17).rows}
    try:
        parsed = parse_peer(PEER_2_17[:cut])
    except ParseError:
        return
    if PEER_2_17[:cut].endswith("\n"):
        assert all(
            value in (None, getattr(whole[row.nid], name))
            for row in parsed.rows
            for name, value in row._asdict().items()
            if name != "extra"
        )
    else:
        assert any("cut" in problem.expected for problem in parsed.problems)


def test_a_net_without_interfaces_is_a_problem_and_not_a_row() -> None:
    parsed = parse_net("net:\n    - net type: tcp\n      local NI(s):\n")
    assert parsed.rows == ()
    assert "local NI(s)" in parsed.problems[0].expected


def test_every_column_is_described_and_the_tables_are_found_by_name() -> None:
    assert [table.name for table in lnetctl.tables] == [
        f"lnetctl_{name}" for name in ("net", "peer", "route", "routing", "stats", "global")
    ]
    for table in builtin_tables().values():
        assert [column.name for column in table.columns] == [name for name in table.row._fields if name != "extra"], table.name
        assert all(column.help for column in table.columns)
        assert set(table.key) <= {column.name for column in table.columns}
    for name, table_name in {"lnetctl net show": "net", "lnetctl_peer_show_v4.yaml": "peer", "lnetctl_stats_show.yaml": "stats"}.items():
        found = table_named(name)
        assert found is not None
        assert found.name == f"lnetctl_{table_name}"
