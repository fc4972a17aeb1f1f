"""Tell which node a file of an archive comes from: by the sosreport's name, by `uname` or `hostname`, by the folder above the stamp."""

import re
from collections.abc import Sequence

from lnetstat.sources._stamps import find_stamp

_SOSREPORT = re.compile(r"sosreport-(?P<host>[A-Za-z0-9_.-]+?)(?:\.\d+)?-(?:\d{14}|\d{8}|\d{4}-\d\d-\d\d)(?:-[a-z]+)?\Z")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}(?:\.[A-Za-z0-9_-]{1,63})*\Z")
_HOST_FILES = (("etc", "hostname"), ("proc", "sys", "kernel", "hostname"), ("sos_commands", "host", "hostname"), ("uname",), ("hostname",))

Parts = tuple[str, ...]


def host_file_base(parts: Sequence[str]) -> int | None:
    """Return how many parts stand above a file that holds the node's name, None for any other file."""
    for ending in _HOST_FILES:
        if tuple(parts[-len(ending) :]) == ending:
            return len(parts) - len(ending)
    return None


def short(host: str) -> str:
    """Return a host name without its domain, an address whole, with anything that stands in no host name replaced by `_`."""
    clean = re.sub(r"[^A-Za-z0-9_.:@-]", "_", host)[:64]
    return clean if re.fullmatch(r"[0-9.]+", clean) or clean.startswith(".") else clean.split(".")[0] or "unknown"


class Hosts:
    """What is known of the nodes in an archive. First learn() from every host file, then settle(), then ask host_of()."""

    def __init__(self) -> None:
        self._told: dict[Parts, str] = {}
        self._asked_for: str | None = None

    def learn(self, parts: Parts, base: int, text: str) -> None:
        """Remember the name in a file `uname` ("Linux NAME …") or `hostname` for its group of files."""
        words = text.split()
        if words[:1] == ["Linux"]:
            words = words[1:]
        if words and _HOST.match(words[0]):
            self._told.setdefault(_group(parts, base)[0], short(words[0]))

    def settle(self, asked_for: str | None) -> None:
        """From now on `asked_for`, where it is given, is the host of everything."""
        self._asked_for = asked_for

    def host_of(self, parts: Parts, base: int) -> str:
        """Return the host of a file; `base`: how many parts of its path stand above the known layout."""
        if self._asked_for:
            return self._asked_for
        for part in reversed(parts):
            if found := _SOSREPORT.match(part):
                return short(found["host"])
        group, by_name = _group(parts, base)
        return self._told.get(group) or (by_name and short(by_name)) or self._told.get(group[:-1]) or short(group[-1] if group else "")


def _group(parts: Parts, base: int) -> tuple[Parts, str]:
    """Return the folder that stands for a node, and the name that its stamped folder gives it: router1 of router1-20261120 ("" for none).

    It is the folder above the stamp when the stamped folder holds the files themselves; else the lowest folder above them.
    """
    stamp = find_stamp(parts[base - 1]) if base else None
    if stamp is None:
        return parts[:base], ""
    by_name = parts[base - 1][: stamp.begin].strip("-_.@")
    return (parts[:base], by_name) if by_name else (parts[: base - 1], "")
