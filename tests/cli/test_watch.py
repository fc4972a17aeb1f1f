"""`lnetstat watch`: one line for each change, JSON a line, ends on signals, and a web server that fails never holds it up."""

import http.server
import json
import signal
import subprocess
import sys
import threading

import jsonschema
import pytest

from lnetstat import cli
from lnetstat.cli import _schemas
from lnetstat.cli._events import EventPoster
from lnetstat.errors import SinkError
from lnetstat.model import Snapshot, State
from lnetstat.recording import RecordingWriter

BEGIN = 1_700_000_000
HEADER = "nid                      refs state  last   max   rtr   min    tx   min queue\n"


def write(writer, seconds, free=8):
    for second in seconds:
        texts = {
            "peers": f"{HEADER}10.2.0.1@tcp1 1 up -1 8 8 8 {free} {free} 0\n",
            "stats": f"0 1 0 0 0 {second * 100} 0 0 0 {second * 10**8} 0\n",
            "buffers": "pages count credits min\n0 512 512 512\n1 4096 4096 4000\n256 256 256 250\n",
        }
        stamp = (BEGIN + second) * 10**9
        writer.write([Snapshot(name, "rtr1", stamp, None, 0, State.OK, 0, frozenset(), text) for name, text in texts.items()])


@pytest.fixture
def recorded(tmp_path):
    folder = tmp_path / "rec"
    with RecordingWriter(str(folder)) as writer:
        write(writer, range(30))
        write(writer, range(30, 40), free=-4)
    return str(folder)


@pytest.fixture
def web():
    """A web server that fails with 500 twice, then takes what is posted."""
    taken, answers = [], [500, 500]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = answers.pop(0) if answers else 200
            if status == 200:
                taken.append((self.path, json.loads(body)))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}", taken
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_is_there_is_told_line_by_line(recorded, capsys):
    assert cli.run(["watch", recorded, "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("oversubscribed_peers begin: peer 10.2.0.1@tcp1 on rtr1: 4 messages waited" in line for line in lines)
    assert all(line.startswith("2023-11-14T22:1") for line in lines)


def test_json_is_one_object_a_line(recorded, capsys):
    assert cli.run(["watch", recorded, "--once", "--json"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    schema = _schemas.watch()
    for each in objects:
        jsonschema.validate(each, schema)
        assert set(each) == set(schema["required"])
    assert {"verdict", "oversubscribed_peers"} <= {each["kind"] for each in objects}
    assert all(each["schema"] == 1 and each["change"] in ("begin", "worse", "end", "note") for each in objects)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_follows_a_writer_and_ends_on_a_signal(tmp_path, number, status):
    folder = tmp_path / "rec"
    with RecordingWriter(str(folder)) as writer:
        write(writer, range(5))
        command = [sys.executable, "-m", "lnetstat", "watch", str(folder), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            write(writer, range(5, 20))
            assert json.loads(process.stdout.readline())["kind"] == "verdict"
            write(writer, range(20, 30), free=-3)
            assert json.loads(process.stdout.readline())["kind"] == "oversubscribed_peers"
            process.send_signal(number)
            assert process.wait(timeout=60) == status
            assert process.stderr.read() == ""


def test_no_recording_is_one_line_and_status_3(tmp_path, capsys):
    assert cli.run(["watch", str(tmp_path)]) == 3
    assert "no recording" in capsys.readouterr().err


def test_events_are_posted_also_past_errors_of_the_server(recorded, web, capsys, monkeypatch):
    monkeypatch.setattr("lnetstat.cli._events.PAUSES_S", (0.0, 0.0))
    address, taken = web
    assert cli.run(["watch", recorded, "--once", "--events", f"graphite://{address}"]) == 0
    assert {path for path, _ in taken} == {"/events/"}
    posted = next(event for _, event in taken if event["what"].startswith("oversubscribed_peers begin"))
    assert posted["tags"][:3] == ["lnetstat", "oversubscribed_peers", "begin"]
    assert posted["when"] == BEGIN + 30, "where it began, not when it was told"
    data = json.loads(posted["data"])
    assert (data["schema"], data["host"], data["state"]) == (1, "rtr1", "rtr1")
    assert [data[name] // 10**9 - BEGIN for name in ("begin_ns", "end_ns", "time_ns")] == [30, 39, 39]


def test_push_posts_the_same_events_to_any_url(recorded, web, capsys, monkeypatch):
    address, taken = web
    monkeypatch.setattr("lnetstat.cli._events.PAUSES_S", (0.0, 0.0))
    assert cli.run(["watch", recorded, "--once", "--json", "--push", f"http://{address}/hook?team=io"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {path for path, _ in taken} == {"/hook?team=io"}
    assert [json.loads(event["data"]) for _, event in taken] == printed


def test_history_says_how_much_of_what_is_there_is_looked_at(tmp_path, capsys):
    folder = tmp_path / "rec"
    for first in (0, 1000):  # a segment each
        with RecordingWriter(str(folder)) as writer:
            write(writer, range(first, first + 30))
    kinds = []
    for history in ("60s", "30min"):
        assert cli.run(["watch", str(folder), "--once", "--json", "--history", history]) == 0
        kinds.append({json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()})
    assert "data_gap" not in kinds[0]
    assert "data_gap" in kinds[1], "the hole between the segments"


def test_a_server_that_is_not_there_is_told_once_and_never_waited_for(capsys, monkeypatch):
    monkeypatch.setattr("lnetstat.cli._events.PAUSES_S", (0.0, 0.0))
    told = []
    poster = EventPoster("graphite://127.0.0.1:1", told.append)
    for number in range(3):
        poster.post(f"event {number}", BEGIN, [], {})
    poster.close()
    assert len([line for line in told if "cannot be delivered" in line]) == 1
    assert "3 events could not be delivered" in told[-1]


@pytest.mark.parametrize("url", ["graphite://", "ftp://here", "nothing", "graphite://host:port"])
def test_a_wrong_address_is_said(recorded, url, capsys):
    with pytest.raises(SinkError, match="expected graphite://HOST:PORT"):
        EventPoster(url, print)
    assert cli.run(["watch", recorded, "--once", "--events", url]) == 2
