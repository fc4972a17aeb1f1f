"""Check this node, and a Carbon: what can be read, what would be lost, what to do."""

import json
from collections.abc import Iterator
from typing import Any

import click

from lnetstat.cli._options import MetricPrefix, Name
from lnetstat.doctor.checks import Check, Level, as_json, worst
from lnetstat.reduce.metrics import SERIES_MAX


@click.command()
@click.option(
    "--root", type=Name(), default="/", metavar="DIR", help="Look at DIR instead of /: a tree with proc/ and sys/, or peers, nis, …"
)
@click.option("--spool", type=Name(), metavar="DIR", help="The agent's spool: is there room for it?")
@click.option("--carbon", multiple=True, metavar="HOST:PORT", help="Can this Carbon be reached? (may be repeated)")
@click.option("--carbon-conf", type=Name(), metavar="FILE", help="What would this carbon.conf lose?")
@click.option("--graphite", type=Name(), metavar="URL", help="Ask this graphite-web what its Carbon has lost, and for its clock.")
@click.option("--storage-schemas", type=Name(), metavar="FILE", help="Compare a site's storage-schemas.conf with ours.")
@click.option("--storage-aggregation", type=Name(), metavar="FILE", help="Compare a site's storage-aggregation.conf with ours.")
@click.option("--nodes", type=click.IntRange(1, 1_000_000), default=1, show_default=True, help="How many nodes will send.")
@click.option("--series", type=click.IntRange(1, 1_000_000), default=SERIES_MAX, show_default=True, help="Series of each node.")
@click.option("--prefix", type=MetricPrefix(), default="lnet", show_default=True, help="First node of every metric path.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON instead of lines.")
def command(json_output: bool, **options: Any) -> int:
    """Check this node, and a Carbon: what can be read, what would be lost, what to do.

    One line for each check: OK, WARNING, CRITICAL or UNKNOWN, what was found, what to do. Nothing is changed, nothing is sent. The exit
    status is that of the worst line, as Nagios knows it: 2 CRITICAL, else 3 UNKNOWN (could not be looked at), else 1 WARNING, else 0.

    \b
    lnetstat doctor                                     this node
    sudo lnetstat doctor --carbon graphite:2003 --spool /var/spool/lnetstat
    lnetstat doctor --root /tmp/tree                    a copy of another node's files
    lnetstat doctor --nodes 600 --carbon-conf carbon.conf --storage-schemas storage-schemas.conf
    """
    checks = []
    for check in _checks(**options):
        checks.append(check)
        if not json_output:
            click.echo(check.line)
    if json_output:
        click.echo(json.dumps(as_json(checks), indent=2))
    return int(worst(checks))


def _checks(
    *,
    root: str,
    spool: str | None,
    carbon: tuple[str, ...],
    carbon_conf: str | None,
    graphite: str | None,
    storage_schemas: str | None,
    storage_aggregation: str | None,
    nodes: int,
    series: int,
    prefix: str,
) -> Iterator[Check]:
    """Yield one check after the other, each as soon as it is known."""
    from lnetstat.doctor.needs import clock_check, descriptors_check, spool_checks
    from lnetstat.doctor.node import examine

    seen, checks = examine(root)
    yield from checks
    if seen.is_live:
        yield descriptors_check(seen.files)
        yield clock_check()
    if seen.is_live or spool:
        yield from spool_checks(spool, series)
    for address in carbon:
        from lnetstat.doctor.carbon import carbon_checks

        yield from carbon_checks(address, nodes)
    if carbon_conf:
        from lnetstat.doctor.carbon import conf_checks

        yield from conf_checks(carbon_conf, series, nodes)
    if graphite:
        from lnetstat.doctor.graphite import graphite_checks

        yield from graphite_checks(graphite, series, nodes)
    yield from _rules(storage_schemas, storage_aggregation, nodes, series, prefix)


def _rules(storage_schemas: str | None, storage_aggregation: str | None, nodes: int, series: int, prefix: str) -> Iterator[Check]:
    try:
        from lnetstat.doctor.rules import aggregation_checks, schemas_checks, sizing_checks
    except ModuleNotFoundError as error:  # a package of the node side only
        yield Check(
            Level.UNKNOWN, "sizing", f"not installed here: {error.name}", "run `lnetstat doctor --nodes N` where all of lnetstat is"
        )
        return
    if storage_schemas:
        yield from schemas_checks(storage_schemas, prefix)
    if storage_aggregation:
        yield from aggregation_checks(storage_aggregation, prefix)
    yield from sizing_checks(series, nodes, storage_schemas, prefix)
