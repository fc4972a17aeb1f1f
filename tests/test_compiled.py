"""What is compiled is kept in the user's cache folder, belongs to one state of the sources, and is made anew where it is damaged."""

from pathlib import Path

import pytest

from lnetstat import compiled


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a source file; the user's cache is a folder beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "source.py"
    path.write_text("one = 1\n")
    return path


def folder_for(source: Path) -> Path:
    folder = compiled.kept("code", [str(source)], lambda folder: folder)
    assert folder
    return folder


def test_code_is_kept_for_one_state_of_its_sources(source: Path, tmp_path: Path) -> None:
    first = folder_for(source)
    assert first.is_relative_to(tmp_path / "cache")
    assert folder_for(source) == first
    source.write_text("one = 2\n")
    assert folder_for(source) != first


def test_damaged_code_is_thrown_away_and_made_anew(source: Path) -> None:
    code = folder_for(source) / "code"
    code.write_text("damaged")

    def make(folder: Path | None) -> str:
        if code.exists():
            raise EOFError("ran out of input")
        assert folder == code.parent
        return "made"

    assert compiled.kept("code", [str(source)], make) == "made"


def test_where_nothing_can_be_kept_code_is_made_each_time(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(source))  # a file, no folder
    assert compiled.kept("code", [str(source)], lambda folder: folder) is None


def test_a_fault_that_is_not_of_the_cache_is_told(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(folder: Path | None) -> None:
        raise ValueError("cannot be compiled")

    with pytest.raises(ValueError, match="cannot be compiled"):
        compiled.kept("code", [str(source)], make)
    monkeypatch.setenv("XDG_CACHE_HOME", str(source))
    with pytest.raises(ValueError, match="cannot be compiled"):
        compiled.kept("code", [str(source)], make)
