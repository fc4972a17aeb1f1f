"""What `simulate` and `sweep` share: how a scenario is changed, and errors in it."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import click

from lnetstat.errors import SimulatorError
from lnetstat.words import printable

BY_SIGNAL = 128  # exit status of a run that a signal ended: this and its number, 130 for Ctrl-C
TERMINATED = BY_SIGNAL + signal.SIGTERM


class BadScenario(click.ClickException):
    """A scenario that cannot be: one line, and exit status 2 as for every bad configuration."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"lnetstat: {printable(self.message)}", file=file, err=file is None)


@contextlib.contextmanager
def checking() -> Iterator[None]:
    """Within the block a SimulatorError is about the scenario, and a bad configuration."""
    try:
        yield
    except SimulatorError as error:
        raise BadScenario(str(error)) from error


def scenario_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that change a scenario and say where to work."""
    for option in reversed(
        (
            click.option(
                "--set",
                "changes",
                multiple=True,
                metavar="KEY=VALUE",
                help="Change a key of the scenario, for example o2ib.peer_credits=126 (may be repeated).",
            ),
            click.option("--seed", type=click.IntRange(min=0), help="Seed of ping phases and service times (key run.seed)."),
            click.option("--processes", type=click.IntRange(min=1), help="Processes to work on [default: as many as there are CPUs]."),
        )
    ):
        function = option(function)
    return function


def settings(changes: tuple[str, ...], **named: object) -> dict[str, str]:
    """Return the settings of --set and of options that stand for a key (run__seed=7 is run.seed). A key given twice is a usage error."""
    found: dict[str, str] = {}
    pairs = [_pair(change) for change in changes]
    pairs += [(name.replace("__", "."), str(value)) for name, value in named.items() if value is not None]
    for key, value in pairs:
        if key in found:
            raise BadScenario(f"{key} is given twice: give it once")
        found[key] = value
    return found


def _pair(change: str) -> tuple[str, str]:
    key, equals, value = change.partition("=")
    if not equals or not key.strip():
        raise BadScenario(f"--set {change}: expected KEY=VALUE, for example o2ib.peer_credits=126")
    return key.strip(), value.strip()


def processes_here(asked: int | None) -> int:
    """Return how many processes to work on."""
    return asked or len(os.sched_getaffinity(0))


def tell(words: str) -> None:
    """Say something on stderr, in one line."""
    click.echo(f"lnetstat: {printable(words)}", err=True)
