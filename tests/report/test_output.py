import contextlib
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lnetstat.errors import SinkError
from lnetstat.report.output import check_writable, write_whole


def test_the_file_takes_the_place_of_the_old_one_and_nothing_is_left_beside_it(tmp_path: Path):
    path = tmp_path / "report.html"
    path.write_text("old")
    write_whole(str(path), "new – ✓")
    assert path.read_text("utf-8") == "new – ✓"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_failed_write_leaves_the_old_file_and_no_debris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SinkError, match=r"report\.html: cannot be written: No space left on device"):
        write_whole(str(path), "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to("real.html")
    write_whole(str(tmp_path / "link.html"), "new")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text() == "new"


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_whole(str(pipe), "page")
    reader.join(30)
    assert got == ["page"]
    assert pipe.is_fifo()


def test_a_missing_folder_is_named_with_what_to_do(tmp_path: Path):
    with pytest.raises(SinkError, match=r"the folder .*/none does not exist: make it, or name another file"):
        check_writable(str(tmp_path / "none" / "report.html"))


def test_a_folder_is_no_file(tmp_path: Path):
    with pytest.raises(SinkError, match="is a folder: name a file in it"):
        write_whole(str(tmp_path), "x")


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Run the block as nobody where the tests are run by root, who may write everywhere."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize(("mode", "below", "words"), [(0o555, "", "no permission to write in"), (0, "deep", "Permission denied")])
def test_no_permission_is_said_to_an_ordinary_user(mode: int, below: str, words: str):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        closed = Path(folder) / "closed"
        closed.mkdir()
        Path(folder).chmod(0o755)
        closed.chmod(mode)
        with ordinary_user(), pytest.raises(SinkError, match=words):
            check_writable(str(closed / below / "report.html"))
        closed.chmod(0o700)


def test_a_file_is_no_folder(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SinkError, match="cannot be reached: Not a directory"):
        check_writable(str(tmp_path / "file" / "report.html"))
