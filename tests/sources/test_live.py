"""A node read tick by tick: what it finds, when it reads it, and that nothing that hangs or vanishes disturbs the rest."""

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot, State
from lnetstat.sources import live
from lnetstat.sources.live import LiveSource, NodeSource
from lnetstat.sources.node import LNET_TABLES, Node
from lnetstat.sources.reading import Clocks
from lnetstat.sources.replay import write_tree

SECOND_NS = 1_000_000_000
FOREVER_S = 60.0


class Time:
    """Clocks that stand still until they are moved."""

    def __init__(self) -> None:
        self.now_ns = 1_700_000_000 * SECOND_NS
        self.clocks = Clocks(lambda: self.now_ns, lambda: self.now_ns)

    def pass_s(self, seconds: float) -> None:
        self.now_ns += int(seconds * SECOND_NS)


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def texts(snapshots: list[Snapshot]) -> dict[str, str]:
    assert len({s.name for s in snapshots}) == len(snapshots)
    return {s.name: s.text for s in snapshots if s.state is State.OK}


def states(snapshots: list[Snapshot]) -> dict[str, State]:
    return {s.name: s.state for s in snapshots}


NODE_FILES = {
    "sys/kernel/debug/lnet/peers": "peers of debugfs\n",
    "proc/sys/lnet/peers": "peers of proc\n",
    "proc/sys/lnet/stats": "1 2 3\n",
    "proc/fs/lustre/ost/OSS/ost_io/stats": "ost_io\n",
    "proc/fs/lustre/obdfilter/lus-OST0000/stats": "obdfilter\n",
    "sys/kernel/debug/lustre/osc/lus-OST0000-osc-ffff/stats": "osc\n",
    "sys/kernel/debug/lustre/mds/MDS/mdt/stats": "mdt\n",
    "proc/stat": "cpu 1 2 3\n",
}
TUNABLE_FILES = {
    "sys/fs/lustre/timeout": "100\n",
    "sys/fs/lustre/version": "2.17.0\n",
    "sys/module/ksocklnd/parameters/peer_credits": "8\n",
    "sys/module/lnet/parameters/routes": "tcp1 10.1.0.1@tcp\n",
    "sys/module/ptlrpc/parameters/suppress_pings": "0\n",
    "sys/kernel/debug/lnet/cpu_partition_table": "0\t: 0 1\n",
}


def test_a_tree_with_proc_and_sys_is_read_by_its_names(tmp_path: Path) -> None:
    source = LiveSource(str(write(tmp_path, NODE_FILES)), host="rtr")
    snapshots = source.tick()
    assert texts(snapshots) == {
        "peers": "peers of debugfs\n",
        "stats": "1 2 3\n",
        "ost.OSS.ost_io.stats": "ost_io\n",
        "obdfilter.lus-OST0000.stats": "obdfilter\n",
        "osc.lus-OST0000-osc-ffff.stats": "osc\n",
        "mds.MDS.mdt.stats": "mdt\n",
        "proc/stat": "cpu 1 2 3\n",
    }
    absent = {name for name, state in states(snapshots).items() if state is State.ABSENT}
    assert absent == {"buffers", "nis", "routes", "routers"}
    assert {s.host for s in snapshots} == {"rtr"}
    assert [s.time_ns for s in snapshots] == sorted(s.time_ns for s in snapshots)
    source.close()


def test_a_folder_that_holds_the_tables_itself(tmp_path: Path) -> None:
    source = LiveSource(str(write(tmp_path, {name: f"{name}\n" for name in LNET_TABLES})))
    assert texts(source.tick()) == {name: f"{name}\n" for name in LNET_TABLES}
    source.close()


def test_what_a_replay_writes_into_a_tree_is_found_there_under_the_same_names(tmp_path: Path) -> None:
    names = [
        *LNET_TABLES,
        *("ost.OSS.ost_io.stats", "mds.MDS.mdt.stats", "mdt.MDS.mds.stats", "mgs.MGS.mgs.stats", "obdfilter.lus-OST0000.stats"),
        *("osc.lus-OST0000-osc-ffff.stats", "mdc.lus-MDT0000-mdc-ffff.stats", "proc/stat", "timeout", "ping_interval", "evict_multiplier"),
        *("version", "suppress_pings", "cpu_partition_table", "ksocklnd.peer_credits", "lnet.forwarding", "ko2iblnd.credits"),
    ]
    for name in names:
        write_tree(Snapshot(name, "rtr", 1, 1, 1, State.OK, 0, frozenset(), f"{name}\n"), tmp_path)
    source = LiveSource(str(tmp_path))
    assert texts(source.tick()) == {name: f"{name}\n" for name in names}
    source.close()


