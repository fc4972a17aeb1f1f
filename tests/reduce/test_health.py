"""The agent's reading of lnetctl without YAML is what the lnetctl table reads with it."""

from pathlib import Path

import pytest

from lnetstat.reduce.health import health_values
from lnetstat.reduce.paths import nid_node
from lnetstat.tables.lnetctl import parse_net

SHARED = Path(__file__).parents[3] / "shared"
FILES = sorted(SHARED.glob("captures/*/*/*/lnetctl_net_show_v*.yaml")) + sorted(SHARED.glob("corpus/lnetctl_net_show/*.txt"))
TEXT = """net:
-     net type: tcp
      local NI(s):
      -     nid: 10.1.0.11@tcp
            status: down
            health stats:
                  health value: 900
                  timeouts: 2
                  error: 3
            tunables:
                  peer_timeout: 180
"""


def expected(text):
    for row in parse_net(text).rows:
        if row.nid and not row.nid.endswith("@lo"):
            base = f"health.{nid_node(row.nid)}."
            if row.status is not None:
                yield base + "down", row.status != "up"
            for name, value in (("value", row.health_value), ("errors", row.errors), ("timeouts", row.timeouts)):
                if value is not None:
                    yield base + name, value


def test_a_sick_interface():
    got = dict(health_values(TEXT))
    assert got == {
        "health.10_1_0_11_at_tcp.down": 1,
        "health.10_1_0_11_at_tcp.value": 900,
        "health.10_1_0_11_at_tcp.timeouts": 2,
        "health.10_1_0_11_at_tcp.errors": 3,
    }


@pytest.mark.skipif(not FILES, reason="../shared with the captures of lnetctl is not beside this clone")
def test_all_captures_read_as_the_table_does():
    texts = {path.read_text() for path in FILES}
    assert len(texts) > 20
    for text in texts:
        assert dict(health_values(text)) == dict(expected(text))
