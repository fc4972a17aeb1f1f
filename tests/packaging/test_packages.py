"""The packages for nodes are built, looked through, installed on a real Debian file system, run there, upgraded and purged.

The .rpm is installed by rpm itself, on the same file system: --nodeps, since what it requires has other distributions' names.
"""

import ast
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from lnetstat import __version__
from lnetstat.cli import lnetstat
from tests.agent_process import FILES, PATIENCE_S, SAMPLES
from tests.packaging.conftest import BUILD, build

ROOT = BUILD.parents[1]
UNIT = "lnetstat-agent.service"
CONFIG = "/etc/lnetstat/lnetstat.toml"
ELSEWHERE = ("analyze", "compare", "dashboards", "report", "simulate", "stack", "sweep", "watch")
# A new verb runs on nodes, or belongs into VERBS_LEFT_OUT of packaging/build.py and here.
NODE_VERBS = [verb for verb in lnetstat.list_commands(None) if verb not in ELSEWHERE]
NOT_HERE = "lnetstat: not in the package for nodes. Where you look at recordings: pip install 'lnetstat[all]'\n"


def files_of_deb(package):
    listed = subprocess.run(["dpkg-deb", "-c", str(package)], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=5) for line in listed.splitlines()]
    return {row[5].removeprefix("."): row for row in rows if not row[5].endswith("/")}


def files_of_rpm(package):
    listed = subprocess.run(
        ["rpm", "-qp", "--qf", "[%{FILENAMES} %{FILEMODES:perms}\n]", str(package)], capture_output=True, text=True, check=True
    )
    return {name for name, modes in (line.split() for line in listed.stdout.splitlines()) if not modes.startswith("d")}


# ---- what is in them ----


def test_the_same_source_gives_the_same_bytes(packages):
    assert packages.again[0].read_bytes() == packages.deb.read_bytes()
    assert packages.again[1].read_bytes() == packages.rpm.read_bytes()
    assert packages.deb.name == f"lnetstat-node_{__version__}_all.deb"


def test_the_deb_has_the_node_side_and_nothing_of_the_other(packages):
    files = files_of_deb(packages.deb)
    for name in (
        "/usr/bin/lnetstat",
        CONFIG,
        f"/usr/lib/systemd/system/{UNIT}",
        "/usr/share/collectl/lnet.ph",
        "/usr/share/collectl/lnetcarbon.ph",
        "/usr/share/collectl/lustre_oss.ph",
        "/usr/share/lnetstat/lnetstat/agent/process.py",
        "/usr/share/man/man1/lnetstat-agent.1.gz",
        "/usr/share/man/man5/lnetstat.toml.5.gz",
        "/usr/share/man/man8/lnetstat-agent.service.8.gz",
        "/usr/share/doc/lnetstat-node/changelog.gz",
        "/usr/share/doc/lnetstat-node/copyright",
    ):
        assert name in files, name
    assert {row[1] for row in files.values()} == {"root/root"}
    assert {row[0] for name, row in files.items() if not name.startswith("/usr/bin/")} == {"-rw-r--r--"}
    library = "/usr/share/lnetstat/lnetstat/"
    for left_out in ("analysis", "frames", "report", "series", "simulator", "workers"):
        assert [name for name in files if name.startswith(f"{library}{left_out}")] == [f"{library}{left_out}/__init__.py"]
    assert "/usr/share/man/man1/lnetstat-analyze.1.gz" not in files
    assert not [name for name in files if "__pycache__" in name or name.endswith(".pyc")]


def test_both_rpms_have_what_the_deb_has(packages):
    ours = {name for name in files_of_deb(packages.deb) if not name.startswith(("/usr/share/doc/", "/usr/share/lintian/"))}
    ours = {name.replace("/zsh/vendor-completions/", "/zsh/site-functions/") for name in ours}
    assert "/usr/share/zsh/site-functions/_lnetstat" in ours
    apart = ("/usr/share/doc/", "/usr/share/licenses/")
    assert {name for name in files_of_rpm(packages.rpm) if not name.startswith(apart)} == ours
    more = {name for name in files_of_rpm(packages.rpm_el) if not name.startswith(apart)} - ours
    assert "/usr/share/lnetstat/click/core.py" in more
    assert {name for name in more if not name.startswith("/usr/share/lnetstat/click/")} == set()
    assert "/usr/share/lnetstat/click/LICENSE.txt" in more