def test_tunables_come_at_the_start_and_every_ten_minutes(tmp_path: Path) -> None:
    time = Time()
    source = LiveSource(str(write(tmp_path, NODE_FILES | TUNABLE_FILES)), clocks=time.clocks)
    tunables = {
        "timeout": "100\n",
        "version": "2.17.0\n",
        "suppress_pings": "0\n",
        "ksocklnd.peer_credits": "8\n",
        "cpu_partition_table": "0\t: 0 1\n",
    }
    assert tunables.items() <= texts(source.tick()).items()
    time.pass_s(599)
    assert not tunables.keys() & texts(source.tick()).keys()
    time.pass_s(1)
    assert tunables.items() <= texts(source.tick()).items()
    source.close()


def test_only_wanted_names_are_read(tmp_path: Path) -> None:
    source = LiveSource(str(write(tmp_path, NODE_FILES)), names=["peers", "o*.stats"])
    assert set(states(source.tick())) == {"peers", "ost.OSS.ost_io.stats", "obdfilter.lus-OST0000.stats", "osc.lus-OST0000-osc-ffff.stats"}
    source.close()


def test_a_role_that_appears_is_noticed_within_a_minute(tmp_path: Path) -> None:
    time = Time()
    source = LiveSource(str(write(tmp_path, NODE_FILES)), clocks=time.clocks)
    source.tick()
    write(tmp_path, {"proc/fs/lustre/mgs/MGS/mgs/stats": "mgs\n"})
    time.pass_s(59)
    assert "mgs.MGS.mgs.stats" not in states(source.tick())
    time.pass_s(1)
    assert texts(source.tick())["mgs.MGS.mgs.stats"] == "mgs\n"
    source.close()


def test_a_role_that_vanishes_is_reported_for_ten_minutes(tmp_path: Path) -> None:
    time = Time()
    source = LiveSource(str(write(tmp_path, NODE_FILES)), clocks=time.clocks)
    source.tick()
    (tmp_path / "proc/fs/lustre/ost/OSS/ost_io/stats").unlink()
    for _ in range(10):
        assert states(source.tick())["ost.OSS.ost_io.stats"] is State.ABSENT
        time.pass_s(60)
    source.tick()
    time.pass_s(60)
    assert "ost.OSS.ost_io.stats" not in states(source.tick())
    source.close()


def test_lnet_that_is_unloaded_stays_absent_and_comes_back_elsewhere(tmp_path: Path) -> None:
    source = LiveSource(str(write(tmp_path, NODE_FILES)))
    source.tick()
    for path in ("sys/kernel/debug/lnet/peers", "proc/sys/lnet/peers", "proc/sys/lnet/stats"):
        (tmp_path / path).unlink()
    (tmp_path / "sys/kernel/debug/lnet").rmdir()
    for _ in range(2):
        assert {name: states(source.tick())[name] for name in LNET_TABLES} == dict.fromkeys(LNET_TABLES, State.ABSENT)
    write(tmp_path, {"sys/kernel/debug/lnet/peers": "back\n"})
    assert texts(source.tick())["peers"] == "back\n"
    (tmp_path / "sys/kernel/debug/lnet/peers").unlink()
    write(tmp_path, {"proc/sys/lnet/peers": "moved\n"})
    assert states(source.tick())["peers"] is State.ABSENT
    assert texts(source.tick())["peers"] == "moved\n"
    source.close()


def test_the_whole_tree_may_vanish(tmp_path: Path) -> None:
    root = write(tmp_path / "root", NODE_FILES)
    source = LiveSource(str(root))
    before = set(states(source.tick()))
    os.rename(root, tmp_path / "gone")
    assert states(source.tick()) == dict.fromkeys(before, State.ABSENT)
    os.rename(tmp_path / "gone", root)
    assert texts(source.tick())["peers"] == "peers of debugfs\n"
    source.close()


def test_a_kernel_file_that_hangs_fails_alone_until_it_answers(mount: Callable[..., Path], tmp_path: Path) -> None:
    mounted = mount("1 2 3\n")
    root = write(tmp_path / "root", NODE_FILES)
    (root / "proc/sys/lnet/stats").unlink()
    (root / "proc/sys/lnet/stats").symlink_to(mounted / "hang")
    (tmp_path / "hang").touch()
    source = LiveSource(str(root), deadline_s=0.3)
    for _ in range(2):
        snapshots = source.tick()
        stuck = next(s for s in snapshots if s.name == "stats")
        assert (stuck.state, stuck.errno, stuck.text) == (State.FAILED, errno.ETIMEDOUT, "")
        assert texts(snapshots).keys() >= {"peers", "ost.OSS.ost_io.stats", "proc/stat"}
    (tmp_path / "hang").unlink()
    while states(snapshots := source.tick())["stats"] is not State.OK:
        pass
    assert texts(snapshots)["stats"] == "1 2 3\n"
    source.close()


