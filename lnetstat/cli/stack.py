"""Carbon and graphite-web on this machine: up, down, status, schemas."""

import json
from pathlib import Path
from typing import Any

import click

from lnetstat.cli import _schemas
from lnetstat.cli._options import schema_option
from lnetstat.reduce.metrics import SERIES_MAX
from lnetstat.stack import schemas
from lnetstat.stack.config import CARBON_PORT, WEB_PORT
from lnetstat.stack.page import PATH
from lnetstat.stack.stack import Stack, Status

dir_option = click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, readable=False, path_type=Path),
    help="The stack's folder [default: lnetstat/stack in $XDG_STATE_HOME or ~/.local/state].",
)


@click.group(name="stack")
def command() -> None:
    """A real Carbon and graphite-web on this machine's loopback, without root.

    \b
    Examples:
      lnetstat stack up          start both, say where they are
      lnetstat stack status      running, half or not running (exit status 0 or 3)
      lnetstat stack down        stop both; carbon writes what it holds first
      lnetstat stack schemas     the storage rules for a site's own Carbon, and what they cost
    """


@command.command()
@dir_option
@click.option("--port", type=click.IntRange(1, 65_535), help=f"Port of graphite-web [default: as before, at first {WEB_PORT}].")
@click.option("--carbon-port", type=click.IntRange(1, 65_535), help=f"Port of carbon [default: as before, at first {CARBON_PORT}].")
def up(folder: Path | None, port: int | None, carbon_port: int | None) -> None:
    """Start carbon-cache and graphite-web; harmless where they run.

    \b
    Examples:
      lnetstat stack up
      lnetstat stack up --dir /tmp/stack --port 8080 --carbon-port 2003
    """
    stack = Stack(folder, port, carbon_port, tell=_tell)
    _print(stack.up())
    click.echo(f"stop with: lnetstat stack down{f' --dir {folder}' if folder else ''}", err=True)


@command.command()
@dir_option
def down(folder: Path | None) -> None:
    """Stop graphite-web, then carbon-cache, which writes what it holds: no point that it has taken is lost.

    \b
    Examples:
      lnetstat stack down
      lnetstat stack down --dir /tmp/stack
    """
    ran = Stack(folder, tell=_tell).down()
    click.echo("stopped" if ran else "not running")


@command.command()
@dir_option
@click.option("--json", "as_json", is_flag=True, help="As one JSON document.")
@schema_option(_schemas.stack_status)
@click.pass_context
def status(context: click.Context, folder: Path | None, as_json: bool) -> None:
    """Say what runs and where. Exit status 0: running; 3: half or not running.

    \b
    Examples:
      lnetstat stack status
      lnetstat stack status --json
    """
    found = Stack(folder, tell=_tell).status()
    if as_json:
        click.echo(json.dumps(document_of(found)))
    else:
        _print(found)
    if found.state != "running":
        context.exit(3)


@command.command(name="schemas")
@click.option("--site", is_flag=True, help="Only the sections for lnetstat's metrics, to stand first in a site's own files.")
@click.option("--series", type=click.IntRange(1), default=SERIES_MAX, show_default=True, help="Series a node sends, for the sizes.")
def show_schemas(site: bool, series: int) -> None:
    """Print storage-schemas.conf and storage-aggregation.conf, and the disk space that they need.

    \b
    Examples:
      lnetstat stack schemas
      lnetstat stack schemas --site --series 2000
    """
    click.echo("# ---- storage-schemas.conf: the first section whose pattern fits counts\n" + schemas.storage_schemas(site=site))
    click.echo(
        "# ---- storage-aggregation.conf: both are read when a series' file is made, never again\n" + schemas.storage_aggregation(site=site)
    )
    for line in ("---- disk space", *schemas.sizing_table(series).splitlines()):
        click.echo(f"# {line}")


def _tell(line: str) -> None:
    click.echo(f"lnetstat: {line}", err=True)


def document_of(status: Status) -> dict[str, Any]:
    """Return what `stack status --json` prints."""
    host, port = status.carbon_address
    return {
        "schema": 1,
        "state": status.state,
        "graphite_web": {"url": status.web_url, "pid": status.web_pid, "answers": status.web_answers},
        "carbon": {"address": f"{host}:{port}", "pid": status.carbon_pid, "answers": status.carbon_answers},
        "page": f"{status.web_url}{PATH}" if status.web_answers else None,
    }


def _print(status: Status) -> None:
    host, port = status.carbon_address
    for name, where, pid, answers in (
        ("graphite-web", status.web_url, status.web_pid, status.web_answers),
        ("carbon", f"{host}:{port}", status.carbon_pid, status.carbon_answers),
    ):
        what = "not running" if pid is None else f"running (process {pid})" if answers else f"does not answer (process {pid})"
        click.echo(f"{name:<14}{where:<26}{what}")
    click.echo(f"{'stack':<14}{status.state}")
    if status.web_answers:
        click.echo(f"{'look at':<14}{status.web_url}{PATH}")
