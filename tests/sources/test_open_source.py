"""open_source: what a path stands for, and one clear line when it stands for nothing."""

import gzip
import io
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lnetstat.errors import LnetstatError, SourceError
from lnetstat.model import Snapshot, State
from lnetstat.recording import Recording, RecordingWriter
from lnetstat.sources import _members, file, open_source
from lnetstat.sources.archive import ArchiveSource
from lnetstat.sources.file import open_stdin

PEERS = "nid refs state last max rtr min tx min queue\n10.1.0.1@tcp 1 up -1 8 8 8 8 -7 0\n"
MTIME_NS = 1_795_176_000_000_000_000


def captured(path: Path, data: str | bytes = PEERS) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    os.utime(path, ns=(MTIME_NS, MTIME_NS))
    return str(path)


def only(source: object) -> Snapshot:
    (snapshot,) = source.snapshots()  # type: ignore[attr-defined]
    return snapshot


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("peers", "peers"),
        ("peers.txt", "peers"),
        ("peers--oversubscribed.txt", "peers"),
        ("debugfs.lnet.peers", "peers"),
        ("debugfs.lnet.cpu_partition_table", "cpu_partition_table"),
        ("lnetctl_net_show_v4.yaml", "lnetctl net show -v 4"),
        ("ost.OSS.ost_io.stats", "ost.OSS.ost_io.stats"),
        ("ost.OSS.X.stats", "ost.OSS.*.stats"),
        ("osc.lustre-OST0000-X.stats", "osc.lustre-OST0000-*.stats"),
        ("obdfilter.X-OST0000.stats", "obdfilter.X-OST0000.stats"),
        ("params.ksocklnd", "params.ksocklnd"),
        ("proc/fs/lustre/mds/MDS/mdt/stats", "mds.MDS.mdt.stats"),
        ("my notes.txt", "my notes"),
    ],
)
def test_the_name_of_a_captured_file_tells_its_table(tmp_path: Path, file: str, name: str) -> None:
    snapshot = only(open_source(captured(tmp_path / file)))
    assert snapshot == (name, "unknown", MTIME_NS, None, 0, State.OK, 0, frozenset(), PEERS)


def test_a_stamp_in_the_path_is_better_than_the_modification_time(tmp_path: Path) -> None:
    snapshot = only(open_source(captured(tmp_path / "rtr" / "20261120T115959.250Z_before" / "debugfs.lnet.peers")))
    assert (snapshot.host, snapshot.time_ns) == ("rtr", MTIME_NS - 750_000_000)
    source = open_source(captured(tmp_path / "peers"), host="asked")
    assert only(source).host == "asked"
    assert source.notes == [f"{tmp_path}/peers has no time stamp in its path: its modification time is used"]  # type: ignore[attr-defined]


def test_a_packed_file(tmp_path: Path) -> None:
    packed = gzip.compress(PEERS.encode())
    snapshot = only(open_source(captured(tmp_path / "peers--case.txt.gz", packed)))
    assert (snapshot.name, snapshot.text) == ("peers", PEERS)
    for data in (packed[:-20], b"\x1f\x8b nothing", b"plain text"):
        with pytest.raises(SourceError, match=r"peers.gz: not a whole gzip file: .*: unpack it or copy it again"):
            open_source(captured(tmp_path / "peers.gz", data))


def test_a_kernel_file_is_read_record_by_record_and_is_now(mount: Callable[..., Path]) -> None:
    text = PEERS.splitlines()[0] + "\n" + "10.1.0.1@tcp                1    up    -1     8     8     8     8    -7 0\n" * 300
    snapshot = only(open_source(str(mount(text) / "peers")))
    assert (snapshot.name, snapshot.text, snapshot.host) == ("peers", text, os.uname().nodename.split(".")[0])
    assert snapshot.mono_ns is not None


def test_standard_input() -> None:
    snapshot = only(open_stdin(None, io.BytesIO(b"nid\xff\n")))
    assert (snapshot.name, snapshot.host, snapshot.text) == ("stdin", "unknown", "nid\udcff\n")
    program = "from lnetstat.sources import open_source; print(next(open_source('-', host='rtr').snapshots())[0:2])"
    done = subprocess.run([sys.executable, "-c", program], input=PEERS, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("('stdin', 'rtr')\n", "")


def test_a_pipe_such_as_a_shell_makes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(PEERS))
    writer.start()
    assert only(open_source(str(tmp_path / "pipe"))).text == PEERS
    writer.join()


