"""Every key of a scenario: its kind, unit, default, allowed range and meaning. Validation and the reference page use it."""

import enum
from typing import NamedTuple

from lnetstat.simulator.scenario.costs import CREDIT_RETURN_NS, DISK_NS, NODE_COSTS, PING_NS, SMALL_NS, WIRE_NS, Cost
from lnetstat.simulator.scenario.tunables import O2IB_LEAST
from lnetstat.simulator.scenario.units import shown_size, shown_time

Value = int | float | str | Cost | tuple[str, ...]

RELEASES = ("1.8", "2.5", "2.12", "2.16")
LNDS = ("gni", "o2ib", "tcp")
BLOCKS = ("io", "faults")  # written [[io]]: any number of them, named io.0, io.1, … in --set and in messages
MS, S, MIN, HOUR, DAY = 10**6, 10**9, 60 * 10**9, 3600 * 10**9, 86400 * 10**9
START_NS = 1_335_830_400 * S  # 2012-05-01T00:00:00Z, a multiple of 75 s


class Kind(enum.Enum):
    """What a value is; the text is how the reference page calls it."""

    COUNT = "number"
    TIME = "time"
    SIZE = "size"
    COST = "time or rate"
    SHARE = "share"
    FLAG = "true or false"
    WORD = "word"
    TEXT = "text"
    NAMES = "list of names"
    DATE = "date"


class Key(NamedTuple):
    """One key. `default` None: absent, or it depends on something that `otherwise` says. Times are ns, sizes bytes, dates epoch ns."""

    name: str
    kind: Kind
    default: Value | None
    help: str
    low: int = 0
    high: int = 0
    words: tuple[str, ...] = ()
    otherwise: str = ""
    documented: bool = True


def _count(name: str, default: int | None, low: int, high: int, text: str, otherwise: str = "") -> Key:
    return Key(name, Kind.COUNT, default, text, low, high, otherwise=otherwise)


def _time(name: str, default: int | None, low: int, high: int, text: str, otherwise: str = "") -> Key:
    return Key(name, Kind.TIME, default, text, low, high, otherwise=otherwise)


def _size(name: str, default: int | None, low: int, high: int, text: str, otherwise: str = "") -> Key:
    return Key(name, Kind.SIZE, default, text, low, high, otherwise=otherwise)


def _word(name: str, default: str | None, words: tuple[str, ...], text: str, otherwise: str = "") -> Key:
    return Key(name, Kind.WORD, default, text, words=words, otherwise=otherwise)


def _cost(name: str, default: int | None, text: str, otherwise: str = "") -> Key:
    return Key(name, Kind.COST, None if default is None else Cost(default, None), text, 0, MIN, otherwise=otherwise)


_GENERAL = (
    Key("about", Kind.TEXT, "", "one or two sentences: what this is and what to look for"),
    Key(
        "base",
        Kind.TEXT,
        "",
        "a preset, or a file beside this one, whose keys hold where this file says nothing; blocks are replaced, not merged",
    ),
    _word("release", "2.12", RELEASES, "Lustre release: layout of the text, defaults and clamps of the drivers"),
    _count("groups", 1, 1, 10_000, "routing groups, each with its own routers and servers; all clients use all groups"),
    _count("rails", 1, 1, 8, "interfaces of each client and server; more than 1 only without routers, from 2.12 on"),
    _count("cpts", 1, 1, 64, "CPU partitions of routers and servers; 1.8 has 1"),
    _time("run.duration", 15 * MIN, S, 30 * DAY, "simulated time"),
    _time("run.sample", S, MS, HOUR, "time between two readings of the observed nodes"),
    Key("run.start", Kind.DATE, START_NS, "wall clock at the beginning", 0, 7_258_118_400 * S),
    _count("run.seed", 1, 0, 2**31 - 1, "seed of ping phases and service times"),
    _time("run.bin", 100 * MS, MS, 10 * S, "width of the ground truth's bins"),
    Key("observe.hosts", Kind.NAMES, None, "nodes whose text is written", otherwise="first router (else first client) and first server"),
)

WIRE_TEXT = ", ".join(f"{lnd} {shown_time(wire_ns)}" for lnd, wire_ns in WIRE_NS.items())

_NETWORK = (
    _word("network.client.lnd", "gni", LNDS, "driver between clients and routers; without routers: between clients and servers"),
    _word("network.server.lnd", "o2ib", LNDS, "driver between routers and servers"),
    *(
        _time(f"network.{side}.wire", None, 0, S, "a message's way from one interface to the other", WIRE_TEXT)
        for side in ("client", "server")
    ),
    Key("network.ipv6", Kind.FLAG, None, "NIDs of tcp are IPv6 addresses (2.16)", otherwise="true on 2.16"),
)

