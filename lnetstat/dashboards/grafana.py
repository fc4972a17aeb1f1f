"""Grafana's dashboard JSON (Grafana 11; older ones from 8 on read most of it).

The data source is a variable, so that the files can be imported anywhere. The thresholds shade what is bad. Not seen in a real Grafana:
tests read the files with Grafana's own foundation SDK, and send every target to a real graphite-web.
"""

from typing import Any

from lnetstat.dashboards.definition import EVENT_TAG, Dashboard, Panel, Target, Threshold, Variable, bridged
from lnetstat.dashboards.expressions import BRIDGED

SCHEMA_VERSION = 41  # of Grafana 11.6
TAG = "lnetstat"
COLUMNS, WIDTH, HEIGHT = 2, 12, 8
SOURCE = {"type": "graphite", "uid": "${datasource}"}
CLEAR = "transparent"
COLOURS = {"warning": "orange", "critical": "red"}
UNITS = {
    "": "none",
    "bytes": "bytes",
    "bytes/s": "binBps",
    "percent": "percent",
    "ms": "ms",
    "I/O/s": "iops",
    "requests/s": "reqps",
    "messages/s": "mps",
}


def dashboard_json(dashboard: Dashboard, source: tuple[str, str] | None = None) -> dict[str, Any]:
    """Return a dashboard as Grafana keeps it. `source`: name and uid of the data source that is chosen at first."""
    panels = [_panel(number, panel) for number, panel in enumerate(dashboard.panels_at("graphite"))]
    return {
        "uid": dashboard.slug,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": [TAG, "lnet"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,  # one cross hair in all panels
        "time": {"from": f"now-{dashboard.minutes}m", "to": "now"},
        "fiscalYearStartMonth": 0,
        "refresh": "10s",
        "schemaVersion": SCHEMA_VERSION,
        "panels": panels,
        "templating": {"list": [_source_variable(source), *(_variable(variable) for variable in dashboard.variables)]},
        "annotations": {"list": [_findings(dashboard)]},
        "links": [_links()],
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(number, COLUMNS)
    overrides = [_right(letter) for letter, target in _lettered(panel) if target.right]
    return {
        "type": "timeseries",
        "id": number + 1,
        "targets": [
            {"refId": letter, "target": _expression(target), "textEditor": True, "datasource": SOURCE}
            for letter, target in _lettered(panel)
        ],
        "title": panel.title,
        "description": " ".join([panel.description, *(f"{each.level.capitalize()}: {each.words}." for each in panel.thresholds)]),
        "datasource": SOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": column * WIDTH, "y": row * HEIGHT},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "fieldConfig": {"defaults": _defaults(panel), "overrides": overrides},
    }


def _lettered(panel: Panel) -> list[tuple[str, Target]]:
    return [(chr(ord("A") + number), target) for number, target in enumerate(panel.targets)]


def _expression(target: Target) -> str:
    expression = bridged(target.expression)
    return f"alias({expression},'{target.legend}')" if target.legend else expression


def _defaults(panel: Panel) -> dict[str, Any]:
    found: dict[str, Any] = {
        "unit": unit(panel.unit),
        "thresholds": {"mode": "absolute", "steps": _steps(panel.thresholds)},
        "color": {"mode": "palette-classic"},
        "custom": {
            "drawStyle": "bars" if panel.kind == "bars" else "line",
            "lineInterpolation": "stepAfter" if panel.kind == "steps" else "linear",
            "fillOpacity": {"stacked": 40, "bars": 60}.get(panel.kind, 0),
            "stacking": {"mode": "normal" if panel.kind == "stacked" else "none", "group": "A"},
            "showPoints": "never",
            "spanNulls": BRIDGED * 1000,  # ms; a longer gap is a gap
            "thresholdsStyle": {"mode": "area" if panel.thresholds else "off"},
        },
    }
    return found | ({"min": 0} if panel.zero else {})


def unit(words: str) -> str:
    """Return Grafana's name of a unit; one that it does not have stands behind the number as it is."""
    return UNITS.get(words) or f"suffix: {words}"


def _steps(thresholds: tuple[Threshold, ...]) -> list[dict[str, Any]]:
    """Return Grafana's steps: each has the colour from its value on up; the first (None) is below all others."""
    ordered = sorted(thresholds)
    colours = [COLOURS[each.level] for each in ordered]
    is_below = any(each.below for each in ordered)
    colours = [*colours, CLEAR] if is_below else [CLEAR, *colours]
    return [{"value": value, "color": colour} for value, colour in zip([None, *(each.value for each in ordered)], colours, strict=True)]


def _right(letter: str) -> dict[str, Any]:
    """Return what puts one target on the right axis."""
    return {
        "matcher": {"id": "byFrameRefID", "options": letter},
        "properties": [
            {"id": "custom.axisPlacement", "value": "right"},
            {"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}},
        ],
    }


def _source_variable(source: tuple[str, str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "datasource", "name": "datasource", "label": "Graphite", "query": "graphite"}
    found |= {"multi": False, "includeAll": False, "refresh": 1, "skipUrlSync": False}
    if source:
        found["current"] = {"text": source[0], "value": source[1]}
    return found


def _variable(variable: Variable) -> dict[str, Any]:
    return {
        "type": "query",
        "name": variable.name,
        "label": variable.label,
        "query": variable.query,
        "datasource": SOURCE,
        "current": {"text": ["All"], "value": ["$__all"]},
        "multi": True,
        "includeAll": True,
        "allValue": "*",
        "refresh": 2,  # when the time range changes
        "sort": 7,  # by name, numbers in it as numbers
        "skipUrlSync": False,
    }


def _findings(dashboard: Dashboard) -> dict[str, Any]:
    """Return the annotations: Graphite events that `lnetstat watch --events` posts."""
    found: dict[str, Any] = {
        "name": "Findings of lnetstat watch",
        "datasource": SOURCE,
        "enable": True,
        "iconColor": "purple",
        "target": {"queryType": "tags", "tags": [EVENT_TAG], "fromAnnotations": True, "limit": 100, "matchAny": False, "type": "tags"},
    }
    without = [number for number, panel in enumerate(dashboard.panels_at("graphite"), 1) if not panel.events]
    return found | ({"filter": {"exclude": True, "ids": without}} if without else {})


def _links() -> dict[str, Any]:
    return {
        "title": "LNet dashboards",
        "type": "dashboards",
        "icon": "external link",
        "tooltip": "The other dashboards of lnetstat, same hosts and time",
        "tags": [TAG],
        "asDropdown": True,
        "targetBlank": False,
        "includeVars": True,
        "keepTime": True,
    }
