"""`lnetctl_*`: the YAML of lnetctl (Lustre 2.7 to 2.17), one table per section, one row per entry.

    net:
        - net type: tcp
          local NI(s):
            - nid: 10.1.0.1@tcp
              status: up
              health stats:
                  health value: 1000
              tunables:
                  peer_credits: 8

`net show`, `peer show`, `route show`, `routing show` (with the totals `buffers`), `stats show`, `global show` (with `numa`); `export`
prints them all and is divided by _split.py. Nested keys are flattened to dotted names; the common ones have columns (the help names the
key), all others stay in `extra`. 2.17 indents otherwise than 2.15 and prints negative credits as unsigned 32-bit numbers: they are negative
here. `tx_q_num_of_buf` counts bytes. An error document (`errno: -100`) is a ParseError that says so. Nothing at all is what lnetctl prints
when there are no routes, no peers, or no routing; for net, stats and global it means that LNet did not answer.

lnetctl reads a running kernel: `lnetctl peer show` can crash 2.17.0 with many peers, and lnetstat never calls it (LIVECOST.md).
"""

from collections.abc import Callable, Iterator
from typing import Any

from lnetstat.errors import ParseError, shown
from lnetstat.model import Parsed, Problem, Table
from lnetstat.tables._lnetctl import Section, entries, flatten, refused_section, sections, whole
from lnetstat.tables._lnetctl_rows import (
    NET_FIELDS,
    PEER_FIELDS,
    ROUTE_FIELDS,
    ROUTING_FIELDS,
    STATS_FIELDS,
    Field,
    LnetctlGlobalRow,
    LnetctlNetRow,
    LnetctlPeerRow,
    LnetctlRouteRow,
    LnetctlRoutingRow,
    LnetctlStatsRow,
    column_of,
)
from lnetstat.tables._rows import numbered

_SECTION_OF = {"net": "net", "peer": "peer", "route": "route", "routing": "routing", "stats": "statistics", "global": "global"}


def _values(fields: tuple[Field, ...], flat: dict[str, str]) -> list[Any]:
    """Take the columns' values out of `flat`; None where this release prints none. ValueError for a word that is no number."""
    return [field.read(next((flat.pop(key) for key in field.keys if key in flat), None)) for field in fields]


def _rows(section: Section, problems: list[Problem], inner: str, read: Callable[[dict[str, str]], Any]) -> Iterator[Any]:
    """Yield a row for each entry of a section's list; where entries hold a list `inner`, for each of its items joined with their entry."""
    for entry in entries(section):
        items = entry.get(inner) if isinstance(entry, dict) and inner else None
        outer = {key: value for key, value in entry.items() if key != inner} if isinstance(entry, dict) else {}
        for item in items if isinstance(items, list) else [{}]:
            try:
                if not isinstance(entry, dict) or not isinstance(item, dict):
                    raise ValueError("an entry of `key: value` lines")
                if inner and inner in entry and not item:
                    raise ValueError(f"at least one entry below '{inner}'")
                yield read(flatten(outer | item))
            except ValueError as error:
                problems.append(Problem(section.line, shown(str(outer or entry)), str(error)))


def _read_net(flat: dict[str, str]) -> LnetctlNetRow:
    nid = flat.pop("nid", None)
    interfaces = [flat.pop(key) for key in sorted(flat) if key.startswith("interfaces.")]
    if interfaces:
        flat["interfaces"] = ",".join(interfaces)
    if not {"net type", "net"} & flat.keys():
        raise ValueError("a key 'net type'")
    values = _values(NET_FIELDS, flat)
    return LnetctlNetRow._make((nid, 0, *values, flat))


def _read_peer(flat: dict[str, str]) -> LnetctlPeerRow:
    nid = flat.pop("nid", None)
    if nid is None:
        raise ValueError("a key 'nid'")
    values = _values(PEER_FIELDS, flat)
    return LnetctlPeerRow._make((nid, 0, *values, flat))


def _read_route(flat: dict[str, str]) -> LnetctlRouteRow:
    net, gateway, *values = _values(ROUTE_FIELDS, flat)
    if net is None:
        raise ValueError("a key 'net'")
    return LnetctlRouteRow._make((net, gateway, 0, *values, flat))