_NODES = (
    _count("clients.count", None, 1, 200_000, "client nodes, all of which mount the file system", "required"),
    _count("routers.count", 0, 0, 1_000, "LNet routers of each group; 0: clients and servers share one network"),
    _word(
        "routers.choice",
        "balanced",
        ("balanced", "round-robin"),
        "how a sender picks a gateway: by queued bytes and credits as the kernel does, or in turn",
    ),
    _count(
        "routers.tiny_router_buffers", None, 0, 2**24, "buffers for messages without payload, of all CPTs together", "1.8: 1024, later 2048"
    ),
    _count("routers.small_router_buffers", None, 0, 2**24, "buffers of one page", "1.8: 8192, later 16384"),
    _count("routers.large_router_buffers", None, 0, 2**20, "buffers of 1 MiB", "1.8: 512, later 1024"),
    _count("servers.count", None, 1, 1_000, "object storage servers (OSS) of each group", "required"),
    _count("servers.targets_per_server", 4, 1, 1_000, "targets (OST) of each server"),
    _count("servers.ost_threads", 128, 1, 4096, "threads of service ost: pings and small RPCs"),
    _count("servers.ost_io_threads", 512, 1, 4096, "threads of service ost_io: reads and writes"),
    _count("servers.request_buffers", 512, 1, 2**20, "requests that a service has room for at the start (64 for each core of 8)"),
    _count("servers.request_buffers_group", 512, 1, 2**20, "it grows by so many when half of a group or less is free"),
    _count("servers.request_buffers_max", 0, 0, 2**30, "and has at most so many; 0: no limit"),
)

_PINGS = (
    _word(
        "pings.policy",
        None,
        ("aligned-jiffies", "aligned-wallclock", "idle-offset", "suppressed"),
        "aligned to each node's uptime (1.8), to the wall clock, one interval after the last RPC (1.6, 2.x), or none at all",
        "1.8: aligned-jiffies, later idle-offset",
    ),
    _time("pings.interval", 25 * S, 100 * MS, DAY, "PING_INTERVAL; obd_timeout is 4 times that"),
    _time(
        "pings.spread",
        None,
        0,
        DAY,
        "each node's phase (idle-offset: each mount's) is even between 0 and this",
        "jiffies 200 ms (nodes booted together), wallclock 10 ms (NTP), idle-offset the interval",
    ),
    _time(
        "pings.first",
        None,
        0,
        DAY,
        "time of phase 0 after the start; aligned-wallclock: the clock says when",
        "jiffies: 10 s, at most interval/5; idle-offset 0 s",
    ),
    Key(
        "pings.early",
        Kind.SHARE,
        0.0,
        "idle-offset: a round comes early by up to this share of the interval, so that the period drifts",
        0,
        1,
    ),
    _count("pings.mounts", 1, 1, 1_000, 'mounts of the file system on each client ("fake scaling"): each pings every target'),
    _time(
        "pings.idle_disconnect",
        None,
        0,
        DAY,
        "an import without RPCs for so long disconnects and is not pinged; 0 s: never",
        "2.12 and later, idle-offset: 20 s, else 0 s",
    ),
    _count("pings.keep", 0, 0, 1_000_000, "the first so many targets never disconnect (MGS and MDT)"),
)

_IO = (
    _count("io.N.processes", 1, 1, 1_000_000, "I/O processes in each group"),
    _count("io.N.per_client", 1, 1, 1_000, "processes on one client"),
    _count("io.N.first_client", None, 0, 199_999, "client of the first process", "after the clients of the block before"),
    _word("io.N.kind", "write", ("write", "read", "small"), "bulk writes, bulk reads, or small RPCs as metadata and locks cause them"),
    _count("io.N.window", 8, 1, 4096, "RPCs in flight on each target (max_rpcs_in_flight)"),
    _count("io.N.stripes", 1, 1, 1_000_000, "targets that one process uses at once; processes start on the targets in turn"),
    _size("io.N.size", None, 1, 2**60, "data of one process, in whole RPCs", "until the end"),
    _count("io.N.rpcs", None, 1, 2**40, "RPCs of one process, instead of size", "until the end"),
    _time("io.N.think", 0, 0, HOUR, "pause between the end of an RPC and the next"),
    _time("io.N.start", 0, 0, 30 * DAY, "when the first process begins"),
    _time("io.N.start_spread", 0, 0, DAY, "the others follow evenly over this time; 0 s: all begin at once"),
)

