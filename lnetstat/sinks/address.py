"""Addresses of Carbon as people write them: HOST:PORT, or several with commas between, of which the first that answers is used."""

import socket

from lnetstat.errors import SinkError

Address = tuple[str, int]


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Return the (host, port) of `HOST:PORT[,HOST:PORT…]`, in order. Raises SinkError that says what is wrong with which."""
    addresses = tuple(parse_address(part) for part in text.split(","))
    twice = next((address for position, address in enumerate(addresses) if address in addresses[:position]), None)
    if twice is not None:
        raise SinkError(f"address '{text}': {name(twice)} is named twice: a destination and those that stand in for it must differ")
    return addresses


def parse_address(text: str) -> Address:
    """Return (host, port) of `HOST:PORT` or `[IPV6]:PORT`. Raises SinkError that says what is wrong with it."""
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit()) or not 1 <= int(port) <= 65_535:
        raise SinkError(f"address '{text}': expected HOST:PORT with a port from 1 to 65535, for example localhost:2003 or [fd00::1]:2003")
    if not host.isascii() or not host.isprintable() or " " in host or "/" in host:
        raise SinkError(f"address '{text}': '{host}' is not a host name (no http:// here: Carbon speaks plain TCP)")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if not _is_ipv6(host):
            raise SinkError(f"address '{text}': '{host}' is not an IPv6 address")
    elif ":" in host:
        raise SinkError(f"address '{text}': an IPv6 address needs brackets before the port: [fd00::1]:2003")
    return host, int(port)


def name(address: Address) -> str:
    """Return the address as it is written."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_ipv6(text: str) -> bool:
    try:
        socket.inet_pton(socket.AF_INET6, text.partition("%")[0])
    except OSError:
        return False
    return True
