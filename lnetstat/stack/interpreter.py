"""The Python that runs the stack: ours where it can, else one of its own in the stack's folder.

carbon and graphite-web 1.1.10 cannot be built on Python 3.12 and later, and have not been tried on 3.10 and earlier.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from lnetstat.stack.errors import StackError

VERSION = (3, 11)
PROBE_TIMEOUT_S = 120.0
PROBE = """
import importlib.util, json, sys
missing = [name for name in ("carbon", "whisper", "graphite", "waitress", "whitenoise") if importlib.util.find_spec(name) is None]
try:
    import cairocffi
    draws = True
except (ImportError, OSError):
    draws = False
print(json.dumps([list(sys.version_info[:2]), missing, draws]))
"""


class Interpreter(NamedTuple):
    """A Python: its path, its version, which modules of the stack it has not, whether it can draw (libcairo)."""

    path: str
    version: tuple[int, int]
    missing: tuple[str, ...]
    draws: bool

    @property
    def runs_stack(self) -> bool:
        return self.version == VERSION and not self.missing


def interpreter_for(folder: Path, tell: Callable[[str], None]) -> Interpreter:
    """Return a Python that has carbon and graphite-web: ours, the folder's own, or one that is made there now (once, with pip)."""
    own = folder / "python" / "bin" / "python"
    for path in (sys.executable, str(own)):
        found = probe(path)
        if found is not None and found.runs_stack:
            return found
    base = next(_bases(), None)
    if base is None:
        raise StackError(
            f"the stack needs Python 3.11 (graphite-web 1.1.10 cannot be built on later ones) and this is "
            f"{sys.version_info[0]}.{sys.version_info[1]}, with no working python3.11 on PATH: "
            "install python3.11 and python3.11-venv, or run `lnetstat stack` on a machine that has them"
        )
    tell(f"making an environment for carbon and graphite-web in {folder / 'python'} with {base.path} (once; needs a package index)")
    _make_environment(base.path, folder / "python")
    found = probe(str(own))
    if found is None or not found.runs_stack:
        lacking = ", ".join(found.missing) if found else "a working Python"
        raise StackError(f"the environment in {folder / 'python'} lacks {lacking}: remove that folder and try again")
    return found


def probe(path: str) -> Interpreter | None:
    """Ask a Python what it has; None where it does not run (a shim without a version behind it, no such file)."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        answer = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, env=clean, check=True)
        version, missing, draws = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter(path, (version[0], version[1]), tuple(missing), bool(draws))


def requirements() -> list[str]:
    """Return the requirements of our extra [stack], from the one place where they are written: the package's metadata."""
    found = []
    for line in metadata.requires("lnetstat") or []:
        requirement, _, marker = line.partition(";")
        if 'extra == "stack"' in marker.replace("'", '"'):
            found.append(requirement.strip())
    return found


def _bases() -> Iterator[Interpreter]:
    """Yield every Python 3.11 that runs: ours, then those on PATH (the first may be a shim that does not)."""
    for path in (sys.executable, *(os.path.join(folder, "python3.11") for folder in os.get_exec_path())):
        if os.access(path, os.X_OK):
            found = probe(path)
            if found is not None and found.version == VERSION:
                yield found


def _make_environment(base: str, target: Path) -> None:
    python = str(target / "bin" / "python")
    _run([base, "-m", "venv", "--clear", str(target)], f"{base} cannot make an environment (Debian: install python3.11-venv)")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements()]
    _run(pip, "pip could not install carbon and graphite-web (is a package index reachable?)")


def _run(command: list[str], failure: str) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, capture_output=True, text=True, env=clean, check=False)
    if done.returncode:
        words = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise StackError(f"{failure}: {words[-1] if words else f'exit status {done.returncode}'}")