def test_the_packaged_configuration_is_the_sample_without_a_destination(packages, tmp_path):
    subprocess.run(["dpkg-deb", "-x", str(packages.deb), str(tmp_path)], check=True)
    packaged = (tmp_path / CONFIG.lstrip("/")).read_text().splitlines()
    sample = (ROOT / "collectors" / "lnetstat.toml").read_text().splitlines()
    changed = [(here, there) for here, there in zip(sample, packaged, strict=True) if here != there]
    assert [there for _, there in changed] == ['# to = ["graphite.example.org:2003"]']


def test_what_the_packaged_modules_import_is_in_the_package(packages, tmp_path):
    subprocess.run(["dpkg-deb", "-x", str(packages.deb), str(tmp_path)], check=True)
    library = tmp_path / "usr/share/lnetstat"
    for path in library.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lnetstat"):
                place = library / node.module.replace(".", "/")
                left_out = (library / "/".join(node.module.split(".")[:2]) / "__init__.py", library / f"{place}.py")
                stands_in = any(file.exists() and "not in the package for nodes" in file.read_text() for file in left_out)
                assert stands_in or place.with_suffix(".py").exists() or (place / "__init__.py").exists(), f"{path}: {node.module}"


def test_lintian_finds_no_error(packages):
    if not shutil.which("lintian"):
        pytest.skip("no lintian here (apt-get install lintian)")
    command = ["lintian", "--fail-on", "error,warning", "--tag-display-limit", "0", str(packages.deb)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S * 4)
    assert (done.returncode, done.stdout) == (0, "")


def test_rpmlint_finds_no_error(packages):
    if not shutil.which("rpmlint"):
        pytest.skip("no rpmlint here (apt-get install rpmlint)")
    command = ["rpmlint", "-c", str(ROOT / "packaging/rpm/rpmlint.toml"), str(packages.rpm), str(packages.rpm_el)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S * 4)
    assert "0 errors, 0 warnings" in done.stdout, done.stdout
    assert done.returncode == 0


def test_the_rpms_require_what_their_distributions_have(packages):
    def required(package):
        return subprocess.run(["rpm", "-qpR", str(package)], capture_output=True, text=True, check=True).stdout.splitlines()

    assert {"python3 >= 3.11", "python3-click >= 8.1", "python3-pyyaml"} <= set(required(packages.rpm))
    assert {"python3.11", "python3.11-pyyaml"} <= set(required(packages.rpm_el))
    assert not [name for name in required(packages.rpm_el) if "click" in name or name.startswith("python3 ")]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"SOURCE_DATE_EPOCH": "yesterday"}, "set SOURCE_DATE_EPOCH to seconds since 1970"),
        ({"PATH": "/nonexistent"}, "dpkg-deb is not here: apt-get install dpkg"),
    ],
)
def test_what_keeps_a_package_from_being_built_is_one_line(given, words, tmp_path):
    with pytest.raises(AssertionError, match=words) as error:
        build("deb", tmp_path, **given)
    assert re.search(r"(?m)^packaging/build.py: ", str(error.value))
    assert "Traceback" not in str(error.value)


def test_the_install_page_calls_the_packages_by_their_names(packages):
    page = (ROOT / "docs" / "install.md").read_text()
    built = {packages.deb.name, packages.rpm.name, packages.rpm_el.name}
    assert set(re.findall(r"/tmp/(\S+\.(?:deb|rpm))", page)) == built
    shown = subprocess.run(["dpkg-deb", "-f", str(packages.deb), "Package"], capture_output=True, text=True, check=True)
    assert set(re.findall(r"(?:apt-get|dnf) (?:remove|purge) (\S+)", page)) == {shown.stdout.strip()}


# ---- the .deb on a machine ----


class Receiver:
    """A Carbon as the agent sees it: takes lines over TCP."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(PATIENCE_S)
        self.port = self._socket.getsockname()[1]

    def lines(self, count):
        with self._socket:
            connection, _ = self._socket.accept()
        with connection, connection.makefile() as stream:
            connection.settimeout(PATIENCE_S)
            return [next(stream) for _ in range(count)]


@pytest.fixture(scope="module")
def tree(packages):
    """A router's tables, at /mnt/tree on the machine."""
    folder = packages.folder / "tree"
    folder.mkdir()
    for name, sample in FILES.items():
        shutil.copy(SAMPLES / f"{sample}.txt", folder / name)
    return folder


@pytest.fixture(scope="module")
def installed(new_machine, packages):
    """A machine with the .deb, and what dpkg said."""
    machine = new_machine()
    return machine, machine.run("dpkg", "--install", f"/mnt/{packages.deb.name}")


