"""What the collectl plug-ins cost a router: one sample of lnet.ph against the smallest C program, lnetcarbon.ph against graphite.ph.

Costs are ratios to collect/agg.c of the same minute. On a real router every read of `peers` returns one line (collect/onerecord.c makes
ordinary files behave so). `python bench/bench_collectl.py --page` prints the table of collectors/collectl/README.md.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from collectl_runs import Bench, Cost, Noise, counted, export_us, lnet  # noqa: E402

Figure = tuple[str, float, float, str]
PAIRS, EXPORT_PAIRS = 3, 5
SIZES = {100: 200, 1000: 120, 10_000: 40, 30_000: 12}  # peers -> samples
RECORDED, PLAIN, EXPORT, DETOUR, ON_CPU = 2.2, 12.0, 0.3, 36.0, 10.0
# What agg.c does not do, with a limit of its own where the peers are few: collectl's loop, the records of six files; their analysis,
# names and lines on the terminal; rows that differ from the sample before.
FEW = 100
RECORDED_FEW, PLAIN_FEW, ANALYSED_FEW = 20.0, 60.0, 40.0
ANALYSED = {1000: 4.0, 10_000: 2.2, 30_000: 2.2}
CHANGING = {1000: 6.0, 10_000: 5.0, 30_000: 5.0}
MORE_MB = 3.0  # at 30,000 peers not reached: the text of their rows alone is 2.2 MB


def run(scale: float = 1.0) -> list[Figure]:
    """Return (name, value, target, how they compare). `scale` below 1 takes fewer peers and samples: for tests, not for figures."""
    if not shutil.which("collectl"):
        print("collectl is not installed: none of its figures", file=sys.stderr)
        return []
    whole = scale >= 1
    sizes = SIZES if whole else {100: 3}
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        figures = [figure for peers, samples in sizes.items() for figure in _ratios(bench, peers, samples, PAIRS if whole else 1)]
        figures += _memory(bench, list(sizes), 20 if whole else 3)
        ours, theirs = export_us(bench, 1000 if whole else 50, 100 if whole else 5, EXPORT_PAIRS if whole else 1)
        figures.append(("lnetcarbon.ph / graphite.ph: CPU of a metric, 1,000 a sample", ours / theirs, EXPORT, "<="))
        figures += _noise(bench, 1000 if whole else 100, 14 if whole else 2)
    return figures


def _ratios(bench: Bench, peers: int, samples: int, pairs: int) -> list[Figure]:
    """Return the cost of one sample against C's: recorded into a raw file, and analysed and printed as on a terminal."""
    tree, few = bench.tree(peers), peers <= FEW
    _check(bench, tree, peers)
    what = f"lnet.ph, {peers:,} peers, one record a read: CPU of a sample / C, "
    recorded = _ratio(bench, tree, samples, pairs, bench.shim, to_file=True)
    analysed = _ratio(bench, tree, samples, pairs, bench.shim)
    plain = _ratio(bench, tree, samples, pairs, {}, to_file=True)
    figures = [
        (what + "into a raw file", recorded, RECORDED_FEW if few else RECORDED, "<="),
        (what + "analysed and printed", analysed, ANALYSED_FEW if few else ANALYSED[peers], "<="),
        (f"lnet.ph, {peers:,} peers, plain files: CPU of a sample / C, into a raw file", plain, PLAIN_FEW if few else PLAIN, "<="),
    ]
    if few:
        return figures
    changing = _ratio(bench, bench.changing(peers), samples, pairs, bench.shim, to_file=True, changing=True)
    return [*figures, (what + "into a raw file, 5 % of the rows changing", changing, CHANGING[peers], "<=")]


def _ratio(
    bench: Bench, tree: Path, samples: int, pairs: int, shim: dict[str, str], *, to_file: bool = False, changing: bool = False
) -> float:
    """Return the median of some ratios collectl / C, each of two runs side by side: the machine's speed drifts."""
    ratios = []
    for _ in range(pairs):
        of_c, _ = bench.agg(tree, samples, shim)
        ratios.append(_cost(bench, tree, samples, shim, to_file, changing).sample_us / of_c)
    return statistics.median(ratios)


