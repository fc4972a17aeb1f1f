"""Use of credits row by row: grades, numbers, when, resets, interval minima; never summed over CPTs."""

import numpy as np
import pytest

from lnetstat.analysis import analyze
from lnetstat.analysis.credits import Row, credit_use, measure
from lnetstat.frames import load
from lnetstat.model import Severity, Snapshot, State

BEGIN_NS = 1_795_176_000_000_000_000
HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"


class Held:
    """A source of given snapshots."""

    def __init__(self, snapshots):
        self._snapshots = snapshots

    def snapshots(self):
        yield from self._snapshots


def snap(name, tick, text, *, host="rtr", flags=(), state=State.OK, errno=0):
    return Snapshot(name, host, BEGIN_NS + tick * 1_000_000_000, None, 0, state, errno, frozenset(flags), text)


def peer(nid, limit, rtr, rtr_min, tx, tx_min, queue=0, state="up"):
    return f"{nid:<24} 1 {state:>5} -1 {limit} {rtr} {rtr_min} {tx} {tx_min} {queue}\n"


def peers(rows, **options):
    """Return frames of `peers` from rows per tick: {tick: text of rows}."""
    return load(Held([snap("peers", tick, HEADER + text, **options) for tick, text in enumerate(rows)]))


def row(tx, low, limit=8, step=1.0, windowed=False):
    size = len(tx)
    return Row(
        "rtr",
        "peer_credits",
        "peers",
        "10.0.0.1@tcp",
        0,
        1000 + step * np.arange(size),
        np.array(tx),
        np.array(low),
        np.full(size, limit),
        np.full(size, windowed),
        None,
    )


@pytest.mark.parametrize(
    ("tx", "low", "grade"),
    [
        ([8] * 400, [0] * 400, "never"),
        ([8] * 400, [8] * 200 + [-4] * 200, "touched"),
        ([8] * 300 + [-4] + [8] * 99, [8] * 300 + [-4] * 100, "intermittent"),
        ([8] * 300 + [-4] * 2 + [8] * 98, [8] * 300 + [-4] * 100, "sustained"),
        (([8] * 9 + [-4]) * 40, [8] * 9 + [-4] * 391, "sustained"),
    ],
)
def test_grades(tx, low, grade):
    assert measure(row(tx, low)).grade == grade


def test_numbers_of_a_row():
    use = measure(row([8] * 50 + [-2] * 25 + [3] * 25, [8] * 50 + [-7] * 50))
    assert (use.limit, use.low_water, use.required_peak, use.waiting_max) == (8, -7, 15, 7)
    assert use.fraction_time_oversubscribed == pytest.approx(0.25)
    assert use.required_p99 == 10
    assert use.spell_max_s == pytest.approx(24)
    assert use.first_low_ns == 1050 * 10**9
    assert use.last_low_ns == 1074 * 10**9
    assert not use.low_at_start


def test_a_low_mark_from_before_the_record_has_no_time():
    use = measure(row([8] * 10, [-5] * 10))
    assert (use.grade, use.first_low_ns, use.low_at_start) == ("touched", None, True)


def test_a_mark_that_rises_is_a_reset():
    assert measure(row([8] * 20, [-5] * 10 + [8] * 10)).resets == 1


def test_interval_minima_count_windows_and_are_no_resets():
    use = measure(row([8] * 40, [-5, 8, 8, 8] * 10, windowed=True))
    assert use.fraction_windows == pytest.approx(0.25)
    assert use.resets == 0
    assert use.first_low_ns == 1000 * 10**9
    assert not use.low_at_start


def test_time_weights_beat_the_number_of_samples():
    uneven = row([-1, 8, 8], [-1, -1, -1])._replace(time_s=np.array([0.0, 1.0, 5.0]))
    assert measure(uneven).fraction_time_oversubscribed < 0.25


def test_routed_peers_without_credits_of_their_own_are_left_out():
    frames = peers([peer("10.9.0.1@tcp1", 0, 0, 0, 0, 0) + peer("10.1.0.1@tcp", 8, 8, 8, 8, 2)] * 5)
    used, _ = credit_use(frames, {})
    assert {use.subject for use in used} == {"10.1.0.1@tcp"}


def test_rows_of_one_nid_are_kept_apart():
    twice = peer("10.1.0.1@tcp", 8, 8, 8, 8, 8) + peer("10.1.0.1@tcp", 8, 8, 8, -3, -3)
    used, _ = credit_use(peers([twice] * 10), {})
    assert [(use.row, use.low_water) for use in used if use.grade != "never"] == [(1, -3)]


