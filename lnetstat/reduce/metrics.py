"""Every metric that lnetstat sends: the single list behind the reducer, the storage schemas, the dashboards' check and the reference page.

Words in capitals stand for one path node: NET, NID, POOL, CPT, INSTANCE, COUNTER, BUCKET. Whole path: PREFIX.HOST.<pattern>.
"""

from typing import NamedTuple

from lnetstat.model import Reduce

PREFIX = "lnet"
BUCKETS = ("lt0", "0_25", "25_50", "50_75", "75_100")
TOP_PEERS = 16
SERIES_MAX = 500


class Metric(NamedTuple):
    """One family of series. `reduce`: what a second of sub-second samples becomes, and how Carbon thins it out later."""

    pattern: str
    reduce: Reduce
    unit: str
    help: str


MIN, MAX, MEAN, LAST = Reduce.MIN, Reduce.MAX, Reduce.MEAN_MAX, Reduce.LAST

METRICS: tuple[Metric, ...] = (
    Metric("peers.NET.count", LAST, "peers", "peer NIs on this net, routed ones included"),
    Metric("peers.NET.down", LAST, "peers", "peer NIs whose state is down"),
    Metric("peers.NET.oversubscribed", MAX, "peers", "peer NIs with messages waiting for a peer credit (tx_credits < 0)"),
    Metric("peers.NET.oversubscribed_low", MAX, "peers", "peer NIs whose low-water mark is below 0"),
    Metric("peers.NET.in_use", MEAN, "credits", "peer credits in use or waited for: sum of max - tx_credits"),
    Metric("peers.NET.in_use_max", MAX, "credits", "the highest in_use within the second"),
    Metric("peers.NET.tx_credits_worst", MIN, "credits", "lowest tx_credits of any peer; negative: messages waiting"),
    Metric("peers.NET.tx_credits_low", MIN, "credits", "lowest low-water mark of tx_credits of any peer"),
    Metric("peers.NET.rtr_credits_worst", MIN, "credits", "lowest router credits of any peer; negative: messages waiting"),
    Metric("peers.NET.rtr_credits_low", MIN, "credits", "lowest low-water mark of router credits of any peer"),
    Metric("peers.NET.queue_bytes", MAX, "bytes", "bytes of all messages that hold or wait for a peer credit"),
    Metric("peers.NET.queue_bytes_max", MAX, "bytes", "the largest queue of one peer"),
    Metric("peers.NET.hist.tx_share.BUCKET", LAST, "peers", "number of peers by free share of their credits, in percent"),
    Metric("peers.NET.top.NID.tx_credits", MIN, "credits", "tx_credits of one of the worst peers"),
    Metric("peers.NET.top.NID.tx_credits_min", MIN, "credits", "its low-water mark"),
    Metric("peers.NET.top.NID.rtr_credits", MIN, "credits", "its router credits"),
    Metric("peers.NET.top.NID.rtr_credits_min", MIN, "credits", "their low-water mark"),
    Metric("peers.NET.top.NID.queue_bytes", MAX, "bytes", "its queue"),
    Metric("nis.NID.CPT.tx_credits", MIN, "credits", "NI credits left on this CPT; negative: messages waiting"),
    Metric("nis.NID.CPT.tx_credits_min", MIN, "credits", "their low-water mark"),
    Metric("nis.NID.CPT.tx_credits_max", LAST, "credits", "NI credits configured on this CPT"),
    Metric("nis.NID.CPT.up", MIN, "", "1 up, 0 down"),
    Metric("buffers.POOL.count", LAST, "buffers", "router buffers allocated, all CPTs"),
    Metric("buffers.POOL.in_use", MEAN, "buffers", "router buffers in use or waited for, all CPTs"),
    Metric("buffers.POOL.in_use_max", MAX, "buffers", "the highest in_use within the second"),
    Metric("buffers.POOL.credits_worst", MIN, "buffers", "free buffers on the worst CPT; negative: messages waiting"),
    Metric("buffers.POOL.credits_low", MIN, "buffers", "lowest low-water mark of any CPT"),
    Metric("lnet_stats.msgs_alloc", MAX, "messages", "messages alive"),
    Metric("lnet_stats.msgs_max", MAX, "messages", "most messages alive at once"),
    Metric("lnet_stats.errors", LAST, "errors", "errors since the last reset"),
    Metric("lnet_stats.send_count", LAST, "messages", "messages sent since the last reset (32 bit)"),
    Metric("lnet_stats.recv_count", LAST, "messages", "messages received since the last reset (32 bit)"),
    Metric("lnet_stats.route_count", LAST, "messages", "messages routed since the last reset (32 bit)"),
    Metric("lnet_stats.drop_count", LAST, "messages", "messages dropped since the last reset (32 bit)"),
    Metric("lnet_stats.send_length", LAST, "bytes", "bytes sent since the last reset"),
    Metric("lnet_stats.recv_length", LAST, "bytes", "bytes received since the last reset"),
    Metric("lnet_stats.route_length", LAST, "bytes", "bytes routed since the last reset"),
    Metric("lnet_stats.drop_length", LAST, "bytes", "bytes dropped since the last reset"),
    Metric("routes.count", LAST, "routes", "routes known"),
    Metric("routes.down", LAST, "routes", "routes whose router is down"),
    Metric("routes.routing", LAST, "", "1 while this node routes, 0 otherwise"),
    Metric("counters.INSTANCE.COUNTER.samples", LAST, "events", "events since the last reset"),
    Metric("counters.INSTANCE.COUNTER.sum", LAST, "", "sum of the events' values since the last reset, in the counter's unit"),
    Metric("health.NID.value", MIN, "", "health of a local NI, 0 to 1000"),
    Metric("health.NID.down", MAX, "", "1 while the NI is down, 0 otherwise"),
    Metric("health.NID.errors", LAST, "errors", "local errors of the NI since it was added"),
    Metric("health.NID.timeouts", LAST, "timeouts", "local time-outs of the NI since it was added"),
    Metric("cpu.busy", LAST, "ticks", "time of all CPUs not idle and not waiting for I/O, since boot (1/100 s)"),
    Metric("cpu.softirq", LAST, "ticks", "time of all CPUs in soft interrupts, since boot (1/100 s)"),
    Metric("self.duration_ms", MAX, "ms", "how long reading and reducing one sample took"),
    Metric("self.late", LAST, "samples", "samples that began late, since the start"),
    Metric("self.errors", LAST, "reads", "files that could not be read or parsed, since the start"),
    Metric("self.series", LAST, "series", "series this node sends"),
    Metric("self.spooled", LAST, "points", "points waiting to be sent"),
    Metric("self.sent", LAST, "points", "points sent since the start"),
    Metric("self.resent", LAST, "points", "points sent again after a connection broke, since the start"),
    Metric("self.lost", LAST, "points", "points dropped since the start: queue full, refused series"),
    Metric("self.rss_bytes", MAX, "bytes", "resident memory of the agent"),
)

