"""What is down, dropped, vanished or missing."""

import pytest

from lnetstat.analysis import analyze
from lnetstat.frames import load
from lnetstat.model import Severity, Snapshot, State

BEGIN_NS = 1_795_176_000_000_000_000
PEERS = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
NIS = "nid                      status alive refs peer  rtr   max    tx   min\n"


class Held:
    def __init__(self, snapshots):
        self._snapshots = snapshots

    def snapshots(self):
        yield from self._snapshots


def found(texts, *, name, ticks=60, step=1.0):
    """Analyze one file whose text at a tick is texts(tick); None is an absent file, "" no sample at all."""
    snaps = []
    for tick in range(ticks):
        text = texts(tick)
        if text == "":
            continue
        state = State.ABSENT if text is None else State.OK
        time_ns = BEGIN_NS + round(tick * step * 1e9)
        snaps.append(Snapshot(name, "n1", time_ns, None, 0, state, 2 if text is None else 0, frozenset(), text or ""))
    return {each.kind: each for each in analyze(load(Held(snaps))).findings if each.kind != "cannot_tell"}


def peer(state):
    return PEERS + f"10.1.0.1@tcp 1 {state} -1 8 8 8 8 8 0\n"


def test_a_peer_that_goes_down_is_told_with_the_time():
    down = found(lambda tick: peer("up" if tick < 20 else "down"), name="peers")["peer_down"]
    assert down.severity is Severity.WARNING
    assert down.begin_ns == BEGIN_NS + 20 * 10**9
    assert "10.1.0.1@tcp" in down.message


def test_a_peer_that_was_down_all_the_time_is_no_warning():
    assert found(lambda _: peer("down"), name="peers")["peer_down"].severity is Severity.INFO


def test_a_peer_whose_state_is_not_tracked_is_not_down():
    assert "peer_down" not in found(lambda _: peer("NA"), name="peers")


def test_an_interface_that_goes_down_is_critical():
    nis = found(lambda tick: NIS + f"10.1.0.1@tcp {'up' if tick < 9 else 'down'} -1 1 8 0 256 256 256\n", name="nis")
    assert nis["ni_unhealthy"].severity is Severity.CRITICAL


def test_a_route_down_is_told_and_routing_off_too():
    text = "Routing {}\nnet      hops priority   state router\ntcp1     1 0 {} 10.1.0.1@tcp\n"
    kinds = found(lambda tick: text.format("disabled", "up" if tick < 30 else "down"), name="routes")
    assert kinds["route_down"].severity is Severity.CRITICAL
    kinds = found(lambda tick: text.format("enabled" if tick < 30 else "stopping", "up"), name="routes")
    assert "stopping" in kinds["route_down"].message


def test_drops_are_counted_over_a_reset():
    drops = found(lambda tick: f"1 2 0 {tick} {tick} 0 {tick if tick < 30 else tick - 30} 0 0 0 0\n", name="stats")["drops"]
    assert drops.evidence["drop_count"] == pytest.approx(29 + 29)


def test_files_that_vanish_are_told_whether_they_came_back_or_not():
    gone = found(lambda tick: None if 20 <= tick < 30 else peer("up"), name="peers")["data_gap"]
    assert "LNet was not loaded" in gone.message
    assert gone.severity is Severity.WARNING
    lost = found(lambda tick: None if tick >= 20 else peer("up"), name="peers")["data_gap"]
    assert lost.severity is Severity.CRITICAL


def test_a_node_without_lnet_at_all_is_no_gap():
    assert "data_gap" not in found(lambda _: None, name="peers")


