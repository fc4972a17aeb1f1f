"""LNet's tunables as they hold: defaults by release and driver, and what the drivers make of what was set, with a note.

Sources: lnet/klnds: o2iblnd_modparams.c (kiblnd_tunables_init, 1.8 to 2.7; kiblnd_tunables_setup, later), gnilnd_modparams.c,
socklnd_modparams.c; lnet/lnet/router.c (lnet_peer_buffer_credits, lnet_nrb_*_calculate), lnet/lnet/api-ni.c (lnet_ni_tq_credits).
"""

from typing import NamedTuple

MODULES = {"gni": "kgnilnd", "o2ib": "ko2iblnd", "tcp": "ksocklnd"}
POOLS = ("tiny", "small", "large")
O2IB_LEAST, O2IB_MOST = 8, 255  # IBLND_CREDITS_DEFAULT; returned credits travel in one byte (IBLND_CREDITS_MAX)
O2IB_V1_CREDITS, O2IB_V1_HIGHWATER = 8, 7  # IBLND_MSG_QUEUE_SIZE_V1, IBLND_CREDIT_HIGHWATER_V1
WORK_REQUESTS = 16384  # of a queue pair of many host channel adapters


class Asked(NamedTuple):
    """Module parameters as a scenario sets them for one kind of node; None: not set."""

    credits: int | None = None
    peer_credits: int | None = None
    peer_buffer_credits: int | None = None
    lnet_peer_buffer_credits: int = 0


class Held(NamedTuple):
    """What one kind of node's driver works with. `credits` is of the whole interface, `cpt_credits` of each of its CPT queues."""

    credits: int
    cpt_credits: int
    peer_credits: int
    peer_buffer_credits: int  # effective, never 0


class O2ibAsked(NamedTuple):
    """ko2iblnd's other parameters; 0: not set."""

    peer_credits_hiw: int = 0
    concurrent_sends: int = 0
    map_on_demand: int = 0
    protocol: int = 2


class Window(NamedTuple):
    """o2iblnd's own flow control on one connection."""

    credits: int
    highwater: int
    concurrent_sends: int


def default_credits(lnd: str, release: str, compute_node: bool) -> tuple[int, int]:
    """Return a driver's default credits and peer_credits."""
    if lnd == "gni":
        return (64 if compute_node and release in ("2.12", "2.16") else 256), 16
    return (64 if (lnd, release) == ("o2ib", "1.8") else 256), 8


def hold(lnd: str, release: str, cpts: int, asked: Asked, *, compute_node: bool) -> tuple[Held, tuple[str, ...]]:
    """Return what holds of a driver's credits, with a note for each parameter that acts otherwise than it was set."""
    default_total, default_peer = default_credits(lnd, release, compute_node)
    credits_total = default_total if asked.credits is None else asked.credits
    peer_credits = default_peer if asked.peer_credits is None else asked.peer_credits
    module, notes = MODULES[lnd], []

    def clamp(value: int, why: str) -> None:
        nonlocal peer_credits
        notes.append(f"{module} peer_credits={peer_credits} acts as {value}: {why}")
        peer_credits = value

    if lnd == "o2ib" and peer_credits < O2IB_LEAST:
        clamp(O2IB_LEAST, f"{O2IB_LEAST} is the driver's least")
    if lnd == "o2ib" and peer_credits > O2IB_MOST:
        clamp(O2IB_MOST, f"the wire protocol returns credits in one byte; {O2IB_MOST} is the most")
    if peer_credits > credits_total:
        origin = f" (default of Lustre {release})" if asked.credits is None else ""
        clamp(credits_total, f"credits is {credits_total}{origin}; set credits={peer_credits} or more")
    buffer_credits = (asked.peer_buffer_credits or 0) or asked.lnet_peer_buffer_credits or peer_credits
    return Held(credits_total, _cpt_credits(credits_total, peer_credits, cpts), peer_credits, buffer_credits), tuple(notes)


