"""What a node is, told by what it has: a router forwards for others, an OSS has targets, a client mounts them."""

import fnmatch
from collections.abc import Iterable

from lnetstat.model import Snapshot, State

_BY_NAME = (
    ("OSS", ("obdfilter.*", "ost.OSS.*")),
    ("MDS", ("mds.MDS.*", "mdt.MDS.*")),
    ("MGS", ("mgs.MGS.*",)),
)
_BY_TEXT = ("routes", "buffers")
_CLIENT = ("osc.*", "mdc.*")
_OF_A_SERVER = ("*-osc-MDT*", "*-mdc-MDT*", "*-osc-mdt*")  # a server's own import of another server
ROLES = ("router", *(role for role, _ in _BY_NAME), "client")


class Roles:
    """The roles of one node, looked at again with every read."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        self.names: tuple[str, ...] = ()

    def update(self, snapshots: Iterable[Snapshot]) -> bool:
        """Take the latest reads; tell whether the roles have changed. A read that failed says nothing about what a node is."""
        for snapshot in snapshots:
            if snapshot.state is State.ABSENT:
                self._of.pop(snapshot.name, None)
            elif snapshot.state in (State.OK, State.PARTIAL) and (snapshot.name in _BY_TEXT or snapshot.name not in self._of):
                self._of[snapshot.name] = role_of(snapshot.name, snapshot.text)
        before, has = self.names, set(self._of.values())
        self.names = tuple(role for role in ROLES if role in has)
        return self.names != before


def role_of(name: str, text: str) -> str:
    """Return the role that one readable file gives a node, or an empty text."""
    if name == "routes":
        return "router" if text.startswith("Routing enabled") else ""
    if name == "buffers":  # only a router has any
        return "router" if text.count("\n") > 1 else ""
    for role, patterns in _BY_NAME:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            return role
    is_client = any(fnmatch.fnmatchcase(name, pattern) for pattern in _CLIENT)
    return "client" if is_client and not any(fnmatch.fnmatchcase(name, pattern) for pattern in _OF_A_SERVER) else ""
