#!/usr/bin/env python3
"""Build the package for nodes: `python packaging/build.py deb|rpm|rpm-el [--to DIR]`. docs/install.md says how to install it.

It holds what runs on a node (agent, record, dump, tables, replay, doctor and the like), the configuration, the systemd unit, the collectl
plug-ins, the man pages and completion for shells. In place of what is left out (LEFT_OUT) stands a module that says in one line where it is
to be had.

deb     for Debian 12 and later, and its kin
rpm     for Fedora and RHEL 10: python3 and python3-click are the distribution's (RHEL: EPEL's)
rpm-el  for RHEL 8 and 9 and their kin: python3.11 is a package of its own there, and no repository has click for it, so this one brings the
        click of the Python that builds it

The same commit gives the same bytes: all times are SOURCE_DATE_EPOCH or the commit's. DEBFULLNAME and DEBEMAIL name the packager.
Needs click and PyYAML, and dpkg-deb or rpmbuild.
"""

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NAME = "lnetstat-node"
SUMMARY = "ship, record and check the LNet credits of a Lustre node"
# What needs pandas and the like, or serves those who look at data: packages and modules, and their verbs.
LEFT_OUT = ("analysis", "dashboards", "demo", "frames", "report", "series", "simulator", "workers")
VERBS_LEFT_OUT = ("analyze", "compare", "dashboards", "report", "simulate", "stack", "sweep", "watch")
STAND_IN = '''"""Not in the package for nodes."""

from lnetstat.errors import LnetstatError

raise LnetstatError("not in the package for nodes. Where you look at recordings: pip install 'lnetstat[all]'")
'''
ONLY_SCHEMAS = '''"""In the package for nodes only the storage schemas: the doctor compares a site's own with them."""\n'''
PLUGINS = ("lnet.ph", "lustre_oss.ph", "lnetcarbon.ph")
LIBRARY = Path("usr/share/lnetstat")
DOCUMENTS = Path("usr/share/doc") / NAME
CONFIGURATION = Path("etc/lnetstat/lnetstat.toml")
UNIT = Path("usr/lib/systemd/system/lnetstat-agent.service")


