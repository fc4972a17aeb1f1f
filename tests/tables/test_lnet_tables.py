"""peers, nis, buffers, stats, routes, routers: all layouts, ugly texts, and what must never be said wrongly."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnetstat.errors import ParseError
from lnetstat.model import Parsed
from lnetstat.tables import buffers, lnet_stats, nis, peers, routers, routes

number = st.integers(-(2**31), 2**31 - 1)
nids = st.one_of(
    st.builds("{}@{}".format, st.ip_addresses(v=4), st.sampled_from(["tcp", "o2ib", "o2ib18"])),
    st.builds("{}@gni".format, st.integers(0, 99999)),
    st.builds("{}@tcp".format, st.ip_addresses(v=6).map(str)),
    st.just("0@lo"),
)
unique = {"unique_by": lambda row: row.nid, "max_size": 8}
peers_rows = st.builds(
    peers.PeersRow, nid=nids, row=st.just(0), refs=number, state=st.sampled_from(peers.STATES), last_s=number, tx_credits_max=number,
    rtr_credits=number, rtr_credits_min=number, tx_credits=number, tx_credits_min=number, queue_bytes=number, extra=st.just({}),
)  # fmt: skip
nis_rows = st.builds(
    nis.NisRow, nid=nids, row=st.just(0), status=st.sampled_from(["up", "down"]), alive_s=number, refs=number, peer_credits=number,
    peer_buffer_credits=number, tx_credits_max=number, tx_credits=number, tx_credits_min=number, extra=st.just({}),
)  # fmt: skip


def parsed(rows, **facts):
    return Parsed(tuple(rows), "", facts, ())


@given(st.lists(peers_rows, **unique))
def test_peers_round_trip(rows):
    assert peers.parse(peers.render(parsed(rows), peers.TEN.name)).rows == tuple(rows)
    old = [row._replace(last_s=None) for row in rows]
    assert peers.parse(peers.render(parsed(old), peers.NINE.name)).rows == tuple(old)


@given(st.lists(nis_rows, **unique))
def test_nis_round_trip(rows):
    assert nis.parse(nis.render(parsed(rows), nis.NINE.name)).rows == tuple(rows)
    old = [row._replace(status=None, alive_s=None, peer_buffer_credits=None) for row in rows]
    assert nis.parse(nis.render(parsed(old), nis.SIX.name)).rows == tuple(old)


@given(st.integers(0, 4), st.data())
def test_buffers_round_trip(cpts, data):
    rows = [
        buffers.BuffersRow(pool, cpt, {"tiny": 0, "small": 1, "large": 256}[pool], *data.draw(st.tuples(number, number, number)))
        for pool in buffers.POOLS
        for cpt in range(cpts)
    ]
    assert buffers.parse(buffers.render(parsed(rows), "")).rows == tuple(rows)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=11, max_size=11))
def test_lnet_stats_round_trip(values):
    row = lnet_stats.LnetStatsRow(*values)
    assert lnet_stats.parse(lnet_stats.render(parsed([row]), "")).rows == (row,)


@given(st.lists(st.tuples(st.sampled_from(["o2ib", "tcp7"]), nids, st.integers(-1, 9), st.integers(0, 9), st.sampled_from(["up", "down"]))))
def test_routes_round_trip(found):
    counted = {}
    rows = []
    for net, router, hops, priority, state in found:
        counted[net, router] = counted.get((net, router), -1) + 1
        rows.append(routes.RoutesRow(net, router, counted[net, router], hops, priority, state))
    assert routes.parse(routes.render(parsed(rows, routing="enabled"), routes.FIVE.name))[:1] == (tuple(rows),)
    old = tuple(row._replace(priority=None) for row in rows)
    assert routes.parse(routes.render(parsed(old, routing="disabled"), routes.FOUR.name)).rows == old


@given(
    st.lists(st.tuples(nids, number, st.sampled_from(["up", "down"]), st.none() | st.integers(-(2**40), 10**6)), unique_by=lambda t: t[0])
)
def test_routers_round_trip(found):
    nine = tuple(routers.RoutersRow(nid, refs, 1, 2, state, 5, 0, deadline, -1) for nid, refs, state, deadline in found)
    assert routers.parse(routers.render(parsed(nine), routers.NINE.name)).rows == nine
    four = tuple(row._replace(alive_count=None, last_ping_s=None, ping_sent=None, deadline_s=None, down_ni=None) for row in nine)
    assert routers.parse(routers.render(parsed(four), routers.FOUR.name)).rows == four


PEERS = """nid                      refs state  last   max   rtr   min    tx   min queue
10.1.0.11@tcp               3    up    -1     2     0    -2     2     0 0
10.2.0.21@tcp1              3  down    -1     2     2    -1    -5    -7 2097296
"""
TEXTS = {
    peers: PEERS,
    nis: "nid                      status alive refs peer  rtr   max    tx   min\n"
    "10.1.0.1@tcp                 up     3    1    2    0     4    -4   -20\n",
    buffers: "pages count credits     min\n    0   512     512     510\n    1  4096    -100   -4086\n  256   256     256     254\n",
    lnet_stats: "0 13 0 179 179 11483 0 5952 6096 212909968 0\n",
    routes: "Routing disabled\nnet      hops priority   state router\ntcp1       -1        0      up 10.1.0.1@tcp\n",
    routers: "ref  rtr_ref alive router\n4          1    up 10.1.0.1@tcp\n",
}
MODULES = pytest.mark.parametrize("module", TEXTS, ids=lambda module: module.__name__.rpartition(".")[2])


@MODULES
def test_truncation_at_any_byte_never_gives_another_number_without_saying_so(module):
    text = TEXTS[module]
    whole = module.parse(text).rows
    for length in range(len(text)):
        try:
            cut = module.parse(text[:length])
        except ParseError:
            continue
        untrue = [row for row in cut.rows if row not in whole]
        assert not untrue or cut.problems, text[:length]
        assert len(untrue) <= 1


@MODULES
def test_crlf_and_blank_lines_change_nothing(module):
    text = TEXTS[module]
    assert module.parse(text.replace("\n", "\r\n")).rows == module.parse(text).rows
    assert module.parse("\ufeff" + text).rows == module.parse(text).rows


@MODULES
@pytest.mark.parametrize(
    "text", ["", "\n\n", "\x00\xff\x01", "root:x:0:0::/root:/bin/sh\n", "x" * 1_000_000, "cat: peers: Permission denied\n"]
)
def test_what_is_no_table_is_one_clear_error(module, text):
    with pytest.raises(ParseError) as error:
        module.parse(text)
    assert "expected" in str(error.value)
    assert len(str(error.value)) < 500
    assert str(error.value).isprintable()


@MODULES
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_damage_gives_rows_or_a_clear_error(module, data):
    text = TEXTS[module]
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, min(len(text), at + 8)))
    damaged = text[:at] + data.draw(st.text(max_size=6)) + text[until:]
    with contextlib.suppress(ParseError):
        module.parse(damaged)


def test_one_bad_row_is_told_and_the_others_are_kept():
    found = peers.parse(PEERS.replace("3    up", "3  sick"))
    assert [row.nid for row in found.rows] == ["10.2.0.21@tcp1"]
    assert [(problem.line, problem.expected) for problem in found.problems] == [(2, "NID, refs, state and signed whole numbers")]


def test_unknown_columns_are_kept():
    text = PEERS.replace("queue\n", "queue colour\n").replace("     0 0\n", "     0 0 red\n").replace("2097296\n", "2097296 blue\n")
    found = peers.parse(text)
    assert [row.extra for row in found.rows] == [{"colour": "red"}, {"colour": "blue"}]
    assert found.rows[1].queue_bytes == 2097296


def test_a_wrapped_row_is_joined():
    assert peers.parse(PEERS.replace("    -1     2     2", "\n    -1     2     2")).rows == peers.parse(PEERS).rows


def test_rows_of_one_nid_are_numbered_in_order():
    text = TEXTS[nis] + TEXTS[nis].split("\n")[1] + "\n"
    assert [row.row for row in nis.parse(text).rows] == [0, 1]


def test_header_only_is_an_empty_table_and_no_error():
    for module in (peers, nis, buffers, routers):
        assert module.parse(TEXTS[module].split("\n")[0] + "\n").rows == ()


def test_torn_buffers_of_a_starting_router_give_no_row_and_say_why():
    torn = "pages count credits     min\n" + "".join(
        f"{pages:5} {count:5} {count:7} {count:7}\n" for pages, count in ((0, 256), (0, 0), (1, 2048), (0, 0), (256, 0), (0, 0))
    )
    found = buffers.parse(torn)
    assert found.rows == ()
    assert found.facts["torn"] == 1
    assert "read again" in found.problems[0].expected


@pytest.mark.parametrize("word", ["enabled", "disabled", "starting", "stopping"])
def test_routing_state_is_a_fact(word):
    assert routes.parse(TEXTS[routes].replace("disabled", word)).facts["routing"] == word


def test_unsigned_minus_one_hops_of_2_8_is_minus_one():
    assert routes.parse(TEXTS[routes].replace("  -1", " 4294967295")).rows[0].hops == -1


def test_an_expired_router_deadline_is_negative():
    text = "ref  rtr_ref alive_cnt  state    last_ping ping_sent deadline down_ni router\n"
    text += "4          1         3     up            4         0 18446744073709551611       0 10.1.0.1@tcp\n"
    text += "4          1         3     up            4         0       NA      -1 10.1.0.2@tcp\n"
    found = routers.parse(text)
    assert [row.deadline_s for row in found.rows] == [-5, None]
