"""One preset simulated, recorded and analyzed, with the little of its recording that claims look at."""

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lnetstat.analysis import analyze
from lnetstat.frames import Frames, load
from lnetstat.simulator.plan import Plan
from lnetstat.simulator.run import record
from lnetstat.simulator.scenario import Scenario, load_scenario
from lnetstat.sources import open_source

KEPT = ("lnet_stats", "counters", "nis", "tunables")


class Run(NamedTuple):
    """`truth`: the whole truth file; `found`: the document of `analyze --json`; `plan`: group 0's, without the first pings.

    `tables`: small tables of the recording, whole; `last_peers`: `peers` as every host's last sample has it.
    """

    preset: str
    scenario: Scenario
    plan: Plan
    truth: dict[str, Any]
    found: dict[str, Any]
    tables: dict[str, pd.DataFrame]
    last_peers: pd.DataFrame

    @property
    def merged(self) -> dict[str, Any]:
        """The truth of all groups as one system."""
        merged: dict[str, Any] = self.truth["merged"]
        return merged


def run_of(preset: str, folder: Path, settings: dict[str, str] | None = None, *, processes: int = 1) -> Run:
    """Simulate a preset into folder/PRESET and analyze the recording."""
    scenario = load_scenario(preset, settings)
    result = record(scenario, folder / preset, processes=processes)
    return analyzed(scenario, Path(result.folder), result.truth)


def analyzed(scenario: Scenario, recording: Path, truth: dict[str, Any]) -> Run:
    """Return what the analyzer finds in a recording of the scenario."""
    frames = load(open_source(str(recording)))
    plan = scenario.plan(0)
    small = plan._replace(pings=plan.pings._replace(first_ns=()))
    tables = {name: frames.tables[name] for name in KEPT if name in frames.tables}
    return Run(scenario.name, scenario, small, truth, analyze(frames).as_json(), tables, _last_peers(frames))


def _last_peers(frames: Frames) -> pd.DataFrame:
    peers = frames.tables["peers"]
    last: pd.DataFrame = peers[peers["time_ns"] == peers["time_ns"].max()].copy()
    return last
