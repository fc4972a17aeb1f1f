"""What the doctor finds on trees, with rights dropped, of settings that Carbon ships with, and of Carbons that are no good."""

import contextlib
import http.server
import json
import os
import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest
import whisper
from click.testing import CliRunner

from lnetstat.cli import lnetstat, run
from lnetstat.doctor import carbon, graphite, needs, node, rules
from lnetstat.doctor.checks import Check, Level, worst
from lnetstat.sources.node import Node
from lnetstat.stack import schemas
from lnetstat.stack.config import Ports, carbon_conf

SAMPLES = Path(__file__).parents[2] / "sample-data" / "2.17.0"
SHIPPED = Path(sys.prefix) / "conf"  # carbon's own examples, as its package installs them
FILES = {"stats": "router", "buffers": "router", "nis": "router", "routes": "router", "routers": "client", "peers": "router"}
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop its rights")


@pytest.fixture
def tree(tmp_path):
    """A router of 2.15 with an OST, below sys and proc."""
    root = tmp_path / "tree"
    debugfs = root / "sys/kernel/debug/lnet"
    debugfs.mkdir(parents=True)
    (root / "sys/module/lnet").mkdir(parents=True)
    for name, case in FILES.items():
        shutil.copy(SAMPLES / f"{name}--{case}.txt", debugfs / name)
    services = root / "proc/fs/lustre/ost/OSS/ost_io"
    services.mkdir(parents=True)
    shutil.copy(SAMPLES / "ost.OSS.ost_io.stats--server.txt", services / "stats")
    write(root, "proc/mounts", "sysfs /sys sysfs rw 0 0\nnone /sys/kernel/debug debugfs rw 0 0\n")
    write(root, "sys/fs/lustre/version", "2.15.8\n")
    return root


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def doctor(*words):
    """Return the exit status and {check: (level, what and remedy)}."""
    done = CliRunner().invoke(lnetstat, ["doctor", *map(str, words)], standalone_mode=False, catch_exceptions=False)
    lines = [line.split(": ", 2) for line in done.stdout.splitlines()]
    return done.return_value, {name: (level, rest) for level, name, rest in lines}


@contextlib.contextmanager
def nobody():
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_healthy_node_is_ok_line_by_line_and_status_0(tree):
    status, checks = doctor("--root", tree)
    assert status == 0
    assert {level for level, _ in checks.values()} == {"OK"}
    for name in FILES:
        assert str(tree / "sys/kernel/debug/lnet" / name) in checks[f"table {name}"][1]
    assert checks["roles"][1] == "router, OSS"
    assert "ost.OSS.ost_io.stats" in checks["services"][1]
    assert checks["release"][1] == "Lustre 2.15.8"


def test_json_says_the_same(tree):
    write(tree, "sys/kernel/debug/lnet/peers", "garbage\n")
    done = CliRunner().invoke(lnetstat, ["doctor", "--root", str(tree), "--json"], standalone_mode=False)
    status, checks = doctor("--root", tree)
    said = json.loads(done.stdout)
    assert (said["schema"], said["status"], done.return_value) == (1, "WARNING", status)
    assert {row["check"]: row["level"] for row in said["checks"]} == {name: level for name, (level, _) in checks.items()}
    assert all(row["remedy"] for row in said["checks"] if row["level"] != "OK")


def test_2_17_is_warned_of_what_crashes_its_kernel(tree):
    write(tree, "sys/fs/lustre/version", "2.17.0_3_gabc\n")
    status, checks = doctor("--root", tree)
    assert status == 1
    assert checks["lnetctl peer show"][0] == "WARNING"
    assert "`lnetctl peer show -v` can crash the kernel" in checks["lnetctl peer show"][1]


def test_what_is_not_there_is_told_with_every_path_that_was_tried(tmp_path):
    status, checks = doctor("--root", tmp_path)
    assert status == 3
    level, words = checks["table peers"]
    assert level == "UNKNOWN"
    for path in ("sys/kernel/debug/lnet/peers", "proc/sys/lnet/peers", "peers"):
        assert f"{tmp_path / path} (No such file or directory)" in words
    assert checks["roles"][0] == "UNKNOWN"


def test_an_unmounted_debugfs_is_told_with_the_command(tree):
    write(tree, "proc/mounts", "sysfs /sys sysfs rw 0 0\nnone /mnt/debug debugfs rw 0 0\n")
    status, checks = doctor("--root", tree)
    assert status == 3
    assert checks["debugfs"] == ("UNKNOWN", "not mounted at /sys/kernel/debug; mount -t debugfs none /sys/kernel/debug")
    (tree / "proc/sys/lnet").mkdir(parents=True)  # Lustre before 2.8 needs none
    assert "debugfs" not in doctor("--root", tree)[1]


