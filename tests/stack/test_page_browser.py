"""The page in a real Chromium on a real stack: what is chosen is drawn, what is not there is said, and no name acts."""

import http.client
import json
import re
import time
from urllib.parse import urlencode

import pytest

from lnetstat.dashboards import DASHBOARDS
from lnetstat.dashboards.definition import HOST, Panel, Target, Threshold
from lnetstat.dashboards.expressions import rate
from lnetstat.model import Point
from lnetstat.stack import page
from tests.chromium import CHROMIUM, WITHOUT, chromium

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)

NASTY = "<script>alert(1)<b>x%{y}'"  # Carbon itself refuses a name with ; in it
CREDITS = Panel(
    "credits",
    "Peer credits",
    "credits",
    "Left at the worst peer.",
    (Target("aliasByNode(lnet.$host.peers.*.tx_credits_worst,1)"),),
    (Threshold(0, "critical", "messages wait", below=True),),
)
SENT = Target("lnet.$host.lnet_stats.send_length", "sent")
RECEIVED = Target("lnet.$host.lnet_stats.recv_length", "received", right=True)
BYTES = Panel("bytes", "Bytes", "bytes/s", "Two axes.", (SENT, RECEIVED))
ABSENT = Panel("absent", "Absent", "", "Nobody sends this.", (Target("lnet.$host.no.such.metric"),))
BROKEN = Panel("broken", "Broken", "", "Not a function.", (Target("noSuchFunction(lnet.$host.lnet_stats.drop_count)"),))
RATE = Panel("rate", "Rate", "messages/s", "Of a counter.", (Target(rate("lnet.$host.lnet_stats.recv_count"), "received"),))
FOLD = Panel("fold", "Folded", "", "", (Target("lnet.$host.lnet_stats.dips"),), kind="folded", place="page")
PLOT = "document.querySelector('.plot')"


@pytest.fixture(scope="module")
def rig(filled):
    """The stack with two more hosts, one hostile, one silent for five minutes; and two dashboards, one with all that can go wrong."""
    test = DASHBOARDS[0]._replace(slug="test", title="Test", minutes=15, variables=(HOST,), panels=(CREDITS, BYTES))
    faults = test._replace(slug="faults", panels=(CREDITS, ABSENT, BROKEN))
    rates = test._replace(slug="rates", panels=(RATE,))
    folds = test._replace(slug="folds", panels=(FOLD,))
    page.write(filled.stack.folder, filled.told.append, (test, faults, rates, folds, *DASHBOARDS))
    now = int(time.time())
    points = [Point(f"lnet.{NASTY}.peers.tcp1.tx_credits_worst", -3.0, now - back) for back in range(30)]
    points += [Point("lnet.quiet.peers.tcp1.tx_credits_worst", 0.0, now - 300 - back) for back in range(30)]
    points += [Point("lnet.holed.lnet_stats.recv_count", 7.0 * at, now - 90 + at) for at in range(90) if not 40 <= at < 60]
    points += [Point("lnet.slow.lnet_stats.recv_count", 7.0 * at, now - 90 + at) for at in range(0, 90, 10)]
    points += [Point("lnet.folded.lnet_stats.dips", 0.0 if (now - back) % 20 < 4 else 9.0, now - back) for back in range(100, 300)]
    filled.send(points)
    filled.rendered_whole("lnet.folded.lnet_stats.dips", now - 400, now, 200)
    filled.rendered_whole("lnet.{holed,slow}.lnet_stats.recv_count", now - 100, now, 70 + 9)
    filled.rendered_whole("lnet.quiet.peers.tcp1.tx_credits_worst", now - 400, now, 30)
    filled.rendered_whole("lnet.*.peers.tcp1.tx_credits_worst", now - 400, now, 60)
    return filled


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def view(rig, browser):
    """A function that opens the page with such a query and waits until all of it is drawn."""
    views = []

    def show(width=1280, height=1400, scheme="light", blocked=(), **query):
        view = browser.page(width, height)
        views.append(view)
        view.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        view.send("Emulation.setFocusEmulationEnabled", enabled=True)  # other pages are open: each is as if it were in front
        view.send("Network.setBlockedURLs", urls=list(blocked))
        view.open(f"{rig.stack.page_url}?{urlencode({'dashboard': 'test'} | query)}")
        drawn(view)
        return view

    yield show
    for view in views:
        view.close()


