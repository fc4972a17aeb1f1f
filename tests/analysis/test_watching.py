"""Watching a recording: dead time told within two periods of the sixth dip, its end, credits at once, and clocks and hosts as they are."""

import numpy as np
import pytest

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
        self.moved = 0
        self.low = 8

    def snapshots(self, second, *, period=0.0, load=1e9, free=8, host=""):
        inside = period and second % period < self.width
        self.moved += int(load * (1 - self.depth * bool(inside)) * (1 + self.noise * self.random.standard_normal()))
        self.low = min(self.low, free)
        texts = {
            "peers": f"{HEADER}10.2.0.1@tcp1 1 up -1 8 8 8 {free} {self.low} 0\n10.2.0.2@tcp1 1 up -1 8 8 8 8 8 0\n",
            "stats": f"0 1 0 0 0 {second * 100} 0 0 0 {self.moved} 0\n",
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


@pytest.mark.parametrize(("period", "width", "depth", "noise", "step"), [(25.0, 2, 0.6, 0.1, 12)])
def test_dead_time_is_told_within_two_periods_of_the_sixth_dip_and_so_is_its_end(tmp_path, period, width, depth, noise, step):
    node = Node(tmp_path / "rec", depth=depth, noise=noise, width=width)
    watcher, fifth, eighth, last = Watcher(), int(5 * period), int(8 * period), int(10 * period)
    events = watched(node, watcher, range(fifth), every=fifth, period=period)
    events += watched(node, watcher, range(fifth, eighth), every=step, period=period)
    events += watched(node, watcher, range(eighth, last), every=100, period=period)
    begun = of(events, "dead_time", "begin")
    assert len(begun) == 1
    assert begun[0].evidence["period_s"] == pytest.approx(period, rel=0.02)
    assert begun[0].time_ns / 1e9 - (BEGIN + 5 * period + width) <= 2 * period + step
    ended = of(watched(node, watcher, range(last, int(14 * period)), every=25), "dead_time", "end")
    assert len(ended) == 1
    assert ended[0].time_ns / 1e9 - (BEGIN + 9 * period) <= 4 * period
    assert "the last dip was at" in ended[0].message
    node.writer.close()


def test_the_verdict_is_that_of_analyze(node, tmp_path):
    events = watched(node, Watcher(), range(400), every=100, period=25.0)
    whole = analyze(load(Recording(tmp_path / "rec")))
    begun = of(events, "dead_time", "begin")[0]
    assert whole.dead_time.detected
    assert begun.evidence["period_s"] == pytest.approx(whole.dead_time.period_s, rel=0.01)
    assert begun.subject == "route_length of rtr1"


def test_a_steady_load_begins_nothing(node):
    events = watched(node, Watcher(), range(800), every=100)
    assert [each.kind for each in events if each.kind != "verdict"] == []
    assert [each.evidence["verdict"] for each in of(events, "verdict")] == ["cannot_tell", "none"]


def test_credits_that_run_out_are_told_with_the_sample_that_shows_them(node):
    watcher = Watcher()
    assert of(watched(node, watcher, range(100), every=50), "oversubscribed_peers") == []
    node.write([100], free=-5)
    begun = of(watcher.feed(node.new()), "oversubscribed_peers")
    assert [(each.change, each.time_ns) for each in begun] == [("begin", (BEGIN + 100) * 10**9)]
    assert "10.2.0.1@tcp1" in begun[0].subject
    again = watched(node, watcher, range(101, 130), every=30, free=-6) + watched(node, watcher, range(130, 180), every=25)
    assert [each.change for each in of(again, "oversubscribed_peers")] == ["worse"]  # one shortage: told once, and that it became critical
    ended = of(watched(node, watcher, range(180, 240), every=30), "oversubscribed_peers")
    assert [each.change for each in ended] == ["end"]


def test_a_pause_of_the_load_is_no_end_of_dead_time(node):
    watcher = Watcher()
    watched(node, watcher, range(400), every=200, period=25.0)
    events = watched(node, watcher, range(400, 500), every=50, load=0)
    assert of(events, "dead_time", "end") == []


def test_a_clock_that_goes_back_is_told_and_watched_on(node):
    watcher = Watcher()
    watched(node, watcher, range(1000, 1300), every=300)
    events = watched(node, watcher, range(500, 800), every=100, period=25.0)
    assert [each.subject for each in of(events, "clock_step")] == ["rtr1"]
    assert len(of(events, "dead_time", "begin")) == 1


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
    """Two hours at one sample in 2 s: the window stays 30 minutes long, and analyses are as far apart as they are asked to be."""
    calls = []
    watcher = Watcher(analysis=lambda frames: calls.append(len(frames.states)) or analyze(frames))
    watcher.least_step_s = 1800.0
    for first in range(0, 7200, 200):
        node.write(range(first, first + 200, 2))
        watcher.feed(node.new())
    assert max(calls) <= 3 * (1800 + 200) / 2 + 3
    assert len(calls) <= 7200 / 1800 + 1


def test_events_are_json_of_plain_values(node):
    events = watched(node, Watcher(), range(400), every=200, period=25.0, free=-3)
    kinds = {each.as_json()["kind"] for each in events}
    assert {"verdict", "dead_time", "oversubscribed_peers"} <= kinds
    assert all(each.as_json()["severity"] in ("info", "warning", "critical") for each in events)
    assert sorted(each.time_ns for each in events) == [each.time_ns for each in events]


def test_no_samples_is_an_event_of_its_own(node):
    watcher = Watcher()
    watched(node, watcher, range(10))
    assert "has the writer stopped" in watcher.no_samples(40.0).message
    assert watcher.interval_s == 1.0
