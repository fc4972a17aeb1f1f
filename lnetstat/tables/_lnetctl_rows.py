"""The rows and columns of the lnetctl tables: for each column the dotted key under which lnetctl prints it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lnetstat.model import Column, Reduce, Semantics
from lnetstat.tables._lnetctl import signed, whole


class Field(NamedTuple):
    """One column: the dotted keys it has had, how its word is read, what it means."""

    keys: tuple[str, ...]
    read: Callable[[str | None], Any]
    column: Column


def _text(word: str | None) -> str | None:
    return word


_L, _S, _C, _G, _W, _M = Semantics.LABEL, Semantics.STATE, Semantics.COUNTER, Semantics.GAUGE, Semantics.LOW_WATER, Semantics.LIMIT
_REDUCE = {_L: Reduce.NONE, _W: Reduce.MIN}


def _field(name: str, keys: str, read: Callable[[str | None], Any], semantics: Semantics, unit: str, text: str) -> Field:
    dotted = tuple(keys.split("|"))
    shown = f"{text} (`{dotted[0]}`)" if dotted[0] != name else text
    return Field(dotted, read, Column(name, semantics, unit, _REDUCE.get(semantics, Reduce.LAST), shown))


class LnetctlNetRow(NamedTuple):
    nid: str | None
    row: int
    net: str | None
    status: str | None
    interfaces: str | None
    send_count: int | None
    recv_count: int | None
    drop_count: int | None
    health_value: int | None
    fatal_error: int | None
    interrupts: int | None
    dropped: int | None
    aborted: int | None
    no_route: int | None
    timeouts: int | None
    errors: int | None
    ping_count: int | None
    next_ping_s: int | None
    peer_timeout_s: int | None
    peer_credits: int | None
    peer_buffer_credits: int | None
    credits: int | None
    dev_cpt: int | None
    cpt: str | None
    extra: Mapping[str, str] = {}


_HEALTH = "health stats."
NET_FIELDS = (
    _field("net", "net type|net", _text, _L, "", "the network"),
    _field("status", "status", _text, _S, "", "up or down"),
    _field("interfaces", "interfaces", _text, _L, "", "network interfaces, separated by commas"),
    _field("send_count", "statistics.send_count", whole, _C, "messages", "messages sent"),
    _field("recv_count", "statistics.recv_count", whole, _C, "messages", "messages received"),
    _field("drop_count", "statistics.drop_count", whole, _C, "messages", "messages dropped"),
    _field("health_value", _HEALTH + "health value", whole, _G, "", "0 to 1000; 1000 is healthy"),
    _field("fatal_error", _HEALTH + "fatal_error", whole, _S, "", "1: the device reports a fatal error"),
    _field("interrupts", _HEALTH + "interrupts", whole, _C, "events", "sends interrupted"),
    _field("dropped", _HEALTH + "dropped", whole, _C, "events", "sends dropped"),
    _field("aborted", _HEALTH + "aborted", whole, _C, "events", "sends aborted"),
    _field("no_route", _HEALTH + "no route", whole, _C, "events", "sends without a route"),
    _field("timeouts", _HEALTH + "timeouts", whole, _C, "events", "sends that timed out"),
    _field("errors", _HEALTH + "error", whole, _C, "events", "sends with a local error"),
    _field("ping_count", _HEALTH + "ping_count", whole, _G, "pings", "recovery pings sent"),
    _field("next_ping_s", _HEALTH + "next_ping", whole, _G, "s", "uptime of the next recovery ping"),
    _field("peer_timeout_s", "tunables.peer_timeout", whole, _M, "s", "peer time-out"),
    _field("peer_credits", "tunables.peer_credits", whole, _M, "credits", "send credits per peer"),
    _field("peer_buffer_credits", "tunables.peer_buffer_credits", whole, _M, "credits", "router-buffer credits per peer; 0: inherited"),
    _field("credits", "tunables.credits", whole, _M, "credits", "send credits of the interface"),
    _field("dev_cpt", "dev cpt", whole, _L, "", "CPU partition of the device; -1: any"),
    _field("cpt", "CPT", _text, _L, "", "CPU partitions the interface is bound to"),
)


class LnetctlPeerRow(NamedTuple):
    nid: str
    row: int
    primary_nid: str | None
    multi_rail: int | None
    peer_state: int | None
    state: str | None
    tx_credits_max: int | None
    tx_credits: int | None
    tx_credits_min: int | None
    queue_bytes: int | None
    rtr_credits: int | None
    rtr_credits_min: int | None
    refs: int | None
    send_count: int | None
    recv_count: int | None
    drop_count: int | None
    health_value: int | None
    dropped: int | None
    timeouts: int | None
    errors: int | None
    network_timeouts: int | None
    ping_count: int | None
    next_ping_s: int | None
    extra: Mapping[str, str] = {}


PEER_FIELDS = (
    _field("primary_nid", "primary nid", _text, _L, "", "the NID the peer is known by"),
    _field("multi_rail", "Multi-Rail", whole, _S, "", "1: the peer has several interfaces used together"),
    _field("peer_state", "peer state", whole, _S, "", "the kernel's flags of the peer"),
    _field("state", "state", _text, _S, "", "up, down, or NA where aliveness is not tracked"),
    _field("tx_credits_max", "max_ni_tx_credits", signed, _M, "credits", "send credits of the peer"),
    _field("tx_credits", "available_tx_credits", signed, _G, "credits", "send credits left; negative: messages waiting"),
    _field("tx_credits_min", "min_tx_credits", signed, _W, "credits", "lowest tx_credits"),
    _field("queue_bytes", "tx_q_num_of_buf", signed, _G, "bytes", "bytes in flight and waiting, in spite of the name"),
    _field("rtr_credits", "available_rtr_credits", signed, _G, "credits", "router-buffer credits left"),
    _field("rtr_credits_min", "min_rtr_credits", signed, _W, "credits", "lowest rtr_credits"),
    _field("refs", "refcount", whole, _G, "references", "references held"),
    _field("send_count", "statistics.send_count|send_count", whole, _C, "messages", "messages sent"),
    _field("recv_count", "statistics.recv_count|recv_count", whole, _C, "messages", "messages received"),
    _field("drop_count", "statistics.drop_count|drop_count", whole, _C, "messages", "messages dropped"),
    _field("health_value", _HEALTH + "health value", whole, _G, "", "0 to 1000; 1000 is healthy"),
    _field("dropped", _HEALTH + "dropped", whole, _C, "events", "messages dropped by the peer"),
    _field("timeouts", _HEALTH + "timeout", whole, _C, "events", "messages that timed out"),
    _field("errors", _HEALTH + "error", whole, _C, "events", "messages with a remote error"),
    _field("network_timeouts", _HEALTH + "network timeout", whole, _C, "events", "time-outs of the network"),
    _field("ping_count", _HEALTH + "ping_count", whole, _G, "pings", "recovery pings sent"),
    _field("next_ping_s", _HEALTH + "next_ping", whole, _G, "s", "uptime of the next recovery ping"),
)


class LnetctlRouteRow(NamedTuple):
    net: str
    gateway: str | None
    row: int
    hops: int | None
    priority: int | None
    health_sensitivity: int | None
    state: str | None
    type: str | None
    extra: Mapping[str, str] = {}


ROUTE_FIELDS = (
    _field("net", "net", _text, _L, "", "the remote network"),
    _field("gateway", "gateway", _text, _L, "", "the router's NID"),
    _field("hops", "hop", signed, _M, "hops", "hops as configured; -1: not set"),
    _field("priority", "priority", signed, _M, "", "0 is the best"),
    _field("health_sensitivity", "health_sensitivity", signed, _M, "", "1 and more: health counts"),
    _field("state", "state", _text, _S, "", "up or down"),
    _field("type", "type", _text, _S, "", "single-hop or multi-hop"),
)


class LnetctlRoutingRow(NamedTuple):
    pool: str
    cpt: int
    pages: int | None
    count: int | None  # type: ignore[assignment]  # as in buffers: it hides tuple.count
    credits: int | None
    credits_min: int | None
    extra: Mapping[str, str] = {}


ROUTING_FIELDS = (
    _field("pages", "npages", whole, _M, "pages", "pages per buffer"),
    _field("count", "nbuffers", whole, _M, "buffers", "buffers of this pool and CPU partition"),
    _field("credits", "credits", signed, _G, "credits", "free buffers; negative: messages waiting"),
    _field("credits_min", "mincredits", signed, _W, "credits", "lowest credits since the pool was sized"),
)


class LnetctlStatsRow(NamedTuple):
    msgs_alloc: int | None
    msgs_max: int | None
    rst_alloc: int | None
    errors: int | None
    send_count: int | None
    recv_count: int | None
    route_count: int | None
    drop_count: int | None
    send_length: int | None
    recv_length: int | None
    route_length: int | None
    drop_length: int | None
    resend_count: int | None
    response_timeout_count: int | None
    local_interrupt_count: int | None
    local_dropped_count: int | None
    local_aborted_count: int | None
    local_no_route_count: int | None
    local_timeout_count: int | None
    local_error_count: int | None
    remote_dropped_count: int | None
    remote_error_count: int | None
    remote_timeout_count: int | None
    network_timeout_count: int | None
    failed_resends: int | None
    successful_resends: int | None
    extra: Mapping[str, str] = {}


_NOT_COUNTED = {
    "msgs_alloc": "messages alive now",
    "msgs_max": "most messages alive at once",
    "rst_alloc": "response trackers alive now",
}


def _total(name: str) -> Field:
    if name in _NOT_COUNTED:
        return _field(name, name, whole, _G, "messages", _NOT_COUNTED[name])
    unit = "bytes" if name.endswith("_length") else "messages"
    return _field(name, name, whole, _C, unit, f"total of {name.removesuffix('_count').replace('_', ' ')}")


STATS_FIELDS = tuple(_total(name) for name in LnetctlStatsRow._fields if name != "extra")


class LnetctlGlobalRow(NamedTuple):
    name: str
    value: int | str
    extra: Mapping[str, str] = {}


def column_of(row_type: Any, fields: tuple[Field, ...], keys: Mapping[str, str]) -> tuple[Column, ...]:
    """Return the columns in the order of the row's fields; `keys` gives the help texts of those that are not read from one key."""
    by_name = {field.column.name: field.column for field in fields}
    keyed = {name: Column(name, _L, "", Reduce.NONE, text) for name, text in keys.items()}
    return tuple((by_name | keyed)[name] for name in row_type._fields if name != "extra")