def drawn(view):
    """Wait until what the address asks for is drawn; the mark is taken off, so that the next wait is for the next drawing."""
    view.wait("document.documentElement.dataset.turn")
    view.value("delete document.documentElement.dataset.turn")


def around(rig):
    begin_s = rig.points[0].time_s
    return {"from": iso(begin_s - 60), "until": iso(begin_s + 180)}


def iso(second):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))


def words(view, slug):
    return view.value(f"document.querySelector('#title-{slug}').closest('.panel').querySelector('.words').textContent")


def box(view):
    """Return left, top, width and height of the first plot's inside."""
    inside = f"{PLOT}.querySelector('.nsewdrag').getBoundingClientRect()"
    return view.value(f"(({{ x, y, width, height }}) => [x, y, width, height])({inside})")


def choose(view, name, value):
    view.value(
        f"(() => {{ const list = document.querySelector('#{name}'); list.value = '{value}'; list.dispatchEvent(new Event('change')); }})()"
    )


def double_click(view, x, y):
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            view.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=count)


def ranges(view):
    return view.value(
        "[...document.querySelectorAll('.plot.js-plotly-plot')].map((each) => each.layout.xaxis.range.map((x) => +new Date(x)).join())"
    )


def test_the_routers_dashboard_is_drawn_without_a_word_on_the_console_and_nobody_else_is_asked(view, rig):
    seen = view(dashboard="lnet-router", host="rtr1", **around(rig))
    assert seen.console() == []
    assert seen.value("document.querySelectorAll('.panel[data-drawn]').length") >= 6
    assert (
        max(len(path) for path in seen.value("[...document.querySelectorAll('.js-line')].map((each) => each.getAttribute('d') ?? '')"))
        > 500
    )
    assert {each["request"]["url"].split("/")[2] for each in seen.events("Network.requestWillBeSent")} == {f"127.0.0.1:{rig.web_port}"}
    assert seen.value("document.title") == "LNet router · lnetstat"


def test_no_series_no_values_an_error_and_zero_are_four_things(view, rig):
    seen = view(dashboard="faults", host="quiet", last=15)
    assert words(seen, "credits") == ""
    assert seen.value("document.querySelector('.legend button .values').textContent") == "0"
    assert words(seen, "absent").startswith("No such series")
    assert "noSuchFunction" in words(seen, "broken")
    assert "400" in words(seen, "broken")
    assert "5 min old" in seen.value("document.querySelector('#status.stale').textContent")
    seen = view(host="quiet", last=1)
    assert words(seen, "credits").startswith("No values in this range")


def test_a_range_dragged_or_chosen_holds_for_all_and_back_undoes_it(view, rig):
    seen = view(host="rtr1", **around(rig))
    before = ranges(seen)
    assert len(before) == 2
    left, top, width, height = box(seen)
    seen.drag((left + width * 0.25, top + height / 2), (left + width * 0.75, top + height / 2))
    seen.wait(f"!location.search.includes({json.dumps(urlencode(around(rig)))})")
    drawn(seen)
    zoomed = ranges(seen)
    assert len(set(zoomed)) == 1
    begin, end = map(float, zoomed[0].split(","))
    assert end - begin == pytest.approx(120_000, abs=10_000)
    seen.value("history.back()")
    drawn(seen)
    assert ranges(seen) == before
    seen.drag((left + width * 0.4, top + height / 2), (left + width * 0.6, top + height / 2))
    drawn(seen)
    double_click(seen, left + width / 2, top + height / 2)
    drawn(seen)
    assert ranges(seen) == before
    assert urlencode(around(rig)) in seen.value("location.search.replace(/\\.000Z/g, 'Z')")
    assert seen.console() == []
    choose(seen, "range", "60")
    drawn(seen)
    assert "last=60" in seen.value("location.search")
    assert len({round(float(each.split(",")[1]) - float(each.split(",")[0])) for each in ranges(seen)} | {3_600_000}) == 1


