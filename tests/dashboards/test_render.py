"""Every target of every panel, sent to a real graphite-web that was filled from our captures, returns data."""

import contextlib
import http.client
import json
import re

import pytest

from lnetstat.dashboards import DASHBOARDS, graphite
from lnetstat.dashboards.definition import EVENT_TAG, bridged, substituted
from lnetstat.dashboards.grafana import dashboard_json
from lnetstat.model import Point
from tests.dashboards.conftest import MADE

ROUTERS, SERVERS, CLIENTS = ("rtr", "rtr01"), ("srv", "oss01"), ("c1",)
HOSTS = (*ROUTERS, *SERVERS, *CLIENTS)
# Hosts that have the role which a dashboard is about; the others are for every node.
ROLES = {"lnet-router": ROUTERS, "lnet-oss": SERVERS}

ITSELF = "lnetstat-self"  # written by agents only, never by a replay


def panels_of(slug, host):
    """Return (panel, target) pairs that should have data for this host (or *)."""
    for dashboard in DASHBOARDS:
        if dashboard.slug == slug:
            for panel in dashboard.panels:
                if slug != ITSELF and host not in LACKS.get(panel.slug, ()):
                    yield from ((panel.slug, target) for target in panel.targets)


# What a node of another role, or a recording without /proc/stat, does not have.
NO_BUFFERS = (*SERVERS, *CLIENTS)
NO_SERVICES = (*ROUTERS, *CLIENTS)
LACKS = {
    "buffers-share": NO_BUFFERS,
    "cpus": ("rtr", "srv", "c1"),
    "bulk-and-pings": NO_SERVICES,
    # Only the excerpts hold these: of a server, obdfilter.*.stats; of a client, lnetctl net show -v.
    **dict.fromkeys(("targets-throughput", "iops", "io-size"), (*ROUTERS, *CLIENTS, "oss01")),
    **dict.fromkeys(("health", "health-down", "health-errors", "health-timeouts"), (*ROUTERS, *SERVERS)),
}
CASES = [(d.slug, host) for d in DASHBOARDS for host in ("*", *ROLES.get(d.slug, HOSTS))]


@pytest.mark.parametrize(("slug", "host"), CASES)
def test_every_target_returns_data(recorded, slug, host):
    asked = list(panels_of(slug, host))
    counts = recorded.answers([substituted(target.expression, host) for _, target in asked])
    assert [(panel, target) for (panel, target), count in zip(asked, counts, strict=True) if not count] == []


def test_what_agents_send_of_themselves_is_empty_and_no_error_and_is_drawn_where_it_is_sent(recorded):
    itself = next(dashboard for dashboard in DASHBOARDS if dashboard.slug == ITSELF)
    expressions = [substituted(target.expression) for panel in itself.panels for target in panel.targets]
    assert recorded.answers(expressions) == [0] * len(expressions)
    assert 0 not in recorded.answers([expression.replace("lnet.", f"{MADE}.") for expression in expressions])


@pytest.mark.parametrize(("net", "host"), [("tcp1", "rtr"), ("gni", "rtr01"), ("{tcp,tcp1}", "{rtr,c1}")])
def test_the_choice_of_a_network_or_of_several_is_obeyed(recorded, net, host):
    for panel in (panel for dashboard in DASHBOARDS for panel in dashboard.panels if panel.slug in ("ni-credits", "peer-credits")):
        answer = recorded.rig.rendered(substituted(panel.targets[0].expression, host, net), recorded.begin_s, recorded.end_s)
        assert answer
        nets = net.strip("{}").split(",")
        assert all(any(re.search(rf"[@.]{one}(\.cpt|$)", name) for one in nets) for name in answer), answer.keys()


def test_names_of_series_are_what_people_write(recorded):
    panel = next(panel for dashboard in DASHBOARDS for panel in dashboard.panels if panel.slug == "ni-credits")
    names = recorded.rig.rendered(substituted(panel.targets[0].expression, "{rtr,rtr01}"), recorded.begin_s, recorded.end_s)
    assert "rtr 10.1.0.1@tcp.cpt0" in names
    assert any(re.fullmatch(r"rtr01 \d+@gni\.cpt0", name) for name in names)


def test_nodes_without_router_buffers_are_not_said_to_be_short_of_them(recorded):
    """A server's buffers are 0 of 0: no curve. A router's are the very values that it sent."""
    dashboard = next(dashboard for dashboard in DASHBOARDS if dashboard.slug == "lnet-router")
    panel = next(panel for panel in dashboard.panels if panel.slug == "buffers-free")
    expression = panel.targets[0].expression
    raw = recorded.rig.rendered("lnet.oss01.buffers.small.count", recorded.begin_s, recorded.end_s)
    assert set(raw["lnet.oss01.buffers.small.count"].values()) == {0}
    assert recorded.rig.rendered(substituted(expression, "oss01"), recorded.begin_s, recorded.end_s) == {}
    sent = recorded.rig.rendered("lnet.rtr01.buffers.small.credits_worst", recorded.begin_s, recorded.end_s)
    drawn = recorded.rig.rendered(substituted(expression, "rtr01"), recorded.begin_s, recorded.end_s)
    assert drawn["rtr01.small"] == pytest.approx(sent["lnet.rtr01.buffers.small.credits_worst"])
    assert min(drawn["rtr01.small"].values()) < 0


