"""graphite-web with our page beside it at /lnetstat/: what waitress serves.

Django answers for the page too: so its list of allowed hosts holds for it, and a foreign name that points at loopback gets nothing.
"""

import importlib
import os
import re
from pathlib import Path
from typing import Any

from django.http import FileResponse, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import re_path

FOLDER = Path(os.environ["LNETSTAT_STACK"])
REPORT = "report.html"
REPORTS = re.compile(r"report(-[a-z0-9-]+)?\.html")
VIEWS = "views.json"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Nothing but what this server serves. Plotly writes a style element of its own and makes images of its figures.
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The report brings a policy of its own. Sandboxed it has no origin: whatever is in it can ask this server for nothing.
REPORT_POLICY = "sandbox allow-scripts allow-popups allow-downloads; frame-ancestors 'none'"
A_YEAR = "max-age=31536000, immutable"


def page(request: Any, name: str) -> Any:
    """Answer for one file of the page; the report is the one that lies in the stack's folder now."""
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    is_report = REPORTS.fullmatch(name) is not None
    path = FOLDER / name if is_report else FOLDER / "page" / (name or "index.html")
    if path.suffix not in KINDS or not path.is_file():
        return HttpResponse(f"/lnetstat/{name}: no such file\n", status=404, content_type="text/plain; charset=utf-8")
    answer = HttpResponse(_index(path)) if not name else FileResponse(path.open("rb"))
    answer["Content-Type"] = KINDS[path.suffix]
    answer["Content-Security-Policy"] = REPORT_POLICY if is_report else POLICY
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Referrer-Policy"] = "same-origin"
    # The addresses in the page name the versions of its files.
    answer["Cache-Control"] = A_YEAR if request.GET.get("v") else "no-cache"
    # On loopback compressing 4.8 MB takes longer than sending them.
    answer["Content-Encoding"] = "identity"
    return answer


def _index(path: Path) -> str:
    """Return the page with what lies in the stack's folder now: the report, and the views to begin with, as data that cannot act."""
    text = path.read_text(encoding="utf-8")
    if (FOLDER / VIEWS).is_file():
        views = (FOLDER / VIEWS).read_text(encoding="utf-8").replace("<", "\\u003c")
        text = text.replace('id="views-data">[]<', f'id="views-data">{views}<')
    if (FOLDER / REPORT).is_file():
        text = text.replace("<!--report-->", f'<a href="{REPORT}">The report</a>: what is wrong, since when, and why')
    return text


def _to_page(_: Any) -> Any:
    return HttpResponseRedirect("/lnetstat/")


application = importlib.import_module("graphite.wsgi").application
# Before graphite-web's own, and not instead of them: /dashboard, /render and all others stay as they are.
importlib.import_module("graphite.urls").urlpatterns[:0] = [
    re_path(r"^lnetstat$", _to_page),
    re_path(r"^lnetstat/(?P<name>(?:[a-z][a-z0-9_-]*(?:\.[a-z0-9]+)+)?)$", page),
]
