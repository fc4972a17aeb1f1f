"""Credits: who runs out, and how many would have been enough."""

from lnetstat.dashboards.definition import HOST, NET, Dashboard, Panel, Target
from lnetstat.dashboards.expressions import share_of_ni_credits, with_nids, worst_high, worst_low
from lnetstat.dashboards.shared import (
    ALL_TAKEN,
    ANY,
    BUFFERS_SHARE,
    NEARLY_ALL,
    OVERSUBSCRIBED,
    PEER_CREDITS_LOW,
    PEERS,
    TEN,
    WAITING,
)

SHORT = {
    "lt0": "less than 0: messages wait",
    "0_25": "0 to 25 % free",
    "25_50": "25 to 50 % free",
    "50_75": "50 to 75 % free",
}


def _top(column: str, title: str, unit: str, description: str, *, is_low: bool, slug: str) -> Panel:
    choose = worst_low if is_low else worst_high
    target = Target(with_nids(choose(f"{PEERS}.top.*.{column}", 1, 5)))
    return Panel(slug, title, unit, f"{description} {TEN}", (target,), (WAITING,) if is_low else (), zero=not is_low)


def _ni_share(slug: str, title: str, column: str, description: str) -> Panel:
    target = Target(with_nids(worst_high(share_of_ni_credits(column), 1, 3, 4)))
    return Panel(slug, title, "percent", f"{description} {TEN}", (target,), (NEARLY_ALL, ALL_TAKEN), zero=True)


CREDITS = Dashboard(
    "lnet-credits",
    "LNet credits",
    "Which peers and interfaces run out of credits, and what they needed against what is configured.",
    60,
    (HOST, NET),
    (
        OVERSUBSCRIBED,
        Panel(
            "oversubscribed-ever",
            "Peers that ran out since the last reset",
            "peers",
            f"How many peers have a low-water mark below 0: peer credits were too few for each of them once. Normal: 0. {TEN}",
            (Target(worst_high(f"{PEERS}.oversubscribed_low", 1, 3)),),
            (ANY,),
            kind="steps",
            zero=True,
        ),
        Panel(
            "distribution",
            "Peers short of credits, by free share",
            "peers",
            "How many peers have less than three quarters of their credits free, all chosen nodes and networks together; all others are at "
            "ease. Normal: few, in the upper bands. The lowest band are peers with messages waiting.",
            tuple(Target(f"sumSeries({PEERS}.hist.tx_share.{share})", words) for share, words in SHORT.items()),
            kind="stacked",
            zero=True,
        ),
        Panel(
            "in-use",
            "Peer credits in use or waited for",
            "credits",
            f"Over all peers of a network. Compare with the NI's credits: they are the limit for all peers together. {TEN}",
            (Target(worst_high(f"{PEERS}.in_use_max", 1, 3)),),
            zero=True,
        ),
        _top(
            "tx_credits",
            "Worst peers: credits left",
            "credits",
            "tx_credits of the peers that each node ranks worst. At -n, n messages to this peer wait. One peer alone: look at that "
            "node. All "
            "peers at once: look at this node, or at a flood.",
            is_low=True,
            slug="top-credits",
        ),
        _top(
            "tx_credits_min",
            "Worst peers: lowest since the last reset",
            "credits",
            "The low-water marks of these peers. At -n, n more peer_credits would have been enough.",
            is_low=True,
            slug="top-credits-low",
        ),
        _top(
            "rtr_credits",
            "Worst peers: router credits left",
            "credits",
            "On routers: what the peer may still have in the router's buffers. At -n, n of its messages wait.",
            is_low=True,
            slug="top-router-credits",
        ),
        _top(
            "rtr_credits_min",
            "Worst peers: router credits, lowest since the last reset",
            "credits",
            "The low-water marks of these peers' router credits.",
            is_low=True,
            slug="top-router-credits-low",
        ),
        _top(
            "queue_bytes",
            "Worst peers: bytes that hold or wait for a credit",
            "bytes",
            "The queue of each of these peers, messages in flight included.",
            is_low=False,
            slug="top-queue-bytes",
        ),
        PEER_CREDITS_LOW,
        _ni_share(
            "ni-share",
            "NI credits required, share of those configured",
            "tx_credits",
            "NI credits in use or waited for now, of credits=. Normal: below 80 %. From 100 % on messages wait for the interface.",
        ),
        _ni_share(
            "ni-share-worst",
            "NI credits required at the worst moment, share of those configured",
            "tx_credits_min",
            "From the low-water mark since the last reset. At 150 % half as many credits again would have been enough.",
        ),
        BUFFERS_SHARE,
    ),
)