def test_a_host_chosen_is_the_only_one_drawn_and_stands_in_the_address(view):
    seen = view(last=15)
    names = "[...document.querySelectorAll('.panel:first-child .legend button .name')].map((each) => each.textContent)"
    assert {"rtr1", "quiet"} <= set(seen.value(names))
    choose(seen, "host", "quiet")
    drawn(seen)
    assert seen.value(names) == ["quiet"]
    assert "host=quiet" in seen.value("location.search")
    for several, hosts in (("r*[1-2], quiet", ["quiet", "rtr1"]), ("qui??", ["quiet"])):
        choose(seen, "host", "several")
        choose(seen, "hosts", several)
        drawn(seen)
        assert sorted(seen.value(names)) == hosts
        assert f"({len(hosts)})" in seen.value("document.querySelector('#host').selectedOptions[0].textContent")


def test_pointing_at_a_curve_says_its_value_and_the_time_with_its_zone(view, rig):
    seen = view(host="rtr1", **around(rig))
    left, top, width, height = box(seen)
    seen.mouse("mouseMoved", left + width * 0.4, top + height * 0.4)
    seen.mouse("mouseMoved", left + width * 0.5, top + height * 0.5)
    text = seen.wait(f"{PLOT}.querySelector('.hoverlayer').textContent")
    assert " UTC" in text
    assert re.search(r"rtr1\s*: [-−]?\d+(\.\d)? credits", text), text


def test_what_comes_new_is_drawn_when_asked_and_by_itself(view, rig):
    seen = view(host="fresh", last=5)
    assert words(seen, "credits").startswith("No such series")
    path, now = "lnet.fresh.peers.tcp1.tx_credits_worst", int(time.time())
    rig.send([Point(path, 7.0, now)])
    rig.rendered_whole(path, now - 5, now + 5, 1)
    last = "document.querySelector('.legend button .values')?.textContent"
    seen.key("r")
    seen.wait(f"{last} === '7'")
    choose(seen, "refresh", "5")
    rig.send([Point(path, 8.0, now + 1)])
    seen.wait(f"{last} === '8'")


def test_a_server_that_is_gone_is_said_and_what_was_drawn_stays(view, rig):
    seen = view(host="rtr1", **around(rig))
    seen.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    seen.key("r")
    drawn(seen)
    assert "does not answer" in words(seen, "credits")
    assert seen.value("document.querySelectorAll('.panel:first-child .js-line').length") == 1
    seen.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    seen.key("r")
    drawn(seen)
    assert words(seen, "credits") == ""


def test_bare_curves_are_there_before_plotly_and_a_missing_plotly_is_said(view, rig):
    seen = view(host="rtr1", **around(rig), blocked=["*plotly*"])
    assert "lnetstat[analysis]" in words(seen, "credits")
    assert "lnetstat[analysis]" in seen.value("document.querySelector('#problem').textContent")
    painted = "document.querySelector('canvas.sketch').getContext('2d').getImageData(60, 0, 400, 200).data.filter((byte) => byte).length"
    assert seen.value(painted) > 500
    assert seen.value("document.querySelector('.legend button .name').textContent") == "rtr1"


