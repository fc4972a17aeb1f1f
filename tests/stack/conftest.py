"""Real stacks for the tests: one filled with two minutes of every metric, to look at; one to be stopped, killed and started again."""

import http.client
import itertools
import json
import math
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from lnetstat.model import Point, Reduce
from lnetstat.reduce.metrics import BUCKETS, METRICS
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.stack import Stack

SECONDS = 120
NODES = {
    "NET": ("tcp1",),
    "NID": ("10_0_0_1_at_tcp1",),
    "POOL": ("tiny", "small", "large"),
    "CPT": ("cpt0",),
    "INSTANCE": ("ost_io", "ost"),
    "COUNTER": ("ost_read", "ost_write", "obd_ping"),
    "BUCKET": BUCKETS,
}


class Answer(NamedTuple):
    status: int
    kind: str
    body: bytes


class Rig:
    """A stack on free ports, and how to send to it and ask it."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", 0))
            two.bind(("127.0.0.1", 0))
            self.web_port, self.carbon_port = one.getsockname()[1], two.getsockname()[1]
        self.told: list[str] = []
        self.stack = Stack(folder, self.web_port, self.carbon_port, tell=self.told.append)
        self.points: list[Point] = []

    def send(self, points: list[Point]) -> None:
        sink = CarbonSink(*self.stack.carbon_address)
        sink.offer(points)
        sink.close(60)
        assert (sink.sent, sink.dropped, sink.refused) == (len(points), 0, 0)

    def get(self, path: str, host: str = "", **query: object) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.web_port, timeout=60)
        try:
            url = f"{path}?{urlencode(query, doseq=True)}" if query else path
            connection.request("GET", url, headers={"Host": host} if host else {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheader("Content-Type", ""), answer.read())
        finally:
            connection.close()

    def rendered(self, target: str, begin_s: int, end_s: int) -> dict[str, dict[int, float]]:
        """Return what /render has: series name -> {second: value}; seconds without a value are left out."""
        answer = self.get("/render", target=target, format="json", **{"from": begin_s - 1, "until": end_s})
        assert answer.status == 200, answer.body.decode(errors="replace")
        return {
            series["target"]: {t: value for value, t in series["datapoints"] if value is not None} for series in json.loads(answer.body)
        }

    def rendered_whole(self, target: str, begin_s: int, end_s: int, count: int) -> dict[str, dict[int, float]]:
        """Like rendered, once `count` values are there: carbon makes the file of a new series about a second after its first point."""
        deadline_s = time.monotonic() + 30
        while True:
            found = self.rendered(target, begin_s, end_s)
            if sum(len(series) for series in found.values()) >= count or time.monotonic() > deadline_s:
                return found
            time.sleep(0.1)


def every_metric(begin_s: int) -> list[Point]:
    """SECONDS points of each series: rising counters, and credits that go below zero."""
    points = []
    for metric in METRICS:
        for nodes in itertools.product(*(NODES.get(node, (node,)) for node in metric.pattern.split("."))):
            path = f"lnet.rtr1.{'.'.join(nodes)}"
            for second in range(SECONDS):
                value = second * 7 if metric.reduce is Reduce.LAST else round(20 * math.sin(second / 9) - 4)
                points.append(Point(path, float(value), begin_s + second))
    return points


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A running stack with every metric of a host rtr1; tests look at it, or send for a host of their own."""
    rig = Rig(tmp_path_factory.mktemp("filled") / "stack")
    rig.stack.up()
    try:
        rig.points = every_metric(int(time.time()) - SECONDS)
        rig.send(rig.points)
        begin_s = rig.points[0].time_s
        last = rig.points[-1].path
        rig.rendered_whole(last, begin_s, begin_s + SECONDS, SECONDS)
        yield rig
    finally:
        rig.stack.down()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A stack for one file of tests, to be stopped, killed and started again by each."""
    rig = Rig(tmp_path_factory.mktemp("own") / "stack")
    try:
        yield rig
    finally:
        rig.stack.down()
