"""What graphite-web keeps of a dashboard: its own JSON, as /dashboard/save takes it and /dashboard/load gives it.

graphite-web has no variables: every host and network is asked for, and the panels draw the ten worst of them.
"""

from typing import Any
from urllib.parse import urlencode

from lnetstat.dashboards.definition import EVENT_TAG, Dashboard, Panel, Target, substituted
from lnetstat.dashboards.expressions import BRIDGED

WIDTH, HEIGHT = 586, 308
REFRESH_MS = 10_000
COLOURS = {"warning": "orange", "critical": "red"}
DRAWN = {
    "lines": {"lineMode": "connected", "connectedLimit": str(BRIDGED)},  # a longer gap is a gap
    "stacked": {"areaMode": "stacked", "lineMode": "slope"},
    "steps": {"lineMode": "staircase"},
    "bars": {"areaMode": "first", "areaAlpha": "0.5", "lineMode": "staircase"},
}


def state(dashboard: Dashboard) -> dict[str, Any]:
    """Return the state: each graph as its first target, its parameters and its render URL."""
    begin = f"-{dashboard.minutes}minutes"
    return {
        "name": dashboard.slug,
        "defaultGraphParams": {"from": begin, "until": "now", "width": str(WIDTH), "height": str(HEIGHT)},
        "refreshConfig": {"interval": REFRESH_MS, "enabled": True},
        "graphSize": {"width": WIDTH, "height": HEIGHT},
        "timeConfig": {
            "type": "relative",
            "relativeStartUnits": "minutes",
            "relativeStartQuantity": str(dashboard.minutes),
            "relativeUntilUnits": "now",
            "relativeUntilQuantity": "",
            "startDate": "",
            "startTime": "",
            "endDate": "",
            "endTime": "",
        },
        "graphs": [_graph(panel, begin) for panel in dashboard.panels_at("graphite")],
    }


def targets(panel: Panel) -> list[str]:
    """Return a panel's Graphite targets for all hosts and networks: its own, its thresholds, and the findings of `lnetstat watch`."""
    found = [_target(target) for target in panel.targets]
    found += [f"alias(dashed(color(constantLine({each.value:g}),'{COLOURS[each.level]}')),'{each.words}')" for each in panel.thresholds]
    if panel.events:
        # Always there: a graph without any series would say "No Data" and not even its title.
        found.append(f"color(alias(drawAsInfinite(events('{EVENT_TAG}')),'finding'),'purple')")
    return found


def _target(target: Target) -> str:
    expression = f"color(secondYAxis({substituted(target.expression)}),'red')" if target.right else substituted(target.expression)
    return f"alias({expression},'{target.legend}')" if target.legend else expression


def params(panel: Panel) -> dict[str, str]:
    """Return the /render parameters that draw a panel: title, axes, unit."""
    found = {"title": panel.title, "vtitle": panel.unit, "hideLegend": "false", **DRAWN[panel.kind]}
    if panel.unit.startswith("bytes"):  # graphite-web writes these long labels over the name of the axis
        found |= {"title": f"{panel.title} ({panel.unit})", "vtitle": "", "yUnitSystem": "binary"}
    has_right = any(target.right for target in panel.targets)
    if panel.zero:
        found |= {"yMinLeft": "0", "yMinRight": "0"} if has_right else {"yMin": "0"}
    if has_right:
        found["vtitleRight"] = panel.unit
    return found


def _graph(panel: Panel, begin: str) -> list[Any]:
    drawn, shown = targets(panel), params(panel) | {"from": begin, "until": "now"}
    query = urlencode([("target", target) for target in drawn] + [*shown.items(), ("width", WIDTH), ("height", HEIGHT)])
    return [drawn[0], {"target": drawn} | shown, f"/render?{query}"]
