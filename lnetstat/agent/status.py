"""The status file: how the agent is, for `lnetstat agent --status`, replaced whole at most once a second."""

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lnetstat import __version__
from lnetstat.agent.outlets import Outlets
from lnetstat.agent.settings import AgentSettings
from lnetstat.model import Snapshot, State
from lnetstat.sources.node import LNET_TABLES

SCHEMA = 1
STATUS_PATH = "/run/lnetstat/status.json"
NS = 1_000_000_000


class _Source(NamedTuple):
    """The state of one file, since when, and when it was read well for the last time."""

    state: State
    errno: int
    since_s: int
    ok_s: int | None


class Standing:
    """What has been so since when: sources, destinations, troubles. All seconds are those of the wall clock."""

    def __init__(self, now_s: int) -> None:
        self.started_s = now_s
        self.last_sample_s: int | None = None
        self.last_lost_s: int | None = None
        self.troubles: dict[str, tuple[str, int]] = {}
        self._sources: dict[str, _Source] = {}
        self._connected: dict[str, tuple[bool, int]] = {}
        self._lost = 0

    def read(self, snapshots: Iterable[Snapshot]) -> None:
        for snapshot in snapshots:
            second = snapshot.time_ns // NS
            before = self._sources.get(snapshot.name)
            same = before is not None and (before.state, before.errno) == (snapshot.state, snapshot.errno)
            ok_s = second if snapshot.state in (State.OK, State.PARTIAL) else before.ok_s if before else None
            since_s = before.since_s if before and same else second
            self._sources[snapshot.name] = _Source(snapshot.state, snapshot.errno, since_s, ok_s)
            self.last_sample_s = second

    def trouble(self, what: str, words: str, now_s: int) -> None:
        """Note what is wrong with something now, or with empty words that nothing is."""
        if not words:
            self.troubles.pop(what, None)
        elif self.troubles.get(what, ("", 0))[0] != words:
            self.troubles[what] = (words, now_s)

    def destinations(self, outlets: Outlets, now_s: int) -> list[dict[str, Any]]:
        lost = outlets.totals.lost
        if lost > self._lost:
            self._lost, self.last_lost_s = lost, now_s
        found = []
        for sink in outlets.carbons:
            connected, since_s = self._connected.get(sink.name, (None, now_s))
            if connected != sink.connected:
                since_s = now_s
                self._connected[sink.name] = (sink.connected, now_s)
            counts = sink.counts
            found.append(
                {
                    "name": sink.name,
                    "connected": sink.connected,
                    "since_s": since_s,
                    "queued": counts.queued,
                    "spool_bytes": outlets.spool_bytes(sink),
                    "sent": counts.sent,
                    "resent": counts.resent,
                    "lost": counts.dropped + counts.refused + counts.unconfirmed,
                    "error": sink.last_error,
                }
            )
        return found

    def sources(self) -> list[dict[str, Any]]:
        """LNet's tables, services and whatever cannot be read; tunables that are well are many and say nothing."""
        return [
            {
                "name": name,
                "state": source.state.value,
                "why": os.strerror(source.errno) if source.errno else "",
                "since_s": source.since_s,
                "ok_s": source.ok_s,
            }
            for name, source in sorted(self._sources.items())
            if name in LNET_TABLES or name.endswith(("stats", "stat", "show")) or source.state not in (State.OK, State.PARTIAL)
        ]


def document(
    standing: Standing, settings: AgentSettings, host: str, roles: Iterable[str], outlets: Outlets, now_s: int, **numbers: Any
) -> dict[str, Any]:
    """Return everything about the agent as one JSON object. `numbers`: state, late, late_ms_worst, errors, series, rss_bytes, …"""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "pid": os.getpid(),
        "host": host,
        "roles": list(roles),
        "config": settings.config,
        "interval_s": settings.interval_s,
        "started_s": standing.started_s,
        "updated_s": now_s,
        "last_sample_s": standing.last_sample_s,
        **numbers,
        "destinations": standing.destinations(outlets, now_s),
        "last_lost_s": standing.last_lost_s,
        "recording": settings.recording,
        "spool": settings.spool,
        "prometheus": settings.prometheus,
        "textfile": settings.textfile,
        "sources": standing.sources(),
        "troubles": [{"about": what, "what": words, "since_s": since_s} for what, (words, since_s) in standing.troubles.items()],
    }


def summary(status: Mapping[str, Any]) -> str:
    """Return one line for `systemctl status`."""
    roles = ", ".join(status["roles"]) or "no role of Lustre's"
    down = [destination["name"] for destination in status["destinations"] if not destination["connected"]]
    queued = sum(destination["queued"] for destination in status["destinations"])
    lost = sum(destination["lost"] for destination in status["destinations"])
    where = f"; not connected: {', '.join(down)}" if down else ""
    troubles = f"; troubles: {len(status['troubles'])}" if status["troubles"] else ""
    return f"{status['host']} ({roles}): {status['series']} series, points waiting: {queued}, lost: {lost}{where}{troubles}"


def write(path: str, status: Mapping[str, Any]) -> None:
    """Replace the file whole, so that a reader never sees a part of it. Raises OSError."""
    fresh = f"{path}.{os.getpid()}"
    try:
        with open(fresh, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o644)  # whoever watches the node may read it
            json.dump(status, file)
        os.replace(fresh, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise
