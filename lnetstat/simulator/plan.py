"""What one routing group is made of, in integers: nanoseconds, bytes, counts. No units, no defaults to guess.

A scenario (TOML, for people) becomes one Plan per group; the engine and the reference both run a Plan. Words are those of
docs/simulator-model.md.
"""

from collections.abc import Sequence
from typing import NamedTuple

PING, WRITE, READ, SMALL = range(4)  # kinds of RPC
ONE = 1024  # a jitter factor of 1024 leaves a time as it is


class Net(NamedTuple):
    """One LNet network: its driver and what holds for every connection on it."""

    lnd: str  # gni, o2ib, tcp
    wire_ns: int  # from the end of the send service to delivery, which is also the sender's completion
    handshake: bool  # payloads above one page go by PUT_REQ, PUT_ACK, RDMA and PUT_DONE
    wire_credits: int  # the driver's own window (o2ib: peer_credits); 0: it has none
    credits_highwater: int  # o2ib: this many unreturned credits cause a NOOP
    concurrent_sends: int  # o2ib: sends posted at once
    protocol: int  # o2ib wire protocol: 1 keeps the last credit for a NOOP, 2 sends NOOPs without a credit


class Ni(NamedTuple):
    """One node's interface on a network: its limits after clamping, and the costs of its two serial servers (send, receive)."""

    credits: int  # NI tx credits of each CPT
    peer_credits: int
    peer_buffer_credits: int  # a router's credits for each sending peer, as they hold (never 0 = unset)
    post_ns: int  # send service of one message without bulk data
    bulk_ns: int  # send service of bulk data
    rx_ns: int  # receive service of one message; 0: received when delivered, without a queue
    eager_ns: int  # cost of an eager receive where no credit or buffer is free; -1: the driver has none


class Service(NamedTuple):
    """A ptlrpc service of a server: its threads, and its request buffers, which grow by groups."""

    threads: int
    buffers: int
    buffers_max: int
    buffers_group: int


class Process(NamedTuple):
    """One I/O process: on each of `stripes` targets it keeps up to `window` RPCs in flight."""

    client: int
    kind: int  # WRITE, READ or SMALL
    first_target: int
    stripes: int
    window: int  # max_rpcs_in_flight
    total: int  # RPCs in all; 0: until the end
    think_ns: int
    start_ns: int


class Pings(NamedTuple):
    """The pinger. `first_ns`: for each client and each of its imports (client by client), when it pings first; -1: never."""

    interval_ns: int
    aligned: bool  # True: at every multiple of the interval after the first ping, busy or not; False: when idle for one interval
    early_permille: int  # not aligned: each round of a node comes early by up to this share of the interval
    idle_ns: int  # an import without an RPC for this long is disconnected and not pinged; 0: stays connected
    keep: int  # the first so many targets never disconnect (MGS, MDT)
    mounts: int  # imports per target
    first_ns: Sequence[int]


class Health(NamedTuple):
    """Multi-rail health: constants of lnet/api-ni.c."""

    sensitivity: int
    retry_count: int
    recovery_ns: int  # a first recovery ping comes after this time; later ones double it
    recovery_max_ns: int
    detect_ns: int  # from a failed delivery until the sender knows
    resend_ns: int  # a message that was given up is sent anew after this time


class Fault(NamedTuple):
    """At `time_ns` interface `ni` (numbered as in docs/simulator-model.md) goes up or down; with `other`, only the path between the two."""

    time_ns: int
    ni: int
    up: bool
    other: int = -1  # an interface on the other side; -1: all paths of `ni`


class Plan(NamedTuple):
    """One group. Without routers, clients and servers share `client_net` and have `rails` interfaces each."""

    clients: int
    routers: int
    servers: int
    rails: int  # interfaces of each client and server; 1 with routers
    cpts: int  # CPU partitions of routers and servers; a client has one
    client_net: Net
    server_net: Net
    client_ni: Ni
    router_client_ni: Ni
    router_server_ni: Ni
    server_ni: Ni
    router_buffers: tuple[int, int, int]  # tiny, small, large: of each CPT
    balance: bool  # gateways by queued bytes and credits (the kernel's rule); False: plain round robin
    targets: int  # in all; target t lies on server t % servers
    ost: Service  # pings and small RPCs
    ost_io: Service
    ping_service_ns: int
    small_service_ns: int
    disk_write_ns: int
    disk_read_ns: int
    service_jitter: Sequence[int]  # a power of two of factors in 1/1024, of the ost service time
    disk_jitter: Sequence[int]  # likewise of the disk
    repost_router_ns: int  # from reception until a wire credit can be returned
    repost_server_ns: int
    ping_bytes: int
    request_bytes: int
    reply_bytes: int
    bulk_bytes: int
    pings: Pings
    processes: tuple[Process, ...]
    health: Health
    faults: tuple[Fault, ...]
    bin_ns: int  # width of the bins of the ground truth
    end_ns: int
    seed: int  # of the jitter
