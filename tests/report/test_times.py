"""Each time in the text leads to the same time in the pictures."""

import re

import pytest

from lnetstat.report.html import page
from lnetstat.report.times import timed
from tests.report.test_browser import CHROMIUM, browse, console, framed


@pytest.mark.parametrize(
    ("text", "buttons"),
    [
        ("no time", []),
        ("2026-08-14T12:00:05Z", [("2026-08-14T12:00:05Z", None)]),
        ("first at 2026-08-14T12:00:05.250Z.", [("2026-08-14T12:00:05.250Z", None)]),
        ("2026-08-14T12:00:05Z to 2026-08-14T12:10:00Z (595 s)", [("2026-08-14T12:00:05Z", "2026-08-14T12:10:00Z")]),
        ("2026-08-14T12:00:05Z, 2026-08-14T12:10:00Z", [("2026-08-14T12:00:05Z", None), ("2026-08-14T12:10:00Z", None)]),
        ("2026-08-14T12:00:05Z to come", [("2026-08-14T12:00:05Z", None)]),
    ],
)
def test_times_and_ranges_are_found(text, buttons):
    markup = timed(text)
    assert [(begin, end or None) for begin, end in re.findall(r"data-begin=(\S+?)(?: data-end=(\S+?))? title", markup)] == buttons
    assert markup.striptags() == text


def test_what_stands_around_a_time_is_inert():
    assert timed("<script>2026-08-14T12:00:05Z<b>") == f"&lt;script&gt;{timed('2026-08-14T12:00:05Z')}&lt;b&gt;"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")
def test_a_click_on_the_time_of_a_finding_shows_it_in_all_pictures(analysis_of, tmp_path):
    (tmp_path / "inner.html").write_text(page(analysis_of(length_s=1800.0)), encoding="utf-8")
    script = (
        "const button = inner.document.querySelector('.findings button.when'); button.click();"
        "setTimeout(() => { const plots = [...inner.document.querySelectorAll('[data-plot]')];"
        "document.body.dataset.wanted = [button.dataset.begin, button.dataset.end].join();"
        "document.body.dataset.shown = plots.slice(0, 5).map((plot) => plot.layout.xaxis.range.map("
        "(time) => Date.parse(String(time).replace(' ', 'T').replace(/Z?$/, 'Z'))).join()).join(' '); }, 2000);"
    )
    done = browse(tmp_path, framed(1280, script), "--dump-dom", "--allow-file-access-from-files")
    assert console(done) == []
    assert 'data-wanted="2026-08-14T12:00:05.000Z,2026-08-14T12:00:06.000Z"' in done.stdout
    begin_ms = 1_786_708_805_000
    shown = re.search(r'data-shown="([0-9, ]+)"', done.stdout)[1].split()
    assert shown == [f"{begin_ms - 1000},{begin_ms + 2000}"] * 5
