"""An option for names of many nodes as administrators write them: rtr[1-8], oss1,oss2, @group. A plain list needs no ClusterShell."""

import re
from collections.abc import Collection, Iterable
from typing import Any

import click

from lnetstat.errors import SourceError, shown
from lnetstat.words import printable

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*(?:,[A-Za-z0-9_][A-Za-z0-9_.:-]*)*", re.ASCII)
EXPECTED = "expected names such as rtr1, rtr[1-8], oss1,oss2 or @group"


class NodesType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3 only
    """A set of names in NodeSet's syntax, as a tuple in their order."""

    name = "nodeset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return parse_nodes(str(value))
        except SourceError as error:
            self.fail(str(error), param, ctx)


def parse_nodes(text: str) -> tuple[str, ...]:
    """Return the names that a text stands for, each once. Raises SourceError, which quotes what is wrong."""
    text = text.strip()
    if not text or not text.isprintable():
        raise SourceError(f"{shown(text)} names no node: {EXPECTED}")
    if _PLAIN.fullmatch(text):
        return tuple(dict.fromkeys(text.split(",")))
    from lnetstat.remote.names import node_names

    return tuple(dict.fromkeys(node_names(text)))


def hosts_of(texts: Iterable[str], known: Collection[str], where: str) -> tuple[str, ...]:
    """Return the hosts of a record that texts stand for, each once: rtr[1-8], @group, or the very name of a host, whatever is in it.

    Raises SourceError for what is no set of names, and for a host that the record does not hold. `where`: the record, for that.
    """
    hosts = [name for text in texts for name in ((text,) if text in known else parse_nodes(text))]
    for host in hosts:
        if host not in known:
            raise SourceError(f"{where}: no host {printable(host)}: it holds {printable(', '.join(known)) or 'nothing yet'}")
    return tuple(dict.fromkeys(hosts))
