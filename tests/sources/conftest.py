"""A file system with the read(2) behaviour of LNet's tables, for the tests that need the real thing."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def lnetfs_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the built file system; skips, with the reason, where it cannot be built or mounted."""
    for tool in ("cc", "pkg-config", "fusermount3"):
        if not shutil.which(tool):
            pytest.skip(f"no FUSE test: {tool} is missing (apt-get install gcc pkg-config fuse3 libfuse3-dev)")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True)
    if flags.returncode:
        pytest.skip("no FUSE test: libfuse3-dev is missing (apt-get install libfuse3-dev)")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no FUSE test: /dev/fuse cannot be opened")
    program = tmp_path_factory.mktemp("lnetfs") / "lnetfs"
    source = REPO / "bench" / "collect" / "lnetfs.c"
    subprocess.run(["cc", "-O2", "-o", program, source, *flags.stdout.split()], check=True)
    return str(program)


@pytest.fixture
def mount(lnetfs_program: str, tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Return mount(text, stale_row, header_lines, after_write) -> folder.

    A file called *hang* hangs while tmp_path/hang exists; tmp_path/short lists the reads of less than 4 KiB.
    """
    mounted: list[Path] = []

    def mount_text(text: str, stale_row: int = -1, header_lines: int = 1, after_write: str | None = None) -> Path:
        source = tmp_path / f"served{len(mounted)}"
        source.write_text(text)
        if after_write is not None:
            Path(f"{source}.reset").write_text(after_write)
        folder = tmp_path / f"mnt{len(mounted)}"
        folder.mkdir()
        argv = [lnetfs_program, str(source), str(stale_row), str(header_lines), str(folder)]
        switches = {"LNETFS_HANG": str(tmp_path / "hang"), "LNETFS_SHORT": str(tmp_path / "short")}
        done = subprocess.run(argv, env={**os.environ, **switches}, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            pytest.skip(f"no FUSE test: mounting is not allowed here: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield mount_text
    (tmp_path / "hang").unlink(missing_ok=True)
    for folder in mounted:
        subprocess.run(["fusermount3", "-u", "-z", folder], check=True)
