"""From ticks to rows: marks, rates, history, counts, what could not be read."""

import errno

import pytest

from lnetstat.model import State
from lnetstat.top import text
from lnetstat.top.model import Model, Order, filtered, ordered
from lnetstat.top.panes import BUFFERS as BUFFERS_PANE
from lnetstat.top.panes import NIS, PANES, SERVICES, Mark
from lnetstat.top.panes import PEERS as PEERS_PANE
from lnetstat.top.ticks import Parser, seconds_to_next
from lnetstat.top.trail import Trail, spark
from tests.top.screens import BUFFERS, NS, PEERS, START_NS, peer, pool, router, service, snapshot, ticks


def view_of(*looks):
    """The view after these looks, each a list of snapshots, and the model."""
    model, parser = Model(), Parser()
    return [model.feed(parser.tick(look)) for look in looks][-1], model


def values(view, pane, name):
    at = [column.name for column in pane.columns].index(name)
    return {row.key[1:]: row.values[at] for row in view.rows[pane.name]}


def test_marks_tell_short_now_from_short_once_and_routed_nids_are_never_short():
    view, _ = view_of(router(3))
    marks = {row.key[1]: row.mark for row in view.rows["peers"]}
    assert marks == {
        "10.2.0.1@tcp1": Mark.NONE,
        "10.2.0.2@tcp1": Mark.WAS_SHORT,
        "10.2.0.3@tcp1": Mark.SHORT,
        "10.2.0.4@tcp1": Mark.DOWN,
        "10.9.0.9@o2ib": Mark.NONE,
    }
    assert {row.key[1]: row.mark for row in view.rows["buffers"]} == {"tiny": 0, "small": Mark.WAS_SHORT, "large": 0}
    assert view.marked("peers") == 2


def test_the_head_line_counts_what_holds_credits():
    summary = view_of(router(3))[0].summary
    assert (summary.peers, summary.peers_down, summary.oversubscribed, summary.oversubscribed_low) == (5, 1, 1, 2)
    assert (summary.queue_bytes, summary.tx_credits_low, summary.buffers_low) == (13 * 1_048_648 + 3 * 72, -7, -12)
    assert (summary.routes, summary.routes_down) == (1, 1)


def test_the_head_line_counts_router_credits_too_and_names_the_pool():
    text_of_peers = PEERS + peer("10.0.0.1@tcp", 8, 8, rtr=8, rtr_min=-3) + peer("10.0.0.2@tcp", 8, 8, rtr=-1234567, rtr_min=-20304)
    view, model = view_of(
        [snapshot("peers", text_of_peers), snapshot("buffers", BUFFERS + pool(0, 9, 9, 9) + pool(1, 8, 8, 5) + pool(256, 7, 7, 7))]
    )
    assert (view.summary.oversubscribed, view.summary.oversubscribed_low) == (1, 2)
    lines = text.screen(view, model, rows=3, width=80).splitlines()
    assert "fewest buffers 5 (small)" in lines[1] + lines[2]
    assert "Peers: 2 of 2: 1 short now, 1 before, 0 down" in lines
    assert next(line for line in lines if "10.0.0.2" in line).split()[5:7] == ["-1.2M", "-20304"]  # no digit is cut off


def test_rates_are_by_the_file_s_own_clock_and_need_two_samples():
    view, _ = view_of(router(0))
    assert set(values(view, SERVICES, "per_s").values()) == {None}
    view, _ = view_of(router(0), router(2))
    assert values(view, SERVICES, "per_s")["ost", "obd_ping"] == 59
    assert values(view, SERVICES, "mean")["ost", "obd_ping"] == 5
    assert values(view, SERVICES, "per_s")["lnet", "route"] == 500
    assert values(view, SERVICES, "bytes_per_s")["lnet", "route"] == 50 << 20


def test_a_counter_that_is_new_counts_from_0_one_that_was_reset_has_no_rate():
    name = "ost.OSS.ost_io.stats"
    view, _ = view_of([snapshot(name, service(0, a=10))], [snapshot(name, service(2, a=4, b=8), 2)])
    assert values(view, SERVICES, "per_s") == {("ost_io", "a"): None, ("ost_io", "b"): 4}


