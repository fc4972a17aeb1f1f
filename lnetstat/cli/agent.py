"""Ship this node's credits and counters, once a second, to Carbon or to stdout."""

import json
import time
from typing import Any

import click
from click.core import ParameterSource

from lnetstat.agent import AgentSettings, become
from lnetstat.agent.settings import settings_of
from lnetstat.agent.status import STATUS_PATH
from lnetstat.agent.verdict import LEVELS, UNKNOWN, judge, read_status
from lnetstat.cli import _schemas
from lnetstat.cli._options import Checked, Name, checked_node, node_options, schema_option
from lnetstat.config import ConfigError, contradictions, read_config
from lnetstat.words import printable

HELP = f"""{__doc__}

What it reads is only read. Points that a Carbon has not got wait, with --spool on disk, and are sent later.

\b
Examples:
  lnetstat agent --stdout -n 2                      what would be sent
  lnetstat agent --carbon graphite:2003 --spool /var/lib/lnetstat/spool
  lnetstat agent --prometheus 127.0.0.1:9464
  lnetstat agent --check-config /etc/lnetstat/lnetstat.toml
  lnetstat agent --status                           how the running agent is
"""


@click.command(help=HELP)
@node_options
@click.option("--stdout", is_flag=True, help="Print points as lines instead: path, value, second.")
@click.option("--record", "recording", type=Name(), metavar="DIR", help="Record the raw text too.")
@click.option("--spool", type=Name(), metavar="DIR", help="Keep on disk, here, what a Carbon has not got yet.")
@click.option("--spool-max-bytes", type=Checked("spool.max_bytes"), metavar="BYTES", help="Bound of each Carbon's spool (default: 1GiB).")
@click.option("--spool-max-age", "spool_max_age_s", type=Checked("spool.max_age"), metavar="TIME", help="Drop older points (default: 6h).")
@click.option("--prometheus", type=Checked("prometheus.listen"), metavar="ADDR:PORT", help="Serve the newest points at /metrics.")
@click.option("--textfile", type=Checked("prometheus.textfile"), metavar="FILE", help="Keep them in FILE.prom for node_exporter.")
@click.option("--config", type=Name(), metavar="FILE", help="Take what is not said here from this TOML file; SIGHUP reads it again.")
@click.option("--check-config", type=Name(), metavar="FILE", help="Say everything that is wrong with the file, and exit with 0 or 2.")
@click.option("--status-file", "status", type=Name(), metavar="FILE", help=f"Keep the agent's state in FILE, such as {STATUS_PATH}.")
@click.option("--status", "show_status", is_flag=True, help="Say how the running agent is, and exit with 0 to 3 as a Nagios check.")
@click.option("--json", "as_json", is_flag=True, help="With --status: print the status file, with the verdict.")
@schema_option(_schemas.agent)
@click.pass_context
def command(ctx: click.Context, /, check_config: str | None, show_status: bool, as_json: bool, **options: Any) -> None:
    if as_json and not show_status:
        raise click.UsageError("--json goes with --status")
    if check_config:
        ctx.exit(_check(check_config, _given(ctx, options)))
    try:
        if show_status:
            ctx.exit(_show(_status_path(options), as_json))
        become(_settings(ctx, options))
    except ConfigError as error:
        if show_status:  # 2 would be CRITICAL to a monitoring system
            click.echo(f"UNKNOWN: {printable(str(error))}")
            ctx.exit(UNKNOWN)
        raise click.UsageError(str(error)) from error


def _settings(ctx: click.Context, options: dict[str, Any]) -> AgentSettings:
    """Return what the file says, under what the command line says."""
    return settings_of(options["config"], _given(ctx, checked_node(options)))


def _given(ctx: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were said, and may have been said in the file."""
    said = {name: value for name, value in options.items() if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    return {name: value for name, value in said.items() if name != "config"}


def _check(path: str, given: dict[str, Any]) -> int:
    """Print each problem of a configuration file, under what else is said, in a line; or that there is none."""
    try:
        problems = [f"{path}: {problem}" for problem in contradictions(read_config(path) | given)]
    except ConfigError as error:
        problems = list(error.problems)
    for problem in problems:
        click.echo(f"lnetstat: {problem}", err=True)
    if not problems:
        click.echo(f"{path}: right")
    return 2 if problems else 0


def _status_path(options: dict[str, Any]) -> str:
    if options["status"]:
        return str(options["status"])
    return str(read_config(options["config"]).get("status", STATUS_PATH)) if options["config"] else STATUS_PATH


def _show(path: str, as_json: bool) -> int:
    """Print how the agent is; return 0 to 3."""
    status, why = read_status(path)
    level, lines = judge(status, time.time()) if status is not None else (UNKNOWN, [f"UNKNOWN: {why}"])
    if as_json:
        click.echo(json.dumps({"schema": 1, "verdict": LEVELS[level], "lines": lines, "status": status}, indent=2))
    else:
        click.echo("\n".join(lines))
    return level
