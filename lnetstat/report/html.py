"""One HTML page with everything in it: no reference to anything outside, and nothing in it that a hostile name could start.

Every text goes through Jinja2's escaping and words.printable; figures travel as JSON in a data block; the content security policy
lets only the two scripts with these hashes run and nothing be fetched.
"""

import base64
import hashlib
import json
from collections.abc import Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from lnetstat import __version__
from lnetstat.analysis.results import Analysis
from lnetstat.report import rows
from lnetstat.report.figures import pictures, row_pictures, rows_drawn
from lnetstat.report.method import METHOD
from lnetstat.report.picture import Picture
from lnetstat.report.times import timed
from lnetstat.words import printable

DEFAULT_TITLE = "LNet report"
BUCKETS = (700, 350, 175)
MOST_DATA_BYTES = 700_000  # of figures; plotly itself takes 4.8 MB


def page(analysis: Analysis, *, title: str = DEFAULT_TITLE) -> str:
    """Return the page as text, to be written as UTF-8 with its line ends as they are."""
    drawn, row, data = _drawn(analysis)
    return document(
        "report.html",
        title,
        data,
        analysis=analysis,
        severity=analysis.findings[0].severity.name.lower() if analysis.findings else "none",
        record=rows.record_words(analysis),
        figures=rows.key_figures(analysis),
        main=rows.main_finding(analysis),
        findings=rows.finding_rows(analysis),
        references=rows.references_of,
        pictures=drawn,
        row=row,
        credits=rows.credit_grid(analysis, rows_drawn(analysis)),
        signals=rows.signal_grid(analysis),
        quality=rows.quality_grid(analysis),
        method=METHOD,
    )


def document(template: str, title: str, data: Markup, **content: Any) -> str:
    """Return a page of this house: `template` extends page.html and gets `content`; `data` holds its figures as JSON."""
    environment = Environment(loader=PackageLoader("lnetstat.report"), autoescape=True, undefined=StrictUndefined, finalize=_inert)
    environment.filters["timed"] = timed
    scripts = [_script(get_plotlyjs()), _script(_asset(environment, "report.js"))]
    return environment.get_template(template).render(
        title=title,
        version=__version__,
        policy=_policy(scripts),
        style=Markup(_asset(environment, "report.css")),  # noqa: S704  # our own file
        scripts=scripts,
        data=data,
        **content,
    )


def figure_data(pictures: Iterable[Picture]) -> Markup:
    """Return the figures of pictures as the JSON that report.js draws from."""
    return inert_json({each.slug: _figure(each.figure, each.linked) for each in pictures if each.figure is not None})


def _drawn(analysis: Analysis) -> tuple[tuple[Picture, ...], Picture | None, Markup]:
    """Return the pictures, the first one of a row of credits, and the data of all, as finely as a page that one can mail allows."""
    for buckets in BUCKETS:
        drawn = pictures(analysis, buckets=buckets)
        of_rows = row_pictures(analysis, buckets=buckets)
        data = figure_data((*drawn, *of_rows))
        if len(data) <= MOST_DATA_BYTES:
            break
    return drawn, next(iter(of_rows), None), data


def _inert(value: Any) -> Any:
    """Escape what is not printable in every text that a template prints; Markup is ours and stays."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _asset(environment: Environment, name: str) -> str:
    if environment.loader is None:
        return ""
    return environment.loader.get_source(environment, name)[0]


def _script(text: str) -> Markup:
    """Return the script as the browser will read it, so that its hash is right. It must not end its own element."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("a script that ends its own element cannot stand in a page")
    return Markup(text)  # noqa: S704  # plotly's and our own


def _policy(scripts: list[Markup]) -> str:
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
    # Plotly writes style elements of its own; images are data only (its camera button makes one).
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'; frame-src 'none'; object-src 'none'"
    )


def _figure(figure: Any, linked: bool) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(figure.to_json())
    return {"data": content["data"], "layout": content["layout"], "linked": linked}


def inert_json(content: dict[str, Any]) -> Markup:
    """Return JSON that is inert inside a script element."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704  # escaped just now
