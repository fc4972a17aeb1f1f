"""Metric path nodes: what the world calls things, in the characters Carbon keeps. Different names never meet in one node.

Perl and Python share one table of cases: sample-data/paths.tsv.
"""

import re
from functools import lru_cache

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?\Z", re.ASCII)
_NET = r"(?P<net>[a-z][a-z0-9]*)\Z"
_IPV4_NID = re.compile(
    r"(?P<address>(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9]))@" + _NET, re.ASCII
)
_NUMBER_NID = re.compile(r"(?P<address>[0-9]{1,10})@" + _NET, re.ASCII)
_IPV6_NID = re.compile(r"(?P<address>(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4})@" + _NET, re.ASCII)
_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z", re.ASCII)
_PARAMETER = re.compile(r"(?P<kind>[a-z]+)\.(?P<rest>[A-Za-z0-9_-]*[A-Z-][A-Za-z0-9_-]*)\Z", re.ASCII)
LONGEST_BYTES = 90


def host_node(host: str) -> str:
    """Return the node of a host name: dots become underscores; anything that is no host name becomes hex."""
    return host.replace(".", "_") if _HOST.match(host) and ".." not in host else _hex(host)


@lru_cache(maxsize=512)
def nid_node(nid: str) -> str:
    """Return the node of a NID: 10.10.1.2@o2ib1 -> 10_10_1_2_at_o2ib1, fd00::1@tcp -> fd00--1_at_tcp; no NID -> hex."""
    for pattern in (_IPV4_NID, _NUMBER_NID, _IPV6_NID):
        found = pattern.match(nid)
        if found:
            return found["address"].replace(".", "_").replace(":", "-") + "_at_" + found["net"]
    return _hex(nid)


def net_node(net: str) -> str:
    """Return the node of a net: o2ib1 stays."""
    return net if net.isascii() and net.isalnum() else _hex(net)


@lru_cache(maxsize=512)
def name_node(name: str) -> str:
    """Return the node of a counter or of a counters' instance: ost_io and obd_ping stay, obdfilter.FS-OST0000 -> obdfilter_FS-OST0000.

    A dotted name keeps a readable node only where no identifier can have the same one; every other name becomes hex.
    """
    if _IDENTIFIER.match(name):
        return name
    found = _PARAMETER.match(name)
    return f"{found['kind']}_{found['rest']}" if found else _hex(name)


def _hex(name: str) -> str:
    data = name.encode("utf-8", "surrogateescape")
    if len(data) > LONGEST_BYTES:
        import hashlib  # brings OpenSSL, 3 MB: only for the one name in a million that is so long

        return "__" + data[:60].hex() + "_" + hashlib.sha256(data).hexdigest()[:16]
    return "__" + data.hex()
