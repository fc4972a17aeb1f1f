"""lnet.ph on files that behave like LNet's: one record per read, no short reads, a table that changes in mid-scan."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collectors.conftest import REPO, lnet, raw_text, run, samples_of
from tests.sources.conftest import lnetfs_program, mount

__all__ = ["lnetfs_program", "mount"]  # fixtures
PEERS = 1000
STALE_ROW = 270
ROUTES = "Routing enabled\nnet      hops prio   state router\n" + "".join(
    f"o2ib{number:<4}    1    0      up 10.0.0.{number}@tcp\n" for number in range(1, 30)
)

Mount = Callable[..., Path]


@pytest.fixture(scope="module")
def peers_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("fake")
    subprocess.run([sys.executable, REPO / "bench" / "collect" / "gen.py", folder, str(PEERS)], check=True)
    return (folder / str(PEERS) / "peers").read_text()


def recorded(tmp_path: Path, *options: str, **tables: Path) -> list[str]:
    """Return the record lines of the last sample of a collectl that reads these files."""
    tree, raw = tmp_path / "tree", tmp_path / "raw"
    for folder in (tree, raw):
        folder.mkdir()
    for name, served in tables.items():
        (tree / name).symlink_to(served)
    run("--import", lnet(f"path={tree}", f"tables={'+'.join(tables)}", *options), "-i0", "-c2", "-f", raw)
    return samples_of(raw_text(raw))[-1][1]


def record_of(lines: list[str], name: str) -> tuple[list[str], str]:
    """Return the words of a record (state, errno, time, read_us, flags) and its text."""
    (line,) = (line for line in lines if line.startswith(f"lnt-{name} "))
    words, _, text = line.partition("|")
    return words.split()[1:], text.replace("\\n", "\n")


def counted(lines: list[str]) -> int:
    return sum(int(line.split()[1]) for line in lines if line.startswith("lnt:"))


def test_a_table_read_record_by_record_is_whole(mount: Mount, peers_text: str, tmp_path: Path) -> None:
    lines = recorded(tmp_path, "rows=1", peers=mount(peers_text) / "peers")
    words, text = record_of(lines, "peers")
    assert (words[0], words[4]) == ("ok", "-")
    assert text == peers_text
    assert counted(lines) == PEERS
    assert not (tmp_path / "short").exists(), "a read of less than 4 KiB: a record may not fit"


def test_a_table_that_changes_in_mid_scan_is_no_short_table(mount: Mount, peers_text: str, tmp_path: Path) -> None:
    lines = recorded(tmp_path, "rows=1", peers=mount(peers_text, STALE_ROW) / "peers.stale")
    words, text = record_of(lines, "peers")
    assert words[:2] == ["partial", str(errno.ESTALE)]
    assert words[4] == "retried"
    assert text == "".join(peers_text.splitlines(keepends=True)[: STALE_ROW + 1])
    assert counted(lines) == STALE_ROW


def test_routes_begin_with_two_lines_in_one_record(mount: Mount, tmp_path: Path) -> None:
    lines = recorded(tmp_path, routes=mount(ROUTES, header_lines=2) / "routes")
    words, text = record_of(lines, "routes")
    assert words[0] == "ok"
    assert text == ROUTES


def test_many_peers_are_all_counted_one_record_a_read(tmp_path: Path) -> None:
    many = 30_000
    shim = tmp_path / "onerecord.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", shim, REPO / "bench" / "collect" / "onerecord.c", "-ldl"], check=True)
    subprocess.run([sys.executable, REPO / "bench" / "collect" / "gen.py", tmp_path, str(many)], check=True)
    raw, met = tmp_path / "raw", tmp_path / "met"
    raw.mkdir()
    command = ["collectl", "--import", lnet(f"path={tmp_path / str(many)}", "tables=peers"), "-i0", "-c2", "-f", str(raw)]
    shimmed = {**os.environ, "LD_PRELOAD": str(shim), "ONERECORD": "74", "ONERECORD_COUNT": str(met)}
    subprocess.run(command, env=shimmed, check=True, timeout=120)
    samples = samples_of(raw_text(raw))
    assert [counted(lines) for _, lines in samples] == [many] * len(samples)
    assert int(met.read_text()) > many * len(samples)
