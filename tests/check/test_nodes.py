"""--host takes names as clush does; a plain list works where ClusterShell is not installed."""

import sys

import pytest

from lnetstat.cli._nodes import parse_nodes
from lnetstat.errors import SourceError


@pytest.mark.parametrize(
    ("text", "names"),
    [("rtr1", ("rtr1",)), ("b,a,b", ("b", "a")), ("rtr[1-3],oss1", ("oss1", "rtr1", "rtr2", "rtr3")), (" x.y ", ("x.y",))],
)
def test_names(text, names):
    assert sorted(parse_nodes(text)) == sorted(names)


@pytest.mark.parametrize("text", ["", "rtr[1-", "rtr[3-1]", "a\nb", "<script>", "@nosuchgroup", "-x"])
def test_what_names_no_node_is_quoted(text):
    with pytest.raises(SourceError, match=r"name") as raised:
        parse_nodes(text)
    assert "\n" not in str(raised.value)


def test_a_list_needs_no_clustershell_and_ranges_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ClusterShell", None)
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", None)
    assert parse_nodes("rtr1,oss-2.site") == ("rtr1", "oss-2.site")
    with pytest.raises(SourceError, match=r"pip install 'lnetstat\[remote\]'"):
        parse_nodes("rtr[1-2]")