def test_hostile_names_are_shown_as_they_are_and_run_nothing(view, rig):
    post(rig, {"what": NASTY, "when": int(time.time()) - 5, "tags": ["lnetstat"], "data": "{"})
    seen = view(host=NASTY, last=5)
    assert seen.console() == []
    assert seen.events("Page.javascriptDialogOpening") == []
    assert NASTY in seen.value("document.querySelector('.panel:first-child .legend').textContent")
    assert NASTY in seen.value("[...document.querySelector('#host').options].map((each) => each.textContent)")
    assert NASTY in seen.value("document.querySelector('#incidents ol').textContent")
    assert seen.value("document.querySelectorAll('main b, #incidents b, main script').length") == 0
    left, top, width, height = box(seen)
    share = seen.value(f"(([begin, end], time) => (time - begin) / (end - begin))({PLOT}.layout.xaxis.range, {PLOT}.data[0].x.at(-1))")
    for back in (2, 1, 0):
        seen.mouse("mouseMoved", left + width * share - back, top + height * 0.5)
    seen.wait(f"{PLOT}.querySelector('.hoverlayer').textContent.includes('<script>')")


def test_a_hole_in_a_counter_is_a_hole_in_its_rate_and_values_that_come_seldom_are_one_line(view):
    holes = f"{PLOT}.data[0].y.filter((value) => value === null).length"
    assert view(dashboard="rates", host="holed", last=5).value(holes) == 1
    assert view(dashboard="rates", host="slow", last=5).value(holes) == 0


def test_an_incident_is_a_band_from_its_begin_to_its_end_and_a_line_in_the_list(view, rig):
    """As `watch` tells them: later than they were, with another worst row at the end, the next one found in the window of the first."""
    begin_s = rig.points[0].time_s + 20
    for host, change, subject, begin, end, told in (
        ("rtr1", "begin", "peer 1@tcp on rtr1", 0, 5, 10),
        ("rtr1", "end", "peer 2@tcp on rtr1", 0, 30, 40),
        ("rtr1", "begin", "peer 1@tcp on rtr1", 0, 45, 50),
        ("rtr2", "begin", "peer 3@tcp on rtr2", 7, 8, 20),
    ):
        data = {"kind": "oversubscribed_peers", "subject": subject, "state": host, "host": host, "change": change, "severity": "critical"}
        data |= {f"{name}_ns": (begin_s + at) * 10**9 for name, at in (("begin", begin), ("end", end), ("time", told))}
        when = begin_s + (end if change == "end" else begin)
        post(rig, {"what": f"{subject} {change}s", "when": when, "tags": ["lnetstat", change], "data": json.dumps(data)})
    seen = view(host="rtr1", **around(rig))
    shapes = seen.wait(f"{PLOT}.layout.shapes.filter((each) => each.type === 'rect').map((each) => [each.x0, each.x1])")
    newest_s = rig.points[-1].time_s
    assert sorted(shape for shape in shapes if shape[1] > shape[0]) == [
        [(begin_s + one) * 1000, two * 1000] for one, two in ((0, begin_s + 30), (30, newest_s))
    ]
    listed = seen.value("document.querySelector('#incidents').textContent")
    assert "(1 of other hosts, not shaded)" in listed
    assert "30 s" in listed
    assert "peer 3@tcp on rtr2 begins" in listed


