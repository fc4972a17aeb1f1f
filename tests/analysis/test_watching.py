"""Watching a recording: dead time told within two periods of the sixth dip, its end, credits at once, and clocks and hosts as they are."""

import copy

import numpy as np
import pytest

from lnetstat.analysis.changes import States
from lnetstat.analysis.run import analyze
from lnetstat.analysis.watching import Watcher
from lnetstat.frames import from_changes, load
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter
from lnetstat.recording.follow import Follower

BEGIN = 1_700_000_000
HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"
BUFFERS = "pages count credits min\n0 512 512 512\n1 4096 4096 4000\n256 256 256 250\n"


class Node:
    """A router that is recorded: bytes routed, dips where `dips(second)` says so, and credits of one peer."""

    def __init__(self, folder, host="rtr1", depth=0.7, noise=0.05, width=2):
        self.writer = RecordingWriter(str(folder))
        self.follower = Follower(str(folder))
        self.host, self.depth, self.noise, self.width = host, depth, noise, width
        self.random = np.random.default_rng(5)
        self.moved = self.messages = 0
        self.low = 8
        self.peers = 1  # beside the one that may run out

    def snapshots(self, second, *, period=0.0, load=1e9, free=8, host="", state="up"):
        inside = period and second % period < self.width
        self.moved += int(load * (1 - self.depth * bool(inside)) * (1 + self.noise * self.random.standard_normal()))
        self.messages += 900 if inside else 100
        self.low = min(self.low, free)
        rest = "".join(f"10.2.{nid // 250}.{nid % 250 + 2}@tcp1 1 {state} -1 8 8 8 8 8 0\n" for nid in range(self.peers))
        texts = {
            "peers": f"{HEADER}10.2.0.1@tcp1 1 up -1 8 8 8 {free} {self.low} 0\n{rest}",
            "stats": f"0 1 0 0 0 {self.messages} 0 0 0 {self.moved} 0\n",
            "buffers": BUFFERS,
        }
        stamp = round((BEGIN + second) * 1e9)
        return [Snapshot(name, host or self.host, stamp, None, 0, State.OK, 0, frozenset(), text) for name, text in texts.items()]

    def write(self, seconds, **options):
        for second in seconds:
            self.writer.write(self.snapshots(second, **options))

    def new(self):
        return from_changes(self.follower.changes())


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path / "rec")
    yield node
    node.writer.close()


def watched(node, watcher, seconds, every=5, **options):
    """Write and feed `every` seconds at a time; return the events."""
    events = []
    for first in range(seconds.start, seconds.stop, every):
        node.write(range(first, min(first + every, seconds.stop)), **options)
        events += watcher.feed(node.new())
    return events


def of(events, kind, change=None):
    return [each for each in events if each.kind == kind and change in (None, each.change)]


PERIOD, WIDTH, STEP = 25, 2, 12


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """Ten dips, credits that run out in the last two, then a steady load: (events until then, events after, what analyze says then)."""
    folder = tmp_path_factory.mktemp("followed") / "rec"
    node, watcher = Node(folder, depth=0.6, noise=0.1, width=WIDTH), Watcher()
    fifth, eighth, last = 5 * PERIOD, 8 * PERIOD, 10 * PERIOD
    during = watched(node, watcher, range(fifth), every=fifth, period=PERIOD)
    during += watched(node, watcher, range(fifth, eighth), every=STEP, period=PERIOD)
    during += watched(node, watcher, range(eighth, last), every=last - eighth, period=PERIOD, free=-3)
    whole = analyze(load(Recording(folder)))
    after = watched(node, watcher, range(last, 14 * PERIOD), every=25) + watched(node, watcher, range(14 * PERIOD, 24 * PERIOD), every=125)
    node.writer.close()
    return during, after, whole


def test_dead_time_is_told_within_two_periods_of_the_sixth_dip_and_so_is_its_end(followed):
    during, after, _ = followed
    begun = of(during, "dead_time", "begin")
    assert len(begun) == 1
    assert begun[0].evidence["period_s"] == pytest.approx(PERIOD, rel=0.02)
    assert begun[0].time_ns / 1e9 - (BEGIN + 5 * PERIOD + WIDTH) <= 2 * PERIOD + STEP
    ended = of(after, "dead_time", "end")
    assert len(ended) == 1
    assert ended[0].time_ns / 1e9 - (BEGIN + 9 * PERIOD) <= 4 * PERIOD
    assert "the last dip was at" in ended[0].message


