"""Panels and thresholds that several dashboards show."""

from lnetstat.dashboards.definition import Panel, Target, Threshold
from lnetstat.dashboards.expressions import (
    busiest,
    called,
    fastest,
    of_routers,
    per_second,
    rate,
    share_of_buffers,
    with_nids,
    worst_high,
    worst_low,
)

WAITING = Threshold(0, "critical", "below 0: messages wait", below=True)
ALL_TAKEN = Threshold(100, "critical", "none left, messages wait")
NEARLY_ALL = Threshold(80, "warning", "nearly all taken")
ANY = Threshold(1, "warning", "1 or more: should be 0")
ANY_CRITICAL = Threshold(1, "critical", "1 or more: should be 0")

TEN = "Of many, the ten worst are drawn."
PEERS, NIS, STATS = "lnet.$host.peers.$net", "lnet.$host.nis.*_at_$net.*", "lnet.$host.lnet_stats"
COUNTERS = "lnet.$host.counters"

PEER_CREDITS = Panel(
    "peer-credits",
    "Peer credits left at the worst peer",
    "credits",
    f"The lowest tx_credits of any peer of a network. Normal: above 0. At -n, n messages to one peer wait for a credit: see which "
    f"peer on "
    f"the dashboard LNet credits, and raise peer_credits on both ends if it lasts. {TEN}",
    (Target(worst_low(f"{PEERS}.tx_credits_worst", 1, 3)),),
    (WAITING,),
)
PEER_CREDITS_LOW = Panel(
    "peer-credits-low",
    "Peer credits: lowest since the last reset",
    "credits",
    f"The low-water mark of tx_credits of any peer. Normal: above 0. At -n, n more peer credits would have been enough for the "
    f"worst moment. "
    f"It never rises by itself: a rise is a reset of the marks or a reboot. {TEN}",
    (Target(worst_low(f"{PEERS}.tx_credits_low", 1, 3)),),
    (WAITING,),
    kind="steps",
)
OVERSUBSCRIBED = Panel(
    "oversubscribed",
    "Peers with messages waiting for a credit",
    "peers",
    f"How many peers have tx_credits below 0 at this moment. Normal: 0, or short spikes. Many at once, again and again: a flood from all "
    f"clients (pings), or a server that does not keep up. {TEN}",
    (Target(worst_high(f"{PEERS}.oversubscribed", 1, 3)),),
    (ANY,),
    zero=True,
)
QUEUE_BYTES = Panel(
    "queue-bytes",
    "Bytes that hold or wait for a peer credit",
    "bytes",
    f"Payload and headers of all messages to the peers of a network, those in flight included, so it is not a backlog by itself. Normal: "
    f"follows the load. High while the throughput is low: messages do not get through. {TEN}",
    (Target(worst_high(f"{PEERS}.queue_bytes", 1, 3)),),
    zero=True,
)
BUFFERS_SHARE = Panel(
    "buffers-share",
    "Router buffers taken, share of each pool",
    "percent",
    f"Router buffers in use or waited for, of all there are, by pool (tiny: no payload, pings; small: up to a page; large: up to 1 MiB). "
    f"Normal: below 80 %. From 100 % on messages wait: raise tiny_, small_ or large_router_buffers. Nodes that do not route have no "
    f"curve. {TEN}",
    (Target(worst_high(share_of_buffers(), 1, 3)),),
    (NEARLY_ALL, ALL_TAKEN),
    zero=True,
)
BUFFERS_FREE = Panel(
    "buffers-free",
    "Router buffers free on the worst CPT",
    "buffers",
    f"Each CPT has its own share of a pool; this is the CPT that has least. Normal: above 0. At -n, n messages wait for a buffer of this "
    f"pool. Nodes that do not route have no curve. {TEN}",
    (Target(worst_low(of_routers("credits_worst"), 1, 3)),),
    (WAITING,),
)
NI_CREDITS = Panel(
    "ni-credits",
    "NI credits left, by NI and CPT",
    "credits",
    f"Credits of a network interface are shared by all its peers. Normal: above 0. At -n, n messages wait for this interface: raise its "
    f"credits (ksocklnd, ko2iblnd: credits=). {TEN}",
    (Target(with_nids(worst_low(f"{NIS}.tx_credits", 1, 3, 4))),),
    (WAITING,),
)
DROPS = Panel(
    "drops",
    "Messages dropped",
    "messages/s",
    f"Messages that LNet threw away: no route, no buffer, peer not up. Normal: 0. {TEN}",
    (Target(busiest(f"{STATS}.drop_count", 1)),),
    (Threshold(1, "critical", "1 or more: messages are lost"),),
    kind="bars",
    zero=True,
)
ERRORS = Panel(
    "errors",
    "LNet errors",
    "errors/s",
    f"The errors that LNet counts in lnet/stats. Normal: 0. {TEN}",
    (Target(busiest(f"{STATS}.errors", 1)),),
    (ANY,),
    kind="bars",
    zero=True,
)
PEERS_DOWN = Panel(
    "peers-down",
    "Peers down",
    "peers",
    f"Peers whose state is down. Only networks with peer health or routers know that state. Normal: 0. {TEN}",
    (Target(worst_high(f"{PEERS}.down", 1, 3)),),
    (ANY,),
    kind="steps",
    zero=True,
)
ROUTES_DOWN = Panel(
    "routes-down",
    "Routes down",
    "routes",
    f"Routes whose router does not answer. Normal: 0. Above 0 the other routers carry the load, with fewer buffers and credits. {TEN}",
    (Target(worst_high("lnet.$host.routes.down", 1)),),
    (ANY_CRITICAL,),
    kind="steps",
    zero=True,
)
CPUS = Panel(
    "cpus",
    "CPUs busy",
    "CPUs",
    f"Time of all CPUs that is neither idle nor waiting for I/O, and of that the soft interrupts, in which the network card is served. "
    f"Normal: well below the number of CPUs. {TEN}",
    (
        Target(called(fastest(f"scale({per_second('lnet.$host.cpu.busy')},0.01)", 5), 1, 3)),
        Target(called(fastest(f"scale({per_second('lnet.$host.cpu.softirq')},0.01)", 5), 1, 3)),
    ),
    zero=True,
)
BULK_AND_PINGS = Panel(
    "bulk-and-pings",
    "Bulk requests (left) against pings (right)",
    "requests/s",
    "Reads and writes that the I/O service (ost_io) handles, and the obd_ping of all services. Normal: pings are spread evenly. "
    "Pings in bursts, and a hole in the bulk requests at each of them: this is dead time by pings; see the dashboard LNet dead time.",
    (
        Target(rate(f"{COUNTERS}.ost_io.{{ost_read,ost_write}}.samples"), "reads and writes"),
        Target(rate(f"{COUNTERS}.*.obd_ping.samples"), "pings", right=True),
    ),
    zero=True,
)
