"""Share of time oversubscribed against labelled series: right within a tenth wherever sampling is fine enough to see it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lnetstat.analysis.credits import Row, measure

CHALLENGE = Path(__file__).parents[3] / "shared" / "challenge"
pytestmark = pytest.mark.skipif(not CHALLENGE.exists(), reason="needs ../shared/challenge")
FINE_S = 0.2


@pytest.fixture(scope="module")
def measured():
    """Return (use, truth) of each case with credits, sampled every 0.2 s or faster, that was oversubscribed at all."""
    found = []
    for folder in (CHALLENGE / "dev", CHALLENGE / "practice"):
        truths = {each["case_id"]: each for each in map(json.loads, (folder / "truth.jsonl").read_text().splitlines())}
        for case in map(json.loads, (folder / "cases.jsonl").read_text().splitlines()):
            truth = truths[case["case_id"]].get("credits")
            if "tx" not in case["columns"] or case["dt_nominal"] > FINE_S or not truth["fraction_time_oversubscribed"]:
                continue
            table = (
                pd.read_csv(folder / "cases" / f"{case['case_id']}.csv.gz", usecols=["time", "tx", "tx_min"]).dropna().sort_values("time")
            )
            limit = np.full(len(table), case["credits_max"])
            credits_, low = table["tx"].to_numpy(np.int64), table["tx_min"].to_numpy(np.int64)
            row = Row("", "peer_credits", "csv", "tx", 0, table["time"].to_numpy(), credits_, low, limit, limit < 0, None)
            found.append((measure(row), truth))
    return found


def test_share_of_time_is_within_a_tenth_and_within_its_error_bar(measured):
    share = np.array([use.fraction_time_oversubscribed for use, _ in measured])
    error = np.array([use.fraction_error for use, _ in measured])
    truth = np.array([each["fraction_time_oversubscribed"] for _, each in measured])
    assert len(truth) >= 13
    assert np.abs(share / truth - 1).max() < 0.1
    assert np.median(np.abs(share / truth - 1)) < 0.03
    assert (np.abs(share - truth) < 2 * error).mean() >= 0.9


def test_peak_backlog_and_percentile_agree(measured):
    assert all(use.required_peak == truth["required_peak"] for use, truth in measured)
    backlog = [use.backlog_message_s / truth["queued_credit_seconds"] - 1 for use, truth in measured]
    assert np.median(np.abs(backlog)) < 0.03
    needed = [use.required_p99 / truth["required_p99"] - 1 for use, truth in measured]
    assert np.median(np.abs(needed)) < 0.05