@pytest.mark.parametrize(
    ("module", "mounts", "remedy"),
    [(False, "", "modprobe lnet"), (True, "", "mount -t debugfs"), (True, "x /sys/kernel/debug debugfs rw", "lnetctl lnet configure")],
)
def test_the_remedy_is_the_first_thing_that_is_missing(tmp_path, monkeypatch, module, mounts, remedy):
    monkeypatch.setattr(node.Seen, "is_live", True)
    write(tmp_path, "proc/mounts", mounts)
    if module:
        (tmp_path / "sys/module/lnet").mkdir(parents=True)
    checks = {check.name: check for check in node.node_checks(node.look_at(str(tmp_path)))}
    assert checks["table peers"].remedy.startswith(remedy)
    assert ("modprobe" in checks["lnet module"].remedy) is not module


@only_root
def test_without_rights_it_says_which_file_and_to_be_root(tree):
    for folder in (tree, *tree.parents[:-2]):
        folder.chmod(0o755)
    (tree / "sys/kernel/debug/lnet/peers").chmod(0o600)
    (tree / "proc/fs/lustre/ost/OSS/ost_io/stats").chmod(0)
    with nobody():
        status, checks = doctor("--root", tree)
    assert status == 3
    level, words = checks["table peers"]
    assert level == "UNKNOWN"
    assert f"may not be read: tried {tree}/sys/kernel/debug/lnet/peers (Permission denied)" in words
    assert words.endswith("run as root: sudo lnetstat …")
    assert checks["services"] == (
        "UNKNOWN",
        f"1 file of 1 cannot be read: {tree}/proc/fs/lustre/ost/OSS/ost_io/stats; run as root: sudo lnetstat …",
    )
    assert checks["table nis"][0] == "OK"
    (tree / "sys/kernel/debug").chmod(0o700)  # as kernels mount it
    with nobody():
        assert "(Permission denied)" in doctor("--root", tree)[1]["table nis"][1]


@only_root
def test_who_may_see_nothing_is_told_first_that_lnet_is_not_loaded(tree, monkeypatch):
    monkeypatch.setattr(node.Seen, "is_live", True)
    for folder in (tree, *tree.parents[:-2]):
        folder.chmod(0o755)
    shutil.rmtree(tree / "sys/module")
    (tree / "sys/kernel/debug").chmod(0o700)
    with nobody():
        checks = {check.name: check for check in node.node_checks(node.look_at(str(tree)))}
    assert "Permission denied" in checks["table peers"].what
    assert checks["table peers"].remedy == "modprobe lnet"


def test_root_that_may_not_read_is_told_of_lockdown(tree, monkeypatch):
    monkeypatch.setattr(node.Seen, "is_live", True)
    assert "lockdown" in node._remedy(node.look_at(str(tree)), forbidden=True, is_root=True)


@pytest.mark.parametrize(
    ("text", "level", "words"),
    [
        ("", "WARNING", "the file is empty"),
        ("garbage\n\x1b[2J", "WARNING", "expected"),
        (None, "CRITICAL", "Is a directory"),
    ],
)
def test_a_table_that_is_none_is_told_and_no_text_acts(tree, text, level, words):
    path = tree / "sys/kernel/debug/lnet/peers"
    path.unlink()
    path.mkdir() if text is None else path.write_text(text)
    _, checks = doctor("--root", tree)
    assert checks["table peers"][0] == level
    assert words in checks["table peers"][1]
    assert checks["table peers"][1].isprintable()


def test_a_root_that_is_no_folder_is_one_line(tmp_path, capsys):
    assert run(["doctor", "--root", str(tmp_path / "none")]) == 3
    assert "UNKNOWN: node: " in (line := capsys.readouterr().out.splitlines()[0])
    assert "not a folder" in line


@pytest.mark.parametrize("words", [["--no-such"], ["--nodes", "0"], ["--carbon"], ["--prefix", "a b"], ["extra"]], ids=" ".join)
def test_wrong_options_are_unknown_to_a_monitoring_system(words, capsys):
    assert run(["doctor", *words]) == 3
    told = capsys.readouterr()
    assert told.out.startswith("UNKNOWN: ")
    assert len(told.out.splitlines()) == 1
    assert "Error: " in told.err


