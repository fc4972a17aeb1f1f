"""What a Carbon tells of itself, asked through graphite-web: new series dropped, its cache, its relays' queues; and its clock."""

import base64
import http.client
import json
import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from lnetstat.doctor.checks import Check, Level

TIMEOUT_S = 20.0
LARGEST_BYTES = 20_000_000
USER, PASSWORD, TOKEN = "LNETSTAT_GRAPHITE_USER", "LNETSTAT_GRAPHITE_PASSWORD", "LNETSTAT_GRAPHITE_TOKEN"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SPAN = "-15min"
SPAN_WORDS = "the last 15 minutes"
OLD_S = 300.0
CLOCK_WARNING_S, CLOCK_CRITICAL_S = 3.0, 60.0  # the Date of an HTTP answer has whole seconds
TARGETS = (
    "carbon.agents.*.{creates,droppedCreates,errors}",
    "carbon.agents.*.cache.{size,overflow}",
    "carbon.relays.*.destinations.*.fullQueueDrops",
)


class Answer(NamedTuple):
    """What graphite-web said: its own time and how wrong that may be (None where it does not tell), and the series."""

    ahead_s: float | None
    may_be_wrong_s: float
    series: dict[str, list[tuple[float, int]]]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


def ask(base: str, clock_s: Callable[[], float] = time.time) -> Answer:
    """Ask a graphite-web for carbon's own metrics. Raises OSError or ValueError that says what is wrong."""
    place = urlsplit(base)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise ValueError("expected http://HOST[:PORT] or https://HOST[:PORT]")
    if "@" in place.netloc:
        raise ValueError(f"no user or password in the address, please: {USER} and {PASSWORD}, or {TOKEN}, in the environment")
    if place.scheme == "http" and place.hostname not in LOOPBACK and _authorization():
        raise ValueError(f"{USER}, {PASSWORD} and {TOKEN} go over https:// only")
    query = urlencode({"target": TARGETS, "from": SPAN, "format": "json"}, doseq=True)
    direct = [urllib.request.ProxyHandler({})] if place.hostname in LOOPBACK else []
    opener = urllib.request.build_opener(_NoRedirect(), *direct)
    request = urllib.request.Request(f"{base.rstrip('/')}/render?{query}", headers=_authorization())  # noqa: S310 - checked above
    begun_s = clock_s()
    with opener.open(request, timeout=TIMEOUT_S) as answer:
        middle_s, half_s = (begun_s + clock_s()) / 2, (clock_s() - begun_s) / 2
        date, body = answer.headers.get("Date"), answer.read(LARGEST_BYTES + 1)
    if len(body) > LARGEST_BYTES:
        raise ValueError(f"its answer is over {LARGEST_BYTES} bytes: not that of a Graphite")
    return Answer(_ahead_s(date, middle_s), half_s + 1, _series(body))


def _authorization() -> dict[str, str]:
    """Return the header that the site asks for: from the environment, as for `analyze graphite://`."""
    if token := os.environ.get(TOKEN):
        return {"Authorization": f"Bearer {token}"}
    if user := os.environ.get(USER):
        words = f"{user}:{os.environ.get(PASSWORD, '')}".encode()
        return {"Authorization": "Basic " + base64.b64encode(words).decode()}
    return {}


def _ahead_s(date: str | None, now_s: float) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() + 0.5 - now_s if date else None
    except (ValueError, OverflowError):
        return None


def _series(body: bytes) -> dict[str, list[tuple[float, int]]]:
    """Return {name: [(value, second)]} without the seconds that have no value. Raises ValueError."""
    try:
        return {
            str(series["target"]): [(float(value), int(second)) for value, second in series["datapoints"] if value is not None]
            for series in json.loads(body)
        }
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("its answer is not that of a Graphite's /render") from error


def graphite_checks(base: str, series: int, nodes: int, *, clock_s: Callable[[], float] = time.time) -> Iterator[Check]:
    """Yield what carbon's own metrics tell of losses, past and to come."""
    name = "graphite"
    try:
        answer = ask(base, clock_s)
    except urllib.error.HTTPError as error:
        what = f"{base}: status {error.code} {error.reason}"
        yield Check(Level.UNKNOWN, name, what, f"is it the address of graphite-web? does it want {USER} and {PASSWORD}, or {TOKEN}?")
        return
    except (OSError, ValueError, http.client.HTTPException) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        where = base.rpartition("@")[2]  # never a password
        yield Check(Level.UNKNOWN, name, f"{where}: cannot be asked: {why}", "is graphite-web there? try its address in a browser")
        return
    yield Check(Level.OK, name, f"{base}: answers")
    yield clock_difference(answer)
    yield from carbon_told(answer.series, series * nodes, clock_s())


