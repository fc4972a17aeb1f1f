"""Series from a Graphite: /render over HTTP, standard library only.

    graphite://HOST[:PORT]/TARGET?from=-2h&until=now[&target=MORE]         graphite+https:// for TLS
    graphite://HOST/PREFIX/render?target=TARGET&from=-2h                   where Graphite lies below a path

A null is a missing sample, not a zero; nothing is consolidated (no maxDataPoints). User and password come from LNETSTAT_GRAPHITE_USER and
LNETSTAT_GRAPHITE_PASSWORD, or a token from LNETSTAT_GRAPHITE_TOKEN: never from the address, and no message names them. SSL_CERT_FILE names
the authorities to trust beside those of the system.
"""

import base64
import http.client
import json
import math
import os
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import numpy as np
import numpy.typing as npt
import pandas as pd

from lnetstat.errors import SourceError, shown
from lnetstat.series import graphite_roles

SCHEMES = {"graphite": "http", "graphite+https": "https"}
USER, PASSWORD, TOKEN = "LNETSTAT_GRAPHITE_USER", "LNETSTAT_GRAPHITE_PASSWORD", "LNETSTAT_GRAPHITE_TOKEN"
TIMEOUT_S = 60.0  # a cold graphite-web takes some seconds for its first answer; a minute without an end is no answer
LARGEST_BYTES = 500_000_000
PART_BYTES = 1 << 20
EXPECTED = "expected graphite://HOST[:PORT]/TARGET?from=-2h&until=now"
FINE_S = 6.25  # a quarter of the usual ping interval of 25 s: coarser data hardly show a dip
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Fetched(NamedTuple):
    """One series: its name as Graphite gave it, epoch seconds and values, both of shape (n,); NaN is missing."""

    target: str
    time_s: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]


class Place(NamedTuple):
    """Where to ask and for what. `base`: http(s)://HOST:PORT[/PREFIX]; `name`: the address as messages may show it."""

    base: str
    name: str
    host: str
    targets: tuple[str, ...]
    begin: str
    until: str


def is_location(location: str) -> bool:
    """Return True when the location names a Graphite."""
    return location.partition("://")[0] in SCHEMES and "://" in location


