"""Dead time: throughput, pings, credits and buffers on one time axis, and throughput folded by the usual ping intervals."""

from lnetstat.dashboards.definition import HOST, NET, Dashboard, Panel, Target
from lnetstat.dashboards.expressions import MOST, laid_over, rate, worst_high
from lnetstat.dashboards.shared import (
    BUFFERS_SHARE,
    BULK_AND_PINGS,
    NI_CREDITS,
    OVERSUBSCRIBED,
    PEER_CREDITS,
    STATS,
    TEN,
)

PAYLOAD = rate(f"{STATS}.{{recv,route}}_length")


def _folded(period: str, obd_timeout_s: int, doubt: str) -> Panel:
    return Panel(
        f"folded-{period}",
        f"Throughput, {MOST} periods of {period} laid over each other",
        "bytes/s",
        f"At each moment the mean of this moment and of those {period}, 2 x {period} … earlier. Dips that come every {period} (the "
        f"ping interval with obd_timeout {obd_timeout_s}) stay as deep as they are, at the same place in every period. {doubt} The "
        f"curve ends with the newest value. `lnetstat analyze` finds the period whatever it is.",
        (Target(laid_over(PAYLOAD, period), f"mean of {MOST} periods"),),
        zero=True,
        place="graphite",
    )


FOLDED = Panel(
    "folded",
    "Throughput, the last periods laid over each other",
    "bytes/s",
    "From 0 to the end of one period: each of the last 20 periods (of an hour at most) as a thin line, their median as a bold one, its "
    "lowest point in the middle. A dip that all of them share comes in this period; with another period they fall apart. The period is "
    "that of the newest dead time that is marked, else 75 s, or the one that you choose.",
    (Target(PAYLOAD, "received and routed"),),
    kind="folded",
    events=False,
    zero=True,
    place="page",
)


DEAD_TIME = Dashboard(
    "lnet-dead-time",
    "LNet dead time",
    "Does throughput stop again and again, in which rhythm, and what runs out at that moment? Findings of `lnetstat watch --events` "
    "are marked.",
    15,
    (HOST, NET),
    (
        Panel(
            "throughput",
            "Throughput",
            "bytes/s",
            "Payload that the chosen nodes received or passed on. Normal: follows the load. Short holes at even distances are dead time.",
            (Target(PAYLOAD, "received and routed"),),
            zero=True,
        ),
        BULK_AND_PINGS,
        FOLDED,
        _folded("25s", 100, "Those that come every 75 s are drawn as well: three times as often, and a third as deep."),
        _folded("75s", 300, "Those that come every 25 s are drawn as well; what comes in another rhythm is averaged away."),
        Panel(
            "messages",
            "Messages received and routed",
            "messages/s",
            "All messages of the chosen nodes. Pings are small: bursts of messages while the throughput falls are a flood of small "
            "requests.",
            (Target(rate(f"{STATS}.recv_count"), "received"), Target(rate(f"{STATS}.route_count"), "routed")),
            zero=True,
        ),
        OVERSUBSCRIBED,
        PEER_CREDITS,
        NI_CREDITS,
        BUFFERS_SHARE,
        Panel(
            "messages-alive",
            "Messages alive",
            "messages",
            f"Messages in flight or waiting on each node. A jump at each hole in the throughput: they pile up here. {TEN}",
            (Target(worst_high(f"{STATS}.msgs_alloc", 1)),),
            zero=True,
        ),
    ),
)
