"""The same points as the Python agent: real collectl reads the very texts, real carbon holds what was sent; none missing, none more."""

import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from bench.fuzz import mutated
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording
from lnetstat.reduce.families import FAMILIES as REDUCED
from lnetstat.sources import open_source
from lnetstat.sources.node import Node, look
from lnetstat.sources.reading import Clocks, read_file, unread
from lnetstat.tables import table_named
from tests.collectors.conftest import (
    COMPARED,
    FAMILIES,
    NS,
    REPO,
    Plan,
    Points,
    Store,
    difference,
    expected,
    export,
    free_user,
    lnet,
    oss,
    raw_text,
    run,
    samples_of,
    shifted_to_now,
    ticks_of,
    tree_path,
)
from tests.collectors.odd_texts import OTHER_TEXTS, PEERS_TEXTS, peers

SAMPLE_DATA = REPO / "sample-data"
RECORDINGS = {
    "s2-bursts": ("c1", "rtr", "srv"),
    "s7-lustre-pings": ("c1", "rtr", "srv"),
    "simulated-paper-untuned": ("rtr01", "oss01"),
}
CAPTURES = REPO.parent / "shared" / "captures"
CAPTURED_S = {  # the node of a scenario: how much of it is played
    "s1_ramp_seed_credits/c1": 60,
    "s5b_health_faults/c1": 60,
    "s6b_lustre_ping_flood_15s/rtr": 40,
    "s6b_lustre_ping_flood_15s/srv": 40,
    "s9_disruptions/rtr": 600,
}
# How much of each host's recording is played: some bursts or two floods of pings. The simulation's router has 2,500 peers: it is played for
# longer than a peer stays in the top list.
LONGEST_S = {"s2-bursts": 40, "s7-lustre-pings": 60, "simulated-paper-untuned": 75}
NOT_READ = {
    "lnetctl": "lnetctl's answers: the agent reads health from them, collectl does not",
    "proc.mdt.": "md_stats: on a live node the agent reads the statistics of services, targets and imports only",
}
LNET_FILES = ("stats", "buffers", "nis", "routes", "routers", "peers")
# Left out of damaged texts: characters at which Python's split() cuts words and Perl's does not. No kernel prints them in these files.
BLANKS_OF_PYTHON = dict.fromkeys(map(ord, "\x1c\x1d\x1e\x1f\x85\xa0"))

Sample = tuple[int, list[Snapshot]]


def planned(plan: Plan, ticks: Iterable[Sequence[Snapshot]], shift_ns: int) -> list[Sample]:
    """Make a step of each tick; return what the modules find in the tree at each sample, with the sample's stamp."""
    now: dict[str, Snapshot] = {}
    samples = []
    for tick in ticks:
        # collectl writes its markers, and so the stamps of a playback, in whole milliseconds
        time_ns = (tick[0].time_ns + shift_ns) // 1_000_000 * 1_000_000
        files: dict[str, bytes | None] = {}
        for snapshot in tick:
            path = None if snapshot.name.startswith((*NOT_READ,)) else tree_path(snapshot.name)
            if path is None:
                continue
            there = snapshot.state in (State.OK, State.PARTIAL)
            files[path] = snapshot.text.encode("utf-8", "surrogateescape") if there else None
            now[snapshot.name] = snapshot._replace(state=State.OK) if there else snapshot._replace(state=State.ABSENT, text="")
        plan.step(files, time_ns)
        samples.append((time_ns, list(now.values())))
    return samples


def sent_by_collectl(store: Store, plan: Plan, host: str, wanted: Points, *more: str) -> Points:
    imports = f"{plan.advance()}:{lnet(f'path={plan.tree}')}:{oss(f'path={plan.tree}')}"
    run("--import", imports, "--export", export(store.destination, f"host={host}", *more), "-i0", "-c", str(plan.count - 1))
    return store.settled(host, len(wanted), families=COMPARED, begin_s=min(second for _, second in wanted))


def check(store: Store, plan: Plan, host: str, samples: Sequence[Sample], series_max: int = 500) -> None:
    """Compare all points of the families, and how many reads and lines were no good."""
    wanted = expected(host, samples, series_max)
    assert wanted
    told = difference(sent_by_collectl(store, plan, host, wanted, f"series_max={series_max}"), wanted)
    assert not told, told


@pytest.mark.parametrize(("recording", "host"), [(name, host) for name, hosts in RECORDINGS.items() for host in hosts])
def test_every_recording(store: Store, tmp_path: Path, recording: str, host: str) -> None:
    source = Recording(str(SAMPLE_DATA / "recordings" / recording))
    assert source.begin_ns is not None
    assert source.end_ns is not None
    end_ns = min(source.end_ns + 1, source.begin_ns + LONGEST_S[recording] * NS)
    shift_ns = shifted_to_now(end_ns)
    plan = Plan(tmp_path)
    samples = planned(plan, ticks_of(source.snapshots(hosts=[host], end_ns=end_ns)), shift_ns)
    check(store, plan, f"{recording}-{host}", samples)


