"""Where points go: is a Carbon there, and what would its settings lose? Opens one connection, sends nothing."""

import configparser
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator

from lnetstat.agent.settings import RESEND_S
from lnetstat.doctor.checks import Check, Level, counted
from lnetstat.errors import SinkError
from lnetstat.sinks import address as addresses

CONNECT_S = 5.0
CLOSED_AT_ONCE_S = 0.5
TWISTED_BACKLOG = 50  # carbon's listen backlog; carbon.conf has no setting for it
CREATES_DEFAULT, UPDATES_DEFAULT, CACHE_DEFAULT = "inf", "500", "inf"  # of a setting that is left out: carbon/conf.py 1.1.10
CREATING_MIN_MAX = 10.0  # minutes until every new series has its file: what comes earlier is lost
CACHE_SECONDS_MIN = 60.0  # seconds of all points that the cache should hold while the disk is slow

Connect = Callable[[tuple[str, int], float], socket.socket]


def carbon_checks(text: str, nodes: int, *, connect: Connect = socket.create_connection) -> Iterator[Check]:
    """Yield whether somebody takes points at HOST:PORT and at its stand-ins after commas, and how many may come at once."""
    try:
        destinations = addresses.parse_addresses(text)
    except SinkError as error:
        yield Check(Level.CRITICAL, f"carbon {text}", str(error))
        return
    for destination in destinations:
        yield from _destination_checks(destination, nodes, connect)


def _destination_checks(destination: addresses.Address, nodes: int, connect: Connect) -> Iterator[Check]:
    name, port = f"carbon {addresses.name(destination)}", destination[1]
    try:
        with connect(destination, CONNECT_S) as kept:
            peer = kept.getpeername()[0]
            closed = _closes_at_once(kept)
    except (OSError, UnicodeError) as error:
        yield Check(Level.CRITICAL, name, f"cannot be reached: {_why(error)}", _remedy(error, port))
        return
    if closed:
        remedy = "a proxy without a Carbon behind it, or a Carbon that is full: see its log"
        yield Check(Level.CRITICAL, name, "takes the connection and closes it at once", remedy)
        return
    yield Check(Level.OK, name, f"takes connections (at {peer})")
    yield backlog_check(name, local_backlog(peer, port), nodes)


def _closes_at_once(kept: socket.socket) -> bool:
    kept.settimeout(CLOSED_AT_ONCE_S)
    try:
        return kept.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_S:g} s"
    return getattr(error, "strerror", None) or str(error)


def _remedy(error: Exception, port: int) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"is carbon running, and LINE_RECEIVER_PORT {port}? (2004 is pickle's, 2003 that of lines)"
    if isinstance(error, socket.gaierror | UnicodeError):
        return "is the name right? getent hosts NAME"
    if isinstance(error, TimeoutError):
        return "a firewall drops it, or the computer is down"
    return "ip route get ADDRESS; is there a firewall?"


def local_backlog(peer: str, port: int) -> int | None:
    """Return the listen backlog of a port of this computer, None for another computer's or where `ss` is missing."""
    ss = shutil.which("ss")
    if ss is None or not (peer.startswith("127.") or peer == "::1"):
        return None
    try:
        done = subprocess.run(
            [ss, "-Hltn", f"sport = :{port}"], capture_output=True, text=True, timeout=5, env={**os.environ, "LC_ALL": "C"}
        )
        return min(int(line.split()[2]) for line in done.stdout.splitlines())
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError):
        return None


def backlog_check(name: str, backlog: int | None, nodes: int) -> Check:
    """Say whether all nodes may come back at once: what does not fit into the backlog is lost without an error at the sender."""
    known = backlog if backlog is not None else TWISTED_BACKLOG
    how = "listen backlog" if backlog is not None else "listen backlog, as carbon has it (it cannot be seen from here)"
    if nodes > known:
        what = f"{how}: {known}, for {nodes} nodes: senders that connect at once may lose what they send first"
        remedy = "lnetstat keeps one connection, spreads reconnecting over 30 s and sends the last minute again; for other senders a relay"
        return Check(Level.WARNING, f"{name} backlog", what, remedy)
    return Check(Level.OK, f"{name} backlog", f"{how}: {known}, for {counted(nodes, 'node')}")


def proof_check(asks_graphite: bool) -> Check:
    """Say what connections to a Carbon do not show. `asks_graphite`: whether a graphite-web is asked as well."""
    what = "connections were opened, nothing was sent: not proved that it is a Carbon which listens, and that it keeps what it gets"
    if asks_graphite:
        return Check(Level.OK, "carbon proof", f"{what}; graphite-web answers for its own Carbon, which may be another one")
    return Check(Level.OK, "carbon proof", what, "--graphite URL asks a Carbon what it has lost")


