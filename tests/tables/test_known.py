"""Formats that are not read are named, and a foreign text is not taken for a table."""

from fnmatch import fnmatchcase

import pytest

from lnetstat.model import Snapshot, State
from lnetstat.tables import builtin_tables, samples, table_looking_like, table_named
from lnetstat.tables._known import expected_instead, unread_format

KNOWN = {
    "brw_stats": "snapshot_time:         1284151749.963667 (secs.usecs)\n\n  read | write\npages per bulk r/w     rpcs  % cum % |\n",
    "rpc_stats": "snapshot_time:         1510950459.78 (secs.nsecs)\nmodify_RPCs_in_flight:  0\n",
    "job_stats": "job_stats:\n- job_id:          dd.4854\n",
    "req_history": "7710223519595954176:10.2.0.21@tcp1:12345-10.1.0.11@tcp:x1882378356651648:224:Complete:1795176304.82:-1.17s\n",
    "import": "import:\n    name: FS-MDT0000-mdc\n",
    "timeouts": "   service : cur  10  worst  10 (at 1510605393, 177213s ago)   0   0   0   0 \n",
    "the lst stat output": "[LNet Rates of clients]\n[W] Avg: 1108 RPC/s\n",
    "the lctl conn_list": "12345-10.1.12.1@tcp  I[0]10.1.0.1->10.1.12.1:1021 332800/6291456 nonagle\n",
    "extents_stats": "snapshot_time: 1213828728.348516 (secs.usecs)\n  read | write\nextents          calls  %      cum%   |\n",
    "offset_stats": "snapshot_time: 1155748884.591028 (secs.usecs)\nR/W   PID    START   END      EXTENT\n",
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_format_is_named(name: str) -> None:
    assert unread_format(KNOWN[name]) == name
    assert table_looking_like(KNOWN[name]) is None
    (sample,) = samples(Snapshot("stdin", "h", 0, None, 0, State.OK, 0, frozenset(), KNOWN[name]))
    assert sample.state is State.FAILED
    assert f"this is {name}, which lnetstat does not read yet" in sample.problems[0].expected


def test_an_empty_parameter_is_known_by_its_name() -> None:
    assert "job_stats" in expected_instead("mdt.FS-MDT0000.job_stats", "")
    assert expected_instead("x", "") == "a table: the text is empty"


@pytest.mark.parametrize("text", ["", "hello world\n", "nid\n", "\x00\xff", "snapshot_time\n", "0 1 2\n", "x" * 1_000_000])
def test_a_foreign_text_is_no_table_and_no_known_format(text: str) -> None:
    assert table_looking_like(text) is None
    assert unread_format(text) is None


def test_an_exact_name_is_no_other_tables_by_a_pattern() -> None:
    """They are looked for first: that is quicker, and must give the same."""
    tables = list(builtin_tables().values())
    for place, table in enumerate(tables):
        for name in table.names:
            if not set("*?[") & set(name):
                assert not any(fnmatchcase(name, pattern) for earlier in tables[:place] for pattern in earlier.names), name
                assert table_named(name) is table
