"""What a scenario's module parameters come to on each kind of node and each network, with the notes about what the drivers changed."""

from typing import NamedTuple

from lnetstat.simulator.scenario.settings import Settings
from lnetstat.simulator.scenario.tunables import MODULES, POOLS, Asked, Held, O2ibAsked, Window, hold, router_buffers, window

OLD_RELEASES = ("1.8", "2.5")  # up to 2.7 both ends of an o2ib connection must have the same peer_credits


class Lnet(NamedTuple):
    """Tunables as they hold. Without routers both router entries are those of the clients and the buffers are 0."""

    client_lnd: str
    server_lnd: str
    client: Held
    router_client_side: Held
    router_server_side: Held
    server: Held
    client_window: Window | None  # o2ib only
    server_window: Window | None
    router_buffers: tuple[int, int, int]  # of each CPT
    notes: tuple[str, ...]


def lnet_of(settings: Settings) -> Lnet:
    """Return what holds; SimulatorError where two ends of a connection would refuse each other."""
    client_lnd = settings.text("network.client.lnd")
    routed = settings.number("routers.count") > 0
    server_lnd = settings.text("network.server.lnd") if routed else client_lnd
    notes: dict[str, list[str]] = {}  # note -> the kinds of nodes it is about
    client = _held(settings, "clients", client_lnd, notes)
    server = _held(settings, "servers", server_lnd, notes)
    buffers: tuple[int, int, int] = (0, 0, 0)
    buffer_notes: tuple[str, ...] = ()
    router_client, router_server = client, client
    if routed:
        router_client = _held(settings, "routers", client_lnd, notes)
        router_server = _held(settings, "routers", server_lnd, notes)
        buffers, buffer_notes = _buffers(settings)
    near = router_client if routed else server
    client_window = _window(settings, client_lnd, {"clients": client, "routers" if routed else "servers": near}, notes)
    server_window = _window(settings, server_lnd, {"routers": router_server, "servers": server}, notes) if routed else client_window
    said = tuple(f"{' and '.join(kinds)}: {note}" for note, kinds in notes.items()) + tuple(f"routers: {note}" for note in buffer_notes)
    return Lnet(
        client_lnd,
        server_lnd,
        client,
        router_client,
        router_server,
        server,
        client_window,
        server_window,
        buffers,
        said + _idle_keys(settings),
    )


def asked_of(settings: Settings, role: str, lnd: str) -> Asked:
    """Return a driver's parameters on one kind of node: its own (routers.o2ib.credits), else those of all nodes (o2ib.credits)."""

    def one(name: str) -> int | None:
        for key in (f"{role}.{lnd}.{name}", f"{lnd}.{name}"):
            if settings.is_given(key):
                return settings.number(key)
        return None

    return Asked(one("credits"), one("peer_credits"), one("peer_buffer_credits"), settings.number("lnet.peer_buffer_credits"))


def asked_buffers(settings: Settings) -> tuple[int | None, int | None, int | None]:
    """Return what a scenario sets for the pools tiny, small, large; None: not set."""
    names = [f"routers.{pool}_router_buffers" for pool in POOLS]
    tiny, small, large = (settings.number(name) if settings.is_given(name) else None for name in names)
    return tiny, small, large


def _buffers(settings: Settings) -> tuple[tuple[int, int, int], tuple[str, ...]]:
    if settings.text("release") == "1.8":
        for pool, count in zip(POOLS, asked_buffers(settings), strict=True):
            if count == 0:
                raise settings.error(f"routers.{pool}_router_buffers", "expected 1 or more: Lustre 1.8 does not route without buffers")
    return router_buffers(settings.text("release"), settings.number("cpts"), asked_buffers(settings))


def _held(settings: Settings, role: str, lnd: str, notes: dict[str, list[str]]) -> Held:
    cpts = 1 if role == "clients" else settings.number("cpts")
    held, said = hold(lnd, settings.text("release"), cpts, asked_of(settings, role, lnd), compute_node=role == "clients")
    for note in said:
        kinds = notes.setdefault(note, [])
        if role not in kinds:
            kinds.append(role)
    return held


def _window(settings: Settings, lnd: str, ends: dict[str, Held], notes: dict[str, list[str]]) -> Window | None:
    """Return o2iblnd's window between two kinds of nodes, None for another driver."""
    if lnd != "o2ib":
        return None
    release = settings.text("release")
    asked = O2ibAsked(*(settings.number(f"o2ib.{name}") for name in O2ibAsked._fields))
    (one, first), (other, second) = ends.items()
    if first.peer_credits != second.peer_credits and asked.protocol == 2:
        words = f"{one} have {first.peer_credits}, {other} {second.peer_credits}"
        if release in OLD_RELEASES:
            key = next(
                (
                    f"{role}.o2ib.{name}"
                    for role in ends
                    for name in ("peer_credits", "credits")
                    if settings.is_given(f"{role}.o2ib.{name}")
                ),
                "",
            )
            raise settings.error(
                key, f"o2ib peer_credits differ: {words}: Lustre {release} refuses the connection; set o2ib.peer_credits for all"
            )
        notes.setdefault(f"o2ib peer_credits differ ({words}): connections use the smaller", []).extend(ends)
    held, said = window(release, min(first.peer_credits, second.peer_credits), asked)
    for note in said:
        kinds = notes.setdefault(note, [])
        kinds += [role for role in ends if role not in kinds]
    return held


def _idle_keys(settings: Settings) -> tuple[str, ...]:
    """Return a note for each given key that acts on nothing here: another driver's, or a router's where there are none."""
    client_lnd, server_lnd = settings.text("network.client.lnd"), settings.text("network.server.lnd")
    routed = settings.number("routers.count") > 0
    used = {
        "clients": {client_lnd},
        "routers": {client_lnd, server_lnd} if routed else set(),
        "servers": {server_lnd if routed else client_lnd},
    }
    used[""] = set.union(*used.values())
    idle = []
    for name in settings.names():
        parts = name.removeprefix("costs.").split(".")
        role, lnd = ("", parts[0]) if parts[0] in MODULES else (parts[0], parts[1] if len(parts) > 1 else "")
        if lnd in MODULES and role in used and lnd not in used[role]:
            idle.append(f"{name} acts on nothing: no network of {'these nodes' if role else 'the scenario'} has driver {MODULES[lnd]}")
        elif role == "routers" and not routed and parts != ["routers", "count"]:
            idle.append(f"{name} acts on nothing: there are no routers")
    return tuple(idle)