# ---- the agent's configuration


def configuration(folder, text):
    (folder / "lnetstat.toml").write_text(text)
    return folder / "lnetstat.toml"


def test_the_doctor_looks_where_the_agent_of_a_configuration_would(tree, tmp_path):
    (tmp_path / "carbon.conf").write_text("[cache]\nMAX_UPDATES_PER_SECOND = 5\nENABLE_TAGS = False\n")
    with listening(50) as (_, address):
        text = f'root = "{tree}"\n[carbon]\nto = "{address}"\nresend = "5min"\n[spool]\nfolder = "{tmp_path}"\nmax_bytes = "20M"\n'
        file = configuration(tmp_path, text)
        _, checks = doctor("--config", file, "--carbon-conf", tmp_path / "carbon.conf", "--series", 1000)
        assert checks["configuration"] == ("OK", f"{file}: right")
        assert str(tree) in checks["table peers"][1]
        assert checks[f"carbon {address}"][0] == "OK"
        assert "not proved" in checks["carbon proof"][1]
        assert "19.1 MiB hold about 0.1 h" in checks["spool"][1]
        assert checks["carbon.conf updates"][0] == "OK"  # every 200 s, and five minutes are sent again
        assert doctor("--carbon-conf", tmp_path / "carbon.conf", "--series", 1000, "--root", tree)[1]["carbon.conf updates"][0] == "WARNING"


def test_what_the_command_line_says_outweighs_the_configuration(tree, tmp_path):
    file = configuration(tmp_path, f'root = "{tree}"\n[carbon]\nto = "no.such.invalid:2003"\n')
    with listening(50) as (_, address):
        _, checks = doctor("--config", file, "--carbon", address)
    assert f"carbon {address}" in checks
    assert "carbon no.such.invalid:2003" not in checks


@pytest.mark.parametrize(
    ("text", "words"),
    [("[carbon]\nto = 7\n", "expected a list"), ("nonsense = 1\n", "no such key"), ("", "say where points go"), ("[", "not TOML")],
    ids=["value", "key", "nowhere", "text"],
)
def test_a_configuration_that_no_agent_starts_with_is_critical_and_the_rest_is_looked_at(tree, tmp_path, text, words):
    status, checks = doctor("--config", configuration(tmp_path, text), "--root", tree)
    assert status == 2
    assert checks["configuration"][0] == "CRITICAL"
    assert words in checks["configuration"][1]
    assert checks["table peers"][0] == "OK"


def test_storage_is_judged_by_the_interval_of_the_agent(tree, tmp_path):
    (tmp_path / "schemas").write_text("[all]\npattern = .*\nretentions = 10s:2d\n")
    file = configuration(tmp_path, f'root = "{tree}"\ninterval = "10s"\n[carbon]\nto = "127.0.0.1:1"\n')
    _, checks = doctor("--config", file, "--storage-schemas", tmp_path / "schemas")
    assert checks["storage-schemas [all]"][0] == "OK"
    _, checks = doctor("--root", tree, "--storage-schemas", tmp_path / "schemas")
    assert "9 of 10 points overwrite one another" in checks["storage-schemas [all]"][1]


def test_critical_outweighs_unknown_and_that_a_warning():
    rows = [Check(level, "x", "y") for level in Level]
    assert worst(rows) is Level.CRITICAL
    assert worst([row for row in rows if row.level is not Level.CRITICAL]) is Level.UNKNOWN
    assert worst(rows[:2]) is Level.WARNING
    assert worst(rows[:1]) is Level.OK
    assert worst([]) is Level.UNKNOWN


# ---- what the agent needs


def test_descriptors_and_clock():
    assert needs.descriptors_check(1000, lambda: 1024).level is Level.WARNING
    assert "LimitNOFILE=2128" in needs.descriptors_check(1000, lambda: 1024).remedy
    assert needs.descriptors_check(10, lambda: 1024).level is Level.OK
    assert needs.descriptors_check(10**9, lambda: -1).level is Level.OK
    assert needs.clock_check(lambda: needs.ClockState(True, 0.002)).level is Level.OK
    assert "chronyd" in needs.clock_check(lambda: needs.ClockState(False, 16.0)).remedy
    assert 0 <= needs.kernel_clock().error_max_s <= 16.1  # NTP_PHASE_LIMIT: the kernel lets it grow no further


