"""Archives: the same snapshots from a folder, a tar and a tar.gz; honest times, hosts and errors; nothing hostile gets out."""

import contextlib
import errno
import io
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot, State
from lnetstat.sources import _members, open_source
from lnetstat.sources.archive import ArchiveSource

CAPTURES = Path(__file__).parents[2] / ".." / "shared" / "captures"
PEERS = "nid refs state last max rtr min tx min queue\n10.1.0.1@tcp 1 up -1 8 8 8 8 -7 0\n"
NIS = "nid status alive refs peer rtr max tx min\n10.1.0.1@tcp up -1 1 8 0 256 256 250\n"
SECOND_NS = 1_000_000_000
NOON_NS = 1795176000 * SECOND_NS  # 2026-11-20T12:00:00Z
MTIME_S = 1795176000 + 3600

CAPTURE = {
    "c1/20261120T120000.500Z_before/debugfs.lnet.peers": PEERS,
    "c1/20261120T120000.500Z_before/lnetctl_net_show_v2.yaml": "net:\n",
    "c1/20261120T120000.500Z_before/dmesg_tail": "nothing of ours\n",
    "c1/20261120T120000.500Z_before/ost.OSS.X.stats": "ost.OSS.ost.stats=\nsnapshot_time 1.2 secs.usecs\n",
    "c1/20261120T115959.000Z_static/uname": "Linux client1.site.org 6.1 x86_64\n",
    "c1/health/20261120T120001.250Z/debugfs.lnet.nis": NIS,
    "rtr/20261120T120000.250Z_before/debugfs.lnet.peers": PEERS,
}
INDEXED = {
    "20261120T120002.100Z/peers": PEERS,
    "20261120T120002.100Z/stats": "",
    "20261120T120002.200Z/peers": PEERS,
    "INDEX.tsv": "utc_dir\tfile\tepoch\terrno\tread_us\tbytes\n"
    f"20261120T120002.100Z\tpeers\t1795176002.100123\t0\t311\t{len(PEERS)}\n"
    "20261120T120002.100Z\tstats\t1795176002.100456\t2\t20\t0\n"
    f"20261120T120002.200Z\tpeers\t1795176002.200001\t0\t411\t{len(PEERS) + 5}\n"
    "20261120T120002.200Z\tnis\t1795176002.200789\t13\t20\t0\n",
}


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        os.utime(root / path, (MTIME_S, MTIME_S))
    return root


def tar_bytes(files: dict[str, str | bytes], mode: str = "w:gz", mtime: int = MTIME_S) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as tar:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(path)
            info.size, info.mtime = len(data), mtime
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def read(path: Path, host: str | None = None) -> list[Snapshot]:
    snapshots = list(ArchiveSource(str(path), host).snapshots())
    assert [s.time_ns for s in snapshots] == sorted(s.time_ns for s in snapshots)
    return snapshots


