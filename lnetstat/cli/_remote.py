"""Nodes behind ssh, as `top -w` and `record -w` read them."""

import contextlib
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from lnetstat.model import Snapshot
from lnetstat.remote import Crew, folded, node_names
from lnetstat.top.feeds import hint_of
from lnetstat.top.ticks import Parser, Tick
from lnetstat.words import printable

FIRST_S, FIRST_OTHERS_S = 12.0, 2.0  # for anybody to connect, and for the others once one is there
ANSWER_S = 2.0


class RemoteFeed:
    """Many nodes as one feed: what has come of the look that was asked for; the rest comes with the next one."""

    def __init__(self, crew: Crew, hint: str) -> None:
        self._crew, self.hint = crew, hint
        self._parser = Parser()
        self._is_first = True

    @property
    def problems(self) -> list[str]:
        """The nodes that cannot be read now, those with the same reason together."""
        reasons: dict[str, list[str]] = {}
        for name, why in self._crew.troubles.items():
            reasons.setdefault(why.replace(name, "%s"), []).append(name)
        return [f"{folded(names)}: {why.replace('%s', names[0] if len(names) == 1 else 'it')}" for why, names in reasons.items()]

    def read(self) -> Tick:
        """Ask all nodes that are there and take what they answer."""
        looks: list[list[Snapshot]] = []
        if self._is_first:
            self._is_first = False
            looks += self._crew.wait(time.monotonic() + FIRST_S, lambda: self._crew.any_ready() or self._crew.all_known())
            looks += self._crew.wait(time.monotonic() + FIRST_OTHERS_S, self._crew.all_known)
        self._crew.ask()
        looks += self._crew.wait(time.monotonic() + ANSWER_S, self._crew.all_answered)
        return self._parser.tick((snapshot for look in looks for snapshot in look), time.time_ns())


def parsed_nodes(nodes: str, ssh: str) -> tuple[list[str], list[str]]:
    """Return the names and the words of the ssh command; click errors where they cannot be meant."""
    try:
        words = shlex.split(ssh)
    except ValueError as error:
        raise click.BadParameter(f"'{ssh}': {error}", param_hint="--ssh") from None
    if not words:
        raise click.BadParameter("empty: expected ssh, or 'ssh -l root'", param_hint="--ssh")
    return node_names(nodes), words


@contextlib.contextmanager
def remote_feed(nodes: str, ssh: str, root: str, interval_s: float) -> Iterator[RemoteFeed]:
    """Give a feed of these nodes; their ssh processes end with the block."""
    names, words = parsed_nodes(nodes, ssh)
    crew = Crew(names, lambda line: None, ssh=words, root=root, interval_s=interval_s)
    try:
        yield RemoteFeed(crew, hint_of(root))
    finally:
        crew.close()


def record_nodes(nodes: str, ssh: str, options: dict[str, Any]) -> int:
    """Record these nodes into one folder until -n or a signal; return the exit status."""
    from lnetstat.recording import RecordingWriter
    from lnetstat.remote.recorder import record
    from lnetstat.workers.stopping import ctrl_c

    names, words = parsed_nodes(nodes, ssh)
    crew = Crew(names, tell, ssh=words, root=options["root"], interval_s=options["interval_s"])
    bounds = {"max_bytes": options["max_bytes"], "max_age_s": options["max_age_s"]}
    try:
        with ctrl_c() as asked, RecordingWriter(options["recording"], **bounds) as writer:
            record(crew, writer, tell, interval_s=options["interval_s"], samples=options["samples"] or 0, stopped=asked.is_set)
    finally:
        crew.close()
    if writer.frames_lost:
        tell(f"{writer.folder}: {writer.frames_lost} looks could not be written")
    failed = failed_nodes(crew.failed)
    if asked.number == 2:
        return 130
    return 3 if failed or writer.frames_lost else 0


def failed_nodes(names: Sequence[str]) -> bool:
    """Say which nodes could not be read, or not all the time; whether there were any."""
    if names:
        tell(f"not read, or not all the time: {folded(names)}")
    return bool(names)


def tell(line: str) -> None:
    """Say one line on stderr."""
    click.echo(f"lnetstat: {printable(line)}", err=True)
