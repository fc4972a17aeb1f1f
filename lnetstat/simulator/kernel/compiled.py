"""The kernel compiled by numba, where it is installed: the same functions, in one namespace of their own."""

import functools
import hashlib
import os
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lnetstat.simulator.kernel import client, credits, events, health, layout, loop, o2ib, ptlrpc

MODULES = (events, o2ib, credits, ptlrpc, client, health, loop)


def available() -> bool:
    """Tell whether numba can be imported."""
    try:
        import numba
    except ImportError:
        return False
    return bool(numba)


@functools.cache
def advance() -> Callable[..., int]:
    """Return loop.advance compiled. The first call on a machine compiles for some seconds; later ones find it in the user's cache."""
    return compile_functions(MODULES, "advance")


def compile_functions(modules: tuple[types.ModuleType, ...], outermost: str) -> Callable[..., int]:
    """Compile the functions of the modules, each in order, into one namespace; return the one that calls the others.

    Only that one is kept on disk: it contains the others.
    """
    import numba

    namespace: dict[str, Any] = {name: value for name, value in vars(layout).items() if isinstance(value, int)}
    namespace["__name__"] = __name__
    folder = _cache_folder(modules)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        for module in modules:
            for name, function in vars(module).items():
                if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
                    copy = types.FunctionType(function.__code__, namespace, name)
                    namespace[name] = numba.njit(copy, cache=name == outermost and folder is not None)
    finally:
        numba.config.CACHE_DIR = before
    return namespace[outermost]  # type: ignore[no-any-return]


def _cache_folder(modules: tuple[types.ModuleType, ...]) -> Path | None:
    """Where compiled code is kept; None where nothing can be written.

    It belongs to one state of all the sources: numba itself looks only at the file of the outermost function.
    """
    digest = hashlib.sha256(Path(layout.__file__).read_bytes())
    for module in modules:
        digest.update(Path(str(module.__file__)).read_bytes())
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lnetstat" / f"kernel-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
