"""LNet overview, and Router."""

from lnetstat.dashboards.definition import HOST, NET, Dashboard, Panel, Target
from lnetstat.dashboards.expressions import busiest, by_host, of_routers, rate, reporting, with_nids, worst_high, worst_low
from lnetstat.dashboards.shared import (
    BUFFERS_FREE,
    BUFFERS_SHARE,
    CPUS,
    DROPS,
    ERRORS,
    NI_CREDITS,
    NIS,
    OVERSUBSCRIBED,
    PEER_CREDITS,
    PEER_CREDITS_LOW,
    PEERS,
    PEERS_DOWN,
    QUEUE_BYTES,
    ROUTES_DOWN,
    STATS,
    TEN,
    WAITING,
)

OVERVIEW = Dashboard(
    "lnet-overview",
    "LNet overview",
    "All nodes at once: does any of them run out of credits or buffers, drop messages, or fall silent? Then look at that node's "
    "router or "
    "OSS dashboard.",
    60,
    (HOST, NET),
    (
        Panel(
            "nodes",
            "Nodes that report",
            "nodes",
            "How many of the chosen nodes send their counters, with pauses of a minute at most. Normal: a flat line. "
            "A step down: a node or its agent is gone.",
            (Target(reporting(f"{STATS}.send_count"), "nodes"),),
            kind="steps",
            zero=True,
        ),
        OVERSUBSCRIBED,
        PEER_CREDITS,
        Panel(
            "ni-credits-worst",
            "NI credits left at the worst NI of each node",
            "credits",
            f"The interface and CPT that has least. Normal: above 0. At -n, n messages wait for the interface: see the dashboard "
            f"LNet credits. {TEN}",
            (Target(worst_low(by_host(f"{NIS}.tx_credits", "min"), 0)),),
            (WAITING,),
        ),
        BUFFERS_SHARE,
        Panel(
            "messages",
            "Messages received",
            "messages/s",
            f"Messages that each node took in, routed ones included. Normal: follows the load. The same hole in all curves again "
            f"and again: see "
            f"the dashboard LNet dead time. {TEN}",
            (Target(busiest(f"{STATS}.recv_count", 1)),),
            zero=True,
        ),
        Panel(
            "bytes",
            "Bytes routed and received",
            "bytes/s",
            "Payload of all chosen nodes together: what the routers passed on, and what arrived at its destination.",
            (Target(rate(f"{STATS}.route_length"), "routed"), Target(rate(f"{STATS}.recv_length"), "received")),
            zero=True,
        ),
        DROPS,
        PEERS_DOWN,
        ROUTES_DOWN,
    ),
)

ROUTER = Dashboard(
    "lnet-router",
    "LNet router",
    "Buffers, credits and rates of LNet routers on one time axis: which of them runs out first?",
    30,
    (HOST, NET),
    (
        BUFFERS_SHARE,
        BUFFERS_FREE,
        Panel(
            "buffers-low",
            "Router buffers: lowest since the start",
            "buffers",
            f"The low-water mark of the worst CPT, by pool. Normal: above 0. At -n, n messages waited at the worst moment; the mark "
            f"cannot be "
            f"reset, it lasts until the node restarts. {TEN}",
            (Target(worst_low(of_routers("credits_low"), 1, 3)),),
            (WAITING,),
            kind="steps",
        ),
        Panel(
            "router-credits",
            "Router credits left at the worst peer",
            "credits",
            f"What a peer may have in this router's buffers at once. Normal: above 0. At -n, n messages from one peer wait: raise "
            f"peer_buffer_credits (or peer_credits, which it follows). {TEN}",
            (Target(worst_low(f"{PEERS}.rtr_credits_worst", 1, 3)),),
            (WAITING,),
        ),
        Panel(
            "router-credits-low",
            "Router credits: lowest since the last reset",
            "credits",
            f"The low-water mark of any peer's router credits. Normal: above 0. At -n, n messages from one peer waited at the worst "
            f"moment. {TEN}",
            (Target(worst_low(f"{PEERS}.rtr_credits_low", 1, 3)),),
            (WAITING,),
            kind="steps",
        ),
        PEER_CREDITS,
        PEER_CREDITS_LOW,
        OVERSUBSCRIBED,
        NI_CREDITS,
        Panel(
            "ni-credits-low",
            "NI credits: lowest since the last reset",
            "credits",
            f"The low-water mark of each interface and CPT. Normal: above 0. At -n, n messages waited for the interface at the "
            f"worst moment. {TEN}",
            (Target(with_nids(worst_low(f"{NIS}.tx_credits_min", 1, 3, 4))),),
            (WAITING,),
            kind="steps",
        ),
        QUEUE_BYTES,
        Panel(
            "queue-bytes-max",
            "Largest queue of one peer",
            "bytes",
            f"The most bytes that hold or wait for the credits of a single peer. Near the sum of all peers: one peer is slow. {TEN}",
            (Target(worst_high(f"{PEERS}.queue_bytes_max", 1, 3)),),
            zero=True,
        ),
        Panel(
            "messages-routed",
            "Messages routed",
            "messages/s",
            f"Messages that each router passed on. Pings are messages too: bursts here without bytes below are pings or other small "
            f"requests. {TEN}",
            (Target(busiest(f"{STATS}.route_count", 1)),),
            zero=True,
        ),
        Panel(
            "bytes-routed",
            "Bytes routed",
            "bytes/s",
            f"Payload that each router passed on. Normal: follows the load, evenly spread over the routers of a group. {TEN}",
            (Target(busiest(f"{STATS}.route_length", 1)),),
            zero=True,
        ),
        Panel(
            "messages-alive",
            "Messages alive",
            "messages",
            f"Messages that LNet holds at this moment: in flight or waiting for a credit or a buffer. Rising without more "
            f"throughput: they wait. {TEN}",
            (Target(worst_high(f"{STATS}.msgs_alloc", 1)),),
            zero=True,
        ),
        DROPS,
        ERRORS,
        Panel(
            "routes",
            "Routes: known, and routing on",
            "routes",
            f"How many routes a node knows, and 1 while it routes itself. Normal: flat. {TEN}",
            (Target(worst_high("lnet.$host.routes.count", 1, 3, count=5)), Target(worst_high("lnet.$host.routes.routing", 1, 3, count=5))),
            kind="steps",
            zero=True,
        ),
        ROUTES_DOWN,
        CPUS,
    ),
)
