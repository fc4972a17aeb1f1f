"""What messages cost: the assumed and calibrated numbers of the model, all in this one place. A scenario's [costs] overrides them.

Two are calibrated on the ping paper (Spitz et al., CUG 2012) and shared by every preset: CREDIT_RETURN_NS on the dead time with 8 peer
credits, SERVER_RECEIVE_NS on the flood with 126. The others are plausible values for Gemini, QDR InfiniBand and 10 Gbit/s Ethernet.
"""

from fractions import Fraction
from typing import NamedTuple

CREDIT_RETURN_NS = 2_300_000  # from a server's receive until its wire credit can go back: wake-ups, batching
SERVER_RECEIVE_NS = 8_000  # a server receives, matches and copies one message

PING_NS = 40_000  # an ost thread serves a ping
SMALL_NS = 60_000  # and a small RPC
DISK_NS = 700_000  # a server's disks read or write 1 MiB, one RPC after another: 1.43 GiB/s


class Cost(NamedTuple):
    """What one bulk RPC's data costs: a time, or a rate that the size is divided by. One of the two is None."""

    ns: int | None
    bytes_per_s: Fraction | None

    def of(self, size_bytes: int) -> int:
        """Return nanoseconds for so many bytes."""
        if self.bytes_per_s is not None:
            return round(size_bytes * 10**9 / self.bytes_per_s)
        assert self.ns is not None
        return self.ns


class NodeCosts(NamedTuple):
    """The two serial servers of an interface: sending a message without bulk data, sending bulk data, receiving; and an eager receive."""

    send_ns: int
    bulk: Cost
    receive_ns: int
    eager_ns: int = -1  # the driver has no eager receive


WIRE_NS = {"gni": 3_000, "o2ib": 3_000, "tcp": 50_000}

_GEMINI = Cost(200_000, None)  # block transfer engine, about 5 GB/s
_QDR = Cost(330_000, None)  # 3.2 GB/s
_TEN_GIGABIT = Cost(None, Fraction(1_200_000_000))

NODE_COSTS = {
    ("clients", "gni"): NodeCosts(20_000, _GEMINI, 0),
    ("clients", "o2ib"): NodeCosts(5_000, _QDR, 0),
    ("clients", "tcp"): NodeCosts(10_000, _TEN_GIGABIT, 0),
    ("routers", "gni"): NodeCosts(2_000, _GEMINI, 4_000, 2_000),
    ("routers", "o2ib"): NodeCosts(2_000, _QDR, 4_000),
    ("routers", "tcp"): NodeCosts(10_000, _TEN_GIGABIT, 10_000),
    ("servers", "gni"): NodeCosts(2_000, _GEMINI, SERVER_RECEIVE_NS),
    ("servers", "o2ib"): NodeCosts(2_000, _QDR, SERVER_RECEIVE_NS),
    ("servers", "tcp"): NodeCosts(10_000, _TEN_GIGABIT, 10_000),
}
