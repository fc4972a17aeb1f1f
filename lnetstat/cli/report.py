"""Write what is wrong, with pictures, as one HTML page to mail; or as text."""

import json
import os

import click

from lnetstat import series_csv
from lnetstat.analysis import Analysis, analyze, analyze_series
from lnetstat.cli._times import Moment, MomentType
from lnetstat.cli.analyze import _frames, _series, _tell

DEFAULT_PAGE = "report.html"


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("-o", "--output", metavar="FILE", help=f"File to write; - is stdout. [default: {DEFAULT_PAGE}; md and json: stdout]")
@click.option("--format", "form", type=click.Choice(["html", "md", "json"]), default="html", show_default=True, help="Page, mail or data.")
@click.option("--title", default="LNet report", show_default=True, help="Title of the page.")
@click.option("--begin", type=MomentType(), help="Leave out what is earlier.")
@click.option("--end", type=MomentType(), help="Leave out this time and what is later.")
@click.option("--host", help="Name of the host where the input does not tell; of several hosts, only this one.")
@click.option("--kind", type=click.Choice(["rate", "counter"]), default="rate", show_default=True, help="CSV: what `value` is.")
@click.option("--interval", "interval_s", type=click.FloatRange(min=0, min_open=True), help="CSV: nominal seconds between samples.")
@click.option("--credits-max", type=click.IntRange(min=0), help="CSV: the limit that `tx` counts down from (0: not known).")
def command(
    paths: tuple[str, ...],
    output: str | None,
    form: str,
    title: str,
    begin: Moment | None,
    end: Moment | None,
    host: str | None,
    kind: str,
    interval_s: float | None,
    credits_max: int | None,
) -> int:
    """PATH is a recording, an archive (folder or tar), or a CSV file as for `lnetstat analyze`; several are seen as one."""
    failed: list[str] = []
    output = output or (DEFAULT_PAGE if form == "html" else "-")
    series = [path for path in paths if series_csv.looks_like_series(path)]
    if series and len(series) < len(paths):
        raise click.UsageError("CSV files and recordings cannot be reported on together: give them apart")
    if output != "-":
        from lnetstat.report.output import check_writable

        # Said now, and not after minutes of analysis.
        check_writable(output)
    if series:
        table = _series(series, begin, end, failed)
        analysis = None if table is None else analyze_series(table, kind=kind, interval_s=interval_s, credits_max=credits_max or None)
    else:
        frames = _frames(list(paths), begin, end, host, failed)
        analysis = None if frames is None else analyze(frames)
    _tell(failed)
    if analysis is None:
        return 3
    _write(output, _rendered(analysis, form, title), len(analysis.findings))
    return 3 if failed else 0


def _rendered(analysis: Analysis, form: str, title: str) -> str:
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
