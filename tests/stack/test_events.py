"""What `watch` finds is an event in the real graphite-web, where dashboards read it."""

import json

from lnetstat.cli._events import EventPoster

WHEN = 1_700_000_100


def test_an_event_can_be_read_back(filled):
    told = []
    poster = EventPoster(f"graphite://127.0.0.1:{filled.web_port}", told.append)
    poster.post("dead_time begin: route_length of rtr1", WHEN, ["lnetstat", "dead_time", "begin"], {"schema": 1, "period_s": 75.0})
    poster.close(60)
    assert told == []
    answer = filled.get("/events/get_data", tags="lnetstat dead_time", **{"from": WHEN - 60, "until": WHEN + 60})
    assert answer.status == 200
    found = json.loads(answer.body)
    assert [(each["what"], each["when"]) for each in found] == [("dead_time begin: route_length of rtr1", WHEN)]
    assert json.loads(found[0]["data"])["period_s"] == 75.0