def test_the_verdicts_are_those_of_analyze(followed):
    during, _, whole = followed
    begun = of(during, "dead_time", "begin")[0]
    assert whole.dead_time.detected
    assert begun.evidence["period_s"] == pytest.approx(whole.dead_time.period_s, rel=0.02)
    assert begun.subject == "route_length of rtr1"
    kinds = {each.kind for each in whole.findings}
    assert {"dead_time", "ping_burst", "first_exhausted", "oversubscribed_peers"} <= kinds
    assert {each.kind for each in during if each.change == "begin"} == kinds


def test_every_state_is_told_once_and_ends(followed):
    during, after, _ = followed
    begun = [(each.kind, each.subject) for each in during + after if each.change == "begin"]
    ended = [each.kind for each in after if each.change == "end"]
    assert len(set(begun)) == len(begun)
    assert sorted(ended) == sorted(kind for kind, _ in begun)


def test_peers_that_are_down_are_told_though_not_all_are_kept(node):
    node.peers = 200
    held = []
    watcher = Watcher(analysis=lambda frames: held.append(len(frames.tables["peers"])) or analyze(frames))
    assert of(watched(node, watcher, range(10), every=10), "peer_down") == []
    assert held[-1] <= 10  # of 201 peers the nearest to its limit
    node.peers = 199

    def written(seconds, state):
        for second in seconds:
            snapshots = node.snapshots(second)
            row = f"10.9.9.9@tcp1 1 {state} -1 8 8 8 8 8 0\n"
            node.writer.write([each._replace(text=each.text + row) if each.name == "peers" else each for each in snapshots])
        return of(watcher.feed(node.new()), "peer_down")

    begun = written(range(10, 20), "up") + written(range(20, 30), "down") + written(range(30, 40), "down")
    assert [(each.change, each.subject) for each in begun] == [("begin", "10.9.9.9@tcp1 on rtr1")]
    assert [each.change for each in written(range(40, 330), "up") + written(range(330, 350), "up")] == ["end"]


def test_a_host_unlike_its_peers_is_told(node):
    nodes = [copy.copy(node) for _ in range(6)]
    watcher, events = Watcher(), []
    for second in range(60):
        for number, each in enumerate(nodes):
            node.writer.write(each.snapshots(second, load=1e8 if number == 3 else 1e9, host=f"rtr{number}"))
    events = watcher.feed(node.new())
    assert [(each.change, each.subject) for each in of(events, "odd_one_out")] == [("begin", "rtr3")]


def test_a_steady_load_begins_nothing(node):
    events = watched(node, Watcher(), range(400), every=100)
    assert [each.kind for each in events if each.kind != "verdict"] == []
    assert [each.evidence["verdict"] for each in of(events, "verdict")] == ["cannot_tell", "none"]


def test_credits_that_run_out_are_told_with_the_sample_that_shows_them(node):
    watcher = Watcher()
    watcher.least_step_s = 1e6  # one look at the beginning: credits are told from what is fed
    assert of(watched(node, watcher, range(100), every=50), "oversubscribed_peers") == []
    node.write([100], free=-5)
    begun = of(watcher.feed(node.new()), "oversubscribed_peers")
    assert [(each.change, each.time_ns) for each in begun] == [("begin", (BEGIN + 100) * 10**9)]
    assert "10.2.0.1@tcp1" in begun[0].subject
    again = watched(node, watcher, range(101, 130), every=30, free=-6) + watched(node, watcher, range(130, 180), every=25)
    assert [each.change for each in of(again, "oversubscribed_peers")] == ["worse"]  # one shortage: told once, and that it became critical
    ended = of(watched(node, watcher, range(180, 450), every=30), "oversubscribed_peers")
    assert [each.change for each in ended] == ["end"]


def test_credits_that_run_out_again_and_again_are_one_state_whose_end_says_how_often(node):
    """Every 75 s, as with pings: one line at the beginning and one at the end, whatever lies between."""
    watcher, events = Watcher(), []
    watcher.least_step_s = 1e6
    for cycle in range(6):
        events += watched(node, watcher, range(75 * cycle, 75 * cycle + 70), every=35)
        events += watched(node, watcher, range(75 * cycle + 70, 75 * cycle + 75), free=-3)
    events += watched(node, watcher, range(450, 900), every=50)
    told = of(events, "oversubscribed_peers")
    assert [each.change for each in told if each.change != "worse"] == ["begin", "end"]
    assert told[-1].evidence["times"] == 6
    assert ", 6 times since 2023-11-14T22:14:30Z" in told[-1].message
    assert told[-1].time_ns - told[-1].evidence["last_seen_ns"] > 300e9