def test_every_recording_and_host_is_named() -> None:
    found = {folder.name: set(Recording(str(folder)).hosts) for folder in (SAMPLE_DATA / "recordings").iterdir() if folder.is_dir()}
    assert found == {name: set(hosts) for name, hosts in RECORDINGS.items()}


@pytest.mark.skipif(not CAPTURES.exists(), reason="needs ../shared/captures")
@pytest.mark.parametrize("node", CAPTURED_S)
def test_captures_of_real_nodes(store: Store, tmp_path: Path, node: str) -> None:
    """s9: modules are removed and loaded again: files vanish and come back."""
    snapshots = list(open_source(str(CAPTURES / node / "fast.tar.gz"), host="x").snapshots())
    snapshots = [each for each in snapshots if each.time_ns < snapshots[0].time_ns + CAPTURED_S[node] * NS]
    shift_ns = shifted_to_now(snapshots[-1].time_ns)
    plan = Plan(tmp_path)
    samples = planned(plan, ticks_of(snapshots, 100_000_000), shift_ns)
    check(store, plan, node.replace("_", "-").replace("/", "-"), samples)


@pytest.mark.skipif(not CAPTURES.exists(), reason="needs ../shared/captures")
def test_ten_thousand_peers_of_a_real_router(store: Store, tmp_path: Path) -> None:
    text = gzip.decompress((CAPTURES / "many_peers" / "peers--10005-peers.txt.gz").read_bytes()).decode()
    plan = Plan(tmp_path)
    samples = samples_in_turn(plan, {"peers": [text, text]}, "")
    check(store, plan, "many-peers", samples)


# ---- single texts ----


def fixtures() -> Iterator[tuple[str, str]]:
    for file in sorted(SAMPLE_DATA.glob("*/*--*.txt")):
        name = file.name.partition("--")[0]
        if not any(name.startswith(prefix) for prefix in NOT_READ):
            yield name, file.read_text()


def test_every_fixture_is_read_or_has_its_reason() -> None:
    read = {name for name, _ in fixtures()}
    assert all((table := table_named(name)) is not None and table.name in {"peers", "routers", *REDUCED} for name in read), read


def texts_by_file() -> dict[str, list[str]]:
    """Return every fixture's and made-up text of each file the modules read."""
    found: dict[str, list[str]] = {}
    for name, text in fixtures():
        found.setdefault(name, []).append(text)
    for name, texts in {"peers": PEERS_TEXTS, **OTHER_TEXTS}.items():
        found.setdefault(name, []).extend(texts.values())
    return found


def place_of(name: str, base: str) -> str:
    """Return where a live node keeps a file; `base`: of LNet's tables."""
    return f"{base}{name}" if name in LNET_FILES else str(tree_path(name))


def snapshot_of(name: str, text: str | None) -> Snapshot:
    if text is None:
        return Snapshot(name, "", 0, None, 0, State.ABSENT, 2, frozenset(), "")
    read = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return Snapshot(name, "", 0, None, 0, State.OK, 0, frozenset(), read)


def samples_in_turn(plan: Plan, texts: dict[str, list[str | None]], base: str, step_ns: int = NS) -> list[Sample]:
    """Give each file its texts one after the other, begun again where others have more."""
    count = max(map(len, texts.values()))
    begin_ns = shifted_to_now((count + 1) * step_ns)
    samples = []
    for at in range(-1, count):  # the first sample is a baseline that is never exported
        now = {name: each[at % len(each)] if at >= 0 else each[0] for name, each in texts.items()}
        files = {place_of(name, base): None if text is None else text.encode("utf-8", "surrogateescape") for name, text in now.items()}
        time_ns = begin_ns + (at + 1) * step_ns
        plan.step(files, time_ns)
        samples.append((time_ns, [snapshot_of(name, text) for name, text in now.items()]))
    return samples


@pytest.mark.parametrize("base", ["", "proc/sys/lnet/", "sys/kernel/debug/lnet/"])
def test_every_fixture_and_odd_text(store: Store, tmp_path: Path, base: str) -> None:
    plan = Plan(tmp_path)
    texts: dict[str, list[str | None]] = {name: [*each] for name, each in texts_by_file().items()}
    samples = samples_in_turn(plan, texts, base)
    check(store, plan, f"odd-{base.replace('/', '-')}x", samples, 5000)


def test_absent_and_back_again(store: Store, tmp_path: Path) -> None:
    """A file that is not there gives no point at all; one that comes back goes on."""
    plan = Plan(tmp_path)
    texts: dict[str, list[str | None]] = {name: [each[0], None, None, each[-1], None, ""] for name, each in texts_by_file().items()}
    samples = samples_in_turn(plan, texts, "")
    check(store, plan, "absent", samples)


