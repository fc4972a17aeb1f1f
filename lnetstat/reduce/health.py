"""The health of local NIs out of `lnetctl net show -v`, without a YAML library: the agent carries the standard library only.

tests/reduce/test_health.py keeps it equal to what tables/lnetctl.py reads with PyYAML.
"""

import re
from collections.abc import Iterator

from lnetstat.reduce.paths import nid_node

_LINE = re.compile(r"(?P<indent>[ -]*)(?P<key>[A-Za-z_][A-Za-z_ ()]*):[ \t]*(?P<value>\S*)[ \t]*\r?\Z", re.ASCII)
_HEALTH = {"health value": "value", "error": "errors", "timeouts": "timeouts"}


def health_values(text: str) -> Iterator[tuple[str, float]]:
    """Yield health.NID.{value,down,errors,timeouts} of each NI but the loopback; what this release does not print has no value."""
    nid, block_indent = "", -1
    for line in text.split("\n"):
        found = _LINE.match(line)
        if not found:
            continue
        indent, key, value = len(found["indent"]), found["key"], found["value"].strip("\"'")
        if key == "nid":
            nid = "" if value.endswith("@lo") else value
            block_indent = -1
        elif key == "health stats":
            block_indent = indent
        elif indent <= block_indent:
            block_indent = -1
        if not nid:
            continue
        if key == "status":
            yield f"health.{nid_node(nid)}.down", value != "up"
        elif block_indent >= 0 and key in _HEALTH and value.removeprefix("-").isdecimal():
            yield f"health.{nid_node(nid)}.{_HEALTH[key]}", int(value)
