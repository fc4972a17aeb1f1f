"""What samples look like: spacing that changes is named, and its longer steps are no gaps."""

import numpy as np
import pandas as pd
import pytest

from lnetstat.analysis import analyze_series

BEGIN = 1_700_000_000.0


def found(*steps_s):
    """Analyze a flat load whose samples come after these steps."""
    stamps = BEGIN + np.cumsum(np.concatenate(steps_s))
    value = 1e9 * (1 + 0.1 * np.random.default_rng(3).standard_normal(stamps.size))
    analysis = analyze_series(pd.DataFrame({"time": stamps, "value": value}))
    return analysis.quality[0], [each for each in analysis.findings if each.kind == "data_gap"]


def test_mixed_intervals_are_named_and_are_no_gaps():
    quality, (finding,) = found(np.full(1000, 1.0), np.full(300, 10.0), np.full(3000, 0.5))
    assert [spacing for _, spacing in quality.intervals] == [1.0, 10.0, 0.5]
    assert [begin - BEGIN for begin, _ in quality.intervals] == pytest.approx([1, 1000, 4000], abs=32 * 10)
    assert quality.gaps == ()
    assert "mixed intervals: every 1 s from" in finding.message
    assert "then every 10 s" in finding.message
    assert "then every 0.5 s" in finding.message


def test_gaps_and_jitter_are_no_other_intervals():
    jitter = np.random.default_rng(1).uniform(0.6, 1.4, 2000)
    jitter[700] = 300.0
    quality, findings = found(jitter)
    assert quality.intervals == ()
    assert len(quality.gaps) == 1
    assert [each for each in findings if "mixed" in each.message] == []


def test_a_gap_between_two_spacings_stays_a_gap():
    quality, _ = found(np.full(1000, 1.0), [600.0], np.full(300, 10.0))
    assert [spacing for _, spacing in quality.intervals] == [1.0, 10.0]
    assert [round(stop - start) for start, stop in quality.gaps] == [600]
