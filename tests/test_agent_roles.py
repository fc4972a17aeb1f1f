"""What a node is, told by its files."""

from pathlib import Path

import pytest

from lnetstat.agent.roles import Roles, role_of
from lnetstat.model import Snapshot, State

SAMPLES = Path(__file__).parents[1] / "sample-data" / "2.17.0"


def snapshot(name, text="", state=State.OK):
    return Snapshot(name, "host", 0, 0, 0, state, 0, frozenset(), text)


@pytest.mark.parametrize(
    ("name", "sample", "role"),
    [
        ("routes", "routes--router", "router"),
        ("routes", "routes--client", ""),
        ("buffers", "buffers--router", "router"),
        ("buffers", "buffers--no-router", ""),
        ("ost.OSS.ost_io.stats", "ost.OSS.ost_io.stats--server", "OSS"),
        ("mds.MDS.mdt.stats", "mds.MDS.mdt.stats--server", "MDS"),
    ],
)
def test_a_file_tells_the_role(name, sample, role):
    assert role_of(name, (SAMPLES / f"{sample}.txt").read_text()) == role


def test_a_servers_own_imports_do_not_make_it_a_client():
    assert role_of("osc.fs-OST0000-osc-ffff8f.stats", "") == "client"
    assert role_of("osc.fs-OST0000-osc-MDT0000.stats", "") == ""


def test_roles_come_and_go_and_a_failed_read_says_nothing():
    roles = Roles()
    assert roles.update([snapshot("mgs.MGS.mgs.stats"), snapshot("obdfilter.fs-OST0000.stats")])
    assert roles.names == ("OSS", "MGS")
    assert not roles.update([snapshot("mgs.MGS.mgs.stats", state=State.FAILED)])
    assert roles.update([snapshot("mgs.MGS.mgs.stats", state=State.ABSENT), snapshot("routes", "Routing enabled\n")])
    assert roles.names == ("router", "OSS")
    assert roles.update([snapshot("routes", "Routing disabled\n")])
    assert roles.names == ("OSS",)