def parse_net(text: str) -> Parsed:
    """Parse `lnetctl net show`: a row per local NI. ParseError for an error document, broken YAML, and no text: LNet did not answer."""
    problems: list[Problem] = []
    found = sections("lnetctl_net", text, ("net",))["net"]
    rows = [row for section in found for row in _rows(section, problems, "local NI(s)", _read_net)]
    flat_form = any(isinstance(entry, dict) and "net" in entry for section in found for entry in entries(section))
    layout = "lnetctl net show of Lustre 2.7 (flat)" if flat_form else "lnetctl net show of Lustre 2.10-2.17"
    return _parsed(rows, [row.nid or f"?{row.net}" for row in rows], layout, found, problems)


def parse_peer(text: str) -> Parsed:
    """Parse `lnetctl peer show`: a row per interface of a peer. ParseError for an error document and broken YAML."""
    if not text.strip():
        return Parsed((), "lnetctl printed nothing: no peers", {}, ())
    problems: list[Problem] = []
    found = sections("lnetctl_peer", text, ("peer",))["peer"]
    rows = [row for section in found for row in _rows(section, problems, "peer ni", _read_peer)]
    return _parsed(rows, [row.nid for row in rows], "lnetctl peer show of Lustre 2.7-2.17", found, problems)


def parse_route(text: str) -> Parsed:
    """Parse `lnetctl route show`: a row per route. ParseError for an error document and broken YAML."""
    if not text.strip():
        return Parsed((), "lnetctl printed nothing: no routes", {}, ())
    problems: list[Problem] = []
    found = sections("lnetctl_route", text, ("route",))["route"]
    rows = [row for section in found for row in _rows(section, problems, "", _read_route)]
    return _parsed(rows, [f"{row.net} {row.gateway}" for row in rows], "lnetctl route show of Lustre 2.7-2.17", found, problems)


def _parsed(rows: list[Any], keys: list[str], layout: str, found: list[Section], problems: list[Problem]) -> Parsed:
    numbers = numbered(keys)
    problems += [problem for section in found for problem in section.problems]
    return Parsed(tuple(row._replace(row=number) for row, number in zip(rows, numbers, strict=True)), layout, {}, tuple(sorted(problems)))


def parse_routing(text: str) -> Parsed:
    """Parse `lnetctl routing show`: a row per pool and CPU partition. Facts: enable (0 off, 1 on), buffers_tiny, _small, _large."""
    if not text.strip():
        return Parsed((), "lnetctl printed nothing: no routing", {}, ())
    found = sections("lnetctl_routing", text, ("routing", "buffers"))
    rows: list[LnetctlRoutingRow] = []
    facts: dict[str, int | str] = {}
    problems = [problem for several in found.values() for section in several for problem in section.problems]
    for section in found.get("routing", []):
        for entry in entries(section):
            for key, value in entry.items() if isinstance(entry, dict) else [(entry, None)]:
                _read_routing(str(key), value, section.line, rows, facts, problems)
    for section in found.get("buffers", []):
        for pool, count in section.value.items() if isinstance(section.value, dict) else []:
            _fact(f"buffers_{pool}", count, section.line, facts, problems)
    return Parsed(tuple(rows), "lnetctl routing show of Lustre 2.7-2.17", facts, tuple(sorted(problems)))


def _read_routing(
    key: str, value: Any, line: int, rows: list[LnetctlRoutingRow], facts: dict[str, int | str], problems: list[Problem]
) -> None:
    cpt = key.removeprefix("cpt[").removesuffix("]")
    if key == "enable":
        _fact("enable", value, line, facts, problems)
    elif cpt != key and cpt.isdecimal() and len(cpt) < 6 and isinstance(value, dict) and all(isinstance(v, dict) for v in value.values()):
        for pool in value:
            flat = flatten(value[pool])
            try:
                rows.append(LnetctlRoutingRow._make((str(pool), int(cpt), *_values(ROUTING_FIELDS, flat), flat)))
            except ValueError as error:
                problems.append(Problem(line, shown(f"{key} {pool}"), str(error)))
    else:
        problems.append(Problem(line, shown(f"{key}: {value}"), "cpt[N] with its pools, or enable"))


def _fact(name: str, value: Any, line: int, facts: dict[str, int | str], problems: list[Problem]) -> None:
    try:
        number = whole(value) if isinstance(value, str) else None
        if number is None:
            raise ValueError("a whole number")
        facts[name] = number
    except ValueError as error:
        problems.append(Problem(line, shown(f"{name}: {value}"), str(error)))