def place_of(location: str) -> Place:
    """Return the parts of a location; raises SourceError where it is none, without repeating what may be a password."""
    try:
        parts = urlsplit(location)
        port = parts.port
    except ValueError:
        raise SourceError(f"graphite: the host or port of the address cannot be read: {EXPECTED}") from None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise SourceError(f"graphite: a name or password in the address would be seen by all users: set {USER} and {PASSWORD}, or {TOKEN}")
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise SourceError(f"graphite: no host in the address: {EXPECTED}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    address = f"{host}:{port}" if port else host
    query = parse_qs(parts.query)
    unknown = sorted(set(query) - {"from", "until", "target"})
    if unknown:
        raise SourceError(f"graphite://{address}: parameter {shown(unknown[0])} is not known: {EXPECTED}")
    path = unquote(parts.path).strip("/")
    prefix, is_render, _ = (
        ("", "", "") if path != "render" and not path.endswith("/render") else (path[: -len("render")].rstrip("/"), "r", "")
    )
    targets = query.get("target", []) if is_render or not path else [path, *query.get("target", [])]
    if parts.fragment:
        raise SourceError(f"graphite://{address}: # ends an address: write it as %23 in a target")
    base = f"{SCHEMES[parts.scheme]}://{address}" + (f"/{quote(prefix)}" if prefix else "")
    return Place(
        base, f"{parts.scheme}://{address}", parts.hostname, tuple(targets), query.get("from", ["-1h"])[-1], query.get("until", ["now"])[-1]
    )


def checked(location: str) -> None:
    """Raise SourceError where a location could not be asked at any time: no address, or no target."""
    place = place_of(location)
    if not place.targets:
        raise SourceError(f"{place.name}: no target: {EXPECTED}")


def load(location: str, *, begin_s: float | None = None, timeout_s: float = TIMEOUT_S) -> pd.DataFrame:
    """Return the table of all series at a location: which is traffic, pings or credits is told by our metrics' names or an alias().

    `begin_s`: from when on, in epoch seconds, whatever the location says. Beside our own traffic the pings of all servers are asked for.
    """
    place = place_of(location)
    found = fetch(location, begin_s=begin_s, timeout_s=timeout_s)
    beside = graphite_roles.pings_beside([each.target for each in found])
    if beside:  # what explains the dips of a router is counted by servers
        known = {each.target for each in found}
        more = fetch(location, targets=beside, begin_s=begin_s, timeout_s=timeout_s, may_be_empty=True)
        found += [each for each in more if each.target not in known]
    table = graphite_roles.table_of(place.name, found)
    steps = np.diff(np.unique(table["time"].to_numpy(np.float64)))
    step_s = float(np.median(steps)) if steps.size else 0.0
    if step_s > FINE_S:
        table.attrs["notes"].append(
            f"{place.name}: values come every {step_s:g} s: dips of a few seconds do not show; Graphite keeps finer ones for a while "
            "(its retention): ask for a time that is not so long ago, or analyze a recording"
        )
    if place.base.startswith("http:") and place.host not in LOOPBACK and _authorization():
        table.attrs["notes"].append(f"{place.name}: the password went over the network unencrypted: graphite+https:// would not")
    return table


def fetch(
    location: str,
    *,
    targets: Sequence[str] = (),
    begin_s: float | None = None,
    end_s: float | None = None,
    timeout_s: float = TIMEOUT_S,
    may_be_empty: bool = False,
) -> list[Fetched]:
    """Return the series of the given targets (else of those in the location), from `begin_s` to `end_s` (epoch seconds, else as there).

    Raises SourceError, one line, where Graphite cannot be reached, refuses, answers something else, or (unless `may_be_empty`) knows no
    such series or no value of them.
    """
    place = place_of(location)
    wanted = tuple(targets) or place.targets
    if not wanted:
        raise SourceError(f"{place.name}: no target: {EXPECTED}")
    query = {
        "target": wanted,
        # Graphite gives what lies after `from`: the second at `begin_s` itself is wanted too.
        "from": place.begin if begin_s is None else str(math.floor(begin_s) - 1),
        "until": place.until if end_s is None else str(math.ceil(end_s)),
        "format": "json",  # with nulls: noNullPoints would leave them out, and graphite-web takes it for true whatever its value
    }
    found = _series(place, _answer(place, f"{place.base}/render?{urlencode(query, doseq=True)}", timeout_s))
    if may_be_empty:
        return found
    if not found:
        raise SourceError(f"{place.name}: no series matches {shown(', '.join(wanted))}: look for its name in Graphite's tree")
    if not any(np.isfinite(each.value).any() for each in found):
        raise SourceError(
            f"{place.name}: {shown(', '.join(wanted))} has no value from {query['from']} until {query['until']}: ask for another time"
        )
    return found


def names_of(location: str, pattern: str, *, timeout_s: float = TIMEOUT_S) -> set[str]:
    """Return the last nodes of all paths in Graphite's tree that follow a pattern: rtr1, oss1 of lnet.*. Raises SourceError as `fetch`."""
    place = place_of(location)
    document = _list(place, _answer(place, f"{place.base}/metrics/find?{urlencode({'query': pattern})}", timeout_s), "nodes")
    try:
        return {str(each["text"]) for each in document}
    except (KeyError, TypeError):
        raise SourceError(f"{place.name}: answers with nodes without a name: is it a graphite-web?") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is told, not followed: it leads to a login page, or would carry the password to another host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _answer(place: Place, url: str, timeout_s: float) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "lnetstat"})  # noqa: S310 (http or https: SCHEMES)
    authorization = _authorization()
    if authorization:
        request.add_unredirected_header("Authorization", authorization)
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if place.host in LOOPBACK:
        handlers.append(urllib.request.ProxyHandler({}))  # a proxy of the environment has no business on loopback
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as answer:
            return _body(place, answer, timeout_s)
    except urllib.error.HTTPError as error:
        with error:
            raise SourceError(f"{place.name}: {_refusal(error)}") from None
    except urllib.error.URLError as error:
        raise SourceError(f"{place.name}: {_unreachable(error.reason, timeout_s)}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SourceError(f"{place.name}: {_unreachable(error, timeout_s)}") from None


def _body(place: Place, answer: http.client.HTTPResponse, timeout_s: float) -> bytes:
    """Return the whole answer; one that trickles is given up after the time-out as well."""
    deadline_s = time.monotonic() + timeout_s
    parts, size = [], 0
    while part := answer.read1(PART_BYTES):
        parts.append(part)
        size += len(part)
        if size > LARGEST_BYTES:
            raise SourceError(f"{place.name}: the answer has more than {LARGEST_BYTES} bytes: ask for fewer series or a shorter time")
        if time.monotonic() > deadline_s:
            raise TimeoutError
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)
    return b"".join(parts)


