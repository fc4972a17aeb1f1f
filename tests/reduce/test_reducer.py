"""What a second of snapshots becomes: names, signs, gaps, the limit on series."""

import re

import pytest

from lnetstat.model import Parsed, Snapshot, State
from lnetstat.reduce import Reducer
from lnetstat.reduce.metrics import METRICS, SERIES_MAX
from lnetstat.reduce.top import NEW_PER_DAY_MAX, STAY_S, TopPeers
from lnetstat.tables.peers import NINE, TEN, TEN_HEADER, PeersRow, render

NS = 10**9
BUFFERS = "pages count credits     min\n    0   512     512     510\n    1  4096      -3    -40\n  256   256     256     254\n"


def snapshot(name, text, second, state=State.OK, ns=0):
    return Snapshot(name, "rtr", second * NS + ns, None, 0, state, 0, frozenset(), text)


def peers_text(*rows, layout=TEN.name):
    return render(Parsed(tuple(rows), layout, {}, ()), layout)


def peer(nid, tx, low, queue=0, limit=8):
    return PeersRow(nid, 0, 1, "up", -1, limit, 8, 8, tx, low, queue)


def values(reducer, **kwargs):
    return {(p.path.removeprefix("lnet.rtr."), p.time_s): p.value for p in reducer.points(**kwargs)}


def test_subsecond_samples_keep_the_worst_credit_the_largest_queue_and_the_last_count():
    reducer = Reducer("rtr")
    for ns, tx, queue in ((0, 8, 0), (1, -5, 4000), (2, 3, 72)):
        reducer.add(snapshot("peers", peers_text(peer("10.0.0.1@tcp", tx, -6, queue)), 100, ns=ns))
    got = values(reducer)
    assert got["peers.tcp.tx_credits_worst", 100] == -5
    assert got["peers.tcp.oversubscribed", 100] == 1
    assert got["peers.tcp.queue_bytes", 100] == 4000
    assert got["peers.tcp.in_use", 100] == pytest.approx((0 + 13 + 5) / 3)
    assert got["peers.tcp.in_use_max", 100] == 13
    assert got["peers.tcp.count", 100] == 1
    assert got["peers.tcp.top.10_0_0_1_at_tcp.tx_credits", 100] == -5
    assert got["peers.tcp.hist.tx_share.25_50", 100] == 1


def test_negative_router_buffers_stay_negative():
    reducer = Reducer("rtr")
    reducer.add(snapshot("buffers", BUFFERS, 7))
    got = values(reducer)
    assert got["buffers.small.credits_worst", 7] == -3
    assert got["buffers.small.credits_low", 7] == -40
    assert got["buffers.small.in_use", 7] == 4099


@pytest.mark.parametrize("state", [State.ABSENT, State.FORBIDDEN, State.FAILED])
def test_a_file_that_was_not_read_is_a_gap_not_a_zero(state):
    reducer = Reducer("rtr")
    reducer.add(snapshot("buffers", "", 7, state))
    reducer.add(snapshot("peers", "", 7, state))
    assert reducer.points() == []
    assert reducer.errors == (0 if state is State.ABSENT else 2)


def test_a_text_that_is_no_table_is_an_error_not_a_zero():
    reducer = Reducer("rtr")
    reducer.add(snapshot("peers", "\x00\x01 nonsense", 7))
    assert reducer.points() == []
    assert reducer.errors == 1


def test_old_nine_column_layout_gives_the_same_points_as_the_new_one():
    rows = (peer("12@gni", -3, -9, 500), peer("13@gni", 8, 8))
    got = []
    for layout in (NINE.name, TEN.name):
        reducer = Reducer("rtr")
        reducer.add(snapshot("peers", peers_text(*rows, layout=layout), 5))
        got.append(sorted(reducer.points()))
    assert got[0] == got[1]


def test_only_seconds_that_are_over_are_given():
    reducer = Reducer("rtr")
    reducer.add(snapshot("buffers", BUFFERS, 7))
    reducer.add(snapshot("buffers", BUFFERS, 8))
    assert {second for _, second in values(reducer, before_s=8)} == {7}
    assert {second for _, second in values(reducer)} == {8}


