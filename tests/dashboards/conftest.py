"""A real Carbon and graphite-web with five hosts out of our captures and a simulation, and one host that is made up of every metric."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from lnetstat.model import Point
from tests.stack.conftest import NODES, Rig, every_metric

SAMPLES = Path(__file__).parents[2] / "sample-data"
SECONDS = 120
# Which part of each, and how long ago it ends: two of them have hosts of the same names as the first.
PARTS = {
    "recordings/s7-lustre-pings": (("--begin", "-60s"), 0),
    "recordings/simulated-paper-untuned": (("--begin", "-100s"), 0),
    "excerpts/s6b-targets": (("--begin", "-110s", "--end", "-60s"), 65),
    "excerpts/s5b-health": (("--begin", "-110s", "--end", "-60s"), 65),
}
MADE = "made"  # first node of the paths of what is made up: it does not show up among the recorded hosts


class Filled(NamedTuple):
    """A stack and the time that its data span."""

    rig: Rig
    begin_s: int
    end_s: int

    def answers(self, targets: list[str]) -> list[int]:
        """Ask for all targets at once; return how many values of each are there (not null): 0 also where one series of it has none."""
        marked = [f"aliasSub({target},'^','{number} ')" for number, target in enumerate(targets)]
        answer = self.rig.get("/render", target=marked, format="json", **{"from": self.begin_s, "until": self.end_s})
        assert answer.status == 200, answer.body.decode(errors="replace")
        found: list[list[int]] = [[] for _ in targets]
        for series in json.loads(answer.body):
            found[int(series["target"].split()[0])].append(sum(value is not None for value, _ in series["datapoints"]))
        return [sum(counts) if all(counts) else 0 for counts in found]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    rig = Rig(tmp_path_factory.mktemp("dashboards") / "stack")
    rig.stack.up()
    try:
        host, port = rig.stack.carbon_address
        end_s = int(time.time())
        for name, (part, ago_s) in PARTS.items():
            command = ["replay", str(SAMPLES / name), "--carbon", f"{host}:{port}", "--shift-to", str(end_s - ago_s), *part]
            done = subprocess.run([sys.executable, "-m", "lnetstat", *command], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        made = [Point(path.replace("lnet.", f"{MADE}."), value, when) for path, value, when in made_points(end_s - SECONDS)]
        rig.send(made)
        rig.rendered_whole(made[-1].path, end_s - SECONDS, end_s, 1)
        yield Filled(rig, end_s - SECONDS, end_s)
    finally:
        rig.stack.down()


def made_points(begin_s: int) -> list[Point]:
    """Return every metric, and what an obdfilter counts."""
    points = every_metric(begin_s)
    like = [point for point in points if ".counters.ost_io.ost_read." in point.path]
    for counter in ("read_bytes", "write_bytes"):
        points += [point._replace(path=point.path.replace("ost_io.ost_read", f"obdfilter_fs-OST0000.{counter}")) for point in like]
    assert "ost_io" in NODES["INSTANCE"]
    assert like
    return points