def clock_difference(answer: Answer) -> Check:
    """Say how far this clock and that of graphite-web's computer are apart."""
    if answer.ahead_s is None:
        return Check(Level.UNKNOWN, "clock difference", "graphite-web does not tell its time", "compare `date` on both")
    apart_s = max(0.0, abs(answer.ahead_s) - answer.may_be_wrong_s)
    if apart_s < CLOCK_WARNING_S:
        return Check(
            Level.OK, "clock difference", f"graphite-web's clock is the same, within {answer.may_be_wrong_s + CLOCK_WARNING_S:.0f} s"
        )
    what = f"graphite-web's clock is {abs(answer.ahead_s):.0f} s {'ahead of' if answer.ahead_s > 0 else 'behind'} this one"
    level = Level.CRITICAL if apart_s >= CLOCK_CRITICAL_S else Level.WARNING
    return Check(level, "clock difference", what, "chronyc tracking on both: graphs end too early or show gaps")


def carbon_told(series: dict[str, list[tuple[float, int]]], total: int, now_s: float) -> Iterator[Check]:
    """Yield what carbon's own metrics say; `total` series are to come."""
    newest_s = max((values[-1][1] for values in series.values() if values), default=None)
    if newest_s is None:
        what = f"no carbon.agents.* of {SPAN_WORDS}: what this Carbon loses cannot be told"
        yield Check(Level.UNKNOWN, "carbon itself", what, "CARBON_METRIC_INTERVAL = 60, and a schema for ^carbon\\.")
        return
    if now_s - newest_s > OLD_S:
        what = f"its newest own metric is {now_s - newest_s:.0f} s old: it stands, or does not write any more"
        yield Check(Level.WARNING, "carbon itself", what, "see carbon's log; is its disk full?")
    yield _dropped(series, total)
    sizes = _values(series, ".cache.size")
    overflow = sum(_values(series, ".cache.overflow"))
    if overflow:
        what = f"its cache was full: {overflow:.0f} times in {SPAN_WORDS}"
        yield Check(Level.CRITICAL, "carbon cache", what, "a faster disk, a larger MAX_CACHE_SIZE, or several carbon-caches behind a relay")
    elif sizes:
        yield Check(Level.OK, "carbon cache", f"at most {max(sizes):.0f} points, never full in {SPAN_WORDS}")
    errors = sum(_values(series, ".errors"))
    if errors:
        yield Check(
            Level.WARNING, "carbon errors", f"{errors:.0f} errors of writing in {SPAN_WORDS}", "see carbon's log; is its disk full?"
        )
    queues = _values(series, ".fullQueueDrops")
    if sum(queues):
        what = f"a relay dropped {sum(queues):.0f} points in {SPAN_WORDS}: its queue was full"
        yield Check(Level.CRITICAL, "carbon relay", what, "a larger MAX_QUEUE_SIZE (10000 by default), or a faster destination")
    elif queues:
        yield Check(Level.OK, "carbon relay", f"no point dropped in {SPAN_WORDS}")


def _dropped(series: dict[str, list[tuple[float, int]]], total: int) -> Check:
    dropped = sum(_values(series, ".droppedCreates"))
    creates = max(_values(series, ".creates"), default=0.0)
    if dropped:
        what = f"points of new series were dropped: {dropped:.0f} times in {SPAN_WORDS}, at most {creates:.0f} series made a minute"
        return Check(Level.CRITICAL, "carbon creates", what, "MAX_CREATES_PER_MINUTE = inf in carbon.conf")
    what = f"no new series dropped in {SPAN_WORDS} (at most {creates:.0f} made a minute; {total} are to come)"
    if creates >= total:
        return Check(Level.OK, "carbon creates", what)
    return Check(Level.OK, "carbon creates", what, "--carbon-conf FILE says whether its limit would drop them")


def _values(series: dict[str, list[tuple[float, int]]], ending: str) -> list[float]:
    return [value for name, values in series.items() if name.endswith(ending) for value, _ in values if math.isfinite(value)]
