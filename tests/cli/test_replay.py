"""`lnetstat replay` as a user runs it: into files, into a Carbon, with the words for times."""

import socketserver
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lnetstat.cli import run
from lnetstat.cli._times import Moment, parse_moment
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter

NS = 10**9
BEGIN_S = 1_786_708_800  # 2026-08-14T12:00:00Z
PEERS = "nid refs state last max rtr min tx min queue\n1@gni 1 up -1 8 8 8 {} -400 0\n"


def record(folder: Path, hosts: tuple[str, ...] = ("rtr1",), names: tuple[str, ...] = ("peers",)) -> Path:
    """Ten minutes of one tick a minute; tx_credits is the number of the minute."""
    with RecordingWriter(folder, free_bytes_min=0) as writer:
        for minute in range(11):
            time_ns = (BEGIN_S + 60 * minute) * NS
            texts = PEERS.format(minute)
            writer.write([Snapshot(n, h, time_ns, None, 0, State.OK, 0, frozenset(), texts) for h in hosts for n in names])
    return folder


class Carbon(socketserver.ThreadingTCPServer):
    """Listens on loopback and keeps the lines it is sent."""

    daemon_threads = True

    def __init__(self) -> None:
        self.lines: list[str] = []
        super().__init__(("127.0.0.1", 0), _Lines)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Lines(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Carbon)
        self.server.lines += [line.decode().strip() for line in self.rfile]


@pytest.fixture
def carbon() -> Iterator[Carbon]:
    with Carbon() as server:
        yield server
        server.shutdown()


def series(carbon: Carbon, path: str) -> dict[int, float]:
    found = (line.split() for line in carbon.lines)
    return {int(stamp): float(value) for name, value, stamp in found if name == path}


def test_carbon_gets_the_points_at_their_own_seconds(tmp_path: Path, carbon: Carbon, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(record(tmp_path)), "--carbon", carbon.address]) == 0
    worst = series(carbon, "lnet.rtr1.peers.gni.tx_credits_worst")
    assert worst == {BEGIN_S + 60 * minute: minute for minute in range(11)}
    said = capsys.readouterr()
    assert said.out == ""
    assert "replayed 11 snapshots" in said.err


def test_begin_end_and_host_choose(tmp_path: Path, carbon: Carbon) -> None:
    folder = str(record(tmp_path, hosts=("rtr1", "rtr2")))
    window = ["--begin", "-5m", "--end", "2026-08-14T14:08:00+02:00", "--host", "rtr2"]
    assert run(["replay", folder, "--carbon", carbon.address, *window]) == 0
    assert sorted(series(carbon, "lnet.rtr2.peers.gni.tx_credits_worst").values()) == [5, 6, 7]
    assert series(carbon, "lnet.rtr1.peers.gni.tx_credits_worst") == {}


def test_shift_to_now_is_announced_and_ends_now(tmp_path: Path, carbon: Carbon, capsys: pytest.CaptureFixture[str]) -> None:
    before_s = int(time.time())
    assert run(["replay", str(record(tmp_path)), "--carbon", carbon.address, "--shift-to", "now", "--prefix", "demo"]) == 0
    stamps = sorted(series(carbon, "demo.rtr1.peers.gni.tx_credits_worst"))
    assert before_s <= stamps[-1] <= time.time()
    assert stamps[-1] - stamps[0] == 600
    assert "stamps are moved by" in capsys.readouterr().err


def test_files_end_as_the_last_tick_left_them(tmp_path: Path) -> None:
    assert run(["replay", str(record(tmp_path / "rec")), "--to", str(tmp_path / "tree"), "--speed", "1e6"]) == 0
    assert (tmp_path / "tree" / "peers").read_text() == PEERS.format(10)


def test_several_hosts_get_a_folder_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = record(tmp_path / "rec", hosts=("rtr1", "../evil"))
    assert run(["replay", str(recording), "--to", str(tmp_path / "tree"), "--speed", "1e6"]) == 0
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("peers")) == ["tree/_evil/peers", "tree/rtr1/peers"]
    assert f"; to {tmp_path}/tree, in a folder for each host, as {tmp_path}/tree/" in capsys.readouterr().err


def test_a_hostile_name_is_told_and_left_out_and_the_rest_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = record(tmp_path / "rec", names=("../../evil", "peers"))
    assert run(["replay", str(recording), "--to", str(tmp_path / "tree"), "--speed", "1e6"]) == 3
    assert (tmp_path / "tree" / "peers").exists()
    assert capsys.readouterr().err.count("cannot be a path") == 1


def test_a_damaged_recording_is_replayed_as_far_as_possible_and_told(
    tmp_path: Path, carbon: Carbon, capsys: pytest.CaptureFixture[str]
) -> None:
    segment = record(tmp_path) / "00000001.lnetrec"
    data = bytearray(segment.read_bytes())
    data[-300] ^= 0xFF
    segment.write_bytes(data)
    assert run(["replay", str(tmp_path), "--carbon", carbon.address]) == 3
    assert series(carbon, "lnet.rtr1.peers.gni.tx_credits_worst")
    assert "00000001.lnetrec: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, "say where it goes"),
        (["--to", "x", "--speed", "0"], 2, "expected a number above 0"),
        (["--to", "x", "--begin", "yesterday"], 2, "is no time: expected 2026"),
        (["--to", "x", "--begin", "2026-08-14T12:00:00"], 2, "names no zone"),
        (["--to", "x", "--begin", "-1m", "--end", "-2m"], 2, "nothing would be read"),
        (["--carbon", "nowhere"], 2, "expected HOST:PORT"),
        (["--to", "x", "--host", "other"], 3, "no host other: it holds rtr1"),
        (["--to", "/"], 3, "choose a folder"),
    ],
)
def test_a_wrong_option_gets_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, words: str
) -> None:
    assert run(["replay", str(record(tmp_path)), *arguments]) == status
    assert words in capsys.readouterr().err


def test_what_is_no_recording_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(tmp_path), "--to", str(tmp_path / "tree")]) == 3
    assert "no recording: expected a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-08-14T12:00:00Z", Moment(BEGIN_S * NS)),
        ("2026-08-14 14:00:00.25+02:00", Moment(BEGIN_S * NS + NS // 4)),
        ("1786708800", Moment(BEGIN_S * NS)),
        ("1786708800.000000001", Moment(BEGIN_S * NS + 1)),
        ("-10m", Moment(600 * NS, before_end=True)),
        ("-1.5h", Moment(5400 * NS, before_end=True)),
        ("-50ms", Moment(50_000_000, before_end=True)),
    ],
)
def test_the_words_for_moments(text: str, moment: Moment) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize("text", ["", "10m", "-10", "-m", "12:00", "tomorrow", "1e9", "2026-13-01T00:00:00Z"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        parse_moment(text)


def test_the_stamp_of_the_tests_is_what_it_says() -> None:
    assert datetime(2026, 8, 14, 12, tzinfo=UTC).timestamp() == BEGIN_S


@pytest.mark.parametrize("words", [("--host", "rtr[1-2]"), ("--host", "rtr1,rtr2"), ("--host", "rtr1", "--host", "rtr2")], ids=" ".join)
def test_many_hosts_are_named_as_administrators_write_them(tmp_path: Path, words: tuple[str, ...]) -> None:
    recording = record(tmp_path / "rec", hosts=("rtr1", "rtr2", "oss1"))
    assert run(["replay", str(recording), "--to", str(tmp_path / "out"), "--speed", "10000", *words]) == 0
    assert sorted(folder.name for folder in (tmp_path / "out").iterdir()) == ["rtr1", "rtr2"]
