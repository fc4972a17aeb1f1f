"""What must fit together in a scenario: topology, input and output, times. Each check raises one line that names the key."""

from collections.abc import Callable

from lnetstat.simulator.scenario.naming import Sizes, addresses, client_host, place_of, router_host, server_host
from lnetstat.simulator.scenario.pings import idle_ns, phase_zero_ns, policy_of, spread_ns
from lnetstat.simulator.scenario.settings import Settings, near
from lnetstat.simulator.scenario.units import shown_time
from lnetstat.words import printable

IMPORTS_MAX = 50_000_000
ENTRIES_MAX = 20_000_000
GROUP_NODES_MAX = 1_000_000
TRUTH_BINS_MAX = 20_000_000
SAMPLES_MAX = 10_000_000
IN_FLIGHT_MAX = 20_000_000


def check(settings: Settings) -> None:
    """Raise SimulatorError for the first thing that cannot be."""
    for one in _CHECKS:
        one(settings)


def targets_of(settings: Settings) -> int:
    """Return the targets of one group."""
    return settings.required("servers.count") * settings.number("servers.targets_per_server")


def imports_of(settings: Settings) -> int:
    """Return the imports of all clients in one group."""
    return settings.required("clients.count") * targets_of(settings) * settings.number("pings.mounts")


def entries_of(settings: Settings) -> int:
    """Return the peer entries of all nodes in one group."""
    clients, servers, routers = settings.required("clients.count"), settings.required("servers.count"), settings.number("routers.count")
    return routers * (2 * clients + 2 * servers) if routers else 2 * clients * servers * settings.number("rails") ** 2


def _topology(settings: Settings) -> None:
    settings.required("clients.count")
    settings.required("servers.count")
    release, routers, rails = settings.text("release"), settings.number("routers.count"), settings.number("rails")
    if routers and rails > 1:
        raise settings.error("rails", "expected 1: nodes behind routers have one interface here")
    if rails > 1 and release in ("1.8", "2.5"):
        raise settings.error("rails", f"expected 1: Lustre {release} has no multi-rail (2.12 and 2.16 have)")
    if settings.number("cpts") > 1 and release == "1.8":
        raise settings.error("cpts", "expected 1: Lustre 1.8 has no CPU partitions")
    server_lnd = settings.text("network.server.lnd")
    if not routers and settings.is_given("network.server.lnd") and server_lnd != settings.text("network.client.lnd"):
        reason = (
            f"clients are on {settings.text('network.client.lnd')} and there are no routers: servers cannot be reached; set routers.count"
        )
        raise settings.error("network.server.lnd", reason)
    if settings.is_given("network.ipv6") and settings.number("network.ipv6") and release != "2.16":
        raise settings.error("network.ipv6", f"expected false: Lustre {release} has no IPv6 NIDs (2.16 has)")


def _sizes(settings: Settings) -> None:
    servers, routers = settings.required("servers.count"), settings.number("routers.count")
    imports = imports_of(settings)
    if imports > IMPORTS_MAX:
        raise settings.error("clients.count", f"{imports} imports in a group (clients x targets x mounts): expected at most {IMPORTS_MAX}")
    entries = entries_of(settings)
    if entries > ENTRIES_MAX:
        raise settings.error("clients.count", f"{entries} peers entries in a group: expected at most {ENTRIES_MAX}; use several groups")
    if settings.number("groups") * (routers + servers) > GROUP_NODES_MAX:
        raise settings.error(
            "groups", f"expected at most {GROUP_NODES_MAX // (routers + servers)} with so many routers and servers in each"
        )
    samples = settings.number("run.duration") // settings.number("run.sample")
    if samples > SAMPLES_MAX:
        raise settings.error("run.sample", f"{samples} samples: expected at most {SAMPLES_MAX}")
    bins = settings.number("run.duration") // settings.number("run.bin") * servers
    if bins > TRUTH_BINS_MAX:
        raise settings.error("run.bin", f"{bins} bins of ground truth: expected at most {TRUTH_BINS_MAX}; set a longer run.bin")


def _run(settings: Settings) -> None:
    duration = settings.number("run.duration")
    for name in ("run.sample", "run.bin"):
        if settings.number(name) > duration:
            raise settings.error(name, f"expected at most the duration, {shown_time(duration)}")


def _pings(settings: Settings) -> None:
    interval, policy = settings.number("pings.interval"), policy_of(settings)
    if spread_ns(settings) > interval and not settings.is_given("pings.spread"):
        words = (
            f"expected at least {shown_time(spread_ns(settings))}, pings.spread's default with policy {policy}, or a shorter pings.spread"
        )
        raise settings.error("pings.interval", words)
    if spread_ns(settings) > interval:
        raise settings.error("pings.spread", f"expected at most the interval, {shown_time(interval)}")
    if policy == "aligned-wallclock" and settings.is_given("pings.first"):
        raise settings.error("pings.first", "the wall clock says when: leave it out, or set run.start")
    if settings.number("pings.keep") > targets_of(settings):
        raise settings.error("pings.keep", f"expected at most {targets_of(settings)}, the targets of a group")
    if settings.share("pings.early") and policy != "idle-offset":
        raise settings.error("pings.early", f"expected 0: with policy {policy} rounds do not drift")
    if settings.share("pings.early") > 0.9:
        raise settings.error("pings.early", "expected at most 0.9: a round cannot follow at once")
    if policy != "suppressed" and phase_zero_ns(settings) > settings.number("run.duration") and settings.is_given("pings.first"):
        raise settings.error("pings.first", f"expected less than the duration, {shown_time(settings.number('run.duration'))}")
    if idle_ns(settings) and policy.startswith("aligned") and settings.text("release") == "1.8":
        raise settings.error("pings.idle_disconnect", "expected 0 s: Lustre 1.8 keeps idle imports (2.12 and later disconnect)")


