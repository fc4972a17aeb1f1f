"""Settings of graphite-web, and what graphite-web 1.1.10 needs to run on Python 3.11. Named by GRAPHITE_SETTINGS_MODULE."""

import importlib
import inspect
import os
import site
import sys
import sysconfig
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


def _getargspec(function: Callable[..., Any]) -> tuple[list[str], str | None, str | None, tuple[Any, ...] | None]:
    """Stand in for inspect.getargspec, which left in Python 3.11; /functions asks it."""
    found = inspect.getfullargspec(function)
    return found.args, found.varargs, found.varkw, found.defaults


def _formatargspec(args: list[str], varargs: str | None = None, varkw: str | None = None, defaults: tuple[Any, ...] | None = None) -> str:
    """Stand in for inspect.formatargspec, which left with it."""
    values = defaults or ()
    plain = len(args) - len(values)
    words = [*args[:plain], *(f"{name}={value!r}" for name, value in zip(args[plain:], values, strict=True))]
    words += [f"*{varargs}"] if varargs else []
    words += [f"**{varkw}"] if varkw else []
    return f"({', '.join(words)})"


def _no_cairo() -> types.ModuleType:
    """Return a module that lets graphite-web start without libcairo: numbers for constants, a clear error where something is drawn."""

    def draw(*_: object) -> None:
        raise RuntimeError("drawing needs libcairo.so.2 (Debian: libcairo2; Red Hat: cairo)")

    def attribute(name: str) -> object:
        return 0 if name.isupper() else draw

    module = types.ModuleType("cairocffi")
    vars(module)["__getattr__"] = attribute
    return module


def _webapp() -> str:
    """Return the folder above graphite-web's content/: outside site-packages, where exactly depends on how it was installed."""
    roots = (sysconfig.get_path("data"), sys.prefix, site.getuserbase(), "/usr/local", "/opt/graphite")
    for root in roots:
        if (Path(root) / "webapp" / "content").is_dir():
            return str(Path(root) / "webapp")
    raise RuntimeError(f"graphite-web's folder webapp/content is in none of {', '.join(roots)}: install graphite-web again")


if not hasattr(inspect, "getargspec"):
    vars(inspect).update(getargspec=_getargspec, formatargspec=_formatargspec)
try:
    importlib.import_module("cairocffi")
except OSError:  # the binding is there, the library is not: graphite-web would only expect an ImportError
    sys.modules["cairocffi"] = _no_cairo()

_FOLDER = Path(os.environ["LNETSTAT_STACK"])

SECRET_KEY = (_FOLDER / "conf" / "secret_key").read_text().strip()
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
TIME_ZONE = "UTC"
WEBAPP_DIR = _webapp()
GRAPHITE_ROOT = str(_FOLDER)
CONF_DIR = str(_FOLDER / "conf")
STORAGE_DIR = str(_FOLDER / "storage")
LOG_DIR = str(_FOLDER / "storage" / "log" / "webapp")
STATIC_ROOT = str(_FOLDER / "static")
CARBONLINK_HOSTS = [os.environ["LNETSTAT_STACK_QUERY"]]
CARBONLINK_RETRY_DELAY = 1  # 15 would hide what carbon still caches for that long after its restart
FIND_CACHE_DURATION = 5
DEFAULT_CACHE_DURATION = 1
DASHBOARD_REQUIRE_AUTHENTICATION = True
ENFORCE_INPUT_VALIDATION = True
