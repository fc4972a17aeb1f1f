"""Ship this node's credits and counters, once a second, to Carbon or to stdout."""

from typing import Any

import click

from lnetstat.agent import AgentSettings, become
from lnetstat.cli._options import Name, checked_node, node_options


@click.command(help=__doc__)
@node_options
@click.option("--stdout", is_flag=True, help="Print points as lines instead: path, value, second.")
@click.option("--record", "recording", type=Name(), metavar="DIR", help="Record the raw text too.")
def command(**options: Any) -> None:
    settings = checked_node(options)
    if not settings["carbon"] and not settings["stdout"] and not settings["recording"]:
        raise click.UsageError("say where points go: --carbon HOST:PORT, --stdout, or --record DIR")
    become(AgentSettings(**settings))
