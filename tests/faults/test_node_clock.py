"""F10 and F18 from end to end: a clock that is set and counters that begin anew, recorded, replayed, reduced and analysed."""

import itertools
import json

import pytest
from click.testing import CliRunner

from lnetstat.analysis.rates import from_counter
from lnetstat.cli import lnetstat
from lnetstat.frames import load
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter
from lnetstat.reduce import Reducer
from lnetstat.sources.replay import ReplaySource

NS = 10**9
BEGIN_NS = 1_700_000_000 * NS
SECONDS = 240
AT = 120  # the second at which it happens
HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"


def stats_text(messages):
    return f"1 10 0 {messages} {messages} 0 0 {messages * 1000} {messages * 1000} 0 0\n"


def tick(second, time_ns, messages, low=-3, is_there=True):
    """One second of a node: `stats` with so many messages and a peer with this low-water mark, or neither."""
    texts = {"stats": stats_text(messages), "peers": HEADER + f"10.0.0.1@tcp 2 up 5 8 8 8 {max(low, -1)} {low} 0\n"}
    state = State.OK if is_there else State.ABSENT
    mono_ns = second * NS
    return [Snapshot(name, "rtr", time_ns, mono_ns, 1000, state, 0, frozenset(), text if is_there else "") for name, text in texts.items()]


def record(folder, ticks):
    with RecordingWriter(folder, free_bytes_min=0) as writer:
        for snapshots in ticks:
            writer.write(snapshots)
    return folder


def analysis_of(folder):
    done = CliRunner().invoke(lnetstat, ["analyze", str(folder), "--json"], standalone_mode=False, catch_exceptions=False)
    return json.loads(done.stdout)


def points_of(ticks):
    reducer = Reducer("rtr")
    for snapshots in ticks:
        for snapshot in snapshots:
            reducer.add(snapshot)
    return reducer.points()


@pytest.mark.parametrize("step_s", [3600, -3600, 1, -1, -60])
def test_a_clock_that_is_set_leaves_no_negative_or_absurd_rate_and_the_order_of_a_replay(tmp_path, step_s):
    ticks = [tick(second, BEGIN_NS + (second + (step_s if second >= AT else 0)) * NS, 100 * second) for second in range(SECONDS)]
    recording = Recording(record(tmp_path / "rec", ticks))
    mono_ns = [snapshot.mono_ns for snapshot in recording.snapshots(names=["stats"])]
    assert mono_ns == sorted(mono_ns), "as they were read, not as they are stamped"
    replayed = [snapshot.mono_ns for snapshot in ReplaySource(recording).snapshots() if snapshot.name == "stats"]
    assert replayed == mono_ns
    said = analysis_of(tmp_path / "rec")
    assert not [finding for finding in said["findings"] if finding["kind"] == "dead_time"]
    rates, _ = rates_of(tmp_path / "rec")
    assert min(rates) >= 0
    assert max(rates) <= 2 * 100


@pytest.mark.parametrize("case", ["reset", "reload", "wrap"])
def test_counters_that_begin_anew_give_no_negative_rate_and_are_noted(tmp_path, case):
    def messages(second):
        if case == "wrap":
            return (2**32 - 100 * AT + 100 * second) % 2**32
        return 100 * (second if second < AT else second - AT)

    ticks = [
        tick(second, BEGIN_NS + second * NS, messages(second), is_there=not (case == "reload" and AT - 5 <= second < AT))
        for second in range(SECONDS)
    ]
    record(tmp_path / "rec", ticks)
    rates, resets = rates_of(tmp_path / "rec")
    assert min(rates) >= 0
    assert max(rates) <= 2 * 100
    assert resets == (0 if case == "wrap" else 1)
    values = [int(point.value) for point in points_of(ticks) if point.path.endswith(".lnet_stats.send_count")]
    falls = sum(after < before for before, after in itertools.pairwise(values))
    assert falls == 1, "Carbon gets what the kernel said: perSecond() leaves a fall out"
    assert len(values) == SECONDS - (5 if case == "reload" else 0), "a gap, and no zeros"


def test_a_peer_that_is_deleted_and_comes_again_has_a_gap_and_its_mark_begins_anew(tmp_path):
    def at(second):
        if AT <= second < AT + 10:
            (stats, peers) = tick(second, BEGIN_NS + second * NS, 100 * second)
            return [stats, peers._replace(text=HEADER)]
        return tick(second, BEGIN_NS + second * NS, 100 * second, low=-3 if second < AT else 8)

    ticks = [at(second) for second in range(SECONDS)]
    path = "lnet.rtr.peers.tcp.top.10_0_0_1_at_tcp.tx_credits_min"
    marks = {point.time_s - BEGIN_NS // NS: point.value for point in points_of(ticks) if point.path == path}
    assert not [second for second in marks if AT <= second < AT + 10]
    assert {marks[second] for second in range(AT)} == {-3}
    assert {marks[second] for second in range(AT + 10, SECONDS)} == {8}
    said = analysis_of(record(tmp_path / "rec", ticks))
    assert not [finding for finding in said["findings"] if finding["kind"] == "dead_time"]


def rates_of(folder):
    """Return the rates of send_count, and how often it began anew."""
    table = load(Recording(folder)).tables["lnet_stats"]
    found = from_counter(table["time_ns"].to_numpy() / NS, table["send_count"].to_numpy(), wraps=True)
    return found.rate.tolist(), found.resets