class BuildError(Exception):
    """The package cannot be built: one line, with what to do."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the package for nodes.")
    parser.add_argument("kind", choices=("deb", "rpm", "rpm-el"))
    parser.add_argument("--to", default="build", metavar="DIR", type=Path, help="where the package goes (default: build)")
    options = parser.parse_args(arguments)
    os.umask(0o022)  # the same modes whoever builds
    try:
        options.to.mkdir(parents=True, exist_ok=True)
        built = (build_deb if options.kind == "deb" else build_rpm)(options.to.resolve(), options.kind)
    except (BuildError, OSError) as error:
        sys.stderr.write(f"packaging/build.py: {error}\n")
        return 3
    sys.stdout.write(f"{built}\n")
    return 0


def build_deb(folder: Path, kind: str = "deb") -> Path:
    """Build the .deb in `folder` and return its path."""
    _need("dpkg-deb", "apt-get install dpkg")
    with tempfile.TemporaryDirectory() as scratch:
        tree = stage(Path(scratch) / "tree", "/usr/bin/python3")
        _complete(tree, "zsh", "usr/share/zsh/vendor-completions/_lnetstat")
        _write(tree / DOCUMENTS / "copyright", (HERE / "debian" / "copyright").read_text())
        _zip(tree / DOCUMENTS / "changelog.gz", _debian_changelog())
        _write(tree / "usr/share/lintian/overrides" / NAME, (HERE / "debian" / "lintian-overrides").read_text())
        files = [path for path in sorted(tree.rglob("*")) if path.is_file()]
        size_kib = sum(-(-path.stat().st_size // 1024) for path in files) + sum(path.is_dir() for path in tree.rglob("*"))
        control = (HERE / "debian" / "control").read_text().format(name=NAME, version=version(), packager=packager(), size_kib=size_kib)
        sums = "".join(f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(tree)}\n" for path in files)
        _write(tree / "DEBIAN" / "control", control)
        _write(tree / "DEBIAN" / "md5sums", sums.replace(f"{_line_of(sums, CONFIGURATION)}\n", ""))
        _write(tree / "DEBIAN" / "conffiles", f"/{CONFIGURATION}\n")
        for script in ("postinst", "prerm", "postrm"):
            _write(tree / "DEBIAN" / script, (HERE / "debian" / script).read_text(), 0o755)
        _set_times(tree)
        package = folder / f"{NAME}_{version()}_all.deb"
        _run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(tree), str(package))
    return package


def build_rpm(folder: Path, kind: str) -> Path:
    """Build the .rpm in `folder` and return its path."""
    _need("rpmbuild", "apt-get install rpm, or dnf install rpm-build")
    with tempfile.TemporaryDirectory() as scratch:
        python = "/usr/bin/python3.11" if kind == "rpm-el" else "/usr/bin/python3"
        tree = stage(Path(scratch) / "tree", python)
        _complete(tree, "zsh", "usr/share/zsh/site-functions/_lnetstat")
        if kind == "rpm-el":
            _bring_click(tree)
        shutil.copy(ROOT / "LICENSE", scratch)
        shutil.copy(ROOT / "CHANGELOG.md", scratch)
        release = "1.el" if kind == "rpm-el" else "1"
        changed = time.strftime("%a %b %d %Y", time.gmtime(epoch()))
        changelog = f"* {changed} {packager()} - {version()}-{release}\n" + "".join(
            f"- {change.replace('%', '%%')}\n" for change in changes()
        )
        _write(Path(scratch) / "changelog", changelog)
        _set_times(Path(scratch))
        defined = {
            "_topdir": scratch,
            "staged": tree,
            "name_": NAME,
            "version_": version(),
            "release_": release,
            "summary_": SUMMARY.capitalize(),
            "packager_": packager(),
            "python_": python,
            "bundled_click": metadata.version("click") if kind == "rpm-el" else "",
            "library": f"/{LIBRARY}",
            "unit": UNIT.name,
            "_buildhost": "localhost",
            "use_source_date_epoch_as_buildtime": 1,
            "clamp_mtime_to_source_date_epoch": 1,
            "source_date_epoch_from_changelog": 0,
        }
        words = [word for name, value in defined.items() if value != "" for word in ("--define", f"{name} {value}")]
        _run("rpmbuild", "--quiet", "-bb", *words, str(HERE / "rpm" / f"{NAME}.spec"))
        built = next((Path(scratch) / "RPMS" / "noarch").glob("*.rpm"))
        return Path(shutil.copy(built, folder / built.name))


# ---- the tree, the same for every kind ----


def stage(tree: Path, python: str) -> Path:
    """Lay all files out below `tree` as they are on a node, for the interpreter `python`; return `tree`."""
    package = tree / LIBRARY / "lnetstat"
    shutil.copytree(ROOT / "lnetstat", package, ignore=shutil.ignore_patterns("__pycache__", "py.typed"))
    for name in (*LEFT_OUT, *(f"cli/{verb}" for verb in VERBS_LEFT_OUT)):
        _leave_out(package / name)
    _keep_schemas(package / "stack")
    # Each page of man is written by the commands as they are in the package: verbs that cannot run on a node get none.
    day = time.strftime("%Y-%m-%d", time.gmtime(epoch()))
    _write(tree / CONFIGURATION, configuration())
    _run_staged(tree, "lnetstat.cli._man", str(tree / "usr/share/man"), "--sample", str(tree / CONFIGURATION), "--date", day)
    for page in list((tree / "usr/share/man").rglob("*.*")):
        _zip(page.with_name(f"{page.name}.gz"), page.read_text())
        page.unlink()
    _complete(tree, "bash", "usr/share/bash-completion/completions/lnetstat")
    _complete(tree, "fish", "usr/share/fish/vendor_completions.d/lnetstat.fish")
    _write(tree / "usr/bin/lnetstat", (HERE / "lnetstat").read_text().replace("/usr/bin/python3", python), 0o755)
    _write(tree / UNIT, (ROOT / "collectors/systemd" / UNIT.name).read_text())
    for plugin in PLUGINS:
        _write(tree / "usr/share/collectl" / plugin, (ROOT / "collectors/collectl" / plugin).read_text())
    _write(tree / DOCUMENTS / "examples/collectl.conf", (ROOT / "collectors/collectl/collectl.conf.sample").read_text())
    for path in tree.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    return tree


def _complete(tree: Path, shell: str, path: str) -> None:
    _write(tree / path, _run_staged(tree, "lnetstat", "completion", shell))


def _leave_out(path: Path) -> None:
    """Put a stand-in where a package or module was, if it was there."""
    if path.is_dir():
        shutil.rmtree(path)
        _write(path / "__init__.py", STAND_IN)
    elif path.with_suffix(".py").exists():
        _write(path.with_suffix(".py"), STAND_IN)


def _keep_schemas(stack: Path) -> None:
    for path in stack.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "schemas.py":
            path.unlink()
    _write(stack / "__init__.py", ONLY_SCHEMAS)


def configuration() -> str:
    """Return the sample configuration without a destination: a node that was not told where to send sends nothing."""
    sample = (ROOT / "collectors/lnetstat.toml").read_text()
    text, count = re.subn(r'(?m)^to = \[".*"\]$', '# to = ["graphite.example.org:2003"]', sample)
    if count != 1:
        raise BuildError("collectors/lnetstat.toml: expected one line `to = [...]`, the destination that a package must not have")
    return text


def _bring_click(tree: Path) -> None:
    """Copy the click of this Python, with its licence: pure Python, no dependencies."""
    distribution = metadata.distribution("click")
    for file in distribution.files or ():
        if file.suffix == ".py" or file.name.startswith("LICENSE"):
            into = tree / LIBRARY / (file if file.suffix == ".py" else Path("click") / file.name)
            _write(into, Path(str(distribution.locate_file(file))).read_text(encoding="utf-8"))


# ---- who, what, when ----


def version() -> str:
    """Return lnetstat's version, without importing it."""
    return re.search(r'__version__ = "(.+)"', (ROOT / "lnetstat/__init__.py").read_text())[1]  # type: ignore[index]


