"""The doctor asks a real Carbon through a real graphite-web."""

import time

from click.testing import CliRunner

from lnetstat.cli import lnetstat
from lnetstat.doctor.checks import Level
from lnetstat.doctor.graphite import ask, graphite_checks
from lnetstat.model import Point


def test_a_real_carbon_is_reached_asked_and_found_to_have_dropped_series(filled, tmp_path):
    web = f"http://127.0.0.1:{filled.web_port}"
    address = f"127.0.0.1:{filled.carbon_port}"
    (tmp_path / "peers").write_text("")
    now_s = int(time.time()) // 60 * 60
    values = {"creates": 50.0, "droppedCreates": 7.0, "cache.size": 12.0, "cache.overflow": 0.0, "errors": 0.0}
    filled.send([Point(f"carbon.agents.tested-a.{name}", value, now_s) for name, value in values.items()])
    for name in values:
        filled.rendered_whole(f"carbon.agents.tested-a.{name}", now_s, now_s, 1)

    answer = ask(web)
    assert abs(answer.ahead_s) < answer.may_be_wrong_s + 1
    assert {
        name.removeprefix("carbon.agents.tested-a."): series[-1][0] for name, series in answer.series.items() if "tested" in name
    } == values

    checks = {check.name: check for check in graphite_checks(web, 500, 1)}
    assert checks["graphite"].level is Level.OK
    assert checks["clock difference"].level is Level.OK
    assert checks["carbon creates"].level is Level.CRITICAL
    assert "dropped: 7 times" in checks["carbon creates"].what
    assert checks["carbon cache"].level is Level.OK

    done = CliRunner().invoke(
        lnetstat, ["doctor", "--root", str(tmp_path), "--carbon", address, "--graphite", web, "--nodes", "60"], standalone_mode=False
    )
    assert done.return_value == 2
    assert f"OK: carbon {address}: takes connections (at 127.0.0.1)\n" in done.stdout
    assert f"WARNING: carbon {address} backlog: listen backlog: 50, for 60 nodes" in done.stdout  # Twisted's, as `ss` sees it
