"""The plug-ins' README is what happens: a scratch root with only collectl and the three files, and every command and column of the README.

Command blocks stand in four sections of it; each line is run here, or is in NOT_RUN with the reason.
"""

import contextlib
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.collectors.conftest import END_S, MODULES, PERL_COMPLAINS, REPO, Store, raw_text, samples_of

README = (MODULES / "README.md").read_text()
CONF = (MODULES / "collectl.conf.sample").read_text()
COMMAND_SECTIONS = ("Install on a router", "Try it anywhere", "Every day", "As a service")
COMMAND_WORDS = ("apt-get", "cp", "mkdir", "collectl", "lnetstat", "systemctl", "cat", "mount", "kill")
VARIABLES = "SAMPLES=../../sample-data/2.17.0 CARBON=127.0.0.1:2003 TRY=$(mktemp -d)"
NOT_RUN = {
    "apt-get install collectl": "the machine of the tests has it, or these tests are skipped",
    VARIABLES: "runs in the shell of the three commands",
    "systemctl restart collectl": "no init here: the tests start what the service starts, `collectl -D`",
}
FILES = ("lnet.ph", "lustre_oss.ph", "lnetcarbon.ph")


def blocks_of(text: str) -> dict[str, list[list[str]]]:
    """Return the indented blocks of each section, without their indent."""
    found: dict[str, list[list[str]]] = {}
    for section in re.split(r"(?m)^##+ ", text)[1:]:
        title, _, body = section.partition("\n")
        blocks = re.findall(r"(?:^    .*\n)+", body, re.MULTILINE)
        found[title.partition(":")[0]] = [[line[4:] for line in block.splitlines()] for block in blocks]
    return found


BLOCKS = blocks_of(README)


def commands_in(section: str) -> list[str]:
    lines = [line for block in BLOCKS[section] for line in block]
    return [line for line in lines if line not in NOT_RUN and not line.startswith("DaemonCommands")]


class Root(NamedTuple):
    """A root with nothing but collectl and what it comes with, a log folder, a captured tree, and a Carbon."""

    folder: Path
    logs: Path
    server: Path
    store: Store

    def here(self, text: str) -> str:
        """Return a line of the README with this root's places for those of a real one."""
        for there, here in (
            ("/usr/share/collectl", self.folder / "usr/share/collectl"),
            ("/var/log/collectl", self.logs),
            ("carbon.site.org:2003", self.store.destination),
            ("carbon.site.org", self.store.destination),
            ("127.0.0.1:2003", self.store.destination),
        ):
            text = re.sub(rf"(?<![\w.]){re.escape(there)}", str(here), text)
        return text

    def run(self, line: str, cwd: Path) -> str:
        """Run a command line of the README by a shell that finds this root's collectl, and no lnetstat but ours."""
        line = re.sub(r"^lnetstat ", f"{sys.executable} -m lnetstat ", self.here(line))
        env = {
            "PATH": f"{self.folder / 'usr/bin'}:/usr/bin:/bin",
            "HOME": str(cwd),
            "TMPDIR": str(cwd.parent),
            "PYTHONPATH": str(REPO) if " -m lnetstat " in line else "",
        }
        done = subprocess.run(["bash", "-euc", line], cwd=cwd, env=env, capture_output=True, text=True, timeout=END_S, check=False)
        assert done.returncode == 0, line + "\n" + done.stdout[-2000:] + done.stderr
        assert not PERL_COMPLAINS.search(done.stderr), done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    folder = tmp_path_factory.mktemp("root")
    (folder / "usr/bin").mkdir(parents=True)
    shutil.copy2("/usr/bin/collectl", folder / "usr/bin/collectl")
    shutil.copytree("/usr/share/collectl", folder / "usr/share/collectl", ignore=shutil.ignore_patterns(*FILES))
    logs = folder / "var/log/collectl"
    logs.mkdir(parents=True)
    server = folder / "server"
    for sample in (REPO / "sample-data" / "2.17.0").glob("*.stats--server.txt"):
        place = server / "proc/fs/lustre" / sample.name.partition("--")[0].replace(".", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sample, place)
    for table in ("peers", "nis", "buffers", "stats", "routes"):
        shutil.copyfile(REPO / "sample-data" / "2.17.0" / f"{table}--router.txt", server / table)
    store = Store(tmp_path_factory.mktemp("own") / "carbon")
    store.start()
    try:
        made = Root(folder, logs, server, store)
        for line in commands_in("Install on a router")[:1]:
            made.run(line, MODULES)
        yield made
    finally:
        store.kill()


