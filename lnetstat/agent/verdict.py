"""Read an agent's status file and say how the agent is, in lines for people and as an exit status for Nagios."""

import json
from collections.abc import Mapping
from typing import Any

from lnetstat.words import iso, printable

OK, WARNING, CRITICAL, UNKNOWN = range(4)
LEVELS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
SILENT_S_MIN = 15
SILENT_INTERVALS = 3
LOST_SHOWN_S = 600
BACKLOG_S = 300
FILE_BYTES_MAX = 10_000_000
_KEYS = {"schema", "host", "state", "updated_s", "started_s", "interval_s", "destinations", "sources", "troubles"}


def read_status(path: str) -> tuple[dict[str, Any] | None, str]:
    """Return the status file's content, or None and why it cannot be had."""
    try:
        with open(path, "rb") as file:
            status = json.loads(file.read(FILE_BYTES_MAX))
    except FileNotFoundError:
        return None, f"{path}: no such file: is the agent running, with `status` in its configuration or --status-file?"
    except OSError as error:
        return None, f"{path}: cannot be read: {error.strerror}"
    except (ValueError, RecursionError):
        return None, f"{path}: not a status file of lnetstat: JSON was expected"
    if not isinstance(status, dict) or not status.keys() >= _KEYS or status["schema"] != 1:
        return None, f"{path}: not a status file of this lnetstat (schema 1)"
    return status, ""


def judge(status: Mapping[str, Any], now_s: float) -> tuple[int, list[str]]:
    """Return the worst level and one line for each thing, the worst first."""
    try:
        checks = [_life(status, now_s), _loss(status), *(_destination(each, status) for each in status["destinations"]), *_troubles(status)]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return UNKNOWN, ["UNKNOWN: not a status file of this lnetstat: its values have other types"]
    checks.sort(key=lambda check: -check[0])
    return checks[0][0], [f"{LEVELS[level]}: {printable(words)}" for level, words in checks]


def _life(status: Mapping[str, Any], now_s: float) -> tuple[int, str]:
    age_s = now_s - status["updated_s"]
    if status["state"] == "stopped":
        return CRITICAL, f"the agent was stopped at {_when(status['updated_s'])}"
    if age_s > max(SILENT_S_MIN, SILENT_INTERVALS * status["interval_s"]):
        return CRITICAL, f"no sign of life since {_when(status['updated_s'])}, {age_s:.0f} s ago: does it hang, was it killed?"
    roles = ", ".join(status.get("roles", ())) or "no role of Lustre's found"
    sampled_s = status.get("last_sample_s")
    last = f"last sample {_when(sampled_s)}" if sampled_s else "no sample yet"
    missed = f", samples missed: {status['late']}" if status.get("late") else ""
    words = f"{status['host']} ({roles}): running since {_when(status['started_s'])}, {last}{missed}, {status.get('series', 0)} series"
    return (OK if sampled_s else WARNING), words


def _loss(status: Mapping[str, Any]) -> tuple[int, str]:
    lost = status.get("lost", 0)
    lost_s = status.get("last_lost_s")
    if not lost or lost_s is None:
        return OK, "no points lost"
    recent = status["updated_s"] - lost_s <= LOST_SHOWN_S
    return (CRITICAL if recent else OK), f"points lost since the start: {lost}, the last at {_when(lost_s)}"


def _destination(destination: Mapping[str, Any], status: Mapping[str, Any]) -> tuple[int, str]:
    words = f"{destination['name']}: {'connected' if destination['connected'] else 'not connected'} since {_when(destination['since_s'])}"
    words += f", sent: {destination['sent']}, waiting: {destination['queued']}, lost: {destination['lost']}"
    if destination.get("spool_bytes") is not None:
        words += f", spool: {destination['spool_bytes'] / 1e6:.1f} MB"
    samples = BACKLOG_S / max(1.0, status["interval_s"])
    if destination["connected"] and destination["queued"] > samples * max(1, status.get("series", 0)):
        return WARNING, f"{words}: a backlog of more than {BACKLOG_S // 60} minutes: does it shrink?"
    if destination["connected"]:
        return OK, words
    return WARNING, f"{words} ({destination['error'] or 'not tried yet'})"


def _troubles(status: Mapping[str, Any]) -> list[tuple[int, str]]:
    found = [(WARNING, f"{trouble['what']} (since {_when(trouble['since_s'])})") for trouble in status["troubles"]]
    well = [source["name"] for source in status["sources"] if source["state"] == "ok"]
    if well:
        found.append((OK, f"read well: {', '.join(well[:12])}{f' and {len(well) - 12} more' if len(well) > 12 else ''}"))
    return found


def _when(second: int) -> str:
    return iso(second * 1_000_000_000)