def test_files_that_a_node_never_had_did_not_vanish():
    """Absent in every sample while peers is read, as in a tree of Lustre 1.8, they say nothing, and do not hide that peers vanishes."""

    def snaps(peers_gone):
        for tick in range(60):
            time_ns = BEGIN_NS + tick * 10**9
            gone = tick in peers_gone
            text = "" if gone else peer("up")
            yield Snapshot("peers", "n1", time_ns, None, 0, State.ABSENT if gone else State.OK, 2 if gone else 0, frozenset(), text)
            for name in ("routes", "routers", "buffers"):
                yield Snapshot(name, "n1", time_ns + 10**6, None, 0, State.ABSENT, 2, frozenset(), "")

    assert "data_gap" not in {each.kind for each in analyze(load(Held(snaps(())))).findings}
    (gap,) = (each for each in analyze(load(Held(snaps(range(20, 30))))).findings if each.kind == "data_gap")
    assert gap.evidence["files"] == ["peers"]
    assert gap.evidence["came_back"]
    assert "from 12:00:20 to 12:00:29 UTC" in gap.message


def test_a_gap_in_the_samples_is_told():
    gap = found(lambda tick: "" if 20 <= tick < 40 else peer("up"), name="peers")["data_gap"]
    assert gap.evidence["missing_s"] == pytest.approx(21)
    assert gap.severity is Severity.WARNING


def test_what_is_seen_only_after_a_hole_is_told_as_just_that():
    down = found(lambda tick: peer("up") if tick < 40 else peer("down") if tick == 59 else "", name="peers")["peer_down"]
    assert "at 12:00:59 UTC, after a hole without data since 12:00:39" in down.message
    assert "end of the record" not in down.message


def test_the_data_reach_to_the_last_sample_of_any_file():
    snaps = [
        Snapshot("peers", "n1", BEGIN_NS + tick * 10**9, None, 0, State.OK, 0, frozenset(), peer("up")) for tick in (-60, *range(100), 160)
    ]
    (host,) = analyze(load(Held(snaps))).quality
    assert (host.begin_ns, host.end_ns) == (BEGIN_NS - 60 * 10**9, BEGIN_NS + 160 * 10**9)
    assert [round(stop - start) for start, stop in host.gaps] == [60, 61]


def test_every_reset_of_marks_is_told():
    low = "10.1.0.1@tcp 1 up -1 8 8 8 8 {} 0\n"
    reset = found(lambda tick: PEERS + low.format(3 if tick % 20 < 15 else 8), name="peers")["data_gap"]
    assert "rose 3 times, at 12:00:15 and 12:00:35 and 12:00:55 UTC" in reset.message
    many = found(lambda tick: PEERS + low.format(3 if tick % 10 < 5 else 8), name="peers")["data_gap"]
    assert "rose 6 times, first at 12:00:05, last at 12:00:55 UTC" in many.message


def moved(rates):
    """Findings about a node that moved so many MB in each second."""
    total = [sum(rates[: tick + 1]) for tick in range(len(rates))]
    return found(lambda tick: f"0 1 0 {tick} {tick} 0 0 {total[tick] * 10**6} {total[tick]} 0 0\n", name="stats", ticks=len(rates))


def test_steady_traffic_that_stops_is_told():
    end = moved([50, 60] * 100 + [0] * 50)["traffic_stopped"]
    assert end.severity is Severity.INFO
    assert end.evidence["stop_s"] == pytest.approx(50, abs=2)
    assert "did not come back" in end.message
    middle = moved([50, 60] * 75 + [0] * 50 + [50, 60] * 75)["traffic_stopped"]
    assert middle.severity is Severity.WARNING


@pytest.mark.parametrize(
    "rates", [[50] * 240 + [0] * 15, ([50] * 40 + [0] * 40) * 4, [0] * 150 + [50] * 100, [0] * 250, [50] * 30 + [0] * 220]
)
def test_loads_that_come_and_go_have_not_stopped(rates):
    assert "traffic_stopped" not in moved(rates)


def test_marks_that_rise_are_told():
    low = "10.1.0.1@tcp 1 up -1 8 8 8 8 {} 0\n"
    reset = found(lambda tick: PEERS + low.format(3 if tick < 30 else 8), name="peers")["data_gap"]
    assert "they were reset" in reset.message
