"""Dashboards as files: a short source in dashboards/graphite/*.json, and the state that graphite-web keeps of each.

Source: {"name": …, "graphs": [{"title": …, "targets": [TARGET, …], "params": {RENDER_PARAMETER: TEXT, …}}, …]}, and optionally
"minutes" (how much time is shown, 30).
"""

import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from lnetstat.stack.errors import StackError

FOLDER = Path(__file__).parents[2] / "dashboards" / "graphite"
WIDTH, HEIGHT = 586, 308
REFRESH_MS = 10_000


class Graph(NamedTuple):
    title: str
    targets: tuple[str, ...]
    params: dict[str, str]


class Dashboard(NamedTuple):
    name: str
    minutes: int
    graphs: tuple[Graph, ...]


def dashboards(folder: Path = FOLDER) -> list[Dashboard]:
    """Read all sources, in the order of their names; none where the folder does not exist (a package installed without them)."""
    return [read_dashboard(file) for file in sorted(folder.glob("*.json"))]


def read_dashboard(file: Path) -> Dashboard:
    """Read one source. Raises StackError that names the file and what is wrong with it."""
    try:
        source = json.loads(file.read_text(encoding="utf-8"))
        graphs = tuple(Graph(str(graph["title"]), tuple(graph["targets"]), dict(graph.get("params", {}))) for graph in source["graphs"])
        found = Dashboard(source["name"], int(source.get("minutes", 30)), graphs)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StackError(f"{file}: not a dashboard: {error!r}; expected name and graphs, each with title and targets") from error
    if not graphs or not all(graph.targets for graph in graphs):
        raise StackError(f"{file}: a dashboard needs a graph, and every graph a target")
    return found


def state(dashboard: Dashboard) -> dict[str, Any]:
    """Return what graphite-web keeps of a dashboard: each graph as its first target, its parameters and its render URL."""
    begin = f"-{dashboard.minutes}minutes"
    return {
        "name": dashboard.name,
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
        "graphs": [_graph_state(graph, begin) for graph in dashboard.graphs],
    }


def _graph_state(graph: Graph, begin: str) -> list[Any]:
    params = {"title": graph.title, "from": begin, "until": "now"} | graph.params
    query = urlencode([("target", target) for target in graph.targets] + [*params.items(), ("width", WIDTH), ("height", HEIGHT)])
    return [graph.targets[0], {"target": list(graph.targets)} | params, f"/render?{query}"]
