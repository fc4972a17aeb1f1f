"""Peers, NIs, buffers and services as they are now, or at any moment of a recording."""

import contextlib
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from lnetstat.cli._nodes import hosts_of
from lnetstat.cli._options import Interval, Name, schema_option
from lnetstat.cli._times import Moment, MomentType, parse_moment
from lnetstat.words import iso, printable

if TYPE_CHECKING:
    from lnetstat.top.feeds import Feed
    from lnetstat.top.model import Model, View
    from lnetstat.top.recorded import RecordingFeed
    from lnetstat.top.ticks import Tick

WIDTH_MIN = 60


def _schema() -> dict[str, Any]:
    from lnetstat.cli import _schemas

    return _schemas.top()


@click.command()
@click.argument("recording", required=False, type=Name())
@click.option("--root", type=Name(), default="/", metavar="DIR", help="Read DIR instead of / (with -w: on each node).")
@click.option(
    "-w", "--nodes", type=Name(), metavar="NODES", help="Read these nodes through ssh: rtr[1-8], @group. They need sh and cat only."
)
@click.option(
    "--ssh", "ssh", type=Name(), default="ssh", show_default=True, metavar="COMMAND", help="With -w: the ssh to use, with options."
)
@click.option(
    "--host", type=Name(), metavar="NODESET", help="Only these hosts of a recording: rtr[1-8]; else the name to show for this node."
)
@click.option("-i", "--interval", "interval_s", type=Interval(), default="1s", show_default=True, help="Time between samples.")
@click.option("--at", type=MomentType(), metavar="TIME", help="Recording: begin here (ISO 8601 with a zone, or -10m before its end).")
@click.option(
    "--theme", type=click.Choice(["dark", "light"]), help="Colours for a dark or a light ground; by default as the terminal says."
)
@click.option("--once", is_flag=True, help="Print one sample as text, and end. So it is where the output is no terminal.")
@click.option("-n", "--samples", type=click.IntRange(min=1), help="Print so many samples as text; from the second on there are rates.")
@click.option("--rows", type=click.IntRange(min=1), default=10, show_default=True, help="Text: the worst rows of each table.")
@click.option("--json", "as_json", is_flag=True, help="Print one sample as JSON, all rows with raw numbers.")
@schema_option(_schema)
def command(
    recording: str | None,
    root: str,
    nodes: str | None,
    ssh: str,
    host: str | None,
    interval_s: float,
    at: Moment | None,
    theme: str | None,
    once: bool,
    samples: int | None,
    rows: int,
    as_json: bool,
) -> int:
    """Look at a node's credits: peers, NIs, router buffers, service counters; who has run out now, who did since the last reset.

    RECORDING is looked at in the same way: left and right go to and fro, n to the next moment at which a row has run out, g to a time,
    space plays it. `?` tells the keys. The worst rows stand first: !! marks credits that have run out now, ! those that did since the mark
    was reset, x a peer that is down. With NO_COLOR all is in the terminal's own colours.

    \b
    Examples:
      lnetstat top                             this node, once a second
      lnetstat top rec --at -10m               a recording, from ten minutes before its end
      lnetstat top -w rtr[1-8] --ssh 'ssh -l root'
      watch -n 2 lnetstat top --once --rows 5
      lnetstat top --json | jq '.peers[] | select(.mark == "short")'
    """
    if recording is not None and (root != "/" or nodes is not None):
        raise click.UsageError("RECORDING is looked at by itself: leave out --root and -w")
    if at and recording is None:
        raise click.UsageError("--at is a moment of a recording: name one")
    plain = once or as_json or samples is not None or not (sys.stdin.isatty() and sys.stdout.isatty())
    if not plain and os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        plain = True
        click.echo("lnetstat: TERM names no terminal in which a screen can be drawn: one sample as text (-n 5: five)", err=True)
    if not plain:
        gc.disable()  # what a start makes stays: to look through it for garbage, again and again, finds none
    if recording is not None:
        feed = _recording(recording, host)
        ticks = feed.seek(_moment_in(feed, recording, at)) if at else feed.last() if plain else feed.first()
        assert ticks is not None
        if plain:
            return _printed(_on(feed, ticks, samples or 1), rows, as_json=as_json, feed=feed)
        return _interactive(feed, ticks, theme, moment=lambda text: _moment_in(feed, recording, parse_moment(text)))
    with contextlib.ExitStack() as stack:
        alive = _alive(stack, root, nodes, ssh, host, interval_s)
        first = alive.read()
        if plain:
            return _printed(_every(alive, first, interval_s, samples or 1), rows, as_json=as_json, feed=alive)
        status = _interactive(alive, [first], theme, interval_s=interval_s)
        for problem in alive.problems:
            click.echo(f"lnetstat: {printable(problem)}", err=True)
        return status or (3 if alive.problems else 0)


def _alive(stack: contextlib.ExitStack, root: str, nodes: str | None, ssh: str, host: str | None, interval_s: float) -> "Feed":
    from lnetstat.top.feeds import LiveFeed

    if nodes is not None:
        from lnetstat.cli._remote import remote_feed

        return stack.enter_context(remote_feed(nodes, ssh, root, interval_s))
    feed = LiveFeed(root, host)
    stack.callback(feed.close)
    return feed