def test_damaged_texts(store: Store, tmp_path: Path) -> None:
    """A hundred texts cut, doubled and overwritten by chance, four a second: also what a second of them is reduced to."""
    chance = random.Random(5)
    texts: dict[str, list[str | None]] = {
        name: [mutated(chance.choice(each)[:3000], chance).translate(BLANKS_OF_PYTHON) for _ in range(100)]
        for name, each in texts_by_file().items()
    }
    plan = Plan(tmp_path)
    samples = samples_in_turn(plan, texts, "", NS // 4)
    check(store, plan, "damaged", samples, 5000)


def test_the_limit_of_series_is_kept_and_told(store: Store, tmp_path: Path) -> None:
    """Some hundred counters too many: 500 series with the share of the worst peers, and one line that says so."""
    counters = "snapshot_time 1.2 secs.nsecs\n" + "".join(f"counter_{at} 1 samples [usec] 1 1 1 1\n" for at in range(40))
    plan = Plan(tmp_path)
    names = [f"ost.OSS.service_{at}.stats" for at in range(8)]
    samples = samples_in_turn(plan, {"peers": [peers(40)] * 3, **{name: [counters] * 3 for name in names}}, "")
    imports = f"{plan.advance()}:{lnet(f'path={plan.tree}')}:{oss(f'path={plan.tree}')}"
    told = run("--import", imports, "--export", export(store.destination, "host=many-series"), "-i0", "-c", str(plan.count - 1))
    assert sum("series" in line for line in told.splitlines()) == 1, told
    found = store.settled("many-series", 1, families=[*FAMILIES, "self"], begin_s=samples[0][0] // NS)
    paths = {path for path, _ in found}
    top = {path for path in paths if ".top." in path}
    assert len(top) == 16 * 5
    assert 330 <= len(paths - top) <= 340


def seen_in(tree: Path) -> list[Snapshot]:
    """Return what the agent finds in a tree: where it looks, with its own reading."""
    found = look(Node(str(tree)))
    return [read_file(target.path, target.name, "x") for target in (*found.lnet, *found.services)]


def stamps_of(folder: Path) -> list[int]:
    return [time_ms * 1_000_000 for time_ms, _ in samples_of(raw_text(folder))]


def open_tree() -> Path:
    """Return a folder that every user may enter, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="lnetstat-tree-"))
    folder.chmod(0o755)
    return folder


def test_forbidden_unreadable_and_failing_files(store: Store) -> None:
    """Without the right to read some files: their points are missing, all others are there. A folder in a file's place is no file."""
    user = free_user()
    folder = open_tree()
    try:
        tree, out = folder / "tree", folder / "out"
        for name, texts in texts_by_file().items():
            file = tree / place_of(name, "")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[0])
        for name in ("peers", "buffers"):
            (tree / name).chmod(0)
        (tree / "routes").unlink()
        (tree / "routes").mkdir()
        (tree / "nis").unlink()
        (tree / "nis").symlink_to("nowhere")
        out.mkdir()
        shutil.chown(out, user)
        for file in (folder / "lnet.ph", folder / "lustre_oss.ph", folder / "lnetcarbon.ph"):
            shutil.copy(REPO / "collectors" / "collectl" / file.name, file)
            file.chmod(0o644)
        told = run(
            *("--import", f"{folder}/lnet.ph,path={tree}:{folder}/lustre_oss.ph,path={tree}"),
            *("--export", f"{folder}/lnetcarbon.ph,{store.destination},host=forbidden", "-i0.2", "-c3", "-f", out),
            as_user=user,
        )
        assert told.count("peers: forbidden") == 1, told
        stamps = stamps_of(out)
        assert len(stamps) == 4
        read = [unread(each.name, "", 13, Clocks()) if each.name in ("peers", "buffers") else each for each in seen_in(tree)]
        assert {each.name: each.state for each in read if each.name in ("nis", "routes")} == {"nis": State.ABSENT, "routes": State.FAILED}
        wanted = expected("forbidden", [(stamp, read) for stamp in stamps])
        assert {path.partition(".")[0] for path, _ in wanted} == {"lnet_stats", "counters", "self"}
        errors = [wanted["self.errors", stamp // NS] for stamp in stamps[1:]]  # the first may lie in a second of its own
        assert max(errors) == 3 * len(stamps)  # peers, buffers and routes each time
        begin_s = min(stamps) // NS
        told = difference(store.settled("forbidden", len(wanted), families=COMPARED, begin_s=begin_s), wanted)
        assert not told, told
    finally:
        shutil.rmtree(folder)


def test_beside_the_agent_itself(store: Store, tmp_path: Path) -> None:
    """One tree, read by the agent's own process and by collectl with its own clock: the same paths with the same values."""
    tree = tmp_path / "tree"
    for name, text in fixtures():
        file = tree / place_of(name, "")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    agent = [sys.executable, "-m", "lnetstat", "agent", "--root", tree, "--host", "agent", "--carbon", store.destination, "--samples", "3"]
    done = subprocess.run(agent, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(REPO)}, check=False)
    assert done.returncode == 0, done.stderr
    run(
        *("--import", f"{lnet(f'path={tree}')}:{oss(f'path={tree}')}"),
        *("--export", export(store.destination, "host=collectl"), "-i0.2", "-c3"),
    )
    by_agent = {(path, value) for (path, _), value in store.settled("agent", 1).items()}
    by_collectl = {(path, value) for (path, _), value in store.settled("collectl", len(by_agent)).items()}
    assert by_agent
    assert by_collectl == by_agent
