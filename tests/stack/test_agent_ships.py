"""The main job: what an agent records while this test runs comes back from graphite-web at its exact seconds."""

import subprocess
import sys
from pathlib import Path

from lnetstat.recording import Recording
from lnetstat.reduce import Reducer

SAMPLE = Path(__file__).parents[2] / "sample-data" / "recordings" / "s7-lustre-pings"
LNETSTAT = [sys.executable, "-m", "lnetstat"]


def test_points_recorded_now_come_back_from_graphite_web_at_their_seconds(filled, tmp_path):
    tree, recording = tmp_path / "node", tmp_path / "recording"
    tree.mkdir()
    host, port = filled.stack.carbon_address
    # A node whose counters move: the recorded router, played into files at five times its pace while the agent reads them.
    with subprocess.Popen([*LNETSTAT, "replay", str(SAMPLE), "--to", str(tree), "--host", "rtr", "--speed", "5"]) as replay:
        done = subprocess.run(
            [
                *LNETSTAT,
                "agent",
                "--root",
                str(tree),
                "--host",
                "live",
                "-i",
                "0.2",
                "-n",
                "20",
                "--carbon",
                f"{host}:{port}",
                "--record",
                str(recording),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        replay.terminate()
    assert done.returncode in (0, 3), done.stderr

    reducer = Reducer("live")
    for snapshot in Recording(recording).snapshots():
        reducer.add(snapshot)
    expected = {}
    for point in reducer.points():
        expected.setdefault(point.path, {})[point.time_s] = point.value
    routed = "lnet.live.lnet_stats.route_count"
    assert len(expected[routed]) >= 4
    assert len(set(expected[routed].values())) >= 2, "the replayed counters did not move"

    for target in (routed, "lnet.live.peers.*.tx_credits_low", "lnet.live.buffers.*.credits_low"):
        wanted = {
            path: series
            for path, series in expected.items()
            if path.split(".")[-1] == target.split(".")[-1] and path.count(".") == target.count(".")
        }
        seconds = [second for series in wanted.values() for second in series]
        assert filled.rendered_whole(target, min(seconds), max(seconds), len(seconds)) == wanted
    assert min(expected["lnet.live.peers.tcp1.tx_credits_low"].values()) < 0
