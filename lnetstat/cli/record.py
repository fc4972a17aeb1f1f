"""Record this node's raw tables, or those of many nodes through ssh, down to every 50 ms, into a folder."""

from typing import Any

import click

from lnetstat.agent import AgentSettings, become
from lnetstat.cli._options import Name, Seconds, Size, checked_node, node_options

MAX_BYTES_LEAST = 1_000_000  # room for several segments, of which the oldest goes first


@click.command()
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
@click.option("-w", "--nodes", type=Name(), metavar="NODES", help="Record these nodes through ssh: rtr[1-8], @group. They need sh and cat.")
@click.option("--ssh", type=Name(), default="ssh", show_default=True, metavar="COMMAND", help="With -w: the ssh to use, with options.")
def command(nodes: str | None, ssh: str, **options: Any) -> int | None:
    """Record this node's raw tables, down to every 50 ms, into a folder; with -w those of many nodes, all into one folder.

    Nodes behind ssh need neither Python nor lnetstat: one ssh for each stays open, and a small program in its shell reads the files. A node
    that fails is told once and tried again; the others go on. In the end the nodes that were not read all the time are listed (status 3).

    \b
    Examples:
      lnetstat record -o rec                           this node, once a second, until Ctrl-C
      lnetstat record -o rec -i 0.1 --max-bytes 2GiB   ten times a second, the oldest part goes first
      lnetstat record -o rec -w rtr[1-8] --ssh 'ssh -l root'
      lnetstat analyze rec                             what is wrong in it
    """
    if 0 < options["max_bytes"] < MAX_BYTES_LEAST:
        raise click.BadParameter("too little to drop old parts from: give at least 1M", param_hint="--max-bytes")
    if nodes is not None:
        for option in ("host", "carbon", "reset_low_water"):
            if options[option]:
                raise click.UsageError(f"--{option.replace('_', '-')} is for the agent on a node: it cannot be used together with -w")
        from lnetstat.cli._remote import record_nodes

        return record_nodes(nodes, ssh, options)
    become(AgentSettings(**checked_node(options)))
    return None