def packager() -> str:
    return f"{os.environ.get('DEBFULLNAME', 'lnetstat')} <{os.environ.get('DEBEMAIL', 'root@localhost')}>"


def epoch() -> int:
    """Return the time that everything in the package has, in seconds."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        done = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True)
        given = done.stdout.strip()
    if not given.isdecimal():
        raise BuildError("no time for the package: this is no git clone, so set SOURCE_DATE_EPOCH to seconds since 1970")
    return int(given)


def changes() -> list[str]:
    """Return what CHANGELOG.md says of this version, each change in one line."""
    parts = re.split(r"(?m)^## (\S+).*$", (ROOT / "CHANGELOG.md").read_text())
    said = dict(zip(parts[1::2], parts[2::2], strict=True)).get(version())
    if said is None:
        raise BuildError(f"CHANGELOG.md: no section `## {version()}`")
    return [" ".join(change.split()) for change in re.split(r"(?m)^- ", said)[1:]]


def _debian_changelog() -> str:
    stamp = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch()))
    lines = "".join(
        textwrap.fill(change, 78, initial_indent="  * ", subsequent_indent="    ", break_on_hyphens=False) + "\n" for change in changes()
    )
    return f"{NAME} ({version()}) unstable; urgency=medium\n\n{lines}\n -- {packager()}  {stamp}\n"


# ---- small ones ----


def _line_of(sums: str, path: Path) -> str:
    return next(line for line in sums.splitlines() if line.endswith(f"  {path}"))


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def _zip(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _set_times(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else path.stat().st_mode)
        os.utime(path, (epoch(), epoch()))


def _need(tool: str, remedy: str) -> None:
    if shutil.which(tool) is None:
        raise BuildError(f"{tool} is not here: {remedy}")


def _run_staged(tree: Path, module: str, *words: str) -> str:
    """Run a module as it is in the package, not as it is here."""
    return _run(sys.executable, "-B", "-m", module, *words, PYTHONPATH=str(tree / LIBRARY), PYTHONSAFEPATH="1")


def _run(*command: str, **environment: str) -> str:
    """Run a command to its end and return what it printed."""
    surroundings = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), "LC_ALL": "C.UTF-8", **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise BuildError(f"{Path(command[0]).name} failed with {done.returncode}:\n{said}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
