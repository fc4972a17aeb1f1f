"""A site with collectl archives needs nothing else: raw files say what a recording of the same samples says."""

import json
from pathlib import Path

import pytest

from lnetstat.cli import run
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording
from lnetstat.reduce import Reducer
from lnetstat.sources.collectl import CollectlSource
from tests.sources.raw_files import header, marker, only_worst, raw_text, record, write_raw

RECORDED = Path(__file__).parents[2] / "sample-data" / "recordings" / "s7-lustre-pings"
NS = 10**9


def exact(snapshot: Snapshot) -> Snapshot:
    """A snapshot as a raw file keeps it: to the microsecond, without the monotonic clock."""
    return snapshot._replace(time_ns=snapshot.time_ns // 1000 * 1000, read_ns=snapshot.read_ns // 1000 * 1000, mono_ns=None)


def raw_files(folder: Path, *, top: int | None = None, rows: int = 0, hosts: tuple[str, ...] | None = None) -> Path:
    by_host: dict[str, list[Snapshot]] = {}
    for each in Recording(RECORDED).snapshots(hosts=hosts):
        by_host.setdefault(each.host, []).append(exact(each))
    for host, snapshots in by_host.items():
        write_raw(folder, host, raw_text(snapshots, host, top=top, rows=rows))
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return raw_files(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def worst(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each scan of `peers` the three worst rows, of every 60th all."""
    return raw_files(tmp_path_factory.mktemp("worst"), top=3, rows=60)


ANALYSES: dict[tuple[Path, ...], dict] = {}  # of paths that do not change, each made once


def analysis_of(capsys: pytest.CaptureFixture[str], *paths: Path) -> dict:
    if paths not in ANALYSES:
        assert run(["analyze", "--json", *map(str, paths)]) == 0
        ANALYSES[paths] = json.loads(capsys.readouterr().out)
    return ANALYSES[paths]


def key_of(finding: dict) -> tuple[str, str, str]:
    return finding["kind"], finding["severity"], finding["subject"]


def test_analyze_says_of_raw_files_what_it_says_of_a_recording(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, expected = analysis_of(capsys, whole), analysis_of(capsys, RECORDED)
    assert [each["message"] for each in found["findings"]] == [each["message"] for each in expected["findings"]]
    assert [key_of(each) for each in found["findings"]] == [key_of(each) for each in expected["findings"]]
    assert found["data_quality"].keys() == expected["data_quality"].keys()


def test_files_may_be_given_one_by_one(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one_by_one, folder = analysis_of(capsys, *sorted(whole.iterdir())), analysis_of(capsys, whole)
    assert one_by_one["findings"] == folder["findings"]


def test_of_the_worst_rows_only_it_finds_the_same_and_nothing_else(worst: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, expected = analysis_of(capsys, worst), analysis_of(capsys, RECORDED)
    # router credits are not what the worst are chosen by: another peer may be named for them
    ours, theirs = (
        [(each["kind"], each["severity"], "" if "rtr" in each["kind"] else each["subject"]) for each in document["findings"]]
        for document in (found, expected)
    )
    assert ours == theirs
    assert found["credits"]["fraction_time_oversubscribed"] == pytest.approx(expected["credits"]["fraction_time_oversubscribed"], rel=0.05)
    assert found["credits"]["required_peak"] == expected["credits"]["required_peak"]


def test_that_only_the_worst_were_recorded_is_said_once(worst: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", str(worst), "--host", "rtr"]) == 0
    said = capsys.readouterr()
    assert said.err.count("only the 3 worst peers were recorded in 1,081 of 1,100 samples") == 1
    assert said.out.count("1081 reads of the worst peers only") == 1
    assert "partial" not in said.out


PEERS = "nid                      refs state  last   max   rtr   min    tx   min queue\n"


def peer(nid: str, tx: int, state: str = "up") -> str:
    return f"{nid:<24}    1 {state:>5}    -1     8     8     8 {tx:5} {min(tx, 3):5} 0\n"


def test_a_peer_listed_only_while_it_is_short_is_not_short_all_the_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """20 of 600 scans show it below 0, and only those list it: 3 % of the time, not 100 %; nor is it down for the whole record."""
    parts = [header("rtr")]
    for second in range(600):
        bad = 100 <= second < 120
        rows = [peer(f"10.0.0.{number}@tcp", 8) for number in range(2, 40)]
        text = PEERS + peer("10.0.0.1@tcp", -5 if bad else 8, "down" if bad else "up") + "".join(rows)
        one = Snapshot("peers", "rtr", (1795176000 + second) * NS, None, 1000, State.OK, 0, frozenset(), text)
        few = only_worst(one, 3)
        if not bad:
            few = few._replace(text=PEERS + "".join(rows[:3]))
        nets = f"lnt:tcp 39 {int(bad)} {int(bad)} 1 13 {-5 if bad else 8} -1 8 8 0 0 {int(bad)} 0 0 0 38 312\n"
        parts += [marker(one.time_ns), nets, record(few)]
    analysis = analysis_of(capsys, write_raw(tmp_path, "rtr", "".join(parts)))
    found = {each["kind"]: each for each in analysis["findings"]}
    assert analysis["credits"]["fraction_time_oversubscribed"] == pytest.approx(20 / 600, rel=0.01)
    assert found["oversubscribed_peers"]["subject"] == "peer 10.0.0.1@tcp on rtr"
    assert "between" in found["peer_down"]["message"]
    assert set(found) <= {"oversubscribed_peers", "peer_down", "cannot_tell", "first_exhausted", "dead_time"}


def test_carbon_gets_of_raw_files_what_it_gets_of_a_recording(whole: Path, worst: Path) -> None:
    def points(snapshots):
        reducer = Reducer("rtr")
        for each in snapshots:
            reducer.add(exact(each))
        return {(point.path, point.time_s): point.value for point in reducer.points()}

    expected = points(Recording(RECORDED).snapshots(hosts=["rtr"]))
    assert points(CollectlSource(whole).snapshots(hosts=["rtr"])) == expected
    found = points(CollectlSource(worst).snapshots(hosts=["rtr"]))
    top = {key for key in expected if ".top." in key[0]}
    assert {key: value for key, value in found.items() if key not in top} == {
        key: value for key, value in expected.items() if key not in top
    }


def test_replay_writes_the_tree_and_moves_stamps(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(whole), "--to", str(tmp_path / "tree"), "--speed", "1e9", "--host", "rtr", "--end", "1795176017"]) == 0
    assert (tmp_path / "tree" / "peers").read_text().startswith("nid ")
    assert run(["replay", str(whole), "--to", str(tmp_path / "tree"), "--host", "nobody"]) == 3
    assert "no host nobody: it holds c1, rtr, srv" in capsys.readouterr().err


def test_dump_and_compare_and_report(whole: Path, worst: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = next(worst.glob("rtr-*"))
    assert run(["dump", str(file), "--json", "--table", "peers_by_net", "--end", "1795176017"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files[0]["rows"][0]["net"].startswith("tcp")
    assert run(["compare", str(RECORDED), str(whole)]) == 0
    assert "No difference shown" in capsys.readouterr().out
    assert run(["report", str(worst), "-o", str(tmp_path / "report.html")]) == 0
    assert "of the worst peers only" in (tmp_path / "report.html").read_text()


def test_a_cut_file_is_told_in_one_line(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = next(whole.glob("rtr-*"))
    cut = tmp_path / file.name
    cut.write_bytes(file.read_bytes()[:-2000])
    assert run(["analyze", str(cut)]) == 3
    said = capsys.readouterr()
    assert "rtr: 10" in said.out
    assert [line for line in said.err.splitlines() if "gzip" in line] == said.err.splitlines()


def test_dump_tells_some_of_many_damages_and_counts_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [Snapshot("buffers", "rtr", (1795176000 + at) * NS, None, 0, State.OK, 0, frozenset(), f"torn {at}\n") for at in range(50)]
    path = write_raw(tmp_path, "rtr", header("rtr") + "".join(marker(each.time_ns) + record(each) for each in texts) + "lnt-x\n")
    assert run(["dump", str(path), "--json"]) == 3
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert len(lines) == 12
    assert "40 more likewise" in lines[10]
    assert "lnt-x" in lines[11], "what is wrong with the file itself is always told"
    assert sum(len(file["problems"]) for file in json.loads(said.out)["files"]) == 50
    assert run(["dump", str(path), str(path)]) == 3
    assert capsys.readouterr().err.count("40 more likewise") == 2, "each input by itself"


def test_raw_files_without_our_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_raw(tmp_path, "rtr", header("rtr", ours=False) + marker(NS) + "cpu  1 2 3 4 5 6 7 8 9 10\n")
    for words in (["analyze", str(path)], ["dump", str(path)], ["replay", str(path), "--to", str(tmp_path / "tree")]):
        assert run(words) == 3
        said = capsys.readouterr().err
        assert "holds no records of lnet.ph or lustre_oss.ph: was collectl started with --import?" in said
        assert said.count("\n") == 1