def test_lnet_s_counts_wrap_and_are_reset():
    before = [snapshot("stats", f"1 1 0 {2**32 - 10} 0 50 0 1000 0 5000 0\n")]
    view, _ = view_of(before, [snapshot("stats", "1 1 0 90 0 7 0 2000 0 70 0\n", 1)])
    assert values(view, SERVICES, "per_s")["lnet", "send"] == 100
    assert values(view, SERVICES, "per_s")["lnet", "route"] is None


@pytest.mark.parametrize(
    ("state", "number", "words"),
    [
        (State.ABSENT, errno.ENOENT, "is LNet loaded, is debugfs mounted?"),
        (State.FORBIDDEN, errno.EACCES, "Permission denied: run as root"),
        (State.FAILED, errno.ETIMEDOUT, "no answer in time: the read hangs"),
        (State.FAILED, errno.EIO, "Input/output error"),
    ],
)
def test_what_cannot_be_read_is_told_in_its_pane_with_a_remedy_and_the_others_go_on(state, number, words):
    look = [each for each in router(0) if each.name != "peers"]
    view, _ = view_of([*look, snapshot("peers", "", state=state, errno=number)])
    assert len(view.notes["peers"]) == 1
    assert words in view.notes["peers"][0]
    assert view.notes["nis"] == []
    assert view.rows["nis"]
    assert view.summary.peers is None
    assert view.failed is (state is not State.ABSENT)


def test_absent_empty_partial_and_torn_are_four_things():
    assert view_of([snapshot("peers", PEERS)])[0].notes["peers"] == []
    assert "no peers here" in view_of([snapshot("stats", "1 1 0 1 1 1 0 1 1 1 0\n")])[0].notes["peers"][0]
    partial = view_of([snapshot("peers", PEERS + peer("1@gni", 1, 1), state=State.PARTIAL)])[0]
    assert (len(partial.rows["peers"]), "rows may be missing" in partial.notes["peers"][0]) == (1, True)
    torn = view_of([snapshot("buffers", BUFFERS + pool(0, 256, 256, 256) + pool(0, 0, 0, 0) + pool(1, 8, 8, 8))])[0]
    assert "being built" in torn.notes["buffers"][0]


def test_nothing_of_lnet_at_all_is_a_failure():
    view, model = view_of([])
    assert view.failed
    assert text.screen(view, model, rows=3, width=80).splitlines()[1:] == [
        " ? nothing of LNet or Lustre to read: is LNet loaded, is debugfs mounted?"
    ]
    assert text.screen(view, model, ["bad: no such host"], rows=3, width=80).splitlines()[1:] == [" ? bad: no such host"]
    assert view_of([snapshot("peers", "", state=State.ABSENT, errno=errno.ENOENT)])[0].failed


def test_a_host_that_falls_silent_is_told_and_its_rows_go():
    model, parser = Model(), Parser()
    model.feed(parser.tick([*router(0, "rtr1"), *router(0, "rtr2")]))
    for second in range(1, 9):
        view = model.feed(parser.tick(router(second, "rtr1")))
    assert {row.key[0] for row in view.rows["peers"]} == {"rtr1"}
    assert view.notes["peers"] == ["rtr2: no sample since 2026-08-14T12:00:00Z: its rows are left out"]


def test_the_worst_stand_first_and_every_column_sorts_with_what_is_not_known_last():
    view = Model().feed(ticks(4)[-1])
    worst = [row.key[1] for row in ordered(PEERS_PANE, view.rows["peers"], Order())]
    assert worst == ["10.2.0.3@tcp1", "10.2.0.4@tcp1", "10.2.0.1@tcp1", "10.2.0.2@tcp1", "10.9.0.9@o2ib"]
    for pane in PANES:
        for at in range(len(pane.columns)):
            for reverse in (False, True):
                found = [row.values[at] for row in ordered(pane, view.rows[pane.name], Order(at, reverse))]
                known = [value for value in found if value is not None]
                assert len(found) == len(view.rows[pane.name])
                assert found[: len(known)] == known
                assert known in (sorted(known), sorted(known, reverse=True))
    queue = [column.name for column in PEERS_PANE.columns].index("queue_bytes")
    assert ordered(PEERS_PANE, view.rows["peers"], Order(queue))[0].key[1] == "10.2.0.3@tcp1"


