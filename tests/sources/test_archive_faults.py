"""Archives with something wrong in them: one clear line that names the file, never a traceback, never silence."""

import contextlib
import errno
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lnetstat.errors import SourceError
from lnetstat.frames import load
from lnetstat.model import Snapshot, State
from lnetstat.sources.archive import ArchiveSource

PEERS = "nid refs state last max rtr min tx min queue\n10.1.0.1@tcp 1 up -1 8 8 8 8 -7 0\n"
NIS = "nid status alive refs peer rtr max tx min\n10.1.0.1@tcp up -1 1 8 0 256 256 250\n"
SECOND_NS = 1_000_000_000
NOON_NS = 1795176000 * SECOND_NS  # 2026-11-20T12:00:00Z
MTIME_S = 1795176000 + 3600
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


def listed(snapshots: list[Snapshot]) -> list[tuple[str, str, int]]:
    return [(s.host, s.name, (s.time_ns - NOON_NS) // 1_000_000) for s in snapshots]


@pytest.mark.parametrize("size", [512, 700, 1024, 2560])
@pytest.mark.parametrize("name", ["rtr/what", "rtr/uname", "rtr/INDEX.tsv", "rtr/peers"])
def test_a_plain_tar_file_cut_inside_its_first_file_is_one_clear_line(tmp_path: Path, name: str, size: int) -> None:
    (tmp_path / "cut.tar").write_bytes(tar_bytes({name: PEERS * 40}, "w")[:size])
    problems = []
    try:
        source = ArchiveSource(str(tmp_path / "cut.tar"))
        assert [s.state for s in source.snapshots()] == [State.FAILED]
        problems = source.problems
    except SourceError as error:
        problems = [str(error)]
    assert "cut: damaged after 1 files" in problems[0]


def test_a_plain_tar_file_cut_inside_a_later_file_gives_what_came_before(tmp_path: Path) -> None:
    whole = tar_bytes({"rtr/20261120T120000Z/peers": PEERS, "rtr/what": PEERS * 40}, "w")
    (tmp_path / "cut.tar").write_bytes(whole[:1800])
    source = ArchiveSource(str(tmp_path / "cut.tar"))
    assert [s.text for s in source.snapshots()] == [PEERS]
    assert len(source.problems) == 1
    assert "cut: damaged after 2 files" in source.problems[0]


YEAR_2400_S = 13569465600


@pytest.mark.parametrize("mtime_s", [YEAR_2400_S, 0, -5])
def test_a_modification_time_that_cannot_be_true_is_told_and_its_file_left_out(tmp_path: Path, mtime_s: int) -> None:
    root = write(tmp_path / "x", {"rtr/peers": PEERS, "rtr/nis": NIS, "rtr/20261120T120000Z/stats": "1 2\n"})
    for path in ("rtr/peers", "rtr/20261120T120000Z/stats"):
        os.utime(root / path, (mtime_s, mtime_s))
    source = ArchiveSource(str(root))
    assert sorted(s.name for s in source.snapshots()) == ["nis", "stats"], "a stamp in the path is better than any modification time"
    assert source.problems == ["x/rtr/peers has no time stamp in its path and was modified outside the years 1990 to 2200: left out"]
    assert len(load(source).states) == 2


@pytest.mark.parametrize("mtime", ["1099511627776", "inf", "nan", "1e300"])
def test_a_tar_file_with_times_that_cannot_be_true(tmp_path: Path, mtime: str) -> None:
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        for name, headers in (("rtr/peers", {"mtime": mtime}), ("rtr/nis", {"mtime": str(MTIME_S)})):
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(PEERS), headers
            tar.addfile(info, io.BytesIO(PEERS.encode()))
    source = ArchiveSource(str(tmp_path / "x.tar"))
    assert [(s.name, s.time_ns) for s in source.snapshots()] == [("nis", MTIME_S * SECOND_NS)]
    assert source.problems == ["x/rtr/peers has no time stamp in its path and was modified outside the years 1990 to 2200: left out"]


def test_a_stamp_of_1970_in_the_path_gives_way_to_the_modification_time(tmp_path: Path) -> None:
    source = ArchiveSource(str(write(tmp_path / "x", {"rtr/19700101T000012Z/peers": PEERS})))
    assert [s.time_ns for s in source.snapshots()] == [MTIME_S * SECOND_NS]
    assert source.problems == [
        "x/rtr/19700101T000012Z/peers has a time stamp outside the years 1990 to 2200 in its path: its modification time is used"
    ]


def test_an_index_with_numbers_that_cannot_be_true_costs_its_bad_lines_only(tmp_path: Path) -> None:
    index = INDEXED["INDEX.tsv"].replace("1795176002.100123", "99999999999").replace("\t411\t", "\t1" + "0" * 30 + "\t")
    index = index.replace("\t13\t", "\t1" + "0" * 30 + "\t")
    source = ArchiveSource(str(write(tmp_path / "x", INDEXED | {"INDEX.tsv": index})))
    snapshots = list(source.snapshots())
    assert listed(snapshots) == [("x", "peers", 2100), ("x", "stats", 2100), ("x", "peers", 2200)]
    assert source.problems == [
        "x/INDEX.tsv: line 4: expected 6 columns with numbers; 2 such lines are left out",
        "x/INDEX.tsv: line 2: epoch outside the years 1990 to 2200; 1 such lines are left out",
    ]
    assert len(load(source).states) == 3


@contextlib.contextmanager
def without_root() -> Iterator[None]:
    """Be nobody for a while, where the tests are run by root, who may read everything."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)


def test_what_may_not_be_read_is_forbidden_and_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = "20261120T120000Z"
    files = [f"rtr/{stamp}/peers", "rtr/uname", "r2/INDEX.tsv", "rtr/unknown"]
    root = write(tmp_path / "x", dict.fromkeys([*files, f"r2/{stamp}/nis", "r3/deep/peers", "r4.tar"], PEERS))
    for path in (*files, "r3/deep", "r4.tar"):
        (root / path).chmod(0)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with without_root():
        source = ArchiveSource("x")
        found = [(s.host, s.name, s.state, s.errno, s.text) for s in source.snapshots()]
    (root / "r3/deep").chmod(0o755)
    assert sorted(found) == [
        ("r2", "nis", State.OK, 0, PEERS),
        ("rtr", "peers", State.FORBIDDEN, errno.EACCES, ""),
    ]
    advice = "Permission denied: run as root, or copy it with the right to read"
    assert sorted(source.problems) == [
        f"x/r2/INDEX.tsv cannot be read: {advice}",
        f"x/r3/deep: {advice}",
        f"x/r4.tar: {advice}",
        f"x/rtr/{stamp}/peers: {advice}: left out",
    ]
    assert source.notes == [f"x/rtr/uname cannot be read: {advice} (1 others likewise)"]


def test_links_are_noted_and_pipes_are_told(tmp_path: Path) -> None:
    root = write(tmp_path / "x", {"20261120T120000Z/nis": NIS, "20261120T120000Z/hostname": "rtr\n"})
    (tmp_path / "other").mkdir()
    for name, target in (("loop", root), ("other", tmp_path / "other"), ("peers", "/etc/passwd"), ("motd", "/etc/passwd")):
        (root / name).symlink_to(target)
    for name in ("20261120T120000Z/stats", "20261120T120000Z/anything", "INDEX.tsv", "a.tar"):
        os.mkfifo(root / name)
    source = ArchiveSource(str(root))
    assert [s.name for s in source.snapshots()] == ["nis"]
    assert source.notes == ["x/loop is a link to a folder: not followed (1 others likewise)", "x/peers is a link: not followed"]
    assert source.problems == ["x/INDEX.tsv is a FIFO: left out: expected a file (2 others likewise)"]


def test_members_of_a_tar_file_that_are_no_files_are_told(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for name, kind in (("nis", tarfile.REGTYPE), ("peers", tarfile.LNKTYPE), ("stats", tarfile.SYMTYPE), ("motd", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(f"20261120T120000Z/{name}")
            info.type, info.linkname = kind, "20261120T120000Z/nis"
            tar.addfile(info)
    source = ArchiveSource(str(tmp_path / "x.tar"))
    assert [s.name for s in source.snapshots()] == ["nis"]
    assert source.problems == ["x/20261120T120000Z/peers is a hard link: left out: copy it as a file of its own"]
    assert source.notes[0] == "x/20261120T120000Z/stats is a link: not followed"


@pytest.mark.parametrize("packed", [False, True])
def test_each_snapshot_can_be_traced_to_its_file(tmp_path: Path, packed: bool) -> None:
    paths = [f"rtr/20261120T12000{i}Z/{name}" for i in range(3) for name in ("debugfs.lnet.nis", "peers")]
    if packed:
        (tmp_path / "x.tar.gz").write_bytes(tar_bytes(dict.fromkeys(reversed(paths), PEERS)))
    else:
        write(tmp_path / "x", dict.fromkeys(paths, PEERS))
    source = ArchiveSource(str(tmp_path / ("x.tar.gz" if packed else "x")))
    snapshots = []
    for snapshot in source.snapshots():
        snapshots.append((source.where(snapshot), snapshot))
    assert sorted(where for where, _ in snapshots) == sorted(f"x/{path}" for path in paths)
    assert all(where.removesuffix("peers") != where or snapshot.name == "nis" for where, snapshot in snapshots)
    assert source.where(snapshots[0][1]) == "", "only the snapshot that was yielded last is known"
