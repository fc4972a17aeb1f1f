"""The stack's own page: its files say nothing of another place, its data cannot act, and only what belongs to it is served."""

import contextlib
import http.client
import itertools
import json
import math
import re

import pytest

from lnetstat.dashboards import DASHBOARDS
from lnetstat.stack import page

NASTY = "</script><script>alert(1)</script>&"


def data_of(text):
    return re.search(r'<script type="application/json" id="definition">(.*?)</script>', text, re.DOTALL)[1]


def headers_of(rig, path):
    connection = http.client.HTTPConnection("127.0.0.1", rig.web_port, timeout=60)
    with contextlib.closing(connection):
        connection.request("HEAD", path)
        return dict(connection.getresponse().getheaders())


def test_the_dashboards_are_in_the_page_as_they_are_defined():
    found = json.loads(data_of(page.index(DASHBOARDS, "7.1.0")))
    assert found["tag"] == "lnetstat"
    assert [each["slug"] for each in found["dashboards"]] == [each.slug for each in DASHBOARDS]
    first, panel = found["dashboards"][0], DASHBOARDS[0].panels[0]
    assert first["panels"][0]["targets"][0]["expression"] == panel.targets[0].expression
    assert first["variables"][0]["query"] == DASHBOARDS[0].variables[0].query


def test_a_text_in_a_dashboard_cannot_end_its_element():
    text = page.index((DASHBOARDS[0]._replace(title=NASTY),), "7.1.0")
    assert "alert(1)</script" not in text
    assert json.loads(data_of(text))["dashboards"][0]["title"] == NASTY


def test_nothing_is_asked_of_another_place_and_no_script_stands_in_the_page():
    for source in page.SOURCES.iterdir():
        if source.suffix in {".html", ".css", ".js", ".svg"}:
            text = source.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?:|//[a-z]+\.", text), source.name
            assert "innerHTML" not in text, source.name
            assert not re.search(r"\son[a-z]+=", text), source.name


def test_without_plotly_the_page_is_there_and_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "plotly_script", lambda: None)
    told = []
    page.write(tmp_path, told.append, DASHBOARDS)
    assert "lnetstat[analysis]" in told[0]
    assert (tmp_path / "page" / "index.html").is_file()
    assert not (tmp_path / "page" / "plotly.min.js").exists()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", "text/html"),
        ("page.js", "text/javascript"),
        ("page.css", "text/css"),
        ("icon.svg", "image/svg"),
        ("plotly.min.js", "text/javascript"),
    ],
)
def test_files_of_the_page_are_served_as_what_they_are(filled, name, kind):
    answer = filled.get(page.PATH + name)
    assert answer.status == 200
    assert answer.kind.startswith(kind)


@pytest.mark.parametrize(
    "name", ["../conf/secret_key", "..%2fconf%2fsecret_key", "%2e%2e/report.html", "secret_key", "none.js", "a/b.js", "index.htm"]
)
def test_nothing_else_is_served(filled, name):
    assert filled.get(page.PATH + name).status == 404


def test_a_foreign_name_that_points_here_gets_nothing(filled):
    assert filled.get(page.PATH, host="evil.example").status == 400


def test_the_report_is_linked_and_served_without_an_origin_where_there_is_one(filled):
    report = filled.stack.folder / page.REPORT
    assert b"report.html" not in filled.get(page.PATH).body
    assert filled.get(page.PATH + page.REPORT).status == 404
    report.write_text("<p>all is well</p>")
    try:
        assert b'href="report.html"' in filled.get(page.PATH).body
        answer = filled.get(page.PATH + page.REPORT)
        assert (answer.status, answer.body) == (200, b"<p>all is well</p>")
        assert "sandbox" in headers_of(filled, page.PATH + page.REPORT)["Content-Security-Policy"]
    finally:
        report.unlink()


def test_views_to_begin_with_are_in_the_page_as_data_that_cannot_act(filled):
    file = filled.stack.folder / page.VIEWS
    file.write_text(json.dumps([{"title": NASTY, "words": "", "query": "?last=5", "report": ""}]))
    try:
        text = filled.get(page.PATH).body.decode()
        assert NASTY not in text
        assert json.loads(re.search(r'id="views-data">(.*?)</script>', text, re.DOTALL)[1])[0]["title"] == NASTY
    finally:
        file.unlink()
    assert b'id="views-data">[]<' in filled.get(page.PATH).body


# Severity 1.0 of protanopia, deuteranopia and tritanopia in linear RGB (Machado, Oliveira and Fernandes 2009, table 1).
SIGHTS = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
)
# To Oklab (B. Ottosson 2020), where distances are as large as they look.
TO_CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
APART = 0.07  # in Oklab, whose black and white are 1 apart
CONTRAST = 3  # of graphical objects on their ground: WCAG 2.2, 1.4.11


def times(matrix, colour):
    return [sum(factor * part for factor, part in zip(row, colour, strict=True)) for row in matrix]


def linear(name, css):
    """Return a colour of the stylesheet in linear RGB."""
    parts = [int(part, 16) / 255 for part in re.search(rf"--{name}: #(..)(..)(..);", css).groups()]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour):
    return sum(factor * part for factor, part in zip((0.2126, 0.7152, 0.0722), colour, strict=True))


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "dark as the system has it"])
def test_curves_are_told_apart_by_everybody_and_seen_on_their_ground(theme):
    css = re.split(r"\n +color-scheme:", (page.SOURCES / "page.css").read_text())[theme + 1]
    curves = [linear(f"curve-{number}", css) for number in range(7)]
    for sight in SIGHTS:
        seen = [times(sight, curve) for curve in curves]
        labs = [
            times(TO_LAB, [max(0, cone) ** (1 / 3) for cone in times(TO_CONES, [min(1, max(0, part)) for part in each])]) for each in seen
        ]
        assert min(math.dist(one, other) for one, other in itertools.combinations(labs, 2)) > APART
    ground = luminance(linear("paper", css))
    for light in map(luminance, curves):
        assert (max(light, ground) + 0.05) / (min(light, ground) + 0.05) >= CONTRAST


def test_the_policy_lets_only_this_server_speak(filled):
    headers = headers_of(filled, page.PATH)
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "script-src" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_graphite_web_is_as_it_was(filled):
    for path in ("/", "/dashboard/", "/version/", "/metrics/find?query=*"):
        assert filled.get(path).status == 200, path
