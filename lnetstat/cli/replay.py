"""Play a recording again, into files or into Carbon, at any speed and time."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import click

from lnetstat.cli._nodes import hosts_of
from lnetstat.cli._options import MetricPrefix
from lnetstat.cli._progress import Bar
from lnetstat.cli._times import Moment, MomentType, parse_moment, window_ns, zone_option
from lnetstat.errors import SinkError, SourceError
from lnetstat.model import Point, Snapshot
from lnetstat.recording import Recording
from lnetstat.reduce import Reducer
from lnetstat.sinks.address import parse_addresses
from lnetstat.sinks.carbon import CarbonSink
from lnetstat.sources import open_recorded
from lnetstat.sources.collectl import Recorded
from lnetstat.sources.replay import NS, ReplaySource, write_tree
from lnetstat.words import iso

Say = Callable[[str], None]  # writes a line on standard error
CARBON_PATIENCE_S = 45  # a reconnect may come 30 s after the connection broke
SHIPPED_POINTS = 5_000  # at once where nothing is paced: handing over second by second costs more than making the points


HELP = f"""{__doc__}

\b
Examples:
  lnetstat replay rec --to tree --speed 10
  lnetstat replay rec --carbon graphite:2003 --shift-to now
  lnetstat replay rec --carbon localhost:2003 --begin -10m --host rtr1
"""


@click.command(help=HELP)
@click.argument("recording", metavar="REC")
@click.option("--to", "folder", metavar="DIR", help="Write each text to the file of DIR where `--root DIR` finds it.")
@click.option("--carbon", metavar="HOST:PORT", help="Ship points to this Carbon, with the recording's own stamps.")
@click.option("--speed", type=float, help="How many times as fast as it was (default: 1 with --to; else as fast as can be).")
@click.option("--shift-to", metavar="now|TIME", help="Move all stamps: a paced replay begins then, one without pauses ends then.")
@click.option("--begin", type=MomentType(), metavar="TIME", help="From this time on: ISO 8601 with zone, epoch seconds, or -10m.")
@click.option("--end", type=MomentType(), metavar="TIME", help="Up to this time, exclusive; -10m counts from the end of the recording.")
@zone_option("Zone of times on this command line that name none, as Europe/Berlin.")
@click.option("--host", "hosts", multiple=True, metavar="NODESET", help="Only these hosts: rtr1, rtr[1-8] (may be repeated).")
@click.option("--prefix", type=MetricPrefix(), default="lnet", show_default=True, help="First node of every metric path.")
def command(
    recording: str,
    folder: str | None,
    carbon: str | None,
    speed: float | None,
    shift_to: str | None,
    begin: Moment | None,
    end: Moment | None,
    zone: str,
    hosts: tuple[str, ...],
    prefix: str,
) -> int:
    if not folder and not carbon:
        raise click.UsageError("say where it goes: --to DIR, --carbon HOST:PORT, or both")
    if speed is not None and not 0 < speed < float("inf"):
        raise click.BadParameter(f"{speed}: expected a number above 0", param_hint="--speed")
    shift_to_ns = _shift_to_ns(shift_to, zone)
    recorded = open_recorded(recording) or Recording(recording)
    hosts = hosts_of(hosts, recorded.hosts, recorded.folder)
    begin_ns, end_ns = window_ns(begin, end, recorded.end_ns)
    speed = 1.0 if speed is None and folder else speed
    source = ReplaySource(recorded, begin_ns=begin_ns, end_ns=end_ns, hosts=hosts or None, speed=speed, shift_to_ns=shift_to_ns)
    _announce_shift(recorded, source.shift_ns)
    first_ns, last_ns = _replayed_ns(recorded, begin_ns, end_ns)
    count = 0
    with Bar() as bar:
        tree = _Tree(folder, bar.say, several=len(hosts or recorded.hosts) > 1) if folder else None
        shipping = _Shipping(carbon, prefix, bar.say, alone=tree is None, paced=speed is not None) if carbon else None
        takers: list[_Taker] = [taker for taker in (tree, shipping) if taker is not None]
        try:
            for snapshot in source.snapshots():
                for taker in takers:
                    taker.take(snapshot)
                count += 1
                at_ns = snapshot.time_ns - source.shift_ns
                bar.show((at_ns - first_ns) / max(1, last_ns - first_ns), f"{iso(at_ns)}, {count} snapshots")
            if count == 0:
                raise SourceError(f"{recording}: holds no snapshot, or none in the time and of the hosts asked for")
            if shipping:
                shipping.finish()
        finally:
            if shipping:
                shipping.close()
    for problem in source.problems:
        click.echo(f"lnetstat: {recording}: {problem}", err=True)
    click.echo(f"replayed {count} snapshots{''.join(taker.what_was_done() for taker in takers)}", err=True)
    refused = tree.refused if tree else ()
    return 3 if source.problems or refused or (shipping and shipping.lost) else 0


def _replayed_ns(recorded: Recorded, begin_ns: int | None, end_ns: int | None) -> tuple[int, int]:
    """Return from when to when there is something to replay, on the recording's own clock."""
    first_ns, last_ns = recorded.begin_ns or 0, recorded.end_ns or 0
    return max(first_ns, begin_ns or first_ns), min(last_ns, end_ns or last_ns)


