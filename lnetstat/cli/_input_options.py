"""The options that say what `analyze`, `report` and `compare` read; apart from what reads it, so that `--help` and TAB stay quick."""

from collections.abc import Callable
from typing import Any

import click

from lnetstat.cli._nodes import HostsType
from lnetstat.cli._options import Interval
from lnetstat.cli._times import MomentType, zone_option

TIME_UNITS = ("s", "ms", "us", "ns")  # those of lnetstat.series, which brings pandas


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what to read; `analyzed` takes them."""
    for option in reversed(
        (
            click.option(
                "--begin", type=MomentType(), help="Leave out what is earlier: 2026-08-14T12:00:00Z, epoch seconds, or -10m before the end."
            ),
            click.option("--end", type=MomentType(), help="Leave out this time and what is later."),
            click.option(
                "--host",
                type=HostsType(),
                metavar="NODESET",
                help="Only these hosts: rtr1, rtr[1-8],oss1; where the input does not tell its host, that host's name.",
            ),
            click.option("--kind", type=click.Choice(["rate", "counter"]), default="rate", show_default=True, help="CSV: what `value` is."),
            zone_option("Zone of times that name none, in files, --begin and --end, as Europe/Berlin. What is printed is UTC."),
            click.option("--time-unit", type=click.Choice(TIME_UNITS), default="s", show_default=True, help="CSV: unit of `time`."),
            click.option("--interval", "interval_s", type=Interval(), help="CSV: seconds between samples."),
            click.option("--credits-max", type=click.IntRange(min=0), help="CSV: the limit that `tx` counts down from (0: not known)."),
        )
    ):
        function = option(function)
    return function
