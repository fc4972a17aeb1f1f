"""docs/dashboards.md, made from the definitions: `python -m lnetstat.dashboards.page > docs/dashboards.md`."""

import sys

from lnetstat.dashboards import DASHBOARDS
from lnetstat.dashboards.definition import Dashboard, Panel

HEAD = """# Dashboards

Made by `make docs` from the dashboards' definitions (lnetstat/dashboards/); do not edit.

They read the metrics that `lnetstat agent`, `lnetstat replay --carbon` and the collectl plug-ins ship to Carbon, with the usual prefix:
`lnet.HOST.…` ([columns.md](columns.md) lists them). One definition makes three forms:

- **The stack's own**: `lnetstat stack up` has them, in graphite-web (`/dashboard/lnet-router`) and on its own page.
- **Grafana** (made for 11): `lnetstat dashboards install --grafana URL --token-file FILE` makes a folder `lnetstat` and saves them; run
  it again after an upgrade. It overwrites only dashboards with these names that carry the tag `lnetstat`. The token is that of a service
  account with the role Editor; to list data sources it needs Admin, otherwise the default Graphite data source is taken. Or import the
  files `dashboards/grafana/*.json` by hand (Dashboards, New, Import): the data source is a variable. The menus *Host* and *LNet network*
  choose what is drawn.
- **A site's graphite-web**: save the files `dashboards/graphite/*.json`, each as the form field `state` (where it asks for a login first,
  with the cookie of one):

      curl --data-urlencode state@lnet-router.json http://graphite/dashboard/save/lnet-router

  There are no menus there: all hosts and networks are asked for, and the worst ten of each panel are drawn.

`lnetstat dashboards build --to DIR` writes both kinds of files. `lnetstat watch REC --events graphite://HOST` posts what it finds as
Graphite events with the tag `lnetstat`, at the times when it began and ended: all panels mark them.

On the stack's own page a rate goes on over a missing sample or two, by how often the node is sampled; what is longer is a gap. Grafana and
graphite-web bridge 60 points. Incidents that are known to be of another host than the chosen one are listed there, but not shaded.
Where an event tells how many dips there were and how far apart, each of them is marked.

The field *Host* of the page also takes several names and patterns (*Several …*): `rtr*`, `rtr[01-16]`, `oss01, oss02`. Its folded view
takes the period from the newest dead time that is marked, or any that you type; Grafana and graphite-web cannot fold and have the mean of
ten shifted copies in its place.

The page, filled by `make demo`: the simulated [dead time](page-light.png) ([dark](page-dark.png), [narrow](page-narrow.png)) and the
[real ping bursts](page-real.png); [overview](page-overview.png) ([dark](page-overview-dark.png), [narrow](page-overview-narrow.png)),
[router](page-router.png) ([dark](page-router-dark.png), [narrow](page-router-narrow.png)), [OSS](page-oss.png),
[credits](page-credits.png), [interface health](page-interfaces.png) and [lnetstat itself](page-self.png). The demo moves its recordings to
today, one before the other; their reports keep the times at which they were recorded, and the page says which beside each link.

The Grafana files were read with Grafana's foundation SDK (11.6), and all their queries were sent to a real graphite-web; a real Grafana
server has not seen them.
"""
WHERE = {"": "", "page": " (the stack's page)", "graphite": " (Grafana, graphite-web)"}


def page() -> str:
    """Return the whole page as Markdown."""
    return "\n".join([HEAD, *(_dashboard(dashboard) for dashboard in DASHBOARDS)])


def _dashboard(dashboard: Dashboard) -> str:
    lines = [f"## {dashboard.title} (`{dashboard.slug}`)", "", f"{dashboard.description} The last {dashboard.minutes} minutes.", ""]
    lines += ["| panel | unit | what it says |", "|---|---|---|"]
    return "\n".join([*lines, *(_row(panel) for panel in dashboard.panels), ""])


def _row(panel: Panel) -> str:
    words = " ".join([panel.description, *(f"{each.level.capitalize()}: {each.words}." for each in panel.thresholds)])
    return f"| {panel.title}{WHERE[panel.place]} | {panel.unit} | {words} |"


if __name__ == "__main__":
    sys.stdout.write(page())