def test_a_hundred_thousand_peers_stay_below_the_limit_of_series():
    reducer = Reducer("rtr")
    rows = [peer(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}@tcp", 8 - i % 30, -(i % 40), i % 900) for i in range(100_000)]
    names = set()
    for second in range(0, 600, 60):
        turned = rows[second:] + rows[:second]
        reducer.add(snapshot("peers", peers_text(*turned), second))
        names |= {p.path for p in reducer.points()}
    assert len(names) <= SERIES_MAX
    assert reducer.refused == 0


def test_beyond_the_limit_series_are_refused_and_counted():
    reducer = Reducer("rtr", series_max=200)
    text = peers_text(*(peer(f"{i}@o2ib{i}", 8, 8) for i in range(40)))
    reducer.add(snapshot("peers", text, 1))
    assert len(reducer.points()) <= 200
    assert reducer.refused > 0


def test_a_top_peer_stays_for_a_minute_and_a_day_has_a_limit_of_new_ones():
    top = TopPeers(2)
    top.update(["a", "b"], 0)
    top.update(["c", "d"], STAY_S)
    assert top.nids == {"a", "b", "c", "d"}
    top.update(["c", "d"], STAY_S + 1)
    assert top.nids == {"c", "d"}
    seen = set()
    for second in range(1000):
        top.update([f"n{second}"], 100 + second * 61)
        seen |= top.nids
    assert len(seen) <= NEW_PER_DAY_MAX + 2


def test_every_point_is_in_the_list_of_metrics_and_every_pattern_is_well_formed():
    assert len({metric.pattern for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert re.fullmatch(r"[A-Za-z_.]+", metric.pattern)
        assert metric.help
    with pytest.raises(ValueError, match="not in METRICS"):
        Reducer("rtr").put(0, [("nonsense.value", 1)])


def test_values_of_a_text_that_did_not_change_are_those_of_before_and_of_no_older_one():
    texts = [
        peers_text(peer("10.0.0.1@tcp", 8, 8)),
        peers_text(peer("10.0.0.1@tcp", -1, -1)),
        peers_text(peer("10.0.0.1@tcp", -1, -1)),
        peers_text(peer("12@gni", 3, 3), layout=NINE.name),
        peers_text(),
        peers_text(),
        peers_text(peer("10.0.0.1@tcp", 8, 8)),
    ]
    kept = Reducer("rtr")
    for second, text in enumerate(texts):
        fresh = Reducer("rtr")
        for reducer in (kept, fresh):
            reducer.add(snapshot("peers", text, second))
            reducer.add(snapshot("buffers", BUFFERS, second))
        assert {p for p in kept.points() if ".top." not in p.path} == {p for p in fresh.points() if ".top." not in p.path}


def test_problems_of_a_text_that_did_not_change_are_still_counted():
    reducer = Reducer("rtr")
    for second in range(3):
        reducer.add(snapshot("buffers", "garbage\n", second))
    assert reducer.errors == 3
    assert "line 1" in reducer.problems["buffers"]
    reducer.add(snapshot("buffers", BUFFERS, 3))
    assert reducer.problems == {}


def test_a_scan_that_broke_off_gives_no_numbers_of_rows() -> None:
    """A router whose table changed in mid-scan has not lost the peers that were not read."""
    text = TEN_HEADER + "%-24s %4d %5s %5d %5d %5d %5d %5d %5d %d\n" % ("10.0.0.1@tcp", 2, "NA", -1, 8, 8, 3, -5, -6, 72)
    routes = "Routing enabled\nnet      hops priority   state router\ntcp1       -1        0    down 10.0.0.1@tcp\n"
    reducer = Reducer("h")
    for name, of_file in (("peers", text), ("routes", routes)):
        reducer.add(Snapshot(name, "h", 5_000_000_000, None, 0, State.PARTIAL, 116, frozenset({"retried"}), of_file))
    found = {point.path.removeprefix("lnet.h."): point.value for point in reducer.points()}
    top = {"tx_credits": -5, "tx_credits_min": -6, "rtr_credits": 8, "rtr_credits_min": 3, "queue_bytes": 72}
    worst = {"tx_credits_worst": -5, "tx_credits_low": -6, "rtr_credits_worst": 8, "rtr_credits_low": 3, "queue_bytes_max": 72}
    wanted = {f"peers.tcp.{name}": value for name, value in worst.items()} | {"routes.routing": 1}
    assert found == wanted | {f"peers.tcp.top.10_0_0_1_at_tcp.{name}": value for name, value in top.items()}
    assert reducer.errors == 2
