"""Names of the simulated nodes: host names and NIDs, valid and unique over all groups."""

import re
from functools import lru_cache
from ipaddress import IPv6Address
from typing import NamedTuple

_PER_SUBNET = 254  # .1 to .254
_PER_BLOCK = 256 * _PER_SUBNET
_IPV4_BLOCKS = {"clients": 64, "router_client_side": 8, "router_server_side": 16, "servers": 24}  # 10.BLOCK.x.y; clients to 10.255
_IPV6_BLOCKS = {"clients": 1, "router_client_side": 2, "router_server_side": 3, "servers": 4}
_HOST = re.compile(r"(c|rtr|oss)(?:-g([0-9]{3,6})-)?([0-9]{1,7})", re.ASCII)


class Sizes(NamedTuple):
    """How many nodes of each kind there are: clients in all, routers and servers in each group."""

    clients: int
    routers: int
    servers: int
    groups: int
    rails: int


class Network(NamedTuple):
    """One LNet network's name, as it stands behind the @ of a NID."""

    lnd: str
    name: str
    ipv6: bool


def networks(client_lnd: str, server_lnd: str, *, ipv6: bool) -> tuple[Network, Network]:
    """Return the client and the server network of a routed system; two of one driver are tcp and tcp1. `ipv6` is about tcp only."""
    server_name = f"{server_lnd}1" if server_lnd == client_lnd else server_lnd
    return (
        Network(client_lnd, client_lnd, ipv6 and client_lnd == "tcp"),
        Network(server_lnd, server_name, ipv6 and server_lnd == "tcp"),
    )


def hosts(sizes: Sizes, group: int) -> tuple[str, ...]:
    """Return the host name of each node of a group, in node order: c00001, rtr01, oss01; with several groups rtr-g003-01."""
    return (
        *_client_hosts(sizes),
        *(_group_host("rtr", sizes.routers, sizes, group, number) for number in range(sizes.routers)),
        *(_group_host("oss", sizes.servers, sizes, group, number) for number in range(sizes.servers)),
    )


@lru_cache(maxsize=4)  # the same in every group
def _client_hosts(sizes: Sizes) -> tuple[str, ...]:
    return tuple(client_host(sizes, number) for number in range(sizes.clients))


def client_host(sizes: Sizes, number: int) -> str:
    """Return a client's host name; clients count from 0, names from 1."""
    return f"c{number + 1:0{max(5, len(str(sizes.clients)))}d}"


def router_host(sizes: Sizes, group: int, number: int) -> str:
    return _group_host("rtr", sizes.routers, sizes, group, number)


def server_host(sizes: Sizes, group: int, number: int) -> str:
    return _group_host("oss", sizes.servers, sizes, group, number)


def place_of(sizes: Sizes, host: str) -> tuple[int, int] | None:
    """Return (group, node number within the group) of a host name, None where there is none; a client counts to group 0."""
    found = _HOST.fullmatch(host)
    if not found:
        return None
    kind, group, number = found[1], int(found[2] or 1) - 1, int(found[3]) - 1
    first = {"c": 0, "rtr": sizes.clients, "oss": sizes.clients + sizes.routers}[kind]
    count = {"c": sizes.clients, "rtr": sizes.routers, "oss": sizes.servers}[kind]
    name = client_host(sizes, number) if kind == "c" else _group_host(kind, count, sizes, group, number)
    return (group, first + number) if 0 <= number < count and 0 <= group < sizes.groups and name == host else None


def _group_host(kind: str, count: int, sizes: Sizes, group: int, number: int) -> str:
    prefix = f"{kind}-g{group + 1:0{max(3, len(str(sizes.groups)))}d}-" if sizes.groups > 1 else kind
    return f"{prefix}{number + 1:0{max(2, len(str(count)))}d}"


def nids(sizes: Sizes, client_network: Network, server_network: Network, group: int) -> tuple[tuple[str, ...], ...]:
    """Return the NIDs of each node of a group, in node and NI order; a router has (client side, server side)."""
    first_router, first_server = group * sizes.routers, group * sizes.servers
    server_net = server_network if sizes.routers else client_network
    before = sizes.groups * sizes.routers if sizes.routers else sizes.clients * sizes.rails
    return (
        *_client_nids(sizes, client_network),
        *(
            (_nid(client_network, "router_client_side", router, sizes.clients), _nid(server_network, "router_server_side", router, 0))
            for router in range(first_router, first_router + sizes.routers)
        ),
        *(
            tuple(_nid(server_net, "servers", server * sizes.rails + rail, before) for rail in range(sizes.rails))
            for server in range(first_server, first_server + sizes.servers)
        ),
    )


@lru_cache(maxsize=4)
def _client_nids(sizes: Sizes, network: Network) -> tuple[tuple[str, ...], ...]:
    rails = sizes.rails
    return tuple(tuple(_nid(network, "clients", client * rails + rail, 0) for rail in range(rails)) for client in range(sizes.clients))


def _nid(network: Network, role: str, index: int, before: int) -> str:
    """Return the NID of the interface `index` of a kind of node; `before`: other interfaces, as gni counts them all."""
    if network.lnd == "gni":
        return f"{before + index + 1}@{network.name}"
    address = _ipv6(role, index) if network.ipv6 else _ipv4(role, index)
    return f"{address}@{network.name}"


def addresses(role: str) -> int:
    """Return how many interfaces of a kind of node can have an IPv4 address."""
    blocks = sorted([*_IPV4_BLOCKS.values(), 256])
    first = _IPV4_BLOCKS[role]
    return (next(block for block in blocks if block > first) - first) * _PER_BLOCK


def _ipv4(role: str, index: int) -> str:
    block, rest = divmod(index, _PER_BLOCK)
    return f"10.{_IPV4_BLOCKS[role] + block}.{rest // _PER_SUBNET}.{rest % _PER_SUBNET + 1}"


def _ipv6(role: str, index: int) -> str:
    return str(IPv6Address((0xFD00 << 112) | (_IPV6_BLOCKS[role] << 32) | (index + 1)))