def test_the_starved_peer_is_named_and_the_others_counted():
    rows = [
        "".join(peer(f"10.1.0.{n}@tcp", 8, 8, 8, 8, -1) for n in range(2, 90)) + peer("10.1.0.1@tcp", 8, 8, 8, 8 if tick < 30 else -6, -40)
        for tick in range(60)
    ]
    findings = [each for each in analyze(peers(rows)).findings if each.kind == "oversubscribed_peers"]
    assert len(findings) == 1
    assert findings[0].severity is Severity.CRITICAL
    assert findings[0].subject == "peer 10.1.0.1@tcp on rtr"
    assert "6 messages waited beyond its 8 peer credits, sampled at 12:00:30 UTC" in findings[0].message
    assert "its low-water mark, -40, is older than the record" in findings[0].message
    assert "88 other peers ran out too (88 touched)" in findings[0].message


def test_what_ran_out_first_is_told_with_its_time():
    pools = "pages count credits min\n0 512 512 512\n1 64 {} {}\n256 32 32 32\n"
    snaps = []
    for tick in range(40):
        low = 64 if tick < 20 else -9
        tx = 8 if tick < 10 else -5
        snaps.append(snap("peers", tick, HEADER + peer("10.2.0.1@tcp1", 8, 8, 8, tx, min(tx, 8))))
        snaps.append(snap("buffers", tick, pools.format(low, low)))
    analysis = analyze(load(Held(snaps)))
    (first,) = [each for each in analysis.findings if each.kind == "first_exhausted"]
    assert first.evidence["resource"] == "peer_credits"
    assert first.begin_ns == BEGIN_NS + 10 * 10**9
    assert "buffers only after that" in first.message
    (pool,) = [each for each in analysis.findings if each.kind == "oversubscribed_buffers"]
    assert "router buffer pool small on rtr: 9 messages waited beyond its 64 buffers" in pool.message


def test_history_and_record_are_told_apart():
    """A mark that fell long ago says nothing of when; one that falls within the record says between which samples."""
    old = measure(row([8] * 20 + [-3] + [8] * 19, [-40] * 40))
    assert (old.low_water, old.low_water_before_record, old.waiting, old.wanted_peak) == (-40, True, 3, 11)
    assert (old.worst_sampled, old.worst_sampled_ns, old.low_water_fell_ns) == (-3, 1020 * 10**9, None)
    fell = measure(row([8] * 40, [-2] * 20 + [-9] * 20))
    assert (fell.low_water_before_record, fell.waiting, fell.low_water_fell_ns) == (False, 9, (1019 * 10**9, 1020 * 10**9))
    reset = measure(row([8] * 40, [-40] * 20 + [-5] * 20))
    assert (reset.low_water_before_record, reset.waiting) == (True, 5)


def test_a_mark_older_than_the_record_is_said_to_be_just_that():
    (told,) = [each for each in analyze(peers([peer("10.1.0.1@tcp", 8, 8, 8, 8, -40)] * 30)).findings if each.kind != "cannot_tell"]
    assert "its low-water mark, -40, is older than the record" in told.message
    assert "no sample of the record is below 0" in told.message
    assert told.evidence["low_water_before_record"] is True


def test_first_is_only_said_where_an_order_is_known():
    pools = "pages count credits min\n0 512 512 512\n1 64 {} {}\n256 32 32 32\n"
    for ticks_later, mark_before in ((0, 8), (1, 8), (10, -3)):
        snaps = []
        for tick in range(40):
            low, tx = (64 if tick < 10 + ticks_later else -9), (8 if tick < 10 else -5)
            snaps.append(snap("peers", tick, HEADER + peer("10.2.0.1@tcp1", 8, 8, 8, tx, min(tx, mark_before))))
            snaps.append(snap("buffers", tick, pools.format(low, low)))
        analysis = analyze(load(Held(snaps)))
        (told,) = [each for each in analysis.findings if each.kind == "first_exhausted"]
        assert told.evidence["ordered"] is False
        assert "were the scarcest" in told.message
        assert "were the scarcest" in analysis.verdict
        assert "first" not in analysis.verdict


def test_buffers_full_of_messages_for_peers_without_credits_only_follow():
    pools = "pages count credits min\n0 512 512 512\n1 64 {} {}\n256 32 32 32\n"
    for waiting, resource, follow in ((60, "peer_credits", True), (4, "router_buffers", False)):
        snaps = []
        for tick in range(40):
            low, tx = (64, 8) if tick < 10 else (-900, -waiting)
            snaps.append(snap("peers", tick, HEADER + peer("10.2.0.1@tcp1", 8, 8, 8, tx, tx)))
            snaps.append(snap("buffers", tick, pools.format(low, low)))
        analysis = analyze(load(Held(snaps)))
        (told,) = [each for each in analysis.findings if each.kind == "first_exhausted"]
        assert told.evidence["resource"] == resource
        assert ("64 of 64 held messages for peers without credits" in told.message) == follow
        assert ("Peer credits ran out first (10.2.0.1@tcp1 on rtr)" in analysis.verdict) == follow
        assert ("peer credits too, by far less" in told.message) != follow


