"""`lnetstat check` as a monitoring system calls it: one line on stdout, the status, options."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from lnetstat.check.verdict import SCHEMA_OF_JSON
from lnetstat.cli import run
from lnetstat.cli.check import command
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter
from lnetstat.words import iso

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample-data"
PINGS = SAMPLES / "recordings" / "s7-lustre-pings"
DOCUMENT = (ROOT / "docs" / "check.md").read_text()
EVER = "99999d"


@pytest.fixture
def router(tmp_path):
    for name in ("stats", "buffers", "nis", "routes", "peers"):
        (tmp_path / name).write_text((SAMPLES / "2.17.0" / f"{name}--router.txt").read_text())
    return tmp_path


def check(*words):
    """Return the status and the lines."""
    done = CliRunner().invoke(command, [str(word) for word in words], standalone_mode=False)
    status = done.exit_code if done.exception else done.return_value
    return status, done.stdout.splitlines()


def test_a_router_that_is_well(router):
    status, lines = check("--root", router)
    assert status == 0
    assert lines[0].startswith(f"LNET OK: {router}: nothing alarming in ")
    assert " | 'peer_credits'=" in lines[0]
    assert all(line.startswith("OK: ") for line in lines[1:])
    assert not any("dead_time" in line or "data_age" in line for line in lines)


def test_a_low_buffer_is_told_and_thresholds_can_be_given(router):
    text = (router / "buffers").read_text().splitlines()
    pages, count, *_ = text[2].split()
    (router / "buffers").write_text("\n".join([*text[:2], f"{pages} {count} -1 -1", *text[3:], ""]))
    status, lines = check("--root", router)
    assert status == 2
    assert lines[0].startswith("LNET CRITICAL: router_buffers -")
    assert check("--root", router, "--warn", "router_buffers=", "--crit", "router_buffers=-50:")[0] == 0
    assert check("--root", router, "--only", "peers_down,nis_down")[0] == 0


def test_no_lnet_is_unknown_with_what_was_tried(tmp_path):
    status, (line,) = check("--root", tmp_path)
    assert status == 3
    assert line.startswith(f"LNET UNKNOWN: {tmp_path}: cannot be read: no tables of LNet: tried {tmp_path}/sys/kernel/debug/lnet/peers")


def test_what_cannot_be_read_is_named_once(tmp_path):
    for source in (str(tmp_path / "none"), "graphite://127.0.0.1:1"):
        status, (line,) = check(source)
        assert status == 3
        assert line.startswith(f"LNET UNKNOWN: {source}: cannot be read: ")
        assert line.count(source) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop its rights")
def test_a_forbidden_table_is_unknown(router):
    for path in (router, *router.parents):
        if not os.stat(path).st_mode & 0o001:
            os.chmod(path, 0o755)
    (router / "peers").chmod(0o600)
    os.seteuid(65534)
    try:
        status, lines = check("--root", router)
    finally:
        os.seteuid(0)
    assert status == 3
    assert "peers: Permission denied: run as root" in lines[0]
    assert "'peers_down'=U" in lines[0]


def test_an_old_recording_is_unknown_and_critical_where_asked_for():
    words = [PINGS, "--only", "data_age,ni_credits"]
    status, lines = check(*words)
    assert status == 3
    assert "data_age" in lines[0]
    assert "last sample 2026-11-20T12:02:05Z" in lines[0]
    assert check(*words, "--crit", "data_age=600")[0] == 2
    assert check(*words, "--max-age", EVER)[0] == 0


def test_hosts_of_a_recording_and_its_end():
    base = [PINGS, "--max-age", EVER, "--only", "rtr_credits,peer_credits", "--warn", "peer_credits=0:"]
    status, lines = check(*base, "--host", "rtr,c[1]", "--json")
    document = json.loads("\n".join(lines))
    jsonschema.validate(document, SCHEMA_OF_JSON)
    assert (status, document["status"]) == (1, "WARNING")
    assert {each["host"] for each in document["checks"]} <= {"rtr", "c1"}
    assert check(*base, "--host", "nobody")[0] == 3
    assert check(*base, "--last", "1s")[0] in (0, 1)
    assert check(*base, "--warn", "peer_credits=")[0] == 0


def test_a_host_that_fell_silent_is_told_whatever_is_wanted(tmp_path):
    """Three hosts for 20 s; one ends 8 s before the others, one longer ago than `--forget`."""
    now_s = int(time.time())
    text = (SAMPLES / "2.17.0" / "routes--router.txt").read_text()
    with RecordingWriter(tmp_path, free_bytes_min=0) as writer:
        for second in range(-20, 1):
            hosts = ["rtr1"] + ["rtr2"] * (second <= -8) + ["gone"] * (second <= -15)
            stamp = (now_s + second) * 10**9
            writer.write([Snapshot("routes", host, stamp, None, 0, State.OK, 0, frozenset(), text) for host in hosts])
    base = [tmp_path, "--last", "3s", "--forget", "12s", "--only", "routes_down", "--crit", "routes_down="]
    status, lines = check(*base)
    assert status == 3
    assert lines[0].startswith("LNET UNKNOWN: data_age ")
    assert f"on rtr2 (silent since {iso((now_s - 8) * 10**9)})" in lines[0]
    assert "gone" not in lines[0]
    assert check(*base, "--host", "rtr1")[0] == 0
    assert "likewise rtr2" in check(*base, "--forget", "1h")[1][0]


def test_dead_time_of_a_recording():
    status, lines = check(
        SAMPLES / "recordings" / "simulated-paper-untuned",
        "--only",
        "dead_time",
        "--timeout",
        "10min",
        "--last",
        "10min",
        "--host",
        "rtr01",
        "--max-age",
        EVER,
    )
    assert status == 1
    assert "every 75 s" in lines[0] or "every 75.0" in lines[0]
    assert "cause: ping" in lines[0]


def test_an_archive_and_what_cannot_be_read(router, tmp_path):
    assert check(router, "--only", "peer_credits,routes_down")[0] in (0, 1)
    assert check(tmp_path / "nothing")[0] == 3
    (tmp_path / "bad").write_text("garbage\n")
    assert check(tmp_path / "bad")[0] == 3


@pytest.mark.parametrize(
    "words",
    [
        ["--warn", "peers_down=a"],
        ["--warn", "nothing=1"],
        ["--only", "nothing"],
        ["--host", "rtr["],
        ["--only", "dead_time"],
        ["rec", "--root", "/tmp"],
        ["--timeout", "0"],
        ["rec", "--last", "0"],
        ["rec", "--forget", "0"],
        ["--only", "peer_credits_below_0"],
        ["--host", "rtr1"],
        ["--nonsense"],
    ],
)
def test_wrong_options_are_unknown_on_stdout_too(words, capsys):
    assert run(["check", *words]) == 3
    assert capsys.readouterr().out.startswith("LNET UNKNOWN: ")


def test_json_of_an_error_follows_its_schema_too(tmp_path):
    _, lines = check("--root", tmp_path, "--json")
    document = json.loads("\n".join(lines))
    jsonschema.validate(document, SCHEMA_OF_JSON)
    assert document["status"] == "UNKNOWN"


def test_time_that_is_up_is_unknown(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # reading it never begins
    words = ["check", str(pipe), "--timeout", "200ms"]
    done = subprocess.run([sys.executable, "-m", "lnetstat", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert done.stdout == f"LNET UNKNOWN: {pipe}: no result within 0.2 s (--timeout)\n"


def test_a_node_is_checked_without_pandas(router):
    script = (
        f"import sys; from lnetstat.cli import run; s = run(['check', '--root', {str(router)!r}]);"
        "print(sorted({'pandas', 'numpy', 'yaml'} & set(sys.modules)), s)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[] 0"


# ---- the document ----


def commands_of_the_document():
    """Yield what a monitoring system would run: macros filled in as it does."""
    macros = {
        "$HOSTNAME$": "rtr1",
        "$HOSTADDRESS$": "10.0.0.1",
        "$host.name$": "rtr1",
        "$ARG1$": "check_lnet",
        "$USER1$": "/usr/lib/nagios/plugins",
    }
    for line in DOCUMENT.splitlines():
        text = line.strip()
        if text.startswith("command_line"):
            text = text.removeprefix("command_line").strip()
        elif text.startswith("command["):
            text = text.partition("=")[2]
        elif not text.startswith(("lnetstat check", "sudo lnetstat check")):
            continue
        for macro, value in macros.items():
            text = text.replace(macro, value)
        yield text.split("  #")[0]


COMMANDS = sorted(set(commands_of_the_document()))


@pytest.mark.parametrize("line", [line for line in COMMANDS if "check_nrpe" not in line])
def test_command_lines_of_the_document_are_right(line):
    words = shlex.split(line)
    words = words[words.index("check") + 1 :]
    context = command.make_context("check", words)
    assert context.params["timeout_s"] > 0


def test_the_document_has_all_three_systems_and_all_checks():
    assert len(COMMANDS) >= 6
    for word in ("define command", "command[", "object CheckCommand"):
        assert word in DOCUMENT
    from lnetstat.check.kinds import KINDS

    for kind in KINDS:
        assert f"| {kind.name} |" in DOCUMENT.replace("`", ""), kind.name
        row = next(line for line in DOCUMENT.splitlines() if line.startswith(f"| `{kind.name}` |"))
        cells = [cell.strip().strip("`") for cell in row.split("|")[2:4]]
        assert cells == [kind.warn or "–", kind.crit or "–"], kind.name


def test_sudo_allows_the_very_command_lines_of_nrpe_and_no_others():
    run_by_nrpe = {line.partition("=sudo ")[2] for line in DOCUMENT.splitlines() if line.startswith("command[")}
    allowed = {line.partition("NOPASSWD: ")[2].replace("\\", "") for line in DOCUMENT.splitlines() if line.startswith("nrpe ")}
    assert len(allowed) > 1
    assert allowed == run_by_nrpe
    assert all(words.startswith("/usr/bin/lnetstat check ") and "*" not in words for words in allowed)


def test_the_arguments_of_icinga_are_options():
    inside = DOCUMENT.split("object CheckCommand")[1].split("```")[0]
    options = {option for parameter in command.params for option in parameter.opts}
    named = {line.split('"')[1] for line in inside.splitlines() if line.strip().startswith('"--')}
    assert named
    assert named <= options
    assert inside.count("{") == inside.count("}")