def parse_stats(text: str) -> Parsed:
    """Parse `lnetctl stats show`: one row. ParseError for an error document, broken YAML, and an empty text: LNet did not answer."""
    found = sections("lnetctl_stats", text, ("statistics",))["statistics"]
    problems = [problem for section in found for problem in section.problems]
    rows = []
    for section in found:
        try:
            flat = flatten(section.value)
            if not flat.keys() & set(LnetctlStatsRow._fields):
                raise ValueError("totals such as send_count")
            values = _values(STATS_FIELDS, flat)
            rows.append(LnetctlStatsRow._make((*values, flat)))
        except ValueError as error:
            problems.append(Problem(section.line, shown(str(section.value)), str(error)))
    if not rows:
        raise ParseError("lnetctl_stats", found[0].line, problems[-1].text, f"the section 'statistics:' with {problems[-1].expected}")
    layout = "lnetctl stats show of Lustre 2.12-2.17" if rows[0].rst_alloc is not None else "lnetctl stats show of Lustre 2.7-2.11"
    return Parsed(tuple(rows), layout, {}, tuple(sorted(problems)))


def parse_global(text: str) -> Parsed:
    """Parse `lnetctl global show`: a row per setting. ParseError for an error document, broken YAML, and no text: LNet did not answer."""
    found = sections("lnetctl_global", text, ("global", "numa"))
    problems = [problem for several in found.values() for section in several for problem in section.problems]
    rows = []
    for key, several in found.items():
        for section in several:
            for name, word in flatten(section.value).items():
                try:
                    rows.append(LnetctlGlobalRow(name if key == "global" else f"{key}.{name}", whole(word) or 0))
                except ValueError:
                    rows.append(LnetctlGlobalRow(name if key == "global" else f"{key}.{name}", word))
    return Parsed(tuple(rows), "lnetctl global show of Lustre 2.7-2.17", {}, tuple(sorted(problems)))


def _looks_like(key: str, text: str) -> bool:
    """True when the section is the first of the text, or the text is lnetctl's refusal to show it (net stands for what is not a table)."""
    about = refused_section(text)
    if about:
        return about == key or (key == "net" and about not in _SECTION_OF.values())
    words = text[:4096].removeprefix("\ufeff").lstrip().split("\n", 1)
    return words[0].rstrip() == f"{key}:"


def _table(name: str, help_text: str, row: Any, key: tuple[str, ...], parse: Callable[[str], Parsed], columns: tuple[Any, ...]) -> Table:
    return Table(
        name=f"lnetctl_{name}",
        help=help_text,
        names=(f"lnetctl {name} show*", f"lnetctl_{name}_show*", f"lnetctl_{name}", f"lnetctl {name}"),
        paths=(),
        row=row,
        key=key,
        columns=columns,
        looks_like=lambda text: _looks_like(_SECTION_OF[name], text),
        parse=parse,
    )


_NID = {"nid": "network address of the interface; absent in an export for backup", "row": "how many rows of this NID stood before"}
_ROUTE_KEY = {"row": "how many rows of this net and gateway stood before"}
_POOL_KEY = {"pool": "tiny, small or large", "cpt": "CPU partition"}
_GLOBAL_KEY = {"name": "the setting, dotted where it is nested", "value": "its value: a whole number, or text"}
tables = (
    _table(
        "net",
        "local interfaces, their health and limits",
        LnetctlNetRow,
        ("nid", "row"),
        parse_net,
        column_of(LnetctlNetRow, NET_FIELDS, _NID),
    ),
    _table(
        "peer",
        "peers' interfaces, their credits and health",
        LnetctlPeerRow,
        ("nid", "row"),
        parse_peer,
        column_of(LnetctlPeerRow, PEER_FIELDS, _NID),
    ),
    _table(
        "route",
        "routes to remote nets",
        LnetctlRouteRow,
        ("net", "gateway", "row"),
        parse_route,
        column_of(LnetctlRouteRow, ROUTE_FIELDS, _ROUTE_KEY),
    ),
    _table(
        "routing",
        "router buffers",
        LnetctlRoutingRow,
        ("pool", "cpt"),
        parse_routing,
        column_of(LnetctlRoutingRow, ROUTING_FIELDS, _POOL_KEY),
    ),
    _table(
        "stats", "message, byte, resend and error totals", LnetctlStatsRow, (), parse_stats, column_of(LnetctlStatsRow, STATS_FIELDS, {})
    ),
    _table("global", "settings of LNet", LnetctlGlobalRow, ("name",), parse_global, column_of(LnetctlGlobalRow, (), _GLOBAL_KEY)),
)
