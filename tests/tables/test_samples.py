"""Every fixture of sample-data gives what stands beside it: a new case is two files and no code."""

import json
from pathlib import Path

import pytest

from lnetstat.tables import builtin_tables, parse

SAMPLES = Path(__file__).parents[2] / "sample-data"
FIXTURES = sorted(SAMPLES.glob("*/*--*.txt"))


def name_of(path):
    return path.name.partition("--")[0].replace("lnetctl_", "lnetctl ").replace("_show", " show")


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_fixture(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    table, parsed = parse(name_of(path), path.read_text())
    assert table.name == expected["table"]
    assert parsed.layout == expected["layout"]
    assert dict(parsed.facts) == expected["facts"]
    assert [list(problem) for problem in parsed.problems] == expected["problems"]
    rows = [{key: value for key, value in row._asdict().items() if key != "extra" or value} for row in parsed.rows]
    assert rows == expected["rows"]


def test_every_expected_file_has_its_text():
    texts = {path.with_suffix("") for path in FIXTURES}
    assert {path.with_suffix("") for path in SAMPLES.glob("*/*--*.json")} == texts
    assert len(texts) >= 20


@pytest.mark.parametrize("path", [path for path in FIXTURES if "no-header" not in path.name], ids=lambda path: path.stem)
def test_a_text_without_a_telling_name_is_known_by_its_words(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    assert parse("", path.read_text())[0].name == expected["table"]


@pytest.mark.parametrize("table", builtin_tables().values(), ids=lambda table: table.name)
def test_a_table_declares_what_its_rows_hold(table):
    names = [column.name for column in table.columns]
    assert tuple(name for name in table.row._fields if name != "extra") == tuple(names)
    assert set(table.key) <= set(names)
    assert table.names
    assert all(column.help for column in table.columns)


def test_a_kernel_table_that_is_written_is_read_again():
    for path in FIXTURES:
        table, parsed = parse(name_of(path), path.read_text())
        if table.render is not None and parsed.rows and "ornl" not in path.name and table.name != "counters":
            assert table.render(parsed, parsed.layout) == path.read_text(), path