def _recording(path: str, host: str | None) -> "RecordingFeed":
    from lnetstat.errors import SourceError
    from lnetstat.sources import open_recorded
    from lnetstat.top.recorded import RecordingFeed

    found = open_recorded(path)
    if found is None:
        raise SourceError(f"{path}: no recording: expected the folder that `lnetstat record` wrote, or raw files of collectl")
    return RecordingFeed(found, path, hosts_of((host,), found.hosts, path) if host else ())


def _moment_in(feed: "RecordingFeed", path: str, moment: Moment) -> int:
    """Return a moment that the recording covers, in epoch ns; longer before its end than it is long: its beginning."""
    from lnetstat.errors import SourceError

    time_ns = moment.absolute_ns(feed.end_ns)
    if moment.before_end:
        return max(time_ns, feed.begin_ns)
    if not feed.begin_ns <= time_ns <= feed.end_ns:
        raise SourceError(f"{path}: no samples at {iso(time_ns)}: the data begin at {iso(feed.begin_ns)} and end at {iso(feed.end_ns)}")
    return time_ns


def _on(feed: "RecordingFeed", ticks: Sequence["Tick"], samples: int) -> "Iterator[tuple[View, Model]]":
    """Yield the moment that the ticks end with, and those that follow in the recording."""
    from lnetstat.top.model import Model

    model = Model(feed.hint)
    *before, shown = ticks
    for tick in before:
        model.feed(tick)
    yield model.feed(shown), model
    for _ in range(samples - 1):
        following = feed.next()
        if following is None:
            return
        yield model.feed(following[0]), model


def _every(feed: "Feed", first: "Tick", interval_s: float, samples: int) -> "Iterator[tuple[View, Model]]":
    """Yield what is read, at whole multiples of the interval."""
    from lnetstat.top.model import Model
    from lnetstat.top.ticks import seconds_to_next

    model = Model(feed.hint)
    yield model.feed(first), model
    for _ in range(samples - 1):
        time.sleep(seconds_to_next(interval_s, time.time()))
        yield model.feed(feed.read()), model


def _printed(moments: "Iterator[tuple[View, Model]]", rows: int, *, as_json: bool, feed: "Feed | RecordingFeed") -> int:
    import shutil

    from lnetstat.top import text
    from lnetstat.top.trail import BARS, BARS_ASCII

    failed = False
    bars = BARS if "utf" in (sys.stdout.encoding or "").lower() else BARS_ASCII
    for number, (view, model) in enumerate(moments):
        failed = failed or view.failed
        if as_json:
            click.echo(json.dumps(text.document(view, feed.problems)))
        else:
            width = max(WIDTH_MIN, shutil.get_terminal_size((80, 24)).columns)
            click.echo(("\n" if number else "") + text.screen(view, model, feed.problems, rows=rows, width=width, bars=bars), nl=False)
        sys.stdout.flush()
    for problem in feed.problems if as_json else ():  # the text has them
        click.echo(f"lnetstat: {printable(problem)}", err=True)
    return 3 if failed or feed.problems else 0


def _interactive(
    feed: "Feed | RecordingFeed",
    first: Sequence["Tick"],
    theme: str | None,
    *,
    interval_s: float = 1.0,
    moment: Callable[[str], int] = int,
) -> int:
    """Run the view, and return the status: 0, or that of the signal which ended it.

    What has been read stands on the screen before textual is imported, which takes longer than all the rest.
    """
    from lnetstat.top import terminal

    with terminal.Held() as held:
        model, view = _show_at_once(feed, first)
        theme = (
            "none" if os.environ.get("NO_COLOR") else theme or terminal.by_environment(os.environ.get("COLORFGBG"), os.environ.get("TERM"))
        )
        question = None if theme else terminal.Question()  # answered while textual is imported
        from lnetstat.top import lean

        view_class = lean.view()
        gc.freeze()
        theme = theme or (question and question.theme()) or "dark"
        top = view_class(feed, model, view, interval_s=interval_s, moment=moment, theme=theme)
        top.run()
        held.status = top.return_code or 0
    gc.enable()
    return held.status


def _show_at_once(feed: "Feed | RecordingFeed", first: Sequence["Tick"]) -> "tuple[Model, View]":
    """Draw what has been read; return the model that took it, and what it made of the last tick."""
    import shutil

    from lnetstat.top.model import Model
    from lnetstat.top.panes import PEERS
    from lnetstat.top.terminal import ENTER, encoded
    from lnetstat.top.text import screen

    width, height = shutil.get_terminal_size()
    model = Model(feed.hint)
    view = [model.feed(tick) for tick in first][-1]
    lines = screen(view, model, feed.problems, rows=height, width=max(WIDTH_MIN, width - 1), panes=(PEERS,)).splitlines()
    drawn = ENTER + "\r\n".join(line[: width - 1] for line in lines[: height - 1])
    sys.stdout.buffer.write(encoded(drawn, sys.stdout.encoding))
    sys.stdout.buffer.flush()
    return model, view