def test_the_spools_disk(tmp_path):
    (check,) = [each for each in needs.spool_checks(str(tmp_path / "not" / "yet"), bytes_max=1) if "memory" not in each.what]
    assert check.level is Level.OK
    (check,) = [each for each in needs.spool_checks(str(tmp_path), bytes_max=1 << 60) if "memory" not in each.what]
    assert check.level is Level.WARNING
    (tmp_path / "file").write_text("")
    assert [each.level for each in needs.spool_checks(str(tmp_path / "file"))] == [Level.CRITICAL]
    assert [each.level for each in needs.spool_checks(None)] == [Level.OK]


@only_root
def test_a_spool_that_may_not_be_written_is_critical(tmp_path):
    tmp_path.chmod(0o755)
    with nobody():
        assert [check.level for check in needs.spool_checks(str(tmp_path))] == [Level.CRITICAL]


@pytest.mark.skipif(needs.filesystem_of("/dev/shm") != "tmpfs", reason="no tmpfs at /dev/shm")
def test_a_spool_in_memory_is_a_warning():
    assert Level.WARNING in [check.level for check in needs.spool_checks("/dev/shm/lnetstat-spool", bytes_max=1)]


# ---- Carbon: reached or not


@contextlib.contextmanager
def listening(backlog):
    with socket.create_server(("127.0.0.1", 0), backlog=backlog) as server:
        yield server, f"127.0.0.1:{server.getsockname()[1]}"


def carbon_lines(address, nodes=1):
    return {check.name.removeprefix(f"carbon {address}").strip(): check for check in carbon.carbon_checks(address, nodes)}


@pytest.mark.skipif(shutil.which("ss") is None, reason="no ss")
def test_a_backlog_smaller_than_the_nodes_is_told(tree):
    with listening(7) as (_, address):
        checks = carbon_lines(address, nodes=7)
        assert [check.level for check in checks.values()] == [Level.OK, Level.OK]
        assert "7, for 7 nodes" in checks["backlog"].what
        assert carbon_lines(address, nodes=8)["backlog"].level is Level.WARNING
        assert doctor("--root", tree, "--carbon", address, "--nodes", 8)[0] == 1


def test_the_backlog_of_another_computer_is_that_of_carbon():
    assert carbon.local_backlog("192.0.2.1", 2003) is None
    assert carbon.backlog_check("carbon", None, 50).level is Level.OK
    assert carbon.backlog_check("carbon", None, 51).level is Level.WARNING


def test_nobody_there_is_critical_with_what_to_do(tree):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening: refused
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        status, checks = doctor("--root", tree, "--carbon", address)
    assert status == 2
    assert "LINE_RECEIVER_PORT" in checks[f"carbon {address}"][1]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://x:1", "expected|not a host name"),
        ("nowhere", "expected HOST:PORT"),
        ("a..b:2003", "reached"),
        ("no.such.invalid:2003", "reached"),
    ],
)
def test_an_address_that_is_none_is_critical(address, words):
    (check,) = carbon.carbon_checks(address, 1)
    assert check.level is Level.CRITICAL
    assert any(word in check.what for word in words.split("|"))


def test_one_who_closes_at_once_is_no_carbon():
    with listening(5) as (server, address):
        ending = threading.Thread(target=lambda: server.accept()[0].close())
        ending.start()
        (check,) = carbon.carbon_checks(address, 1)
        ending.join()
    assert check.level is Level.CRITICAL
    assert "closes it at once" in check.what


def test_no_answer_is_told_as_such():
    def never(address, timeout_s):
        raise TimeoutError("timed out")

    (check,) = carbon.carbon_checks("192.0.2.1:2003", 1, connect=never)
    assert "no answer within 5 s" in check.what
    assert "firewall" in check.remedy


# ---- Carbon: its files


def test_carbons_own_example_loses_series_and_ours_does_not(tree, tmp_path):
    status, checks = doctor("--root", tree, "--carbon-conf", SHIPPED / "carbon.conf.example", "--nodes", 600)
    assert status == 2
    assert "MAX_CREATES_PER_MINUTE = 50: 300000 new series need 4 days" in checks["carbon.conf creates"][1]
    assert checks["carbon.conf updates"][0] == "WARNING"
    assert checks["carbon.conf cache"][0] == "WARNING"
    write(tmp_path, "carbon.conf", carbon_conf(tmp_path, Ports(1, 2, 3)))
    status, checks = doctor("--root", tree, "--carbon-conf", tmp_path / "carbon.conf", "--nodes", 10)
    assert status == 0, checks