def test_dead_time_of_one_look_only_is_not_told(node):
    """A find of chance, withdrawn with the next look, and then one of another period: neither is posted."""
    node.write(range(250), period=25.0)
    dips = analyze(node.new())
    steady = dips._replace(
        findings=tuple(each for each in dips.findings if each.kind != "dead_time"),
        dead_time=dips.dead_time._replace(verdict="none", detected=False),
    )
    longer = [each._replace(evidence={**each.evidence, "period_s": 30.0}) for each in dips.findings]
    states, now_ns = States(), (BEGIN + 250) * 10**9
    looks = [dips, steady, dips, dips._replace(findings=tuple(longer))]
    events = [states.look(each, BEGIN * 10**9, now_ns + place * 10**9, with_credits=True) for place, each in enumerate(looks)]
    told = [event for each in events for event in each]
    assert of(told, "dead_time") == []
    assert "dead_time" not in {each.evidence["verdict"] for each in of(told, "verdict")}
    agreed = states.look(looks[-1], BEGIN * 10**9, now_ns + 4 * 10**9, with_credits=True)
    assert [each.change for each in of(agreed, "dead_time")] == ["begin"]


def test_a_pause_of_the_load_is_no_end_of_dead_time(node):
    watcher = Watcher()
    watched(node, watcher, range(250), every=250, period=25.0)
    events = watched(node, watcher, range(250, 350), every=50, load=0)
    assert of(events, "dead_time", "end") == []


def test_a_clock_that_goes_back_is_told_and_watched_on(node):
    seen_ns = []
    watcher = Watcher(analysis=lambda frames: seen_ns.append(int(frames.states["time_ns"].max())) or analyze(frames))
    watched(node, watcher, range(1000, 1200), every=200)
    events = watched(node, watcher, range(500, 740), every=120, period=25.0) + watched(
        node, watcher, range(740, 775), every=35, period=25.0
    )
    assert [each.subject for each in of(events, "clock_step")] == ["rtr1"]
    assert len(of(events, "dead_time", "begin")) == 1
    assert seen_ns[-1] == (BEGIN + 774) * 10**9, "samples of before the step, which would lie in the future, are let go"


def test_hosts_that_come_and_go_are_told(node):
    watcher = Watcher()
    watcher.least_step_s = 1e6  # one look at the beginning: hosts are told from what is fed
    silent, back = [], []
    for first in range(0, 300, 10):
        for second in range(first, first + 10):
            node.writer.write(node.snapshots(second) + (node.snapshots(second, host="rtr2") if not 100 <= second < 200 else []))
        events = watcher.feed(node.new())
        silent += [(first, each.subject) for each in of(events, "host_silent")]
        back += [(first, each.subject) for each in of(events, "host_back")]
    assert len(silent) == 1
    assert 120 <= silent[0][0] <= 140
    assert (silent[0][1], back) == ("rtr2", [(200, "rtr2")])


def test_memory_and_cost_are_bounded(node):
    """An hour and a half at one sample in 4 s: the window stays 30 minutes long, and analyses are as far apart as they are asked to be."""
    calls, found = [], []

    def counted(frames):
        calls.append(len(frames.states))
        found.append(found[0] if found else analyze(frames))
        return found[0]

    watcher = Watcher(analysis=counted)
    watcher.least_step_s = 900.0
    for first in range(0, 5400, 200):
        node.write(range(first, first + 200, 4))
        watcher.feed(node.new())
    assert max(calls) <= 3 * (1800 + 200) / 4 + 3
    assert len(calls) <= 5400 / 900 + 1


def test_events_are_json_of_plain_values(followed):
    events = [*followed[0], *followed[1]]
    assert {"verdict", "dead_time", "oversubscribed_peers"} <= {each.as_json()["kind"] for each in events}
    assert all(each.as_json()["severity"] in ("info", "warning", "critical") for each in events)
    assert sorted(each.time_ns for each in events) == [each.time_ns for each in events]


def test_no_samples_is_an_event_of_its_own(node):
    watcher = Watcher()
    watched(node, watcher, range(10))
    assert "has the writer stopped" in watcher.no_samples(40.0).message
    assert watcher.interval_s == 1.0
