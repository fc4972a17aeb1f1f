"""Where an agent's points go: the sinks that its settings name, changed while it runs, and closed together in one bounded time."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lnetstat.agent.settings import AgentSettings
from lnetstat.errors import LnetstatError, SinkError
from lnetstat.model import Point, Sink
from lnetstat.sinks.address import Address, parse_address, parse_addresses
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.sinks.spool import Spool
from lnetstat.sinks.stdout import StdoutSink

Key = tuple[str, str]
ABORT_S = 1.0  # how long a sink may take to end once its time is over


class Totals(NamedTuple):
    """Points of all destinations since the start."""

    spooled: int
    sent: int
    resent: int
    lost: int


class Outlets:
    """The sinks by kind and address. A sink that is no longer named is closed beside the loop, and its numbers stay in the totals."""

    def __init__(self, settings: AgentSettings, report: Callable[[str], None]) -> None:
        self._report = report
        self._sinks: dict[Key, Sink] = {}
        self._retired: list[Sink] = []
        self._spools: dict[CarbonSink, Spool] = {}
        self._closing: list[threading.Thread] = []
        self.adopt(self.prepare(settings), settings)
        self._tell_forsaken(settings)

    def prepare(self, settings: AgentSettings) -> dict[Key, Sink]:
        """Make the sinks that are new. Raises SinkError where one cannot be made, and then none is."""
        self._check_destinations(settings)
        made: dict[Key, Sink] = {}
        try:
            for key in sorted(_keys(settings), key=_connects):  # what can be refused comes before anybody is connected to
                if key not in self._sinks:
                    made[key] = self._make(key, settings)
        except LnetstatError:
            self._close_beside(list(made.values()), 1.0)
            raise
        return made

    def adopt(self, made: dict[Key, Sink], settings: AgentSettings) -> None:
        """Send to what the settings name from now on."""
        wanted = set(_keys(settings))
        gone = [self._sinks.pop(key) for key in list(self._sinks) if key not in wanted]
        self._sinks.update(made)
        self._retired += gone
        self._closing = [thread for thread in self._closing if thread.is_alive()]
        self._close_beside(gone, 5.0)

    def offer(self, points: Sequence[Point]) -> None:
        for sink in self._sinks.values():
            sink.offer(points)

    def __bool__(self) -> bool:
        return bool(self._sinks)

    @property
    def carbons(self) -> list[CarbonSink]:
        return [sink for sink in self._sinks.values() if isinstance(sink, CarbonSink)]

    def spool_bytes(self, sink: CarbonSink) -> int | None:
        """Return what this sink's spool takes on disk, None where it has none."""
        return self._spools[sink].counts.bytes if sink in self._spools else None

    @property
    def totals(self) -> Totals:
        counts = [sink.counts for sink in (*self._sinks.values(), *self._retired) if isinstance(sink, CarbonSink)]
        return Totals(
            sum(count.queued for count in counts),
            sum(count.sent for count in counts),
            sum(count.resent for count in counts),
            sum(count.dropped + count.refused + count.unconfirmed for count in counts),
        )

    def close(self, timeout_s: float) -> None:
        """Close all sinks side by side: one that hangs takes no time from the others, and all together take `timeout_s` and a second."""
        self._close_beside(list(self._sinks.values()), timeout_s)
        end_s = time.monotonic() + timeout_s + ABORT_S
        for thread in self._closing:
            thread.join(max(0.0, end_s - time.monotonic()))

    def _check_destinations(self, settings: AgentSettings) -> None:
        """Raise SinkError where two destinations would share a spool: it goes by the first address."""
        by_first: dict[Address, str] = {}
        for text in (*(where for kind, where in self._sinks if kind == "carbon"), *settings.carbon):
            before = by_first.setdefault(parse_addresses(text)[0], text)
            if before != text:
                raise SinkError(f"carbon {text}: the same destination as {before}: name each once (other stand-ins for it take a restart)")

    def _tell_forsaken(self, settings: AgentSettings) -> None:
        """Say which folders in the spool belong to no destination: nobody sends what waits there."""
        used = {os.path.basename(spool.folder) for spool in self._spools.values()}
        with contextlib.suppress(OSError):
            for entry in sorted(os.scandir(settings.spool), key=lambda entry: entry.name) if settings.spool else ():
                if entry.name not in used and entry.is_dir() and any(name.endswith(".spool") for name in os.listdir(entry.path)):
                    what = "what waits there for a former destination is not sent: name it again, or remove the folder"
                    self._report(f"spool {entry.path}: {what}")

    @property
    def troubles(self) -> list[tuple[str, str]]:
        """Return (what, what is wrong with it now) of files that take points; empty words where all is well."""
        return [(f"{kind} {where}", getattr(sink, "trouble", "")) for (kind, where), sink in self._sinks.items()]

    def _close_beside(self, sinks: Sequence[Sink], timeout_s: float) -> None:
        for sink in sinks:
            what = (lambda sink=sink: sink.close(timeout_s)) if isinstance(sink, CarbonSink) else sink.close
            thread = threading.Thread(target=what, name="lnetstat-close", daemon=True)
            thread.start()
            self._closing.append(thread)

    def _make(self, key: Key, settings: AgentSettings) -> Sink:
        kind, where = key
        if kind == "carbon":
            return self._make_carbon(where, settings)
        if kind == "stdout":
            if sys.stdout is None:
                raise SinkError("standard output is closed: nothing can be printed")
            return StdoutSink(sys.stdout)
        from lnetstat.sinks.prometheus import PrometheusSink, TextfileSink  # with all that serves a page: only where it is wanted

        if kind == "textfile":
            return TextfileSink(where, prefix=settings.prefix, report=self._report)
        return PrometheusSink(*parse_address(where), prefix=settings.prefix)

    def _make_carbon(self, addresses: str, settings: AgentSettings) -> CarbonSink:
        (host, port), *stand_ins = parse_addresses(addresses)
        if not settings.spool:
            return CarbonSink(host, port, stand_ins=stand_ins, resend_s=settings.resend_s, report=self._report)
        folder = os.path.join(settings.spool, f"{host}:{port}")  # stand-ins may change: what is spooled is for all of them
        spool = Spool(folder, max_bytes=settings.spool_max_bytes, max_age_s=settings.spool_max_age_s)
        sink = CarbonSink(host, port, stand_ins=stand_ins, resend_s=settings.resend_s, spool=spool, report=self._report)
        self._spools[sink] = spool
        return sink


def _keys(settings: AgentSettings) -> list[Key]:
    keys = [("carbon", address) for address in settings.carbon]
    keys += [("stdout", "")] if settings.stdout else []
    keys += [("prometheus", settings.prometheus)] if settings.prometheus else []
    keys += [("textfile", settings.textfile)] if settings.textfile else []
    return keys


def _connects(key: Key) -> bool:
    return key[0] == "carbon"
