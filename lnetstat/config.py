"""The agent's configuration file: TOML, every key checked, every error with the file, the key and what was expected.

Read by the command line and, on SIGHUP, by the agent itself: standard library only. collectors/lnetstat.toml documents each key. The
words for sizes and times are those of the command line, which takes them from here.
"""

import math
import os
import re
import stat
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lnetstat.errors import LnetstatError, SinkError, shown
from lnetstat.sinks import address

INTERVAL_S_MIN = 0.05
INTERVAL_S_MAX = 3600.0
DEADLINE_S_MAX = 10.0  # longer than that nothing may hold up a tick: the service manager would take the agent for dead
SERIES_MIN = 200
RECORDING_BYTES_MIN = 1_000_000  # room for several segments, of which the oldest goes first
SPOOL_BYTES_MIN = 1_000_000
FILE_BYTES_MAX = 1_000_000

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SECONDS = {"ms": 0.001, "": 1, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}


class ConfigError(LnetstatError):
    """A configuration cannot be used; `problems` has one line for each reason."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        more = f" (and {len(problems) - 1} more: lnetstat agent --check-config says them all)" if len(problems) > 1 else ""
        super().__init__(problems[0] + more)


class Key(NamedTuple):
    """One key of the file, the setting it becomes, and its check, which raises ValueError with what was expected."""

    name: str
    setting: str
    check: Callable[[Any], Any]


def read_config(path: str) -> dict[str, Any]:
    """Return the settings a file sets, by their names in AgentSettings. Raises ConfigError with all that is wrong."""
    settings, problems = _checked(_document(path))
    if problems:
        raise ConfigError([f"{path}: {problem}" for problem in problems])
    return settings


def contradictions(settings: Mapping[str, Any]) -> list[str]:
    """Return what cannot be so about settings that are each right for themselves, from a file, from the command line or both."""
    problems = []
    takers = ("carbon", "stdout", "recording", "prometheus", "textfile")
    if not any(settings.get(taker) for taker in takers):
        problems.append(
            "say where points go: --carbon HOST:PORT, --prometheus ADDR:PORT, --textfile FILE, --stdout, or --record DIR"
            " (in a file: carbon.to, prometheus.listen, prometheus.textfile, recording.folder)"
        )
    if settings.get("reset_low_water") and settings.get("root", "/") != "/":
        problems.append("reset_low_water writes to this node's files: it cannot be used together with another root")
    if settings.get("spool") and not settings.get("carbon"):
        problems.append("a spool keeps what Carbon has not got yet: say which Carbon (carbon.to, --carbon HOST:PORT)")
    spool, recording = settings.get("spool"), settings.get("recording")
    if spool and recording and os.path.abspath(spool) == os.path.abspath(recording):
        problems.append("recording and spool are one folder: each bounds and removes what lies in its own: name two")
    firsts = [destination.split(",")[0].lower() for destination in settings.get("carbon", ())]
    if len(set(firsts)) < len(firsts):
        problems.append("one Carbon is named twice: each destination once, with all that stand in for it after commas")
    return problems


# ---- values ----


def parse_size(value: Any) -> int:
    """Return bytes of 500000, "200M", "2GiB"."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmg]i?|)b?", _words(value).lower())
    if not found:
        raise ValueError("expected bytes such as 500000, 200M or 2GiB")
    return int(float(found[1]) * _UNITS[found[2]])


def parse_seconds(value: Any) -> float:
    """Return seconds of 0.1, "50ms", "10s", "5min", "2h", "7d"."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|m|h|d|)", _words(value).lower())
    if not found:
        raise ValueError("expected seconds such as 0.1, 50ms, 10s, 5min, 2h or 7d")
    return float(found[1]) * _SECONDS[found[2]]


def parse_interval(value: Any) -> float:
    """Return the seconds of a sampling interval."""
    seconds = parse_seconds(value)
    if not INTERVAL_S_MIN <= seconds <= INTERVAL_S_MAX:
        raise ValueError("expected an interval from 50ms (the shortest) to 1h")
    return seconds


def parse_prefix(value: Any) -> str:
    """Return the first nodes of metric paths."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", value, re.ASCII):
        raise ValueError("expected letters, digits, _ and -, nodes apart by dots, such as lnet or site.lnet")
    return value


