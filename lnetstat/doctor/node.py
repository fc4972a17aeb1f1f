"""What this node offers: each table of LNet with the files that were tried, services, roles, versions, programs."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from lnetstat.agent.roles import Roles
from lnetstat.doctor.apart import Hangs, apart
from lnetstat.doctor.checks import Check, Level, counted
from lnetstat.model import Snapshot, State
from lnetstat.sources.lanes import Job, Lanes
from lnetstat.sources.live import LiveSource
from lnetstat.sources.node import LNET_TABLES, Found, Node, Target, look, this_node
from lnetstat.tables import samples, table_named

LOOK_DEADLINE_S = 5.0
READ_DEADLINE_S = 2.0
EXAMINE_DEADLINE_S = 30.0  # for all of it: beyond that even asking for a file's name hangs
DMESG = "see dmesg: the kernel's side hangs"
DEBUGFS = "sys/kernel/debug"
CONFIGURE = "lnetctl lnet configure, or lctl network up"


class Seen(NamedTuple):
    """One look at a node: what there is, and what each file said. `found` is None where even looking at names did not end."""

    node: Node
    found: Found | None
    snapshots: dict[str, Snapshot]

    @property
    def is_live(self) -> bool:
        return self.node.root == "/"

    @property
    def has_module(self) -> bool:
        return os.path.exists(self.node.path("sys/module/lnet"))

    @property
    def version(self) -> str:
        """The release of Lustre, empty where it does not tell."""
        snapshot = self.snapshots.get("version")
        text = snapshot.text.strip() if snapshot and snapshot.state is State.OK else ""
        return text.splitlines()[0].removeprefix("lustre:").strip() if text else ""

    @property
    def files(self) -> int:
        """How many files the agent reads here."""
        return sum(len(targets) for targets in self.found) if self.found else 0


def examine(root: str) -> tuple[Seen, list[Check]]:
    """Look at a node and check it, in a process of its own: this one ends whatever hangs. Raises SourceError as look_at does."""
    try:
        return apart(lambda: _seen_and_checked(root), EXAMINE_DEADLINE_S)
    except Hangs:
        what = f"{root}: asking for files did not end within {EXAMINE_DEADLINE_S:g} s"
        return Seen(_node_of(root), None, {}), [Check(Level.CRITICAL, "node", what, DMESG)]


def _seen_and_checked(root: str) -> tuple[Seen, list[Check]]:
    seen = look_at(root)
    return seen, list(node_checks(seen))


def _node_of(root: str) -> Node:
    return this_node() if os.path.realpath(root) == "/" else Node(os.path.abspath(root))


def look_at(root: str) -> Seen:
    """Read everything once, each file with a deadline. Raises SourceError where `root` is no folder."""
    node = _node_of(root)
    source = LiveSource(root, deadline_s=READ_DEADLINE_S)
    looks: Lanes[Found] = Lanes()
    try:
        looks.start([Job("look", lambda: look(node))])
        looks.wait(["look"], LOOK_DEADLINE_S)
        found = looks.take().get("look")
        snapshots = {snapshot.name: snapshot for snapshot in source.snapshots()} if found else {}
    finally:
        looks.close()
        source.close()
    return Seen(node, found, snapshots)


def node_checks(seen: Seen, *, is_root: Callable[[], bool] = lambda: os.geteuid() == 0) -> Iterator[Check]:
    """Yield what the node has and what keeps it from being read."""
    if seen.found is None:
        what = f"looking at the names of files did not end within {LOOK_DEADLINE_S:g} s"
        yield Check(Level.CRITICAL, "node", what, DMESG)
        return
    yield from _ground(seen)
    for name in LNET_TABLES:
        yield _table(seen, name, is_root())
    yield from _services(seen, is_root())
    yield from _hanging(seen)
    yield from _about(seen)


def _ground(seen: Seen) -> Iterator[Check]:
    """Yield whether LNet is loaded and debugfs is mounted: what all tables stand on."""
    if seen.has_module:
        yield Check(Level.OK, "lnet module", "loaded")
    elif seen.is_live:
        yield Check(Level.UNKNOWN, "lnet module", f"not loaded: {seen.node.path('sys/module/lnet')} is not there", "modprobe lnet")
    mounted = debugfs_mounted(seen.node)
    if mounted is not None and (mounted or not os.path.isdir(seen.node.path("proc/sys/lnet"))):
        level, what = (Level.OK, "mounted") if mounted else (Level.UNKNOWN, f"not mounted at /{DEBUGFS}")
        yield Check(level, "debugfs", what, "" if mounted else f"mount -t debugfs none /{DEBUGFS}")


def debugfs_mounted(node: Node) -> bool | None:
    """Whether debugfs is mounted where LNet's files are; None where that cannot be told."""
    try:
        with open(node.path("proc/mounts"), encoding="utf-8", errors="replace") as file:
            mounts = [line.split() for line in file]
    except OSError:
        return None
    return any(len(words) > 2 and words[2] == "debugfs" and words[1] == f"/{DEBUGFS}" for words in mounts)