def listed(snapshots: list[Snapshot]) -> list[tuple[str, str, int]]:
    return [(s.host, s.name, (s.time_ns - NOON_NS) // 1_000_000) for s in snapshots]


CAPTURE_LISTED = [
    ("rtr", "peers", 250),
    ("client1", "peers", 500),
    ("client1", "lnetctl net show -v 2", 500),
    ("client1", "ost.OSS.*.stats", 500),
    ("client1", "nis", 1250),
]


def test_a_capture_folder_with_two_nodes(tmp_path: Path) -> None:
    source = ArchiveSource(str(write(tmp_path / "s1", CAPTURE)))
    snapshots = list(source.snapshots())
    assert sorted(listed(snapshots)) == sorted(CAPTURE_LISTED)
    assert {(s.state, s.errno, s.mono_ns, s.read_ns) for s in snapshots} == {(State.OK, 0, None, 0)}
    assert next(s.text for s in snapshots if s.host == "rtr") == PEERS
    assert source.hosts == ("client1", "rtr")
    assert (source.begin_ns, source.end_ns) == (NOON_NS + 250_000_000, NOON_NS + 1_250_000_000)
    assert (source.uncertainty_s, source.ignored, source.problems) == (0.001, 1, [])


@pytest.mark.parametrize(("suffix", "mode"), [("tar", "w"), ("tar.gz", "w:gz"), ("tgz", "w:gz"), ("tar.xz", "w:xz"), ("tar.bz2", "w:bz2")])
def test_a_tar_file_gives_what_the_folder_gives(tmp_path: Path, suffix: str, mode: str) -> None:
    (tmp_path / f"s1.{suffix}").write_bytes(tar_bytes(CAPTURE, mode))
    from_folder = read(write(tmp_path / "s1", CAPTURE))
    assert sorted(read(tmp_path / f"s1.{suffix}")) == sorted(from_folder)


def test_an_index_gives_exact_times_errors_and_read_times(tmp_path: Path) -> None:
    (tmp_path / "rtr").mkdir()
    (tmp_path / "rtr" / "fast.tar.gz").write_bytes(tar_bytes(INDEXED))
    source = ArchiveSource(str(tmp_path / "rtr" / "fast.tar.gz"))
    found = [(s.host, s.name, s.time_ns - NOON_NS, s.read_ns, s.state, s.errno, s.flags, s.text) for s in source.snapshots()]
    assert found == [
        ("rtr", "peers", 2_100_123_000, 311_000, State.OK, 0, frozenset(), PEERS),
        ("rtr", "stats", 2_100_456_000, 20_000, State.ABSENT, errno.ENOENT, frozenset(), ""),
        ("rtr", "peers", 2_200_001_000, 411_000, State.OK, 0, frozenset({"torn"}), PEERS),
        ("rtr", "nis", 2_200_789_000, 20_000, State.FORBIDDEN, errno.EACCES, frozenset(), ""),
    ]
    assert source.uncertainty_s == 1e-6


@pytest.mark.parametrize(
    ("text", "state", "number"),
    [
        ("cat: /sys/fs/lustre/version: No such file or directory\n", State.ABSENT, errno.ENOENT),
        ("error: get_param: param_path 'version': No such file or directory\n", State.ABSENT, errno.ENOENT),
        ("head: cannot open '/sys/fs/lustre/version' for reading: Permission denied\n", State.FORBIDDEN, errno.EACCES),
        ("cat: a: No such file or directory\ncat: b: Permission denied\n", State.FORBIDDEN, errno.EACCES),
    ],
)
def test_a_file_that_holds_only_a_tools_complaint_was_not_there_or_forbidden(tmp_path, text, state, number) -> None:
    stamp = "20261120T120000.500Z_static"
    folder = write(tmp_path / "s1", {f"rtr/{stamp}/sysfs_lustre_version": text, f"rtr/{stamp}/debugfs.lnet.peers": PEERS})
    found = {s.name: (s.state, s.errno, s.text) for s in read(folder)}
    assert found == {"version": (state, number, ""), "peers": (State.OK, 0, PEERS)}
    (alone,) = open_source(str(folder / "rtr" / stamp / "sysfs_lustre_version")).snapshots()
    assert (alone.state, alone.errno, alone.text) == (state, number, "")


@pytest.mark.parametrize("text", ["", "lustre: 2.15.8\n", f"cat: x: No such file or directory\n{PEERS}", "cat: x: Input/output error\n"])
def test_a_text_with_anything_else_in_it_stays_as_it_is(tmp_path, text) -> None:
    (snapshot,) = read(write(tmp_path / "s1", {"rtr/20261120T120000.500Z/peers": text}))
    assert (snapshot.state, snapshot.errno, snapshot.text) == (State.OK, 0, text)


def test_nodes_with_tar_files_inside_folders_inside_a_tar_file(tmp_path: Path) -> None:
    inner = tar_bytes(INDEXED)
    whole = {"s2/rtr/fast.tar.gz": inner, "s2/c1/fast.tar.gz": inner, "s2/srv.tar.gz": inner, "s2/zz/20261120T120001Z/peers": PEERS}
    (tmp_path / "s2.tar.gz").write_bytes(tar_bytes(whole))
    found = read(tmp_path / "s2.tar.gz")
    assert Counter(s.host for s in found) == {"rtr": 4, "c1": 4, "srv": 4, "zz": 1}
    assert sum(s.text == PEERS for s in found) == 7


def test_tar_files_one_in_another_without_end(tmp_path: Path) -> None:
    data = tar_bytes({"20261120T120000Z/peers": PEERS})
    for level in range(6):
        data = tar_bytes({f"level{level}.tar.gz": data, "20261120T120000Z/nis": NIS})
    (tmp_path / "x.tar.gz").write_bytes(data)
    source = ArchiveSource(str(tmp_path / "x.tar.gz"))
    assert {s.name for s in source.snapshots()} == {"nis"}
    assert len(source.problems) == 1
    assert "not looked into" in source.problems[0]


@pytest.mark.parametrize("held", [1, 200, 1 << 20])
def test_a_tar_file_in_any_order_comes_out_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(_members, "HELD_BYTES_MAX", held)
    files = {f"rtr/20261120T1200{(7 * i) % 60:02}Z/peers": PEERS + f"{(7 * i) % 60}" for i in range(60)}
    (tmp_path / "x.tar.gz").write_bytes(tar_bytes(files))
    assert [s.text.removeprefix(PEERS) for s in read(tmp_path / "x.tar.gz")] == [str(i) for i in range(60)]


SOS = "sosreport-router7-2026-11-20-abcdefg"
SOSREPORT = {
    f"{SOS}/sos_commands/lustre/params-lnet": f"peers=\n{PEERS}nis=\n{NIS}",
    f"{SOS}/sos_commands/lustre/lctl_get_param_-n_peers": PEERS,
    f"{SOS}/sos_commands/lustre/lnetctl_net_show_-v": "net:\n",
    f"{SOS}/sos_commands/kernel/peers": "not a table of LNet's\n",
    f"{SOS}/sos_commands/host/hostname": "another\n",
    f"{SOS}/sys/kernel/debug/lnet/nis": NIS,
    f"{SOS}/sys/kernel/debug/bdi/stats": "not LNet's\n",
    f"{SOS}/sys/module/ksocklnd/parameters/peer_credits": "8\n",
    f"{SOS}/sys/module/other/parameters/peer_credits": "9\n",
    f"{SOS}/proc/sys/lnet/stats": "",
    f"{SOS}/proc/fs/lustre/ost/OSS/ost_io/stats": "snapshot_time 1.2 secs.usecs\n",
    f"{SOS}/proc/version": "Linux version\n",
    f"{SOS}/proc/stat": "cpu 1 2 3\n",
    f"{SOS}/var/log/timeout": "x\n",
}


def test_a_sosreport(tmp_path: Path) -> None:
    (tmp_path / f"{SOS}.tar.xz").write_bytes(tar_bytes(SOSREPORT, "w:xz"))
    source = ArchiveSource(str(tmp_path / f"{SOS}.tar.xz"))
    snapshots = list(source.snapshots())
    assert {s.host for s in snapshots} == {"router7"}
    assert {s.time_ns for s in snapshots} == {MTIME_S * SECOND_NS}, "the name says the day only, the files say when"
    assert source.uncertainty_s == 1.0
    assert {"params-lnet", "peers", "lnetctl net show", "nis", "ksocklnd.peer_credits", "ost.OSS.ost_io.stats", "proc/stat", "stats"} <= {
        s.name for s in snapshots
    }
    assert not [s for s in snapshots if "not" in s.text or s.text in ("9\n", "Linux version\n")]
    assert len(source.notes) == 1
    assert f"{SOS}/proc/sys/lnet/stats is empty, which no kernel prints" in source.notes[0]


@pytest.mark.parametrize(
    ("path", "host", "time_s", "uncertainty_s"),
    [
        ("router1-20261120T120000Z/peers", "router1", 1795176000, 1),
        ("20261120/rtr2/peers", "rtr2", 1795176000 + 3600, 1),
        ("rtr3/1795176000.25/peers", "rtr3", 1795176000.25, 0.01),
        ("rtr4/2026-11-20_13:00/peers", "rtr4", 1795179600, 60),
        ("rtr5/2026-11-20T13:00:01+01:00/peers", "rtr5", 1795176001, 1),
        ("rtr6.site.org/peers-20261120T120003Z.txt", "rtr6", 1795176003, 1),
        ("a/20250101T000000Z/rtr8/20261120T120000Z/peers", "rtr8", 1795176000, 1),
        ("rtr9/proc/sys/lnet/peers", "rtr9", 1795176000 + 3600, 1),
        ("10.1.0.1/20261120T120000Z/peers", "10.1.0.1", 1795176000, 1),
    ],
)
def test_when_and_who_from_the_path(tmp_path: Path, path: str, host: str, time_s: float, uncertainty_s: float) -> None:
    source = ArchiveSource(str(write(tmp_path / "x", {path: PEERS})))
    (snapshot,) = source.snapshots()
    assert (snapshot.name, snapshot.host, snapshot.time_ns) == ("peers", host, round(time_s * 1000) * 1_000_000)
    assert source.uncertainty_s == uncertainty_s


def test_what_is_not_certain_is_told_once(tmp_path: Path) -> None:
    source = ArchiveSource(str(write(tmp_path / "x", {"peers": PEERS, "nis": NIS, "r/20261120-120000/nis": NIS})))
    assert source.problems == []
    assert source.notes == [
        "x/nis has no time stamp in its path: its modification time is used (1 others likewise)",
        "x/r/20261120-120000/nis has a time stamp without time zone: taken as UTC",
    ]


def test_the_host_that_is_asked_for_wins(tmp_path: Path) -> None:
    assert {s.host for s in read(write(tmp_path / "s1", CAPTURE), "here")} == {"here"}


def test_an_index_that_is_damaged_costs_its_bad_lines_only(tmp_path: Path) -> None:
    bad = INDEXED | {"INDEX.tsv": INDEXED["INDEX.tsv"].replace("1795176002.100123", "yesterday") + "half a li"}
    source = ArchiveSource(str(write(tmp_path / "x", bad)))
    first = next(source.snapshots())
    assert (first.name, first.time_ns - NOON_NS) == ("peers", 2_100_000_000)
    assert source.problems == ["x/INDEX.tsv: line 2: expected 6 columns with numbers; 2 such lines are left out"]


def test_a_tar_file_cut_short_gives_what_came_before(tmp_path: Path) -> None:
    files = {f"rtr/20261120T1200{i:02}Z/peers": PEERS + os.urandom(3000).hex() for i in range(60)}
    whole = tar_bytes(files)
    (tmp_path / "x.tar.gz").write_bytes(whole[: len(whole) // 2])
    source = ArchiveSource(str(tmp_path / "x.tar.gz"))
    snapshots = list(source.snapshots())
    assert 20 <= len(snapshots) <= 40
    assert [s.text for s in snapshots[:-1]] == list(files.values())[: len(snapshots) - 1]
    assert "x: damaged after" in source.problems[0]


@pytest.mark.parametrize("cut", range(0, 1200, 97))
def test_a_tar_file_cut_anywhere_never_gives_a_traceback(tmp_path: Path, cut: int) -> None:
    whole = tar_bytes({f"rtr/20261120T1200{i:02}Z/peers": PEERS + os.urandom(300).hex() for i in range(3)})
    (tmp_path / "y.tar.gz").write_bytes(whole[:cut])
    with contextlib.suppress(SourceError):
        assert list(ArchiveSource(str(tmp_path / "y.tar.gz")).snapshots())


def test_hostile_members_are_harmless(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name in (
            "../../../escaped/peers",
            "/escaped/peers",
            "20261120T120000Z/../peers",
            "a\nb/20261120T120000Z/peers",
            "x\udcff/peers",
            "..",
        ):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(PEERS), MTIME_S
            tar.addfile(info, io.BytesIO(PEERS.encode()))
        for name, kind in (("peers", tarfile.SYMTYPE), ("nis", tarfile.LNKTYPE), ("stats", tarfile.CHRTYPE), ("routes", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(f"20261120T120000Z/{name}")
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
    (tmp_path / "x.tar.gz").write_bytes(stream.getvalue())
    before = sorted(tmp_path.parent.rglob("*"))
    source = ArchiveSource(str(tmp_path / "x.tar.gz"))
    snapshots = list(source.snapshots())
    assert len(snapshots) == 5
    assert {s.text for s in snapshots} == {PEERS}
    assert all(s.host.isprintable() and "/" not in s.host for s in snapshots)
    assert all(problem.isprintable() for problem in source.problems)
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_links_and_pipes_in_a_folder_are_left_alone(tmp_path: Path) -> None:
    root = write(tmp_path / "x", {"20261120T120000Z/nis": NIS})
    (root / "20261120T120000Z" / "peers").symlink_to("/etc/passwd")
    os.mkfifo(root / "20261120T120000Z" / "stats")
    (root / "loop").symlink_to(root)
    assert [s.name for s in read(root)] == ["nis"]


def test_a_file_that_unpacks_without_end_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_members, "MEMBER_BYTES_MAX", 1000)
    huge = {"rtr/20261120T120000Z/peers": PEERS * 100, "rtr/20261120T120001Z/peers": PEERS}
    (tmp_path / "x.tar.gz").write_bytes(tar_bytes(huge))
    source = ArchiveSource(str(tmp_path / "x.tar.gz"))
    assert [(s.state, s.errno, s.text) for s in source.snapshots()] == [(State.FAILED, errno.EIO, ""), (State.OK, 0, PEERS)]
    assert len(source.problems) == 1
    assert "damaged or larger" in source.problems[0]


def test_memory_does_not_grow_with_the_texts(tmp_path: Path) -> None:
    """100 texts of 1 MiB in a tar.gz of 0.1 MiB: only one of them is held at a time."""
    data = tar_bytes({f"rtr/20261120T12{i // 60:02}{i % 60:02}Z/peers": PEERS + " " * (1 << 20) for i in range(100)})
    (tmp_path / "x.tar.gz").write_bytes(data)
    program = """
import sys
from lnetstat.sources.archive import ArchiveSource
count = sum(1 for _ in ArchiveSource(sys.argv[1]).snapshots())
print(count, next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "x.tar.gz"], capture_output=True, text=True, check=True)
    count, rss_kib = map(int, done.stdout.split())
    assert count == 100
    assert rss_kib < 60_000


def test_nothing_to_read_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "other", {"readme.txt": "hello\n"})
    (tmp_path / "broken.tar.gz").write_bytes(b"\x1f\x8bnot gzip at all")
    for name, count in (("empty", 0), ("other", 1), ("broken.tar.gz", 0)):
        with pytest.raises(SourceError, match=rf"{name}: no LNet or Lustre text found in {count} files.*: expected peers") as caught:
            ArchiveSource(str(tmp_path / name))
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="needs ../shared/captures")
class TestCaptures:
    """Real captures of real LNet."""

    def test_a_node_whose_lnet_was_unloaded(self) -> None:
        source = ArchiveSource(str(CAPTURES / "s9_disruptions" / "rtr" / "fast.tar.gz"))
        snapshots = list(source.snapshots())
        assert source.hosts == ("rtr",)
        assert Counter(s.name for s in snapshots) == dict.fromkeys(("peers", "nis", "buffers", "stats", "routes", "routers"), 460)
        assert Counter((s.state, s.errno) for s in snapshots) == {(State.OK, 0): 2502, (State.ABSENT, errno.ENOENT): 258}
        assert not [s for s in snapshots if s.flags]
        gone = next(s for s in snapshots if s.state is State.ABSENT)
        assert (gone.name, gone.time_ns, gone.read_ns) == ("peers", 1795176769587077000, 712_000)

    def test_a_whole_scenario(self) -> None:
        source = ArchiveSource(str(CAPTURES / "s7_lustre_pings_seed_credits"))
        assert source.hosts == ("c1", "rtr", "srv")
        counts: Counter[tuple[str, str]] = Counter()
        last_ns = 0
        for snapshot in source.snapshots():
            counts[snapshot.host, snapshot.name] += 1
            assert last_ns <= snapshot.time_ns
            last_ns = snapshot.time_ns
        assert counts["rtr", "peers"] == 1100 + 3
        assert counts["srv", "ost.OSS.ost.stats"] == 1100
        assert counts["srv", "obdfilter.*.stats"] == 1
        assert counts["c1", "lnetctl net show -v 4"] == 3

    def test_a_snapshot_folder_alone_knows_its_node_and_time(self) -> None:
        (folder,) = (CAPTURES / "s8_lustre2.15.8_ramp" / "rtr").iterdir()
        source = ArchiveSource(str(folder))
        assert source.hosts == ("rtr",)
        assert source.uncertainty_s == 0.001
        assert source.begin_ns == source.end_ns == 1795176413_778_000_000