def parse_name(value: Any) -> str:
    """Return a name or a path."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("expected a text that is not empty and has nothing unprintable (an unset variable?)")
    return value


def parse_addresses(value: Any) -> tuple[str, ...]:
    """Return HOST:PORTs of a list, or of a single text; each may be several with commas between, of which one is used."""
    destinations = [value] if isinstance(value, str) else value
    if not isinstance(destinations, (list, tuple)) or not all(isinstance(destination, str) for destination in destinations):
        raise ValueError('expected a list of HOST:PORT, such as ["graphite:2003"]')
    try:
        return tuple(",".join(address.name(each) for each in address.parse_addresses(destination)) for destination in destinations)
    except SinkError as error:
        raise ValueError(str(error)) from error


def parse_listener(value: Any) -> str:
    """Return one HOST:PORT."""
    if not isinstance(value, str):
        raise ValueError("expected HOST:PORT as a text")
    try:
        address.parse_address(value)
    except SinkError as error:
        raise ValueError(str(error)) from error
    return value


def _words(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return str(value).strip()


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _series(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < SERIES_MIN:
        raise ValueError(f"expected a whole number, at least {SERIES_MIN}")
    return value


def _deadline(value: Any) -> float:
    seconds = parse_seconds(value)
    if not INTERVAL_S_MIN <= seconds <= DEADLINE_S_MAX:
        raise ValueError("expected a deadline from 50ms to 10s")
    return seconds


def _at_least(bytes_min: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        size = parse_size(value)
        if 0 < size < bytes_min:
            raise ValueError("too little to drop old parts from: expected at least 1M")
        return size

    return check


def _bound(value: Any) -> int:
    size = _at_least(SPOOL_BYTES_MIN)(value)
    if not size:
        raise ValueError("a spool has a bound: expected bytes such as 200M or 2GiB")
    return size


def _age(value: Any) -> float:
    seconds = parse_seconds(value)
    if seconds < 1:
        raise ValueError("expected at least 1s, such as 6h")
    return seconds


def _textfile(value: Any) -> str:
    name = parse_name(value)
    if not name.endswith(".prom"):
        raise ValueError("expected a name that ends in .prom: node_exporter reads no other")
    return name


KEYS = (
    Key("host", "host", parse_name),
    Key("root", "root", parse_name),
    Key("interval", "interval_s", parse_interval),
    Key("deadline", "deadline_s", _deadline),
    Key("reset_low_water", "reset_low_water", _switch),
    Key("prefix", "prefix", parse_prefix),
    Key("series_max", "series_max", _series),
    Key("status", "status", parse_name),
    Key("carbon.to", "carbon", parse_addresses),
    Key("carbon.resend", "resend_s", _age),
    Key("spool.folder", "spool", parse_name),
    Key("spool.max_bytes", "spool_max_bytes", _bound),
    Key("spool.max_age", "spool_max_age_s", _age),
    Key("prometheus.listen", "prometheus", parse_listener),
    Key("prometheus.textfile", "textfile", _textfile),
    Key("recording.folder", "recording", parse_name),
    Key("recording.max_bytes", "max_bytes", _at_least(RECORDING_BYTES_MIN)),
    Key("recording.max_age", "max_age_s", parse_seconds),
)
_BY_NAME = {key.name: key for key in KEYS}
_SECTIONS = frozenset(key.name.partition(".")[0] for key in KEYS if "." in key.name)


# ---- the file ----


def _document(path: str) -> dict[str, Any]:
    import tomllib

    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise ConfigError([f"{path}: a pipe: expected a plain file, which a reload can read without waiting"])
        with open(path, "rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror or error}"]) from error
    if len(data) > FILE_BYTES_MAX:
        raise ConfigError([f"{path}: longer than {FILE_BYTES_MAX} bytes: no configuration of lnetstat"])
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{path}: line {line}: not UTF-8: expected a text file in TOML"]) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError([f"{path}: not TOML: {error}"]) from error


def _checked(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings and what is wrong, one line each, the key first."""
    settings: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in _flat(document, problems):
        key = _BY_NAME.get(name)
        if key is None:
            problems.append(f"{_key_shown(name)}: no such key{_meant(name)}")
            continue
        try:
            settings[key.setting] = key.check(value)
        except ValueError as error:
            problems.append(f"{name}: {_value_shown(value)}: {error}")
    return settings, problems


def _flat(document: Mapping[str, Any], problems: list[str]) -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in document.items():
        if name in _SECTIONS and not isinstance(value, dict):
            problems.append(f"{name}: {_value_shown(value)}: expected a section: [{name}] on a line of its own, its keys below")
        elif name in _SECTIONS:
            flat += [(f"{name}.{inner}", what) for inner, what in value.items()]
        else:
            flat.append((name, value))
    return flat


def _meant(name: str) -> str:
    import difflib

    section, dot, _ = name.partition(".")
    if dot:
        return f" ([{section}] has: {', '.join(key.rpartition('.')[2] for key in _BY_NAME if key.startswith(section + '.'))})"
    close = difflib.get_close_matches(name, [*_BY_NAME, *_SECTIONS], 1)
    return f": was {close[0]} meant?" if close else f" (there are: {', '.join(_BY_NAME)})"


def _key_shown(name: str) -> str:
    return name if name.isprintable() and len(name) <= 60 else shown(name)


def _value_shown(value: Any) -> str:
    return shown(value if isinstance(value, str) else repr(value))
