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


class HostsType(click.ParamType):  # type: ignore[type-arg]
    """Hosts of a record in NodeSet's syntax, kept as they were typed: which they are is told by `chosen`, with the hosts of the record."""

    name = "nodeset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip():
            self.fail(f"{shown(str(value))} names no node (an unset shell variable?): {EXPECTED}", param, ctx)
        return str(value)


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


def chosen(text: str, known: Collection[str], where: str) -> tuple[str, ...]:
    """Return those hosts of a record that a text names, each once: by its very name, whatever is in it, or as a set of names.

    Raises SourceError for what is no set of names, and where the record (`where`) holds none of them.
    """
    names = (text,) if text in known else parse_nodes(text)
    found = tuple(dict.fromkeys(name for name in names if name in known))
    if not found:
        raise SourceError(f"{where}: no host {printable(text)}: it holds {printable(', '.join(known)) or 'nothing yet'}")
    return found


def missing(text: str | None, found: Collection[str]) -> list[str]:
    """Return a line on those named that are in none of what was read; nothing where all are missing, which is told for each input."""
    names = parse_nodes(text) if text and found and text not in found else ()
    absent = [name for name in names if name not in found]
    return [f"no host {printable(', '.join(absent))} in what was given: going on without"] if absent else []


def only_name(text: str | None) -> str | None:
    """Return the one name that a text stands for, for an input that does not tell its host; None where it stands for several."""
    if text is None:
        return None
    try:
        names = parse_nodes(text)
    except SourceError:
        return text  # a name like any other
    return names[0] if len(names) == 1 else None


def name_for(path: str, text: str | None) -> str | None:
    """Return the host's name for an input that does not tell it. Raises SourceError where the text names several."""
    name = only_name(text)
    if text is not None and name is None:
        raise SourceError(f"{path}: is of one host, and --host names several: {shown(text)}: give its one name")
    return name
