"""What takes time on an RPC's way. A run whose RPCs took none would process events of one instant for ever."""

from lnetstat.simulator.scenario.costs import WIRE_NS
from lnetstat.simulator.scenario.groups import end_costs, router_costs
from lnetstat.simulator.scenario.parameters import Lnet
from lnetstat.simulator.scenario.settings import Settings


def check_rpc_times(settings: Settings, lnet: Lnet) -> None:
    """Raise SimulatorError for an [[io]] block whose RPCs follow one another at one instant."""
    for block in settings.blocks("io"):
        times = times_on_the_way(settings, lnet, settings.text(f"{block}kind"))
        if settings.number(f"{block}think") or any(times.values()):
            continue
        others = ", ".join(name for name in times if name != "network.client.wire")
        words = f"RPCs of {block.rstrip('.')} would take no time at all: set one of these, {others} or {block}think above 0 s"
        raise settings.error("network.client.wire", words)  # no driver's default is 0 s: it was given


def times_on_the_way(settings: Settings, lnet: Lnet, kind: str) -> dict[str, int]:
    """Return key -> ns of everything that one RPC of a kind ("write", "read", "small") waits for, there and back.

    Wire credits that come back late are among them: RPCs beyond the credits wait for that.
    """
    routed, bulk_bytes = settings.number("routers.count") > 0, settings.number("messages.bulk")
    times = {"network.client.wire": settings.number_or("network.client.wire", WIRE_NS[lnet.client_lnd])}
    if routed:
        times["network.server.wire"] = settings.number_or("network.server.wire", WIRE_NS[lnet.server_lnd])
    hops = [("clients", end_costs(settings, "clients", lnet.client_lnd), kind == "write")]
    hops.append(("servers", end_costs(settings, "servers", lnet.server_lnd), kind == "read"))
    if routed:
        hops.append((f"routers.{lnet.client_lnd}", router_costs(settings, lnet.client_lnd), kind == "read"))
        hops.append((f"routers.{lnet.server_lnd}", router_costs(settings, lnet.server_lnd), kind == "write"))
    for hop, costs, sends_bulk in hops:
        times[f"costs.{hop}.send"] = costs.send_ns
        times[f"costs.{hop}.receive"] = costs.receive_ns
        if sends_bulk:
            times[f"costs.{hop}.bulk"] = costs.bulk.of(bulk_bytes)
    if kind == "small":
        times["costs.small"] = settings.number("costs.small")
    else:
        times[f"costs.disk_{kind}"] = settings.cost(f"costs.disk_{kind}").of(bulk_bytes)
    if lnet.server_lnd == "o2ib":
        times["costs.credit_return_server"] = settings.number("costs.credit_return_server")
    if routed and "o2ib" in (lnet.client_lnd, lnet.server_lnd):
        times["costs.credit_return_router"] = settings.number("costs.credit_return_router")
    return times