def conf_checks(path: str, series: int, nodes: int, resend_s: float = RESEND_S) -> Iterator[Check]:
    """Yield what the settings of a carbon.conf lose of `series` series a second from each of `nodes` nodes.

    `resend_s`: what agents have sent so lately they send again when Carbon is killed.
    """
    try:
        cache = read_conf(path)
    except (OSError, ValueError, configparser.Error) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        yield Check(
            Level.UNKNOWN, "carbon.conf", f"{path}: cannot be read: {why}", "name the carbon.conf that carbon-cache is started with"
        )
        return
    total = series * nodes
    yield creates_check(number_of(cache.get("max_creates_per_minute", CREATES_DEFAULT)), total)
    yield cache_check(number_of(cache.get("max_cache_size", CACHE_DEFAULT)), total)
    yield updates_check(number_of(cache.get("max_updates_per_second", UPDATES_DEFAULT)), total, resend_s)
    if cache.get("enable_tags", "True").lower() in ("true", "1", "yes"):
        what = "ENABLE_TAGS: every new series is posted to TAGDB's web server as well"
        yield Check(Level.WARNING, "carbon.conf tags", what, "ENABLE_TAGS = False, unless tags are used")


def read_conf(path: str) -> dict[str, str]:
    """Return the settings of the [cache] section, names in lower case. Raises OSError, ValueError, configparser.Error."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with open(path, encoding="utf-8") as file:
        parser.read_file(file)
    if not parser.has_section("cache"):
        raise ValueError("it has no section [cache]")
    return dict(parser["cache"])


def number_of(text: str) -> float:
    """Return a number of carbon.conf, where `inf` stands for no limit; a value that is none counts as no limit."""
    try:
        return float(text)
    except ValueError:
        return float("inf")


def creates_check(creates_per_min: float, total: int) -> Check:
    """Say how long it takes until every series has a file, during which the points of the others are dropped without a word."""
    name = "carbon.conf creates"
    if creates_per_min == float("inf"):
        return Check(Level.OK, name, f"MAX_CREATES_PER_MINUTE = inf: {total} new series get their files at once")
    minutes = total / creates_per_min if creates_per_min > 0 else float("inf")
    what = f"MAX_CREATES_PER_MINUTE = {creates_per_min:g}: {total} new series need {_time(minutes)}; until then theirs are dropped silently"
    if minutes <= 1:
        return Check(Level.OK, name, f"MAX_CREATES_PER_MINUTE = {creates_per_min:g}: enough for {total} new series")
    level = Level.CRITICAL if minutes > CREATING_MIN_MAX else Level.WARNING
    return Check(level, name, what, "MAX_CREATES_PER_MINUTE = inf in [cache], then restart carbon")


def updates_check(updates_per_s: float, total: int, resend_s: float = RESEND_S) -> Check:
    """Say how long points stay in carbon's memory, where a kill loses them, before the agent would not send them again."""
    name = "carbon.conf updates"
    if updates_per_s == float("inf"):
        return Check(Level.OK, name, "MAX_UPDATES_PER_SECOND = inf: points are written as fast as the disk takes them")
    seconds = total / updates_per_s if updates_per_s > 0 else float("inf")
    what = f"MAX_UPDATES_PER_SECOND = {updates_per_s:g}: each of {total} series is written every {_time(seconds / 60)}"
    if seconds > resend_s:
        what += f"; when carbon is killed, what is older than the {resend_s:g} s that are sent again is lost"
        return Check(Level.WARNING, name, what, "MAX_UPDATES_PER_SECOND = inf, or several carbon-caches behind a relay")
    return Check(
        Level.OK, name, f"MAX_UPDATES_PER_SECOND = {updates_per_s:g}: each of {total} series is written at least every {resend_s:g} s"
    )


def cache_check(points_max: float, total: int) -> Check:
    """Say how many seconds of all points the cache holds while the disk does not keep up."""
    name = "carbon.conf cache"
    if points_max == float("inf"):
        remedy = f"MAX_CACHE_SIZE = {max(2_000_000, 120 * total)}, and watch carbon.agents.*.cache.size"
        return Check(Level.WARNING, name, "MAX_CACHE_SIZE = inf: a slow disk takes all memory", remedy)
    seconds = points_max / total if total else float("inf")
    what = f"MAX_CACHE_SIZE = {points_max:g}: {seconds:.0f} s of {total} points a second"
    if seconds < CACHE_SECONDS_MIN:
        return Check(Level.WARNING, name, f"{what}; points are lost while it is full", f"MAX_CACHE_SIZE = {120 * total}")
    return Check(Level.OK, name, what)


def _time(minutes: float) -> str:
    if minutes == float("inf"):
        return "for ever"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h" if minutes < 48 * 60 else f"{minutes / 1440:.0f} days"
