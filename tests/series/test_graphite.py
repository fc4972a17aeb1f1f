"""Graphite: what a misbehaving one answers is one clear line, credentials stay out of all messages, our metrics' names tell their roles."""

import json
import math
import ssl

import numpy as np
import pytest

from lnetstat import series
from lnetstat.analysis import analyze_series
from lnetstat.errors import SourceError
from lnetstat.series import graphite

BEGIN = 1_700_000_000
SECRET = "s3cret-word"


def series_of(*named, begin=BEGIN, step=1):
    return json.dumps(
        [{"target": name, "datapoints": [[value, begin + step * at] for at, value in enumerate(values)]} for name, values in named]
    )


def where(server, rest="x?from=-1h"):
    return f"graphite://127.0.0.1:{server.port}/{rest}"


def test_nulls_are_missing_and_what_is_asked_is_not_thinned(server):
    server.answer(200, series_of(("x", [1, None, 0, float("nan")])))
    (found,) = graphite.fetch(where(server), begin_s=BEGIN + 0.5, end_s=BEGIN + 9.5)
    assert found.target == "x"
    assert found.time_s.tolist() == [BEGIN, BEGIN + 1, BEGIN + 2, BEGIN + 3]
    assert found.value[[0, 2]].tolist() == [1, 0]
    assert np.isnan(found.value[[1, 3]]).all()
    asked = server.seen[0][0]
    assert "noNullPoints" not in asked, "graphite-web leaves nulls out as soon as the word is there"
    assert "maxDataPoints" not in asked
    assert f"from={BEGIN - 1}&until={BEGIN + 10}" in asked


def test_targets_and_a_path_below_which_graphite_lies(server):
    server.answer(200, series_of(("x", [1])))
    graphite.fetch(where(server, "monitoring/render?target=sumSeries(a.*)&target=b&from=-2h"))
    assert server.seen[0][0].startswith("/monitoring/render?target=sumSeries%28a.%2A%29&target=b&from=-2h&until=now")


@pytest.mark.parametrize(
    ("status", "body", "kind", "told"),
    [
        (500, "<html>Traceback", "text/html", "answers 500 (Internal Server Error)"),
        (503, "", "text/plain", "answers 503"),
        (404, "", "text/plain", "answers 404 (Not Found) to /render: is it a graphite-web"),
        (401, "", "text/plain", "set LNETSTAT_GRAPHITE_USER"),
        (403, "", "text/plain", "set LNETSTAT_GRAPHITE_USER"),
        (400, "bad", "text/plain", "does not understand the target or the time"),
        (200, "<html><title>Log in</title>", "text/html", "an HTML page: a login page"),
        (200, "", "text/plain", "no JSON: (empty)"),
        (200, '{"error": 1}', "application/json", "no list of series"),
        (200, "[]", "application/json", "no series matches 'x'"),
        (200, '[{"target": "x"}]', "application/json", "without target or datapoints"),
        (200, '[{"target": "x", "datapoints": [[1]]}]', "application/json", "without target or datapoints"),
        (200, '[{"target": "x", "datapoints": [["a", "b"]]}]', "application/json", "without target or datapoints"),
        (200, "[" * 100_000, "application/json", "no JSON"),
        (200, series_of(("x", [None, None])), "application/json", "has no value from -1h until now"),
        (200, series_of(("x", [])), "application/json", "has no value"),
    ],
)
def test_other_answers_are_one_line(server, status, body, kind, told):
    server.answer(status, body, kind)
    with pytest.raises(SourceError) as caught:
        series.load(where(server))
    message = str(caught.value)
    assert told in message
    assert message.startswith(f"graphite://127.0.0.1:{server.port}: ")
    assert "\n" not in message


def test_a_redirect_to_a_login_page_is_told_and_not_followed(server):
    server.answer(302, Location="https://elsewhere.example/login?next=secret")
    with pytest.raises(SourceError, match=r"answers 302 \(Found\), sent on to '/login': a login page"):
        series.load(where(server))
    assert len(server.seen) == 1


def test_slow_answers_end(server):
    server.trickle()
    with pytest.raises(SourceError, match=r"no whole answer within 0\.3 s"):
        graphite.fetch(where(server), timeout_s=0.3)


def test_an_answer_that_breaks_off_is_told(server):
    def respond(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"[")

    server.respond = respond
    with pytest.raises(SourceError, match="breaks off"):
        series.load(where(server))


def test_nobody_there_and_no_such_host():
    with pytest.raises(SourceError, match="connection refused"):
        graphite.fetch("graphite://127.0.0.1:1/x")
    with pytest.raises(SourceError, match="no such host"):
        graphite.fetch("graphite://no-such-host.invalid/x")


def test_tls_that_is_none_and_a_certificate_that_is_not_trusted(server, tmp_path):
    with pytest.raises(SourceError, match="no TLS there"):
        graphite.fetch(f"graphite+https://127.0.0.1:{server.port}/x", timeout_s=5)
    error = ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate")
    error.verify_message = "self-signed certificate"
    assert "SSL_CERT_FILE" in graphite._unreachable(error, 1)


