"""When each import of each client pings first: the policies of Lustre's pinger (ptlrpc/pinger.c), and the phases that a seed gives."""

from array import array

import numpy as np
import numpy.typing as npt

from lnetstat.simulator.plan import Pings
from lnetstat.simulator.scenario.settings import Settings

S = 10**9
MOST_FIRST_NS = 10 * S
_PHASES = 1  # the stream of random numbers that phases use; service times have another


def policy_of(settings: Settings) -> str:
    """Return the ping policy: what is set, else the release's own (only 1.8 aligns)."""
    if settings.is_given("pings.policy"):
        return settings.text("pings.policy")
    return "aligned-jiffies" if settings.text("release") == "1.8" else "idle-offset"


def spread_ns(settings: Settings) -> int:
    """Return the range of phases in ns."""
    defaults = {"aligned-jiffies": S // 5, "aligned-wallclock": S // 100, "idle-offset": settings.number("pings.interval"), "suppressed": 0}
    return settings.number_or("pings.spread", defaults[policy_of(settings)])


def phase_zero_ns(settings: Settings) -> int:
    """Return when phase 0 pings first, in ns after the start: the wall clock's next multiple of the interval, or what is set."""
    policy, interval_ns = policy_of(settings), settings.number("pings.interval")
    if policy == "aligned-wallclock":
        return interval_ns - settings.number("run.start") % interval_ns
    return settings.number_or("pings.first", min(MOST_FIRST_NS, interval_ns // 5) if policy == "aligned-jiffies" else 0)


def idle_ns(settings: Settings) -> int:
    """Return after how long without RPCs an import disconnects; 0: never (osc.*.idle_timeout, from 2.12 on)."""
    modern = settings.text("release") in ("2.12", "2.16") and policy_of(settings) == "idle-offset"
    return settings.number_or("pings.idle_disconnect", 20 * S if modern else 0)


def pings_of(settings: Settings, clients: int, targets: int) -> Pings:
    """Return the plan's pings. Phases depend on the seed and the client's number only, so that a client has the same in every group."""
    policy, mounts = policy_of(settings), settings.number("pings.mounts")
    return Pings(
        interval_ns=settings.number("pings.interval"),
        aligned=policy.startswith("aligned"),
        early_permille=round(1000 * settings.share("pings.early")),
        idle_ns=idle_ns(settings),
        keep=settings.number("pings.keep"),
        mounts=mounts,
        first_ns=_first_ns(settings, policy, clients, targets, mounts),
    )


def _first_ns(settings: Settings, policy: str, clients: int, targets: int, mounts: int) -> "array[int]":
    """Return the first ping of each import, client by client, mount by mount, target by target; -1: never."""
    if policy == "suppressed":
        times = np.full(clients * mounts * targets, -1, dtype=np.int64)
    else:
        phases = _phases(settings.number("run.seed"), spread_ns(settings), clients, mounts if policy == "idle-offset" else 1)
        of_mounts = np.broadcast_to(phases, (clients, mounts)).reshape(-1)
        times = np.repeat(of_mounts, targets) + phase_zero_ns(settings)
    plain = array("q")  # gives Python's own integers to a reader without numpy, and numpy reads it in place
    plain.frombytes(times.tobytes())
    return plain


def _phases(seed: int, range_ns: int, clients: int, mounts: int) -> npt.NDArray[np.int64]:
    """Return phases in ns, one row per client, even over 0 to `range_ns`; with one mount, a client's phase is that of its node."""
    if range_ns == 0:
        return np.zeros((clients, mounts), dtype=np.int64)
    return np.random.default_rng([seed, _PHASES]).integers(0, range_ns, (clients, mounts), dtype=np.int64)
