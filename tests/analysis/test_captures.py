"""Real captures of LNet and Lustre come out right: the starved peer, the ping bursts, resets and vanished files."""

from pathlib import Path

import jsonschema
import numpy as np
import pytest

from lnetstat.analysis import analyze, joined, within
from lnetstat.analysis.schema import SCHEMA
from lnetstat.frames import load
from lnetstat.sources import open_source

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"
pytestmark = pytest.mark.skipif(not CAPTURES.exists(), reason="needs ../shared/captures")


def frames_of(scenario, node):
    return load(open_source(str(CAPTURES / scenario / node / "fast.tar.gz"), host=node))


@pytest.fixture(scope="module")
def s7_router():
    return analyze(frames_of("s7_lustre_pings_seed_credits", "rtr"))


def findings(analysis, kind):
    return [each for each in analysis.findings if each.kind == kind]


def test_ping_bursts_are_found_from_the_routers_own_counters(s7_router):
    (group,) = s7_router.ping_bursts
    assert group.signal == "route_count"
    assert len(group.onsets_s) == 9
    assert group.period_s == pytest.approx(13.3, abs=0.4)
    assert group.periodic
    assert group.size == pytest.approx(595, abs=15)
    (told,) = findings(s7_router, "ping_burst")
    assert "9 bursts" in told.message
    assert not s7_router.dead_time.detected


def test_the_starved_peer_of_the_router_is_named(s7_router):
    told = findings(s7_router, "oversubscribed_peers")[0]
    assert told.subject == "peer 10.2.0.21@tcp1 on rtr"
    assert "7 messages waited beyond its 2 peer credits" in told.message
    assert told.evidence["low_water"] == -7
    assert findings(s7_router, "first_exhausted")[0].evidence["resource"] == "peer_credits"


def test_the_document_satisfies_its_schema_and_has_signals_to_draw(s7_router):
    jsonschema.validate(s7_router.as_json(), SCHEMA)
    for signal in s7_router.signals:
        assert signal.time_s.shape == signal.rate.shape == signal.interval_s.shape
        assert np.all(np.diff(signal.time_s) > 0)
    assert {signal.name for signal in s7_router.signals} == {"route_length", "route_count"}


def test_pings_counted_by_the_server_are_exact():
    analysis = analyze(frames_of("s7_lustre_pings_seed_credits", "srv"))
    pings = [group for group in analysis.ping_bursts if group.signal == "obd_ping"]
    assert len(pings[0].onsets_s) == 9
    assert pings[0].size == pytest.approx(295, abs=2)
    assert pings[0].gap_cv < 0.1


def test_real_floods_of_395_pings_are_found_and_their_drift_followed():
    analysis = analyze(frames_of("s6b_lustre_ping_flood_15s", "srv"))
    pings = max((group for group in analysis.ping_bursts if group.signal == "obd_ping"), key=lambda group: group.size)
    assert pings.size == pytest.approx(395, abs=3)
    assert 12 < pings.period_s < 15
    assert not analysis.dead_time.detected


@pytest.mark.parametrize(
    ("node", "peer", "low"), [("rtr", "10.2.0.21@tcp1", -8), ("c1", "10.1.0.1@tcp", -63), ("srv", "10.2.0.1@tcp1", -63)]
)
def test_the_ramp_names_the_starved_peer_of_each_node(node, peer, low):
    analysis = analyze(frames_of("s1_ramp_seed_credits", node))
    told = findings(analysis, "oversubscribed_peers")[0]
    assert told.subject == f"peer {peer} on {node}"
    assert told.evidence["low_water"] == low
    assert told.evidence["grade"] == "sustained"
    assert not analysis.dead_time.detected


def test_bursts_that_choke_a_steady_load_are_dead_time():
    analysis = analyze(frames_of("s2_bursts_seed_credits", "rtr"))
    assert analysis.dead_time.detected
    assert analysis.dead_time.period_s == pytest.approx(15.35, abs=0.1)
    assert 0.5 < analysis.dead_time.duration_s < 2.5
    assert 0.1 < analysis.dead_time.depth < 0.5
    assert analysis.dead_time.cause == "unknown"
    assert len(analysis.ping_bursts[0].onsets_s) >= 13


def test_a_reset_a_vanished_lnet_and_routing_switched_off_are_told():
    analysis = analyze(frames_of("s9_disruptions", "rtr"))
    gaps = " | ".join(each.message for each in findings(analysis, "data_gap"))
    assert "LNet's files were absent on rtr from 12:12:49 to 12:13:00 UTC" in gaps
    assert "low-water marks of" in gaps
    assert "stopping at 12:12:19" in findings(analysis, "route_down")[0].message
    for signal in analysis.signals:
        assert signal.rate.min() >= 0


def test_an_interface_that_lost_its_link_is_told():
    analysis = analyze(frames_of("s5b_health_faults", "c1"))
    told = findings(analysis, "ni_unhealthy")[0]
    assert "10.1.13.1@tcp" in told.subject
    assert "since 11:41:30 UTC" in told.message


def test_several_nodes_are_one_analysis_and_a_window_cuts_it():
    parts = [frames_of("s7_lustre_pings_seed_credits", node) for node in ("rtr", "srv")]
    both = joined(parts)
    assert {host.host for host in analyze(both).quality} == {"rtr", "srv"}
    end = int(parts[0].states["time_ns"].min()) + 20 * 10**9
    short = analyze(within(both, None, end))
    assert short.dead_time.verdict == "cannot_tell"
    assert findings(short, "cannot_tell")
    jsonschema.validate(short.as_json(), SCHEMA)
