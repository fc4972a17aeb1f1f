"""The benches run, in a short form, and give figures; how fast they are is for `make bench` to say."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.parametrize(
    "name", ["bench_recording", "bench_frames", "bench_node", "bench_start", "bench_simulator_text", "bench_analysis", "bench_report"]
)
def test_a_bench_gives_named_figures_with_targets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    figures = module.run(scale=0.02)
    assert figures
    for words, value, target, better in figures:
        assert words
        assert value > 0
        assert target > 0
        assert better in ("<=", ">=")
