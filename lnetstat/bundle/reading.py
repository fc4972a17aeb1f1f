"""What goes into a bundle: some samples of all files that lnetstat reads, what it knows of this node, the agent's word."""

import errno
import json
import os
import platform
import re
import stat
import threading
import tomllib
from collections.abc import Iterable
from typing import Any, NamedTuple

from lnetstat import __version__
from lnetstat.agent.status import STATUS_PATH
from lnetstat.config import KEYS
from lnetstat.model import Snapshot
from lnetstat.sources.live import LiveSource
from lnetstat.sources.node import Found, Node, look, this_node

CONFIG_PATH = "/etc/lnetstat/lnetstat.toml"
DEADLINE_S = 2.0
TOTAL_BYTES_MAX = 256 << 20
FILE_BYTES_MAX = 64 << 20  # more than that no archive is read
ABOUT_BYTES_MAX = 1 << 20
_OF_SYSTEM = ("proc/version", "sys/fs/lustre/version", "proc/fs/lustre/version", "sys/module/lnet/version", "etc/os-release")
_NAMING = ("host", "carbon.to", "prometheus.listen")


class Material(NamedTuple):
    """What was read. `samples`: one list of snapshots a sample; `about`: file name -> text, beside them; `hosts`: names that may occur.

    `left_out`: what was not taken and why, one line each; `links_out`: whether links that lead out of the tree are among it.
    """

    samples: list[list[Snapshot]]
    about: dict[str, str]
    hosts: list[str]
    left_out: list[str]
    links_out: bool = False


def read_node(root: str, *, samples: int, interval_s: float, config: str | None = None, status: str | None = None) -> Material:
    """Read this node, or a tree. Raises SourceError where `root` is no folder; nothing outside it is read through links."""
    left_out: list[str] = []
    node = this_node() if os.path.realpath(root) == "/" else Node(os.path.abspath(root))
    names = None if node.root == "/" or not os.path.isdir(root) else [_literally(name) for name in _names_inside(node, left_out)]
    links_out = bool(left_out)
    hosts = _hosts_of(node) or [os.uname().nodename]
    source = LiveSource(root, names=names, host=hosts[0].split(".")[0], deadline_s=DEADLINE_S)
    try:
        taken = _samples(source, samples, interval_s, left_out)
    finally:
        source.close()
    hosts.insert(0, source.host)
    about = {"system.txt": _system(node, left_out)}
    for name, path, read in (
        ("agent-config.json", config or node.path(CONFIG_PATH.lstrip("/")), _config),
        ("agent-status.json", status or node.path(STATUS_PATH.lstrip("/")), _status),
    ):
        try:
            text = read_inside("/" if config or status else node.root, path)
            about[name] = json.dumps(read(text, hosts), indent=2) + "\n"
        except OSError as error:
            left_out.append(f"{path}: {error.strerror}")
        except (ValueError, RecursionError, AttributeError, TypeError):
            left_out.append(f"{path}: not in the form that lnetstat writes")
    return Material(taken, about, hosts, left_out, links_out)


def _samples(source: LiveSource, count: int, interval_s: float, left_out: list[str]) -> list[list[Snapshot]]:
    taken: list[list[Snapshot]] = []
    room = TOTAL_BYTES_MAX
    for number in range(count):
        if number:
            threading.Event().wait(interval_s)
        kept = []
        for snapshot in source.snapshots():
            size = len(snapshot.text)
            if size > min(room, FILE_BYTES_MAX):
                left_out.append(f"{snapshot.name}: {size} characters: a bundle holds {TOTAL_BYTES_MAX >> 20} MiB in all")
                continue
            room -= size
            kept.append(snapshot)
        taken.append(kept)
    return taken


def _literally(name: str) -> str:
    """Return the pattern that matches a name and nothing else."""
    return re.sub(r"([*?[])", r"[\1]", name)


def _names_inside(node: Node, left_out: list[str]) -> list[str]:
    """Return the names of all files of a tree that lie in it, also when links are followed."""
    found: Found = look(node)
    names = []
    for target in (target for group in found for target in group):
        if is_inside(node.root, target.path):
            names.append(target.name)
        else:
            left_out.append(f"{target.path}: a link that leads out of {node.root}: not followed")
    return names


def is_inside(root: str, path: str) -> bool:
    """Whether a path lies below a root once all links are followed."""
    top = os.path.realpath(root)
    return os.path.commonpath([top, os.path.realpath(path)]) == top


def read_inside(root: str, path: str) -> str:
    """Return the text of a regular file below a root. Raises OSError."""
    if not is_inside(root, path):
        raise OSError(errno.EXDEV, f"a link that leads out of {root}: not followed")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a file")
        data = file.read(ABOUT_BYTES_MAX + 1)
    if len(data) > ABOUT_BYTES_MAX:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data.decode("utf-8", "replace")


def _hosts_of(node: Node) -> list[str]:
    """Return the names that a node has for itself."""
    names = [os.uname().nodename] if node.root == "/" else []
    for path in ("proc/sys/kernel/hostname", "etc/hostname"):
        try:
            names.append(read_inside(node.root, node.path(path)).strip())
        except OSError:
            continue
    return [name for name in names if name]


def _system(node: Node, left_out: list[str]) -> str:
    lines = [f"lnetstat {__version__}", f"Python {platform.python_version()}"]
    if node.root == "/":
        lines.append(f"uname: {' '.join(os.uname())}")
    for path in _OF_SYSTEM:
        try:
            text = read_inside(node.root, node.path(path)).strip()
        except OSError as error:
            left_out.append(f"{node.path(path)}: {error.strerror}")
            continue
        lines += [f"/{path}:", *(f"    {line}" for line in text.splitlines())]
    return "\n".join(lines) + "\n"


def _config(text: str, hosts: list[str]) -> dict[str, Any]:
    """Return the settings of the agent's file: no comments, which may hold anything, and no keys that are not ours."""
    shown: dict[str, Any] = {}
    document = tomllib.loads(text)
    for key in KEYS:
        section, dot, inner = key.name.rpartition(".")
        value = (document.get(section) or {}).get(inner) if dot else document.get(inner)
        if value is None:
            continue
        if key.name in _NAMING:
            hosts += _addresses([value] if isinstance(value, str) else value)
        shown[key.name] = "(not shown)" if key.name == "prefix" and value != "lnet" else value
    return shown


def _status(text: str, hosts: list[str]) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(text)
    hosts += [str(status.get("host", "")), *_addresses([each["name"] for each in status.get("destinations", [])])]
    hosts += _addresses([status.get("prometheus") or ""])
    return status


def _addresses(places: Iterable[str]) -> list[str]:
    """Return the hosts of HOST:PORTs, with commas or spaces between."""
    return [part.rpartition(":")[0] or part for place in places for part in re.split(r"[,\s]+", str(place))]
