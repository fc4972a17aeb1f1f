"""The view, imported without what it never uses. That is a sixth of its start: TLS for asyncio, and textual's command palette, whose
fields, lists and trees take longer to import than all that the view shows."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from lnetstat.top.view import Top


class _Unused(ModuleType):
    """Stands where a module would, and has an empty class for each name that is asked of it."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def view() -> "type[Top]":
    """Return the view's class; where a version of textual cannot do without the palette, it is imported whole."""
    known = set(sys.modules)
    left_out = {"ssl": cast(ModuleType, None), "textual.command": _Unused("textual.command")}  # None: asyncio goes on without
    left_out = {name: module for name, module in left_out.items() if name not in known}
    sys.modules.update(left_out)
    try:
        from lnetstat.top.view import Top
    except (ImportError, AttributeError, TypeError):
        for name in set(sys.modules) - known:
            if name.startswith(("textual", "lnetstat.top.")):
                del sys.modules[name]
    finally:
        for name in left_out:  # who asks from here on gets the real ones
            sys.modules.pop(name, None)
    from lnetstat.top.view import Top

    return Top
