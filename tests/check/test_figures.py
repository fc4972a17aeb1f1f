"""What figures say of one look at a node and of a record: low, negative, absent, empty and zero stay apart."""

import errno
from pathlib import Path

import pytest

from lnetstat.check import verdict
from lnetstat.check.kinds import NAMES, Figure, defaults
from lnetstat.check.recorded import look_at_record
from lnetstat.check.tables import HostFigures
from lnetstat.model import Snapshot, State
from lnetstat.sources import open_source
from lnetstat.tables import parse

SAMPLES = Path(__file__).parents[2] / "sample-data"
RECORDINGS = SAMPLES / "recordings"
NS = 1_000_000_000
T0 = 1_790_000_000 * NS
PEERS = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
BUFFERS = "pages count credits     min\n"
NIS = "nid                      status alive refs peer  rtr   max    tx   min\n"


def peer(nid="10.0.0.1@tcp", *, state="up", limit=8, rtr=8, rtr_low=8, tx=8, low=8, queue=0):
    return f"{nid:<24} 1 {state} -1 {limit} {rtr} {rtr_low} {tx} {low} {queue}\n"


def shot(name, text="", second=0, state=State.OK, number=0, flags=frozenset()):
    return Snapshot(name, "rtr1", T0 + second * NS, None, 0, state, number, flags, text)


def figures(*shots, is_record=False):
    host = HostFigures("rtr1")
    for each in shots:
        host.add(each)
    return {figure.name: figure for figure in host.figures(is_record=is_record)}


def test_negative_credits_are_the_worst_peers_and_a_routed_peer_holds_none():
    found = figures(
        shot("peers", PEERS + peer(tx=-7, low=-9, queue=4096) + peer("10.0.0.2@tcp", rtr=-1) + peer("9@gni", limit=0, tx=-99, queue=1))
    )
    assert (found["peer_credits"].value, found["peer_credits"].words, found["peer_credits"].limit) == (-7, "peer 10.0.0.1@tcp", 8)
    assert found["peer_credits_low"].value == -9
    assert found["rtr_credits"].value == -1
    assert (found["peers_oversubscribed"].value, found["queue_bytes"].value) == (1, 4096)


def test_zero_credits_are_zero_and_no_peers_are_no_value():
    assert figures(shot("peers", PEERS + peer(tx=0)))["peer_credits"].value == 0
    empty = figures(shot("peers", PEERS))
    assert (empty["peer_credits"].value, empty["peer_credits"].why) == (None, "no peer that holds credits")
    assert empty["peers_down"].value == 0
    assert not empty["peer_credits"].unread


def test_buffers_are_shares_of_the_worst_row_and_a_client_has_none():
    text = BUFFERS + "0 512 512 510\n0 512 512 510\n1 4096 4096 4086\n1 4096 -41 -410\n256 256 128 0\n256 0 0 0\n"
    found = figures(shot("buffers", text))
    assert found["router_buffers"].value == pytest.approx(-100 * 41 / 4096)
    assert found["router_buffers"].words == "small buffers on CPT 1, 4096 in all"
    assert found["router_buffers_low"].value == pytest.approx(-100 * 410 / 4096)
    client = figures(shot("buffers", BUFFERS))["router_buffers"]
    assert (client.value, client.why, client.unread) == (None, "no router buffers: this node does not route", False)


def test_absent_is_no_fault_forbidden_and_failed_are_unread():
    found = figures(
        shot("buffers", state=State.ABSENT, number=errno.ENOENT),
        shot("peers", state=State.FORBIDDEN, number=errno.EACCES),
        shot("nis", state=State.FAILED, number=errno.ETIMEDOUT),
        shot("routes", "garbage\n"),
    )
    assert not found["router_buffers"].unread
    for name, why in (("peers_down", "Permission denied: run as root"), ("nis_down", "timed out"), ("routes_down", "expected")):
        assert found[name].unread
        assert found[name].value is None
        assert why in found[name].why


def test_what_is_down_is_named():
    routes = "Routing disabled\nnet      hops priority   state router\ntcp2 1 0 down 10.0.0.9@tcp\ntcp2 1 0 up 10.0.0.8@tcp\n"
    nis = NIS + "0@lo up 0 2 0 0 0 0 0\n10.0.0.5@tcp down 3 1 8 0 256 250 200\n"
    down = "".join(peer(f"10.0.1.{n}@tcp", state="down") for n in range(7))
    found = figures(shot("routes", routes), shot("nis", nis), shot("peers", PEERS + down))
    assert (found["routes_down"].value, found["routes_down"].words) == (1, "tcp2 via 10.0.0.9@tcp")
    assert (found["nis_down"].value, found["nis_down"].words) == (1, "10.0.0.5@tcp")
    assert (found["ni_credits"].value, found["ni_credits_low"].value) == (250, 200)
    assert found["peers_down"].value == 7
    assert found["peers_down"].words.endswith("10.0.1.4@tcp and 2 more")


