"""Write the generated blocks of the three collectl plug-ins; `--check` only says which are stale, and ends with status 1 if any is.

Each plug-in is one file that stands alone, so what they share is inserted into them, between

    # --- begin generated: NAME (make docs) ---
    # --- end generated: NAME ---

NAME is a part of parts/ (`paths`, `reading`), or `metrics`: the names of lnetstat/reduce/metrics.py.
"""

import os
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from lnetstat.model import Reduce
from lnetstat.reduce.metrics import BUCKETS, METRICS, SERIES_MAX, TOP_PEERS, Metric, needs_whole_scan

FOLDER = Path(__file__).resolve().parent
LNET = ("peers", "nis", "buffers", "lnet_stats", "routes", "self")
FAMILIES = {"lnet.ph": LNET, "lustre_oss.ph": ("counters", "self"), "lnetcarbon.ph": (*LNET, "counters")}
REDUCTIONS = {Reduce.LAST: "last", Reduce.MIN: "min", Reduce.MAX: "max", Reduce.MEAN_MAX: "mean"}
LINE_LENGTH = 120
_BLOCK = re.compile(r"(# --- begin generated: (\w+) \(make docs\) ---\n).*?(# --- end generated: \2 ---\n)", re.DOTALL)


def generated(plugin: str, text: str) -> str:
    """Return the text of a plug-in with its blocks as they must be."""
    return _BLOCK.sub(lambda found: found[1] + block(plugin, found[2]) + found[3], text)


def block(plugin: str, name: str) -> str:
    """Return what stands in one block of one plug-in."""
    if name == "metrics":
        return "\n".join(_metrics(plugin)) + "\n"
    return (FOLDER / "parts" / f"{name}.pl").read_text(encoding="utf-8")


def _metrics(plugin: str) -> Iterable[str]:
    """Yield Perl that says the names, their order and, where they are sent, what becomes of a second of samples."""
    metrics = [metric for metric in METRICS if metric.pattern.split(".")[0] in FAMILIES[plugin]]
    yield "# The metrics of lnetstat/reduce/metrics.py: family => leaf names in order."
    yield "my %METRICS = ("
    for family, leaves in _families(metrics).items():
        words = "\n        ".join(textwrap.wrap(" ".join(leaves), LINE_LENGTH - 12))
        yield f"    '{family}' => [qw({words})],"
    yield ");"
    if plugin == "lnetcarbon.ph":
        yield "# What the samples of one second become."
        yield "my %REDUCE = ("
        yield from (f"    '{metric.pattern}' => '{REDUCTIONS[metric.reduce]}'," for metric in metrics)
        yield ");"
        yield f"my $SERIES_MAX = {SERIES_MAX};"
    if plugin == "lnet.ph":
        words = "\n    ".join(textwrap.wrap(" ".join(m.pattern for m in metrics if needs_whole_scan(m.pattern)), LINE_LENGTH - 4))
        yield "# What a scan that broke off makes too low."
        yield f"my %NEEDS_WHOLE_SCAN = map {{ $_ => 1 }} qw({words});"
    if "peers" in FAMILIES[plugin]:
        yield f"my $TOP_PEERS = {TOP_PEERS};"


def _families(metrics: Iterable[Metric]) -> dict[str, list[str]]:
    families: dict[str, list[str]] = {}
    for metric in metrics:
        family, _, leaf = metric.pattern.rpartition(".")
        families.setdefault(family, []).extend(BUCKETS if leaf == "BUCKET" else [leaf])
    return families


def main(arguments: list[str]) -> int:
    """Bring every plug-in that is there up to date, or only check it."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("generate.py [--check]\n")
        return 2
    status = 0
    for path in (FOLDER / plugin for plugin in FAMILIES):
        if not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        wanted = generated(path.name, text)
        if wanted == text:
            continue
        if arguments:
            sys.stderr.write(f"{path}: its generated blocks are stale: make docs\n")
            status = 1
            continue
        new = path.with_suffix(".new")  # replaced in one step: a site's copy or a running test never sees half a file
        new.write_text(wanted, encoding="utf-8")
        os.replace(new, path)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
