"""Check a node, a recording or a Graphite for Nagios, Icinga and their like: one line, perfdata, status 0 to 3."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from lnetstat.check.kinds import KINDS, NAMES, OF_SERIES, Figure, Kind, Thresholds, defaults
from lnetstat.check.ranges import parse_range
from lnetstat.check.verdict import SCHEMA_OF_JSON, Level, Result, as_json, plain, results_of, text_of, worst_of
from lnetstat.cli._nodes import NodesType
from lnetstat.cli._options import Name, Seconds, schema_option
from lnetstat.cli._plugin import LnetPlugin
from lnetstat.errors import LnetstatError, bug_line, shown
from lnetstat.words import iso

if TYPE_CHECKING:
    from lnetstat.model import Source

DEADLINE_S = 2.0  # of one file of a node
NS = 1_000_000_000


class Positive(Seconds):
    """A time span that is not 0: nothing can be told of no time."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = super().convert(value, param, ctx)
        if seconds <= 0:
            self.fail("expected a time above 0, such as 5min", param, ctx)
        return seconds


class Names(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3 only
    """Names of checks, with commas between."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        names = tuple(name.strip() for name in str(value).split(",")) if not isinstance(value, tuple) else value
        for name in names:
            if name not in NAMES:
                self.fail(f"{shown(name)} is no check: there are {', '.join(NAMES)}", param, ctx)
        return names


class Threshold(click.ParamType):  # type: ignore[type-arg]
    """NAME=RANGE."""

    name = "NAME=RANGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, equals, text = str(value).partition("=")
        if not equals or name not in NAMES:
            self.fail(f"{shown(str(value))}: expected NAME=RANGE, with a name of {', '.join(NAMES)}", param, ctx)
        try:
            return name, parse_range(text)
        except ValueError as error:
            self.fail(f"{shown(str(value))}: {error}", param, ctx)


def _range(kind: Kind, text: str) -> str:
    return (text or "-") + ("*" if text and kind.of_now else "")


def _table_of_checks() -> str:
    lines = [f"  {'CHECK':<22} {'WARN':<6} {'CRIT':<5} WHAT"]
    lines += [f"  {kind.name:<22} {_range(kind, kind.warn):<6} {_range(kind, kind.crit):<5} {kind.help}" for kind in KINDS]
    return "\n".join(lines)


HELP = f"""Check a node, a recording or a Graphite for Nagios, Icinga and their like: one line, perfdata, status 0 to 3.

SOURCE is nothing (this node, or --root DIR, as it is now), a recording or an archive (its last --last), or graphite://HOST[:PORT][/PREFIX]
(the last --last; PREFIX of the metrics, by default lnet). Of a record, credits and buffers are the worst of that time, shown but judged by
*_below_0, for how much of the time messages waited; what is down is so at its end. A low-water mark counts where it moved within the time;
marks of unknown age (*_low) are shown, and alarm only where asked to. Hosts that were heard of within --forget and are silent are UNKNOWN.

Exit status: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (could not be read, data too old, wrong options). CRITICAL outweighs UNKNOWN, and that
WARNING. What a node does not have (router buffers of a client) is no fault; what it has and may not be read is UNKNOWN.

RANGE: 10 alerts below 0 or above 10, 10: below 10, ~:10 above 10, 10:20 outside, @10:20 inside; empty never.

\b
Checks, with their default ranges (*: of a node as it is now only):
{_table_of_checks()}

\b
Examples:
  lnetstat check                                         this node, as it is now
  lnetstat check --warn peers_down=10 --crit peers_down=100
  lnetstat check --only router_buffers,rtr_credits --crit router_buffers=20:
  lnetstat check /var/lib/lnetstat/rec --last 1h --max-age 5min
  lnetstat check graphite://graphite:8080 --host rtr[1-8] --json
"""


@click.command(cls=LnetPlugin, help=HELP)
@click.argument("source", required=False, metavar="[SOURCE]")
@click.option("--root", type=Name(), default="/", metavar="DIR", help="Read DIR instead of /: a tree with proc/ and sys/, or peers, nis, …")
@click.option("--last", "last_s", type=Positive(), default="2h", show_default=True, help="How much of a record or a Graphite to look at.")
@click.option("--host", "hosts", type=NodesType(), metavar="NODESET", help="Only these hosts of a record or a Graphite: rtr[1-8].")
@click.option("--only", type=Names(), metavar="NAMES", help="Only these checks, with commas between.")
@click.option("--warn", type=Threshold(), multiple=True, metavar="NAME=RANGE", help="WARNING when out of this range (may be repeated).")
@click.option("--crit", type=Threshold(), multiple=True, metavar="NAME=RANGE", help="CRITICAL when out of this range (may be repeated).")
@click.option("--max-age", "age_s_max", type=Seconds(), default="10min", show_default=True, help="UNKNOWN when the last sample is older.")
@click.option(
    "--forget",
    "forget_s",
    type=Positive(),
    default="3d",
    show_default=True,
    help="UNKNOWN when a host of a record or a Graphite is silent, up to so long; then it counts as removed.",
)
@click.option("--timeout", "timeout_s", type=Positive(), default="30s", show_default=True, help="UNKNOWN when it takes longer.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON instead of the line.")
@schema_option(SCHEMA_OF_JSON)
def command(source: str | None, root: str, hosts: tuple[str, ...] | None, timeout_s: float, json_output: bool, **options: Any) -> int:
    if source is not None and root != "/":
        raise click.UsageError("--root is of a node, and SOURCE a record or a Graphite: give one of them")
    if source is None and hosts:
        raise click.UsageError("--host chooses among the hosts of a record or a Graphite: name a SOURCE")
    what = source or ("this node" if root == "/" else root)
    watchdog = _watchdog(timeout_s, what, json_output)
    notes: list[str] = []
    try:
        results = _results(source, root, hosts, timeout_s, notes, **options)
    except LnetstatError as error:
        # Most of our errors begin with the name of what cannot be read.
        return _unknown(f"{what}: cannot be read: {str(error).removeprefix(f'{what}: ')}", json_output, what)
    except OSError as error:
        return _unknown(f"{what}: cannot be read: {error.strerror or error}", json_output, what)
    except Exception as error:
        return _unknown(bug_line(error), json_output, what)
    finally:
        watchdog.cancel()
    click.echo(json.dumps(as_json(results, what, notes), indent=2) if json_output else text_of(results, what, notes))
    return int(worst_of(result.level for result in results))


def _watchdog(timeout_s: float, what: str, json_output: bool) -> threading.Timer:
    """Say UNKNOWN and end when time is up, whatever the process hangs in: a read that never comes back does not hear a signal."""

    def give_up() -> None:
        _unknown(f"{what}: no result within {timeout_s:g} s (--timeout)", json_output, what)
        sys.stdout.flush()
        os._exit(Level.UNKNOWN)

    timer = threading.Timer(timeout_s, give_up)
    timer.daemon = True
    timer.start()
    return timer


def _unknown(words: str, json_output: bool, what: str) -> int:
    if json_output:
        click.echo(json.dumps({"schema": 1, "source": what, "status": "UNKNOWN", "checks": [], "notes": [words]}, indent=2))
    else:
        click.echo(f"LNET UNKNOWN: {plain(words)}")
    return int(Level.UNKNOWN)


def _results(
    source: str | None,
    root: str,
    hosts: tuple[str, ...] | None,
    timeout_s: float,
    notes: list[str],
    *,
    last_s: float,
    forget_s: float,
    only: tuple[str, ...] | None,
    warn: Sequence[tuple[str, Any]],
    crit: Sequence[tuple[str, Any]],
    age_s_max: float,
) -> list[Result]:
    thresholds = defaults(is_record=source is not None)
    for given, field in ((warn, "warn"), (crit, "crit")):
        for name, found in given:
            thresholds[name] = Thresholds(**(thresholds[name]._asdict() | {field: found}))
    wanted = only or NAMES
    if source is None:
        figures = _of_node(root)
        if only and set(only) & OF_SERIES:
            raise LnetstatError(f"{', '.join(sorted(set(only) & OF_SERIES))}: of a recording or a Graphite only: name a SOURCE")
    elif "://" in source:
        figures = list(_of_graphite(source, hosts, last_s, forget_s, wanted, timeout_s, notes))
    else:
        figures = list(_of_record(source, hosts, last_s, forget_s, wanted, notes))
    if only and "dead_time" in only and any("dead_time" in note for note in notes):
        raise LnetstatError(notes[-1])
    return results_of(figures, wanted, thresholds, age_s_max=age_s_max)


def _of_node(root: str) -> list[Figure]:
    from lnetstat.check.recorded import look_at_node
    from lnetstat.check.tables import paths_of

    seen = look_at_node(root, deadline_s=DEADLINE_S)
    if not seen.has_lnet:
        tried = ", ".join(os.path.join(root, path) for path in paths_of(["peers", "nis"]))
        raise LnetstatError(f"no tables of LNet: tried {tried}: is LNet loaded (modprobe lnet)? `lnetstat doctor` says more")
    return list(seen.figures(is_record=False))


def _of_record(
    source: str, hosts: tuple[str, ...] | None, last_s: float, forget_s: float, wanted: Sequence[str], notes: list[str]
) -> Iterator[Figure]:
    from lnetstat.check.recorded import look_at_record
    from lnetstat.sources import open_source

    opened = open_source(source)
    found = look_at_record(opened, hosts, last_s, forget_s)
    now_ns = time.time_ns()
    heard = {host: figures.last_ns or 0 for host, figures in found.figures.items()} | found.other_ns
    for figures in found.figures.values():
        yield from figures.figures(is_record=True)
    for host, last_ns in heard.items():
        yield Figure("data_age", host, max(0, now_ns - last_ns) / NS, f"last sample {iso(last_ns)}")
    for host, last_ns in found.silent_ns.items():
        yield Figure("data_age", host, max(0, now_ns - last_ns) / NS, f"silent since {iso(last_ns)}", unread=True)
    notes += [str(problem) for problem in getattr(opened, "problems", ())]
    if "dead_time" in wanted:
        yield from _dead_time(notes, lambda: _dead_time_of_record(opened, hosts, last_s))


def _dead_time_of_record(opened: "Source", hosts: tuple[str, ...] | None, last_s: float) -> Iterator[Figure]:
    from lnetstat.check.dead_time import of_record

    return of_record(opened, hosts, last_s)


def _of_graphite(
    source: str,
    hosts: tuple[str, ...] | None,
    last_s: float,
    forget_s: float,
    wanted: Sequence[str],
    timeout_s: float,
    notes: list[str],
) -> Iterator[Figure]:
    try:
        from lnetstat.check.graphite import look_at_graphite
    except ModuleNotFoundError as error:
        raise LnetstatError(f"the Python package {error.name} is missing: pip install 'lnetstat[analysis]'") from error
    now_s = time.time()
    yield from look_at_graphite(source, hosts, begin_s=now_s - last_s, now_s=now_s, forget_s=forget_s, timeout_s=timeout_s)
    if "dead_time" in wanted:
        from lnetstat.check.dead_time import of_graphite

        yield from _dead_time(notes, lambda: of_graphite(source, hosts, begin_s=now_s - last_s, timeout_s=timeout_s))


def _dead_time(notes: list[str], look: Callable[[], Iterator[Figure]]) -> Iterator[Figure]:
    """Yield dead time, or note that the analyzer is not installed here."""
    try:
        yield from look()
    except ModuleNotFoundError as error:
        notes.append(f"dead_time: not looked for: the Python package {error.name} is missing: pip install 'lnetstat[analysis]'")
