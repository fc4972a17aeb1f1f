"""Follow a recording as it is written and say verdicts as they come: one line for each change."""

import contextlib
import json
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from lnetstat.cli._options import Name, Seconds
from lnetstat.cli._recordings import TABLES, tell
from lnetstat.errors import LnetstatError
from lnetstat.frames import Frames, from_changes
from lnetstat.recording.follow import Follower
from lnetstat.words import iso, printable
from lnetstat.workers.stopping import Asked, ctrl_c

if TYPE_CHECKING:
    from lnetstat.analysis.watching import Event, Watcher

BY_SIGNAL = 128
POLL_S = 1.0
QUIET_S = 30.0  # without a new sample for so long (and ten intervals) the writer seems to have stopped
SHARE = 4  # at least three quarters of the time are left to others: a re-analysis that takes long comes more seldom


@click.command()
@click.argument("source", metavar="REC")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--history", "history_s", type=Seconds(), default="30min", show_default=True, help="Begin with so much of what is there.")
@click.option("--once", is_flag=True, help="End where the recording ends now.")
@click.option("--events", metavar="graphite://HOST[:PORT]", type=Name(), help="Post each change to this graphite-web as an event.")
@click.option("--push", metavar="URL", type=Name(), help="Post each change to this URL, as the JSON of a Graphite event.")
def command(source: str, as_json: bool, history_s: float, once: bool, events: str | None, push: str | None) -> int:
    """Watch a recording that is being written: dead time, credits that run out, hosts that fall silent, each when it begins and ends.

    The same verdicts as `analyze`, from a sliding window of 30 minutes or 20 periods. Ends on Ctrl-C or SIGTERM.

    \b
    Examples:
      lnetstat record -o rec -i 0.2 & lnetstat watch rec
      lnetstat watch rec --json --events graphite://graphite:8080
    """
    from lnetstat.analysis.watching import Watcher
    from lnetstat.recording import Recording

    end_ns = Recording(source).end_ns
    follower = Follower(source, begin_ns=None if end_ns is None else end_ns - int(history_s * 1e9))
    with ctrl_c() as asked, contextlib.ExitStack() as stack:
        takers = [_printer(as_json), *_posters([url for url in (events, push) if url], stack)]
        watcher = Watcher()
        for event in _changes(follower, watcher, asked, once=once):
            for take in takers:
                take(event)
    tell(follower.problems)
    if asked.is_set():
        return BY_SIGNAL + asked.number
    return 3 if follower.problems else 0


def _changes(follower: Follower, watcher: "Watcher", asked: Asked, *, once: bool) -> Iterator["Event"]:
    """Yield what changes until asked to end, or (`once`) until the recording ends."""
    heard_s = time.monotonic()
    quiet, slowest_s = False, 0.0
    while not asked.is_set():
        frames = _next(follower)
        if frames is None:
            if once:
                return
            silent_s = time.monotonic() - heard_s
            if not quiet and silent_s > max(QUIET_S, 10 * watcher.interval_s):
                quiet = True
                yield watcher.no_samples(silent_s)
            asked.wait(POLL_S)
            continue
        heard_s, quiet = time.monotonic(), False
        yield from watcher.feed(frames)
        slowest_s = max(time.monotonic() - heard_s, 0.9 * slowest_s)
        watcher.least_step_s = 0.0 if once else SHARE * slowest_s


def _next(follower: Follower) -> Frames | None:
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

    takers: list[Callable[[Event], None]] = []
    for url in urls:
        try:
            poster = EventPoster(url, lambda line: tell([line]))
        except LnetstatError as error:
            raise click.BadParameter(str(error)) from error
        stack.callback(poster.close)

        def take(event: "Event", poster: EventPoster = poster) -> None:
            tags = ["lnetstat", event.kind, event.change, event.severity.name.lower()]
            poster.post(f"{event.kind} {event.change}: {event.subject}", event.time_ns // 10**9, tags, event.as_json())

        takers.append(take)
    return takers