def _cpt_credits(credits_total: int, peer_credits: int, cpts: int) -> int:
    """Return the tx credits of one CPT's queue (lnet_ni_tq_credits)."""
    if cpts == 1:
        return credits_total
    return min(credits_total, max(credits_total // cpts, 8 * peer_credits))


def window(release: str, peer_credits: int, asked: O2ibAsked) -> tuple[Window, tuple[str, ...]]:
    """Return o2iblnd's window on a connection between nodes with these peer_credits (as they hold), with notes."""
    notes: list[str] = []
    highwater = max(asked.peer_credits_hiw, peer_credits // 2)
    highwater = max(min(highwater, peer_credits - 1), 1)  # 0 would have both ends send NOOPs for ever
    if asked.peer_credits_hiw not in (0, highwater):
        least, most = peer_credits // 2, peer_credits - 1
        notes.append(
            f"ko2iblnd peer_credits_hiw={asked.peer_credits_hiw} acts as {highwater}: peer_credits={peer_credits} allows {least} to {most}"
        )
    fragments = _map_on_demand(release, asked.map_on_demand, notes)
    sends = asked.concurrent_sends or (2 * peer_credits if 0 < fragments <= 32 else peer_credits)
    least, most = peer_credits // 2, 2 * peer_credits
    held = min(max(sends, least), most)
    if held != sends:
        word = "raised to half of" if held > sends else "lowered to twice"
        notes.append(f"ko2iblnd concurrent_sends={sends} acts as {held}: {word} peer_credits={peer_credits}")
    notes += _work_requests(release, fragments, held, peer_credits)
    if asked.protocol == 1:
        notes.append(
            f"ko2iblnd wire protocol 1 has {O2IB_V1_CREDITS} credits and returns them at {O2IB_V1_HIGHWATER}, whatever peer_credits is"
        )
        v1_sends = min(max(held, O2IB_V1_CREDITS // 2), 2 * O2IB_V1_CREDITS)  # kiblnd_concurrent_sends_v1
        return Window(O2IB_V1_CREDITS, O2IB_V1_HIGHWATER, v1_sends), tuple(notes)
    return Window(peer_credits, highwater, held), tuple(notes)


def _map_on_demand(release: str, asked: int, notes: list[str]) -> int:
    """Return the fragments mapped on demand, 0 where it is off. From 2.11 on the parameter is only a flag."""
    if not asked:
        return 0
    if release not in ("1.8", "2.5"):
        notes.append(f"ko2iblnd map_on_demand={asked} is only a flag in Lustre {release}: concurrent_sends does not depend on it")
        return 0
    if asked == 1:
        notes.append("ko2iblnd map_on_demand=1 acts as 2: the driver's least")
        return 2
    return asked


def _work_requests(release: str, fragments: int, sends: int, peer_credits: int) -> list[str]:
    """Warn where a queue pair may not fit the adapter; nothing is changed, as the limit is the adapter's."""
    if release not in ("1.8", "2.5"):
        needed = 257 * peer_credits
        advice = f"Lustre {release} would silently use fewer peer_credits on an adapter with {WORK_REQUESTS}"
        return [f"ko2iblnd peer_credits={peer_credits} needs {needed} send work requests; {advice}"] if needed > WORK_REQUESTS else []
    needed = ((fragments or 256) + 1) * sends
    advice = f"an adapter with {WORK_REQUESTS} refuses the connection; set concurrent_sends=63"
    return [f"ko2iblnd concurrent_sends={sends} needs {needed} send work requests; {advice}"] if needed > WORK_REQUESTS else []


def router_buffers(
    release: str, cpts: int, asked: tuple[int | None, int | None, int | None]
) -> tuple[tuple[int, int, int], tuple[str, ...]]:
    """Return the buffers of each CPT (tiny, small, large) for what was asked of all CPTs together, with notes.

    Defaults 1024, 8192, 512 (1.8), else 2048, 16384, 1024. From 2.3 to 2.14 each CPT has at least 512, 4096, 256.
    """
    defaults = (1024, 8192, 512) if release == "1.8" else (2048, 16384, 1024)
    advised = (512, 4096, 256)
    least = {"1.8": (1, 1, 1), "2.16": (1, 1, 1)}.get(release, advised)
    held, notes = [], []
    for pool, total, default, floor, wanted in zip(POOLS, asked, defaults, least, advised, strict=True):
        count = total or default
        each = max(count // cpts, floor)
        held.append(each)
        if total and each * cpts != total:
            parts = f"each of {cpts} CPTs" if cpts > 1 else "the pool"
            why = f"{parts} has at least {floor}" if each == floor else f"{parts} has {each}"
            notes.append(f"lnet {pool}_router_buffers={total} acts as {each * cpts}: {why} (Lustre {release})")
        if release == "2.16" and each < wanted:
            notes.append(f"lnet {pool}_router_buffers: {each} for each CPT; the kernel warns below {wanted}")
    return (held[0], held[1], held[2]), tuple(notes)