class Tried(NamedTuple):
    """One path that was tried, and the error that it gave (0: it is there)."""

    path: str
    errno: int

    def __str__(self) -> str:
        return f"{self.path} ({os.strerror(self.errno) if self.errno else 'there'})"


def tried(node: Node, name: str) -> list[Tried]:
    """Return every path where a table of LNet could be, in the order of trying."""
    table = table_named(name)
    paths = [node.path(path) for path in (table.paths if table else ())]
    if node.root != "/":
        paths.append(node.path(name))
    return [Tried(path, _error_of(path)) for path in paths]


def _error_of(path: str) -> int:
    try:
        os.stat(path)
    except OSError as error:
        return error.errno or errno.EIO
    return 0 if os.access(path, os.R_OK, effective_ids=True) else errno.EACCES


def _table(seen: Seen, name: str, is_root: bool) -> Check:
    assert seen.found is not None
    where = next((" ".join(target.command) or target.path for target in seen.found.lnet if target.name == name), "")
    snapshot = seen.snapshots.get(name)
    check_name = f"table {name}"
    if snapshot is None or snapshot.state in (State.ABSENT, State.FORBIDDEN):
        attempts = tried(seen.node, name)
        if snapshot is None and any(each.path == where and each.errno == 0 for each in attempts):
            return Check(Level.CRITICAL, check_name, _hangs(where), DMESG)
        forbidden = any(each.errno in (errno.EACCES, errno.EPERM) for each in attempts) or (
            snapshot is not None and snapshot.state is State.FORBIDDEN
        )
        what = f"{'may not be read' if forbidden else 'not found'}: tried {', '.join(map(str, attempts))}"
        return Check(Level.UNKNOWN, check_name, what, _remedy(seen, forbidden, is_root))
    if snapshot.errno == errno.ETIMEDOUT:
        return Check(Level.CRITICAL, check_name, _hangs(where), DMESG)
    if snapshot.state is State.FAILED:
        what = f"{where}: cannot be read: {os.strerror(snapshot.errno)} (errno {snapshot.errno})"
        return Check(Level.CRITICAL, check_name, what, f"{CONFIGURE}, if LNet is not configured")
    return _parsed(check_name, name, where, snapshot)


def _hangs(where: str) -> str:
    return f"{where}: hangs: no answer within {READ_DEADLINE_S:g} s"


def _parsed(check_name: str, name: str, where: str, snapshot: Snapshot) -> Check:
    read = list(samples(snapshot))
    sample = read[0] if read else None
    rows = sum(len(each.rows) for each in read)
    problem = next((problem for each in read for problem in each.problems), None)
    if sample is None or sample.state is State.FAILED or problem:
        why = f"line {problem.line}: {problem.text}: expected {problem.expected}" if problem else "no known layout"
        remedy = (
            "please send us this file: no release that we know writes it so" if snapshot.text.strip() else f"{CONFIGURE}: the file is empty"
        )
        return Check(Level.WARNING, check_name, f"{where}: {counted(rows, 'row')}, but {why}", remedy)
    if snapshot.state is State.PARTIAL:
        what = f"{where}: {counted(rows, 'row')}, the table changed in each of several reads"
        return Check(Level.WARNING, check_name, what, "peers come and go very fast: counts of them are approximate")
    if name == "nis" and rows == 0:
        return Check(Level.WARNING, check_name, f"{where}: no interface", f"{CONFIGURE}: LNet has no network")
    return Check(Level.OK, check_name, f"{where}: {counted(rows, 'row')}")


