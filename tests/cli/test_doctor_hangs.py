"""The doctor ends, whatever hangs, and says which file it is."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lnetstat.doctor import node
from lnetstat.doctor.apart import Hangs, apart
from lnetstat.doctor.checks import Level
from lnetstat.errors import SourceError
from lnetstat.sources.live import LiveSource

TESTS = Path(__file__).parents[1]
SAMPLES = TESTS.parent / "sample-data" / "2.17.0"
PATIENCE_S = 60


@pytest.fixture
def deaf(tmp_path):
    """The path of a file whose reads nothing ends but the end of its file system."""
    folder = tmp_path / "deaf"
    folder.mkdir()
    command = [sys.executable, str(TESTS / "hanging_file.py"), str(folder), "deaf"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with server:
        if server.stdout.readline() != "mounted\n":
            pytest.skip(f"no FUSE here: {server.stderr.read().strip()}")
        try:
            yield folder / "peers"
        finally:
            server.kill()
            subprocess.run(["umount", "-l", str(folder)], check=True, timeout=30)


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "proc/fs/lustre/osc/fs-OST0000-osc-ffff").mkdir(parents=True)
    (root / "sys/module/ksocklnd/parameters").mkdir(parents=True)
    for name in ("stats", "nis", "buffers", "routes"):
        shutil.copy(SAMPLES / f"{name}--router.txt", root / name)
    return root


def test_it_ends_although_reads_never_return_and_says_which(tree, deaf):
    hanging = ["peers", "proc/fs/lustre/osc/fs-OST0000-osc-ffff/stats", "sys/module/ksocklnd/parameters/credits"]
    for path in hanging:
        (tree / path).symlink_to(deaf)
    command = [sys.executable, "-m", "lnetstat", "doctor", "--root", str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    lines = dict(line.split(": ", 2)[1::] for line in done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (2, "")
    assert f"CRITICAL: table peers: {tree}/peers: hangs: no answer within 2 s; see dmesg" in done.stdout
    assert f"{tree}/{hanging[1]}, {tree}/{hanging[2]}" in lines["hanging files"]
    assert "rows" in lines["table nis"]


def test_even_asking_for_a_name_may_hang(tree, monkeypatch):
    monkeypatch.setattr(node, "EXAMINE_DEADLINE_S", 0.2)
    monkeypatch.setattr(node, "look_at", lambda root: threading.Event().wait())
    seen, (check,) = node.examine(str(tree))
    assert (seen.found, seen.files, check.level) == (None, 0, Level.CRITICAL)
    assert check.what == f"{tree}: asking for files did not end within 0.2 s"


def test_more_files_that_hang_than_there_are_threads_are_all_counted(tree, monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(node, "READ_DEADLINE_S", 0.2)
    monkeypatch.setattr(LiveSource, "_read", lambda self, target: release.wait(PATIENCE_S) and None)
    for number in range(1, 80):
        folder = tree / f"proc/fs/lustre/osc/fs-OST{number:04x}-osc-ffff"
        folder.mkdir()
        (folder / "stats").touch()
    checks = {check.name: check for check in node.node_checks(node.look_at(str(tree)))}
    release.set()
    assert checks["hanging files"].what.endswith("and 75 more")
    assert {checks[f"table {name}"].level for name in ("stats", "nis", "buffers", "routes")} == {Level.CRITICAL}
    assert checks["table peers"].level is not Level.OK


def test_what_is_done_apart_gives_its_result_however_long_it_is():
    assert apart(lambda: (os.getpid(), "x" * 1_000_000), PATIENCE_S)[1] == "x" * 1_000_000
    assert apart(os.getpid, PATIENCE_S) != os.getpid()


def test_an_error_of_it_is_raised_here():
    with pytest.raises(SourceError, match="gone: not a folder"):
        node.examine("/gone")


@pytest.mark.parametrize("work", [lambda: threading.Event().wait(), lambda: os._exit(1), lambda: os.kill(os.getpid(), 9)])
def test_no_answer_is_told_as_such_and_leaves_no_descriptor(work):
    before = os.listdir("/proc/self/fd")
    with pytest.raises(Hangs):
        apart(work, 0.5)
    assert os.listdir("/proc/self/fd") == before