def test_without_a_destination_nothing_is_enabled_or_started_and_one_is_told_how(installed):
    machine, said = installed
    assert f"the agent is not started yet: set carbon.to in {CONFIG}, then: systemctl enable --now lnetstat-agent" in said
    assert machine.told() == []
    assert "disabled" in machine.sh(f"systemctl is-enabled {UNIT} || true")
    assert machine.run("dpkg", "--verify", "lnetstat-node") == ""


def test_every_node_verb_runs_on_the_distributions_python_and_the_others_say_where_they_are(installed):
    machine, _ = installed
    assert machine.run("lnetstat", "--version") == f"lnetstat, version {__version__}\n"
    listed = machine.run("lnetstat", "--help")
    helps = machine.sh(f"for verb in {' '.join(NODE_VERBS)}; do lnetstat $verb --help || echo FAILED $verb; done")
    assert helps.count("Usage: lnetstat ") == len(NODE_VERBS)
    assert "FAILED" not in helps
    assert machine.sh(f"for verb in {' '.join(ELSEWHERE)}; do lnetstat $verb x; done || true") == NOT_HERE * len(ELSEWHERE)
    assert machine.run("lnetstat", "analyze", "x", status=3) == NOT_HERE
    assert re.search(r"(?m)^  analyze +Not in the package for nodes$", listed)


def test_verbs_do_their_work_there(installed, tree):
    machine, _ = installed
    table = machine.run("lnetstat", "dump", "/mnt/tree/peers")
    assert len(table.splitlines()) > 3
    machine.sh("cd /tmp && lnetstat record -o rec --root /mnt/tree --host rtr -n 2 -i 50ms && lnetstat replay rec --to back")
    assert machine.run("cat", "/tmp/back/peers") == (tree / "peers").read_text()
    assert machine.run("lnetstat", "dump", "/tmp/rec", "--format", "parquet", "--to", "/tmp/out", status=3) == NOT_HERE
    assert "whisper files" in machine.sh("lnetstat doctor --root /mnt/tree --nodes 600 || true")


def test_the_agent_runs_as_the_unit_starts_it(installed, tree):
    machine, _ = installed
    receiver = Receiver()
    changes = {"to": f'["127.0.0.1:{receiver.port}"]', "host": '"rtr"', "root": '"/mnt/tree"'}
    edits = " ".join(f"-e 's|^# {key} = .*|{key} = {value}|'" for key, value in changes.items())
    machine.sh(f"sed {edits} {CONFIG} >/tmp/agent.toml && mkdir -p /run/lnetstat")
    assert machine.run("lnetstat", "agent", "--check-config", "/tmp/agent.toml") == "/tmp/agent.toml: right\n"
    unit = machine.run("cat", f"/usr/lib/systemd/system/{UNIT}")
    start = re.search(r"(?m)^ExecStart=(.+)$", unit)[1].replace(CONFIG, "/tmp/agent.toml")
    with subprocess.Popen(machine.command(*start.split()), stderr=subprocess.PIPE, text=True) as agent:
        lines = receiver.lines(20)
        assert machine.run("lnetstat", "agent", "--status").startswith(("OK", "WARNING"))
        agent.terminate()
        agent.communicate(timeout=PATIENCE_S)
    assert agent.returncode == 0
    assert all(re.fullmatch(r"lnet\.rtr\.\S+ \S+ \d+\n", line) for line in lines), lines


def test_systemd_takes_the_unit(installed):
    machine, _ = installed
    assert machine.sh(f"systemd-analyze verify {UNIT} 2>&1 | grep -i lnetstat || true") == ""


def test_man_finds_the_pages(installed):
    machine, _ = installed
    assert "lnetstat-agent - Ship this node" in " ".join(machine.sh("MANWIDTH=200 man lnetstat-agent").split())
    assert "simulate" in machine.sh("MANWIDTH=200 man lnetstat | grep 'Not installed here'")


def test_bash_completes_verbs_without_being_told(installed):
    machine, _ = installed
    script = "/usr/share/bash-completion/completions/lnetstat"
    asked = f". {script}; COMP_WORDS=(lnetstat doc); COMP_CWORD=1; _lnetstat_completion lnetstat; echo ${{COMPREPLY[*]}}"
    assert machine.run("bash", "-c", asked) == "doctor\n"


