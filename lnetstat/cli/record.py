"""Record this node's raw tables, down to every 50 ms, into a folder."""

from typing import Any

import click

from lnetstat.agent import AgentSettings, become
from lnetstat.cli._options import Name, Seconds, Size, checked_node, node_options

MAX_BYTES_LEAST = 1_000_000  # room for several segments, of which the oldest goes first


@click.command(help=__doc__)
@click.option(
    "-o",
    "--output",
    "recording",
    type=Name(),
    required=True,
    metavar="DIR",
    help="Folder of the recording; it is continued where it exists.",
)
@node_options
@click.option("--max-bytes", type=Size(), default=0, help="Bound of the folder, for example 2GiB: the oldest part goes first.")
@click.option("--max-age", "max_age_s", type=Seconds(), default=0, help="Bound in time, for example 7d: the oldest part goes first.")
def command(**options: Any) -> None:
    if 0 < options["max_bytes"] < MAX_BYTES_LEAST:
        raise click.BadParameter("too little to drop old parts from: give at least 1M", param_hint="--max-bytes")
    become(AgentSettings(**checked_node(options)))