class Tried(NamedTuple):
    """The folder that the three commands made, and what each printed."""

    folder: Path
    printed: list[str]

    @property
    def raw(self) -> Path:
        return self.folder / "raw"


@pytest.fixture(scope="module")
def tried(root: Root, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """As a reader does it: one shell, in the folder of the files in a clone."""
    clone = tmp_path_factory.mktemp("clone")
    folder = clone / "collectors" / "collectl"
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(MODULES / name, folder / name)
    shutil.copytree(REPO / "sample-data" / "2.17.0", clone / "sample-data" / "2.17.0")
    mark = "---- the next one ----\n"
    words = f"\necho '{mark.strip()}'\n".join([VARIABLES, *commands_in("Try it anywhere")])
    printed = root.run(f"{words}\necho '{mark.strip()}'\necho \"$TRY\"", folder).split(mark)
    assert {file.name for file in folder.iterdir()} == set(FILES), "a clone stays as it is"
    return Tried(Path(printed[-1].splitlines()[0]), printed[1:-1])


def host_name() -> str:
    return subprocess.run(["hostname"], capture_output=True, text=True, check=True).stdout.split(".")[0].strip()


def test_command_blocks_stand_only_where_they_are_run() -> None:
    for section, blocks in BLOCKS.items():
        for block in blocks:
            is_command = block[0].partition(" ")[0] in COMMAND_WORDS or block[0] in NOT_RUN
            assert not is_command or section in COMMAND_SECTIONS, (section, block[0])
    lines = [line for section in COMMAND_SECTIONS for block in BLOCKS[section] for line in block]
    assert set(NOT_RUN) <= set(lines)
    assert [line for line in lines if line.partition(" ")[0] not in (*COMMAND_WORDS, "DaemonCommands") and line not in NOT_RUN] == []


def test_install_in_three_lines_and_collectl_goes_on_where_there_is_no_lnet(root: Root, tmp_path: Path) -> None:
    assert len(BLOCKS["Install on a router"][0]) == 3
    assert {name for name in FILES if (root.folder / "usr/share/collectl" / name).exists()} == set(FILES)
    printed = root.run(commands_in("Install on a router")[1], tmp_path)
    assert "LNET SUMMARY" in printed
    if not Path("/sys/module/lnet").exists():
        assert "no table of LNet: is LNet loaded, is debugfs mounted, are you root? going on" in printed


def test_three_commands_bring_points_into_carbon_at_the_seconds_of_the_samples(root: Root, tried: Tried) -> None:
    assert len(tried.printed) == 3
    stamps = [stamp_ms // 1000 for stamp_ms, _ in samples_of(raw_text(tried.raw))]
    assert len(stamps) >= 11
    seconds = sorted(set(stamps[1:]))
    found = root.store.settled(host_name(), 10 * len(seconds))
    assert sorted({second for _, second in found}) == seconds
    routed = {second: value for (path, second), value in found.items() if path == "lnet_stats.route_count"}
    (count,) = (REPO / "sample-data/2.17.0/stats--router.txt").read_text().split()[5:6]
    assert routed == dict.fromkeys(seconds, float(count))
    assert found["peers.tcp.count", seconds[0]] > 0
    assert {path.partition(".")[0] for path, _ in found} == {"peers", "nis", "buffers", "lnet_stats", "routes"}


def test_the_third_command_shows_what_was_recorded(tried: Tried) -> None:
    assert tried.printed[2].count("# LNET SUMMARY") == tried.printed[2].count("### RECORD") >= 10
    assert tried.printed[2].count("# LNET DETAIL") >= 10


def test_commands_of_every_day(root: Root, tried: Tried, tmp_path: Path) -> None:
    raw = next((tried.raw).glob("*.raw.gz"))
    shutil.copy2(raw, root.logs)
    lines = commands_in("Every day")
    assert len(lines) == 5
    for line in lines:
        is_endless = line.startswith("collectl --import") and " -p " not in line
        printed = root.run(f"{line} -c1" if is_endless else line, tmp_path)
        assert "rror" not in printed, printed
    assert {file.name.split(".")[1] for file in (tmp_path / "plots").iterdir()} >= {"tab", "lnt"}


# ---- what is printed ----


def printed_by(root: Root, cwd: Path, arguments: str) -> str:
    return root.run(f"collectl {arguments} -i0.1 -c2 -oT".replace("PATH", f"path={root.server}"), cwd)


@pytest.fixture(scope="module")
def shown(root: Root, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Every header line that the two imports print, blanks made one."""
    cwd = tmp_path_factory.mktemp("shown")
    texts = [
        printed_by(root, cwd, arguments)
        for arguments in (
            "--import lnet.ph,PATH",
            "--import lustre_oss.ph,PATH",
            "--import lnet.ph,sd,PATH --verbose",
            "--import lustre_oss.ph,sd,PATH --verbose",
        )
    ]
    return {" ".join(line.split()) for text in texts for line in text.splitlines() if line.startswith("#")}


def test_headings_in_the_readme_are_those_that_are_printed(shown: set[str]) -> None:
    headings = [line for block in BLOCKS["What the columns say"] for line in block if line.startswith("#")]
    assert len(headings) >= 10
    known = shown | {line.replace("# ", "#", 1) for line in shown}
    times = {line.replace("#Time", "# Time") for line in known}
    for heading in headings:
        assert " ".join(heading.split()) in known | times, heading


def test_example_rows_have_a_word_for_each_column() -> None:
    for block in BLOCKS["What the columns say"]:
        heading: list[str] = []
        for line in block:
            if not line.startswith("#"):
                assert len(line.split()) == len(heading), line
            elif "LNET DETAIL" not in line:
                heading = line.lstrip("# ").split()


def test_the_table_of_columns_is_brief_and_plot_of_lnet(root: Root, tmp_path: Path) -> None:
    rows = re.findall(r"(?m)^\| (\S+) \| \[LNET\](\S+) \|", README)
    brief = printed_by(root, tmp_path, "--import lnet.ph,PATH")
    heading = next(line for line in brief.splitlines() if "Peers" in line)
    assert heading.lstrip("#").split()[1:] == [name for name, _ in rows]
    printed_by(root, tmp_path, f"--import lnet.ph,PATH -P -f {tmp_path}")
    (plot,) = (gzip.decompress(file.read_bytes()).decode() for file in tmp_path.glob("*.tab.gz"))
    assert re.findall(r"\[LNET\](\w+)", plot) == [name for _, name in rows]


def options_told(root: Root, cwd: Path, arguments: str) -> set[str]:
    """Return the names of the options that a module says it knows when it gets one that it does not; collectl goes on."""
    told = root.run(f"collectl {arguments} -i0.1 -c1", cwd)
    words = re.search(r"expected one of (.*); \w+\.ph (?:is left out|sends nothing)\n", told)
    assert words, told
    return {word.strip(" .").partition("=")[0] for word in words[1].split(",")} - {""}


@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        ("lnet.ph", "--import lnet.ph,nonsense=1"),
        ("lustre_oss.ph", "--import lustre_oss.ph,nonsense=1"),
        ("lnetcarbon.ph", "--import lnet.ph --export lnetcarbon.ph,127.0.0.1:1,nonsense=1"),
    ],
)
def test_the_readme_has_each_option(root: Root, tmp_path: Path, file: str, arguments: str) -> None:
    section = README.split("## Options")[1].split("\n## ")[0]
    table = re.split(rf"(?m)^`{re.escape(file)}`", section)[1].split("\n\n", 2)[1]
    named = {name for cell in re.findall(r"(?m)^\| (`.*?) \|", table) for name in re.findall(r"`([a-z_]+)", cell)}
    assert named == options_told(root, tmp_path, arguments)


def test_records_are_as_the_readme_says(root: Root, tmp_path: Path) -> None:
    record, example, sums = (block[0] for block in BLOCKS["The record format"])
    assert record == "KEY-NAME STATE ERRNO TIME READ_US FLAGS |TEXT"
    line = re.compile(r"(?:lnt|lsv)-\S+ (?:ok|absent|forbidden|failed|partial) \d+ \d+\.\d{6} \d+ (?:-|[a-z_,]+) \|")
    assert line.match(example)
    imports = f"--import lnet.ph,path={root.server}:lustre_oss.ph,path={root.server}"
    root.run(f"collectl {imports} -i0.1 -c2 -f {tmp_path}", tmp_path)
    text = raw_text(tmp_path)
    for module in ("lnet.ph", "lustre_oss.ph"):
        assert re.search(rf"(?m)^# lnetstat: {re.escape(module)} \S+ path=", text)
    for _, lines in samples_of(text):
        names = [one.split(" ")[0] for one in lines]
        assert {"lnt-peers", "lsv-ost.OSS.ost_io.stats", "lnt=took", "lsv=took"} <= set(names)
        of_nets = [at for at, one in enumerate(lines) if one.startswith("lnt:")]
        assert [at + 1 for at in of_nets] == [*of_nets[1:], names.index("lnt-peers")]
        assert {len(lines[at].split()) for at in of_nets} == {len(sums.split())}
        for one in lines:
            assert line.match(one) or one.startswith(("lnt:", "lnt=took ", "lsv=took ")), one


# ---- the service ----


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline_s = time.monotonic() + END_S
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def test_the_sample_of_collectl_conf_is_what_the_readme_shows() -> None:
    (line,) = (line for line in CONF.splitlines() if not line.startswith("#"))
    assert [block[0] for block in BLOCKS["As a service"] if block[0].startswith("DaemonCommands")] == [line]


def test_the_service_does_what_collectl_conf_says(root: Root, tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root: a daemon's process id is kept in /run")
    conf, name = tmp_path / "collectl.conf", f"lnetstat{os.getpid()}"
    packaged = re.sub(r"(?m)^DaemonCommands.*\n", "", Path("/etc/collectl.conf").read_text())
    ours = (
        root.here(CONF)
        .replace("/lnet.ph,", f"/lnet.ph,path={root.server},")
        .replace("/lustre_oss.ph ", f"/lustre_oss.ph,path={root.server} ")
    )
    conf.write_text(packaged + ours.replace(f",{root.store.destination}", f",{root.store.destination},host=service"))
    before = set(root.logs.glob("*.raw.gz"))
    root.run(f"collectl -C {conf} -D --pname {name}", tmp_path)
    pid_file = Path(f"/run/collectl-{name}.pid")
    wait_until(lambda: pid_file.exists() and pid_file.read_text().strip(), "no process id")
    pid = int(pid_file.read_text())
    try:
        assert root.store.settled("service", 200)
    finally:
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not is_running(pid), "the daemon goes on")
    (raw,) = set(root.logs.glob("*.raw.gz")) - before
    text = gzip.decompress(raw.read_bytes()).decode()
    assert root.here("DaemonOpts: -f /var/log/collectl -r00:00,7 -m -F60 -i1 -sc") in text
    seconds = [stamp_ms // 1000 for stamp_ms, lines in samples_of(text) if any(line.startswith("lnt-peers ok ") for line in lines)]
    assert {path.partition(".")[0] for path, second in root.store.points("service") if second in seconds} >= {"peers", "counters"}
    (log,) = (line for line in commands_in("As a service") if line.startswith("cat "))
    told = root.run(log, tmp_path)
    assert "Beginning execution" in told
    assert "lnetcarbon.ph: carbon" in told