def test_health_is_that_of_the_worst_interface():
    text = (SAMPLES / "2.17.0" / "lnetctl_net_show--verbose-3.txt").read_text()
    known = [row.health_value for row in parse("lnetctl net show", text)[1].rows if not row.nid.endswith("@lo")]
    assert figures(shot("lnetctl net show", text))["ni_health"].value == min(known)
    sick = text.replace("health value: 1000", "health value: 700", 1)
    assert sick != text
    assert figures(shot("lnetctl net show", sick))["ni_health"].value == 700


def test_an_old_mark_alarms_only_once_it_moves():
    old = [shot("peers", PEERS + peer(low=-50), second) for second in range(3)]
    assert figures(*old, is_record=True)["peer_credits"].value == 8
    assert figures(*old, is_record=True)["peer_credits_low"].value == -50
    fell = figures(*old, shot("peers", PEERS + peer(low=-51), 3), is_record=True)["peer_credits"]
    assert (fell.value, fell.words) == (-51, "peer 10.0.0.1@tcp, at 2026-09-21T14:13:23Z")
    risen = figures(*old, shot("peers", PEERS + peer(low=-2), 3), is_record=True)["peer_credits"]
    assert risen.value == -2  # it was reset, and fell below 0 since
    windowed = shot("peers", PEERS + peer(low=-3), flags=frozenset({"low_water_reset"}))
    assert figures(windowed, is_record=True)["peer_credits"].value == -3


def test_down_is_as_at_the_end_and_not_known_where_the_end_could_not_be_read():
    first = shot("peers", PEERS + peer(state="down") + peer("10.0.0.2@tcp", state="down"))
    back = figures(first, shot("peers", PEERS + peer(), 1), is_record=True)
    assert (back["peers_down"].value, back["queue_bytes"].value) == (0, 0)
    for gone in (State.ABSENT, State.FAILED):
        ended = figures(first, shot("peers", state=gone, number=errno.EIO, second=1), is_record=True)
        assert ended["peers_down"].unread
        assert ended["peer_credits"].value == 8 or gone is State.ABSENT


def test_the_share_of_the_time_is_that_of_the_worst_row_and_old_marks_do_not_count():
    both = "10.0.0.1@tcp", "10.0.0.2@tcp"
    looks = [(-1, 8), (-1, 8), (8, -1), (-1, 8), (8, None), (-2, 8), (8, 8), (8, 8)]
    texts = ["".join(peer(nid, tx=tx, low=-9) for nid, tx in zip(both, each, strict=True) if tx is not None) for each in looks]
    shots = [shot("peers", PEERS + text, 100 * second) for second, text in enumerate(texts)]
    found = figures(*shots, is_record=True)["peer_credits_below_0"]
    assert (found.value, found.words) == (50, "peer 10.0.0.1@tcp, in 4 of 8 samples")
    worst_only = shot("peers", PEERS + peer(both[1], tx=-1), 800, flags=frozenset({"worst"}))
    assert figures(*shots[:4], worst_only, is_record=True)["peer_credits_below_0"].words == "peer 10.0.0.1@tcp, in 3 of 5 samples"
    assert figures(shots[-1], is_record=True)["peer_credits_below_0"].value == 0
    assert "peer_credits_below_0" not in figures(shots[0])


@pytest.mark.parametrize("names", [(), ("peers",)])
def test_what_a_time_holds_no_sample_of_is_not_said_to_be_absent(names):
    found = figures(shot("routes", "Routing disabled\nnet hops priority state router\n"), *(shot(n, PEERS) for n in names), is_record=True)
    expected = [("no sample of peers in this time", True), ("no peer that holds credits", False)][len(names)]
    assert (found["peer_credits"].why, found["peer_credits"].unread) == expected
    assert (found["peer_credits_below_0"].why, found["peer_credits_below_0"].value) == (expected[0], None)
    assert (found["router_buffers"].why, found["router_buffers"].unread) == ("no sample of buffers in this time", False)


RESOURCES = {"peer_credits": "peer_credits", "ni_credits": "ni_credits", "peer_router_credits": "rtr_credits"}


def test_a_recording_says_what_analyze_says():
    from lnetstat.cli._recordings import analysis_of
    from lnetstat.cli._times import Moment

    record = str(RECORDINGS / "s7-lustre-pings")
    analysis = analysis_of([record], Moment(40 * NS, before_end=True), None, None, [], processes=1)
    expected, expected_share = {}, {}
    for use in analysis.credit_use:
        if use.resource in RESOURCES:
            key = use.host, RESOURCES[use.resource]
            expected[key] = min(expected.get(key, use.worst_in_record), use.worst_in_record)
            key = use.host, f"{key[1]}_below_0"
            expected_share[key] = max(expected_share.get(key, 0.0), 100 * use.fraction_time_oversubscribed)
    found = look_at_record(open_source(record), None, 40, 40).figures
    said = {(host, figure.name): figure.value for host, each in found.items() for figure in each.figures(is_record=True)}
    assert expected
    assert {key: said[key] for key in expected} == expected
    assert max(expected_share.values()) > 0
    assert {key: said[key] for key in expected_share} == pytest.approx(expected_share, rel=0.1)


