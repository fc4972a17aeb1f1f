"""Each time in the text leads to the same time in the pictures."""

import html
import json
import re

import pytest

from lnetstat.report.html import page
from lnetstat.report.times import of_time, timed
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


def test_words_of_a_time_are_one_button():
    markup = timed(of_time("every 75 s <b>", 1_786_708_805_000_000_000, 1_786_708_806_250_000_000))
    assert "data-begin=2026-08-14T12:00:05.000Z data-end=2026-08-14T12:00:06.250Z" in markup
    assert markup.endswith(">every 75 s &lt;b&gt;</button>")
    assert markup.count("<button") == 1


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium")
def test_a_click_shows_a_time_or_a_row_of_credits_and_all_again(analysis_of, tmp_path):
    analysis = analysis_of(length_s=1800.0)
    (use,) = analysis.credit_use
    text = page(analysis._replace(credit_use=(use, use._replace(resource="router_buffers", subject="small"))))
    (tmp_path / "inner.html").write_text(text, encoding="utf-8")
    script = """
        const step = () => new Promise((done) => setTimeout(done, 1000));
        const one = (what) => inner.document.querySelector(what);
        const all = one('#whole');
        const ms = (time) => typeof time === 'number' ? time : Date.parse(time.replace(' ', 'T').replace(/Z?$/, 'Z'));
        const linked = [...inner.document.querySelectorAll('[data-plot]')].filter((plot) => plot.all);
        const ranges = () => linked.map((plot) => plot.layout.xaxis.range.map(ms).join());
        (async () => {
          const seen = {before: ranges(), hidden: [all.hidden]};
          one('.findings button.when').click(); await step();
          seen.zoomed = ranges(); seen.hidden.push(all.hidden);
          one('#credits tr:last-child button.row').click(); await step();
          seen.row = one('#row [data-plot]').dataset.plot; seen.kept = ranges();
          all.click(); await step();
          seen.after = ranges(); seen.hidden.push(all.hidden);
          document.body.dataset.seen = JSON.stringify(seen);
        })();"""
    done = browse(tmp_path, framed(1280, script), "--dump-dom", "--allow-file-access-from-files")
    assert console(done) == []
    seen = json.loads(html.unescape(re.search(r'data-seen="([^"]+)"', done.stdout)[1]))
    begin_ms = 1_786_708_805_000
    assert seen["zoomed"] == seen["kept"] == [f"{begin_ms - 1000},{begin_ms + 2000}"] * 3
    assert seen["row"] == "row-1"
    assert seen["after"] == seen["before"]
    assert seen["hidden"] == [True, False, True]
