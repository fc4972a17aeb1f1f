"""Dashboards for Grafana and graphite-web: list, build, install."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lnetstat.cli import _schemas
from lnetstat.cli._options import Name, schema_option

if TYPE_CHECKING:
    from lnetstat.dashboards.definition import Dashboard

TOKEN = "GRAFANA_TOKEN"  # noqa: S105  # the name of a variable


@click.group(name="dashboards")
def command() -> None:
    """Dashboards of credits, buffers, pings and dead time, for Grafana and for graphite-web.

    They read the metrics that `lnetstat agent` ships. `lnetstat stack up` has them already.

    \b
    Examples:
      lnetstat dashboards list
      lnetstat dashboards build --to dashboards
      lnetstat dashboards install --grafana https://grafana:3000 --token-file token
    """


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="As one JSON document, with the panels of each dashboard.")
@schema_option(_schemas.dashboards_list)
def show(as_json: bool) -> None:
    """List the dashboards.

    \b
    Examples:
      lnetstat dashboards list
      lnetstat dashboards list --json
    """
    from lnetstat.cli._text import aligned
    from lnetstat.dashboards import DASHBOARDS

    if as_json:
        click.echo(json.dumps({"schema": 1, "dashboards": [_as_json(each) for each in DASHBOARDS]}))
        return
    rows = [(each.slug, len(each.panels), each.title, each.description) for each in DASHBOARDS]
    click.echo(aligned([("NAME", "PANELS", "TITLE", "SHOWS"), *rows]))


@command.command()
@click.option("--to", "folder", default="dashboards", show_default=True, type=click.Path(file_okay=False, path_type=Path), help="Folder.")
def build(folder: Path) -> None:
    """Write the JSON files: grafana/*.json to import, graphite/*.json for graphite-web's /dashboard/save.

    \b
    Examples:
      lnetstat dashboards build --to /tmp/dashboards
    """
    from lnetstat.dashboards.build import build as write

    for path in write(folder):
        click.echo(path)


@command.command()
@click.option("--grafana", "url", required=True, metavar="URL", type=Name(), help="Grafana's address.")
@click.option("--token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help=f"Service account token [else ${TOKEN}].")
@click.option("--datasource", "source_name", type=Name(), help="Graphite data source [default: the only or the default one].")
@click.option("--folder", type=Name(), help="Grafana folder [default: lnetstat for new ones; others stay where they are].")
def install(url: str, token_file: Path | None, source_name: str | None, folder: str | None) -> int:
    """Put the dashboards into a Grafana; again after an upgrade.

    Overwrites only dashboards of these names that carry the tag lnetstat. The token (role Editor; Admin where data sources are to be
    listed) comes from a file or the environment, never from the command line. Exit status 3: some could not be saved.

    \b
    Examples:
      lnetstat dashboards install --grafana https://grafana:3000 --token-file token
      lnetstat dashboards install --grafana https://grafana:3000 --datasource Graphite --folder Storage
    """
    from lnetstat.cli._text import aligned
    from lnetstat.dashboards.install import Grafana, GrafanaError

    token = (token_file.read_text(encoding="utf-8", errors="replace") if token_file else os.environ.get(TOKEN, "")).strip()
    if token_file and not token:
        raise click.BadParameter(f"{token_file}: is empty; expected a service account's token", param_hint="--token-file")
    grafana = Grafana(url, token)
    if grafana.is_readable_on_the_way:
        _tell("the token goes over the network unencrypted (http): use https where you can, and revoke the token afterwards")
    version = grafana.check()
    source = None
    try:
        source = grafana.source(source_name or "")
    except GrafanaError as error:
        if error.status != 403 or source_name:
            raise
        _tell("the token's account may not list data sources: the dashboards begin with the default Graphite data source")
    done = list(grafana.install(folder or "", source=source))
    for each in done:
        if each.reason:
            _tell(each.reason)
    click.echo(aligned([(each.slug, each.done, each.url) for each in done]))
    _tell(f"Grafana {version}" + (f", data source {source[0]}" if source else ""))
    return 3 if any(each.reason for each in done) else 0


def _as_json(dashboard: "Dashboard") -> dict[str, Any]:
    panels = [{"title": each.title, "unit": each.unit, "description": each.description} for each in dashboard.panels]
    return {"name": dashboard.slug, "title": dashboard.title, "description": dashboard.description, "panels": panels}


def _tell(line: str) -> None:
    from lnetstat.words import printable

    click.echo(f"lnetstat: {printable(line)}", err=True)