def test_limits_in_numbers():
    assert carbon.creates_check(500, 500).level is Level.OK
    assert carbon.creates_check(499, 500).level is Level.WARNING
    assert carbon.creates_check(50, 501).level is Level.CRITICAL
    assert carbon.creates_check(0, 1).level is Level.CRITICAL
    assert carbon.cache_check(60 * 500, 500).level is Level.OK
    assert carbon.cache_check(60 * 500 - 1, 500).level is Level.WARNING
    assert carbon.updates_check(500, 60 * 500).level is Level.OK
    assert carbon.updates_check(500, 60 * 500 + 1).level is Level.WARNING


@pytest.mark.parametrize("text", [None, "", "[relay]\nX = 1\n", "no section\n", b"\xff\xfe"])
def test_a_carbon_conf_that_is_none_is_unknown(tmp_path, text):
    path = tmp_path / "carbon.conf"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (check,) = carbon.conf_checks(str(path), 500, 1)
    assert check.level is Level.UNKNOWN


def test_schemas_as_carbon_ships_them_overwrite_59_of_60_and_ours_are_ok(tree, tmp_path):
    status, checks = doctor("--root", tree, "--storage-schemas", SHIPPED / "storage-schemas.conf.example")
    assert status == 1
    (words,) = [words for name, (level, words) in checks.items() if name.startswith("storage-schemas") and level == "WARNING"]
    assert "all metrics: 60s:1d" in words
    assert "59 of 60 points overwrite" in words
    for site in (False, True):
        write(tmp_path, "ours", schemas.storage_schemas("site.lnet", site=site))
        write(tmp_path, "rules", schemas.storage_aggregation(prefix="site.lnet", site=site))
        files = ("--storage-schemas", tmp_path / "ours", "--storage-aggregation", tmp_path / "rules")
        status, checks = doctor("--root", tree, "--prefix", "site.lnet", *files)
        assert status == 0, checks
        assert sum(name.startswith("storage-schemas") for name in checks) == 3


@pytest.mark.parametrize(
    ("text", "level", "words"),
    [
        ("[a]\npattern = ^servers\nretentions = 1s:1d\n", Level.CRITICAL, "no section fits all metrics"),
        ("[a]\npattern = .*\nretentions = 1s:1h,60s:7d\n", Level.WARNING, "older than 1h"),
        ("[a]\npattern = .*\nretentions = 10s:1d\n", Level.WARNING, "9 of 10 points"),
        ("[a]\npattern = .*\nretentions = 60s:7d,1s:6h\n", Level.OK, "60s:7d"),
        ("[a]\npattern = .*\nretentions = 1x:6h\n", Level.CRITICAL, "'1x' is no time"),
        ("[a]\npattern = .*\n", Level.CRITICAL, "expected STEP:SPAN"),
        ("[a]\npattern = (\nretentions = 1s:6h\n", Level.CRITICAL, "section [a]"),
        ("[a]\nretentions = 1s:6h\n", Level.CRITICAL, "section [a]"),
        ("retentions = 1s:6h\n", Level.CRITICAL, "no section"),
    ],
)
def test_schemas_of_a_site(tmp_path, text, level, words):
    write(tmp_path, "f", text)
    (check,) = rules.schemas_checks(str(tmp_path / "f"))
    assert check.level is level
    assert words in check.what
    list(rules.sizing_checks(500, 1, str(tmp_path / "f")))


def test_a_spool_kept_longer_than_the_finest_retention_is_told(tmp_path):
    write(tmp_path, "ours", schemas.storage_schemas())
    levels = {check.level for check in rules.schemas_checks(str(tmp_path / "ours"), spool_age_s=6 * 3600 + 1)}
    assert levels == {Level.OK, Level.WARNING}  # `self` and the worst peers are kept short on purpose


def test_aggregation_as_carbon_ships_it_destroys_low_water_marks(tree):
    status, checks = doctor("--root", tree, "--storage-aggregation", SHIPPED / "storage-aggregation.conf.example")
    assert status == 1
    assert checks["storage-aggregation"][0] == "WARNING"
    found = [check.what for check in rules.aggregation_checks(str(SHIPPED / "storage-aggregation.conf.example"))]
    assert any("the average, not the min" in what for what in found)
    assert any("xFilesFactor above 0" in what for what in found)


