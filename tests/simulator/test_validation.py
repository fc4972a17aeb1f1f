"""`make validate` in short: a recorded flood is found as it must be, what is wrong is told, and the pages are of today's program."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lnetstat.simulator import keys_page as reference
from lnetstat.simulator.scenario import load_scenario, presets

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample-data" / "recordings" / "simulated-paper-untuned"
SMALLER = {"clients.count": "2500", "servers.targets_per_server": "40"}  # as sample-data/README.md says
sys.path.insert(0, str(ROOT / "bench"))

from validation import claims, papers  # noqa: E402
from validation.claims import Claim  # noqa: E402
from validation.expected import EXPECTED, failures, found, lost_at_disks, must  # noqa: E402
from validation.figures import Figure, band  # noqa: E402
from validation.page import page  # noqa: E402
from validation.runs import Run, analyzed, run_of  # noqa: E402

CLAIMS = (*claims.CLAIMS, *papers.CLAIMS)


@pytest.fixture(scope="module")
def sample() -> Run:
    truth = json.loads(SAMPLE.with_suffix(".truth.json").read_text())
    return analyzed(load_scenario("paper-untuned", SMALLER), SAMPLE, truth)


def test_every_preset_has_what_must_be_found() -> None:
    assert sorted(EXPECTED) == sorted(presets())


def test_the_analyzer_finds_in_the_sample_recording_what_the_simulator_knows(sample: Run) -> None:
    assert failures(sample) == []
    dead = sample.found["dead_time"]
    assert dead["period_s"] == pytest.approx(75, abs=0.1)
    assert dead["cause"] == "ping"
    assert lost_at_disks(sample) == pytest.approx(sample.merged["lost_fraction"], abs=0.001)
    assert dead["lost_fraction"] == pytest.approx(sample.merged["lost_fraction"], abs=0.005)
    assert sample.merged["pings_per_server"] == {"min": 100_000, "mean": 100_000.0, "max": 100_000}
    assert len(dead["incidents"]) == len(sample.merged["floods"]) == 12


@pytest.mark.parametrize("name", ["P01", "P03", "P04", "P05", "P06", "P07", "P08", "P09", "P10", "P14", "P15", "P24"])
def test_claims_about_the_untuned_system_hold_in_the_sample_recording(sample: Run, name: str) -> None:
    figure = next(claim for claim in CLAIMS if claim.name == name).figure({"paper-untuned": sample})
    assert figure.inside, figure.shown


@pytest.mark.parametrize("name", ["P12", "P20", "P23", "P29", "P30"])
def test_claims_that_need_no_recording(name: str) -> None:
    figure = next(claim for claim in CLAIMS if claim.name == name).figure({})
    assert figure.inside, figure.shown


def test_what_is_not_as_it_must_be_is_told(sample: Run) -> None:
    def with_dead_time(**changes: Any) -> Run:
        return sample._replace(found=sample.found | {"dead_time": sample.found["dead_time"] | changes})

    assert failures(with_dead_time(detected=False)) == ["dead time not found"]
    assert failures(with_dead_time(period_s=74.8)) == ["period 74.800 s"]
    assert failures(with_dead_time(cause="other")) == ["cause other"]
    series = [each | {"lost_fraction": 0.05} for each in sample.found["series"]]
    assert failures(sample._replace(found=sample.found | {"series": series}))[0].startswith("lost 5.00%, truth 9.3")
    without = [finding for finding in sample.found["findings"] if finding["kind"] not in ("first_exhausted", "ping_burst")]
    assert failures(sample._replace(found=sample.found | {"findings": without})) == [
        "first exhausted: None, not peer_credits",
        "no finding ping_burst",
    ]
    assert failures(sample._replace(preset="control-suppressed")) == ["dead time found", "first exhausted: peer_credits, not None"]


def test_a_control_is_simulated_recorded_and_found_clean(tmp_path: Path) -> None:
    small = {"clients.count": "40", "io.0.processes": "12", "costs.disk_write": "100 ms", "run.duration": "200 s"}
    run = run_of("control-suppressed", tmp_path, small)
    assert failures(run) == []
    assert "no credits ran out" in found(run)


def test_the_page_has_a_row_for_each_run_and_claim_and_reasons_for_what_is_outside(sample: Run) -> None:
    inside = Claim("X1", "says", "paper", "band", "paper-untuned", lambda _: Figure("1", True))
    outside = inside._replace(name="X2", outside="nobody measured it.")
    text = page([sample], [(inside, Figure("1", True)), (outside, Figure("2", False))])
    (row,) = [line for line in text.splitlines() if line.startswith("| `paper-untuned`")]
    assert must("paper-untuned") in row
    assert row.endswith("| yes | X1 X2 |")
    assert "| X2 | says | paper | band | 2 | `paper-untuned` | **no** |" in text
    assert text.endswith("## Outside their bands, and why\n\n- X2: nobody measured it.\n")


def test_a_figure_that_was_not_found_is_outside() -> None:
    assert band(None, 0, 1) == Figure("not found", False)
    assert band(1.5, 0, 1, "{:.1f} s") == Figure("1.5 s", False)


def test_the_committed_pages_are_of_this_program() -> None:
    text = (ROOT / "docs" / "simulator-validation.md").read_text()
    assert [name for name in EXPECTED if f"| `{name}` | " not in text] == [], "run `make validate`"
    assert [claim.name for claim in CLAIMS if f"| {claim.name} | {claim.says} | " not in text] == [], "run `make validate`"
    assert reference.page() == (ROOT / "docs" / "simulator-keys.md").read_text(), "run `make docs`"


def test_the_simulators_page_names_every_preset_and_its_links_lead_somewhere() -> None:
    text = (ROOT / "docs" / "simulator.md").read_text()
    assert [name for name in presets() if f"`{name}`" not in text] == []
    for target in ("simulator-model.md", "simulator-keys.md", "simulator-validation.md", "sweep.png"):
        assert f"({target}" in text
        assert (ROOT / "docs" / target).exists()
