"""The definitions: every metric that they name is one that we send, and everything that people see is said."""

import itertools
import re

import pytest

from lnetstat.dashboards import DASHBOARDS
from lnetstat.dashboards.definition import substituted
from lnetstat.reduce.metrics import METRICS, WILDCARDS

PANELS = [(dashboard, panel) for dashboard in DASHBOARDS for panel in dashboard.panels]
TARGETS = [(dashboard.slug, panel.slug, target) for dashboard, panel in PANELS for target in panel.targets]

# On no dashboard: numbers of little use as a curve, or those from which others are made.
NOT_SHOWN = {"peers.NET.count", "peers.NET.in_use", "buffers.POOL.in_use", "lnet_stats.msgs_max", "lnet_stats.drop_length"}


def paths_of(expression):
    """Return the metric paths of an expression, with {a,b} written out: lnet.HOST.counters.ost_io.ost_read.samples."""
    found = []
    for path in re.findall(r"lnet\.(?:[^,(){}' ]|\{[^{}]*\})+", substituted(expression, "HOST", "*")):
        nodes = [re.fullmatch(r"([^{}]*)(?:\{([^{}]*)\})?([^{}]*)", node).groups() for node in path.split(".")]
        choices = [[before + word + after for word in (words or "").split(",")] for before, words, after in nodes]
        found += [".".join(words) for words in itertools.product(*choices)]
    return found


def metrics_of(path):
    """Return the patterns that a path can be of: a * may stand only where the pattern has a word in capitals."""
    prefix, _, *nodes = path.split(".")
    assert prefix == "lnet"
    return {
        metric.pattern
        for metric in METRICS
        if len(words := metric.pattern.split(".")) == len(nodes)
        and all(word in WILDCARDS or word == node for word, node in zip(words, nodes, strict=True))
    }


@pytest.mark.parametrize(("dashboard", "panel", "target"), TARGETS, ids=[f"{slug}:{panel}" for slug, panel, _ in TARGETS])
def test_every_metric_is_one_that_we_send(dashboard, panel, target):
    paths = paths_of(target.expression)
    assert paths
    assert [path for path in paths if not metrics_of(path)] == []
    assert all(path.split(".")[1] == "HOST" for path in paths), "every path obeys the choice of hosts"


def test_every_metric_that_we_send_is_shown_or_known_not_to_be():
    shown = {pattern for _, _, target in TARGETS for path in paths_of(target.expression) for pattern in metrics_of(path)}
    assert {metric.pattern for metric in METRICS} - shown == NOT_SHOWN


def test_a_metric_that_does_not_exist_is_seen():
    assert metrics_of("lnet.HOST.peers.*.tx_credits_worse") == set()
    assert metrics_of("lnet.HOST.*.tcp.count") == set()
    assert metrics_of("lnet.HOST.counters.ost_io.*.samples") == {"counters.INSTANCE.COUNTER.samples"}
    assert len(paths_of("f(lnet.$host.a.{b,c}.d,lnet.$host.e,'lnet')")) == 3


def test_the_dashboards_of_the_plan_are_there():
    slugs = [dashboard.slug for dashboard in DASHBOARDS]
    assert slugs == [
        "lnet-overview",
        "lnet-router",
        "lnet-oss",
        "lnet-credits",
        "lnet-dead-time",
        "lnet-interface-health",
        "lnetstat-self",
    ]
    assert all(re.fullmatch(r"[a-z-]{1,40}", slug) for slug in slugs)  # Grafana's uid


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=[dashboard.slug for dashboard in DASHBOARDS])
def test_everything_that_people_see_is_said(dashboard):
    panels = dashboard.panels
    assert len({panel.slug for panel in panels}) == len({panel.title for panel in panels}) == len(panels)
    expressions = " ".join(target.expression for panel in panels for target in panel.targets)
    assert {name for name in ("host", "net") if f"${name}" in expressions} == {variable.name for variable in dashboard.variables}
    for panel in panels:
        assert re.fullmatch(r"[a-z0-9-]+", panel.slug)
        assert len(panel.title) <= 70
        assert len(panel.description) > 60
        assert panel.description.endswith(".")
        assert "  " not in panel.description
        assert len({each.below for each in panel.thresholds}) <= 1, "thresholds of one panel look into one direction"
        legends = [target.legend for target in panel.targets]
        assert all(legends) or not any(legends)
        assert len(set(legends)) == len(legends) or not any(legends)
        assert not any("'" in words for words in [*legends, *(each.words for each in panel.thresholds)]), "would end Graphite's string"
