"""What the kernel counted of TCP: a loss has to be explained by one of these, or by a mistake of ours."""

from pathlib import Path

NAMES = ("ListenOverflows", "ListenDrops", "SyncookiesFailed", "TCPTimeouts", "TCPAbortOnTimeout")


def tcp_counters() -> dict[str, int]:
    """Return the counters of TcpExt in NAMES that this kernel has (as `nstat` prints them)."""
    head, values = [line.split() for line in Path("/proc/net/netstat").read_text().splitlines() if line.startswith("TcpExt:")]
    every = dict(zip(head[1:], values[1:], strict=True))
    return {name: int(every[name]) for name in NAMES if name in every}


def grown(before: dict[str, int], after: dict[str, int]) -> str:
    """Return what has grown, in words: `ListenOverflows +12`."""
    return ", ".join(f"{name} +{after[name] - count}" for name, count in before.items() if after[name] > count)
