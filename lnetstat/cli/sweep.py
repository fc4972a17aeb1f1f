"""Simulate a scenario with every combination of some values: what does which tunable cost."""

import json
import os
from typing import TYPE_CHECKING, Any

import click

from lnetstat.cli import _schemas
from lnetstat.cli._options import Name, schema_option
from lnetstat.cli._progress import Bar
from lnetstat.cli._scenario import TERMINATED, checking, processes_here, scenario_options, settings, tell

if TYPE_CHECKING:
    from lnetstat.simulator.sweep import Sweep

FORMATS = (".csv", ".parquet", ".html", ".md")


@click.command()
@click.argument("name", metavar="PRESET|FILE.toml", type=Name())
@click.option(
    "--over", multiple=True, required=True, metavar="KEY=V1,V2,…", help="The values of a key (may be repeated: all combinations)."
)
@click.option("--intervals", type=click.IntRange(1, 1000), default=1, show_default=True, help="Ping intervals to simulate at each point.")
@click.option(
    "--imports", type=click.IntRange(1, 1_000_000), help="Imports of a client in the whole system, for barriers [default: as above]."
)
@scenario_options
@click.option(
    "--scheduler", type=Name(), metavar="ADDRESS", help="Work on the Dask cluster of this scheduler, for example tcp://head:8786."
)
@click.option("-o", "--output", type=Name(), metavar="FILE", help=f"Write the result here too: {', '.join(FORMATS)}.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout instead of the table.")
@schema_option(_schemas.sweep)
def command(name: str, over: tuple[str, ...], output: str | None, as_json: bool, **options: Any) -> int:
    """Simulate a scenario with every combination of some values: what does which tunable cost.

    PRESET and keys are those of `lnetstat simulate`.

    Every point simulates the first routing group from its start to the end of the first ping interval (or as long as --intervals or the
    key run.duration says). The table has, of one interval: dead time, the share lost, how long pings flood the servers, the lowest write
    rate, the lowest credits of peers and small buffers, the peer credits that would have been required, and pings a server.

    Where the sweep is about pings, it also has the step of a program that computes for 1 ms between barriers on all clients. A client sends
    pings for all its imports in the system: to the targets of all groups, taken to be at least 360 where there are routers, by each mount.

    \b
    Examples:
      lnetstat sweep paper-untuned --over o2ib.peer_credits=8,16,32,63,126
      lnetstat sweep paper-untuned --over pings.spread=0.2s,2s,10s,30s,74s -o spread.html
      lnetstat sweep paper-tuned --over routers.small_router_buffers=512,4096,32768 --over pings.mounts=1,5
    """
    if output is not None:
        _check_output(output)
    from lnetstat.workers.stopping import Terminated, sigterm

    try:
        with sigterm():
            sweep = _swept(name, over, **options)
    except Terminated:
        return TERMINATED
    if output is not None:
        _write(sweep, output)
    _print(sweep, as_json)
    return 0


def _swept(
    name: str,
    over: tuple[str, ...],
    *,
    intervals: int,
    imports: int | None,
    changes: tuple[str, ...],
    seed: int | None,
    processes: int | None,
    scheduler: str | None,
) -> "Sweep":
    if scheduler is not None and processes is not None:
        raise click.UsageError("--scheduler and --processes exclude one another: a cluster has the workers that it has")
    if scheduler is not None:
        import distributed  # noqa: F401  # said now where it is missing, and not after the check of every point
    from lnetstat.simulator.sweep import parse_axis, points, swept

    with checking():
        axes = [parse_axis(each) for each in over]
        every = points(name, axes, settings(changes, run__seed=seed), intervals=intervals, imports=imports)
    with Bar() as bar:

        def progress(done: int, count: int) -> None:
            bar.show(done / count, f"{done} of {count} points")

        bar.show(0, f"0 of {len(every)} points")
        return swept(
            every, axes, settings(changes, run__seed=seed), processes=processes_here(processes), scheduler=scheduler, progress=progress
        )


def _check_output(output: str) -> None:
    """Say what cannot be written before minutes of work, and not after them."""
    form = os.path.splitext(output)[1]
    if form not in FORMATS:
        raise click.BadParameter(
            f"'{output}' has no format that is known: expected a name that ends in {', '.join(FORMATS)}", param_hint="-o"
        )
    if form == ".parquet":
        import pyarrow  # noqa: F401  # said now where it is missing
    from lnetstat.report.output import check_writable

    check_writable(output)


def _write(sweep: "Sweep", output: str) -> None:
    from lnetstat.report import sweep as pages
    from lnetstat.report.output import write_whole
    from lnetstat.report.words import plural, quantity

    form = os.path.splitext(output)[1]
    if form == ".parquet":
        pages.write_parquet(sweep, output)
    else:
        render = {".csv": pages.csv_text, ".html": pages.page, ".md": pages.text}[form]
        write_whole(output, render(sweep))
    tell(f"{output}: {plural(len(sweep.rows), 'point')}, {quantity(os.path.getsize(output), 'bytes')}")


def _print(sweep: "Sweep", as_json: bool) -> None:
    from lnetstat.report import sweep as pages

    if as_json:
        click.echo(json.dumps(pages.as_json(sweep), allow_nan=False))
        return
    from lnetstat.cli._text import aligned

    table = pages.grid(sweep, thousands=False)
    click.echo(aligned([table.heads, *table.cells]))
    for note in pages.notes(sweep):
        tell(f"note: {note}")
