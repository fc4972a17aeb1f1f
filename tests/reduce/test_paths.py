"""Metric path nodes: the shared table of cases, and that different names never meet."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnetstat.reduce import paths

FUNCTIONS = {"host": paths.host_node, "nid": paths.nid_node, "net": paths.net_node, "name": paths.name_node}
CASES = [line.split("\t") for line in (Path(__file__).parents[2] / "sample-data" / "paths.tsv").read_text("utf-8").splitlines()[1:]]
hostile = st.text(st.characters(codec="utf-8"), max_size=120) | st.text("aA0.-_:@/ \n\x00", max_size=12)


@pytest.mark.parametrize(("kind", "name", "node"), CASES, ids=[f"{kind}:{name[:20]}" for kind, name, _ in CASES])
def test_case(kind, name, node):
    assert FUNCTIONS[kind](name) == node


@given(st.sampled_from(sorted(FUNCTIONS)), hostile, hostile)
def test_every_node_is_safe_and_of_one_name(kind, one, other):
    node = FUNCTIONS[kind](one)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", node)
    assert len(node) <= 200
    assert (node == FUNCTIONS[kind](other)) == (one == other)
