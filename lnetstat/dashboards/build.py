"""The files of dashboards/: what is committed, imported into Grafana by hand, and saved in a site's own graphite-web."""

import json
from pathlib import Path

from lnetstat.dashboards import DASHBOARDS
from lnetstat.dashboards.grafana import dashboard_json
from lnetstat.dashboards.graphite import state


def files() -> dict[str, str]:
    """Return every file by its path below the folder: grafana/lnet-router.json."""
    found = {}
    for dashboard in DASHBOARDS:
        found[f"grafana/{dashboard.slug}.json"] = _text(dashboard_json(dashboard))
        found[f"graphite/{dashboard.slug}.json"] = _text(state(dashboard))
    return found


def build(folder: Path) -> list[Path]:
    """Write all files below `folder`, over those that are there; return them. Raises OSError."""
    written = []
    for name, text in files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _text(value: object) -> str:
    return json.dumps(value, indent=1) + "\n"