def _authorization() -> str:
    """Return the value of the header from the environment; empty where nothing is set."""
    token, user = os.environ.get(TOKEN, ""), os.environ.get(USER, "")
    if token:
        return f"Bearer {token}"
    return "Basic " + base64.b64encode(f"{user}:{os.environ.get(PASSWORD, '')}".encode()).decode() if user else ""


def _refusal(error: urllib.error.HTTPError) -> str:
    status = f"answers {error.code} ({http.client.responses.get(error.code, 'no such status')})"
    if error.code in (401, 403):
        return f"{status}: set {USER} and {PASSWORD}, or {TOKEN}" + (" to others: these were refused" if _authorization() else "")
    if 300 <= error.code < 400:
        target = urlsplit(error.headers.get("Location") or "")
        where = shown(target.path or "/")
        return f"{status}, sent on to {where}: a login page, or https (graphite+https://); only an answer of /render itself is read"
    if error.code == 404:
        return f"{status} to /render: is it a graphite-web, and does it lie below a path (graphite://HOST/PATH/render?target=…)?"
    if error.code >= 500:
        return f"{status}: its log says why; ask again, for fewer series or a shorter time"
    return f"{status}: it does not understand the target or the time: {EXPECTED}"


def _unreachable(reason: object, timeout_s: float) -> str:
    if isinstance(reason, TimeoutError):
        return f"no whole answer within {timeout_s:g} s: ask for fewer series or a shorter time"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({reason.verify_message}): name the authority's file in SSL_CERT_FILE"
    if isinstance(reason, ssl.SSLError):
        return "no TLS there: graphite:// is for plain HTTP"
    if isinstance(reason, socket.gaierror):
        return "no such host: check its name"
    if isinstance(reason, ConnectionRefusedError):
        return "connection refused: is graphite-web running, and is this its port?"
    if isinstance(reason, http.client.HTTPException):
        return "the answer is no HTTP or breaks off: is this the port of graphite-web? (2003 is carbon's)"
    if isinstance(reason, OSError) and reason.strerror:
        return f"cannot be reached: {reason.strerror}"
    return "cannot be reached: the address or the answer is damaged"


def _series(place: Place, body: bytes) -> list[Fetched]:
    """Return the series of an answer."""
    return [_one(place, each) for each in _list(place, body, "series")]


def _list(place: Place, body: bytes, of: str) -> list[Any]:
    """Return the list that an answer is; anything but Graphite's JSON is told."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        begin = body[:200].lstrip().lower()
        what = (
            "an HTML page: a login page or another service?"
            if begin.startswith(b"<")
            else f"no JSON: {shown(body[:60].decode('utf-8', 'replace'))}"
        )
        raise SourceError(f"{place.name}: answers with {what}") from None
    if not isinstance(document, list):
        raise SourceError(f"{place.name}: answers with JSON that is no list of {of}: is it a graphite-web?")
    return document


def _one(place: Place, each: Any) -> Fetched:
    try:
        target, points = str(each["target"]), each["datapoints"]
        table = np.array([(math.nan if value is None else float(value), float(stamp)) for value, stamp in points], dtype=np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SourceError(f"{place.name}: a series without target or datapoints [value, time]: is it a graphite-web?") from None
    table = table.reshape(-1, 2)
    table = table[np.isfinite(table[:, 1])]
    return Fetched(target, table[:, 1], np.where(np.isfinite(table[:, 0]), table[:, 0], np.nan))
