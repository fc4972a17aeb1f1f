"""Names of many nodes as ClusterShell writes them: rtr[1-8], @group. This is the one door to ClusterShell."""

import re
from collections.abc import Iterable

from lnetstat.errors import SourceError, shown

NODES_MAX = 4096
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,252}\Z", re.ASCII)  # never a dash first: ssh would take it for an option


def node_names(text: str) -> list[str]:
    """Return the names that a text stands for. Raises SourceError which names the bad text."""
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise SourceError("names of many nodes need the Python package ClusterShell: pip install 'lnetstat[remote]'") from None
    _check_ranges(text)
    try:
        names = [str(name) for name in NodeSet(text)]
    except NodeSetException as error:
        raise SourceError(f"{shown(text)}: no names of nodes: {error}: expected rtr1, rtr[1-8] or @group") from None
    for name in names:
        if not _NAME.match(name):
            raise SourceError(f"{shown(name)}: no name of a node: expected letters, digits, '.', ':', '_' and '-', which is not the first")
    if not names:
        raise SourceError(f"{shown(text)}: names no node: a group that is empty, or not known here?")
    if len(names) > NODES_MAX:
        raise SourceError(f"{shown(text)}: {len(names)} nodes: at most {NODES_MAX} can be read at once")
    return names


def _check_ranges(text: str) -> None:
    """Raise SourceError for a range that names more than can be read: unfolded, it alone would take all memory."""
    for first, last in re.findall(r"([0-9]+)-([0-9]+)", text):
        if len(first) > 9 or len(last) > 9 or int(last) - int(first) >= NODES_MAX:
            raise SourceError(f"{shown(text)}: {first}-{last}: at most {NODES_MAX} nodes can be read at once")


def folded(names: Iterable[str]) -> str:
    """Return names as one: rtr[1-3,7]."""
    from ClusterShell.NodeSet import NodeSet

    return str(NodeSet.fromlist(list(names)))