@pytest.mark.parametrize("text", ["1s:6h,10s:2d,60s:30d", "60:1440", "10s:6h", "1m:1y", "1min:2weeks", "5:100", "1hours:2d"])
def test_retentions_are_read_as_whisper_reads_them(text):
    expected = sorted((step_s, step_s * points) for step_s, points in map(whisper.parseRetentionDef, text.split(",")))
    assert [tuple(archive) for archive in rules.retentions_of(text)] == expected


def test_sizes_are_those_of_the_stack(tmp_path):
    (check,) = rules.sizing_checks(500, 600)
    assert check.level is Level.WARNING
    total = sum(kind.bytes_per_node for kind in schemas.kinds(500)) * 600
    assert f"500 series x 600 nodes = 300000 whisper files, 300000 points a second, {total / 1e9:.3g} GB" in check.what
    write(tmp_path, "ours", schemas.storage_schemas())
    (site,) = rules.sizing_checks(500, 600, str(tmp_path / "ours"))
    assert site.what.replace("the site's", "our") == check.what


# ---- what a Carbon tells of itself; the real one is asked in tests/stack/test_doctor.py


def told(total=500, **values):
    series = {f"carbon.agents.h-a.{name.replace('__', '.')}": [(value, 1000)] for name, value in values.items()}
    return {check.name: check for check in graphite.carbon_told(series, total, 1010.0)}


def test_what_carbon_says_it_lost_is_critical():
    assert {check.level for check in told(creates=5, droppedCreates=0, cache__size=7, cache__overflow=0, errors=0).values()} == {Level.OK}
    assert told(creates=50, droppedCreates=3)["carbon creates"].level is Level.CRITICAL
    assert told(cache__overflow=1)["carbon cache"].level is Level.CRITICAL
    assert told(errors=1)["carbon errors"].level is Level.WARNING
    assert told(queue__fullQueueDrops=1)["carbon relay"].level is Level.CRITICAL
    assert {check.level for check in graphite.carbon_told({"x.creates": []}, 1, 0)} == {Level.UNKNOWN}
    assert Level.WARNING in {check.level for check in graphite.carbon_told({"x.creates": [(1.0, 1000)]}, 1, 2000.0)}


@pytest.mark.parametrize(
    ("ahead_s", "level"),
    [(0, Level.OK), (-3, Level.OK), (30, Level.WARNING), (-30, Level.WARNING), (3600, Level.CRITICAL), (None, Level.UNKNOWN)],
)
def test_clocks_apart(ahead_s, level):
    assert graphite.clock_difference(graphite.Answer(ahead_s, 1.0, {})).level is level


class _Odd(http.server.BaseHTTPRequestHandler):
    status, body, headers_more = 200, b"", {}

    def do_GET(self):
        self.send_response(self.status)
        for name, value in self.headers_more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *words):
        pass


@pytest.mark.parametrize(
    ("status", "body", "more", "words"),
    [
        (200, b"<html>", {}, "cannot be asked"),
        (200, b'{"a": 1}', {}, "not that of a Graphite"),
        (200, b'[{"target": "x", "datapoints": [["a", 1]]}]', {}, "cannot be asked"),
        (200, b"[" * 100_000, {}, "cannot be asked"),
        (401, b"", {}, "status 401"),
        (500, b"", {}, "status 500"),
        (302, b"", {"Location": "http://localhost:1/"}, "status 302"),
    ],
)
def test_what_is_no_graphite_is_unknown(status, body, more, words):
    handler = type("Handler", (_Odd,), {"status": status, "body": body, "headers_more": more})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            (check,) = graphite.graphite_checks(f"http://127.0.0.1:{server.server_port}", 500, 1)
        finally:
            server.shutdown()
            thread.join()
    assert check.level is Level.UNKNOWN
    assert words in check.what


@pytest.mark.parametrize("url", ["ftp://x", "graphite", "http://", "http://[::1", "http://u:secret@h", "http://h:port", "http://h/ x", ""])
def test_an_address_of_no_graphite_is_unknown_and_no_password_is_shown(url):
    (check,) = graphite.graphite_checks(url, 500, 1)
    assert check.level is Level.UNKNOWN
    assert "secret" not in check.line


def test_passwords_do_not_go_in_the_clear(monkeypatch):
    monkeypatch.setenv("LNETSTAT_GRAPHITE_USER", "me")
    (check,) = graphite.graphite_checks("http://192.0.2.1", 500, 1)
    assert "https:// only" in check.what


def test_debugfs_of_a_node_that_does_not_tell(tmp_path):
    assert node.debugfs_mounted(Node(str(tmp_path))) is None
