"""`lnetstat watch graphite://…`: the verdicts of a recording from what a Graphite answers, and patience with one that fails."""

import http.server
import itertools
import json
import threading
import time
import types

import numpy as np
import pytest

from lnetstat import cli
from lnetstat.cli import _polling
from lnetstat.cli._polling import polled
from lnetstat.workers.stopping import Asked

BEGIN = 1_700_000_000
TARGET = "lnet.rtr1.lnet_stats.route_length"
MOST_POLLS = 100
CREDITS = "lnet.rtr1.peers.tcp1.tx_credits_worst"


def body(seconds, *, dips=range(0), stops=range(0), short=range(0)):
    """What /render answers: bytes routed with 2 s dips every 20 s, credits; the last two seconds have not come yet."""
    at = np.arange(seconds)
    noise = 1 + 0.03 * np.random.default_rng(8).standard_normal(seconds)
    load = 1e9 * noise * np.where((at % 20 < 2) & np.isin(at, dips), 0.3, 1.0) * ~np.isin(at, stops)
    moved = [*np.cumsum(load).round().tolist(), None, None]
    free = [*np.where(np.isin(at, short), -3, 8).tolist(), None, None]
    return json.dumps(
        [
            {"target": name, "datapoints": [[v, BEGIN + t] for t, v in enumerate(values)]}
            for name, values in ((TARGET, moved), (CREDITS, free))
        ]
    ).encode()


class Web:
    """A web server on loopback that gives its answers in turn, the last for ever. None: it hangs up. It knows of no pings."""

    def __init__(self):
        self.answers = [(200, b"[]")]
        self.asked = []
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if "obd_ping" in self.path:  # asked for beside the traffic of each answer
                    answer = (200, b"[]")
                else:
                    web.asked.append((self.path, self.headers.get("Authorization")))
                    answer = web.answers.pop(0) if len(web.answers) > 1 else web.answers[0]
                if answer is None:
                    return
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(answer[1])))
                self.end_headers()
                self.wfile.write(answer[1])

            def log_message(self, *_):
                pass

        self._handler = Handler
        self._http = None
        self.up(0)

    def up(self, port):
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", port), self._handler)
        self.port = self._http.server_port
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def down(self):
        if self._http is not None:
            self._http.shutdown()
            self._thread.join()
            self._http.server_close()
        self._http = None


@pytest.fixture
def web():
    made = Web()
    yield made
    made.down()


@pytest.fixture
def at_once(monkeypatch):
    """No pauses between polls: the samples' own stamps rule. What is waited for and never comes fails the test."""
    polls = itertools.count(1)

    def wait(self, seconds=None):
        assert next(polls) < MOST_POLLS, "what the test waits for does not come"
        return self.is_set()

    monkeypatch.setattr(Asked, "wait", wait)


def where(web):
    return f"graphite://127.0.0.1:{web.port}/{TARGET}?target={CREDITS}"


def watching(web):
    return polled(where(web), Asked(), [], history_s=1800.0, once=False, kind="rate", credits_max=8)


def until(changes, kind, change):
    """Take events up to the one that is waited for; return all of them."""
    taken = []
    for event in changes:
        taken.append((event.kind, event.change))
        if taken[-1] == (kind, change):
            return taken
    return taken


def test_dead_time_and_credits_begin_and_end_as_in_a_recording(web, at_once):
    web.answers = [(200, body(60)), (200, body(300, dips=range(60, 300), short=range(280, 290)))]
    changes = watching(web)
    begun = until(changes, "verdict", "note") + until(changes, "verdict", "note")
    assert begun.count(("dead_time", "begin")) == begun.count(("oversubscribed_peers", "begin")) == 1
    web.answers = [(200, body(700, dips=range(60, 300), short=range(280, 290)))]  # five minutes of quiet and more
    ended = until(changes, "verdict", "note")
    assert ended.count(("dead_time", "end")) == ended.count(("oversubscribed_peers", "end")) == 1
    assert not {("dead_time", "begin"), ("oversubscribed_peers", "begin")} & set(ended)


