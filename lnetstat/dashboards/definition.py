"""What a dashboard is, said once: Grafana's JSON, graphite-web's dashboards, the stack's own page and docs/dashboards.md are made of it.

In an expression the words `$host` and `$net` stand for the variables: a name, or a glob such as `*`. NIDs are one path node
(10_0_0_1_at_tcp1), so `nis.*_at_$net.` are the NIs of a net. `$bridged` is over how many missing points a counter's rate goes on.
"""

from typing import Literal, NamedTuple

from lnetstat.dashboards.expressions import BRIDGED

Level = Literal["warning", "critical"]
Kind = Literal["lines", "stacked", "steps", "bars", "folded"]


class Target(NamedTuple):
    """One Graphite expression. `legend`: the name of its one series; empty where the expression names its series itself (aliasByNode).

    `right`: in the unit of its own axis on the right side, because its size is another (pings beside bulk requests).
    """

    expression: str
    legend: str = ""
    right: bool = False


class Threshold(NamedTuple):
    """A line that should not be crossed, in the panel's unit. `below`: what is under it is bad; otherwise what reaches it."""

    value: float
    level: Level
    words: str
    below: bool = False


class Panel(NamedTuple):
    """One graph. `unit` in words ("credits", "bytes/s", ""); `zero`: the axis begins at 0; `events`: incidents are marked in it.

    `place`: empty for everywhere; "page": only on the stack's own page (as all of the kind `folded`, which lays the periods of its one
    series over each other); "graphite": only where Graphite alone draws, which is Grafana and graphite-web.
    """

    slug: str
    title: str
    unit: str
    description: str
    targets: tuple[Target, ...]
    thresholds: tuple[Threshold, ...] = ()
    kind: Kind = "lines"
    events: bool = True
    zero: bool = False
    place: Literal["", "page", "graphite"] = ""


class Variable(NamedTuple):
    """A choice of the viewer. `query`: a Graphite find expression, whose path node number `node` (from 0) is offered."""

    name: Literal["host", "net"]
    label: str
    query: str
    node: int


class Dashboard(NamedTuple):
    """A page of panels that shows the last `minutes`. `slug` is its name everywhere, for ever."""

    slug: str
    title: str
    description: str
    minutes: int
    variables: tuple[Variable, ...]
    panels: tuple[Panel, ...]

    def panels_at(self, place: Literal["page", "graphite"]) -> tuple[Panel, ...]:
        """Return the panels that are drawn there."""
        return tuple(panel for panel in self.panels if panel.place in ("", place))


HOST = Variable("host", "Host", "lnet.*", 1)
NET = Variable("net", "LNet network", "lnet.$host.peers.*", 3)

# A series that every node has: how far apart its values are says how often a node is sampled. From it the page sets $bridged.
PACE = "lnet.$host.lnet_stats.recv_count"

EVENT_TAG = "lnetstat"  # what `lnetstat watch --events` tags its findings with


def substituted(expression: str, host: str = "*", net: str = "*") -> str:
    """Return an expression with the variables filled in."""
    return bridged(expression).replace("$host", host).replace("$net", net)


def bridged(expression: str) -> str:
    """Return an expression for those who do not know how often nodes are sampled: BRIDGED missing points are no gap."""
    return expression.replace("$bridged", str(BRIDGED))


# What has to be there before a node sends series such as these: said where a panel finds none.
SENDERS = {
    ".counters.obdfilter_": "Servers send these, where agents find obdfilter/*/stats: an OSS with its targets mounted.",
    ".counters.": "Servers send these, where agents find ost/OSS/*/stats (root may have to read them): lnetstat doctor says what it finds.",
    ".health.": "Agents send these, where they run as root with --root / (the default) and lnetctl is installed (Lustre 2.12 or later).",
    ".self.": "Only lnetstat agent sends these, of itself; collectl and replays do not.",
    ".buffers.": "Only nodes that route have router buffers.",
    ".cpu.": "Agents send these from /proc/stat; an older recording may not hold it.",
}


def sender(panel: Panel) -> str:
    """Return what to do where a panel finds no series at all, or nothing."""
    expressions = " ".join(target.expression for target in panel.targets)
    return next((words for part, words in SENDERS.items() if part in expressions), "")
