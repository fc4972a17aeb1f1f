"""What the demo does beside the commands that it runs: where recordings lie, what it says of them, and what a demo before has left."""

import fcntl
import itertools
import socket
from datetime import UTC, datetime
from urllib.parse import parse_qs

import pytest

from lnetstat import demo
from lnetstat.dashboards import DASHBOARDS

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "HERE", tmp_path)
    return tmp_path


def test_recordings_lie_one_before_the_other_as_long_as_they_were_and_the_first_ends_now():
    shown = demo.on_the_axis(NOW)
    assert shown[0].end == NOW
    for part, begin, end in shown:
        recorded = part.times()
        assert end - begin == recorded[1] - recorded[0]
    for later, earlier in itertools.pairwise(shown):
        assert earlier.end < later.begin - demo.BEFORE, "hosts of the same names must not meet"


def test_each_view_is_of_a_dashboard_and_a_report_says_when_it_was_recorded():
    views = [demo.view(each) for each in demo.on_the_axis(NOW)]
    slugs = {dashboard.slug for dashboard in DASHBOARDS}
    assert {parse_qs(each["query"].removeprefix("?"))["dashboard"][0] for each in views} <= slugs
    assert parse_qs(views[0]["query"].removeprefix("?"))["until"] == ["2026-11-22T03:00:00Z"]
    real = next(each for each in views if each["report"] == "report-real.html")
    assert real["times"] == "2026-11-20 12:00 to 12:02 UTC"


def test_what_a_demo_before_has_left_is_removed_and_said_and_nothing_else(here, capfd):
    for folder in (demo.STACK / "conf", demo.TREE, demo.FOLDER / "before"):
        (here / folder).mkdir(parents=True)
    assert demo.clear()
    assert "this one begins anew" in capfd.readouterr().out
    assert [each.name for each in (here / demo.FOLDER).iterdir()] == ["before"]
    assert demo.clear()
    assert capfd.readouterr().out == ""


def test_a_stack_that_cannot_be_stopped_is_left_alone(here, capfd):
    (here / demo.STACK / "conf").mkdir(parents=True)
    (here / demo.STACK / "conf" / "ports.json").write_text("{")
    assert not demo.clear()
    assert "ports.json: damaged" in capfd.readouterr().err
    assert (here / demo.STACK).is_dir()


def test_a_port_that_is_taken_gives_way_to_another_and_that_is_said(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        found = demo.free_port(port)
    assert found > port
    assert f"Port {port} is taken by another process: {found} in its place." in capsys.readouterr().out


def test_two_demos_do_not_work_in_one_folder_at_once(here, capsys):
    (here / demo.FOLDER).mkdir()
    with (here / demo.FOLDER / "lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert demo.main() == 3
    assert "another make demo is at work" in capsys.readouterr().err
