"""The fast path over text gives what the reference gives over parsed rows."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lnetstat.model import Parsed
from lnetstat.reduce.peers import PeersStream, totals, worst
from lnetstat.tables.peers import NINE, TEN, PeersRow, parse, render

number = st.integers(-400, 400)
rows = st.builds(
    PeersRow,
    nid=st.builds("{}@{}".format, st.sampled_from(["10.0.0.1", "10.0.0.2", "7", "fd00::1"]), st.sampled_from(["tcp", "o2ib1", "gni"])),
    row=st.just(0),
    refs=st.integers(0, 9),
    state=st.sampled_from(["up", "down", "NA"]),
    last_s=st.just(-1),
    tx_credits_max=st.sampled_from([0, 2, 8, 16]),
    rtr_credits=number,
    rtr_credits_min=number,
    tx_credits=number,
    tx_credits_min=number,
    queue_bytes=st.integers(-5, 10**9),
)
tables = st.lists(rows, max_size=12)
layouts = st.sampled_from([TEN, NINE])


def text_of(table, layout):
    return render(Parsed(tuple(table), layout.name, {}, ()), layout.name)


@pytest.mark.parametrize("part_characters", [1, 200, 50_000])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sequence=st.lists(st.tuples(tables, layouts), min_size=1, max_size=6))
def test_stream_equals_reference_over_any_sequence_of_tables(monkeypatch, part_characters, sequence):
    monkeypatch.setattr("lnetstat.reduce.peers.PART_CHARACTERS", part_characters)
    stream = PeersStream()
    for table, layout in sequence:
        text = text_of(table, layout)
        parsed = parse(text)
        assert stream.update(text)
        assert stream.totals() == totals(parsed.rows)
        assert stream.worst(4) == worst(parsed.rows, 4)
        wanted = frozenset(row.nid for row in parsed.rows[::2])
        assert sorted(stream.peers(wanted)) == worst((row for row in parsed.rows if row.nid in wanted), 100)


@settings(max_examples=300, deadline=None)
@given(tables, layouts, st.integers(0, 2000), st.sampled_from(["", "x", "-", "\r", "_", " 7", "\n", "@", "\u00e9"]))
def test_stream_takes_no_text_that_the_parser_has_a_problem_with(table, layout, at, edit):
    text = text_of(table, layout)
    at = min(at, len(text))
    broken = text[:at] + edit + text[at + 1 :]
    stream = PeersStream()
    stream.update(text)
    if stream.update(broken):
        parsed = parse(broken)
        assert parsed.problems == ()
        assert stream.totals() == totals(parsed.rows)


def test_a_peer_that_leaves_takes_its_low_water_with_it():
    stream = PeersStream()
    bad = PeersRow("10.0.0.9@tcp", 0, 1, "up", -1, 8, 8, -3, -5, -70, 4096)
    good = PeersRow("10.0.0.8@tcp", 0, 1, "up", -1, 8, 8, 8, 8, 7, 0)

    def text(*peers):
        return render(Parsed(peers, TEN.name, {}, ()), TEN.name)

    stream.update(text(bad, good))
    assert (stream.totals()["tcp"].tx_credits_worst, stream.totals()["tcp"].tx_credits_low) == (-5, -70)
    stream.update(text(good))
    assert (stream.totals()["tcp"].tx_credits_worst, stream.totals()["tcp"].tx_credits_low) == (8, 7)
    assert stream.totals()["tcp"].oversubscribed == 0


def test_routed_peers_are_counted_and_nothing_else():
    routed = PeersRow("10.2.0.21@tcp1", 0, 2, "up", -1, 0, 0, 0, 0, 0, 0)
    total = totals([routed])["tcp1"]
    assert (total.count, total.oversubscribed, total.tx_credits_worst, sum(total.buckets)) == (1, 0, None, 0)
    assert worst([routed], 4) == []
