"""OSS: what the I/O service does while the pings come."""

from lnetstat.dashboards.definition import HOST, NET, Dashboard, Panel, Target, Threshold
from lnetstat.dashboards.expressions import busiest, called, fastest, mean_of, per_second, rate, worst_high, worst_low
from lnetstat.dashboards.shared import BULK_AND_PINGS, COUNTERS, CPUS, NI_CREDITS, PEER_CREDITS, TEN

SERVICES = f"{COUNTERS}.{{ost,ost_io}}"
USECS_TO_MS, AS_IS = "0.00001", "0.01"  # with mean_of's percent


def _mean(counter: str, factor: str, *nodes: int) -> Target:
    return Target(worst_high(mean_of(counter, factor), *nodes))


def _of_targets(what: str) -> str:
    """Return the rates of obdfilter's read_bytes and write_bytes, added up over the targets of each host: HOST.read_bytes."""
    rates = per_second(f"{COUNTERS}.obdfilter_*.{{read_bytes,write_bytes}}.{what}")
    return f"groupByNodes({rates},'sum',1,4)"


OSS = Dashboard(
    "lnet-oss",
    "LNet OSS",
    "Object storage servers: bulk requests against pings, how long requests wait and take, and what the targets deliver.",
    30,
    (HOST, NET),
    (
        BULK_AND_PINGS,
        Panel(
            "bulk",
            "Bulk requests, by server",
            "requests/s",
            f"Reads and writes that ost_io handled. Normal: alike on all servers of a file system. {TEN}",
            (Target(busiest(f"{COUNTERS}.ost_io.{{ost_read,ost_write}}.samples", 1, 4)),),
            zero=True,
        ),
        Panel(
            "pings",
            "Pings, by server and service",
            "pings/s",
            f"obd_ping of each service. Normal: an even rate of (clients x targets) / ping interval. Bursts: all clients ping at "
            f"once. {TEN}",
            (Target(busiest(f"{COUNTERS}.*.obd_ping.samples", 1, 3)),),
            zero=True,
        ),
        Panel(
            "wait",
            "Mean wait of a request in its queue",
            "ms",
            f"How long requests wait from their arrival until a thread takes them, by service. Normal: a few ms. Rising with bursts "
            f"of pings: the "
            f"service's threads are the bottleneck. {TEN}",
            (_mean(f"{SERVICES}.req_waittime", USECS_TO_MS, 1, 3),),
            zero=True,
        ),
        Panel(
            "queue-depth",
            "Mean queue depth met by a request",
            "requests",
            f"How many requests were waiting already when one arrived, by service. Normal: near 0. {TEN}",
            (_mean(f"{SERVICES}.req_qdepth", AS_IS, 1, 3),),
            zero=True,
        ),
        Panel(
            "active",
            "Requests in work",
            "requests",
            f"How many requests of a service are being handled when one is taken up: its busy threads. Flat at the number of "
            f"threads: all are "
            f"busy (threads_max of the service). {TEN}",
            (_mean(f"{SERVICES}.req_active", AS_IS, 1, 3),),
            zero=True,
        ),
        Panel(
            "request-buffers",
            "Request buffers free",
            "buffers",
            f"Buffers that are posted for incoming requests, by service. Normal: never near 0. At 0 requests are dropped and sent "
            f"again. {TEN}",
            (Target(worst_low(mean_of(f"{SERVICES}.reqbuf_avail", AS_IS), 1, 3)),),
            (Threshold(1, "critical", "below 1: requests are dropped", below=True),),
            zero=True,
        ),
        Panel(
            "handling",
            "Mean handling time of reads and writes",
            "ms",
            f"How long a thread of ost_io works on one bulk request: its transfer and the disk. Rising while the wait is small: the "
            f"storage or "
            f"the network behind it is slow. {TEN}",
            (_mean(f"{COUNTERS}.ost_io.{{ost_read,ost_write}}", USECS_TO_MS, 1, 4),),
            zero=True,
        ),
        Panel(
            "targets-throughput",
            "Throughput of the targets",
            "bytes/s",
            f"Bytes read and written by all object storage targets of a server (obdfilter). {TEN}",
            (Target(fastest(_of_targets("sum"))),),
            zero=True,
        ),
        Panel(
            "iops",
            "I/O operations of the targets",
            "I/O/s",
            f"Reads and writes of all targets of a server (obdfilter). Many with little throughput: small I/O. {TEN}",
            (Target(fastest(_of_targets("samples"))),),
            zero=True,
        ),
        Panel(
            "io-size",
            "Mean size of an I/O operation",
            "bytes",
            f"Bytes divided by operations. Normal for streaming: the RPC size (1 to 16 MiB). Far below it: small or scattered I/O. {TEN}",
            (Target(called(fastest(f"scale(asPercent({_of_targets('sum')},{_of_targets('samples')},0,1),{AS_IS})"), 0, 1)),),
            zero=True,
        ),
        Panel(
            "bytes-lnet",
            "Bytes through LNet",
            "bytes/s",
            "Payload that the chosen servers received (writes) and sent (reads).",
            (
                Target(rate("lnet.$host.lnet_stats.recv_length"), "received"),
                Target(rate("lnet.$host.lnet_stats.send_length"), "sent"),
            ),
            zero=True,
        ),
        PEER_CREDITS,
        NI_CREDITS,
        CPUS,
    ),
)