def _remedy(seen: Seen, forbidden: bool, is_root: bool) -> str:
    """Return the one thing to do first."""
    if seen.is_live and not seen.has_module:  # before all: without rights nobody sees that there is nothing to see
        return "modprobe lnet"
    if forbidden and is_root and seen.is_live:
        return (
            "root may not read it: is the kernel locked down (cat /sys/kernel/security/lockdown), or SELinux against it (ausearch -m avc)?"
        )
    if forbidden:
        return "run as root: sudo lnetstat …"
    if not seen.is_live:
        return f"a tree with proc/ and sys/, or a folder that holds the tables themselves: is {seen.node.root} one?"
    if debugfs_mounted(seen.node) is False:
        return f"mount -t debugfs none /{DEBUGFS}"
    return f"{CONFIGURE}: LNet is loaded but has no such file"


def _services(seen: Seen, is_root: bool) -> Iterator[Check]:
    assert seen.found is not None
    targets = [target for target in seen.found.services if target.name != "proc/stat"]
    states = [(target, seen.snapshots[target.name].state) for target in targets if not _is_hanging(seen, target)]
    unread = [target.path for target, state in states if state not in (State.OK, State.PARTIAL, State.ABSENT)]
    if unread:
        what = f"{counted(len(unread), 'file')} of {len(states)} cannot be read: {unread[0]}"
        yield Check(Level.UNKNOWN, "services", what, _remedy(seen, True, is_root))
    elif states:
        yield Check(Level.OK, "services", f"{counted(len(states), 'file')}: {_some(target.name for target, _ in states)}")
    else:
        yield Check(Level.OK, "services", "none here: no targets, no mounts")
    roles = Roles()
    roles.update(seen.snapshots.values())
    if any(name in seen.snapshots and seen.snapshots[name].state is State.OK for name in LNET_TABLES):
        yield Check(Level.OK, "roles", ", ".join(roles.names) or "none: an LNet node that neither routes nor serves nor mounts")
    else:
        yield Check(Level.UNKNOWN, "roles", "cannot be told: no table of LNet can be read")


def _hanging(seen: Seen) -> Iterator[Check]:
    """Yield the files beside LNet's tables whose reads did not come back: statistics, tunables, what lnetctl is asked."""
    assert seen.found is not None
    hanging = [target for target in (*seen.found.services, *seen.found.tunables, *seen.found.commands) if _is_hanging(seen, target)]
    if hanging:
        where = _some(" ".join(target.command) or target.path for target in hanging)
        yield Check(Level.CRITICAL, "hanging files", f"no answer within {READ_DEADLINE_S:g} s: {where}", DMESG)


def _is_hanging(seen: Seen, target: Target) -> bool:
    """Whether a read did not come back, or had to wait for others that did not."""
    snapshot = seen.snapshots.get(target.name)
    return snapshot is None or snapshot.errno == errno.ETIMEDOUT


def _some(names: Iterable[str], most: int = 4) -> str:
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def _about(seen: Seen) -> Iterator[Check]:
    """Yield release, programs, and what must never be called."""
    node = seen.node
    if seen.is_live:
        for program, path in (("lctl", node.lctl), ("lnetctl", node.lnetctl)):
            yield Check(Level.OK, program, path or "not on PATH: needed only where the kernel's files cannot be read, and for health")
    if seen.version:
        yield Check(Level.OK, "release", f"Lustre {seen.version}")
    if seen.version.startswith("2.17"):
        what = f"on {seen.version} `lnetctl peer show -v` can crash the kernel (seen with 161 peers; without -v it is cut short)"
        yield Check(Level.WARNING, "lnetctl peer show", what, "never call it here; lnetstat does not: lnetstat dump shows the peers")
