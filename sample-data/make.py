"""Make sample-data's recordings and fixtures anew out of the captures they come from.

Run: python sample-data/make.py CAPTURES        (CAPTURES: the folder with s1_ramp_seed_credits/ and the others; see README.md)
The recordings are bit for bit what `lnetstat record` would have written on the three nodes. The fixtures' .json files are what `dump`
says now: read them before they are committed.
"""

import itertools
import json
import shutil
import sys
from pathlib import Path

from lnetstat.model import Snapshot
from lnetstat.recording import RecordingWriter
from lnetstat.simulator.run import record
from lnetstat.simulator.scenario import load_scenario
from lnetstat.sources.archive import ArchiveSource
from lnetstat.tables import parse

HERE = Path(__file__).parent
RECORDINGS = {
    "s2-bursts": "s2_bursts_seed_credits",
    "s7-lustre-pings": "s7_lustre_pings_seed_credits",
}
# Of these nodes the first text of each file in each second: what feeds the dashboards that the others leave empty.
EXCERPTS = {
    "s5b-health": ("s5b_health_faults/c1/fast.tar.gz", "s5b_health_faults/c1/health"),
    "s6b-targets": ("s6b_lustre_ping_flood_15s/srv/fast.tar.gz",),
}
NOT_IN_EXCERPTS = "lnetctl peer show"  # long, and nothing is drawn of it
SIMULATED = {"simulated-paper-untuned": ("paper-untuned", {"clients.count": "2500", "servers.targets_per_server": "40"})}
NS = 1_000_000_000
FIXTURES = {
    "2.17.0/peers--router.txt": "s7_lustre_pings_seed_credits/rtr/*_during/debugfs.lnet.peers",
    "2.17.0/peers--client.txt": "s1_ramp_seed_credits/c1/*_during/debugfs.lnet.peers",
    "2.17.0/nis--router.txt": "s7_lustre_pings_seed_credits/rtr/*_during/debugfs.lnet.nis",
    "2.17.0/nis--two-cpts.txt": "s6b_lustre_ping_flood_15s/rtr/*_before/debugfs.lnet.nis",
    "2.17.0/buffers--router.txt": "s7_lustre_pings_seed_credits/rtr/*_during/debugfs.lnet.buffers",
    "2.17.0/buffers--two-cpts.txt": "s6b_lustre_ping_flood_15s/rtr/*_before/debugfs.lnet.buffers",
    "2.17.0/buffers--no-router.txt": "s7_lustre_pings_seed_credits/c1/*_during/debugfs.lnet.buffers",
    "2.17.0/stats--router.txt": "s7_lustre_pings_seed_credits/rtr/*_during/debugfs.lnet.stats",
    "2.17.0/routes--router.txt": "s7_lustre_pings_seed_credits/rtr/*_during/debugfs.lnet.routes",
    "2.17.0/routes--client.txt": "s7_lustre_pings_seed_credits/c1/*_during/debugfs.lnet.routes",
    "2.17.0/routers--client.txt": "s7_lustre_pings_seed_credits/c1/*_during/debugfs.lnet.routers",
    "2.17.0/ost.OSS.ost.stats--server.txt": "s7_lustre_pings_seed_credits/srv/fast:ost.OSS.ost.stats",
    "2.17.0/ost.OSS.ost_io.stats--server.txt": "s7_lustre_pings_seed_credits/srv/fast:ost.OSS.ost_io.stats",
    "2.17.0/mds.MDS.mdt.stats--server.txt": "s7_lustre_pings_seed_credits/srv/fast:mds.MDS.mdt.stats",
    "2.17.0/lnetctl_net_show--verbose-3.txt": "s5b_health_faults/c1/*_during/lnetctl_net_show_v3.yaml",
    "2.17.0/lnetctl_peer_show--unsigned-negatives.txt": "s1_ramp_seed_credits/c1/*_during/lnetctl_peer_show_v3.yaml",
    "2.17.0/lnetctl_stats_show--client.txt": "s5b_health_faults/c1/*_during/lnetctl_stats_show.yaml",
    "2.15.8/peers--client.txt": "s8_lustre2.15.8_ramp/c1/*_before/debugfs.lnet.peers",
    "2.15.8/nis--router.txt": "s8_lustre2.15.8_ramp/rtr/*_before/debugfs.lnet.nis",
    "2.15.8/routes--router.txt": "s8_lustre2.15.8_ramp/rtr/*_before/debugfs.lnet.routes",
    "2.15.8/lnetctl_net_show--verbose-3.txt": "s8_lustre2.15.8_ramp/c1/*_before/lnetctl_net_show_v3.yaml",
}


