"""What each table's rows become: (path below PREFIX.HOST, value) pairs. Pure; the reducer adds them up over a second."""

from collections.abc import Callable, Iterator, Mapping

from lnetstat.model import Sample
from lnetstat.reduce.metrics import BUCKETS
from lnetstat.reduce.paths import name_node, net_node, nid_node
from lnetstat.reduce.peers import PeersTotal

Values = Iterator[tuple[str, float]]


def peers_values(totals: Mapping[str, PeersTotal]) -> Values:
    """Yield the aggregates of each net; credits of a net whose peers hold none (routed NIDs only) have no value."""
    for net, total in totals.items():
        base = f"peers.{net_node(net)}."
        for name in PeersTotal._fields[:-1]:
            value = getattr(total, name)
            if value is not None:
                yield base + name, value
        yield base + "in_use_max", total.in_use
        for bucket, peers in zip(BUCKETS, total.buckets, strict=True):
            yield f"{base}hist.tx_share.{bucket}", peers


def peers_by_net_values(sample: Sample) -> Values:
    """Yield what `peers_values` gives for all peers, from the sums that stand beside the worst rows."""
    yield from peers_values({row.net: PeersTotal._make((*row[1:12], row[12:17])) for row in sample.rows})


def nis_values(sample: Sample) -> Values:
    for row in sample.rows:
        if row.tx_credits_max == 0:
            continue  # the loopback NI holds no credits
        base = f"nis.{nid_node(row.nid)}.cpt{row.row}."
        yield base + "tx_credits", row.tx_credits
        yield base + "tx_credits_min", row.tx_credits_min
        yield base + "tx_credits_max", row.tx_credits_max
        if row.status is not None:
            yield base + "up", row.status == "up"


def buffers_values(sample: Sample) -> Values:
    for pool in dict.fromkeys(row.pool for row in sample.rows):
        rows = [row for row in sample.rows if row.pool == pool]
        count, free = sum(row.count for row in rows), sum(row.credits for row in rows)
        yield f"buffers.{pool}.count", count
        yield f"buffers.{pool}.in_use", count - free
        yield f"buffers.{pool}.in_use_max", count - free
        yield f"buffers.{pool}.credits_worst", min(row.credits for row in rows)
        yield f"buffers.{pool}.credits_low", min(row.credits_min for row in rows)


def lnet_stats_values(sample: Sample) -> Values:
    for row in sample.rows:
        for name, value in row._asdict().items():
            yield f"lnet_stats.{name}", value


def routes_values(sample: Sample) -> Values:
    yield "routes.count", len(sample.rows)
    yield "routes.down", sum(row.state == "down" for row in sample.rows)
    if "routing" in sample.facts:
        yield "routes.routing", sample.facts["routing"] == "enabled"


def counters_values(sample: Sample) -> Values:
    """Yield samples and sum of each counter; statistics per client (exports) stay in the recording: there may be 25,000."""
    if ".exports." in sample.instance:
        return
    base = f"counters.{name_node(sample.instance)}."
    for row in sample.rows:
        yield f"{base}{name_node(row.counter)}.samples", row.samples
        if row.sum is not None:
            yield f"{base}{name_node(row.counter)}.sum", row.sum


def cpu_values(sample: Sample) -> Values:
    for row in sample.rows:
        if row.cpu == "cpu":
            yield "cpu.busy", row.busy
            yield "cpu.softirq", row.softirq


FAMILIES: dict[str, Callable[[Sample], Values]] = {
    "peers_by_net": peers_by_net_values,
    "nis": nis_values,
    "buffers": buffers_values,
    "lnet_stats": lnet_stats_values,
    "routes": routes_values,
    "counters": counters_values,
    "cpu": cpu_values,
}