def test_collectl_takes_the_plugins_where_they_are(installed, tree):
    machine, _ = installed
    if not shutil.which("collectl"):
        pytest.skip("no collectl here")
    said = machine.sh("cd /tmp && collectl --import lnet.ph,path=/mnt/tree -i1 -c1 2>&1")
    assert "LNET" in said.upper()
    assert "rror" not in said


def test_an_upgrade_keeps_the_configuration_and_what_the_administrator_decided(installed, packages):
    machine, _ = installed
    machine.sh(f"sed -i 's|^# to = .*|to = [\"127.0.0.1:9\"]|' {CONFIG} && systemctl.real --root=/ enable {UNIT} && rm -f /tmp/told")
    machine.run("dpkg", "--install", f"/mnt/{packages.deb.name}")
    assert machine.told() == [f"--quiet --system restart {UNIT}"]
    assert 'to = ["127.0.0.1:9"]' in machine.run("cat", CONFIG)
    machine.sh(f"systemctl.real --root=/ disable {UNIT}")
    machine.run("dpkg", "--install", f"/mnt/{packages.deb.name}")
    assert machine.told() == []
    assert "disabled" in machine.sh(f"systemctl is-enabled {UNIT} || true")


def test_a_configuration_that_was_there_first_starts_the_agent_and_purge_leaves_nothing(new_machine, packages):
    machine = new_machine()
    machine.sh(f"mkdir -p /etc/lnetstat && printf '[carbon]\\nto = [\"127.0.0.1:9\"]\\n' >{CONFIG}")
    machine.run("dpkg", "--force-confold", "--install", f"/mnt/{packages.deb.name}")
    assert machine.told() == [f"--quiet --system start {UNIT}"]
    assert machine.sh(f"systemctl is-enabled {UNIT}") == "enabled\n"
    machine.sh("mkdir -p /var/lib/lnetstat/spool && touch /var/lib/lnetstat/spool/1")
    machine.run("dpkg", "--remove", "lnetstat-node")
    assert machine.told() == [f"stop {UNIT}"]
    kept = [name for name in machine.files() if not name.startswith(("/etc/systemd/", "/var/lib/systemd/"))]
    assert kept == [CONFIG, f"{CONFIG}.dpkg-dist", "/var/lib/lnetstat/spool/1"]
    machine.run("dpkg", "--purge", "lnetstat-node")
    assert machine.files() == []
    assert machine.sh("ls -d /etc/lnetstat /usr/share/lnetstat /var/lib/lnetstat /run/lnetstat 2>/dev/null || true") == ""


# ---- the .rpm on it ----


@pytest.mark.parametrize("kind", ["rpm", "rpm_el"])
def test_the_rpm_installs_runs_and_goes(new_machine, packages, tree, kind):
    if kind == "rpm_el" and not Path("/usr/bin/python3.11").exists():
        pytest.skip("no python3.11 here, which is what RHEL 8 and 9 have")
    package, machine = getattr(packages, kind), new_machine()
    if kind == "rpm_el":  # no repository there has click for python3.11
        machine.sh("rm -rf /usr/lib/python3/dist-packages/click")
    machine.run("rpm", "--install", "--nodeps", f"/mnt/{package.name}")
    assert machine.told() == [f"--no-reload preset {UNIT}"]
    python = machine.sh("head -1 /usr/bin/lnetstat").strip()
    assert python == ("#!/usr/bin/python3.11 -I" if kind == "rpm_el" else "#!/usr/bin/python3 -I")
    assert machine.run("lnetstat", "--version") == f"lnetstat, version {__version__}\n"
    assert "lnet.rtr.lnet_stats." in machine.run("lnetstat", "agent", "--stdout", "--root", "/mnt/tree", "--host", "rtr", "-n", "1")
    assert machine.run("lnetstat", "analyze", "x", status=3) == NOT_HERE
    assert "process.cpython-3" in machine.sh("ls /usr/share/lnetstat/lnetstat/agent/__pycache__")

    machine.sh(f"echo '# mine' >>{CONFIG}")
    machine.run("rpm", "--upgrade", "--force", "--nodeps", f"/mnt/{package.name}")
    assert machine.told() == [f"try-restart {UNIT}"]
    assert "# mine" in machine.run("cat", CONFIG)
    assert "process.cpython-3" in machine.sh("ls /usr/share/lnetstat/lnetstat/agent/__pycache__")

    machine.run("rpm", "--erase", "lnetstat-node")
    assert machine.told() == [f"--no-reload disable --now {UNIT}"]
    assert machine.files() == [f"{CONFIG}.rpmsave"]