def test_credentials_come_from_the_environment_and_are_in_no_message(server, monkeypatch):
    monkeypatch.setenv("LNETSTAT_GRAPHITE_USER", "reader")
    monkeypatch.setenv("LNETSTAT_GRAPHITE_PASSWORD", SECRET)
    server.answer(401)
    with pytest.raises(SourceError, match="these were refused") as caught:
        series.load(where(server))
    assert SECRET not in str(caught.value)
    assert server.seen[-1][1].startswith("Basic ")
    monkeypatch.setenv("LNETSTAT_GRAPHITE_TOKEN", SECRET)
    with pytest.raises(SourceError, match="these were refused") as caught:
        series.load(where(server))
    assert server.seen[-1][1] == f"Bearer {SECRET}"
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "location",
    [
        f"graphite://reader:{SECRET}@127.0.0.1/x",
        f"graphite://{SECRET}@127.0.0.1/x",
        f"graphite://127.0.0.1:{SECRET}/x",
        f"graphite:///{SECRET}",
        f"graphite://127.0.0.1/x#{SECRET}",
        "graphite://127.0.0.1/",
        "graphite://[::1/x",
        "graphite://127.0.0.1/x?form=-1h",
        "graphite://127.0.0.1:99999/x",
    ],
)
def test_addresses_that_are_none_are_one_line_without_the_password(location):
    with pytest.raises(SourceError) as caught:
        series.load(location)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("user", [f"reader:{SECRET}@", f"{SECRET}@", "@"])
def test_credentials_in_an_address_are_refused_before_anything_is_asked(server, user):
    server.answer(200, series_of(("x", [1])))
    with pytest.raises(SourceError, match="would be seen by all users: set LNETSTAT_GRAPHITE_USER"):
        series.load(f"graphite://{user}127.0.0.1:{server.port}/x")
    assert server.seen == []


def counters(seconds=1200):
    """Bytes routed with dips of 2 s every 25 s, the pings of a server at them, and credits that run out in them."""
    random = np.random.default_rng(5)
    at = np.arange(seconds)
    inside = (at - 4) % 25 < 2
    moved = np.cumsum(1e9 * np.where(inside, 0.3, 1.0) * (1 + 0.03 * random.standard_normal(seconds)))
    return moved.round().tolist(), np.cumsum(np.where(inside, 200, 0)).tolist(), np.where(inside, -5, 6).tolist()


def test_our_own_names_tell_traffic_pings_and_credits(server):
    moved, pings, credits_free = counters()
    moved[600] = None
    server.answer(
        200,
        series_of(
            ("lnet.rtr1.lnet_stats.route_length", moved),
            ("lnet.rtr1.lnet_stats.send_length", moved),
            ("lnet.oss1.counters.ost.obd_ping.samples", pings),
            ("lnet.rtr1.peers.o2ib1.tx_credits_worst", credits_free),
            ("lnet.rtr1.self.rss_bytes", [1] * 10),
        ),
    )
    table = series.load(where(server, "lnet.*"))
    assert table.attrs["kind"] == "counter"
    assert math.isnan(table["value"][600])
    assert table["ping_rate"].max() == 200
    assert "1 series say nothing" in table.attrs["notes"][0]
    found = analyze_series(table, kind="counter", credits_max=8)
    assert found.dead_time.detected
    assert found.dead_time.period_s == pytest.approx(25, abs=0.02)
    assert found.dead_time.cause == "ping"
    assert found.credits.required_peak == 13


def test_a_server_without_traffic_of_one_kind_has_that_of_the_next(server):
    still, moving = [7.0] * 50, [float(each) for each in range(50)]
    server.answer(
        200,
        series_of(
            ("lnet.oss1.counters.obdfilter_fs-OST0000.read_bytes.sum", still),
            ("lnet.oss1.counters.ost_io.ost_read.samples", moving),
            ("lnet.oss1.counters.ost_io.ost_write.samples", moving),
        ),
    )
    table = series.load(where(server, "lnet.*"))
    assert table["value"].tolist() == [2 * each for each in moving]
    assert table.attrs["name"] == "oss1"


def test_an_alias_names_a_column_and_other_names_are_sources(server):
    server.answer(200, series_of(("value", [5, 6, 7]), ("ping_rate", [0, 1, 0])))
    assert series.load(where(server))["ping_rate"].tolist() == [0, 1, 0]
    server.answer(200, series_of(("site.a.bytes", [5, 6, 7]), ("site.b.bytes", [0, 1, 0])))
    table = series.load(where(server))
    assert set(table["source"]) == {"site.a.bytes", "site.b.bytes"}
    assert table.attrs["kind"] == ""


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("lnet.rtr1.peers.o2ib1.tx_credits_worst",), "no traffic in"),
        (("lnet.rtr1.lnet_stats.route_length", "perSecond(x)"), "'perSecond\\(x\\)' is no counter of ours"),
    ],
)
def test_series_that_do_not_go_together_are_told(server, names, told):
    server.answer(200, series_of(*((name, [1, 2, 3]) for name in names)))
    with pytest.raises(SourceError, match=told):
        series.load(where(server))


def test_coarse_data_are_told_and_too_coarse_cannot_tell(server):
    moved = np.cumsum(np.random.default_rng(4).normal(1e9, 1e8, 300)).round().tolist()
    server.answer(200, series_of(("lnet.rtr1.lnet_stats.route_length", moved), step=60))
    table = series.load(where(server))
    assert "values come every 60 s" in table.attrs["notes"][0]
    found = analyze_series(table, kind="counter").dead_time
    assert found.verdict == "cannot_tell"
    assert "60 s are too coarse for a ping interval of 25 s" in found.reason