_FAULTS = (
    Key("faults.N.node", Kind.TEXT, None, "host name of a client or server", otherwise="required"),
    _count("faults.N.rail", 0, 0, 7, "which of its interfaces"),
    Key("faults.N.to", Kind.TEXT, None, "only the path to this node on the other side fails", otherwise="all paths"),
    _count("faults.N.to_rail", 0, 0, 7, "the interface of that node"),
    _time("faults.N.down", None, 0, 30 * DAY, "when it fails", "required"),
    _time("faults.N.up", None, 0, 30 * DAY, "when it works again", "never"),
)

_MESSAGES = (
    _size("messages.ping", 200, 1, 4096, "payload of a ping and of its reply"),
    _size("messages.request", 400, 1, 4096, "payload of another request"),
    _size("messages.reply", 300, 1, 4096, "payload of another reply"),
    _size("messages.bulk", 2**20, 4097, 2**20, "data of one read or write RPC (LNET_MTU is 1 MiB)"),
)

_HEALTH = (
    _count(
        "health.sensitivity", 100, 1, 1000, "lnet_health_sensitivity: what one failure costs of the health value, which is 1000 at best"
    ),
    _count("health.retry_count", 2, 0, 5, "lnet_retry_count: LNet sends a failed message again so often"),
    _time("health.recovery_interval", S, MS, HOUR, "lnet_recovery_interval: until the first recovery ping; later ones double it"),
    _time("health.recovery_interval_max", 900 * S, MS, DAY, "lnet_max_recovery_ping_interval"),
    _time("health.detect", None, 0, HOUR, "from a failed delivery until the sender knows", "2.12: 5 s, 2.16: 49 s (lnd_timeout)"),
    _time("health.resend", S, MS, HOUR, "ptlrpc sends a message that LNet gave up anew after this"),
)


def _by_driver(role: str, field: str) -> str:
    """Say a default that depends on the driver: "gni 20 us, o2ib 5 us, tcp 10 us"."""
    words = []
    for lnd in LNDS:
        value = getattr(NODE_COSTS[role, lnd], field)
        words.append(f"{lnd} {shown_cost(value) if isinstance(value, Cost) else shown_time(value)}")
    return ", ".join(words)


def shown_cost(cost: Cost) -> str:
    """Return a cost as a scenario writes it."""
    return shown_time(cost.ns) if cost.ns is not None else f"{float(cost.bytes_per_s or 0) / 1e9:g} GB/s"


_COSTS = (
    *(
        key
        for role, prefix in (("clients", "costs.clients"), ("servers", "costs.servers"))
        for key in (
            _time(f"{prefix}.send", None, 0, MIN, "sending a message without bulk data", _by_driver(role, "send_ns")),
            _cost(f"{prefix}.bulk", None, "sending the bulk data of one RPC", _by_driver(role, "bulk")),
            _time(
                f"{prefix}.receive", None, 0, MIN, "receiving one message; 0 s: at once, without a queue", _by_driver(role, "receive_ns")
            ),
        )
    ),
    *(
        key
        for lnd in LNDS
        for key in (
            _time(f"costs.routers.{lnd}.send", NODE_COSTS["routers", lnd].send_ns, 0, MIN, "a router sends a message without bulk data"),
            Key(f"costs.routers.{lnd}.bulk", Kind.COST, NODE_COSTS["routers", lnd].bulk, "a router sends the bulk data of one RPC", 0, MIN),
            _time(f"costs.routers.{lnd}.receive", NODE_COSTS["routers", lnd].receive_ns, 0, MIN, "a router receives one message"),
        )
    ),
    _time(
        "costs.routers.gni.eager", NODE_COSTS["routers", "gni"].eager_ns, 0, MIN, "more, where no buffer or credit is free (eager receive)"
    ),
    _time("costs.ping", PING_NS, 0, MIN, "an ost thread serves a ping"),
    _time("costs.small", SMALL_NS, 0, MIN, "an ost thread serves a small RPC"),
    _cost("costs.disk_write", DISK_NS, "a server's disks write the data of one RPC"),
    _cost("costs.disk_read", DISK_NS, "a server's disks read the data of one RPC"),
    _time("costs.credit_return_server", CREDIT_RETURN_NS, 0, MIN, "o2ib: from a server's receive until the wire credit can go back"),
    _time("costs.credit_return_router", 0, 0, MIN, "the same at a router"),
    Key("costs.service_jitter", Kind.SHARE, 0.1, "service times vary by up to this share, up and down", 0, 1),
    Key("costs.disk_jitter", Kind.SHARE, 0.1, "disk times likewise", 0, 1),
)