# What a scan that broke off makes too low: numbers and sums of rows. Its worst values are at least that bad, and are sent.
_ADDED_UP = frozenset(("count", "down", "oversubscribed", "oversubscribed_low", "in_use", "in_use_max", "queue_bytes"))
_PARTS_OF_A_NET = 3  # peers.NET.count


def needs_whole_scan(family: str) -> bool:
    """Tell whether a path below PREFIX.HOST adds up rows, so that missing rows make it wrong: peers.tcp1.count, routes.down."""
    nodes = family.split(".")
    if nodes[0] == "routes":
        return nodes[1] in _ADDED_UP
    return nodes[0] == "peers" and ((len(nodes) == _PARTS_OF_A_NET and nodes[2] in _ADDED_UP) or nodes[2] == "hist")


WILDCARDS = ("NET", "NID", "POOL", "CPT", "INSTANCE", "COUNTER", "BUCKET")


def metric_of(family: str) -> Metric | None:
    """Return the metric whose pattern a path below PREFIX.HOST follows, or None: 'peers.tcp1.count' -> peers.NET.count."""
    nodes = family.split(".")
    for metric in METRICS:
        words = metric.pattern.split(".")
        if len(words) == len(nodes) and all(word in WILDCARDS or word == node for word, node in zip(words, nodes, strict=True)):
            return metric
    return None
