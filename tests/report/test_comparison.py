"""The page of before and after: the verdict first, both on the same scale, hostile names inert."""

import pytest

from lnetstat import cli
from lnetstat.analysis.compare import compare
from lnetstat.report import comparison
from tests.report.test_page import NASTY, Page, data_of


def page_of(before, after):
    return Page(comparison.page(compare(before, after), before, after))


def test_both_sides_are_drawn_on_the_same_scale_from_their_own_beginning(analysis_of):
    figures = data_of(page_of(analysis_of(length_s=600.0), analysis_of(length_s=300.0, dips=False)))
    layout = figures["throughput"]["layout"]
    assert layout["yaxis"]["range"] == layout["yaxis3"]["range"]
    assert layout["xaxis"]["range"] == [0, pytest.approx(600, abs=1)]
    names = [trace["name"] for trace in figures["throughput"]["data"] if trace.get("name")]
    assert names == ["before", "after"]
    assert [trace["name"] for trace in figures["cycle"]["data"] if trace.get("name")] == ["before"]


def test_the_verdict_comes_first_and_each_figure_has_its_row(analysis_of):
    before, after = analysis_of(), analysis_of(dips=False)
    found = compare(before, after)
    text = comparison.page(found, before, after)
    words = Page(text).text
    assert words.index(found.words[:40]) < words.index("Throughput before and after")
    for title in ("throughput outside dips", "bytes lost to dead time, net", "wanted at the peak"):
        assert title in words


@pytest.mark.parametrize("name", NASTY)
def test_hostile_names_are_inert(analysis_of, name):
    hostile, plain = (page_of(each, each) for each in (analysis_of(host=name, nid=name), analysis_of()))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]


def test_a_file_that_cannot_be_written_is_told_before_anything_is_read(tmp_path, capsys):
    assert cli.run(["compare", "no-such-record", "neither", "--html", str(tmp_path / "none" / "page.html")]) == 3
    said = capsys.readouterr().err
    assert str(tmp_path / "none") in said
    assert "no-such-record" not in said
