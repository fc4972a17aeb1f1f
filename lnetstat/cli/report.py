"""Write what is wrong, with pictures, as one HTML page to mail; or as text."""

import json
import os
from typing import TYPE_CHECKING, Any

import click

from lnetstat.cli._input_options import input_options
from lnetstat.cli._progress import working

if TYPE_CHECKING:
    from lnetstat.analysis import Analysis

DEFAULT_PAGE = "report.html"


HELP = f"""{__doc__}

PATH is a recording, an archive (folder or tar), or a CSV file as for `lnetstat analyze`; several are seen as one.

\b
Examples:
  lnetstat report rec
  lnetstat report rec --begin -2h -o night.html --title 'Router 1, Tuesday night'
  lnetstat report rtr1 oss1 --format md
"""


@click.command(help=HELP)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("-o", "--output", metavar="FILE", help=f"File to write; - is stdout. [default: {DEFAULT_PAGE}; md and json: stdout]")
@click.option("--format", "form", type=click.Choice(["html", "md", "json"]), default="html", show_default=True, help="Page, mail or data.")
@click.option("--title", default="LNet report", show_default=True, help="Title of the page.")
@input_options
def command(paths: tuple[str, ...], output: str | None, form: str, title: str, **options: Any) -> int:
    output = output or (DEFAULT_PAGE if form == "html" else "-")
    if output != "-":
        from lnetstat.report.output import check_writable

        # Said now, and not after minutes of analysis.
        check_writable(output)
    from lnetstat.cli._inputs import analyzed

    analysis, whole = analyzed(paths, **options)
    if analysis is None:
        return 3
    with working("drawing"):
        text = _rendered(analysis, form, title)
    _write(output, text, len(analysis.findings))
    return 0 if whole else 3


def _rendered(analysis: "Analysis", form: str, title: str) -> str:
    if form == "json":
        return json.dumps(analysis.as_json(), allow_nan=False) + "\n"
    if form == "md":
        from lnetstat.report import markdown

        return markdown.text(analysis, title=title)
    from lnetstat.report import html

    return html.page(analysis, title=title)


def _write(output: str, text: str, findings: int) -> None:
    from lnetstat.report.output import write_whole
    from lnetstat.report.words import plural, quantity

    if output == "-":
        click.echo(text, nl=False)
        return
    write_whole(output, text)
    click.echo(f"{output}: {plural(findings, 'finding')}, {quantity(os.path.getsize(output), 'bytes')}", err=True)
