"""Compare two recordings: did the tuning help? Dead time, lost bytes and credits before and after."""

import json
from typing import Any

import click

from lnetstat.cli._input_options import input_options
from lnetstat.cli._options import schema_option
from lnetstat.cli._progress import working


def _schema() -> dict[str, Any]:
    from lnetstat.analysis.compare_schema import COMPARE_SCHEMA

    return COMPARE_SCHEMA


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
@click.option("--html", metavar="FILE", help="Also write a page with pictures of both to FILE.")
@input_options
@click.option("--fail-on", type=click.Choice(["worse"]), help="Exit with 1 when AFTER is worse.")
@schema_option(_schema)
def command(before: str, after: str, as_json: bool, html: str | None, fail_on: str | None, **options: Any) -> int:
    """Compare two records: did the tuning help? Each is anything that `analyze` reads; the options hold for both.

    The verdict is better, worse, no difference shown or cannot tell. A difference is claimed only where the confidence interval of the
    change leaves 0 out, for all figures together, and where another load cannot explain it.

    \b
    Examples:
      lnetstat compare before after
      lnetstat compare untuned.csv tuned.csv --interval 1s --json
      lnetstat compare before after --html tuning.html
    """
    if html is not None:
        from lnetstat.report.output import check_writable

        check_writable(html)  # said now, and not after minutes of analysis
    from lnetstat.analysis.compare import compare
    from lnetstat.analysis.comparison import WORSE
    from lnetstat.cli._compare_text import text_of
    from lnetstat.cli._inputs import analyzed

    first, first_whole = analyzed((before,), **options)
    second, second_whole = analyzed((after,), **options)
    if first is None or second is None:
        return 3
    with working("comparing"):
        found = compare(first, second)
    if html is not None:
        from lnetstat.report import comparison
        from lnetstat.report.output import write_whole

        with working("drawing"):
            page = comparison.page(found, first, second)
        write_whole(html, page)
    click.echo(json.dumps(found.as_json(), allow_nan=False) if as_json else text_of(found))
    if fail_on and found.verdict == WORSE:
        return 1
    return 0 if first_whole and second_whole else 3
