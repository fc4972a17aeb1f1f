"""The options that say what `analyze`, `report` and `compare` read; apart from what reads it, so that `--help` and TAB stay quick."""

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from lnetstat.cli._nodes import HostsType
from lnetstat.cli._options import Interval
from lnetstat.cli._times import MomentType

TIME_UNITS = ("s", "ms", "us", "ns")  # those of lnetstat.series, which brings pandas


class Zone(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3 only
    """The name of a time zone: Europe/Berlin, UTC."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return ZoneInfo(str(value)).key if value else ""
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self.fail(f"'{value}' is no time zone: expected a name such as Europe/Berlin or UTC", param, ctx)


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what to read; `analyzed` takes them."""
    for option in reversed(
        (
            click.option("--begin", type=MomentType(), help="Leave out what is earlier."),
            click.option("--end", type=MomentType(), help="Leave out this time and what is later."),
            click.option(
                "--host",
                type=HostsType(),
                metavar="NODESET",
                help="Only these hosts: rtr1, rtr[1-8],oss1; where the input does not tell its host, that host's name.",
            ),
            click.option("--kind", type=click.Choice(["rate", "counter"]), default="rate", show_default=True, help="CSV: what `value` is."),
            click.option("--tz", "zone", type=Zone(), default="", help="Zone of times that name none, as Europe/Berlin."),
            click.option("--time-unit", type=click.Choice(TIME_UNITS), default="s", show_default=True, help="CSV: unit of `time`."),
            click.option("--interval", "interval_s", type=Interval(), help="CSV: seconds between samples."),
            click.option("--credits-max", type=click.IntRange(min=0), help="CSV: the limit that `tx` counts down from (0: not known)."),
        )
    ):
        function = option(function)
    return function
