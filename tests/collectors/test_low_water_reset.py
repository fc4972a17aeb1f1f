"""`reset` of lnet.ph does what the agent's reset does, under the same lock. Without collectl: the real files exist on real nodes only."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from lnetstat.errors import SourceError
from lnetstat.sources.low_water import LOCK_PATH, LowWaterReset
from tests.collectors.conftest import MODULES, lnet, run

BOOT = "BEGIN { *main::error = sub { print STDERR @_; exit 1 }; *main::record = sub {} } require shift; package Lnetstat::Lnet; "


def perl(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["perl", "-MJSON::PP", "-e", BOOT + code, MODULES / "lnet.ph", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def delivered(table: Path, *states: str) -> list[str | None]:
    """Return the flags of what is delivered of reads that ended so, None for a read that is kept back."""
    code = """
        my ($path, @states) = @ARGV;
        my @flags = map { my $read = reset_low_water('peers', $path, {state => $_, flags => ''}); $read ? $read->{flags} : undef } @states;
        print JSON::PP::encode_json(\\@flags);"""
    done = perl(code, table, *states)
    flags: list[str | None] = json.loads(done.stdout)
    return flags


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "peers"
    path.write_text("as it was\n")
    return path


def test_the_first_read_is_kept_back_and_later_ones_say_so(table: Path) -> None:
    assert delivered(table, "ok", "ok", "partial") == [None, "low_water_reset", "low_water_reset"]
    assert table.read_text().startswith("0\n")


def test_a_scan_that_is_not_whole_resets_nothing(table: Path) -> None:
    assert delivered(table, "partial", "failed", "absent") == ["", "", ""]
    assert table.read_text() == "as it was\n"


def test_lnet_that_was_loaded_again_begins_anew(table: Path) -> None:
    assert delivered(table, "ok", "absent", "ok", "ok") == [None, "", None, "low_water_reset"]


def test_a_file_that_cannot_be_written_is_read_on_and_told(tmp_path: Path) -> None:
    done = perl("reset_low_water('peers', $ARGV[0], {state => 'ok', flags => ''}) for 1 .. 2;", tmp_path)
    assert done.stderr.count("\n") == 1
    assert "peers: low-water marks not reset: " in done.stderr


def test_agent_and_collectl_have_one_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    agent = LowWaterReset(str(path))
    done = perl("take_lock($ARGV[0]);", path)
    assert done.returncode != 0
    assert f"process {os.getpid()} already resets this node's low-water marks" in done.stderr
    agent.close()
    code = "my $lock = take_lock($ARGV[0]); $| = 1; print qq(held\\n); <STDIN>;"
    with subprocess.Popen(
        ["perl", "-e", BOOT + code, MODULES / "lnet.ph", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SourceError, match=f"process {holder.pid} already resets"):
            LowWaterReset(str(path))
    LowWaterReset(str(path)).close()
    assert f"'{LOCK_PATH}'" in (MODULES / "lnet.ph").read_text()


def test_a_copied_tree_is_never_written_to(tmp_path: Path) -> None:
    said = run("-sc", "--import", lnet("reset", f"path={tmp_path}"), "-c1", "-i0.1")
    assert "reset: low-water marks are reset on the node itself" in said
