"""`ost` and `ost_io` statistics of a simulated server, as ptlrpc prints them: fixed counters first, then one line per kind of request."""

from collections.abc import Mapping
from typing import Protocol

from lnetstat.model import Parsed
from lnetstat.tables import counters

# In the order of their numbers in lustre_idl.h, which is that of the file. A small RPC is one of metadata: a getattr of an object.
OPERATIONS = (("ost_getattr", "small"), ("ost_read", "ost_read"), ("ost_write", "ost_write"), ("obd_ping", "obd_ping"))


class Counted(Protocol):
    """One lprocfs counter: how many values, their extremes, sum and sum of squares. The engine's Counter is one."""

    @property
    def samples(self) -> int: ...
    @property
    def min(self) -> int: ...
    @property
    def max(self) -> int: ...
    @property
    def sum(self) -> int: ...
    @property
    def sumsq(self) -> int: ...


class Served(Protocol):
    """A service's counters. The engine's ServiceView is one."""

    @property
    def req_waittime(self) -> Counted: ...
    @property
    def req_qdepth(self) -> Counted: ...
    @property
    def req_active(self) -> Counted: ...
    @property
    def reqbuf_avail(self) -> Counted: ...
    @property
    def ops(self) -> Mapping[str, Counted]: ...


def service_text(service: Served, layout: str, epoch_ns: int, start_ns: int) -> str:
    """Return the `stats` file of a service at `epoch_ns`; counters that were never used are not printed."""
    named: list[tuple[str, Counted | None, str]] = [
        ("req_waittime", service.req_waittime, "usec"),
        ("req_qdepth", service.req_qdepth, "reqs"),
        ("req_active", service.req_active, "reqs"),
        ("reqbuf_avail", service.reqbuf_avail, "bufs"),
    ]
    named += [(printed, service.ops.get(name), "usec") for printed, name in OPERATIONS]
    rows = [_row(name, counted, unit, layout) for name, counted, unit in named if counted is not None and counted.samples]
    facts = {"snapshot_time": epoch_ns, "start_time": start_ns}
    return counters.render(Parsed(tuple(rows), layout, facts, ()), layout)


def _row(name: str, counted: Counted, unit: str, layout: str) -> counters.CountersRow:
    squares = int(counted.sumsq) % 2**64
    if layout == counters.MICRO and squares >= 2**63:  # signed before 2.10, so that a large sum turns negative
        squares -= 2**64
    return counters.CountersRow(name, int(counted.samples), unit, int(counted.min), int(counted.max), int(counted.sum), squares)
