"""Simulate a system message by message: a recording as from its nodes, and the truth beside it."""

import json
import math
import shutil
from typing import TYPE_CHECKING, Any

import click

from lnetstat.cli import _schemas
from lnetstat.cli._options import Name, schema_option
from lnetstat.cli._progress import Bar
from lnetstat.cli._scenario import BY_SIGNAL, TERMINATED, checking, processes_here, scenario_options, settings, tell

if TYPE_CHECKING:
    from lnetstat.simulator.run import Progress, Result
    from lnetstat.simulator.scenario import Scenario

LATE_TOLD_S = 1.0
LIST_WIDTH = 100


@click.command()
@click.argument("name", metavar="[PRESET|FILE.toml]", required=False, type=Name())
@click.option(
    "-o", "--output", type=Name(), metavar="REC", help="Record the observed nodes here; REC.truth.json and REC.progress.csv beside it."
)
@click.option(
    "--to",
    "tree",
    type=Name(),
    metavar="DIR",
    help="Write the observed nodes' files into DIR, live, for `record --root` and `agent --root`.",
)
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), help="With --to: so many times the wall clock. [default: 1]")
@click.option("--duration", metavar="TIME", help="How long to simulate, for example 20min (key run.duration).")
@scenario_options
@click.option("--json", "as_json", is_flag=True, help="What was written and the truth as one JSON document on stdout.")
@schema_option(_schemas.simulate)
@click.option("--list", "listing", is_flag=True, help="List the presets.")
@click.option("--show", metavar="PRESET", help="Print a preset's file, to start one of your own from.")
def command(name: str | None, listing: bool, show: str | None, **options: Any) -> int:
    """Simulate a system message by message: a recording as from its nodes, and the truth beside it.

    PRESET is a name of --list; FILE.toml is a scenario of your own.

    \b
    Examples:
      lnetstat simulate paper-untuned -o rec && lnetstat analyze rec
      lnetstat simulate paper-untuned -o rec126 --set o2ib.peer_credits=126
      lnetstat simulate paper-untuned --to tree --speed 10
      lnetstat simulate --show paper-untuned > mine.toml
    """
    if options["as_json"] and (listing or show is not None):
        raise click.UsageError("--json says what was simulated: --list and --show print text")
    if listing or show is not None:
        _print_presets(show)
        return 0
    if name is None:
        raise click.UsageError("name a preset (--list lists them) or a scenario file")
    return _simulate(name, **options)


def _print_presets(wanted: str | None) -> None:
    from lnetstat.simulator.scenario import load_scenario, preset_text, presets

    if wanted is not None:
        with checking():
            click.echo(preset_text(wanted), nl=False)
        return
    lines = click.HelpFormatter(width=min(shutil.get_terminal_size().columns, LIST_WIDTH))
    lines.write_dl([(name, load_scenario(name).about) for name in presets()])
    click.echo(lines.getvalue(), nl=False)


def _simulate(
    name: str,
    *,
    output: str | None,
    tree: str | None,
    speed: float | None,
    duration: str | None,
    changes: tuple[str, ...],
    seed: int | None,
    processes: int | None,
    as_json: bool,
) -> int:
    _check_target(output, tree, speed, processes)
    from lnetstat.simulator.scenario import load_scenario

    with checking():
        scenario = load_scenario(name, settings(changes, run__seed=seed, run__duration=duration))
    for note in scenario.notes:
        tell(f"note: {note}")
    from lnetstat.simulator.run import live, record
    from lnetstat.workers.stopping import Terminated

    with Bar() as bar:

        def progress(now: "Progress") -> None:
            bar.show(now.share, _pace(now, bar.elapsed_s))

        try:
            if tree is not None:
                result = live(scenario, tree, speed=speed or 1.0, progress=progress)
            else:
                assert output is not None
                result = record(scenario, output, processes=processes_here(processes), progress=progress)
        except Terminated:
            return TERMINATED
    _print(scenario, result, as_json)
    return BY_SIGNAL + result.signal_number if result.interrupted else 0


def _check_target(output: str | None, tree: str | None, speed: float | None, processes: int | None) -> None:
    if (output is None) == (tree is None):
        raise click.UsageError("say where to write: -o REC for a recording, or --to DIR for a live tree" + (", not both" if output else ""))
    if tree is None and speed is not None:
        raise click.UsageError("--speed goes with --to: a recording is made as fast as it can be")
    if speed is not None and not math.isfinite(speed):
        raise click.BadParameter(f"{speed}: expected a finite number above 0", param_hint="--speed")
    if tree is not None and processes is not None:
        raise click.UsageError("--processes goes with -o: a live tree is simulated by one process")


def _pace(now: "Progress", elapsed_s: float) -> str:
    simulated_s = now.time_ns / 1e9
    words = f"{simulated_s:.0f} s of {now.duration_ns / 1e9:.0f} s simulated, {simulated_s / max(elapsed_s, 1e-9):.1f} x real time"
    return words + (f", {now.groups_done} of {now.groups} other groups" if now.groups else "")


def _print(scenario: "Scenario", result: "Result", as_json: bool) -> None:
    merged = result.truth["merged"]
    written = {
        "folder": result.folder,
        "truth": result.truth_path,
        "progress": result.progress_path,
        "samples": result.samples,
        "simulated_s": result.simulated_ns / 1e9,
        "bytes": result.bytes_written,
        "interrupted": result.interrupted,
    }
    if as_json:
        click.echo(json.dumps({"schema": 1, "scenario": scenario.name, "written": written, "truth": merged}, allow_nan=False))
    else:
        from lnetstat.report.truth import lines

        click.echo("\n".join(lines(merged)) if merged else "Truth: nothing was simulated.")
    _tell_written(result)


def _tell_written(result: "Result") -> None:
    from lnetstat.report.words import plural, quantity, seconds

    stopped = "stopped after" if result.interrupted else "simulated"
    size = quantity(result.bytes_written, "bytes")
    tell(f"{result.folder}: {stopped} {seconds(result.simulated_ns / 1e9)}, {plural(result.samples, 'sample')}, {size}")
    tell(f"beside it: {result.truth_path} and {result.progress_path}")
    if result.late_ns > LATE_TOLD_S * 1e9:
        tell(f"the last sample came {seconds(result.late_ns / 1e9)} late: this computer is too slow for that --speed")