class _Taker(Protocol):
    def take(self, snapshot: Snapshot) -> None: ...

    def what_was_done(self) -> str: ...


def _shift_to_ns(text: str | None, zone: str) -> int | None:
    if text is None:
        return None
    if text == "now":
        return time.time_ns()
    try:
        moment = parse_moment(text, zone)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--shift-to") from error
    if moment.before_end:
        raise click.BadParameter(f"'{text}': expected now or a time", param_hint="--shift-to")
    return moment.time_ns


def _announce_shift(recording: Recorded, shift_ns: int) -> None:
    first_ns, last_ns = recording.begin_ns, recording.end_ns
    if shift_ns and first_ns is not None and last_ns is not None:
        begin, end = iso(first_ns + shift_ns), iso(last_ns + shift_ns)
        click.echo(f"stamps are moved by {shift_ns // NS:+d} s: the recording now lasts from {begin} to {end}", err=True)


class _Tree:
    """Files for --root: one folder, or one for each host where there are several."""

    def __init__(self, folder: str, say: Say, *, several: bool) -> None:
        self._folder, self._say, self._several = Path(folder), say, several
        self.refused: set[str] = set()
        self._first_host = ""
        if self._folder.resolve() == Path("/"):
            raise SourceError("--to /: a replay would pass for this node's own files: choose a folder")

    def what_was_done(self) -> str:
        each = (
            f", in a folder for each host, as {self._folder / _as_folder(self._first_host)}" if self._several and self._first_host else ""
        )
        return f"; to {self._folder}{each}"

    def take(self, snapshot: Snapshot) -> None:
        self._first_host = self._first_host or snapshot.host
        try:
            write_tree(snapshot, self._folder / _as_folder(snapshot.host) if self._several else self._folder)
        except SourceError as error:
            if isinstance(error.__cause__, OSError):
                raise
            if snapshot.name not in self.refused:
                self.refused.add(snapshot.name)
                self._say(f"lnetstat: {error}")


def _as_folder(host: str) -> str:
    """Return the host's name as a folder's: it may come from anybody and must stay one plain name."""
    return "".join(letter if letter.isalnum() or letter in "-_.:" else "_" for letter in host).lstrip(".") or "_"


class _Shipping:
    """Points of every host to one Carbon, waiting for it where it is slower than we are."""

    def __init__(self, address: str, prefix: str, say: Say, *, alone: bool, paced: bool) -> None:
        """`alone`: nothing else takes the recording, so that the replay ends where Carbon does not answer. `paced`: each second is sent
        when it is over, and not many together.
        """
        try:
            (host, port), *stand_ins = parse_addresses(address)
        except SinkError as error:
            raise click.BadParameter(str(error), param_hint="--carbon") from error
        self._prefix = prefix
        self._reducers: dict[str, Reducer] = {}
        self._seconds: dict[str, int] = {}
        self._sink = CarbonSink(host, port, stand_ins=stand_ins, report=lambda line: say(f"lnetstat: {line}"))
        self._say, self._alone = say, alone
        self._points: list[Point] = []
        self._points_min = 1 if paced else SHIPPED_POINTS
        self._given_up = False

    @property
    def lost(self) -> int:
        """Points that Carbon did not get."""
        return self._sink.dropped + self._sink.refused

    def what_was_done(self) -> str:
        return f"; {self._sink.sent} points to {self._sink.name}" + (f", {self.lost} not delivered" if self.lost else "")

    def take(self, snapshot: Snapshot) -> None:
        """Take one snapshot; when a second of its host is over, ship that second."""
        host, second = snapshot.host, snapshot.time_ns // NS
        if host not in self._reducers:
            self._reducers[host] = Reducer(host, prefix=self._prefix)
            self._seconds[host] = second
        if second > self._seconds[host]:
            self._points += self._reducers[host].points(second)
            self._seconds[host] = second
        if len(self._points) >= self._points_min:
            self._ship()
        self._reducers[host].add(snapshot)

    def _ship(self) -> None:
        """Hand over what there is, once Carbon has taken what was handed over before."""
        self._wait()
        self._sink.offer(self._points)
        self._points = []

    def _wait(self) -> None:
        if self._given_up or self._sink.flush(CARBON_PATIENCE_S):
            return
        reason = self._sink.last_error or f"took nothing for {CARBON_PATIENCE_S:.0f} s"
        if self._alone:
            raise SinkError(f"{self._sink.name}: {reason}: is Carbon running there? the replay ends here")
        self._given_up = True
        self._say(f"lnetstat: {self._sink.name}: {reason}: going on without it")

    def finish(self) -> None:
        """Ship all that was taken and wait until Carbon has taken it."""
        self._ship_rest()
        self._wait()

    def close(self) -> None:
        self._ship_rest()
        self._sink.close()

    def _ship_rest(self) -> None:
        for reducer in self._reducers.values():
            self._points += reducer.points(None)
        self._sink.offer(self._points)
        self._points = []