def test_means_are_sums_by_events(recorded):
    """The made host's sums and samples rise by 7 a second each: the mean of an event is 1 (of microseconds, in milliseconds)."""
    panels = {panel.slug: panel for dashboard in DASHBOARDS for panel in dashboard.panels}
    for slug, mean in (("handling", 0.001), ("io-size", 1.0)):
        expression = substituted(panels[slug].targets[0].expression).replace("lnet.", f"{MADE}.")
        for series in recorded.rig.rendered(expression, recorded.begin_s, recorded.end_s).values():
            assert list(series.values()) == pytest.approx([mean] * len(series))


def test_slow_agents_and_lost_samples_have_true_rates_and_no_holes(recorded):
    """5 messages a second, sampled every 10 s by one node, and every second by another that loses samples: 5 everywhere."""
    begin_s = recorded.end_s - 100
    moments = {"slow": range(0, 100, 10), "lossy": [second for second in range(100) if second not in (30, 50, 51, 52)]}
    points = [Point(f"slow.{host}.lnet_stats.route_count", 5.0 * when, begin_s + when) for host in moments for when in moments[host]]
    points += [Point(point.path.replace("route", "send"), point.value, point.time_s) for point in points]
    recorded.rig.send(points)
    panels = {panel.slug: panel for dashboard in DASHBOARDS for panel in dashboard.panels}
    for slug, expected, count in (("messages-routed", {"slow": {5}, "lossy": {5}}, 120), ("nodes", {"nodes": {2}}, 61)):
        target = panels[slug].targets[0]
        expression = f"alias({target.expression},'nodes')" if target.legend else target.expression
        asked = substituted(expression).replace("lnet.", "slow.")
        found = recorded.rig.rendered_whole(asked, begin_s + 20, begin_s + 80, count)
        assert {name: set(series.values()) for name, series in found.items()} == expected
        assert sum(len(series) for series in found.values()) == count, "every second of a window that begins and ends with a sample"


def test_folding_keeps_what_comes_in_its_period_and_averages_the_rest(recorded):
    """Bytes that come every 25 s stand as high as they are when laid over each other at 25 s, and a tenth to a half as high otherwise."""
    begin_s = recorded.end_s - 600
    points, total = [], 0
    for second in range(600):
        total += 1000 if second % 25 == 0 else 0
        points += [(f"fold.h.lnet_stats.{name}_length", total if name == "recv" else 0, begin_s + second) for name in ("recv", "route")]
    recorded.rig.send([Point(path, float(value), when) for path, value, when in points])
    panels = {panel.slug: panel for dashboard in DASHBOARDS for panel in dashboard.panels}
    highest = {}
    for slug in ("folded-25s", "folded-75s"):
        expression = substituted(panels[slug].targets[0].expression).replace("lnet.", "fold.").replace("'75s'", "'40s'")
        (series,) = recorded.rig.rendered_whole(expression, recorded.end_s - 100, recorded.end_s - 10, 80).values()
        highest[slug] = max(series.values())
    assert highest["folded-25s"] == pytest.approx(1000)
    assert highest["folded-75s"] <= 500


def test_what_grafana_asks_is_what_was_asked_here(recorded):
    """Grafana's panels hold the same expressions; it fills in the variables as Graphite globs, and asks events by tag."""
    for dashboard in DASHBOARDS:
        ours = [target for panel in dashboard.panels_at("graphite") for target in panel.targets]
        theirs = [target["target"] for panel in dashboard_json(dashboard)["panels"] for target in panel["targets"]]
        assert all(bridged(target.expression) in expression for target, expression in zip(ours, theirs, strict=True))
        for variable in dashboard.variables:
            found = json.loads(recorded.rig.get("/metrics/find", query=substituted(variable.query)).body)
            names = {each["text"] for each in found}
            assert names >= ({"tcp1", "gni"} if variable.name == "net" else set(HOSTS))


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=[dashboard.slug for dashboard in DASHBOARDS])
def test_graphite_draws_each_graph(recorded, dashboard):
    if any("libcairo" in line for line in recorded.rig.told):
        pytest.skip("no libcairo.so.2 here")
    _, _, url = graphite.state(dashboard)["graphs"][0]
    answer = recorded.rig.get(url)
    assert (answer.status, answer.kind) == (200, "image/png")


def test_a_finding_is_marked(recorded):
    body = json.dumps({"what": "dead_time begin", "when": recorded.end_s - 30, "tags": [EVENT_TAG, "dead_time"], "data": ""})
    assert posted(recorded, "/events/", body) == 200
    target = next(target for target in graphite.targets(DASHBOARDS[0].panels[0]) if "events" in target)
    (marks,) = recorded.rig.rendered(target, recorded.begin_s, recorded.end_s).values()
    assert [second for second, value in marks.items() if value] == [recorded.end_s - 30]


def posted(recorded, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", recorded.rig.web_port, timeout=60)
    with contextlib.closing(connection):
        connection.request("POST", path, body)
        return connection.getresponse().status
