"""A real carbon and graphite-web: what the agent's metrics hold there is analyzed as it was when it was sent."""

import json
import time

import numpy as np
import pytest
from click.testing import CliRunner

from lnetstat.cli.analyze import command
from lnetstat.cli.watch import command as watch
from lnetstat.model import Point
from lnetstat.series import graphite

SECONDS = 600
ROUTED, PINGS, CREDITS = (
    "lnet.rtr9.lnet_stats.route_length",
    "lnet.oss9.counters.ost.obd_ping.samples",
    "lnet.rtr9.peers.tcp1.tx_credits_worst",
)


@pytest.fixture(scope="module")
def begin_s(filled):
    """Ten minutes of a router with dips of 3 s every 25 s, pings at them and credits that run out; one second was never sent."""
    begin = int(time.time()) - SECONDS
    at = np.arange(SECONDS)
    inside = (begin + at) % 25 < 3
    moved = np.cumsum(1e9 * np.where(inside, 0.2, 1.0) * (1 + 0.03 * np.random.default_rng(6).standard_normal(SECONDS)))
    named = {ROUTED: moved, PINGS: np.cumsum(np.where(inside, 300, 0)), CREDITS: np.where(inside, -4, 8)}
    points = [Point(name, float(values[n]), begin + n) for name, values in named.items() for n in range(SECONDS) if n != 300]
    filled.send(points)
    for name in named:
        filled.rendered_whole(name, begin, begin + SECONDS, SECONDS - 1)
    return begin


def test_values_come_back_with_their_seconds_and_the_missing_one_missing(filled, begin_s):
    (found,) = graphite.fetch(f"graphite://127.0.0.1:{filled.web_port}/", targets=[CREDITS], begin_s=begin_s, end_s=begin_s + SECONDS - 1)
    assert found.target == CREDITS
    assert found.time_s.tolist() == [begin_s + n for n in range(SECONDS)]
    assert np.flatnonzero(np.isnan(found.value)).tolist() == [300]
    assert set(found.value[np.isfinite(found.value)]) == {-4.0, 8.0}


def test_the_dips_their_cause_and_the_credits_are_found(filled, begin_s):
    location = (
        f"graphite://127.0.0.1:{filled.web_port}/{ROUTED}?target={PINGS}&target={CREDITS}&from={begin_s - 1}&until={begin_s + SECONDS - 1}"
    )
    result = CliRunner().invoke(command, [location, "--json", "--credits-max", "8"], standalone_mode=False)
    assert result.return_value == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["dead_time"]["detected"] is True
    assert document["dead_time"]["period_s"] == pytest.approx(25, abs=0.05)
    assert document["dead_time"]["cause"] == "ping"
    assert document["credits"]["required_peak"] == 12


def test_a_wildcard_takes_the_bytes_routed_of_each_router(filled, begin_s):
    location = f"graphite://127.0.0.1:{filled.web_port}/lnet.rtr9.*.*?from={begin_s - 1}"
    table = graphite.load(location)
    assert table.attrs["kind"] == "counter"
    assert float(table["value"].diff().median()) == pytest.approx(1e9, rel=0.05)


def test_no_such_series_and_a_target_that_is_none_are_told(filled):
    with pytest.raises(graphite.SourceError, match=r"no series matches 'no\.such\.series'"):
        graphite.load(f"graphite://127.0.0.1:{filled.web_port}/no.such.series")
    with pytest.raises(graphite.SourceError, match=r"answers [45]00"):
        graphite.load(f"graphite://127.0.0.1:{filled.web_port}/noSuchFunction(lnet.*)")


def test_watch_tells_what_analyze_tells(filled, begin_s):
    location = f"graphite://127.0.0.1:{filled.web_port}/{ROUTED}?target={PINGS}&target={CREDITS}"
    result = CliRunner().invoke(watch, [location, "--once", "--json", "--credits-max", "8"], standalone_mode=False)
    assert result.return_value == 0, result.stderr
    events = {event["kind"]: event for event in map(json.loads, result.stdout.splitlines())}
    assert events["dead_time"]["evidence"]["period_s"] == pytest.approx(25, abs=0.05)
    assert events["dead_time"]["evidence"]["cause"] == "ping"
    assert events["oversubscribed_peers"]["evidence"]["required_peak"] == 12
    assert {"ping_burst", "first_exhausted", "verdict"} <= set(events)
