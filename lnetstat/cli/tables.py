"""List the tables that lnetstat reads, or the columns of one."""

import click

from lnetstat.cli._text import aligned
from lnetstat.model import Table
from lnetstat.reduce.metrics import METRICS
from lnetstat.tables import foreign_tables


@click.command(help=__doc__)
@click.argument("name", required=False)
@click.option("--metrics", is_flag=True, help="List the metrics that agents send instead.")
def command(name: str | None, metrics: bool) -> None:
    report: list[str] = []
    tables = foreign_tables(report)
    for line in report:
        click.echo(f"lnetstat: {line}", err=True)
    if metrics:
        click.echo(aligned([("METRIC", "UNIT", "SECOND", "MEANING"), *((m.pattern, m.unit, m.reduce.value, m.help) for m in METRICS)]))
    elif name is None:
        click.echo(aligned([("TABLE", "MEANING"), *((table.name, table.help) for table in tables.values())]))
    elif name in tables:
        _columns(tables[name])
    else:
        raise click.BadParameter(f"no table is called {name}: one of {', '.join(tables)}", param_hint="NAME")


def _columns(table: Table) -> None:
    click.echo(f"{table.name}: {table.help}")
    for path in table.paths:
        click.echo(f"  /{path}")
    for layout in table.layouts:
        click.echo(f"  layout: {layout}")
    click.echo("")
    rows = [(column.name, column.semantics.value, column.unit, column.help) for column in table.columns]
    click.echo(aligned([("COLUMN", "KIND", "UNIT", "MEANING"), *rows]))