def test_the_dips_of_a_dead_time_are_marked_one_by_one_and_give_the_period_to_the_folded_view(view, rig):
    """Dips of 4 s every 20 s. Marked is what the event says; folded by that period there is one, in the middle; by another none."""
    now = int(time.time())
    begin = now - 280 - (now - 280) % 20 + 20
    data = {
        "kind": "dead_time",
        "change": "note",
        "host": "folded",
        "severity": "critical",
        "begin_ns": begin * 10**9,
        "end_ns": (begin + 104) * 10**9,
    }
    data["evidence"] = {"period_s": 20.0, "duration_s": 4.0, "incidents": 6}
    post(rig, {"what": "dead time", "when": begin, "tags": ["lnetstat"], "data": json.dumps(data)})
    seen = view(dashboard="folds", host="folded", last=6)
    assert seen.value("document.querySelector('.period input').value") == "20"
    bold = f"{PLOT}.data.at(-1)"
    assert seen.value(f"[Math.min(...{bold}.y), Math.max(...{bold}.y)]") == [0, 9]
    dip = seen.value(f"{bold}.x.filter((_, at) => {bold}.y[at] === 0)")
    assert max(dip) - min(dip) == 3
    assert min(dip) > 6
    assert max(dip) < 14
    seen.value("[...document.querySelectorAll('.period button')].at(0).click()")
    seen.wait(f"{bold}.x.at(-1) > 20")
    assert min(seen.value(f"{bold}.y")) == 9
    assert "fold=25" in seen.value("location.search")
    seen = view(dashboard="test", host="folded", last=6)
    assert words(seen, "credits").startswith("No such series")
    marks = view(host="*", last=6).wait(f"{PLOT}.layout.shapes.filter((each) => each.type === 'rect').map((each) => [each.x0, each.x1])")
    assert [[(begin + at) * 1000, (begin + at + 4) * 1000] for at in range(0, 120, 20)] == [
        mark for mark in marks if mark[1] - mark[0] == 4000
    ]


def test_keys_a_switch_that_is_remembered_and_an_address_that_is_not_understood(view):
    seen = view(scheme="dark", last="many")
    assert "last=many" in seen.value("document.querySelector('#problem').textContent")
    background = "getComputedStyle(document.body).backgroundColor"
    assert seen.value(background) == "rgb(20, 23, 26)"
    seen.key("t")
    assert seen.value(background) == "rgb(255, 255, 255)"
    seen.send("Page.reload")
    seen.wait("document.querySelector('#theme').textContent === 'Colours: light'")
    drawn(seen)
    assert seen.value(background) == "rgb(255, 255, 255)"
    seen.key("?")
    assert seen.value("document.querySelector('#help').open")
    seen.key("Escape")
    seen.wait("!document.querySelector('#help').open")
    seen.key("h")
    assert seen.value("document.activeElement.id") == "host"
    seen.value("document.activeElement.blur()")
    seen.value("document.querySelector('.panel .info').focus()")
    assert "Left at the worst peer." in seen.value("document.querySelector('.panel').innerText")


def test_the_report_of_a_recording_that_was_moved_is_linked_with_the_times_that_stand_in_it(view, rig):
    file = rig.stack.folder / page.VIEWS
    moved = {"title": "Moved", "words": NASTY, "query": "?last=5", "report": "report-moved.html", "times": "2012-05-01 00:00 to 00:15 UTC"}
    file.write_text(json.dumps([moved, moved | {"title": "Bare", "report": "", "times": "never"}]))
    try:
        seen, narrow = view(last=5), view(width=390, last=5)
    finally:
        file.unlink()
    listed = seen.value("[...document.querySelectorAll('#views li')].map((each) => each.textContent)")
    assert listed[0].endswith("Its report (times in the report are those of the recording: 2012-05-01 00:00 to 00:15 UTC).")
    assert listed[1] == f"Bare: {NASTY} "
    assert seen.value("document.querySelector('#views a[href=\"report-moved.html\"]').checkVisibility()")
    assert not narrow.value("document.querySelector('#views li').checkVisibility()"), "they would fill a phone's screen"


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_a_phone_and_a_desk(view, rig, width):
    seen = view(width=width, host="rtr1", **around(rig))
    assert seen.value("document.documentElement.scrollWidth") == width
    seen.send("Emulation.setDeviceMetricsOverride", width=width + 100, height=1000, deviceScaleFactor=1, mobile=False)
    seen.wait(f"Math.abs({PLOT}._fullLayout.width - {PLOT}.clientWidth) < 1 && innerWidth === {width + 100}")
    assert seen.console() == []


def post(rig, event):
    connection = http.client.HTTPConnection("127.0.0.1", rig.web_port, timeout=60)
    connection.request("POST", "/events/", json.dumps(event), {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()
