"""Names of many nodes or NIDs as administrators write them: rtr[1-8], oss1,oss2, 10.10.[0-1].[1-3]@o2ib1. NodeSet of ClusterShell."""

import importlib
import re
from typing import Any

import click

from lnetstat.errors import LnetstatError, shown

_PLAIN = re.compile(r"[A-Za-z0-9_.:@-]+(?:,[A-Za-z0-9_.:@-]+)*", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_.:@-]{1,255}", re.ASCII)
MOST_NAMES = 10_000  # folding and unfolding more takes minutes
EXPECTED = "expected names such as rtr1, rtr[1-8], oss1,oss2 or @group"


class NodesType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3 only
    """A set of names in NodeSet's syntax, as a tuple in their order."""

    name = "nodeset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return parse_nodes(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def parse_nodes(text: str) -> tuple[str, ...]:
    """Return the names that a text stands for, each once.

    Raises ValueError, which quotes the text, where it stands for none; LnetstatError where ranges need ClusterShell, which is missing.
    """
    text = text.strip()
    if not text or not text.isprintable():
        raise ValueError(f"{shown(text)} names no node: {EXPECTED}")
    if _PLAIN.fullmatch(text) and not any(name.startswith("@") for name in text.split(",")):
        return tuple(dict.fromkeys(text.split(",")))
    try:
        cluster_shell = importlib.import_module("ClusterShell.NodeSet")
    except ModuleNotFoundError:
        raise LnetstatError(f"{shown(text)}: ranges and groups of names need ClusterShell: pip install 'lnetstat[remote]'") from None
    try:
        nodes = cluster_shell.NodeSet(text)
        size = len(nodes)
    except cluster_shell.NodeSetException as error:
        raise ValueError(f"{shown(text)} cannot be read as names of nodes: {shown(str(error), 100)}: {EXPECTED}") from None
    if not 0 < size <= MOST_NAMES:
        what = "names no node (does the group exist?)" if not size else f"names {size} nodes, more than {MOST_NAMES}"
        raise ValueError(f"{shown(text)} {what}: {EXPECTED}")
    names = tuple(map(str, nodes))
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{shown(name)} is no name of a node: {EXPECTED}")
    return names
