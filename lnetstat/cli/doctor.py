"""Check this node, and a Carbon: what can be read, what would be lost, what to do."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from lnetstat.agent.settings import AgentSettings
from lnetstat.cli import _schemas
from lnetstat.cli._options import MetricPrefix, Name, schema_option
from lnetstat.cli._plugin import Plugin
from lnetstat.config import ConfigError, contradictions, read_config
from lnetstat.doctor.checks import Check, Level, as_json, worst
from lnetstat.errors import LnetstatError
from lnetstat.reduce.metrics import SERIES_MAX


@click.command(cls=Plugin)
@click.option(
    "--root", type=Name(), default="/", metavar="DIR", help="Look at DIR instead of /: a tree with proc/ and sys/, or peers, nis, …"
)
@click.option("--config", type=Name(), metavar="FILE", help="Check the agent's TOML file, and take from it what is not said here.")
@click.option("--spool", type=Name(), metavar="DIR", help="The agent's spool: is there room for it?")
@click.option("--carbon", multiple=True, metavar="HOST:PORT", help="Can this Carbon be reached? (may be repeated)")
@click.option("--carbon-conf", type=Name(), metavar="FILE", help="What would this carbon.conf lose?")
@click.option("--graphite", type=Name(), metavar="URL", help="Ask this graphite-web what its Carbon has lost, and for its clock.")
@click.option("--storage-schemas", type=Name(), metavar="FILE", help="Compare a site's storage-schemas.conf with ours.")
@click.option("--storage-aggregation", type=Name(), metavar="FILE", help="Compare a site's storage-aggregation.conf with ours.")
@click.option("--nodes", type=click.IntRange(1, 1_000_000), default=1, show_default=True, help="How many nodes will send.")
@click.option(
    "--series", "series_max", type=click.IntRange(1, 1_000_000), default=SERIES_MAX, show_default=True, help="Series of each node."
)
@click.option("--prefix", type=MetricPrefix(), default="lnet", show_default=True, help="First node of every metric path.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON instead of lines.")
@schema_option(_schemas.doctor)
@click.pass_context
def command(ctx: click.Context, /, config: str | None, json_output: bool, nodes: int, **options: Any) -> int:
    """Check this node, and a Carbon: what can be read, what would be lost, what to do.

    One line for each check: OK, WARNING, CRITICAL or UNKNOWN, what was found, what to do. Nothing is changed, nothing is sent. With
    --config it looks where the agent of that file would: its root, spool, Carbons, prefix, bounds and interval.

    The exit status is that of the worst line, as Nagios knows it: 2 CRITICAL, else 3 UNKNOWN (could not be looked at, wrong options), else
    1 WARNING, else 0.

    \b
    Examples:
      lnetstat doctor                                     this node
      sudo lnetstat doctor --config /etc/lnetstat/lnetstat.toml
      sudo lnetstat doctor --carbon graphite:2003 --spool /var/spool/lnetstat
      lnetstat doctor --root /tmp/tree                    a copy of another node's files
      lnetstat doctor --nodes 600 --carbon-conf carbon.conf --storage-schemas storage-schemas.conf
    """
    checks = []
    said = {name: value for name, value in options.items() if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    for check in _checks(config, said, _Site(*(options.pop(name) for name in _Site._fields)), nodes):
        checks.append(check)
        if not json_output:
            click.echo(check.line)
    if json_output:
        click.echo(json.dumps(as_json(checks), indent=2))
    return int(worst(checks))


class _Site(NamedTuple):
    """What a site's Carbon and graphite-web are asked, or looked up in: None where it is not."""

    carbon_conf: str | None
    graphite: str | None
    storage_schemas: str | None
    storage_aggregation: str | None


def _checks(config: str | None, said: dict[str, Any], site: _Site, nodes: int) -> Iterator[Check]:
    """Yield one check after the other, each as soon as it is known."""
    from lnetstat.doctor.needs import clock_check, descriptors_check, spool_checks
    from lnetstat.doctor.node import examine

    found, values = _configured(config) if config else ([], {})
    yield from found
    agent = AgentSettings(**{name: value for name, value in (values | said).items() if name in AgentSettings._fields})
    is_live = False
    try:
        seen, checks = examine(agent.root)
    except LnetstatError as error:
        yield Check(Level.UNKNOWN, "node", str(error))
    else:
        is_live = seen.is_live
        yield from checks
        if is_live:
            yield descriptors_check(seen.files)
            yield clock_check()
    if is_live or agent.spool:
        yield from spool_checks(agent.spool, agent.series_max, agent.spool_max_bytes)
    if agent.carbon:
        from lnetstat.doctor.carbon import carbon_checks, proof_check

        reached = [check for address in agent.carbon for check in carbon_checks(address, nodes)]
        yield from reached
        if any(check.level is Level.OK for check in reached):
            yield proof_check(site.graphite is not None)
    if site.carbon_conf:
        from lnetstat.doctor.carbon import conf_checks

        yield from conf_checks(site.carbon_conf, agent.series_max, nodes, agent.resend_s)
    if site.graphite:
        from lnetstat.doctor.graphite import graphite_checks

        yield from graphite_checks(site.graphite, agent.series_max, nodes)
    yield from _rules(site, agent, nodes)


def _configured(path: str) -> tuple[list[Check], dict[str, Any]]:
    """Return what is wrong with an agent's file, or that nothing is, and what it sets."""
    try:
        values = read_config(path)
        problems = [f"{path}: {problem}" for problem in contradictions(values)]
    except ConfigError as error:
        values, problems = {}, list(error.problems)
    if not problems:
        return [Check(Level.OK, "configuration", f"{path}: right")], values
    remedy = "no agent starts with it: correct it" + ("" if values else "; what follows is judged by defaults")
    return [Check(Level.CRITICAL, "configuration", problem, remedy) for problem in problems], values


def _rules(site: _Site, agent: AgentSettings, nodes: int) -> Iterator[Check]:
    try:
        from lnetstat.doctor.rules import aggregation_checks, schemas_checks, sizing_checks
    except ModuleNotFoundError as error:  # a package of the node side only
        yield Check(
            Level.UNKNOWN, "sizing", f"not installed here: {error.name}", "run `lnetstat doctor --nodes N` where all of lnetstat is"
        )
        return
    if site.storage_schemas:
        yield from schemas_checks(site.storage_schemas, agent.prefix, agent.spool_max_age_s, agent.interval_s)
    if site.storage_aggregation:
        yield from aggregation_checks(site.storage_aggregation, agent.prefix)
    yield from sizing_checks(agent.series_max, nodes, site.storage_schemas, agent.prefix)
