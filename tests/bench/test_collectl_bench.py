"""The bench of the collectl plug-ins runs, in a short form, and gives figures; how good they are is for `make bench` to say."""

import math
import shutil
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.skipif(not shutil.which("collectl"), reason="collectl is missing (apt-get install collectl)")
def test_the_bench_gives_named_figures_and_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_collectl

    figures = bench_collectl.run(scale=0.02)
    assert {"lnet.ph", "lnetcarbon.ph"} <= {words.split()[0].rstrip(",") for words, *_ in figures}
    for words, value, target, better in figures:
        assert words
        assert math.isfinite(value), "of so short a run a difference may be none"
        assert target > 0
        assert better in ("<=", ">=")
    table = bench_collectl.page(figures).splitlines()
    assert len(table) == 2 + len(figures)
    assert len({line.count("|") for line in table}) == 1
    sys.modules.pop("bench_collectl")


def test_without_collectl_there_are_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_collectl

    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert bench_collectl.run() == []
