"""What a node's `tunables` table says, and remarks on a scenario whose numbers a real node could not show."""

from lnetstat.simulator.kernel.beginning import MESSAGES_MAX
from lnetstat.simulator.kernel.layout import CONNECTION, ENTRY, MESSAGE
from lnetstat.simulator.scenario.checks import entries_of, imports_of
from lnetstat.simulator.scenario.groups import rpcs_of
from lnetstat.simulator.scenario.naming import Sizes
from lnetstat.simulator.scenario.parameters import Lnet, asked_buffers, asked_of
from lnetstat.simulator.scenario.pings import phase_zero_ns, policy_of, spread_ns
from lnetstat.simulator.scenario.settings import Settings
from lnetstat.simulator.scenario.tunables import MODULES, POOLS, Held, Window
from lnetstat.simulator.scenario.units import shown_size, shown_time

S = 10**9
STOCK_TIMEOUT_S = 100
MEMORY_MUCH = 2 * 2**30
IMPORT = 3  # words: when it pings next and its last RPC, and in the plan its first ping


def node_tunables(settings: Settings, lnet: Lnet, sizes: Sizes, node: int) -> dict[str, str]:
    """Return NAME -> value for one node of a group. Parameters that are not set and have no one default are left out."""
    release, interval_ns = settings.text("release"), settings.number("pings.interval")
    values: dict[str, str] = {}
    if release == "2.16":  # ping_interval is a parameter of its own from 2.16 on (LU-16002)
        values["timeout"], values["ping_interval"] = str(STOCK_TIMEOUT_S), str(_seconds(interval_ns))
    else:
        values["timeout"] = str(_seconds(4 * interval_ns))
    if release != "1.8":  # LU-2467: suppress_pings came with 2.4
        values["ptlrpc.suppress_pings"] = str(int(policy_of(settings) == "suppressed"))
    role = "clients" if node < sizes.clients else "routers" if node < sizes.clients + sizes.routers else "servers"
    for lnd, held, window in _drivers(lnet, role):
        values |= _driver(settings, role, lnd, held, window)
    values["lnet.peer_buffer_credits"] = str(settings.number("lnet.peer_buffer_credits"))
    if role == "routers":
        cpts = settings.number("cpts")
        for pool, total, each in zip(POOLS, asked_buffers(settings), lnet.router_buffers, strict=True):
            name = f"lnet.{pool}_router_buffers"
            values[name] = str(each * cpts if total is None and release == "1.8" else total or 0)
            values[f"{name}.holds"] = str(each * cpts)
    return values


def _drivers(lnet: Lnet, role: str) -> tuple[tuple[str, Held, Window | None], ...]:
    """Return the drivers that one kind of node loads: a router both sides', once where they are one."""
    client = (lnet.client_lnd, lnet.router_client_side, lnet.client_window)
    server = (lnet.server_lnd, lnet.router_server_side, lnet.server_window)
    if role == "clients":
        return ((lnet.client_lnd, lnet.client, lnet.client_window),)
    if role == "servers":
        return ((lnet.server_lnd, lnet.server, lnet.server_window),)
    return (client, server) if lnet.client_lnd != lnet.server_lnd else (client,)


def _driver(settings: Settings, role: str, lnd: str, held: Held, window: Window | None) -> dict[str, str]:
    asked, module = asked_of(settings, role, lnd), MODULES[lnd]
    values = {
        f"{module}.credits": str(held.credits if asked.credits is None else asked.credits),
        f"{module}.peer_credits": str(held.peer_credits if asked.peer_credits is None else asked.peer_credits),
        f"{module}.peer_credits.holds": str(held.peer_credits),
    }
    if lnd != "gni":
        values[f"{module}.peer_buffer_credits"] = str(asked.peer_buffer_credits or 0)
    values[f"{module}.peer_buffer_credits.holds"] = str(held.peer_buffer_credits)
    if window:
        for name, holds in (("peer_credits_hiw", window.highwater), ("concurrent_sends", window.concurrent_sends)):
            values[f"{module}.{name}"] = str(settings.number(f"o2ib.{name}"))
            values[f"{module}.{name}.holds"] = str(holds)
        values[f"{module}.map_on_demand"] = str(settings.number("o2ib.map_on_demand"))
    return values


