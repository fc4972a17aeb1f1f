"""Names of nodes: many as one, and nothing that ssh could take for an option."""

import sys

import pytest

from lnetstat.errors import SourceError
from lnetstat.remote import folded, node_names


def test_names_unfold_and_fold():
    assert node_names("rtr[1-3],mds1") == ["mds1", "rtr1", "rtr2", "rtr3"]
    assert folded(["rtr3", "rtr1", "rtr2", "mds1"]) == "mds1,rtr[1-3]"


@pytest.mark.parametrize(
    "bad", ["rtr[1-", "a,,b", "-oProxyCommand=x", "a b", "a;reboot", "$(id)", "a\nb", "@no-such-group", "rtr[1-99999]"]
)
def test_what_cannot_be_meant_is_named(bad):
    with pytest.raises(SourceError) as caught:
        node_names(bad)
    assert "\n" not in str(caught.value)
    assert bad.split("\n")[0][:5].split("[")[0] in str(caught.value)


def test_without_clustershell_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", None)
    with pytest.raises(SourceError, match=r"pip install 'lnetstat\[remote\]'"):
        node_names("rtr1")


@pytest.mark.parametrize("text", ["rtr[1-999999999]", "rtr[1-9999999999999999999]", "rtr[0-4096]"])
def test_a_range_beyond_what_can_be_read_is_refused_before_it_is_unfolded(text):
    with pytest.raises(SourceError, match="at most 4096 nodes"):
        node_names(text)
