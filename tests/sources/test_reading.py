"""Reading kernel files: their odd read(2) rules, on a file system that has them and with injected reads."""

import errno
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lnetstat.model import State
from lnetstat.sources.reading import BUFFER_BYTES, Clocks, read_file, unread

HEADER = "nid refs state last max rtr min tx min queue\n"
ROWS = [f"10.1.{i}.1@tcp                1    up    -1     8     8     8     8    -{i} 0\n" for i in range(250)]
TABLE = HEADER + "".join(ROWS)


def reader(*scans: list[bytes | int]) -> Callable[[int, int], bytes]:
    """Return a read(2) that gives the records of one scan after the other; a number is an error that ends the scan."""
    records: Iterator[bytes | int] = itertools.chain.from_iterable(scans)

    def read(descriptor: int, count: int) -> bytes:
        assert count >= 4096
        record = next(records)
        if isinstance(record, int):
            raise OSError(record, os.strerror(record))
        return record

    return read


def read_injected(*scans: list[bytes | int], in_one_read: bool = False):
    ticks = itertools.count(1000)
    clocks = Clocks(lambda: next(ticks), lambda: next(ticks))
    open_null = lambda path: os.open("/dev/null", os.O_RDONLY)  # noqa: E731
    return read_file("x", "peers", "rtr", in_one_read=in_one_read, clocks=clocks, open_file=open_null, read=reader(*scans))


def test_one_record_per_read_gives_the_whole_table(mount: Callable[..., Path]) -> None:
    folder = mount(TABLE)
    with pytest.raises(OSError, match="Invalid argument"):
        (folder / "peers").read_text()
    snapshot = read_file(str(folder / "peers"), "peers", "rtr")
    assert (snapshot.state, snapshot.errno, snapshot.flags) == (State.OK, 0, frozenset())
    assert snapshot.text == TABLE


@pytest.mark.parametrize("count", [3540, 7100, 9973])
def test_no_read_asks_for_less_than_4_kib(mount: Callable[..., Path], tmp_path: Path, count: int) -> None:
    """A record that does not fit gives EINVAL, and the whole scan would have to begin again: on a busy router that is twice the cost."""
    text = HEADER + "".join(f"10.1.{i % 7}.{i}@tcp                1    up    -1     8     8     8     8    -{i} 0\n" for i in range(count))
    path = str(mount(text) / "peers")
    assert read_file(path, "peers", "rtr").text == text
    assert read_file(path, "peers", "rtr", size_hint=len(text)).text == text
    assert not (tmp_path / "short").exists()
    grown = read_file(path, "peers", "rtr", size_hint=len(text) // 2)
    assert (grown.state, grown.text) == (State.OK, text)


def test_two_header_lines_in_one_record(mount: Callable[..., Path]) -> None:
    text = "Routing enabled\nnet hops priority state router\ntcp1 1 0 up 10.1.0.1@tcp\n"
    assert read_file(str(mount(text, -1, 2) / "routes"), "routes", "rtr").text == text


def test_a_table_that_keeps_changing_is_partial_and_says_so(mount: Callable[..., Path]) -> None:
    folder = mount(TABLE, 70)
    snapshot = read_file(str(folder / "peers.stale"), "peers", "rtr")
    assert read_file(str(folder / "peers.stale"), "peers", "rtr", size_hint=100_000)[5:] == snapshot[5:]
    assert (snapshot.state, snapshot.errno, snapshot.flags) == (State.PARTIAL, errno.ESTALE, frozenset({"retried"}))
    assert snapshot.text == HEADER + "".join(ROWS[:70])


def test_stale_once_is_read_again_from_the_start_with_the_stamps_of_that_scan() -> None:
    snapshot = read_injected([b"a\n", b"b\n", errno.ESTALE], [b"a\n", b"b\n", b"c\n", b""])
    assert (snapshot.state, snapshot.errno, snapshot.text) == (State.OK, 0, "a\nb\nc\n")
    assert snapshot.flags == {"retried"}
    assert (snapshot.time_ns, snapshot.mono_ns, snapshot.read_ns) == (1003, 1004, 1)


def test_after_three_retries_the_longest_scan_is_delivered() -> None:
    stale = errno.ESTALE
    snapshot = read_injected([b"1\n", stale], [b"1\n", b"2\n", b"3\n", stale], [stale], [b"1\n", b"2\n", stale], [b"never read"])
    assert (snapshot.state, snapshot.errno, snapshot.text) == (State.PARTIAL, stale, "1\n2\n3\n")
    assert snapshot.time_ns == 1003


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (errno.ENOENT, State.ABSENT),
        (errno.EINVAL, State.ABSENT),
        (errno.EACCES, State.FORBIDDEN),
        (errno.EPERM, State.FORBIDDEN),
        (errno.EIO, State.FAILED),
        (errno.ENODEV, State.FAILED),
    ],
)
def test_an_error_at_the_first_read_is_told_apart(number: int, state: State) -> None:
    snapshot = read_injected([number])
    assert (snapshot.state, snapshot.errno, snapshot.text, snapshot.flags) == (state, number, "", frozenset())


