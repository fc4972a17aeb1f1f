"""List the tables that lnetstat reads, or the columns of one."""

import json
from collections.abc import Iterable
from typing import Any

import click

from lnetstat.cli import _schemas
from lnetstat.cli._options import schema_option
from lnetstat.cli._text import aligned
from lnetstat.model import Table
from lnetstat.reduce.metrics import METRICS, Metric
from lnetstat.tables import foreign_tables
from lnetstat.words import printable

HELP = f"""{__doc__}

\b
Examples:
  lnetstat tables
  lnetstat tables peers
  lnetstat tables --metrics
  lnetstat tables peers --json
"""


@click.command(help=HELP)
@click.argument("name", required=False)
@click.option("--metrics", is_flag=True, help="List the metrics that agents send instead.")
@click.option("--markdown", is_flag=True, help="All tables with their columns, and all metrics, as Markdown.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON document, with the columns of each table.")
@schema_option(_schemas.tables)
def command(name: str | None, metrics: bool, markdown: bool, as_json: bool) -> None:
    if metrics + markdown + (name is not None) > 1:
        raise click.UsageError("NAME, --metrics and --markdown each ask for something else: give one of them")
    if markdown and as_json:
        raise click.UsageError("--markdown and --json are two forms of the same: give one of them")
    report: list[str] = []
    tables = foreign_tables(report)
    for line in report:
        click.echo(f"lnetstat: {line}", err=True)
    if name is not None and name not in tables:
        raise click.BadParameter(f"no table is called {printable(name)}: one of {', '.join(tables)}", param_hint="NAME")
    if as_json:
        asked = () if metrics else tables.values() if name is None else (tables[name],)
        document = {"schema": 1, "tables": [_as_json(table) for table in asked], "metrics": [_metric(m) for m in METRICS if metrics]}
        click.echo(json.dumps(document))
    elif markdown:
        click.echo(_reference(tables.values()))
    elif metrics:
        click.echo(aligned([("METRIC", "UNIT", "SECOND", "MEANING"), *((m.pattern, m.unit, m.reduce.value, m.help) for m in METRICS)]))
    elif name is None:
        click.echo(aligned([("TABLE", "MEANING"), *((table.name, table.help) for table in tables.values())]))
    else:
        _columns(tables[name])


def _as_json(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "help": table.help,
        "key": list(table.key),
        "paths": [f"/{path}" for path in table.paths],
        "layouts": list(table.layouts),
        "columns": [{"name": c.name, "kind": c.semantics.value, "unit": c.unit, "help": c.help} for c in table.columns],
    }


def _metric(metric: Metric) -> dict[str, str]:
    return {"pattern": metric.pattern, "unit": metric.unit, "second": metric.reduce.value, "help": metric.help}


def _columns(table: Table) -> None:
    click.echo(f"{table.name}: {table.help}")
    for path in table.paths:
        click.echo(f"  /{path}")
    for layout in table.layouts:
        click.echo(f"  layout: {layout}")
    click.echo("")
    rows = [(column.name, column.semantics.value, column.unit, column.help) for column in table.columns]
    click.echo(aligned([("COLUMN", "KIND", "UNIT", "MEANING"), *rows]))


def _reference(tables: Iterable[Table]) -> str:
    """Return docs/columns.md."""
    lines = ["# Tables and metrics", "", "For whoever asks what a column or a metric means, in which unit, and which file it is from."]
    lines += ["Made by `make docs` from the tables' own columns; do not edit.", ""]
    for table in tables:
        lines += [f"## {table.name}", "", f"{_capital(table.help)}. Key: {', '.join(table.key) or 'one row'}.", ""]
        lines += [f"Files: {', '.join(f'`/{path}`' for path in table.paths)}.", ""] if table.paths else []
        lines += ["| column | kind | unit | meaning |", "|---|---|---|---|"]
        lines += [f"| {c.name} | {c.semantics.value} | {c.unit} | {_cell(c.help)} |" for c in table.columns]
        lines.append("")
    lines += [
        "## Metrics",
        "",
        "Below `PREFIX.HOST.`; words in capitals stand for one path node. `second`: what a second of faster samples becomes.",
        "",
    ]
    lines += ["| metric | unit | second | meaning |", "|---|---|---|---|"]
    lines += [f"| {m.pattern} | {m.unit} | {m.reduce.value} | {_cell(m.help)} |" for m in METRICS]
    return "\n".join(lines)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
