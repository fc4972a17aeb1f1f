"""Interface health (multi-rail), and lnetstat itself."""

from lnetstat.dashboards.definition import HOST, NET, Dashboard, Panel, Target, Threshold
from lnetstat.dashboards.expressions import busiest, reporting, with_nids, worst_high, worst_low
from lnetstat.dashboards.shared import ANY_CRITICAL, DROPS, ERRORS, NI_CREDITS, NIS, PEERS_DOWN, ROUTES_DOWN, TEN
from lnetstat.reduce.metrics import SERIES_MAX

HEALTH = "lnet.$host.health.*_at_$net"
SELF = "lnet.$host.self"

INTERFACE_HEALTH = Dashboard(
    "lnet-interface-health",
    "LNet interface health",
    "Local network interfaces of multi-rail nodes: health, errors and time-outs. Needs agents that run lnetctl (Lustre 2.12 or later).",
    180,
    (HOST, NET),
    (
        Panel(
            "health",
            "Health of local interfaces",
            "",
            f"1000 is sound. Each error takes away lnet_health_sensitivity, each second of recovery gives some back; LNet prefers "
            f"the healthier "
            f"interface. Below 1000 for long: look at cable, port and errors. {TEN}",
            (Target(with_nids(worst_low(f"{HEALTH}.value", 1, 3))),),
            (Threshold(1000, "warning", "below 1000: errors of late", below=True),),
            kind="steps",
            zero=True,
        ),
        Panel(
            "health-down",
            "Interfaces down (health)",
            "",
            f"1 while lnetctl says that the interface is not up. Normal: 0. {TEN}",
            (Target(with_nids(worst_high(f"{HEALTH}.down", 1, 3))),),
            (ANY_CRITICAL,),
            kind="steps",
            zero=True,
        ),
        Panel(
            "health-errors",
            "Local errors of interfaces",
            "errors/s",
            f"Sends that failed on this side of the wire. Normal: 0. {TEN}",
            (Target(with_nids(busiest(f"{HEALTH}.errors", 1, 3))),),
            kind="bars",
            zero=True,
        ),
        Panel(
            "health-timeouts",
            "Local time-outs of interfaces",
            "time-outs/s",
            f"Messages that did not leave this interface in time. Normal: 0. {TEN}",
            (Target(with_nids(busiest(f"{HEALTH}.timeouts", 1, 3))),),
            kind="bars",
            zero=True,
        ),
        Panel(
            "up",
            "Interfaces up",
            "",
            f"1 up, 0 down, by interface and CPT, from lnet/nis: also without lnetctl. Normal: 1. {TEN}",
            (Target(with_nids(worst_low(f"{NIS}.up", 1, 3, 4))),),
            (Threshold(1, "critical", "below 1: down", below=True),),
            kind="steps",
            zero=True,
        ),
        NI_CREDITS,
        PEERS_DOWN,
        ROUTES_DOWN,
        DROPS,
        ERRORS,
    ),
)

ITSELF = Dashboard(
    "lnetstat-self",
    "lnetstat itself",
    "Do the agents run in time, read all their files, and deliver all their points? Only `lnetstat agent` sends these; collectl and "
    "replays do not.",
    60,
    (HOST,),
    (
        Panel(
            "agents",
            "Agents that report",
            "agents",
            "How many of the chosen nodes' agents send something, with pauses of a minute at most. Normal: a flat line.",
            (Target(reporting(f"{SELF}.series"), "agents"),),
            kind="steps",
            zero=True,
        ),
        Panel(
            "duration",
            "Time to read and reduce one sample",
            "ms",
            f"Normal: a small part of the sampling interval. Longer than it: samples are late. {TEN}",
            (Target(worst_high(f"{SELF}.duration_ms", 1)),),
            zero=True,
        ),
        Panel(
            "late",
            "Samples that began late",
            "samples/s",
            f"Normal: 0. Above: the node is overloaded, or the interval too short for its number of peers. {TEN}",
            (Target(busiest(f"{SELF}.late", 1)),),
            kind="bars",
            zero=True,
        ),
        Panel(
            "read-errors",
            "Files that could not be read or parsed",
            "reads/s",
            f"Normal: 0. Above: run `lnetstat doctor` on that node. {TEN}",
            (Target(busiest(f"{SELF}.errors", 1)),),
            kind="bars",
            zero=True,
        ),
        Panel(
            "spooled",
            "Points waiting to be sent",
            "points",
            f"Normal: a few seconds' worth. Rising: Carbon does not take them; it falls again when Carbon is back. {TEN}",
            (Target(worst_high(f"{SELF}.spooled", 1)),),
            zero=True,
        ),
        Panel(
            "sent",
            "Points sent",
            "points/s",
            f"Normal: the number of series, once a second. {TEN}",
            (Target(busiest(f"{SELF}.sent", 1)),),
            zero=True,
        ),
        Panel(
            "resent",
            "Points sent again",
            "points/s",
            f"After a connection broke; Carbon keeps one of each. Normal: 0. {TEN}",
            (Target(busiest(f"{SELF}.resent", 1)),),
            kind="bars",
            zero=True,
        ),
        Panel(
            "lost",
            "Points lost since the agent's start",
            "points",
            f"Dropped because the queue was full, or refused because of series_max. Normal: 0. Above: make the spool larger, or "
            f"look at what "
            f"refuses them. {TEN}",
            (Target(worst_high(f"{SELF}.lost", 1)),),
            (ANY_CRITICAL,),
            kind="steps",
            zero=True,
        ),
        Panel(
            "series",
            "Series that a node sends",
            "series",
            f"At most series_max ({SERIES_MAX} unless configured). {TEN}",
            (Target(worst_high(f"{SELF}.series", 1)),),
            kind="steps",
            zero=True,
        ),
        Panel(
            "memory",
            "Resident memory of the agent",
            "bytes",
            f"Normal: flat after the first minutes. {TEN}",
            (Target(worst_high(f"{SELF}.rss_bytes", 1)),),
            zero=True,
        ),
    ),
)