def make_recording(folder: Path, captures: Path, scenario: str) -> None:
    """Record the fast series of every node of a scenario, tick by tick."""
    shutil.rmtree(folder, ignore_errors=True)
    with RecordingWriter(folder) as writer:
        for node in sorted((captures / scenario).iterdir()):
            if (node / "fast.tar.gz").exists():
                source = ArchiveSource(str(node / "fast.tar.gz"), host=node.name)
                for _, tick in itertools.groupby(source.snapshots(), key=lambda snapshot: snapshot.time_ns // 50_000_000):
                    writer.write(list(tick))


def make_excerpt(folder: Path, captures: Path, parts: tuple[str, ...]) -> None:
    """Record one node, thinned to one text of each file a second."""
    shutil.rmtree(folder, ignore_errors=True)
    first: dict[tuple[int, str], Snapshot] = {}
    for part in parts:
        for snapshot in ArchiveSource(str(captures / part), host=Path(part).parts[1]).snapshots():
            if not snapshot.name.startswith(NOT_IN_EXCERPTS):
                first.setdefault((snapshot.time_ns // NS, snapshot.name), snapshot)
    in_order = sorted(first.values(), key=lambda snapshot: snapshot.time_ns)
    with RecordingWriter(folder) as writer:
        for _, tick in itertools.groupby(in_order, key=lambda snapshot: snapshot.time_ns // NS):
            writer.write(list(tick))


def make_simulated(folder: Path, preset: str, settings: dict[str, str]) -> None:
    """Simulate a preset with some keys changed; the truth stays beside the recording."""
    shutil.rmtree(folder, ignore_errors=True)
    Path(record(load_scenario(preset, settings), folder).progress_path).unlink()


def make_fixture(target: Path, captures: Path, pattern: str) -> None:
    if ":" in pattern:
        node, name = pattern.replace("/fast:", ":").split(":")
        source = ArchiveSource(str(captures / node / "fast.tar.gz"), host="srv")
        text = [snapshot.text for snapshot in source.snapshots() if snapshot.name == name][-1]
    else:
        text = sorted(captures.glob(pattern))[-1].read_text()
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)


def write_expected(path: Path) -> None:
    name = path.name.partition("--")[0].replace("lnetctl_", "lnetctl ").replace("_show", " show")
    table, parsed = parse(name, path.read_text())
    rows = [{k: v for k, v in row._asdict().items() if k != "extra" or v} for row in parsed.rows]
    document = {"table": table.name, "layout": parsed.layout, "facts": dict(parsed.facts), "problems": parsed.problems, "rows": rows}
    lines = ",\n  ".join(json.dumps(row) for row in document.pop("rows"))
    head = json.dumps(document)[:-1]
    path.with_suffix(".json").write_text(f'{head}, "rows": [\n  {lines}\n]}}\n' if lines else f'{head}, "rows": []}}\n')


def main(captures: Path) -> None:
    for name, scenario in RECORDINGS.items():
        make_recording(HERE / "recordings" / name, captures, scenario)
    for name, parts in EXCERPTS.items():
        make_excerpt(HERE / "excerpts" / name, captures, parts)
    for name, (preset, settings) in SIMULATED.items():
        make_simulated(HERE / "recordings" / name, preset, settings)
    for name, pattern in FIXTURES.items():
        make_fixture(HERE / name, captures, pattern)
    for path in sorted(HERE.glob("*/*--*.txt")):
        write_expected(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