def test_one_snapshot_tells_what_was_seen_and_no_shares_of_time():
    analysis = analyze(peers([peer("10.1.0.1@tcp", 8, 8, 8, -5, -5)]))
    assert {each.kind for each in analysis.findings} == {"oversubscribed_peers", "cannot_tell"}
    (told,) = [each for each in analysis.findings if each.kind == "oversubscribed_peers"]
    assert told.severity is Severity.WARNING
    assert "below 0 in the one sample" in told.message
    assert "%" not in told.message
    several = analyze(peers([peer("10.1.0.1@tcp", 8, 8, 8, tx, -5) for tx in (-5, 8, -1)])).findings
    assert "below 0 in 2 of 3 samples" in several[0].message


@pytest.mark.parametrize(
    ("limit", "tx", "told"),
    [
        (2, [2] * 399 + [-60], "2 credits do for 99 % of the time, 62 were wanted at the peak"),
        (2, [2] * 399 + [-60], "Raise peer_credits to at least 8, the default, better towards 62"),
        (8, [8] * 399 + [-60], "Raise peer_credits towards 68"),
        (8, [8] * 399 + [-600], "make bursts smaller"),
        (8, [8] * 200 + [-13] * 200, "towards 21"),
    ],
)
def test_advice_names_what_is_not_set_already(limit, tx, told):
    rows = [peer("10.1.0.1@tcp", limit, limit, limit, value, min([*tx[: tick + 1], limit])) for tick, value in enumerate(tx)]
    (finding,) = [each for each in analyze(peers(rows)).findings if each.kind == "oversubscribed_peers"]
    assert told in finding.advice


@pytest.mark.parametrize(
    ("nid", "told", "untold"),
    [
        ("10.1.0.1@tcp", ["towards 608", "socklnd: no more than credits"], ["o2iblnd", "255", "concurrent_sends"]),
        ("10.1.0.1@o2ib3", ["No peer_credits hold that (o2iblnd: at most 255)"], ["socklnd", "608 ("]),
        ("17@gni", ["at least 16, the default", "gnilnd"], ["o2iblnd", "255"]),
    ],
)
def test_advice_knows_the_driver_of_the_peers_network(nid, told, untold):
    tx = [8] * 399 + [-600]
    rows = [peer(nid, 8, 8, 8, value, min(tx[: tick + 1])) for tick, value in enumerate(tx)]
    (finding,) = [each for each in analyze(peers(rows)).findings if each.kind == "oversubscribed_peers"]
    assert all(words in finding.advice for words in told)
    assert not any(words in finding.advice for words in untold)


def held(hold_s):
    """Return frames of a node whose credits are held 0.01 s while some are free, and `hold_s` while messages wait."""
    snaps, sent = [], 0
    for tick in range(200):
        tx = 7 if tick < 120 else -8
        sent += 100 if tick < 120 else round(8 / hold_s)
        snaps.append(snap("peers", tick, HEADER + peer("10.1.0.1@tcp", 8, 8, 8, tx, min(tx, 8)), host="c1"))
        snaps.append(snap("stats", tick, f"42 7 0 {sent} 0 0 0 {sent * 200} 0 0 0\n", host="c1"))
    return load(Held(snaps))


def test_what_a_late_peer_limits_is_advised_no_more_credits():
    findings = {each.kind: each for each in analyze(held(0.1)).findings}
    assert "limited by the peer, not by credits" in findings["first_exhausted"].message
    for kind in ("first_exhausted", "oversubscribed_peers"):
        assert "Raise" not in findings[kind].advice
        assert "towards" not in findings[kind].advice
        assert "the other end gives them back late" in findings[kind].advice
    advice = {each.kind: each for each in analyze(held(0.01)).findings}["first_exhausted"].advice
    assert "towards" in advice
    assert "answers late" not in advice


def test_times_of_a_record_over_midnight_have_their_date():
    late = [
        row._replace(time_ns=row.time_ns + 43_170 * 10**9)
        for row in (snap("peers", t, HEADER + peer("10.1.0.1@tcp", 8, 8, 8, *((8, 8) if t < 30 else (-5, -5)))) for t in range(60))
    ]
    (told,) = [each for each in analyze(load(Held(late))).findings if each.kind == "oversubscribed_peers"]
    assert "below 0 from 2026-11-21 00:00:00 to 2026-11-21 00:00:29 UTC" in told.message