def test_the_filter_takes_parts_of_names_patterns_and_states():
    rows = view_of(router(0))[0].rows["peers"]
    nids = lambda words: [row.key[1] for row in filtered(PEERS_PANE, rows, words)]  # noqa: E731
    assert nids("o2IB") == ["10.9.0.9@o2ib"]
    assert len(nids("10.2.*@tcp1")) == 4
    assert nids("10.2.0.[1,3-9]@tcp1") == ["10.2.0.1@tcp1", "10.2.0.3@tcp1", "10.2.0.4@tcp1"]
    assert nids("10.[8-12].0.*@o2ib") == ["10.9.0.9@o2ib"]
    assert nids("tcp1 down") == ["10.2.0.4@tcp1"]
    assert nids("[red]") == []
    assert len(nids("  ")) == 5


def test_history_is_each_row_s_own_and_survives_rows_that_come_and_go():
    model = Model(depth=4)
    for tick in ticks(8):
        model.feed(tick)
    assert model.levels("peers", ("rtr1", "10.2.0.3@tcp1", ""), 9) == [1, 1, 1, -0.625]
    trail = Trail(3)
    trail.push([(("a",), 1.0)])
    trail.push([((f"{n}",), 0.5) for n in range(5000)])
    for _ in range(3):
        trail.push([(("b",), None), (("a",), 2.0)])
    assert trail.of(("a",), 5) == [2.0, 2.0, 2.0]
    assert len(trail._index) < 2000


def test_a_sparkline_shows_none_zero_and_less_than_zero_differently():
    assert spark([None, -0.1, 0.0, 0.5, 1.0], 6, top=1.0) == "  !▁▄█"
    assert spark([1.0, 2.0, 4.0], 2, top=None) == "▄█"
    assert spark([], 3, top=1.0) == "   "


def test_plain_text_is_within_its_width_and_json_has_raw_numbers():
    model = Model()
    view = [model.feed(tick) for tick in ticks(4)][-1]
    for width in (60, 80, 132):
        assert max(map(len, text.screen(view, model, rows=3, width=width).splitlines())) <= width
    document = text.document(view)
    assert document["peers"][0] | {"refs": 14, "tx_credits": -5, "mark": "short", "queue_bytes": 13 * 1_048_648} == document["peers"][0]
    assert document["time"] == "2026-08-14T12:00:03.000000000Z"
    assert (document["summary"]["oversubscribed"], document["problems"]) == (1, {})
    assert view.time_ns == START_NS + 3 * NS


def test_names_that_could_act_are_inert_and_long_ones_do_not_push_numbers_away():
    name = "obdfilter.\x1b[2J<script>" + "x" * 300 + ".stats"
    view, model = view_of([snapshot(name, service(0, a=1)), snapshot("nis", "")])
    shown = text.screen(view, model, rows=3, width=80)
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert NIS.name in {pane.name for pane in PANES}
    assert BUFFERS_PANE.top == 1.0


@pytest.mark.parametrize(
    ("interval_s", "now_s", "expected"),
    [(1.0, 100.25, 0.75), (1.0, 100.0, 1.0), (10.0, 104.0, 6.0), (0.1, 5.04, 0.06), (1.0, 99.9995, 1.0005)],
    ids=["between", "on time", "slow", "fast", "woken early"],
)
def test_looks_fall_on_whole_multiples_of_the_interval_and_none_comes_twice(interval_s, now_s, expected):
    assert seconds_to_next(interval_s, now_s) == pytest.approx(expected)
