"""Every fault of bench/soak/node_lateness.py once, for a few samples: each sample is taken, and what is wrong is said once.

How late samples are is measured there, not here: a busy computer would make a test of it lie.
"""

import os

import pytest

from bench.soak import node_lateness
from bench.soak.node_lateness import CASES, WARM_UP, measure

SAMPLES = 10
TOLD = {
    "none": [],
    "a file hangs": ["peers: hangs"],
    "the recording's disk is full": ["ticks are being lost", "10 ticks could not be written"],
    "Carbon hangs": ["connected"],
    "the log's reader goes": [],
}


@pytest.mark.skipif(os.geteuid() != 0, reason="FUSE and tmpfs are mounted by root only")
@pytest.mark.parametrize("fault", CASES)
def test_a_fault_costs_no_sample_and_is_told_once(fault, tmp_path, monkeypatch):
    monkeypatch.setattr(node_lateness, "INTERVAL_S", 0.2)
    try:
        seen = measure(fault, tmp_path, SAMPLES)
    except PermissionError as error:
        pytest.skip(str(error))
    assert seen.samples == (0 if "disk" in fault else SAMPLES - WARM_UP)
    assert [part in line for part, line in zip(TOLD[fault], seen.lines, strict=True)] == [True] * len(TOLD[fault]), seen.lines
