"""The bench of the live view runs, in a short form: every figure is there, and the first screen comes before textual does."""

import importlib
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    pytest.importorskip("textual", reason="the live view needs the extra [tui]")
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("bench_top")
    sys.modules.pop("bench_top")


def test_each_figure_of_top_is_measured(bench):
    figures = bench.run(scale=0.02)
    assert all(value > 0 and target > 0 and better == "<=" for _, value, target, better in figures)
    first, keys = (value for words, value, *_ in figures if "until" in words)
    assert 1 < first < keys
