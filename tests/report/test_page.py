import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

from lnetstat.report.html import MOST_DATA_BYTES, inert_json, page
from lnetstat.report.rows import key_figures, main_finding
from lnetstat.report.words import quantity

MOST_BYTES = 6_000_000
LOADING = {"src", "srcset", "href", "xlink:href", "data", "action", "formaction", "poster", "background", "ping", "manifest"}
NASTY = [
    "</script><script>alert(1)</script>",
    '"><img src=http://evil.example/x onerror=alert(1)>',
    '<a href="https://evil.example">10.0.0.1@tcp</a>',
    "<!--<script>",
    "{{ 7*7 }}{% raw %}",
    "%{y}<br><b>x</b>",
    "\x1b[2J\u202e\x00",
    "\udcff\udcfe",
]


class Page(HTMLParser):
    """Elements with their attributes, the scripts' texts, and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style", "title"):
            self._open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs).get("type"), ""))

    def handle_endtag(self, tag):
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data):
        inside = self._open[-1] if self._open else ""
        if inside == "script":
            kind, text = self.scripts[-1]
            self.scripts[-1] = (kind, text + data)
        elif inside != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def data_of(parsed: Page) -> dict:
    (data,) = [text for kind, text in parsed.scripts if kind == "application/json"]
    return json.loads(data)


def test_nothing_outside_the_file_is_referred_to(analysis_of):
    text = page(analysis_of())
    parsed = Page(text)
    for tag, attributes in parsed.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "img", "form", "audio", "video"}
        assert not LOADING & attributes.keys(), (tag, attributes)
        assert "http-equiv" not in attributes or attributes["http-equiv"] == "Content-Security-Policy"
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_plotly_is_there_exactly_once_and_the_page_stays_small(analysis_of):
    text = page(analysis_of(length_s=86_400.0))
    parsed = Page(text)
    assert [kind for kind, _ in parsed.scripts] == ["application/json", None, None]
    assert [script for _, script in parsed.scripts].count(get_plotlyjs()) == 1
    assert len(text.encode()) < MOST_BYTES


@pytest.mark.parametrize("hours", [3, 9, 7 * 24])
def test_noise_of_many_hosts_over_any_time_still_can_be_mailed(analysis_of, hours):
    parts = [analysis_of(length_s=hours * 3600.0, host=f"oss{n:03}.example.org") for n in range(4)]
    noise = np.random.default_rng(1)
    signals = [each._replace(rate=noise.random(each.rate.size)) for part in parts for each in part.signals]
    rows = [each for part in parts for each in part.credit_series]
    rows = [each._replace(credits=noise.random(each.time_s.size), credits_min=noise.random(each.time_s.size)) for each in rows]
    analysis = parts[0]._replace(
        signals=tuple(signals),
        credit_series=tuple(rows),
        series=tuple(part.dead_time for part in parts),
        findings=parts[0].findings * 100,
        credit_use=parts[0].credit_use * 1000,
    )
    text = page(analysis)
    parsed = Page(text)
    assert len(text.encode()) < MOST_BYTES
    assert len(parsed.scripts[0][1]) <= MOST_DATA_BYTES
    assert len([slug for slug in data_of(parsed) if not slug.startswith("row-")]) == 4
    assert "950 more rows not shown" in text
    assert "incidents lie too close to be shaded" in text


def test_json_in_the_page_cannot_end_its_element():
    text = inert_json({"a": "</script><!--<script>&amp;\u2028\udcff"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--<script>&amp;\u2028\udcff"}


def test_the_policy_lets_just_these_scripts_run_and_nothing_be_fetched(analysis_of):
    parsed = Page(page(analysis_of()))
    (policy,) = [attributes["content"] for tag, attributes in parsed.elements if attributes.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for kind, text in parsed.scripts if kind is None
    ]
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].split() == hashes
    assert "connect-src" not in rules


def test_the_button_that_uploads_to_plotlys_cloud_is_not_offered(analysis_of):
    own = Page(page(analysis_of())).scripts[2][1]
    buttons = re.search(r"modeBarButtons: (\[\[.*?\]\])", own)[1]
    assert set(re.findall(r'"(\w+)"', buttons)) == {"toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"}
    assert "displaylogo: false" in own
    assert "showSendToCloud: false" in own


@pytest.mark.parametrize("nasty", NASTY)
def test_hostile_names_and_titles_are_inert(analysis_of, nasty):
    plain = Page(page(analysis_of(), title="x"))
    text = page(analysis_of(host=nasty, nid=f"{nasty}@tcp", title=nasty), title=nasty)
    parsed = Page(text)
    assert [tag for tag, _ in parsed.elements] == [tag for tag, _ in plain.elements]
    assert [attributes.keys() for _, attributes in parsed.elements] == [attributes.keys() for _, attributes in plain.elements]
    assert len(parsed.scripts) == 3
    text.encode("utf-8")
    assert not any(c in text for c in "\x1b\x00\u202e")
    drawn = json.dumps(data_of(parsed), ensure_ascii=False)
    assert not re.search(r"<(?!extra)", drawn)


def test_findings_come_first_all_of_them_and_in_order(analysis_of):
    analysis = analysis_of()
    more = analysis.findings + tuple(analysis.findings[2]._replace(message=f"number {n} of many") for n in range(300))
    parsed = Page(page(analysis._replace(findings=more)))
    places = [parsed.text.index(each.message) for each in more]
    assert places == sorted(places)
    assert parsed.text.index(analysis.verdict) < places[0]
    assert places[-1] < parsed.text.index("buffers on one time axis")
    assert [tag for tag, attributes in parsed.elements if attributes.get("class") == "finding"] == ["tr"] * len(more)


def test_a_finding_tells_how_bad_since_when_how_much_what_to_do_and_where_to_read_on(analysis_of):
    words = Page(page(analysis_of())).text
    for piece in ("critical dead time", "2026-08-14T12:00:05.000Z", "63 waited, 8 configured", "raise peer_credits", "CUG 2012, IV.B"):
        assert piece in words


def test_what_to_do_stands_under_the_verdict_and_advice_is_given_once_for_findings_that_share_it(analysis_of):
    analysis = analysis_of()
    parsed = Page(page(analysis))
    assert parsed.text.count("raise peer_credits") == 2
    assert parsed.text.index(analysis.verdict) < parsed.text.index("raise peer_credits") < parsed.text.index("Since when")
    assert [attributes.get("rowspan") for tag, attributes in parsed.elements if "rowspan" in attributes] == ["3"]


def test_what_to_do_is_that_of_the_finding_that_the_verdict_is_about(analysis_of):
    analysis = analysis_of()
    own = analysis.findings[0]._replace(subject="route_length of rtr", advice="fewer pings")
    assert main_finding(analysis._replace(findings=(*analysis.findings, own))).advice == "fewer pings"


def test_the_head_names_what_ran_out_first_and_says_so_where_another_peer_is_worse(analysis_of):
    analysis = analysis_of()
    use = analysis.credit_use[0]
    worse = use._replace(subject="10.9.9.9@tcp", low_water=-900, worst_in_record=-900)
    evidence = {"host": use.host, "resource": use.resource, "subject": use.subject, "row": 0, "ordered": True}
    ran_out = analysis.findings[1]._replace(kind="first_exhausted", evidence=evidence)
    summary = analysis.credits._replace(subject="10.9.9.9@tcp on rtr")
    shown = key_figures(analysis._replace(credits=summary, credit_use=(worse, use), findings=(ran_out, *analysis.findings)))
    told = dict(shown)
    assert told["Ran out first"] == "peer credits of 10.1.0.1@tcp on rtr"
    assert told["Worst peer"] == "10.9.9.9@tcp on rtr; it was not the first to run out"
    assert [value for what, value in shown if what == "Its credits required"] == [
        "71 at the peak, of 8 configured; 12 for 99 % of the time",
        "908 at the peak, of 8 configured; 12 for 99 % of the time",
    ]


def test_an_empty_recording_is_said_in_words_and_has_no_chart(nothing):
    parsed = Page(page(nothing))
    assert data_of(parsed) == {}
    assert not [attributes for _, attributes in parsed.elements if "data-plot" in attributes]
    for words in (
        "No throughput in this recording",
        "No ping counters in this recording",
        "No NI credits in this recording",
        "No peer credits in this recording",
        "No router buffers in this recording",
        "No profile of a cycle",
        "No credits in this recording",
        "No samples in this recording",
        "No findings",
    ):
        assert words in parsed.text


def test_every_place_for_a_plot_has_its_figure(analysis_of):
    parsed = Page(page(analysis_of(length_s=1800.0)))
    places = [attributes["data-plot"] for _, attributes in parsed.elements if "data-plot" in attributes]
    assert places == ["axis", "close-up", "signals", "profile", "row-0"]
    rows = [attributes["data-row"] for tag, attributes in parsed.elements if tag == "button" and "data-row" in attributes]
    assert set(data_of(parsed)) == {*places, *rows, "row-1"}


def test_the_credit_table_grades_every_row(analysis_of):
    words = Page(page(analysis_of())).text
    assert "10.1.0.1@tcp on rtr peer credits sustained 8 71 12 -63 2026-08-14T12:00:05.000Z 4.0 %, first 2026-08-14T12:00:05.000Z" in words


def test_the_same_analysis_gives_the_same_page(analysis_of):
    assert page(analysis_of()) == page(analysis_of())


def test_the_head_says_since_when_and_what_it_costs_and_its_time_zooms(analysis_of):
    analysis = analysis_of()
    shown = dict(key_figures(analysis))
    signal = next(each for each in analysis.signals if each.name == analysis.dead_time.signal)
    lost = analysis.dead_time.lost_fraction
    assert shown["Since when"].startswith("2026-08-14T12:00:05Z to 2026-08-14T12:09:")
    assert shown["Bandwidth lost, on average"] == quantity(float(signal.rate.mean()) * lost / (1 - lost), "bytes/s")
    assert shown["Signal"] == "rtr route_length"
    head = page(analysis).partition('<section id="findings">')[0]
    assert "data-begin=2026-08-14T12:00:05Z data-end=2026-08-14T12:09:" in head


def test_without_dead_time_there_is_no_such_figure(analysis_of):
    shown = dict(key_figures(analysis_of(dips=False)))
    assert not {"Since when", "Bandwidth lost, on average"} & set(shown)
