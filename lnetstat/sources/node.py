"""What a node has to read, and where: LNet's tables, service statistics, tunables. Looks at file names only; reads no file."""

import glob
import os
import stat
from typing import NamedTuple

from lnetstat.sources.commands import find_command
from lnetstat.tables import table_named

# Cheapest and most telling first, so that their stamps lie closest to the tick; `peers` is the long one.
LNET_TABLES = ("stats", "buffers", "nis", "routes", "routers", "peers")
MADE_ANEW_AT_EACH_READ = frozenset({"stats", "buffers"})

_SERVICE_FOLDERS = ("proc/fs/lustre", "sys/kernel/debug/lustre")
_SERVICE_STATS = (
    "ost/OSS/*/stats",
    "mds/MDS/*/stats",
    "mdt/MDS/*/stats",  # where Lustre 1.8 keeps those of the MDS
    "mgs/MGS/*/stats",
    "obdfilter/*/stats",
    "osc/*/stats",
    "mdc/*/stats",
)
_TUNABLES = {
    "timeout": ("sys/fs/lustre/timeout", "proc/sys/lustre/timeout"),
    "ping_interval": ("sys/fs/lustre/ping_interval",),
    "evict_multiplier": ("sys/fs/lustre/evict_multiplier",),
    "version": ("sys/fs/lustre/version", "proc/fs/lustre/version"),
    "suppress_pings": ("sys/module/ptlrpc/parameters/suppress_pings",),
    "cpu_partition_table": ("sys/kernel/debug/lnet/cpu_partition_table", "proc/sys/lnet/cpu_partition_table"),
}
_MODULES = ("lnet", "ksocklnd", "ko2iblnd", "kgnilnd")
_OTHER_MEANING = frozenset({"lnet.routes"})  # as a snapshot's name this is the table, not the module parameter

# never `peer show`: it is cut short with many peers, and can crash the kernel of 2.17
_LNETCTL = {"lnetctl net show": ("net", "show", "-v", "2"), "lnetctl stats show": ("stats", "show")}


class Target(NamedTuple):
    """One thing to read: the file `path`, or what `command` prints where that is not empty."""

    name: str
    path: str
    command: tuple[str, ...] = ()


class Found(NamedTuple):
    """All targets of a node, by how often they are read."""

    lnet: tuple[Target, ...]
    services: tuple[Target, ...]
    tunables: tuple[Target, ...]
    commands: tuple[Target, ...]


class Node(NamedTuple):
    """Where to look. `root`: "/" or a copied tree; `lnet_folder`: the one folder that holds LNet's tables, or None to look for it.

    `lctl`, `lnetctl`: paths of these programs, None where they must not be used (any tree that is not this node itself).
    """

    root: str
    lnet_folder: str | None = None
    lctl: str | None = None
    lnetctl: str | None = None

    def path(self, relative: str) -> str:
        return os.path.join(self.root, relative)

    @property
    def expects_lnet(self) -> bool:
        """Whether LNet's tables are reported even when none was ever there."""
        return self.root != "/" or self.lnet_folder is not None


def this_node() -> Node:
    """Return the node that this process runs on."""
    return Node("/", None, find_command("lctl"), find_command("lnetctl"))


def look(node: Node) -> Found:
    """Find everything that the node has to read now."""
    return Found(look_for_lnet(node), _services(node), _tunables(node), _commands(node))


def look_for_lnet(node: Node) -> tuple[Target, ...]:
    """Return a target for each of LNet's tables, or none where this node has no LNet at all."""
    targets = [_lnet_table(node, name) for name in LNET_TABLES]
    loaded = os.path.exists(node.path("sys/module/lnet"))
    here = any(target.command or os.path.exists(target.path) for target in targets)
    return tuple(targets) if here or loaded or node.expects_lnet else ()


def _lnet_table(node: Node, name: str) -> Target:
    paths = _lnet_paths(node, name)
    for path in paths:
        if os.path.exists(path):
            return Target(name, path)
    if node.lctl and os.path.exists(node.path("sys/module/lnet")):
        return Target(name, paths[0], (node.lctl, "get_param", "-n", name))
    return Target(name, next((path for path in paths if _forbidden(path)), paths[0]))


def _lnet_paths(node: Node, name: str) -> list[str]:
    if node.lnet_folder is not None:
        return [os.path.join(node.lnet_folder, name)]
    table = table_named(name)
    paths = list(table.paths) if table else []
    if node.root != "/":
        paths.append(name)  # a folder that holds the tables themselves
    return [node.path(path) for path in paths]


def _services(node: Node) -> tuple[Target, ...]:
    found: dict[str, Target] = {}
    for folder in _SERVICE_FOLDERS:
        base = node.path(folder)
        for pattern in _SERVICE_STATS:
            for path in sorted(glob.glob(os.path.join(glob.escape(base), pattern))):
                name = os.path.relpath(path, base).replace("/", ".")
                found.setdefault(name, Target(name, path))
    if os.path.exists(node.path("proc/stat")):
        found["proc/stat"] = Target("proc/stat", node.path("proc/stat"))
    return tuple(found.values())


def _tunables(node: Node) -> tuple[Target, ...]:
    found = []
    for name, candidates in _TUNABLES.items():
        paths = [node.path(path) for path in candidates]
        if node.lnet_folder is not None and name == "cpu_partition_table":
            paths = [os.path.join(node.lnet_folder, name)]
        found += [Target(name, path) for path in paths if os.path.exists(path)][:1]
    for module in _MODULES:
        for path in sorted(glob.glob(os.path.join(glob.escape(node.path(f"sys/module/{module}/parameters")), "*"))):
            name = f"{module}.{os.path.basename(path)}"
            if name not in _OTHER_MEANING and _may_be_read(path):
                found.append(Target(name, path))
    return tuple(found)


def _may_be_read(path: str) -> bool:
    """Whether the file's mode allows its owner to read it: some module parameters can only be written."""
    try:
        return bool(os.stat(path).st_mode & stat.S_IRUSR)
    except OSError:
        return False


def _commands(node: Node) -> tuple[Target, ...]:
    if not node.lnetctl or not os.path.exists(node.path("sys/module/lnet")):
        return ()
    return tuple(Target(name, "", (node.lnetctl, *words)) for name, words in _LNETCTL.items())


def _forbidden(path: str) -> bool:
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return False
