"""A scenario: a readable TOML file (or a preset) with --set on top, checked, clamped as the drivers do, and turned into plans.

scenario = load_scenario("paper-untuned", {"o2ib.peer_credits": "16"})
plan = scenario.plan(0)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lnetstat.errors import SimulatorError
from lnetstat.simulator.plan import Plan
from lnetstat.simulator.scenario import naming
from lnetstat.simulator.scenario.checks import check, check_addresses, check_hosts
from lnetstat.simulator.scenario.groups import plan_of
from lnetstat.simulator.scenario.nodes import node_tunables, remarks
from lnetstat.simulator.scenario.parameters import Lnet, lnet_of
from lnetstat.simulator.scenario.reading import preset_text, presets, read_settings
from lnetstat.simulator.scenario.rpc_times import check_rpc_times
from lnetstat.simulator.scenario.settings import Settings

__all__ = ["Scenario", "load_scenario", "preset_text", "presets"]


@dataclass(frozen=True)
class Scenario:
    """One simulated system. Groups count from 0; nodes of a group: clients, then routers, then servers (docs/simulator-model.md)."""

    name: str
    about: str
    release: str
    seed: int
    start_ns: int  # epoch ns of simulated time 0
    duration_ns: int
    sample_ns: int
    observe: tuple[str, ...]  # hosts whose text is written
    notes: tuple[str, ...]  # what was clamped and why, in words
    groups: int
    sizes: naming.Sizes
    settings: Settings = field(repr=False)
    lnet: Lnet = field(repr=False)
    networks: tuple[naming.Network, naming.Network] = field(repr=False)

    def plan(self, group: int) -> Plan:
        """Return the integer plan of one group."""
        return plan_of(self.settings, self.lnet, self.sizes, self._checked(group))

    def hosts(self, group: int) -> tuple[str, ...]:
        """Return the host name of each node of a group, in node order."""
        return naming.hosts(self.sizes, self._checked(group))

    def nids(self, group: int) -> tuple[tuple[str, ...], ...]:
        """Return the NIDs of each node's interfaces, in NI order; a router has (client side, server side)."""
        return naming.nids(self.sizes, *self.networks, self._checked(group))

    def observed(self, group: int) -> tuple[int, ...]:
        """Return the node numbers of a group's observed hosts, in node order."""
        places = (naming.place_of(self.sizes, host) for host in self.observe)
        return tuple(sorted({place[1] for place in places if place and place[0] == self._checked(group)}))

    def tunables(self, node: int) -> dict[str, str]:
        """Return what the node's `tunables` table says: timeouts, and parameters as set (NAME) and as they hold (NAME.holds)."""
        return node_tunables(self.settings, self.lnet, self.sizes, node)

    def _checked(self, group: int) -> int:
        if not 0 <= group < self.groups:
            raise SimulatorError(f"{self.name}: there is no group {group}: expected 0 to {self.groups - 1}")
        return group


def load_scenario(name_or_path: str, settings: Mapping[str, str] | None = None) -> Scenario:
    """Return the scenario of a preset's name or a TOML file, with `settings` (dotted key -> text, as --set gives them) on top.

    Raises SimulatorError, one line: file, key, what was written and what was expected.
    """
    name, checked = read_settings(name_or_path, settings or {})
    check(checked)
    counts = (checked.number(key) for key in ("clients.count", "routers.count", "servers.count", "groups", "rails"))
    sizes = naming.Sizes(*counts)
    check_addresses(checked, sizes)
    check_hosts(checked, sizes)
    lnet = lnet_of(checked)
    check_rpc_times(checked, lnet)
    ipv6 = bool(checked.number_or("network.ipv6", checked.text("release") == "2.16"))
    return Scenario(
        name=name,
        about=checked.text("about"),
        release=checked.text("release"),
        seed=checked.number("run.seed"),
        start_ns=checked.number("run.start"),
        duration_ns=checked.number("run.duration"),
        sample_ns=checked.number("run.sample"),
        observe=_observe(checked, sizes),
        notes=lnet.notes + remarks(checked),
        groups=sizes.groups,
        sizes=sizes,
        settings=checked,
        lnet=lnet,
        networks=naming.networks(lnet.client_lnd, lnet.server_lnd, ipv6=ipv6),
    )


def _observe(settings: Settings, sizes: naming.Sizes) -> tuple[str, ...]:
    """Return the hosts to observe: what is set, else the first router (without routers the first client) and the first server."""
    if settings.is_given("observe.hosts"):
        return tuple(dict.fromkeys(settings.list_of("observe.hosts")))
    first = naming.router_host(sizes, 0, 0) if sizes.routers else naming.client_host(sizes, 0)
    return first, naming.server_host(sizes, 0, 0)
