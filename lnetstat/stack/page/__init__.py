"""The stack's own page: the dashboards of lnetstat.dashboards, drawn in the browser from graphite-web's /render.

Sources: index.html, page.css and small ES modules beside this file. `write` puts them (the modules as one script: seven requests one
after the other hold up the first picture), the dashboards and plotly's script into the stack's folder, from where
lnetstat.stack.inside.lnetstat_web serves them: the stack's Python may have neither lnetstat nor plotly.
"""

import hashlib
import importlib.util
import json
import re
import shutil
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from lnetstat.dashboards import DASHBOARDS
from lnetstat.dashboards.definition import EVENT_TAG, PACE, Dashboard, sender

SOURCES = Path(__file__).parent
AS_THEY_ARE = ("page.css", "theme.js", "icon.svg")
IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z]+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
PATH = "/lnetstat/"
FOLDER = "page"
REPORT = "report.html"  # in the stack's folder; the page links to it where it is
# Beside it: what to look at first, [{"title", "words", "query" (of the page's address), "report" (a file report-….html, or empty), "times"
# (when it was recorded, in words: those in the report)}].
VIEWS = "views.json"


def write(stack: Path, tell: Callable[[str], None], dashboards: tuple[Dashboard, ...] = DASHBOARDS) -> None:
    """Write the page's files into the stack's folder. Without plotly the page says so itself; `tell` gets a line about it."""
    folder = stack / FOLDER
    folder.mkdir(exist_ok=True)
    for name in AS_THEY_ARE:
        shutil.copyfile(SOURCES / name, folder / name)
    (folder / "page.js").write_text(bundle("page", set()), encoding="utf-8")
    script = plotly_script()
    if script is None:
        tell("no plotly here: the page cannot draw; install lnetstat[analysis]")
        (folder / "plotly.min.js").unlink(missing_ok=True)
    else:
        shutil.copyfile(script, folder / "plotly.min.js")
    (folder / "index.html").write_text(index(dashboards, "" if script is None else metadata.version("plotly")), encoding="utf-8")


def index(dashboards: tuple[Dashboard, ...], plotly_version: str) -> str:
    """Return index.html with the dashboards in it, as data that cannot end its own element."""
    text = _text("index.html")
    version = hashlib.sha256("".join([bundle("page", set()), *map(_text, AS_THEY_ARE)]).encode()).hexdigest()[:12]
    return text.replace("@VERSION@", version).replace("@PLOTLY_VERSION@", plotly_version).replace("@DASHBOARDS@", definition(dashboards))


def bundle(name: str, taken: set[str]) -> str:
    """Return the module `name` and before it all that it imports, but for those in `taken`, as one script: each in a scope of its own."""
    text = _text(f"{name}.js")
    parts = []
    for _, imported in IMPORT.findall(text):
        if imported not in taken:
            taken.add(imported)
            parts.append(bundle(imported, taken))
    exported = ", ".join(found for _, found in EXPORT.findall(text))
    body = EXPORT.sub(r"\1", IMPORT.sub(r"const \1 = \2_js;", text))
    return "".join([*parts, f"const {name}_js = (() => {{\n{body}return {{ {exported} }};\n}})();\n"])


def definition(dashboards: tuple[Dashboard, ...]) -> str:
    """Return the dashboards as inert JSON: {"tag": the events' tag, "pace": PACE, "dashboards": [the fields of Dashboard, …]}."""
    content = {"tag": EVENT_TAG, "pace": PACE, "dashboards": [_fields(each) for each in dashboards]}
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def plotly_script() -> Path | None:
    """Return plotly.js as the installed plotly has it, found without importing plotly, or None."""
    found = importlib.util.find_spec("plotly")
    if found is None or found.origin is None:
        return None
    script = Path(found.origin).parent / "package_data" / "plotly.min.js"
    return script if script.is_file() else None


def _text(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")


def _fields(dashboard: Dashboard) -> dict[str, object]:
    panels = [
        panel._asdict()
        | {"sender": sender(panel)}
        | {"targets": [each._asdict() for each in panel.targets], "thresholds": [each._asdict() for each in panel.thresholds]}
        for panel in dashboard.panels_at("page")
    ]
    return dashboard._asdict() | {"panels": panels, "variables": [each._asdict() for each in dashboard.variables]}
