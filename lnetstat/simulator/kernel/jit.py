"""The kernel compiled by numba, where it is installed: the same functions, in one namespace of their own."""

import functools
import importlib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lnetstat import compiled
from lnetstat.compiled import available
from lnetstat.simulator.kernel import client, events, health, layout, lnet, loop, o2ib, ptlrpc

MODULES = (events, o2ib, lnet, ptlrpc, client, health, loop)

__all__ = ["advance", "available", "compile_functions", "pointer"]


@functools.cache
def advance() -> Callable[..., int]:
    """Return loop.advance compiled, for arrays. The first call on a machine compiles for some seconds; later ones find it on disk."""
    return compiled.kept("kernel", [str(module.__file__) for module in (layout, *MODULES)], _ready)


def _ready(folder: Path | None) -> Callable[..., int]:
    """Compile, or load from `folder`; and run it once on a memory without events, so that what fails fails here."""
    namespace = compile_functions(MODULES)
    namespace.update(inner=namespace["advance"], pointer=pointer())
    function = compiled.outermost(types.FunctionType(_advance_arrays.__code__, namespace, "advance_arrays"), folder)
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
