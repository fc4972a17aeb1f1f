"""Every kind of package, built once; the .deb and the .rpm twice, in different surroundings."""

import contextlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.packaging.machine import Machine, why_not

BUILD = Path(__file__).parents[2] / "packaging" / "build.py"
EPOCH = "1767323045"  # 2026-01-02T03:04:05Z


class Packages(NamedTuple):
    """Paths of the packages; `again` are the .deb and the .rpm, built a second time."""

    folder: Path
    deb: Path
    rpm: Path
    rpm_el: Path
    again: tuple[Path, Path]


def build(kind, folder, **environment):
    surroundings = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "DEBFULLNAME": "Storage Group", "DEBEMAIL": "storage@lustre.site.org"}
    command = [sys.executable, str(BUILD), kind, "--to", str(folder)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**surroundings, **environment}, umask=0o077 if environment else 0o022
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    for tool in ("dpkg-deb", "rpmbuild"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} here (Debian: apt-get install dpkg rpm)")
    folder = tmp_path_factory.mktemp("packages")
    other = {"TZ": "Pacific/Auckland", "LC_ALL": "C", "HOME": "/nonexistent"}
    with ThreadPoolExecutor(2) as pool:
        again = [pool.submit(build, kind, folder / "again", **other) for kind in ("deb", "rpm")]
        first = list(pool.map(lambda kind: build(kind, folder), ("deb", "rpm", "rpm-el")))
    return Packages(folder, *first, tuple(job.result() for job in again))


@pytest.fixture(scope="session")
def new_machine(packages, tmp_path_factory):
    """Return a function that makes a machine without any of our packages; /mnt has them. It ends with the tests."""
    if why := why_not():
        pytest.skip(why)
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(contextlib.closing(Machine(tmp_path_factory.mktemp("machine") / "layers", packages.folder)))
