"""What a file in an archive holds, told by its path: the snapshot's name, and the folder that stands for the node.

Kernel trees are recognised wherever they begin (`…/sys/kernel/debug/lnet/peers`), so are the names that capture scripts give:
`debugfs.lnet.peers`, `lnetctl_net_show_v2.yaml`, `lctl_get_param_-n_peers`, `ost.OSS.X.stats` (X stands for `*`), `peers--case.txt`.
"""

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from lnetstat.sources._stamps import without_stamp
from lnetstat.tables import table_named

ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")

_MODULES = frozenset({"lnet", "ksocklnd", "ko2iblnd", "kgnilnd"})
_SUFFIX = re.compile(r"\.(?:txt|yaml|yml|out|log|gz)\Z")
_LNETCTL = re.compile(r"lnetctl[_ ]((?:net|peer|route|routing|stats|global|export)(?:[_ ](?:show|backup))?)((?:[_ -]+v? ?\d*)*)\Z")
_LCTL = re.compile(r"lctl[_ ]get_param[_ ](?:-n[_ ])?(.+)\Z")
_STAR = re.compile(r"(?<![^.-])X(?![^.])")


class Place(NamedTuple):
    """`name`: the snapshot's name, None when only the text can tell; `base`: how many leading parts of the path stand above the layout."""

    name: str | None
    base: int


def place(parts: Sequence[str]) -> Place | None:
    """Tell what the file of this path is; None for a file of a known layout that is nothing of ours."""
    for position, part in enumerate(parts[:-1]):
        rest = parts[position:]
        if part in ("proc", "sys"):
            name = _kernel_name(rest)
            return Place(name, position) if name else None
        if part == "sos_commands":
            if rest[1] != "lustre":
                return None
            return Place(_captured_name(rest[-1]), position)
    return Place(_captured_name(parts[-1]), len(parts) - 1)


def _kernel_name(parts: Sequence[str]) -> str | None:
    """Return the name of a file below proc/ or sys/, or None."""
    match list(parts):
        case ["sys", "kernel", "debug", "lnet", name] | ["proc", "sys", "lnet", name]:
            return name if table_named(name) else None
        case ["proc", "fs", "lustre", *rest] | ["sys", "kernel", "debug", "lustre", *rest] | ["sys", "fs", "lustre", *rest]:
            name = ".".join(rest)
            return name if table_named(name) else None
        case ["proc", "sys", "lustre", name]:
            return name if table_named(name) else None
        case ["sys", "module", "ptlrpc", "parameters", "suppress_pings"]:
            return "suppress_pings"
        case ["sys", "module", module, "parameters", name] if module in _MODULES and name != "routes":
            return f"{module}.{name}"
        case ["proc", "stat"]:
            return "proc/stat"
        case ["proc", "kgnilnd", "stats"]:
            return "kgnilnd/stats"
    return None


@functools.lru_cache(maxsize=1024)
def _captured_name(file_name: str) -> str | None:
    """Return the name behind what a capture script called its file, or None when the name tells nothing."""
    name = without_stamp(plain_name(file_name).split("--", 1)[0])
    if found := _LNETCTL.match(name):
        verbosity = re.sub(r"[^0-9]", "", found[2])
        return f"lnetctl {found[1].replace('_', ' ')}" + (f" -v {verbosity}" if verbosity not in ("", "0") else "")
    if found := _LCTL.match(name):
        name = found[1]
    name = {"sysfs_lustre_version": "version", "proc_stat": "proc/stat"}.get(name, name)
    name = _STAR.sub("*", name)
    for candidate in (name.removeprefix("debugfs.lnet."), name):
        if table_named(candidate):
            return candidate
    return None


def plain_name(file_name: str) -> str:
    """Return a file's name without .txt, .yaml and the like."""
    while _SUFFIX.search(file_name):
        file_name = _SUFFIX.sub("", file_name)
    return file_name


def archive_stem(name: str) -> str | None:
    """Return the name of a tar file without its suffix, None for any other file."""
    for suffix in ARCHIVE_SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return None