def test_an_error_in_mid_scan_never_looks_like_a_short_table() -> None:
    assert read_injected([b"nid\n", b"row\n", errno.EIO])[5:] == (State.FAILED, errno.EIO, frozenset(), "")
    too_long = read_injected([b"nid\n", b"row\n", errno.EINVAL])
    assert (too_long.state, too_long.errno, too_long.text) == (State.PARTIAL, errno.EINVAL, "nid\nrow\n")


def test_a_file_that_is_made_anew_at_each_read_is_read_once() -> None:
    snapshot = read_injected([b"0 1 2\n", b"3\n", b""], in_one_read=True)
    assert snapshot.text == "0 1 2\n"


def test_an_error_after_thousands_of_records_loses_none_of_them() -> None:
    rows = [f"row {i}\n".encode() for i in range(5000)]
    snapshot = read_injected([*rows, errno.EINVAL])
    assert (snapshot.state, snapshot.text) == (State.PARTIAL, b"".join(rows).decode())
    exactly_two_batches = rows[:2048]
    assert read_injected([*exactly_two_batches, b""]).text == b"".join(exactly_two_batches).decode()


def test_a_first_read_that_is_cut_is_read_on() -> None:
    assert read_injected([b"0 1", b" 2\n", b""], in_one_read=True).text == "0 1 2\n"
    full = b"x" * (BUFFER_BYTES - 1) + b"\n"
    assert read_injected([full, b"end\n", b""], in_one_read=True).text == full.decode() + "end\n"


def test_an_empty_file_is_empty_and_not_absent(tmp_path: Path) -> None:
    (tmp_path / "peers").touch()
    empty = read_file(str(tmp_path / "peers"), "peers", "rtr")
    gone = read_file(str(tmp_path / "nis"), "nis", "rtr")
    below_a_file = read_file(str(tmp_path / "peers" / "nis"), "nis", "rtr")
    assert (empty.state, empty.errno, empty.text) == (State.OK, 0, "")
    assert (gone.state, gone.errno) == (State.ABSENT, errno.ENOENT)
    assert (below_a_file.state, below_a_file.errno) == (State.ABSENT, errno.ENOTDIR)


def test_every_byte_is_kept(tmp_path: Path) -> None:
    data = bytes(range(256)) * 300
    (tmp_path / "x").write_bytes(data)
    assert read_file(str(tmp_path / "x"), "x", "rtr").text.encode("utf-8", "surrogateescape") == data


def test_what_is_no_regular_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "peers")
    (tmp_path / "nis").mkdir()
    (tmp_path / "stats").symlink_to("/dev/zero")
    states = [read_file(str(tmp_path / name), name, "rtr") for name in ("peers", "nis", "stats")]
    assert [(s.state, s.errno) for s in states] == [
        (State.FAILED, errno.ENXIO),
        (State.FAILED, errno.EISDIR),
        (State.FAILED, errno.ENXIO),
    ]


def test_without_permission_it_is_forbidden_and_not_absent() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        closed = Path(folder, "debug")
        closed.mkdir(mode=0o700)
        (closed / "peers").write_text(TABLE)
        Path(folder, "nis").write_text("nid\n")
        os.chmod(Path(folder, "nis"), 0)
        was_root = os.geteuid() == 0
        if was_root:
            os.seteuid(65534)
        else:
            os.chmod(closed, 0)
        try:
            inside = read_file(str(closed / "peers"), "peers", "rtr")
            itself = read_file(str(Path(folder, "nis")), "nis", "rtr")
        finally:
            if was_root:
                os.seteuid(0)
            os.chmod(closed, 0o700)
    assert (inside.state, inside.errno, inside.text) == (State.FORBIDDEN, errno.EACCES, "")
    assert (itself.state, itself.errno, itself.text) == (State.FORBIDDEN, errno.EACCES, "")


def test_a_reader_that_is_stuck_has_a_snapshot_too() -> None:
    snapshot = unread("peers", "rtr", errno.ETIMEDOUT, Clocks(lambda: 5, lambda: 6))
    assert snapshot == ("peers", "rtr", 5, 6, 0, State.FAILED, errno.ETIMEDOUT, frozenset(), "")