def test_no_credits_used_up_is_no_finding():
    analysis = analyze(peers([peer("10.1.0.1@tcp", 8, 8, 8, 7, 3)] * 30))
    assert not [each for each in analysis.findings if each.kind.startswith("oversubscribed") or each.kind == "first_exhausted"]
    assert analysis.credits.required_peak == 5


def test_the_worst_rows_are_there_for_drawing():
    rows = "".join(peer(f"10.1.0.{n}@tcp", 8, 8, 8, 8, -n) for n in range(1, 30))
    drawn = [each for each in analyze(peers([rows] * 10)).credit_series if each.resource == "peer_credits"]
    assert drawn[0].subject == "10.1.0.29@tcp"
    assert drawn[0].time_s.shape == drawn[0].credits.shape == drawn[0].credits_min.shape == drawn[0].queue_bytes.shape == (10,)
    assert len(drawn) < 10


def test_share_of_time_has_an_error_bar_and_is_told_inside_and_outside_dips():
    tx = ([8] * 8 + [-4] * 2) * 40
    use = measure(row(tx, np.minimum.accumulate(tx)), tuple((1008.0 + 10 * k, 1009.0 + 10 * k) for k in range(20)))
    assert use.fraction_time_oversubscribed == pytest.approx(0.2)
    assert use.fraction_error == pytest.approx(0.0413, abs=0.0002)  # 40 spells that keep step with the samples: 40 s / sqrt(6) of 400 s
    assert use.fraction_inside == 1.0
    assert use.fraction_outside == pytest.approx(40 / 360)
    assert use.dead_time_share == pytest.approx(0.5, abs=0.02)
    assert use.backlog_message_s == pytest.approx(320)
    assert len(use.spells) == 40
    assert use.spells[0] == (1007.5, 1009.5)


def test_bytes_that_wait_are_those_of_queue_that_are_not_in_flight():
    """tx -4 of 8: twelve messages in hand, of which four wait."""
    use = measure(row([8, 4, -4, 8], [8, 4, -4, -4])._replace(queue_bytes=np.array([0.0, 400.0, 1200.0, 0.0])))
    assert use.queued_bytes_max == pytest.approx(400)
    assert measure(row([8] * 4, [8] * 4)).queued_bytes_max is None


def test_times_at_which_marks_rose_are_kept():
    assert measure(row([8] * 30, [-5] * 10 + [8] * 10 + [2] * 5 + [8] * 5)).resets_ns == (1010 * 10**9, 1025 * 10**9)


def test_messages_counted_by_the_node_give_the_mean_wait_and_what_limits():
    snaps, sent = [], 0
    for tick in range(200):
        tx = 7 if tick < 120 else -8
        sent += 100 if tick < 120 else 800
        snaps.append(snap("peers", tick, HEADER + peer("10.1.0.1@tcp", 8, 8, 8, tx, min(tx, 8)), host="c1"))
        snaps.append(snap("stats", tick, f"42 7 0 {sent} 0 0 0 {sent * 200} 0 0 0\n", host="c1"))
    analysis = analyze(load(Held(snaps)))
    (use,) = [each for each in analysis.credit_use if each.resource == "peer_credits"]
    assert use.sizing.limited_by == "credits"
    assert use.sizing.hold_s == pytest.approx(0.01, rel=0.05)
    assert use.required_credits == pytest.approx(8, rel=0.2)
    assert use.mean_wait_s == pytest.approx(8 * 80 / sent, rel=0.02)
    (told,) = [each for each in analysis.findings if each.kind == "first_exhausted"]
    assert "limited by credits: a credit is held 0.01 s when all are in use, 0.01 s when some are free" in told.message
    document = analysis.as_json()
    assert document["credit_use"][0]["sizing"]["limited_by"] == "credits"


def test_what_only_follows_is_a_warning_and_points_to_what_binds():
    rows = []
    for tick in range(60):
        tx, rtr = (-40, -20) if 20 <= tick < 40 else (8, 8)
        low = (-40, -20) if tick >= 20 else (8, 8)
        rows.append(peer("10.2.0.1@tcp1", 8, 8, 8, tx, low[0]) + peer("10.1.0.1@tcp", 8, rtr, low[1], 8, 8))
    findings = {each.kind: each for each in analyze(peers(rows)).findings}
    assert findings["oversubscribed_peers"].severity is Severity.CRITICAL
    follower = findings["oversubscribed_rtr_credits"]
    assert follower.severity is Severity.WARNING
    assert "it only follows the peer credits of 10.2.0.1@tcp1 on rtr" in follower.message
    assert follower.evidence["follows"] == ["rtr", "peer_credits", "10.2.0.1@tcp1"]
    assert "Raise peer_credits" in follower.advice
