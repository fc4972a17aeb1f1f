"""The kernel compiled by numba, where it is installed: the same functions, in one namespace of their own."""

import functools
import hashlib
import importlib
import importlib.util
import os
import pickle
import shutil
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lnetstat.simulator.kernel import client, events, health, layout, lnet, loop, o2ib, ptlrpc

MODULES = (events, o2ib, lnet, ptlrpc, client, health, loop)


def available() -> bool:
    """Tell whether numba is installed and not told to compile nothing (NUMBA_DISABLE_JIT)."""
    return importlib.util.find_spec("numba") is not None and not importlib.import_module("numba").config.DISABLE_JIT


@functools.cache
def advance() -> Callable[..., int]:
    """Return loop.advance compiled, for arrays. The first call on a machine compiles for some seconds; later ones find it on disk."""
    folder = _cache_folder(MODULES)
    try:
        return _ready(folder)
    except (OSError, EOFError, ValueError, pickle.UnpicklingError):  # a damaged cache or a full disk: it is only a cache
        if folder is None:
            raise
        shutil.rmtree(folder, ignore_errors=True)
    try:
        return _ready(_cache_folder(MODULES))
    except OSError:
        return _ready(None)


def _ready(folder: Path | None) -> Callable[..., int]:
    """Compile, or load from `folder`; and run it once on a memory without events, so that what fails fails here."""
    namespace = compile_functions(MODULES)
    namespace.update(inner=namespace["advance"], pointer=pointer())
    function = compile_outermost(types.FunctionType(_advance_arrays.__code__, namespace, "advance_arrays"), folder)
    memory = np.zeros(layout.AFTER_RINGS, dtype=np.int64)
    memory[layout.RINGS_AT : layout.AFTER_RINGS : layout.RING] = layout.NEVER
    function(memory, np.zeros(layout.EVENT, dtype=np.int64), 0, np.zeros(0, dtype=np.int64), 0)
    return function


def _advance_arrays(m: Any, h: Any, room: int, trace: Any, until: int) -> int:
    return inner(pointer(m), pointer(h), room, pointer(trace), until)  # type: ignore[call-arg, name-defined, no-any-return]  # noqa: F821


def compile_functions(modules: tuple[types.ModuleType, ...]) -> dict[str, Any]:
    """Compile the functions of the modules, each in order, into one namespace.

    They take pointers: arrays would be reference-counted at every call.
    """
    numba = importlib.import_module("numba")
    namespace: dict[str, Any] = {name: value for name, value in vars(layout).items() if isinstance(value, int)}
    namespace["__name__"] = __name__
    for module in modules:
        for name, function in vars(module).items():
            if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
                copy = types.FunctionType(function.__code__, namespace, name)
                namespace[name] = numba.njit(copy, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return namespace


def compile_outermost(function: Callable[..., int], folder: Path | None = None) -> Callable[..., int]:
    """Compile the function that Python calls; it is kept in `folder` and contains all that it calls."""
    numba = importlib.import_module("numba")
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        return numba.njit(function, cache=folder is not None, error_model="numpy")  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def pointer() -> Any:
    """A function, for compiled code only: the address of an array's first element."""
    numba_types = importlib.import_module("numba.types")
    extending = importlib.import_module("numba.extending")

    @extending.intrinsic  # type: ignore[untyped-decorator]
    def address(_context: Any, array: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, value=arguments[0]).data

        return numba_types.CPointer(array.dtype)(array), codegen

    return address


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