def test_traffic_that_stops_is_told_once_and_when_it_moves_again(web, at_once):
    web.answers = [(200, body(300)), (200, body(340, stops=range(300, 340))), (200, body(700, stops=range(300, 700)))]
    changes = watching(web)
    assert ("traffic_stopped", "begin") in until(changes, "traffic_stopped", "begin")
    web.answers.append((200, body(800, stops=range(300, 700))))
    ended = next(event for event in changes if event.kind == "traffic_stopped")
    assert (ended.change, ended.time_ns) == ("end", (BEGIN + 799) * 10**9), "a stop that is longer than half of the window goes on"
    web.answers = [(200, body(820, stops=range(300, 700))), (500, b"")]
    assert "traffic_stopped" not in {kind for kind, _ in until(changes, "no_answer", "begin")}


@pytest.mark.parametrize("failure", [(500, b"<html>Traceback"), (200, b"<html>Log in"), (200, b"[]"), (200, b"{"), None])
def test_a_graphite_that_fails_for_a_while_is_told_once_and_when_it_is_back(web, at_once, failure):
    web.answers = [(200, body(100)), *[failure] * 5, (503, b""), (200, body(130))]
    changes = watching(web)
    assert until(changes, "no_answer", "end")[-2:] == [("no_answer", "begin"), ("no_answer", "end")]
    assert len(web.asked) == 8


def test_refused_connections_are_waited_out(web, at_once):
    web.answers = [(200, body(100))]
    port = web.port
    web.down()
    changes = watching(web)
    event = next(changes)
    assert (event.kind, event.change) == ("no_answer", "begin")
    assert "connection refused" in event.message
    web.up(port)
    event = next(changes)
    assert (event.kind, event.change) == ("no_answer", "end")
    assert next(changes).kind == "verdict"


def test_the_window_that_is_asked_for_is_bounded_and_credentials_are_those_of_the_environment(web, at_once, monkeypatch):
    monkeypatch.setenv("LNETSTAT_GRAPHITE_TOKEN", "s3cret-word")
    now = [2e9]
    monkeypatch.setattr(_polling, "time", types.SimpleNamespace(time=lambda: now[0], monotonic=time.monotonic))
    web.answers = [(200, body(60)), (500, b""), (200, body(100)), (500, b"")]
    changes = watching(web)
    until(changes, "no_answer", "begin")
    now[0] += 86400.0
    until(changes, "no_answer", "end")
    begins = [int(path.partition("from=")[2].partition("&")[0]) for path, _ in web.asked[:3]]
    assert begins[0] == 2e9 - 1800 - 1
    assert begins[-1] in (2e9 + 86400 - 1800 - 1, begins[0])
    until(changes, "no_answer", "begin")
    last = int(web.asked[-1][0].partition("from=")[2].partition("&")[0])
    assert last == 2e9 + 86400 - 1800 - 1
    assert {given for _, given in web.asked} == {"Bearer s3cret-word"}


def test_nothing_new_is_told_once(web, at_once, monkeypatch):
    web.answers = [(200, body(60))] * 20 + [(500, b"")]
    clock = itertools.count(0.0, 1000.0)
    monkeypatch.setattr(_polling, "time", types.SimpleNamespace(time=time.time, monotonic=lambda: next(clock)))
    assert until(watching(web), "no_answer", "begin") == [("verdict", "note"), ("no_samples", "note"), ("no_answer", "begin")]


def test_once_prints_what_there_is_and_fails_in_one_line(web, capsys):
    web.answers = [(200, body(300, dips=range(300))), (500, b"")]
    assert cli.run(["watch", where(web), "--once", "--json"]) == 0
    kinds = [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()]
    assert kinds == ["dead_time", "verdict"]
    assert cli.run(["watch", where(web), "--once"]) == 3
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 1)


@pytest.mark.parametrize("location", ["graphite://", "graphite://host", "graphite://user:word@host/x"])
def test_an_address_that_can_never_be_asked_ends_at_once(location, capsys):
    assert cli.run(["watch", location]) == 3
    assert "word" not in capsys.readouterr().err.replace("password", "")
