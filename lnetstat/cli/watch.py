"""Follow a recording as it is written, or a Graphite, and say verdicts as they come: one line for each change."""

import contextlib
import json
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from lnetstat.cli import _schemas
from lnetstat.cli._options import Name, Seconds, schema_option
from lnetstat.errors import LnetstatError
from lnetstat.recording.follow import Follower
from lnetstat.words import iso, printable
from lnetstat.workers.stopping import Asked, ctrl_c

if TYPE_CHECKING:
    from lnetstat.analysis.changes import Event
    from lnetstat.analysis.watching import Watcher
    from lnetstat.frames import Frames

BY_SIGNAL = 128
POLL_S = 1.0
SHARE = 4  # at least three quarters of the time are left to others: a re-analysis that takes long comes more seldom


@click.command()
@click.argument("source", metavar="REC|graphite://…")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@schema_option(_schemas.watch)
@click.option("--history", "history_s", type=Seconds(), default="30min", show_default=True, help="Begin with so much of what is there.")
@click.option("--once", is_flag=True, help="End where the samples end now.")
@click.option("--kind", type=click.Choice(["rate", "counter"]), default="rate", show_default=True, help="Graphite: what other series are.")
@click.option("--credits-max", type=click.IntRange(min=0), help="Graphite: the limit that credits count down from (0: not known).")
@click.option("--events", metavar="graphite://HOST[:PORT]", type=Name(), help="Post each change to this graphite-web as an event.")
@click.option("--push", metavar="URL", type=Name(), help="Post each change to this URL, as the JSON of a Graphite event.")
def command(
    source: str, as_json: bool, history_s: float, once: bool, kind: str, credits_max: int | None, events: str | None, push: str | None
) -> int:
    """Watch a recording that is being written, or a Graphite, and say what begins and ends: dead time, credits that run out, hosts that
    fall silent.

    The same verdicts as `analyze`, from a sliding window of 30 minutes or 20 periods. Dead time is told when two looks in a row, 5 to 30 s
    apart, agree on it. What comes and goes is one state, which ends after three of its own cycles without it, at least 5 minutes; then it
    is said how often it came. Ends on Ctrl-C or SIGTERM. A Graphite is asked for
    the whole window every 5 to 30 s (`from` in its address does not count); while it fails, that is told once, and it is asked again.

    \b
    Examples:
      lnetstat record -o rec -i 0.2 & lnetstat watch rec
      lnetstat watch rec --json --events graphite://graphite:8080
      lnetstat watch graphite://graphite:8080/lnet.rtr1.lnet_stats.route_length
    """
    from lnetstat.cli._polling import polled
    from lnetstat.cli._recordings import tell
    from lnetstat.series import graphite

    problems: list[str] = []
    with ctrl_c() as asked, contextlib.ExitStack() as stack:
        takers = [_printer(as_json), *_posters([url for url in (events, push) if url], stack)]
        if graphite.is_location(source):
            changes = polled(source, asked, problems, history_s=history_s, once=once, kind=kind, credits_max=credits_max)
        else:
            changes = _followed(source, asked, problems, history_s=history_s, once=once)
        for event in changes:
            for take in takers:
                take(event)
    tell(problems)
    if asked.is_set():
        return BY_SIGNAL + asked.number
    return 3 if problems else 0


def _followed(folder: str, asked: Asked, problems: list[str], *, history_s: float, once: bool) -> Iterator["Event"]:
    """Yield what changes in a recording; what could not be read of it is added to `problems` at the end."""
    from lnetstat.analysis.watching import Watcher
    from lnetstat.recording import Recording

    end_ns = Recording(folder).end_ns
    follower = Follower(folder, begin_ns=None if end_ns is None else end_ns - int(history_s * 1e9))
    yield from _changes(follower, Watcher(), asked, once=once)
    problems += follower.problems


def _changes(follower: Follower, watcher: "Watcher", asked: Asked, *, once: bool) -> Iterator["Event"]:
    """Yield what changes until asked to end, or (`once`) until the recording ends."""
    from lnetstat.cli._polling import Silence

    silence, slowest_s = Silence(), 0.0
    while not asked.is_set():
        frames = _next(follower)
        if frames is None:
            if once:
                return
            silent_s = silence.broken_after(watcher.interval_s)
            if silent_s:
                yield watcher.no_samples(silent_s)
            asked.wait(POLL_S)
            continue
        silence.heard()
        yield from watcher.feed(frames)
        slowest_s = max(time.monotonic() - silence.heard_s, 0.9 * slowest_s)
        watcher.least_step_s = 0.0 if once else SHARE * slowest_s


def _next(follower: Follower) -> "Frames | None":
    from lnetstat.cli._recordings import TABLES
    from lnetstat.frames import from_changes

    frames = from_changes(follower.changes(), tables=TABLES)
    return None if frames.states.empty else frames


def _printer(as_json: bool) -> Callable[["Event"], None]:
    def take(event: "Event") -> None:
        line = json.dumps(event.as_json(), allow_nan=False) if as_json else text_of(event)
        click.echo(line)
        sys.stdout.flush()

    return take


def text_of(event: "Event") -> str:
    """Return an event as one line, not wrapped: stamp, what, the message."""
    what = event.kind if event.change == "note" else f"{event.kind} {event.change}"
    return printable(f"{iso(event.time_ns)}  {event.severity.name}  {what}: {textwrap.shorten(event.message, 1000)}")


def _posters(urls: list[str], stack: contextlib.ExitStack) -> list[Callable[["Event"], None]]:
    from lnetstat.cli._events import EventPoster
    from lnetstat.cli._recordings import tell

    takers: list[Callable[[Event], None]] = []
    for url in urls:
        try:
            poster = EventPoster(url, lambda line: tell([line]))
        except LnetstatError as error:
            raise click.BadParameter(str(error)) from error
        stack.callback(poster.close)

        def take(event: "Event", poster: EventPoster = poster) -> None:
            tags = ["lnetstat", event.kind, event.change, event.severity.name.lower()]
            # Marked where it happened: of a recording, or of a history of half an hour, that is long before it is told.
            poster.post(f"{event.kind} {event.change}: {event.subject}", event.when_ns // 10**9, tags, event.as_json())

        takers.append(take)
    return takers
