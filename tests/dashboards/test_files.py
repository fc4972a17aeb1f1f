"""The committed files are what is built, Grafana's own SDK reads them, and the verb that makes them works."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard

from lnetstat.cli import lnetstat
from lnetstat.dashboards import DASHBOARDS
from lnetstat.dashboards.build import files
from lnetstat.dashboards.definition import Threshold
from lnetstat.dashboards.grafana import _steps, dashboard_json, unit
from lnetstat.dashboards.page import page

ROOT = Path(__file__).parents[2]
NAMES = [dashboard.slug for dashboard in DASHBOARDS]
# The SDK knows annotations of Grafana's own data source only; Graphite's data source wants these two.
NOT_OF_THE_SDK = {"queryType", "fromAnnotations"}


def test_the_committed_files_are_what_is_built():
    there = {f"{path.parent.name}/{path.name}": path.read_text() for path in (ROOT / "dashboards").glob("*/*.json")}
    assert there == files(), "run `make docs`"


def test_the_page_is_what_the_definitions_say():
    assert (ROOT / "docs" / "dashboards.md").read_text() == page(), "run `make docs`"


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=NAMES)
def test_grafanas_sdk_reads_each_and_gives_back_the_same(dashboard):
    ours = json.loads(files()[f"grafana/{dashboard.slug}.json"])
    plugins.register_default_plugins()
    read = Dashboard.from_json(ours)
    lost = missing(ours, json.loads(JSONEncoder().encode(read)))
    assert lost == {f"annotations.list.0.target.{name}" for name in NOT_OF_THE_SDK}
    assert ours["schemaVersion"] == Dashboard().schema_version


def missing(ours, theirs, where=""):
    """Return the paths of our values that are not the same in theirs; theirs may have more (defaults)."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return {path for key in ours for path in missing(ours[key], theirs.get(key, "absent"), f"{where}.{key}".strip("."))}
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = zip(ours, theirs, strict=True)
        return {path for number, (one, other) in enumerate(pairs) for path in missing(one, other, f"{where}.{number}")}
    return set() if ours == theirs else {where}


def test_units_are_grafanas_or_words_behind_the_number():
    known = {value for value in vars(units).values() if isinstance(value, str)}
    every = {unit(panel.unit) for dashboard in DASHBOARDS for panel in dashboard.panels}
    assert {name for name in every if name not in known} == {name for name in every if name.startswith("suffix: ")}


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=NAMES)
def test_grafanas_panels_lie_side_by_side_and_ask_the_chosen_source(dashboard):
    made = dashboard_json(dashboard, ("My Graphite", "abc"))
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in made["panels"]}
    assert len(places) == len({panel["id"] for panel in made["panels"]}) == len(made["panels"])
    sources = [panel["datasource"] for panel in made["panels"]] + [target["datasource"] for p in made["panels"] for target in p["targets"]]
    assert {json.dumps(source) for source in sources} == {'{"type": "graphite", "uid": "${datasource}"}'}
    assert made["templating"]["list"][0]["current"] == {"text": "My Graphite", "value": "abc"}
    assert [variable["name"] for variable in made["templating"]["list"]] == ["datasource", *(v.name for v in dashboard.variables)]


def test_thresholds_shade_the_bad_side():
    below = (Threshold(0, "critical", "", below=True), Threshold(5, "warning", "", below=True))
    assert _steps(below) == [{"value": None, "color": "red"}, {"value": 0, "color": "orange"}, {"value": 5, "color": "transparent"}]
    above = (Threshold(100, "critical", ""), Threshold(80, "warning", ""))
    assert _steps(above) == [{"value": None, "color": "transparent"}, {"value": 80, "color": "orange"}, {"value": 100, "color": "red"}]
    assert _steps(()) == [{"value": None, "color": "transparent"}]


def test_build_writes_them_where_it_is_told(tmp_path):
    done = CliRunner().invoke(lnetstat, ["dashboards", "build", "--to", str(tmp_path / "new")])
    assert done.exit_code == 0
    assert {str(path.relative_to(tmp_path / "new")): path.read_text() for path in (tmp_path / "new").rglob("*.json")} == files()
    assert done.output.splitlines() == [str(tmp_path / "new" / name) for name in files()]


def test_list_names_each():
    done = CliRunner().invoke(lnetstat, ["dashboards", "list"])
    assert [line.split()[0] for line in done.output.splitlines()] == ["NAME", *NAMES]