def remarks(settings: Settings) -> tuple[str, ...]:
    """Return notes about what no node of that release does, what comes after the end, and what is rounded."""
    said = []
    interval_ns, modern = settings.number("pings.interval"), settings.text("release") == "2.16"
    shown_ns, name = (interval_ns, "ping_interval") if modern else (4 * interval_ns, "timeout")
    if shown_ns % S:
        said.append(f"pings.interval={shown_time(interval_ns)}: {name} has whole seconds and says {_seconds(shown_ns)}")
    policy, release = policy_of(settings), settings.text("release")
    if policy == "aligned-jiffies" and release != "1.8":
        said.append(f"pings.policy=aligned-jiffies: only Lustre 1.8 aligns pings; {release} itself does idle-offset")
    duration_ns = settings.number("run.duration")
    if policy != "suppressed" and phase_zero_ns(settings) >= duration_ns:
        said.append(f"no pings: the first would come {shown_time(phase_zero_ns(settings))} after the start, and the run ends before")
    said += _standstill(settings) + _memory(settings)
    bulk = settings.number("messages.bulk")
    for block in settings.blocks("io"):
        last_ns = settings.number(f"{block}start") + settings.number(f"{block}start_spread")
        if last_ns > duration_ns:
            said.append(f"{block}start_spread: processes begin until {shown_time(last_ns)} after the start, and the run ends before")
        if settings.is_given(f"{block}size") and settings.number(f"{block}size") % bulk:
            size, rpcs = shown_size(settings.number(f"{block}size")), rpcs_of(settings, block)
            said.append(f"{block}size={size} is {rpcs} RPCs of {shown_size(bulk)}: {shown_size(rpcs * bulk)} for each process")
    return tuple(said)


def memory_bytes(settings: Settings) -> int:
    """Return about how much memory the simulation of one group takes at most.

    Messages are the most of it: those of a flood when all imports ping at once, else of the I/O. There is room for MESSAGES_MAX at first;
    it doubles when it is short, and for a moment the old stands beside the new.
    """
    in_flight, imports = _in_flight(settings), imports_of(settings)
    messages = min(in_flight + imports, MESSAGES_MAX)
    if policy_of(settings) != "suppressed" and spread_ns(settings) < settings.number("pings.interval"):
        in_flight += imports
    while messages < in_flight:
        messages *= 2
    if in_flight > MESSAGES_MAX:
        messages += messages // 2
    return 8 * (entries_of(settings) * (ENTRY + CONNECTION) + messages * MESSAGE + imports * IMPORT)


def _memory(settings: Settings) -> list[str]:
    """Tell where a group takes more memory than a small machine has to spare."""
    size = memory_bytes(settings)
    if size <= MEMORY_MUCH:
        return []
    imports = f"{imports_of(settings)} imports (clients x targets x mounts) and {entries_of(settings)} peers entries"
    together = "observed groups, and one for each process, are simulated at once"
    return [f"memory: a group takes about {size / 2**30:.1f} GiB, for {imports}; {together}"]


def _standstill(settings: Settings) -> list[str]:
    """Writes that wait for a request buffer keep their wire credits; when they keep all, no write's data can come any more."""
    most = settings.number("servers.request_buffers_max")
    servers = settings.number("servers.count")
    in_flight = _in_flight(settings)
    if not most or in_flight <= most * servers:
        return []
    held = f"{in_flight} RPCs in flight may hold all wire credits of {servers} servers"
    return [f"servers.request_buffers_max={most}: {held} and stand still for ever"]


def _in_flight(settings: Settings) -> int:
    """Return the I/O RPCs in flight in one group at most."""
    return sum(
        settings.number(f"{block}processes") * settings.number(f"{block}window") * settings.number(f"{block}stripes")
        for block in settings.blocks("io")
    )


def _seconds(ns: int) -> int:
    return max(1, round(ns / S))
