"""Compiled code is kept on disk, and a run never fails for what is wrong there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba", reason="numba is not installed: nothing is compiled")

OWN_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
RUN = "from lnetstat.simulator.kernel import jit; print(jit.advance().__name__)"


def compile_with(cache: Path = OWN_CACHE) -> str:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True).stdout


def test_damaged_compiled_code_is_made_anew(tmp_path: Path) -> None:
    compile_with()  # as a rule it is there: other tests need it too
    shutil.copytree(OWN_CACHE / "lnetstat", tmp_path / "lnetstat")
    kept = [path for path in tmp_path.glob("lnetstat/kernel-*/**/*") if path.suffix in (".nbi", ".nbc")]
    assert kept
    for number, path in enumerate(kept):
        path.write_bytes(path.read_bytes()[: 100 * (number % 2)])
    assert compile_with(tmp_path)
    assert all(path.stat().st_size > 100 for path in tmp_path.rglob("*.nb?"))


def test_where_numba_compiles_nothing_the_plain_engine_runs() -> None:
    run = "from lnetstat.simulator.kernel import jit; print(jit.available())"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    assert subprocess.run([sys.executable, "-c", run], env=environment, capture_output=True, text=True, check=True).stdout == "False\n"