def test_a_read_that_hangs_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    read_file = live.read_file

    def read(path: str, name: str, *rest: object, **options: object) -> Snapshot:
        if name == "stats":
            release.wait()
        return read_file(path, name, *rest, **options)

    monkeypatch.setattr(live, "read_file", read)
    source = LiveSource(str(write(tmp_path, NODE_FILES)), host="rtr", deadline_s=0.2)
    for _ in range(2):
        snapshots = source.tick()
        assert [(s.name, s.errno) for s in snapshots if s.state is State.FAILED] == [("stats", errno.ETIMEDOUT)]
        assert "peers" in texts(snapshots)
    release.set()
    while states(snapshots := source.tick())["stats"] is not State.OK:
        pass
    source.close()


def test_a_slow_read_comes_with_a_later_tick_when_the_caller_is_in_a_hurry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    read_file = live.read_file

    def read(path: str, name: str, *rest: object, **options: object) -> Snapshot:
        if name == "peers":
            release.wait()
        return read_file(path, name, *rest, **options)

    monkeypatch.setattr(live, "read_file", read)
    source = LiveSource(str(write(tmp_path, NODE_FILES)), deadline_s=FOREVER_S)
    for _ in range(3):
        found = states(source.tick(0.05))
        assert "peers" not in found
        assert found["stats"] is State.OK
    release.set()
    peers = [s for s in source.tick() if s.name == "peers"]
    assert {s.text for s in peers} == {"peers of debugfs\n"}
    source.close()


def test_where_no_file_can_be_read_lctl_is_asked(tmp_path: Path) -> None:
    lctl = tmp_path / "lctl"
    lctl.write_text(
        '#!/bin/sh\n[ "$1 $2" = "get_param -n" ] || exit 99\n'
        'case "$3" in\npeers) printf "nid %s\\n" "a b;c";;\nroutes) exit 2;;\nnis) echo no >&2; exit 13;;\n*) echo "$#";;\nesac\n'
    )
    lctl.chmod(lctl.stat().st_mode | stat.S_IXUSR)
    root = tmp_path / "root"
    (root / "sys/module/lnet").mkdir(parents=True)
    source = NodeSource(Node(str(root), None, str(lctl)), "rtr", deadline_s=FOREVER_S)
    snapshots = source.tick()
    assert texts(snapshots) == {"peers": "nid a b;c\n", "stats": "3\n", "buffers": "3\n", "routers": "3\n"}
    assert (states(snapshots)["routes"], states(snapshots)["nis"]) == (State.ABSENT, State.FORBIDDEN)
    write(root, {"sys/kernel/debug/lnet/peers": "file\n"})
    source.close()
    source = NodeSource(Node(str(root), None, str(lctl)), "rtr", deadline_s=FOREVER_S)
    assert texts(source.tick())["peers"] == "file\n"
    source.close()


def test_a_slow_lnetctl_holds_up_no_tick_and_is_asked_every_half_minute(tmp_path: Path) -> None:
    lnetctl = tmp_path / "lnetctl"
    os.mkfifo(tmp_path / "go")
    lnetctl.write_text(f'#!/bin/sh\nread x < {tmp_path}/go\necho "$*" | tee -a {tmp_path}/calls\n')
    lnetctl.chmod(lnetctl.stat().st_mode | stat.S_IXUSR)
    root = write(tmp_path / "root", NODE_FILES)
    (root / "sys/module/lnet").mkdir(parents=True)
    time = Time()
    source = NodeSource(Node(str(root), None, None, str(lnetctl)), "rtr", clocks=time.clocks)
    for _ in range(3):
        snapshots = source.tick()
        assert "peers" in texts(snapshots)
        assert not [name for name in states(snapshots) if name.startswith("lnetctl")]
        time.pass_s(1)
    answers: dict[str, str] = {}
    with open(tmp_path / "go", "w") as go:
        go.write("\n\n")
        go.flush()
        while len(answers) < 2:
            answers |= {name: text for name, text in texts(source.tick()).items() if name.startswith("lnetctl")}
    assert answers == {"lnetctl net show": "net show -v 2\n", "lnetctl stats show": "stats show\n"}
    source.close()


