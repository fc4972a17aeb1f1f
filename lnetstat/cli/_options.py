"""Options that several verbs share, and the words users write for sizes and times."""

import json
from collections.abc import Callable
from typing import Any

import click

from lnetstat.config import INTERVAL_S_MIN, KEYS, parse_prefix, parse_seconds, parse_size


class Size(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3 only
    """Bytes: 500000, 200M, 2GiB."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else parse_size(value)
        except ValueError as error:
            self.fail(f"'{value}' is no size: {error}", param, ctx)


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A time span: 0.1, 50ms, 10s, 5min, 2h, 7d."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return parse_seconds(value)
        except ValueError as error:
            self.fail(f"'{value}' is no time span: {error}", param, ctx)


class MetricPrefix(click.ParamType):  # type: ignore[type-arg]
    """The first nodes of metric paths: lnet, or site.lnet."""

    name = "nodes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return parse_prefix(value)
        except ValueError as error:
            self.fail(f"'{value}' is no metric path: {error}", param, ctx)


class Name(click.ParamType):  # type: ignore[type-arg]
    """A name or a path that is not empty and has nothing unprintable."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip() or not str(value).isprintable():
            self.fail(f"{value!a} is empty or unprintable (an unset shell variable?)", param, ctx)
        return str(value)


class Checked(click.ParamType):  # type: ignore[type-arg]
    """What a key of the configuration file takes."""

    name = "text"

    def __init__(self, key: str) -> None:
        self._check = next(known.check for known in KEYS if known.name == key)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._check(value)
        except ValueError as error:
            self.fail(f"'{value}': {error}", param, ctx)


class Interval(Seconds):
    """A sampling interval, at least 50 ms."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = super().convert(value, param, ctx)
        if seconds < INTERVAL_S_MIN:
            self.fail(f"'{value}' is too short: the shortest interval is 50ms", param, ctx)
        return seconds


def node_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of verbs that read a node."""
    for option in reversed(
        (
            click.option(
                "--root",
                type=Name(),
                default="/",
                metavar="DIR",
                help="Read DIR instead of /: a tree with proc/ and sys/, or peers, nis, …",
            ),
            click.option("--host", type=Name(), help="Name of this node in paths and recordings (default: its short host name)."),
            click.option("-i", "--interval", "interval_s", type=Interval(), default="1s", show_default=True, help="Time between samples."),
            click.option("-n", "--samples", type=click.IntRange(min=1), help="End after so many samples."),
            click.option("--reset-low-water", is_flag=True, help="Write to peers and nis after each read: `min` becomes the interval's."),
            click.option(
                "--carbon",
                multiple=True,
                metavar="HOST:PORT[,…]",
                help="Ship points to this Carbon (may be repeated); those after commas stand in while it is away.",
            ),
            click.option("--prefix", type=MetricPrefix(), default="lnet", show_default=True, help="First node of every metric path."),
            click.option("--series-max", type=click.IntRange(min=200), default=500, show_default=True, help="Most series to ship."),
        )
    ):
        function = option(function)
    return function


def checked_node(options: dict[str, Any]) -> dict[str, Any]:
    """Return node options as AgentSettings' fields; click errors where they contradict one another."""
    from lnetstat.errors import SinkError
    from lnetstat.sinks.address import parse_addresses

    if options["reset_low_water"] and options["root"] != "/":
        raise click.UsageError("--reset-low-water writes to this node's files: it cannot be used together with --root")
    for address in options["carbon"]:
        try:
            parse_addresses(address)
        except SinkError as error:
            raise click.BadParameter(str(error), param_hint="--carbon") from error
    options["samples"] = options["samples"] or 0
    return options


def schema_option(schema: dict[str, Any] | Callable[[], dict[str, Any]]) -> Callable[..., Any]:
    """Return the option --schema: print the JSON Schema of what --json prints, and nothing else; it needs no argument.

    `schema`: the document, or what brings it once it is asked for.
    """

    def show(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            click.echo(json.dumps(schema() if callable(schema) else schema, indent=2))
            ctx.exit()

    return click.option(
        "--schema", is_flag=True, is_eager=True, expose_value=False, callback=show, help="Print the JSON Schema of --json, and exit."
    )