def test_a_recording_an_archive_folder_and_a_tar_file_of_any_name(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "recording")
    writer.write([Snapshot("peers", "rtr", MTIME_NS, 1, 1, State.OK, 0, frozenset(), PEERS)])
    writer.close()
    captured(tmp_path / "archive" / "20261120T120000Z" / "peers")
    for name, mode in (("plain", "w"), ("packed.bin", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as tar:
            tar.add(tmp_path / "archive", "archive")
    assert isinstance(open_source(str(tmp_path / "recording")), Recording)
    for name in ("archive", "plain", "packed.bin"):
        source = open_source(str(tmp_path / name))
        assert isinstance(source, ArchiveSource)
        assert only(source).text == PEERS


@pytest.mark.parametrize("path", ["gone", "peers/below", "/dev/null", "/", "\0", "empty_folder", "x" * 300])
def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path, path: str) -> None:
    captured(tmp_path / "peers")
    (tmp_path / "empty_folder").mkdir()
    with pytest.raises(LnetstatError) as caught:
        open_source(path if path.startswith("/") else str(tmp_path / path))
    assert "\n" not in str(caught.value)
    assert "expected" in str(caught.value) or path == "/"


def test_a_file_without_permission_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = captured(tmp_path / "peers")
    os.chmod(path, 0)
    monkeypatch.chdir(tmp_path)
    was_root = os.geteuid() == 0
    if was_root:
        os.chmod(tmp_path, 0o755)
        open_source(path)  # imports what it needs while it may
        os.seteuid(65534)
    try:
        with pytest.raises(SourceError, match=r"^peers: Permission denied: run as root, or read a captured copy$"):
            open_source("peers")
    finally:
        if was_root:
            os.seteuid(0)


def test_a_segment_of_a_recording_names_its_folder(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "rec") as writer:
        writer.write([Snapshot("peers", "rtr", MTIME_NS, 1, 1, State.OK, 0, frozenset(), PEERS)])
    segment = tmp_path / "rec" / "00000001.lnetrec"
    (tmp_path / "renamed").write_bytes(segment.read_bytes())
    os.mkfifo(tmp_path / "00000007.lnetrec")
    for path in (segment, tmp_path / "renamed", tmp_path / "00000007.lnetrec"):
        with pytest.raises(SourceError, match=f"^{path}: a segment of a recording: give its folder: {path.parent}$"):
            open_source(str(path))
    with pytest.raises(SourceError, match="No such file"):
        open_source(str(tmp_path / "00000008.lnetrec"))


def test_a_packed_file_is_bounded_like_a_member_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_members, file):
        monkeypatch.setattr(module, "MEMBER_BYTES_MAX", 3 << 20)
    noise = os.urandom(1 << 20).hex().encode() + b"\n"
    for text, fits in ((PEERS.encode() + noise, True), (PEERS.encode() + bytes(4 << 20), False), (PEERS.encode() + noise * 4, False)):
        path = captured(tmp_path / "peers.gz", gzip.compress(text))
        if fits:
            assert only(open_source(path)).text.encode() == text
            continue
        with pytest.raises(SourceError, match=r"peers\.gz: more than 3 MiB: "):
            open_source(path)


@pytest.mark.parametrize("year_s", [13569465600, 0])
def test_a_file_whose_time_cannot_be_true(tmp_path: Path, year_s: int) -> None:
    path = captured(tmp_path / "peers")
    os.utime(path, (year_s, year_s))
    with pytest.raises(SourceError, match=r"peers: modified outside the years 1990 to 2200, and no time stamp in its path: give it"):
        open_source(path)
    path = captured(tmp_path / "rtr" / "19700101T000005Z" / "peers")
    source = open_source(path)
    assert only(source).time_ns == MTIME_NS
    assert source.problems == [f"{path} has a time stamp outside the years 1990 to 2200 in its path: its modification time is used"]  # type: ignore[attr-defined]
