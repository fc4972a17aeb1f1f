"""What must hold at every instant, and what at rest: the kernel's assertions, identity I1, Little, conservation."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .run import Run
    from .world import Credits, Entry, Line, Node


def all_credits(run: "Run") -> "Iterator[tuple[str, Credits]]":
    """Every credit counter with a name for messages."""
    for node in run.nodes:
        for ni in node.nis:
            for cpt, queue in enumerate(ni.queues):
                yield f"NI {ni.number} queue {cpt}", queue
        for entry in node.entries:
            yield f"node {node.number} entry {entry.remote.node.number} tx", entry.tx
            yield f"node {node.number} entry {entry.remote.node.number} rtr", entry.rtr
        for cpt, pools in enumerate(node.pools):
            for size, pool in enumerate(pools):
                yield f"node {node.number} pool {cpt}.{size}", pool


def all_lines(run: "Run") -> "Iterator[tuple[str, Line]]":
    """Every place where somebody can wait."""
    for name, counter in all_credits(run):
        yield name, counter.line
    for node in run.servers:
        for index, station in enumerate(node.stations or ()):
            yield f"node {node.number} portal {index}", station.portal
            yield f"node {node.number} service {index}", station.queue


def check_now(run: "Run") -> None:
    """The kernel's assertions (a negative counter is the number of waiters) and what holds between counters."""
    for name, counter in all_credits(run):
        assert max(0, -counter.now) == len(counter.line), f"{name}: {counter.now} with {len(counter.line)} waiting"
        assert counter.low <= counter.now <= counter.limit, f"{name}: {counter.low} <= {counter.now} <= {counter.limit}"
    for name, line in all_lines(run):
        line.account(run.now)
        assert line.integral == line.wait_ns + line.waiting_ns(run.now), f"{name}: Little"
    check_entries(run)
    for node in run.routers:
        check_buffers(node)
    for node in run.servers:
        for station in node.stations or ():
            assert 0 <= station.used <= station.buffers
            assert 0 <= station.busy <= station.limits.threads
            assert not station.queue or station.busy == station.limits.threads, "a request waits beside a free thread"
            assert not station.portal or station.used == station.buffers, "a request waits beside a free buffer"


def check_entries(run: "Run") -> None:
    """queue_bytes and tx are those of the messages that hold or await the entry's credit; the driver's window never overflows."""
    sizes: dict[Entry, list[int]] = {entry: [] for node in run.nodes for entry in node.entries}
    for m in run.live.values():
        if m.sending and m.tx is not None:
            sizes[m.tx].append(m.size)
    for entry, held in sizes.items():
        name = f"node {entry.node.number} entry {entry.remote.node.number}"
        assert entry.queue_bytes == sum(held), f"{name}: queue {entry.queue_bytes}, messages of {held}"
        assert entry.tx.limit - entry.tx.now == len(held), f"{name}: tx {entry.tx.now} of {entry.tx.limit}, {len(held)} messages"
        assert min(entry.wire, entry.outstanding, entry.nsends) >= 0, name
        net = entry.ni.net
        assert entry.nsends <= net.concurrent_sends or not entry.connected, name
        assert entry.wire + entry.other.outstanding <= net.wire_credits or not entry.connected, f"{name}: more wire credits than there are"


def check_buffers(router: "Node") -> None:
    """I1: buffers in use == what the entries hold or await for sending, plus what is still being copied in."""
    granted = sum(pool.limit - pool.now - len(pool.line) for pools in router.pools for pool in pools)
    sending = sum(entry.tx.limit - entry.tx.now for entry in router.entries)
    waiting = sum(len(entry.rtr.line) for entry in router.entries) + sum(len(pool.line) for pools in router.pools for pool in pools)
    assert router.msgs == granted + waiting, f"router {router.number}: {router.msgs} messages, {granted} in buffers, {waiting} waiting"
    assert granted == sending + router.copying, f"I1: router {router.number}: {granted} != {sending} + {router.copying}"


def check_idle(run: "Run") -> None:
    """At rest: everything sent was delivered, nobody waits, and every credit is back at its limit."""
    assert run.finished == run.serials, f"the group stands still: {run.finished} of {run.serials} RPCs done, nothing left to happen"
    for name, counter in all_credits(run):
        assert counter.now == counter.limit, f"{name} at rest: {counter.now} of {counter.limit}"
    for node in run.nodes:
        assert node.msgs == 0, f"node {node.number} at rest has {node.msgs} messages"
        for entry in node.entries:
            wire = entry.ni.net.wire_credits
            assert entry.queue_bytes == entry.nsends == len(entry.sendq) == len(entry.nocredq) == 0
            assert entry.wire + entry.other.outstanding == wire, f"wire credits of {node.number} at rest"
        for station in node.stations or ():
            assert station.used == station.busy == len(station.portal) == len(station.queue) == 0
    sent = sum(node.send_count for node in run.nodes)
    received = sum(node.recv_count for node in run.nodes)
    assert sent == received, f"{sent} messages sent, {received} received"
    assert sum(n.send_length for n in run.nodes) == sum(n.recv_length for n in run.nodes)
    if run.routers:
        assert sum(n.route_count for n in run.routers) == sent
        assert sum(n.route_length for n in run.routers) == sum(n.recv_length for n in run.nodes)
    for name, line in all_lines(run):
        line.account(run.now)
        assert line.integral == line.wait_ns, f"{name}: Little at rest"