_O2IB = (
    _count("o2ib.peer_credits_hiw", 0, 0, 255, "credits not yet given back that cause a message of their own; 0: half of peer_credits"),
    _count("o2ib.concurrent_sends", 0, 0, 4096, "sends posted at once; 0: peer_credits"),
    _count("o2ib.map_on_demand", 0, 0, 256, "up to 2.10: fragments mapped on demand; 0: off"),
    _count("o2ib.protocol", 2, 1, 2, "wire protocol; 1 has 8 credits whatever peer_credits says"),
    _count(
        "lnet.peer_buffer_credits",
        0,
        0,
        100_000,
        "a router's credits for a sending peer where the driver's peer_buffer_credits is 0; 0: peer_credits",
    ),
)


def _driver_keys() -> tuple[Key, ...]:
    """Return the credits of each driver, for all nodes (o2ib.credits) and for one kind of node (routers.o2ib.credits)."""
    keys = []
    for lnd in LNDS:
        for name, default, text in (
            (
                "credits",
                {"gni": "256; clients of 2.12 and later 64", "o2ib": "1.8: 64, later 256", "tcp": "256"}[lnd],
                "messages in flight by an interface",
            ),
            ("peer_credits", "16" if lnd == "gni" else "8", "messages in flight to one peer"),
            ("peer_buffer_credits", "0", "a router's buffers for one sending peer; 0: lnet.peer_buffer_credits"),
        ):
            if (lnd, name) == ("gni", "peer_buffer_credits"):
                continue  # kgnilnd has no such parameter
            low = 0 if name == "peer_buffer_credits" else 1
            if (lnd, name) == ("o2ib", "credits"):
                low = O2IB_LEAST  # fewer would press peer_credits below ko2iblnd's least
            for prefix in ("", "clients.", "routers.", "servers."):
                text_here = f"{text}; also clients.{lnd}.{name}, routers.…, servers.… for one kind of node"
                keys.append(
                    Key(f"{prefix}{lnd}.{name}", Kind.COUNT, None, text_here, low, 100_000, otherwise=default, documented=not prefix)
                )
    return tuple(keys)


KEYS: dict[str, Key] = {
    key.name: key
    for key in (*_GENERAL, *_NETWORK, *_NODES, *_driver_keys(), *_O2IB, *_PINGS, *_IO, *_FAULTS, *_MESSAGES, *_COSTS, *_HEALTH)
}


def allowed(key: Key) -> str:
    """Say what a key takes: "1 to 10000", "100 ms to 1 d", "one of: write, read, small"."""
    if key.kind is Kind.WORD:
        return "one of: " + ", ".join(key.words)
    if key.kind is Kind.TIME:
        return f"{shown_time(key.low)} to {shown_time(key.high)}"
    if key.kind is Kind.SIZE:
        return f"{shown_size(key.low)} to {shown_size(key.high)}"
    if key.kind is Kind.COST:
        return f'{shown_time(key.low)} to {shown_time(key.high)}, or a rate such as "3.2 GB/s"'
    if key.kind is Kind.DATE:
        return "a date such as 2012-05-01T00:00:00Z, of 1970 to 2199"
    if key.kind is Kind.NAMES:
        return 'a list of host names, such as ["rtr01", "oss01"]'
    return f"{key.low} to {key.high}" if key.kind in (Kind.COUNT, Kind.SHARE) else key.kind.value


def keys_markdown() -> str:
    """Return the reference page of all keys: one table, in the order of a scenario."""
    lines = ["| key | default | allowed | meaning |", "|---|---|---|---|"]
    lines += [f"| `{key.name}` | {_default(key)} | {allowed(key)} | {key.help} |" for key in KEYS.values() if key.documented]
    return "\n".join(lines) + "\n"


def _default(key: Key) -> str:
    if key.default is None or key.default == "":
        return key.otherwise
    if isinstance(key.default, Cost):
        return shown_cost(key.default)
    if key.kind is Kind.DATE:
        return "2012-05-01T00:00:00Z"
    shown = {Kind.TIME: shown_time, Kind.SIZE: shown_size}.get(key.kind)
    return shown(key.default) if shown and isinstance(key.default, int) else str(key.default)