def test_reading_only_changed_lines_gives_what_reading_all_gives():
    source = open_source(str(RECORDINGS / "s7-lustre-pings"))
    quick = look_at_record(source, None, 30, 30).figures
    begin_ns = source.end_ns - 30 * NS
    whole = {host: HostFigures(host) for host in quick}
    for snapshot in source.snapshots(begin_ns=begin_ns):
        whole[snapshot.host].add(snapshot)
    for host, found in quick.items():
        wanted = [figure for figure in whole[host].figures(is_record=True) if figure.name != "ni_health"]
        assert [figure for figure in found.figures(is_record=True) if figure.name != "ni_health"] == wanted


@pytest.mark.parametrize(
    ("verdict_", "lost", "value", "words"),
    [
        ("detected", 0.091, 9.1, "route_length dips every 75 s, cause: ping"),
        ("recurrent", 0.02, 2.0, "route_length dips every 75 s, cause: ping"),
        ("none", None, 0.0, ""),
        ("cannot_tell", None, None, "cannot tell: too short"),
        ("detected", None, None, "the share lost is not known"),
    ],
)
def test_dead_time_is_the_share_lost_and_no_value_where_it_cannot_be_told(verdict_, lost, value, words):
    from lnetstat.analysis.results import DeadTime
    from lnetstat.check.dead_time import figure_of

    label = ("rtr1", "router", "lnet_stats", "", "route_length")
    said = figure_of(DeadTime(*label, verdict_, "too short", False, False, 9.0, 0.0, period_s=75.0, lost_fraction=lost, cause="ping"))
    assert said.value == (None if value is None else pytest.approx(value))
    assert words in (said.words if said.value is not None else said.why)
    assert not said.unread


# ---- the line ----


def results(*found, **thresholds):
    return verdict.results_of(found, NAMES, defaults(is_record=False) | thresholds, age_s_max=600)


def level_of(*found):
    return verdict.worst_of(result.level for result in results(*found))


def test_statuses_and_what_outweighs_what():
    low, forbidden = Figure("peer_credits", "a", -1), Figure("nis_down", "a", None, why="no", unread=True)
    assert level_of(Figure("peer_credits", "a", 0)) == 0
    assert level_of(low) == 1
    assert level_of(Figure("data_age", "a", 1, unread=True)) == 3
    assert level_of(low, forbidden) == 3
    assert level_of(low, forbidden, Figure("routes_down", "a", 1)) == 2
    assert level_of(Figure("data_age", "a", 601)) == 3
    assert level_of(Figure("router_buffers", "a", None, why="none")) == 0
    assert level_of() == 3


def test_of_a_record_the_worst_moment_is_told_and_its_share_of_the_time_is_judged():
    record = defaults(is_record=True)
    moment, brief, long = (Figure(name, "a", value) for name, value in (("ni_credits", -9), *(("ni_credits_below_0", n) for n in (4, 6))))
    assert [verdict.results_of([moment, share], NAMES, record)[1].level for share in (brief, long)] == [0, 1]
    assert verdict.results_of([moment], NAMES, record)[0].level == 0
    assert verdict.perfdata(verdict.results_of([moment], NAMES, record)) == "'ni_credits'=-9"


def test_perfdata_as_the_guidelines_want_it():
    found = results(Figure("router_buffers", "a", 99.21875, limit=100.0), Figure("queue_bytes", "a", 0), Figure("ni_credits", "a", None))
    assert verdict.perfdata(found) == "'router_buffers'=99.219%;10:;0:;;100 'queue_bytes'=0B;;;0"
    assert verdict.perfdata(results(Figure("peers_down", "a", None, unread=True))) == "'peers_down'=U;0;;0"


@pytest.mark.parametrize("name", ["a'b", "x=y|z", "new\nline", "<script>", "e\x1b[31m", "n" * 300])
def test_hostile_names_cannot_end_the_line_nor_begin_perfdata(name):
    text = verdict.text_of(results(Figure("routes_down", name, 1, words=f"tcp via {name}"), Figure("routes_down", "b", 0)), name, [name])
    first, *rest = text.split("\n")
    assert first.count("|") == 1
    assert "|" not in "".join(rest)
    assert len(rest) == 2
    assert text.replace("\n", "").isprintable()
    label = verdict.label(name)
    assert label.isprintable()
    assert "=" not in label
    assert "|" not in label
    assert label.strip("'").count("'") % 2 == 0


def test_several_hosts_are_told_by_the_worst_and_how_many_more():
    found = results(*(Figure("peer_credits", f"oss{n:02}", -n, words=f"peer {n}@gni") for n in range(9)))
    assert found[0].words == "-8 on oss08 (peer 8@gni); likewise oss07 -7, oss06 -6, oss05 -5, oss04 -4, oss03 -3 and 2 more hosts"
