"""The dashboards that the stack puts into its graphite-web: those of lnetstat.dashboards, as graphite-web keeps them."""

from typing import Any, NamedTuple

from lnetstat.dashboards import DASHBOARDS, graphite


class Dashboard(NamedTuple):
    name: str
    state: dict[str, Any]


def dashboards() -> list[Dashboard]:
    return [Dashboard(dashboard.slug, graphite.state(dashboard)) for dashboard in DASHBOARDS]


def state(dashboard: Dashboard) -> dict[str, Any]:
    """Return what graphite-web keeps of a dashboard."""
    return dashboard.state
