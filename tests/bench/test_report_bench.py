"""The bench of the report sees a flood that a picture leaves out."""

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    yield importlib.import_module("bench_report")
    sys.modules.pop("bench_report")


def page(bench, seconds, hidden=()):
    """Return a page whose curve is low in every flood that is not hidden."""
    time_s = [second + 0.5 for second in range(seconds)]
    low = [bench.in_flood(second + 1) and second // bench.CYCLE_S not in hidden for second in range(seconds)]
    curve = {"x": [(bench.START_NS / bench.NS + each) * 1000 for each in time_s], "y": [2e8 if each else 1e9 for each in low]}
    data = json.dumps({"axis": {"data": [curve]}})
    return f'<script type="application/json" id="data">{data}</script>'


def test_a_flood_that_is_not_shown_is_counted(bench):
    seconds = 10 * bench.CYCLE_S
    assert bench.hidden_floods(page(bench, seconds), seconds) == 0
    assert bench.hidden_floods(page(bench, seconds, hidden=(3, 5)), seconds) == 2