def _io(settings: Settings) -> None:
    clients, targets = settings.required("clients.count"), targets_of(settings)
    for block, (first, used) in zip(settings.blocks("io"), io_clients(settings), strict=True):
        if first + used > clients:
            name = f"{block}first_client" if settings.is_given(f"{block}first_client") else f"{block}processes"
            if not settings.is_given(name):
                name = "clients.count"
            per = settings.number(f"{block}per_client")
            free = max(0, clients - first) * per
            raise settings.error(name, f"{free} processes fit on {clients} clients ({per} per client, from client {first} on)")
        if settings.number(f"{block}stripes") > targets:
            raise settings.error(f"{block}stripes", f"expected at most {targets}, the targets of a group")
        in_flight = settings.number(f"{block}processes") * settings.number(f"{block}stripes") * settings.number(f"{block}window")
        if in_flight > IN_FLIGHT_MAX:
            raise settings.error(
                f"{block}window", f"{in_flight} RPCs in flight (processes x stripes x window): expected at most {IN_FLIGHT_MAX}"
            )
        if settings.is_given(f"{block}size") and settings.is_given(f"{block}rpcs"):
            raise settings.error(f"{block}rpcs", f"give {block}size or {block}rpcs, not both")
        if settings.is_given(f"{block}size") and settings.text(f"{block}kind") == "small":
            raise settings.error(f"{block}size", f"small RPCs carry no data: give {block}rpcs")
        if settings.number(f"{block}start") > settings.number("run.duration"):
            raise settings.error(f"{block}start", f"expected at most the duration, {shown_time(settings.number('run.duration'))}")


def io_clients(settings: Settings) -> list[tuple[int, int]]:
    """Return for each [[io]] block its first client and how many clients it uses; by default blocks follow one another."""
    placed, following = [], 0
    for block in settings.blocks("io"):
        first = settings.number_or(f"{block}first_client", following)
        used = -(-settings.number(f"{block}processes") // settings.number(f"{block}per_client"))
        placed.append((first, used))
        following = first + used
    return placed


def _faults(settings: Settings) -> None:
    release, duration = settings.text("release"), settings.number("run.duration")
    for block in settings.blocks("faults"):
        if settings.number("routers.count"):
            raise settings.error(f"{block}node", "faults are possible only without routers: set routers.count=0")
        if not settings.is_given(f"{block}node"):
            raise settings.error(f"{block}node", "the host name of the node whose interface fails")
        if release in ("1.8", "2.5"):
            raise settings.error(f"{block}node", f"Lustre {release} has no health values (2.12 and 2.16 have)")
        for rail in ("rail", "to_rail"):
            if settings.number(f"{block}{rail}") >= settings.number("rails"):
                raise settings.error(f"{block}{rail}", f"expected 0 to {settings.number('rails') - 1}: rails is {settings.number('rails')}")
        down = settings.required(f"{block}down")
        if down > duration:
            raise settings.error(f"{block}down", f"expected at most the duration, {shown_time(duration)}")
        if settings.is_given(f"{block}up") and settings.number(f"{block}up") <= down:
            raise settings.error(f"{block}up", f"expected later than {block}down, {shown_time(down)}")


def check_addresses(settings: Settings, sizes: Sizes) -> None:
    """Raise where there are more interfaces than the NIDs' address blocks hold."""
    for role, key, count in (
        ("clients", "clients.count", sizes.clients * sizes.rails),
        ("router_client_side", "groups", sizes.groups * sizes.routers),
        ("servers", "groups", sizes.groups * sizes.servers * sizes.rails),
    ):
        if count > addresses(role):
            raise settings.error(key, f"{count} interfaces of {role}: expected at most {addresses(role)}")


def check_hosts(settings: Settings, sizes: Sizes) -> None:
    """Raise where a host name that a scenario uses is of no node."""
    for host in settings.list_of("observe.hosts") if settings.is_given("observe.hosts") else ():
        _place(settings, sizes, "observe.hosts", host)
    for block in settings.blocks("faults"):
        node = _place(settings, sizes, f"{block}node", settings.text(f"{block}node"))
        if settings.is_given(f"{block}to"):
            other = _place(settings, sizes, f"{block}to", settings.text(f"{block}to"))
            if (node[1] < sizes.clients) == (other[1] < sizes.clients) or node[0] != other[0]:
                raise settings.error(f"{block}to", "a path is between a client and a server of one group")


def _place(settings: Settings, sizes: Sizes, key: str, host: str) -> tuple[int, int]:
    """Return the group and the node number of a host."""
    place = place_of(sizes, host)
    if place is None:
        examples = [client_host(sizes, 0), client_host(sizes, sizes.clients - 1)]
        examples += [router_host(sizes, 0, number) for number in {0, sizes.routers - 1} if sizes.routers]
        examples += [server_host(sizes, group, sizes.servers - 1) for group in sorted({0, sizes.groups - 1})]
        raise settings.error(key, f"no node is called '{printable(host)}'{near(host, examples)}; there are {', '.join(examples)}")
    if place[1] < sizes.clients and sizes.groups > 1:
        raise settings.error(key, f"client {host} takes part in all {sizes.groups} groups: expected a router or server, or groups=1")
    return place


_CHECKS: tuple[Callable[[Settings], None], ...] = (_topology, _run, _sizes, _pings, _io, _faults)
