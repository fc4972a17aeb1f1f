"""Plain functions compiled by numba, where it is installed; what was compiled is kept in the user's cache folder."""

import functools
import hashlib
import importlib
import importlib.util
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")
Function = TypeVar("Function", bound=Callable[..., object])


@functools.cache
def available() -> bool:
    """Tell whether numba is installed and not told to compile nothing (NUMBA_DISABLE_JIT)."""
    return importlib.util.find_spec("numba") is not None and not importlib.import_module("numba").config.DISABLE_JIT


def kept(name: str, sources: Sequence[str], make: Callable[[Path | None], Made]) -> Made:
    """Return make(folder), where folder keeps compiled code of this state of the source files; None where nothing can be written.

    Code that is damaged there is thrown away and made anew: it is only a cache. `make` must call what it compiled, so that what fails
    fails here.
    """
    folder = _cache_folder(name, sources)
    try:
        return make(folder)
    except (OSError, EOFError, ValueError, pickle.UnpicklingError):  # a damaged cache or a full disk
        if folder is None:
            raise
        shutil.rmtree(folder, ignore_errors=True)
    try:
        return make(_cache_folder(name, sources))
    except OSError:
        return make(None)


def outermost(function: Function, folder: Path | None) -> Function:
    """Compile a function that Python calls; it is kept in `folder` and contains all that it calls."""
    numba = importlib.import_module("numba")
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        return numba.njit(function, cache=folder is not None, error_model="numpy")  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def _cache_folder(name: str, sources: Sequence[str]) -> Path | None:
    """Where compiled code is kept; None where nothing can be written.

    It belongs to one state of all the sources: numba itself looks only at the file of the outermost function.
    """
    digest = hashlib.sha256()
    for source in sources:
        digest.update(Path(source).read_bytes())
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lnetstat" / f"{name}-{digest.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no right to write, or nobody's home is known
        return None
    return folder if os.access(folder, os.W_OK) else None