def _cost(bench: Bench, tree: Path, samples: int, shim: dict[str, str], to_file: bool, changing: bool = False) -> Cost:
    meter = [f"turn={tree / 'peers'}"] if changing else []
    with bench.raw_folder() as folder:
        arguments: list[str | Path] = ["-i0", "-f", folder] if to_file else ["-i0"]
        return bench.collectl(samples, lnet(tree), meter=meter, shim=shim, arguments=arguments)


def _check(bench: Bench, tree: Path, peers: int) -> None:
    """Raise SystemExit where lnet.ph, one record a read, has other numbers in its records than the C program, or did not read so."""
    samples = 3
    _, check = bench.agg(tree, samples, bench.shim)
    _cost(bench, tree, samples, bench.shim, to_file=True)
    reads = bench.reads()
    found = counted(bench.folder / "raw")
    if found != check or check[0] != peers:
        raise SystemExit(f"lnet.ph's numbers {found} are not the C program's {check}")
    if reads < samples * peers:
        raise SystemExit(f"{reads} reads are less than one a record: {samples} samples of {peers} peers")


def _memory(bench: Bench, sizes: Sequence[int], samples: int) -> list[Figure]:
    """Return what lnet.ph adds to the peak memory of a collectl that records into a file."""
    with bench.raw_folder() as folder:
        empty = bench.collectl(samples, arguments=("-i0", "-f", folder))
    figures = []
    for peers in sizes:
        cost = _cost(bench, bench.tree(peers), samples, {}, to_file=True)
        words = f"lnet.ph, {peers:,} peers: peak resident MB above collectl with an empty import ({empty.peak_kb / 1024:.1f})"
        figures.append((words, (cost.peak_kb - empty.peak_kb) / 1024, MORE_MB, "<="))
    return figures


def _noise(bench: Bench, peers: int, seconds: int) -> list[Figure]:
    """Return how long lnet.ph keeps a CPU at one sample a second, against no collector; nothing where real-time priority is refused."""
    if subprocess.run(["chrt", "-f", "20", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("no right to SCHED_FIFO: no figure of noise", file=sys.stderr)
        return []
    tree = bench.tree(peers)
    collectl = ("collectl", "-i1", "--import", lnet(tree), "-f", bench.folder)
    before, _ = bench.noise(seconds, 60)
    of_c, c_us = bench.noise(seconds, 60, (bench.folder / "agg", tree, str(seconds + 10), "-i", "1"))
    of_collectl, collectl_us = bench.noise(seconds, 60, collectl)
    after, _ = bench.noise(seconds, 60)
    # the quieter of the two: what else the machine does must not make us look better
    none = Noise(min(before.stolen_us, after.stolen_us), min(before.longest_us, after.longest_us))
    words = f"{peers:,} peers, a sample a second: "
    return [
        (f"lnet.ph, {words}longest detour / no collector", of_collectl.longest_us / none.longest_us, DETOUR, "<="),
        (f"agg.c, {words}longest detour / no collector", of_c.longest_us / none.longest_us, DETOUR, "<="),
        (f"lnet.ph, {words}time on the CPU / C", collectl_us / c_us, ON_CPU, "<="),
    ]


def page(figures: Sequence[Figure]) -> str:
    """Return the figures as the Markdown table that collectors/collectl/README.md shows."""
    lines = ["| what | measured | to reach |", "|---|---|---|"]
    lines += [
        f"| {words} | {value:.2g} | {'at most' if better == '<=' else 'at least'} {target:g} |" for words, value, target, better in figures
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    found = run()
    if sys.argv[1:] == ["--page"]:
        print(page(found), end="")
    else:
        for figure in found:
            print(*figure)