def test_one_look_brings_everything_with_lnetctl(tmp_path: Path) -> None:
    lnetctl = tmp_path / "lnetctl"
    lnetctl.write_text("#!/bin/sh\necho down >&2\nexit 156\n")
    lnetctl.chmod(lnetctl.stat().st_mode | stat.S_IXUSR)
    root = write(tmp_path / "root", NODE_FILES | TUNABLE_FILES)
    source = NodeSource(Node(str(root), None, None, str(lnetctl)), "rtr")
    snapshots = {s.name: s for s in source.snapshots()}
    assert {"peers", "timeout", "proc/stat", "ost.OSS.ost_io.stats"} <= snapshots.keys()
    answer = snapshots["lnetctl net show"]
    assert (answer.state, answer.errno, answer.text) == (State.FAILED, errno.ENETDOWN, "down\n")
    source.close()


def test_a_machine_without_lnet_reports_no_lnet_tables(tmp_path: Path) -> None:
    if os.path.exists("/sys/module/lnet"):
        pytest.skip("this machine has LNet")
    source = LiveSource()
    assert "proc/stat" in texts(source.tick())
    assert not set(LNET_TABLES) & set(states(source.tick()))
    source.close()


def test_the_host_is_the_trees_own(tmp_path: Path) -> None:
    here = os.uname().nodename.split(".")[0]
    for root, files, host in (("a", {}, here), ("b", {"etc/hostname": "rtr7.site.org\n"}, "rtr7"), ("c", {"peers": ""}, here)):
        (tmp_path / root).mkdir()
        source = LiveSource(str(write(tmp_path / root, files)))
        assert source.host == host
        source.close()


def test_a_root_that_is_no_folder_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for root in ("file", "gone"):
        with pytest.raises(SourceError, match=rf"{root}: not a folder: a tree with proc/ and sys/"):
            LiveSource(str(tmp_path / root))


def test_a_node_needs_neither_archives_nor_subprocesses(tmp_path: Path) -> None:
    program = """
import sys
from lnetstat.sources.live import LiveSource
LiveSource(sys.argv[1]).tick()
print(sorted({"tarfile", "gzip", "subprocess", "shutil", "yaml", "numpy", "click", "tempfile", "socket"} & set(sys.modules)))
"""
    write(tmp_path, NODE_FILES)
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, timeout=FOREVER_S)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_table_that_comes_back_is_read_within_a_second(tmp_path: Path) -> None:
    time = Time()
    source = LiveSource(str(write(tmp_path, {name: f"{name}\n" for name in LNET_TABLES})), clocks=time.clocks)
    source.tick()
    (tmp_path / "peers").unlink()
    for _ in range(3):
        time.pass_s(1)
        assert states(source.tick())["peers"] is State.ABSENT
    write(tmp_path, {"peers": "back\n"})
    time.pass_s(1)
    assert texts(source.tick())["peers"] == "back\n"
    source.close()


def test_lnet_that_is_loaded_after_the_start_is_read_within_a_second(tmp_path: Path) -> None:
    time = Time()
    root = write(tmp_path, {"sys/fs/lustre/timeout": "100\n"})
    source = LiveSource(str(root), names=["peers", "nis", "timeout"], clocks=time.clocks)
    assert states(source.tick()) == {"peers": State.ABSENT, "nis": State.ABSENT, "timeout": State.OK}
    time.pass_s(2)
    assert states(source.tick()) == {"peers": State.ABSENT, "nis": State.ABSENT}
    write(tmp_path, {"proc/sys/lnet/peers": "peers\n", "proc/sys/lnet/nis": "nis\n"})
    time.pass_s(0.999)
    assert texts(source.tick()) == {"peers": "peers\n", "nis": "nis\n", "timeout": "100\n"}, "and the tunables of the new modules"
    time.pass_s(1)
    assert set(texts(source.tick())) == {"peers", "nis"}
    source.close()


def test_a_table_that_becomes_something_else_says_so_at_the_next_tick(tmp_path: Path) -> None:
    time = Time()
    source = LiveSource(str(write(tmp_path, {name: f"{name}\n" for name in LNET_TABLES})), clocks=time.clocks)
    source.tick()
    for gap in (False, True):
        for name in ("peers", "nis", "stats"):
            path = tmp_path / name
            path.rmdir() if path.is_dir() else path.unlink()
        if gap:
            for _ in range(3):
                time.pass_s(1)
                assert {states(snapshots := source.tick())[name] for name in ("peers", "nis", "stats")} == {State.ABSENT}
        (tmp_path / "peers").mkdir()
        os.mkfifo(tmp_path / "nis")
        (tmp_path / "stats").write_bytes(b"\0\xff garbage")
        time.pass_s(1)
        snapshots = source.tick()
        found = {s.name: (s.state, s.errno, s.text) for s in snapshots}
        assert found["peers"] == (State.FAILED, errno.EISDIR, "")
        assert found["nis"] == (State.FAILED, errno.ENXIO, "")
        assert found["stats"] == (State.OK, 0, "\0\udcff garbage")
    source.close()
