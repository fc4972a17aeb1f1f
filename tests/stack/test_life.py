"""Starting, stopping, crashing and starting again: no point lost, no process left, nobody else's process touched."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import whisper
from click.testing import CliRunner

from lnetstat.cli.stack import command
from lnetstat.model import Point
from lnetstat.stack import Stack, StackError

REPOSITORY = Path(__file__).parents[2]
NOBODY = 65_534


def stored(rig, path):
    """Return {second: value} of what is on disk."""
    file = rig.stack.folder / "storage" / "whisper" / f"{path.replace('.', '/')}.wsp"
    (begin_s, end_s, step_s), values = whisper.fetch(str(file), int(time.time()) - 3600)
    return {second: value for second, value in zip(range(begin_s, end_s, step_s), values, strict=True) if value is not None}


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_down_loses_no_point_and_leaves_no_process(own):
    status = own.stack.up()
    assert status.state == "running"
    begin_s = int(time.time()) - 60
    path = "lnet.r1.peers.tcp.tx_credits_low"
    own.send([Point(path, -1.0, begin_s)])
    own.rendered_whole(path, begin_s, begin_s + 1, 1)
    # carbon's writer has emptied its cache and sleeps now: what comes at this moment is what a plain carbon would lose.
    own.send([Point(path, -2.0, begin_s + 1)] + [Point(f"lnet.r1.peers.net{n}.count", float(n), begin_s) for n in range(300)])
    assert own.stack.down() is True
    assert not alive(status.carbon_pid)
    assert not alive(status.web_pid)
    assert stored(own, path) == {begin_s: -1.0, begin_s + 1: -2.0}
    for n in range(300):
        assert stored(own, f"lnet.r1.peers.net{n}.count") == {begin_s: float(n)}
    assert own.stack.status().state == "not running"
    assert own.stack.down() is False


def test_up_after_a_kill(own):
    before = own.stack.up()
    begin_s = int(time.time()) - 60
    path = "lnet.r2.buffers.small.credits_low"
    own.send([Point(path, -5.0, begin_s)])
    own.rendered_whole(path, begin_s, begin_s, 1)
    os.kill(before.carbon_pid, signal.SIGKILL)
    wait_until_gone(before.carbon_pid)
    assert own.stack.status().state == "half"
    after = own.stack.up()
    assert after.state == "running"
    assert after.carbon_pid != before.carbon_pid
    own.send([Point(path, -6.0, begin_s + 1)])
    assert own.rendered_whole(path, begin_s, begin_s + 1, 2) == {path: {begin_s: -5.0, begin_s + 1: -6.0}}
    own.stack.down()


def test_up_again_when_only_the_web_server_died(own):
    before = own.stack.up()
    os.kill(before.web_pid, signal.SIGKILL)
    wait_until_gone(before.web_pid)
    assert own.stack.status().state == "half"
    after = own.stack.up()
    assert after.state == "running"
    assert after.carbon_pid == before.carbon_pid
    begin_s = int(time.time()) - 60
    own.send([Point("lnet.r3.routes.count", 4.0, begin_s)])
    assert own.rendered_whole("lnet.r3.routes.count", begin_s, begin_s, 1) == {"lnet.r3.routes.count": {begin_s: 4.0}}
    own.stack.down()


def wait_until_gone(pid):
    deadline_s = time.monotonic() + 30
    while alive(pid) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not alive(pid)


def test_a_pid_that_now_belongs_to_another_process_is_left_alone(own):
    before = own.stack.up()
    own.stack.down()
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        run = own.stack.folder / "run"
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        for name in ("carbon-cache", "graphite-web"):
            (run / f"{name}.pid").write_text(f"{bystander.pid} {boot} 1\n")
        (run / "carbon-twistd-own.pid").write_text(f"{bystander.pid}\n")
        assert own.stack.status().state == "not running"
        assert own.stack.down() is False
        assert bystander.poll() is None
        (run / "carbon-twistd-own.pid").write_text(f"{bystander.pid}\n")
        assert own.stack.up().carbon_pid not in (bystander.pid, before.carbon_pid)
        own.stack.down()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize(("which", "option"), [("web_port", "--port"), ("carbon_port", "--carbon-port")])
def test_a_taken_port_is_named_with_its_option(own, which, option):
    with socket.socket() as other:
        other.bind(("127.0.0.1", getattr(own, which)))
        other.listen()
        with pytest.raises(StackError, match=rf"^port {getattr(own, which)} is taken by another process: choose another with {option}$"):
            own.stack.up()
    assert own.stack.status().state == "not running"


def test_other_ports_than_those_it_runs_on_are_refused(own):
    own.stack.up()
    other = Stack(own.stack.folder, own.web_port, own.carbon_port - 1)
    with pytest.raises(StackError, match=rf"runs with --carbon-port {own.carbon_port}: stop it first"):
        other.up()
    assert Stack(own.stack.folder).up() == own.stack.status()  # no ports asked for: those it has
    own.stack.down()


def test_a_start_that_fails_leaves_nothing(own, monkeypatch):
    monkeypatch.setattr("lnetstat.stack.config.CARBON_CONF", "[cache]\nLINE_RECEIVER_PORT = none\n")
    with pytest.raises(StackError, match=r"carbon-cache ended while it started: .*carbon-cache\.log"):
        own.stack.up()
    assert own.stack.status().state == "not running"
    assert own.stack.status().web_pid is None


def test_a_folder_of_something_else_is_not_used(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(StackError, match="holds something else than a stack"):
        Stack(tmp_path).up()
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_damaged_port_file_is_named(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "ports.json").write_text('{"web": 1')
    with pytest.raises(StackError, match=r"ports\.json: damaged"):
        Stack(tmp_path)


def test_command_line(own):
    def run(*arguments):
        return CliRunner().invoke(command, [*arguments, "--dir", str(own.stack.folder)], catch_exceptions=False)

    ports = ("--port", str(own.web_port), "--carbon-port", str(own.carbon_port))
    up = run("up", *ports)
    assert up.exit_code == 0
    assert own.stack.web_url in up.stdout
    assert f"127.0.0.1:{own.carbon_port}" in up.stdout
    assert run("status").exit_code == 0
    os.kill(own.stack.status().web_pid, signal.SIGKILL)
    half = run("status")
    assert (half.exit_code, half.stdout.splitlines()[-1].split()) == (3, ["stack", "half"])
    assert run("down").stdout == "stopped\n"
    assert run("status").exit_code == 3
    assert run("down").stdout == "not running\n"


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv to become another user")
def test_an_ordinary_user_runs_it(own, request):
    home = Path(tempfile.mkdtemp())  # not tmp_path: pytest keeps others out of it
    request.addfinalizer(lambda: shutil.rmtree(home))
    os.chown(home, NOBODY, NOBODY)
    # Where the tests' Python lies below a folder that is root's alone, reading is let through; writing is not.
    setpriv = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    setpriv += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]

    def as_nobody(*arguments):
        environment = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PYTHONDONTWRITEBYTECODE": "1"}
        program = [sys.executable, "-m", "lnetstat", "stack", *arguments]
        return subprocess.run([*setpriv, *program], env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)

    if as_nobody("--help").returncode:
        pytest.skip("setpriv cannot give a process of another user CAP_DAC_READ_SEARCH here")
    up = as_nobody("up", "--port", str(own.web_port), "--carbon-port", str(own.carbon_port))
    folder = home / "state" / "lnetstat" / "stack"
    try:
        assert up.returncode == 0, up.stderr
        theirs = Stack(folder)
        status = theirs.status()
        assert status.state == "running"
        assert {Path(f"/proc/{pid}").stat().st_uid for pid in (status.carbon_pid, status.web_pid)} == {NOBODY}
        assert {file.stat().st_uid for file in folder.rglob("*")} == {NOBODY}
        begin_s = int(time.time()) - 60
        own.send([Point("lnet.r4.routes.down", 2.0, begin_s)])
        assert own.rendered_whole("lnet.r4.routes.down", begin_s, begin_s, 1) == {"lnet.r4.routes.down": {begin_s: 2.0}}
        with pytest.raises(StackError, match="belongs to user 65534"):
            theirs.up()
    finally:
        down = as_nobody("down")
    assert (down.returncode, down.stdout) == (0, "stopped\n")
    refused = as_nobody("up", "--dir", "/proc/lnetstat")
    assert refused.returncode == 3
    assert len(refused.stderr.splitlines()) == 1
    assert "--dir" in refused.stderr
    foreign = as_nobody("up", "--dir", str(own.stack.folder))
    assert foreign.returncode == 3
    assert "another user" in foreign.stderr or "belongs to user" in foreign.stderr


def test_two_ups_at_once_make_one_stack(own):
    ports = ["--port", str(own.web_port), "--carbon-port", str(own.carbon_port)]
    program = [sys.executable, "-m", "lnetstat", "stack", "up", "--dir", str(own.stack.folder), *ports]
    both = [subprocess.Popen(program, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0]  # the same processes
    own.stack.down()


def test_ports_are_remembered(own):
    own.stack.up()
    own.stack.down()
    assert json.loads((own.stack.folder / "conf" / "ports.json").read_text())["web"] == own.web_port
    assert Stack(own.stack.folder).web_url == own.stack.web_url
