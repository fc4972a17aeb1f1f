"""Resetting low-water marks: flags, the dropped first sample, one owner per node."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lnetstat.errors import SourceError
from lnetstat.model import Snapshot, State
from lnetstat.sources.live import LiveSource, NodeSource
from lnetstat.sources.low_water import LowWaterReset
from lnetstat.sources.node import Node

OLD = "nid refs state last max rtr min tx min queue\n10.1.0.1@tcp 1 up -1 8 8 8 8 -99 0\n"
NEW = "nid refs state last max rtr min tx min queue\n10.1.0.1@tcp 1 up -1 8 8 8 8 8 0\n"


def snapshot(state: State = State.OK, name: str = "peers") -> Snapshot:
    return Snapshot(name, "rtr", 1, 1, 1, state, 0, frozenset({"retried"}), "text")


@pytest.fixture
def low_water(tmp_path: Path) -> Iterator[LowWaterReset]:
    right = LowWaterReset(str(tmp_path / "lock"))
    yield right
    right.close()


def test_each_sample_holds_the_minimum_of_its_interval(mount: Callable[..., Path], low_water: LowWaterReset) -> None:
    folder = mount(OLD, after_write=NEW)
    source = NodeSource(Node("/", str(folder)), "rtr", names=["peers", "nis"], low_water=low_water)
    first, second = source.tick(), source.tick()
    assert first == []
    assert {(s.name, s.text, s.flags) for s in second} == {
        ("peers", NEW, frozenset({"low_water_reset"})),
        ("nis", NEW, frozenset({"low_water_reset"})),
    }
    source.close()


def test_only_a_whole_read_resets(tmp_path: Path, low_water: LowWaterReset) -> None:
    file = tmp_path / "peers"
    file.write_text("table\n")
    path = str(file)
    assert low_water.after_read(snapshot(), path) is None
    assert file.read_text() == "0\nble\n"
    file.write_text("table\n")
    partial = low_water.after_read(snapshot(State.PARTIAL), path)
    failed = low_water.after_read(snapshot(State.FAILED), path)
    assert file.read_text() == "table\n"
    assert partial is not None
    assert failed is not None
    assert partial.flags == failed.flags == {"retried", "low_water_reset"}
    whole = low_water.after_read(snapshot(), path)
    assert whole is not None
    assert whole.flags == {"retried", "low_water_reset"}
    assert file.read_text() == "0\nble\n"


def test_after_lnet_was_gone_the_first_sample_is_dropped_again(tmp_path: Path, low_water: LowWaterReset) -> None:
    path = str(tmp_path / "peers")
    Path(path).write_text("table\n")
    assert low_water.after_read(snapshot(), path) is None
    absent = low_water.after_read(snapshot(State.ABSENT), path)
    assert absent is not None
    assert absent.flags == {"retried"}
    assert low_water.after_read(snapshot(), path) is None


def test_a_reset_that_fails_is_told_once_and_claimed_by_no_flag(tmp_path: Path, low_water: LowWaterReset) -> None:
    path = str(tmp_path / "gone" / "peers")
    samples = [low_water.after_read(snapshot(), path) for _ in range(3)]
    assert samples == [snapshot()] * 3
    assert low_water.problems == [f"peers: low-water marks not reset: {path}: No such file or directory"]


def test_a_second_process_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    lock = str(tmp_path / "lock")
    program = """
import sys
from lnetstat.sources.low_water import LowWaterReset
right = LowWaterReset(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", program, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(
            SourceError, match=rf"^{lock}: process {owner.pid} already resets this node's low-water marks: stop it"
        ) as caught:
            LiveSource(reset_low_water=True, lock_path=lock)
        assert "\n" not in str(caught.value)
        owner.kill()
    LowWaterReset(lock).close()


def test_a_second_owner_in_one_process_is_refused(tmp_path: Path, low_water: LowWaterReset) -> None:
    with pytest.raises(SourceError, match="already resets"):
        LowWaterReset(str(tmp_path / "lock"))


def test_a_lock_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone/lock: cannot be locked: No such file or directory: .* needs root"):
        LowWaterReset(str(tmp_path / "gone" / "lock"))
    (tmp_path / "link").symlink_to(tmp_path / "other")
    with pytest.raises(SourceError, match="cannot be locked"):
        LowWaterReset(str(tmp_path / "link"))


def test_another_root_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "peers").write_text(OLD)
    with pytest.raises(SourceError, match="leave out the reset or the other root"):
        LiveSource(str(tmp_path), reset_low_water=True, lock_path=str(tmp_path / "lock"))
    assert (tmp_path / "peers").read_text() == OLD
    assert not (tmp_path / "lock").exists()
